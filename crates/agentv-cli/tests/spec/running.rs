//! The run: targets, workers, retries and the records that come of them.
