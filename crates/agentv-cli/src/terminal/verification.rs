//! What `agentv verify` found, for people.

use super::line::Line;
use super::screen::Screen;
use super::style::{BAD, BOLD, DIM, GOOD, Paint};
use crate::format::count;
use agentv_wire::{SignatureState, Verification};

/// The verdict, what differs, and what is known of the signature.
pub(crate) fn show_verification(found: &Verification, screen: &mut Screen) {
    let paint = Paint::of_stdout();
    let (verdict, style) = match (found.differences.len(), found.finished) {
        (0, true) => ("whole".to_owned(), GOOD),
        (0, false) => ("not finished; whole as far as it goes".to_owned(), BOLD),
        (differences, _) => (count(differences, "difference", "differences"), BAD),
    };
    screen.line(Line::from(format!("Run {}: ", found.run)) + paint.paint(style, verdict));
    for difference in &found.differences {
        let line = difference.line.map(|line| format!(":{line}")).unwrap_or_default();
        let text = format!(" {}{line}: {}", difference.file, difference.problem);
        screen.line(Line::from("  ") + paint.paint(BAD, "✗") + &*text);
    }
    if !found.differences.is_empty() && !found.finished {
        screen.line("  not finished: only the journal's chain and its records are checked");
    }
    screen.line(format!(
        "  {}, {} in the journal",
        count(whole(found.records), "record", "records"),
        count(whole(found.journal_lines), "line", "lines")
    ));
    let key = found.signed_by.as_deref().unwrap_or_default();
    screen.line(match found.signature {
        SignatureState::Valid => "  signed with the given key".to_owned(),
        SignatureState::Unchecked => {
            format!("  signed with the key {key}; `--key PUBLIC` checks that it is yours")
        }
        SignatureState::Invalid => "  the signature is not valid".to_owned(),
        SignatureState::None => {
            "  not signed: whoever can write to the folder could have written all of it".to_owned()
        }
    });
    for name in &found.unchecked {
        screen.line(paint.paint(DIM, format!("  {name} is not of the run, and is not checked")));
    }
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
