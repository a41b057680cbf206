//! Targets of kind `cli`: their checks, placeholders, failures and what they print.
