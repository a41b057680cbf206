//! Datasets: a case per row, checked once and then streamed.

pub(super) mod check;
pub(super) mod csv;
pub(super) mod csv_header;
pub(super) mod jsonl;
pub(super) mod judged;
pub(super) mod ordinals;
pub(super) mod row_ids;
pub(super) mod source;
pub(super) mod stream;
