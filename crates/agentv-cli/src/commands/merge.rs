//! `agentv merge`: the results of shards as one file.

use super::compare::{fail, shown};
use crate::args::MergeArgs;
use crate::format::count;
use crate::settings::Environment;
use crate::terminal;
use agentv_runtime::results_io::{Conflict, MergeError, merge};
use agentv_wire::Exit;
use std::path::PathBuf;

pub(crate) fn run(args: &MergeArgs, environment: &Environment) -> Exit {
    let mut inputs: Vec<(PathBuf, String)> = Vec::new();
    for name in &args.runs {
        match environment.results_of(name) {
            Ok(path) => inputs.push((path.clone(), shown(&path, &environment.working_dir))),
            Err(error) => return fail(&error),
        }
    }
    let merged = match merge(&inputs, &environment.working_dir.join(&args.out)) {
        Ok(merged) => merged,
        Err(MergeError::Results(error)) => return fail(&error),
        Err(MergeError::Conflicts(conflicts, more)) => {
            return contradict(&conflicts, more, &inputs);
        }
        Err(MergeError::Unwritable(error)) => {
            let message = format!("`{}` cannot be written: {error}", args.out.display());
            terminal::complain(&message, None);
            return Exit::Incomplete;
        }
    };
    for (input, line) in merged.torn {
        let name = &inputs[input].1;
        terminal::warn(&format!("{name}:{line}: the last record was cut off and is left out"));
    }
    let mut screen = environment.screen();
    let repeated = match merged.repeated {
        0 => String::new(),
        count => format!(" ({count} repeated left out)"),
    };
    let records = count(merged.records, "record", "records");
    let files = count(inputs.len(), "file", "files");
    screen.line(format!("Merged {records} of {files}{repeated}: {}", args.out.display()));
    Exit::Success
}

fn contradict(conflicts: &[Conflict], more: usize, inputs: &[(PathBuf, String)]) -> Exit {
    for Conflict { eval_id, target, first, second } in conflicts {
        let place = |(input, line): (usize, usize)| format!("{}:{line}", inputs[input].1);
        let (first, second) = (place(*first), place(*second));
        terminal::complain(
            &format!("`{eval_id}` on `{target}` has two records that differ: {first} and {second}"),
            None,
        );
    }
    let records = count(more, "more record differs", "more records differ");
    let more = if more > 0 { format!("; {records}") } else { String::new() };
    terminal::fail(
        &format!("nothing was written{more}"),
        Some("merge shards of one run, or remove one of the two records"),
    )
}
