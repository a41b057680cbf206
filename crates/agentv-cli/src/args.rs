//! The command line as clap types; no logic.

use crate::deferred::Deferred;
pub(crate) use crate::results_args::{
    CompareArgs, CompareFormat, Compat, GradeArgs, MergeArgs, PlanArgs, ReportArgs, VerifyArgs,
};
pub(crate) use crate::run_args::{CaseArgs, KeepArgs, ResultsArgs, TermsArgs};
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

/// Evaluate AI agents and models: is it any good, and did my change make it better?
#[derive(Debug, Parser)]
#[command(name = "agentv", version, styles = STYLES, disable_version_flag = true, propagate_version = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print version
    #[arg(short = 'v', long, global = true, display_order = 1000, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See what AgentV does: a small suite against a scripted agent, with no key and no network
    Demo(Deferred<DemoArgs>),
    /// Set up a first eval here, with what this machine has
    Init(Deferred<InitArgs>),
    /// Run eval files against targets and write one record per case
    Eval(Deferred<EvalArgs>),
    /// Grade the answers of an earlier run again: targets are not asked, judges are
    Grade(Deferred<GradeArgs>),
    /// Look at earlier runs, or remove them
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Check eval files, datasets, targets and configuration without calling anything
    Validate(Deferred<ValidateArgs>),
    /// Look for what will not work, and say what fixes it
    Doctor(Deferred<DoctorArgs>),
    /// Put runs side by side: what changed, and is it more than noise?
    Compare(Deferred<CompareArgs>),
    /// Say how many cases and trials it takes to see a difference, and what they cost
    Plan(Deferred<PlanArgs>),
    /// Show a run as a web page, or for other programs: junit, markdown, csv, json
    Report(Deferred<ReportArgs>),
    /// Check that a run folder is as its run left it: no byte changed, no line or file removed or added
    Verify(Deferred<VerifyArgs>),
    /// Join the results of shards into one file
    Merge(Deferred<MergeArgs>),
    /// Look at the answers that `--cache` has kept, or remove them
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Have a model write parts of eval files
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// Turn past sessions of agents into a dataset whose answers are replayed
    Import(Deferred<ImportArgs>),
    /// Write an eval file in another format: YAML, JSONL, JSON, CSV
    Convert(Deferred<ConvertArgs>),
    /// Tools for people who write code judges
    #[command(subcommand)]
    Judge(JudgeCommand),
    /// Make what targets need on this machine
    #[command(subcommand)]
    Provision(ProvisionCommand),
    /// Print the JSON Schema of a kind of file, for editors
    Schema(Deferred<SchemaArgs>),
    /// Print completions for a shell
    Completions(Deferred<CompletionsArgs>),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The folder gets two suites, a targets file and the report of the run. Nothing that is
there is overwritten: run it again to see what your changes do.

