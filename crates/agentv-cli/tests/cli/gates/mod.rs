//! Gates that cannot be passed by failing to look: graders that would be dropped, judges that cannot run or grade, targets
//! that judge themselves, and answers that are made up.

mod failed_gradings;
mod missing_judges;
mod self_judging;
mod simulated;
mod unread_graders;
mod unusable_messages;
