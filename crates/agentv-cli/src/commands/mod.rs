//! What the program can do; a file each.

pub(crate) mod compare;
pub(crate) mod eval;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod judge;
pub(crate) mod merge;
pub(crate) mod provision;
pub(crate) mod validate;
