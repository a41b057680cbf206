//! The commands on runs that are over as clap types; no logic.

use crate::args::ReportFormat;
use crate::run_args::{
    CaseArgs, KeepArgs, OUTPUT, RUNNING, ResultsArgs, TARGETS, TermsArgs, case_limit,
};
use agentv_wire::CaseLimit;
use clap::{Arg, ValueEnum};
use std::path::PathBuf;

// The headings of `--help`, besides those of `eval`.
const GATES: &str = "Gates";
const STATISTICS: &str = "Statistics";
const FORMATS: &str = "Formats";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The evaluators are those that the eval files have now. Cases without an answer, and
cases whose input changed since the answer, are left out and named. With --cache, calls
of judges that were made before are not repeated.

Exit codes: 0 done (a low score alone is not a failure), 1 a gate was missed,
            2 wrong input, 3 a case ended in an error or the budget is spent,
            130 interrupted

Examples:
  agentv grade latest
  agentv grade 2026-11-16T03-59-47-579Z-ef7e --cache --out regraded.jsonl
  agentv grade results.jsonl evals/support.eval.yaml")]
#[command(mut_args(in_words_of_grading))]
pub(crate) struct GradeArgs {
    /// Run to grade: id, folder, results file, `latest` or `previous`
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Eval files, folders or globs [default: those of the run]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Grade only the answers of this target; repeatable
    #[arg(short, long, value_name = "NAME", help_heading = TARGETS)]
    pub target: Vec<String>,
    /// Targets file of the judges, or the folder that holds it [default: found from each eval file upwards]
    #[arg(long, value_name = "PATH", help_heading = TARGETS)]
    pub targets: Option<PathBuf>,
    #[command(flatten)]
    pub cases: CaseArgs,
    /// Cases to grade in parallel, 1 to 1024 [default: `workers` of the target, else 1]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = RUNNING)]
    pub workers: Option<u16>,
    #[command(flatten)]
    pub results: ResultsArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Time limit of a judge in seconds; 0 means no limit [default: 120]
    #[arg(long, value_name = "SECONDS", help_heading = RUNNING)]
    pub agent_timeout: Option<f64>,
    #[command(flatten)]
    pub terms: TermsArgs,
    /// Show more
    #[arg(long, help_heading = OUTPUT)]
    pub verbose: bool,
    /// Show only cases that did not pass, and the totals
    #[arg(long, conflicts_with = "verbose", help_heading = OUTPUT)]
    pub quiet: bool,
    /// Print what 2.x printed: a line for each case that starts and ends, then `EVALUATION SUMMARY`
    #[arg(long, value_name = "VERSION", value_enum, conflicts_with = "quiet", help_heading = OUTPUT)]
    pub compat: Option<Compat>,
}

/// The help of shared flags where only judges are called.
fn in_words_of_grading(flag: Arg) -> Arg {
    let help = match flag.get_id().as_str() {
        "eval_id" => "Grade only cases whose id matches this glob",
        "filter" => "Grade only cases whose id contains this text or matches this glob; repeatable",
        "tag" => "Grade only cases with this tag; repeatable",
        "out" => "Results file [default: .agentv/results/grade_<time>.jsonl]",
        "no_run_folder" => "Do not create a run folder",
        "cache" => "Store answers of judges in .agentv/cache and reuse them",
        "record" => "Record all calls of judges in a cassette",
        "max_cost" => "Stop when calls of judges have cost this many US dollars, and exit 3",
        "max_tokens" => "Stop when calls of judges have used N tokens, and exit 3",
        "skip_invalid" => "Skip invalid cases and evaluators instead of refusing to grade",
        _ => return flag,
    };
    flag.help(help)
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 no verdict is `regression`, 1 one is, or --margin is not met,
            2 wrong input, 3 nothing could be compared: no case in common, no
            interval for --margin, or what --strict refuses

Examples:
  agentv compare
  agentv compare previous latest --all
  agentv compare before.jsonl after.jsonl
  agentv compare main.jsonl branch.jsonl --strict --format markdown
  agentv compare main.jsonl branch.jsonl --margin 0.02
  agentv compare baseline.jsonl gpt.jsonl claude.jsonl --json")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct CompareArgs {
    /// Runs (id, folder, results file, `latest`, `previous`), the baseline first [default: the last two complete runs of the same suites]
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// List ties too, not only wins and losses
    #[arg(long, help_heading = OUTPUT)]
    pub all: bool,
    /// Smallest difference that makes a case a win or a loss; statistics do not use it
    #[arg(short, long, help_heading = STATISTICS, value_name = "DELTA", default_value_t = 0.1)]
    pub threshold: f64,
    /// Output format
    #[arg(short, long, help_heading = OUTPUT, value_enum, default_value_t = CompareFormat::Table)]
    pub format: CompareFormat,
    /// Short for --format json
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Exit 3 if there are too few cases for a verdict, or cases of the baseline are missing
    #[arg(long, help_heading = GATES)]
    pub strict: bool,
    /// With --strict: how many cases of the baseline may be missing, as `N` or `N%`
    #[arg(long, help_heading = GATES, value_name = "N", default_value = "0", value_parser = case_limit)]
    pub max_missing: CaseLimit,
    /// Exit 1 unless the candidate is at most this much worse (non-inferiority)
    #[arg(long, help_heading = GATES, value_name = "DELTA")]
    pub margin: Option<f64>,
    /// Treat cases with the same value of this `metadata` key as one cluster
    #[arg(long, help_heading = STATISTICS, value_name = "KEY")]
    pub cluster: Option<String>,
    /// Significance level (false-positive rate) of all verdicts together, 0.001 to 0.5
    #[arg(long, help_heading = STATISTICS, value_name = "LEVEL", default_value_t = 0.05)]
    pub level: f64,
    /// Seed of the random numbers
    #[arg(long, help_heading = STATISTICS, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Use the table and the exit rule of AgentV 2.x: exit 1 if a mean is lower; errors count as 0
    #[arg(long, help_heading = GATES, value_name = "VERSION", value_enum, conflicts_with_all = ["strict", "margin"])]
    pub compat: Option<Compat>,
    /// With --compat 2x: leave records with an error out. Without it, they always are.
    #[arg(long, hide = true)]
    pub exclude_errors: bool,
    /// Do not use colors, like `NO_COLOR`
    #[arg(long, help_heading = OUTPUT)]
    pub no_color: bool,
}

