//! Traces and metrics: taken from what a target says, summed up and recorded.
