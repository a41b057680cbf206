//! The `agentv` program: arguments become settings, a command does the work, its outcome becomes an exit code.

mod args;
mod commands;
mod figures;
mod later;
mod report;
mod results_args;
mod run_args;
mod settings;
mod setup_args;
mod terminal;

use agentv_wire::Exit;
use args::{Args, Command, GenerateCommand, JudgeCommand, ProvisionCommand};
use clap::{CommandFactory as _, Parser};
use commands::eval::Occasion;
use later::Later;
use settings::Surroundings;
use std::ffi::OsString;

/// The command line as clap knows it, for reference pages.
pub fn command() -> clap::Command {
    Args::command()
}

/// Runs one command line.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let args = match Args::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) => return terminal::usage(&error),
    };
    let surroundings = match Surroundings::look() {
        Ok(surroundings) => surroundings,
        Err(error) => {
            return terminal::fail(&format!("the working directory cannot be used: {error}"), None);
        }
    };
    match args.command {
        Command::Demo(Later(args)) => commands::demo::run(&args, &surroundings),
        Command::Eval(Later(args)) => {
            commands::eval::run(*args, &words, &surroundings, &Occasion::default())
        }
        Command::Grade(Later(args)) => commands::grade::run(*args, &words, &surroundings),
        Command::Runs(command) => commands::runs::run(command, &surroundings),
        Command::Validate(Later(args)) => commands::validate::run(&args, &surroundings),
        Command::Compare(Later(args)) => commands::compare::run(&args, &surroundings),
        Command::Report(Later(args)) => commands::report::run(&args, &surroundings),
        Command::Merge(Later(args)) => commands::merge::run(&args, &surroundings),
        Command::Import(Later(args)) => commands::import::run(&args, &surroundings),
        Command::Convert(Later(args)) => commands::convert::run(&args, &surroundings),
        Command::Cache(command) => commands::cache::run(&command, &surroundings),
        Command::Judge(JudgeCommand::Test(args)) => commands::judge::test(args, &surroundings),
        Command::Generate(GenerateCommand::Rubrics(args)) => {
            commands::generate::rubrics(&args, &surroundings)
        }
        Command::Init(Later(args)) => commands::init::run(&args, &surroundings),
        Command::Doctor(Later(args)) => commands::doctor::run(&args, &surroundings),
        Command::Schema(Later(args)) => commands::schema::run(&args),
        Command::Completions(Later(args)) => commands::schema::completions(&args),
        Command::Provision(ProvisionCommand::Vscode(args)) => {
            commands::provision::vscode(&args, &surroundings)
        }
    }
}
