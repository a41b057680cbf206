//! What shells complete: commands and flags, and the targets, cases, tags and runs of the project.

use crate::args::Args;
use crate::settings::{self, Environment};
use agentv_core::EvalCase;
use agentv_runtime::process::Processes;
use clap::{Arg, Command, CommandFactory as _};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// With this variable, a shell asks the program what to complete.
const VARIABLE: &str = "AGENTV_COMPLETE";
/// Cases that are read of each suite; a person does not choose among more.
const MOST_CASES: usize = 2000;

/// The script that makes a shell ask.
pub(crate) fn script(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell.to_string()) {
        // Memory takes all that is written to it.
        let _ = shell.write_registration(VARIABLE, "agentv", "agentv", "agentv", &mut script);
    }
    String::from_utf8_lossy(&script).into_owned()
}

/// Answers a shell, if that is what asks. Errors are not shown: they would land in what the user is typing.
pub(crate) fn answer(words: &[OsString]) -> bool {
    // This is how the scripts call it; other calls are not slowed down.
    if words.get(1).is_none_or(|word| word != "--") {
        return false;
    }
    let environment = Environment::capture().ok();
    let here = environment.as_ref().map(|environment| environment.working_dir.as_path());
    CompleteEnv::with_factory(command).var(VARIABLE).try_complete(words, here).unwrap_or(true)
}

/// The command line with values that are known only here and now.
fn command() -> Command {
    let mut command = Args::command();
    // Options of commands are added when it is built.
    command.build();
    with_values(command)
}

fn with_values(command: Command) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.mut_args(with_value);
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_values))
}

/// By what the value is, wherever it is one.
fn with_value(arg: Arg) -> Arg {
    let completer = match (arg.get_id().as_str(), value_name(&arg)) {
        ("target", _) => ArgValueCompleter::new(Values(targets)),
        ("eval_id" | "filter", _) => ArgValueCompleter::new(Values(case_ids)),
        ("tag", _) => ArgValueCompleter::new(Values(tags)),
        ("paths", _) => ArgValueCompleter::new(PathCompleter::any()),
        (_, Some("RUN")) => ArgValueCompleter::new(RunOrPath),
        _ => return arg,
    };
    arg.add(completer)
}

fn value_name(arg: &Arg) -> Option<&str> {
    arg.get_value_names()?.first().map(clap::builder::Str::as_str)
}

/// A list of all values, of which those are offered that begin with what is typed.
struct Values(fn(&Environment) -> BTreeSet<String>);

impl ValueCompleter for Values {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let Ok(environment) = Environment::capture() else { return Vec::new() };
        let current = current.to_string_lossy();
        // Control characters would act on the terminal.
        let is_offered =
            |value: &String| value.starts_with(&*current) && !value.contains(char::is_control);
        let values = (self.0)(&environment).into_iter().filter(is_offered);
        values.map(CompletionCandidate::new).collect()
    }
}

struct RunOrPath;

impl ValueCompleter for RunOrPath {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let mut found = Values(runs).complete(current);
        found.extend(PathCompleter::any().complete(current));
        found
    }
}

fn runs(environment: &Environment) -> BTreeSet<String> {
    let ages = settings::AGES.map(str::to_owned);
    environment.runs().ids().into_iter().chain(ages).collect()
}

fn targets(environment: &Environment) -> BTreeSet<String> {
    let loader = environment.loader(&Processes::new(String::new()));
    let suites = suites(environment);
    let dirs = suites.iter().filter_map(|suite| suite.parent());
    let dirs = dirs.chain([environment.working_dir.as_path()]);
    let files: BTreeSet<PathBuf> =
        dirs.filter_map(|dir| loader.find_targets(dir, None).ok()).collect();
    let read = files.iter().filter_map(|file| loader.targets(file, &loader.env).0);
    read.flat_map(|file| file.targets).map(|target| target.name.to_string()).collect()
}

fn case_ids(environment: &Environment) -> BTreeSet<String> {
    cases(environment).iter().map(|case| case.id.to_string()).collect()
}

fn tags(environment: &Environment) -> BTreeSet<String> {
    cases(environment).iter().flat_map(|case| case.tags.clone()).collect()
}

fn cases(environment: &Environment) -> Vec<Arc<EvalCase>> {
    let loader = environment.loader(&Processes::new(String::new()));
    let suites = suites(environment);
    let suites = suites.iter().filter_map(|suite| loader.suite(suite).0);
    let sources = suites.filter_map(|suite| suite.cases.open().ok());
    sources.flat_map(|cases| cases.flatten().take(MOST_CASES)).collect()
}

fn suites(environment: &Environment) -> Vec<PathBuf> {
    settings::files(&[], environment).map(|(suites, _)| suites).unwrap_or_default()
}
