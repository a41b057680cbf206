//! The run as it goes, for programs: one JSON event per line.

use super::screen::Screen;
use agentv_runtime::run::Reporter;
use agentv_wire::{RunEvent, number};

/// Prints every event.
#[derive(Debug)]
pub(crate) struct Events {
    screen: Screen,
}

impl Events {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen }
    }
}

impl Reporter for Events {
    fn event(&mut self, event: &RunEvent) {
        show_event(event, &mut self.screen);
    }

    fn pause(&mut self) {
        self.screen.show();
    }
}

/// Prints one event.
pub(crate) fn show_event(event: &RunEvent, screen: &mut Screen) {
    // What has only texts and numbers can always be written.
    if let Ok(line) = number::to_string(event) {
        screen.data(&line);
    }
}
