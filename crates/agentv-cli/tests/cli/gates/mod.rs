//! Gates that cannot be passed by failing to look: graders that would be dropped, judges that cannot run or grade, targets
//! that judge themselves, and answers that are made up.

mod missing_judges;
mod unread_graders;
