//! Targets that would judge their own answers, since they name no `judge_target`.
//!
//! A model, a mock or a command may, and the run says so. An agent may not: it would be started anew for every judgement,
//! with tools and files, and could look at its own work. What a code judge asks through the proxy is up to its script.

use super::suite_on_target::{CaseFilter, PlannedTarget};
use crate::config::{Note, Notes};
use crate::load::LoadedSuite;
use crate::targets::Judge;
use agentv_core::TargetName;
use agentv_core::provider::RecordedAs;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Such targets of a plan.
#[derive(Debug, Default)]
pub(super) struct SelfJudging {
    allowed: BTreeSet<TargetName>,
    /// With the targets file that they are in, for the note.
    agents: BTreeSet<(PathBuf, TargetName, String)>,
    /// Where to note that targets may.
    file: Option<PathBuf>,
}

impl SelfJudging {
    /// Looks at one suite on one target.
    pub(super) fn look_at(
        &mut self,
        suite: &LoadedSuite,
        takes: &CaseFilter,
        target: &PlannedTarget,
    ) {
        let book = &target.judges.book;
        let names_judge = |name: &TargetName| {
            book.file.find(name.as_str()).is_some_and(|spec| spec.judge_target.is_some())
        };
        let is_stand_in = matches!(target.judges.judge, Judge::StandIn(_));
        if is_stand_in
            || names_judge(&target.name)
            || !suite.cases.judged().iter().any(|wanted| takes.accepts(wanted.as_ref()))
        {
            return;
        }
        let (file, name) = (book.file.path.clone(), target.name.clone());
        if target.provider.info().recorded_as == RecordedAs::Agent {
            self.agents.insert((file, name, target.kind.clone()));
        } else {
            self.allowed.insert(name);
            self.file.get_or_insert(file);
        }
    }

    /// An error for each agent, and one line for all others.
    pub(super) fn notes(self) -> Vec<Note> {
        let mut found = Vec::new();
        for (file, name, kind) in self.agents {
            let mut notes = Notes::new(file);
            let message = format!(
                "target `{name}` (`{kind}`) has no `judge_target`, and an agent cannot judge its own answers"
            );
            notes.error("targets::judge", None, message).help(
                "set `judge_target` of the target to a model, or `target` of the `llm_judge`",
            );
            found.extend(notes.finish().0);
        }
        if let Some(file) = self.file {
            let mut notes = Notes::new(file);
            let names: Vec<String> = self.allowed.iter().map(|name| format!("`{name}`")).collect();
            let (noun, verb) = if names.len() == 1 {
                ("target", "judges its")
            } else {
                ("targets", "judge their")
            };
            let message = format!("{noun} {} {verb} own answers", names.join(", "));
            let help = "set `judge_target` of the target to have another one judge";
            notes.info("targets::self-judging", None, message).help(help);
            found.extend(notes.finish().0);
        }
        found
    }
}
