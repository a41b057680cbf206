//! Runs an eval file as a library user does: `cargo run -p agentv-runtime --example run_suite -- my.eval.yaml`
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example is a program of its own"
)]

use agentv_runtime::session::{
    Env, Environment, Order, Refused, Reporter, RunEvent, RunSpec, Session, Summary,
};
use std::path::PathBuf;

/// Prints a line for each case that is done.
#[derive(Debug)]
struct CasePrinter;

impl Reporter for CasePrinter {
    fn event(&mut self, event: &RunEvent) {
        if let RunEvent::Finished(finished) = event {
            println!("{:?}: {}", finished.outcome, finished.record.eval_id);
        }
    }
}

pub(crate) async fn run_suite(
    suite: PathBuf,
    environment: &Environment,
) -> Result<Summary, Refused> {
    let spec = RunSpec { suites: vec![suite], workers: Some(4), ..RunSpec::default() };
    let opened = Session::open(Order { spec, ..Order::default() }, environment).await?;
    Ok(opened.session.run(Box::new(CasePrinter)).await)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let environment = Environment::at(std::env::current_dir()?, Env::new(std::env::vars()));
    let suite = std::env::args_os().nth(1).ok_or("usage: run_suite EVAL_FILE")?;
    let summary = Box::pin(run_suite(environment.working_dir.join(suite), &environment)).await?;
    let totals = summary.totals().all;
    println!("{} of {} passed: {}", totals.passed, totals.recorded, summary.results.display());
    Ok(())
}
