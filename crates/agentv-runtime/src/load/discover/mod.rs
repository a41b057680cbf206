//! Where files are, and what they are taken for.

pub(super) mod format;
pub(super) mod paths;
pub(super) mod suites;
pub(super) mod validate;
pub(super) mod walk;
