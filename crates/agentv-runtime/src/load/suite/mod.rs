//! A suite: the head of an eval file, its cases, and what they refer to.

pub(super) mod case;
mod criteria;
pub(super) mod defaults;
pub(super) mod duplicates;
mod evaluators;
mod files;
pub(super) mod guidelines;
pub(super) mod head;
pub(super) mod loader;
mod messages;
mod named_files;
pub(super) mod places;
mod portable;
pub(super) mod raw_suite;
pub(super) mod rubrics;
pub(super) mod scope;
mod split;
pub(super) mod unread;
pub(super) mod v2_notes;
pub(super) mod workspace;
