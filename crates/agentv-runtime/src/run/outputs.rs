//! Who is shown the run. Writers are another trait ([`crate::writers::ResultWriter`]), since their failures mean other things.

use agentv_core::RunEvent;
use std::fmt;

/// Shows the run to someone. It cannot fail the run.
pub trait Reporter: fmt::Debug + Send {
    fn event(&mut self, event: &RunEvent);

    /// Nothing more is waiting: a good moment to show what was gathered.
    fn pause(&mut self) {}
}