/// The version to be compatible with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    #[value(name = "2x")]
    TwoX,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    Table,
    Json,
    Markdown,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Earlier runs show how noisy the scores are: one run with trials shows how much trials of
a case differ, a second run also shows how effects differ between cases. Without a run,
--rate assumes that every case passes with the same probability.

Exit codes: 0 done, 2 wrong input

Examples:
  agentv plan latest --difference 0.05
  agentv plan main.jsonl branch.jsonl --difference 0.05 --power 0.9
  agentv plan --rate 0.8 --difference 0.1 --trials 1,3")]
pub(crate) struct PlanArgs {
    /// One or two earlier runs: id, folder, results file, `latest` or `previous`
    #[arg(value_name = "RUN", num_args = 0..=2, required_unless_present = "rate", conflicts_with = "rate")]
    pub runs: Vec<PathBuf>,
    /// Difference of mean scores to detect, above 0 and at most 1
    #[arg(short, long, value_name = "DELTA")]
    pub difference: f64,
    /// Probability of detecting it (power), 0.5 to 0.999
    #[arg(long, value_name = "POWER", default_value_t = 0.8)]
    pub power: f64,
    /// Significance level of the comparison, 0.001 to 0.5
    #[arg(long, value_name = "LEVEL", default_value_t = 0.05)]
    pub level: f64,
    /// Assume this pass rate for every case instead of reading a run
    #[arg(long, value_name = "RATE")]
    pub rate: Option<f64>,
    /// Numbers of trials to plan for
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 3, 5, 10], value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub trials: Vec<u16>,
    /// Trials of an existing baseline [default: as many as the candidate has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub baseline_trials: Option<u16>,
    /// Cases that run in parallel, to estimate the duration
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: u16,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PlanFormat::Table)]
    pub format: PlanFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    Table,
    Json,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a format, an HTML page is written: `report.html` in the run folder, or beside
the results file. `-` is standard output, for at most one format. In GitHub Actions, the
step summary and annotations are written too.

Exit codes: 0 done, 2 wrong input, 3 a report cannot be written or opened

Examples:
  agentv report --open
  agentv report previous
  agentv report --html report.html --junit junit.xml
  agentv report results.jsonl --markdown -")]
pub(crate) struct ReportArgs {
    /// Run to report: id, folder, results file, `latest` or `previous` [default: latest]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Open the HTML report in a browser
    #[arg(long)]
    pub open: bool,
    /// HTML page with all cases; works offline
    #[arg(long, value_name = "FILE", help_heading = FORMATS)]
    pub html: Option<PathBuf>,
    #[arg(long, help = "JUnit XML for CI systems", value_name = "FILE", help_heading = FORMATS)]
    pub junit: Option<PathBuf>,
    /// Short Markdown page for pull requests
    #[arg(long, value_name = "FILE", help_heading = FORMATS)]
    pub markdown: Option<PathBuf>,
    /// One row per record, for spreadsheets
    #[arg(long, value_name = "FILE", help_heading = FORMATS)]
    pub csv: Option<PathBuf>,
    /// Totals and a summary of each case, for programs
    #[arg(long, value_name = "FILE", help_heading = FORMATS)]
    pub json: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 done, 2 wrong input or conflicting records, 3 the file cannot be written

Examples:
  agentv merge shard-1.jsonl shard-2.jsonl --out results.jsonl
  agentv merge previous latest --out results.yaml")]
pub(crate) struct MergeArgs {
    /// Runs to merge, in order: id, folder, results file, `latest` or `previous`
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// File to write; the extension chooses JSONL or YAML
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The manifest of a run folder has the SHA-256 of each file, and each line of the journal
includes a hash of the line before. Changes are shown with their line. For a run that was
killed, everything up to the last line is checked.

A signature (`agentv eval --sign`) proves who made the folder. Without one, anyone who can
write to the folder can also rewrite the manifest.

Exit codes: 0 nothing changed, and with --key the signature is valid,
            1 something changed, 2 wrong input

Examples:
  agentv verify
  agentv verify previous --key public.pem
  agentv verify /mnt/archive/run --format json

  openssl genpkey -algorithm ed25519 -out key.pem
  openssl pkey -in key.pem -pubout -out public.pem
  agentv eval evals/support.eval.yaml --sign key.pem")]
pub(crate) struct VerifyArgs {
    /// Run to check: id, folder, `latest` or `previous` [default: latest]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Ed25519 public key (PEM) that the run must be signed with
    #[arg(long, value_name = "PUBLIC")]
    pub key: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
}
