//! The command line as clap types; no logic.

use crate::cluster_args::{ClusterCommand, WorkerArgs};
use crate::deferred::Deferred;
pub(crate) use crate::results_args::{
    CompareArgs, CompareFormat, Compat, GradeArgs, MergeArgs, PlanArgs, ReportArgs, VerifyArgs,
};
pub(crate) use crate::run_args::{EvalArgs, KeepArgs, TermsArgs, ValidateArgs};
use crate::setup_args::{CompletionsArgs, DoctorArgs, InitArgs, SchemaArgs};
use agentv_runtime::import::FORMATS;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Evaluate AI agents and models: measure how good they are, and whether a change made them better
#[derive(Debug, Parser)]
#[command(name = "agentv", version, styles = STYLES, disable_version_flag = true, propagate_version = true)]
#[command(after_help = "\
Examples:
  agentv demo                  see it work, without a key or network
  agentv init                  set up a first eval in this directory
  agentv eval                  run all suites here
  agentv compare               compare the last two runs
  agentv report --open         open the report of the last run in a browser")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print version
    #[arg(short = 'v', long, global = true, display_order = 1000, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a small suite against a scripted agent, without a key or network
    Demo(Deferred<DemoArgs>),
    /// Set up a first eval with the agents and API keys of this machine
    Init(Deferred<InitArgs>),
    /// Run suites against targets and write one record per case
    #[command(visible_alias = "run")]
    Eval(Deferred<EvalArgs>),
    /// Grade the answers of an earlier run again, without calling targets
    Grade(Deferred<GradeArgs>),
    /// List, show or remove earlier runs
    #[command(subcommand, after_help = "Examples:\n  agentv runs list\n  agentv runs show latest")]
    Runs(RunsCommand),
    /// Check eval files, targets and configuration without calling anything
    Validate(Deferred<ValidateArgs>),
    /// Find problems with this setup and show how to fix them
    Doctor(Deferred<DoctorArgs>),
    /// Compare runs: what changed, and whether it is more than noise
    Compare(Deferred<CompareArgs>),
    /// Plan how many cases and trials are needed to detect a difference
    Plan(Deferred<PlanArgs>),
    #[command(about = "Write a report of a run: HTML, JUnit, Markdown, CSV or JSON")]
    Report(Deferred<ReportArgs>),
    /// Check that a run folder was not changed after the run
    Verify(Deferred<VerifyArgs>),
    /// Run cases of `agentv eval --cluster` on this machine
    Worker(Deferred<WorkerArgs>),
    /// Show and control a cluster of workers, or try one on this machine
    #[command(subcommand, after_help = "Examples:\n  agentv cluster up\n  agentv cluster status")]
    Cluster(ClusterCommand),
    /// Merge the results of shards into one file
    Merge(Deferred<MergeArgs>),
    /// Show or clear the answers that `--cache` stored
    #[command(subcommand, after_help = "Examples:\n  agentv cache stats\n  agentv cache clear")]
    Cache(CacheCommand),
    /// Let a model write parts of eval files
    #[command(
        subcommand,
        after_help = "Examples:\n  agentv generate rubrics evals/support.eval.yaml"
    )]
    Generate(GenerateCommand),
    /// Turn recorded agent sessions into a dataset with replayed answers
    Import(Deferred<ImportArgs>),
    /// Convert an eval file or results to YAML, JSONL, JSON or CSV
    Convert(Deferred<ConvertArgs>),
    /// Test your own code judges
    #[command(
        subcommand,
        after_help = "Examples:\n  agentv judge test --record latest -- python3 judge.py"
    )]
    Judge(JudgeCommand),
    /// Create what targets need on this machine
    #[command(subcommand, after_help = "Examples:\n  agentv provision vscode --count 3")]
    Provision(ProvisionCommand),
    /// Print the JSON Schema of a kind of file, for editors
    Schema(Deferred<SchemaArgs>),
    /// Print the completion script for a shell
    Completions(Deferred<CompletionsArgs>),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The demo writes two suites, a targets file and a report into the folder. It never
overwrites a file: edit the suites and run it again to see what changes.

Exit codes: 0 the demo ran, 2 the folder cannot be used

Examples:
  agentv demo
  agentv demo /tmp/try-agentv")]
