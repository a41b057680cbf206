//! What workers tell, and who is shown it. The results file ([`crate::writers::ResultFile`]) is another matter, since its
//! failures mean other things.

use crate::writers::Render;
use agentv_core::RunEvent;
use agentv_core::event::Finished;
use std::{fmt, io};

/// Something that a worker tells, with what of it goes into the results file. Records are rendered by the workers: the one
/// dispatcher would be what all wait for.
#[derive(Debug)]
pub(super) struct Told {
    pub event: RunEvent,
    pub rendered: Option<io::Result<Vec<u8>>>,
}

impl Told {
    pub(super) fn finished(finished: Finished, render: Render) -> Self {
        let rendered = render(&finished.record);
        Self { event: RunEvent::Finished(Box::new(finished)), rendered: Some(rendered) }
    }
}

impl From<RunEvent> for Told {
    fn from(event: RunEvent) -> Self {
        Self { event, rendered: None }
    }
}

/// Shows the run to someone. It cannot fail the run.
pub trait Reporter: fmt::Debug + Send {
    fn event(&mut self, event: &RunEvent);

    /// Nothing more is waiting: a good moment to show what was gathered.
    fn pause(&mut self) {}
}
