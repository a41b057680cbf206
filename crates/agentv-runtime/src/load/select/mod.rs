//! Which cases are wanted: by id, tag, change, sample and shard.

pub(super) mod changed;
pub(super) mod glob;
pub(super) mod selection;
