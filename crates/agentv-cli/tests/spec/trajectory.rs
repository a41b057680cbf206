//! The `tool_trajectory` evaluator.
