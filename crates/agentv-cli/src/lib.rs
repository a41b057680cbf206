//! The `agentv` program: arguments become settings, a command does the work, its outcome becomes an exit code.

mod args;
mod browser;
mod clean;
mod cluster_args;
mod commands;
mod completion;
mod deferred;
mod format;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod report;
mod results_args;
mod run_args;
mod server;
mod settings;
mod setup_args;
mod terminal;

use agentv_wire::Exit;
use args::{Args, Command, GenerateCommand, JudgeCommand, ProvisionCommand};
use clap::{CommandFactory as _, Parser};
use deferred::Deferred;
use settings::Environment;
use std::ffi::OsString;

/// The command line as clap knows it, for reference pages.
pub fn command() -> clap::Command {
    Args::command()
}

/// Runs one command line.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let words: Vec<OsString> = arguments.into_iter().collect();
    if completion::answer(&words) {
        return Exit::Success;
    }
    let args = match Args::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) => return terminal::usage(&clean_error(&words).unwrap_or(error)),
    };
    let environment = match Environment::capture() {
        Ok(environment) => environment,
        Err(error) => {
            return terminal::fail(&format!("the working directory cannot be used: {error}"), None);
        }
    };
    let exit = run_command(args.command, &words, &environment);
    environment.output.conclude(exit)
}

fn run_command(command: Command, words: &[OsString], environment: &Environment) -> Exit {
    match command {
        Command::Demo(Deferred(args)) => commands::demo::run(&args, environment),
        Command::Eval(Deferred(args)) => commands::eval::run(*args, words, environment),
        Command::Grade(Deferred(args)) => commands::grade::run(*args, words, environment),
        Command::Runs(command) => commands::runs::run(command, environment),
        Command::Validate(Deferred(args)) => commands::validate::run(&args, environment),
        Command::Compare(Deferred(args)) => commands::compare::run(&args, environment),
        Command::Plan(Deferred(args)) => commands::plan::run(&args, environment),
        Command::Report(Deferred(args)) => commands::report::run(&args, environment),
        Command::Verify(Deferred(args)) => commands::verify::run(&args, environment),
        Command::Worker(Deferred(args)) => commands::worker::run(&args, environment),
        Command::Cluster(command) => commands::cluster::run(&command, environment),
        Command::Merge(Deferred(args)) => commands::merge::run(&args, environment),
        Command::Import(Deferred(args)) => commands::import::run(&args, environment),
        Command::Convert(Deferred(args)) => commands::convert::run(&args, environment),
        Command::Cache(command) => commands::cache::run(&command, environment),
        Command::Judge(JudgeCommand::Test(args)) => commands::judge::test(args, environment),
        Command::Generate(GenerateCommand::Rubrics(args)) => {
            commands::generate::rubrics(&args, environment)
        }
        Command::Init(Deferred(args)) => commands::init::run(&args, environment),
        Command::Doctor(Deferred(args)) => commands::doctor::run(&args, environment),
        Command::Schema(Deferred(args)) => commands::schema::run(&args, environment),
        Command::Completions(Deferred(args)) => commands::schema::completions(&args, environment),
        Command::Provision(ProvisionCommand::Vscode(args)) => {
            commands::provision::vscode(&args, environment)
        }
    }
}

/// What clap says of the same words without anything that could act on a terminal: it repeats them as they are.
fn clean_error(words: &[OsString]) -> Option<clap::Error> {
    let words = words.iter().map(|word| clean::clean(&word.to_string_lossy()).into_owned());
    Args::try_parse_from(words).err()
}