pub(crate) struct DemoArgs {
    /// Folder to use; created if missing
    #[arg(value_name = "DIR", default_value = "agentv-demo")]
    pub dir: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show how many answers are stored, their size and age
    #[command(after_help = "\
Examples:
  agentv cache stats
  agentv cache stats --format json")]
    Stats {
        /// Output format
        #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
        format: ReportFormat,
    },
    /// Remove stored answers
    #[command(after_help = "\
Examples:
  agentv cache clear
  agentv cache clear --older-than 30")]
    Clear {
        /// Remove only answers that are at least this many days old
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProvisionCommand {
    /// Create subagents for VS Code targets: one folder and window each
    Vscode(ProvisionVscodeArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Existing free subagents count, locked ones do not, so the command is safe to repeat.
A run creates the first subagent by itself; more are needed to run cases in parallel.

Exit codes: 0 enough subagents are free, 2 wrong input, 3 a subagent cannot be created

Examples:
  agentv provision vscode
  agentv provision vscode --count 3 --insiders
  agentv provision vscode --root ./subagents --dry-run")]
pub(crate) struct ProvisionVscodeArgs {
    /// Number of free subagents to have, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
    /// Use VS Code Insiders (`vscode-insiders` targets)
    #[arg(long)]
    pub insiders: bool,
    /// Folder of the subagents, `subagent_root` in targets [default: ~/.subagent/vscode-agents or …/vscode-insiders-agents]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Show what would be created
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 at least one session was imported, 2 none was

Examples:
  agentv import ~/.claude/projects/-my-project --out evals/past
  agentv import ~/.codex/sessions/2026 --out evals/codex.jsonl
  agentv import captured.jsonl --format claude-stream --out evals/captured")]
pub(crate) struct ImportArgs {
    /// Session files, captured output, or folders of them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Folder for the dataset, its targets and recordings, or a .jsonl file for the dataset
    #[arg(short, long, value_name = "PATH")]
    pub out: PathBuf,
    /// Format of the files [default: detected per file]
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(formats()))]
    pub format: Option<String>,
    /// Replace an existing dataset and its recordings
    #[arg(long)]
    pub force: bool,
    /// Do not mask secrets in prompts, answers and tool calls
    #[arg(long)]
    pub no_redact: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file extensions choose the formats. Keys of the suite itself are kept in a YAML file
beside a JSONL or CSV dataset. CSV columns that are not keys of a case become vars.

Exit codes: 0 done, 2 wrong input, or data would be lost or replaced, 3 the file
            cannot be written

Examples:
  agentv convert latest --out results.yaml
  agentv convert results.jsonl
  agentv convert cases.csv --out evals/cases.yaml
  agentv convert suite.eval.yaml --out cases.csv")]
pub(crate) struct ConvertArgs {
    /// Eval file, results file, or run (id, `latest` or `previous`)
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// File to write [default: the same name with .yaml]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// From JSONL to YAML: write one suite instead of one document per line
    #[arg(long)]
    pub suite: bool,
    /// Replace an existing file, and drop what the format cannot hold
    #[arg(long)]
    pub force: bool,
}

fn formats() -> impl Iterator<Item = &'static str> {
    ["auto"].into_iter().chain(FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs of this project, the newest first
    #[command(after_help = "\
Examples:
  agentv runs list
  agentv runs list --format json")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Show one run: command, files, targets, totals
    #[command(after_help = "\
Examples:
  agentv runs show
  agentv runs show previous --format json")]
    Show {
        /// Run id, `latest` or `previous` [default: latest]
        #[arg(value_name = "RUN")]
        run: Option<String>,
        /// Output format
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Remove run folders; results files stay
    Rm(RunsRmArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Results written by `--out` or to .agentv/results are not removed.

Examples:
  agentv runs rm latest
  agentv runs rm --keep 10")]
#[command(group = clap::ArgGroup::new("which").required(true).args(["runs", "keep", "all"]))]
pub(crate) struct RunsRmArgs {
    /// Run ids, `latest` or `previous`
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Remove all runs but the newest N
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Remove all runs
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Table,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JudgeCommand {
    /// Run a code judge on one payload and show its score
    Test(JudgeTestArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 the judge returned a score, 2 wrong input, 3 the judge failed

Examples:
  agentv judge test --payload payload.json -- python3 judge.py
  agentv judge test --record latest --eval-id refund -- python3 judge.py
  agentv judge test --payload payload.json --serve-proxy gpt -- bun judge.ts
  agentv judge test --payload payload.json --sandbox -- python3 judge.py")]
pub(crate) struct JudgeTestArgs {
    /// JSON file that the judge reads on stdin
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub payload: Option<PathBuf>,
    /// Build the payload from a record of this run or results file
    #[arg(long, value_name = "RUN")]
    pub record: Option<PathBuf>,
    /// Case id of the record [default: the first record]
    #[arg(long, value_name = "ID", requires = "record")]
    pub eval_id: Option<String>,
    /// Let the judge call a target through the proxy [default target: a mock]
    #[arg(long, value_name = "TARGET", num_args = 0..=1, default_missing_value = "mock")]
    pub serve_proxy: Option<String>,
    /// Targets file, or the folder that holds it
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
    /// Run the judge in a sandbox, as `eval --sandbox` does (Linux)
    #[arg(long)]
    pub sandbox: bool,
    /// Time limit for the judge in seconds; 0 means no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    pub timeout: f64,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Judge program and its arguments
    #[arg(last = true, required = true, value_name = "SCRIPT")]
    pub script: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Write rubrics for the cases of an eval file that have none
    Rubrics(GenerateRubricsArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is changed in place; its comments and layout stay.

Examples:
  agentv generate rubrics evals/support.eval.yaml
  agentv generate rubrics evals/support.eval.yaml --target gpt")]
pub(crate) struct GenerateRubricsArgs {
    /// YAML eval file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Target that writes the rubrics [default: the target of the file, else `default`]
    #[arg(short, long, value_name = "NAME")]
    pub target: Option<String>,
    /// Targets file, or the folder that holds it
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Json,
}
