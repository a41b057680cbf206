//! What there is of a run whose answers are graded again.

use super::resumed::named;
use super::screen::Screen;
use crate::format::count;
use agentv_runtime::session::Regrading;

/// Says what is graded, what is not and why.
pub(crate) fn regraded(Regrading { name, found: regraded }: &Regrading, screen: &mut Screen) {
    let answers = count(regraded.answers, "answer", "answers");
    screen.line(format!("Grading {answers} of {name}; no target is asked"));
    let ids =
        |ids: &std::collections::BTreeSet<String>| named(&ids.iter().cloned().collect::<Vec<_>>());
    let mut say = |number: usize, one: &str, many: &str, more: &str| {
        if number > 0 {
            screen.line(format!("  {}{more}", count(number, one, many)));
        }
    };
    let changed =
        format!(" something else now than was answered: left out ({})", ids(&regraded.changed));
    say(regraded.changed.len(), "case asks", "cases ask", &changed);
    let missing = format!(" no recorded answer: left out ({})", ids(&regraded.missing));
    say(regraded.missing.len(), "case has", "cases have", &missing);
    let blind: Vec<String> = regraded.blind.keys().cloned().collect();
    let without = format!(" since the messages are not recorded ({})", named(&blind));
    say(regraded.blind.len(), "evaluator cannot grade,", "evaluators cannot grade,", &without);
    let lost = " worked out in a workspace: judges see the recorded changes, and the directory if it was kept";
    say(regraded.lost_workspaces, "answer was", "answers were", lost);
}