Exit codes: 0 the demo ran, 2 the folder cannot be used")]
pub(crate) struct DemoArgs {
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR", default_value = "agentv-demo")]
    pub dir: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Say how many answers there are, how large and how old
    Stats {
        /// How to print it
        #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
        format: ReportFormat,
    },
    /// Remove answers; they will be asked for again
    Clear {
        /// Only those that were kept at least so many days ago
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProvisionCommand {
    /// Make subagents for VS Code targets: folders with a window each
    Vscode(ProvisionVscodeArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Subagents that are free already count; locked ones do not. So it can be run again
and again: the same count of free subagents is there afterwards.
A run makes the first subagent by itself. More are for runs side by side.

Exit codes: 0 so many subagents are free, 2 wrong input, 3 they could not be made

Examples:
  agentv provision vscode
  agentv provision vscode --count 3 --insiders
  agentv provision vscode --root ./subagents --dry-run")]
pub(crate) struct ProvisionVscodeArgs {
    /// How many subagents are to be free, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
    /// For VS Code Insiders, the `vscode-insiders` targets
    #[arg(long)]
    pub insiders: bool,
    /// Where they are, the `subagent_root` of targets [default: ~/.subagent/vscode-agents, or …/vscode-insiders-agents]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Only say what would be made
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 something was imported, 2 nothing was

Examples:
  agentv import ~/.claude/projects/-my-project --out evals/past
  agentv import ~/.codex/sessions/2026 --out evals/codex.jsonl
  agentv import captured.jsonl --format claude-stream --out evals/captured")]
pub(crate) struct ImportArgs {
    /// Session files, captured output, or directories of them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// A directory for the dataset, its targets and recordings; or the dataset itself, if it ends in .jsonl
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// What the files are [default: each is looked at]
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(formats()))]
    pub format: Option<String>,
    /// Replace a dataset and recordings that are there already; other files stay as they are
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The endings of the names say the formats. The suite's own keys go to a YAML file beside
a JSONL or CSV dataset, and come from there. Of CSV, columns that are no keys of a case
are vars.

Exit codes: 0 done, 2 wrong input, or something would be lost or replaced, 3 the file
            cannot be written

Examples:
  agentv convert results.jsonl
  agentv convert cases.csv --out evals/cases.yaml
  agentv convert suite.eval.yaml --out cases.csv")]
pub(crate) struct ConvertArgs {
    /// An eval file, or a file of records
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Where it goes [default: the same name with .yaml]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Of JSONL in YAML: write an eval suite instead of a document for each line
    #[arg(long)]
    pub suite: bool,
    /// Replace a file that is there already, and leave out what the format cannot hold
    #[arg(long)]
    pub force: bool,
}

fn formats() -> impl Iterator<Item = &'static str> {
    ["auto"].into_iter().chain(FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs that were started in this directory, the newest first
    List {
        /// How to print them
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Show what is known of one run
    Show {
        /// The id of the run [default: the newest]
        #[arg(value_name = "RUN")]
        run: Option<String>,
        /// How to print it
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Remove the folders of runs; results under `--out` or in .agentv/results stay
    Rm(RunsRmArgs),
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["runs", "keep", "all"]))]
pub(crate) struct RunsRmArgs {
    /// The ids of runs
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Remove all but the newest N
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Remove all
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
    /// Run one code judge on one payload and show its verdict
    Test(JudgeTestArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 the judge gave a verdict, 2 wrong input, 3 the judge failed

Examples:
  agentv judge test --payload payload.json -- python3 judge.py
  agentv judge test --record results.jsonl --eval-id refund -- python3 judge.py
  agentv judge test --payload payload.json --serve-proxy gpt -- bun judge.ts")]
pub(crate) struct JudgeTestArgs {
    /// A file with what the judge reads on stdin
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub payload: Option<PathBuf>,
    /// A results file; the payload is made of a record as far as that knows it
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Which record of the results [default: the first]
    #[arg(long, value_name = "ID", requires = "record")]
    pub eval_id: Option<String>,
    /// Let the judge ask a target through the proxy: one by name, or a stand-in
    #[arg(long, value_name = "TARGET", num_args = 0..=1, default_missing_value = "mock")]
    pub serve_proxy: Option<String>,
    /// The targets file, or a directory that holds it
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
    /// Seconds that the judge may take; 0 means no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    pub timeout: f64,
    /// How to print the verdict
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// The judge: a program and its arguments
    #[arg(last = true, required = true, value_name = "SCRIPT")]
    pub script: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Write rubrics for the cases of an eval file that have none; comments and layout stay
    Rubrics(GenerateRubricsArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct GenerateRubricsArgs {
    /// A YAML eval file; it is changed in place
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The target that writes [default: the file's own, else `default`]
    #[arg(short, long, value_name = "NAME")]
    pub target: Option<String>,
    /// The targets file, or a directory that holds it
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 done (low scores alone are no failure), 1 a gate was missed,
            2 wrong input, 3 a record has an error or a budget is spent, 130 interrupted

Examples:
  agentv eval
  agentv eval evals/support.eval.yaml
  agentv eval 'evals/**/*.yaml' --target gpt --target claude --workers 8
  agentv eval evals/big.jsonl --eval-id 'billing-*' --out results.jsonl
  agentv eval --resume")]
#[expect(clippy::struct_excessive_bools, reason = "flags are what they are")]
pub(crate) struct EvalArgs {
    /// Eval files (.yaml, .yml, .jsonl, .json, .csv, .tsv), or globs of them [default: `evals/**` and `*.eval.*`]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// A target by name; repeat it to run several. Wins over what files and cases ask for
    #[arg(long, value_name = "NAME")]
    pub target: Vec<String>,
    /// The targets file, or a directory that holds it [default: looked for from each eval file upwards]
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
    #[command(flatten)]
    pub cases: CaseArgs,
    /// Run only cases whose eval file, or a file that they refer to, changed since this Git revision
    #[arg(long, value_name = "REVISION", help_heading = "Which cases")]
    pub changed_since: Option<String>,
    /// Run only N of the cases, drawn by lot from their ids
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Which cases")]
    pub sample: Option<u64>,
    /// Another seed draws another sample [default: 0]
    #[arg(long, value_name = "S", requires = "sample", help_heading = "Which cases")]
    pub seed: Option<u64>,
    /// Run only one share of the cases, `2/8` being the second of eight; each case is in exactly one
    #[arg(long, value_name = "I/N", help_heading = "Which cases")]
    pub shard: Option<String>,
    /// Cases at a time, 1 to 1024 [default: the target's `workers`, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Ask each case N times on each target, 1 to 1000 [default: the suite's `execution.trials`, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    #[command(flatten)]
    pub results: ResultsArgs,
    /// When the run is over, also write a report: html, junit, markdown, csv or json. Repeat it for more
    #[arg(long, value_name = "FORMAT=PATH")]
    pub report: Vec<String>,
    /// Resume an unfinished run [default: the last run of these files, or the last of all]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["no_run_folder", "dry_run"])]
    pub resume: Option<String>,
    /// With --resume: also run cases again that ended in an error, and grade ungraded ones again
    #[arg(long, requires = "resume")]
    pub retry_errors: bool,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Ask a stand-in instead of the target: nothing is called, nothing is paid
    #[arg(long, conflicts_with_all = ["record", "replay"])]
    pub dry_run: bool,
    /// Milliseconds that the stand-in takes
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub dry_run_delay: u64,
    /// With --dry-run-delay-max: a random delay between the two
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub dry_run_delay_min: u64,
    /// See --dry-run-delay-min
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub dry_run_delay_max: u64,
    /// Seconds that one attempt, or one judge program, may take; 0 means no limit [default: 120]
    #[arg(long, value_name = "SECONDS")]
    pub agent_timeout: Option<f64>,
    /// How often a case that timed out is asked again [default: 2]
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,
    #[command(flatten)]
    pub terms: TermsArgs,
    /// Say more
    #[arg(long, help_heading = "What is shown")]
    pub verbose: bool,
    /// Say only which cases did not pass, how many did, and where the results are
    #[arg(long, conflicts_with = "verbose", help_heading = "What is shown")]
    pub quiet: bool,
    /// How to show the run: for people, or as one JSON event per line
    #[arg(long, value_enum, default_value_t = ReportFormat::Text, conflicts_with = "quiet", help_heading = "What is shown")]
    pub format: ReportFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 all files are valid, 2 some are not.

Examples:
  agentv validate evals/
  agentv validate evals/support.eval.yaml .agentv/targets.yaml --format json")]
pub(crate) struct ValidateArgs {
    /// Files or directories
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Json,
}
