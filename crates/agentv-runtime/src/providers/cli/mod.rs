//! Any command by template.
