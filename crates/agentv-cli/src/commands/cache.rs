//! `agentv cache`: a look at the answers that are kept, and a broom.

use crate::args::{CacheCommand, ReportFormat};
use crate::format::size;
use crate::settings::Environment;
use crate::terminal::{self, Screen};
use agentv_runtime::cache::{Stats, Store};
use agentv_wire::{Exit, number};
use serde_json::json;
use std::io;
use std::time::{Duration, SystemTime};

pub(crate) fn run(command: &CacheCommand, environment: &Environment) -> Exit {
    let (store, mut screen) = (Store::new(environment.cache_dir()), environment.screen());
    let done = match command {
        CacheCommand::Stats { format } => {
            store.stats().map(|stats| show(&stats, &store, *format, &mut screen))
        }
        CacheCommand::Clear { older_than } => clear(&store, *older_than, &mut screen),
    };
    match done {
        Ok(()) => Exit::Success,
        Err(error) => {
            let dir = store.dir().display();
            terminal::complain(&format!("`{dir}` cannot be used: {error}"), None);
            Exit::Incomplete
        }
    }
}

fn show(stats: &Stats, store: &Store, format: ReportFormat, screen: &mut Screen) {
    let dir = store.dir().display().to_string();
    let Stats { answers, bytes, oldest, newest } = *stats;
    let (oldest, newest) = (oldest.map(day), newest.map(day));
    if format == ReportFormat::Json {
        let stats = json!({ "dir": dir, "answers": answers, "bytes": bytes, "oldest": oldest, "newest": newest });
        screen.data(&number::to_string_pretty(&stats).unwrap_or_default());
        return;
    }
    screen.line(format!("Cache:   {dir}"));
    screen.line(format!("Answers: {answers} ({})", size(bytes)));
    if let Some((oldest, newest)) = oldest.zip(newest) {
        screen.line(format!("Oldest:  {oldest}"));
        screen.line(format!("Newest:  {newest}"));
    }
}

fn clear(store: &Store, older_than: Option<u32>, screen: &mut Screen) -> io::Result<()> {
    let age = older_than.map(|days| Duration::from_hours(24) * days);
    let cleared = store.clear(age)?;
    screen.line(format!("Removed {} answers ({})", cleared.answers, size(cleared.bytes)));
    Ok(())
}

/// In UTC, to the second.
fn day(time: SystemTime) -> String {
    format!("{:.0}", agentv_runtime::clock::timestamp(time))
}
