//! `eval`, `validate`, and the flags that `eval` and `grade` share, as clap types; no logic. The help of shared flags is that
//! of `eval`; `grade` has its own words for what means something else there.

use crate::args::{Compat, ReportFormat};
use agentv_wire::CaseLimit;
use clap::ValueEnum;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Exit codes: 0 done (a low score alone is not a failure), 1 a gate was missed,
            2 wrong input, 3 a case is in error or ungraded, or the budget is spent,
            130 interrupted

Examples:
  agentv eval                                  all suites here
  agentv eval evals/support                    all suites in a folder
  agentv eval evals/*.yaml -t gpt -t claude -j 8
  agentv eval evals/big.jsonl --eval-id 'billing-*' -o results.jsonl
  agentv eval --last-failed
  agentv eval --watch
  agentv eval --threshold 0.8 --max-cost 2
  agentv eval --resume")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct EvalArgs {
    /// Eval files, folders or globs [default: `evals/**` and `*.eval.*`]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    #[command(flatten)]
    pub cases: CaseArgs,
    /// Run only cases that did not pass in the last run of these suites
    #[arg(long, conflicts_with = "resume", help_heading = CASES)]
    pub last_failed: bool,
    /// Run only cases whose files changed since this Git revision
    #[arg(long, value_name = "REVISION", help_heading = CASES)]
    pub changed_since: Option<String>,
    /// Run a random sample of N cases
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = CASES)]
    pub sample: Option<u64>,
    /// Seed of the sample [default: 0]
    #[arg(long, value_name = "S", requires = "sample", help_heading = CASES)]
    pub seed: Option<u64>,
    /// Run one shard of the cases: `2/8` is the second of eight
    #[arg(long, value_name = "I/N", help_heading = CASES)]
    pub shard: Option<String>,
    /// Target to run, instead of those in files; repeatable
    #[arg(short, long, value_name = "NAME", help_heading = TARGETS)]
    pub target: Vec<String>,
    /// Targets file, or the folder that holds it [default: found from each eval file upwards]
    #[arg(long, value_name = "PATH", help_heading = TARGETS)]
    pub targets: Option<PathBuf>,
    /// Use mock answers: no target is called
    #[arg(long, conflicts_with_all = ["record", "replay"], help_heading = TARGETS)]
    pub dry_run: bool,
    /// Delay of a mock answer in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, help_heading = TARGETS)]
    pub dry_run_delay: u64,
    /// Shortest random delay of a mock answer
    #[arg(long, value_name = "MS", default_value_t = 0, help_heading = TARGETS)]
    pub dry_run_delay_min: u64,
    /// Longest random delay of a mock answer
    #[arg(long, value_name = "MS", default_value_t = 0, help_heading = TARGETS)]
    pub dry_run_delay_max: u64,
    /// Cases to run in parallel, 1 to 1024 [default: `workers` of the target, else 1]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = RUNNING)]
    pub workers: Option<u16>,
    /// Let the workers of a cluster run the cases: NATS server, as `nats://HOST:4222`
    #[arg(long, value_name = "URL", conflicts_with_all = ["watch", "record", "replay"], help_heading = RUNNING)]
    pub cluster: Option<String>,
    /// Trials of each case on each target, 1 to 1000 [default: `execution.trials` of the suite, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = RUNNING)]
    pub trials: Option<u32>,
    /// Time limit of an attempt or a judge program in seconds; 0 means no limit [default: 120]
    #[arg(long, value_name = "SECONDS", help_heading = RUNNING)]
    pub agent_timeout: Option<f64>,
    /// Retries of a case that timed out [default: 2]
    #[arg(long, value_name = "N", help_heading = RUNNING)]
    pub max_retries: Option<u32>,
    /// Run again when a file changes that the cases depend on; Ctrl-C ends
    #[arg(long, conflicts_with = "resume", help_heading = RUNNING)]
    pub watch: bool,
    /// Resume an unfinished run: id, `latest` or `previous` [default: the last run of these suites, or the last of all]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["no_run_folder", "dry_run"], help_heading = RUNNING)]
    pub resume: Option<String>,
    /// With --resume: also repeat cases that ended in an error or are ungraded
    #[arg(long, requires = "resume", help_heading = RUNNING)]
    pub retry_errors: bool,
    #[command(flatten)]
    pub results: ResultsArgs,
    /// Also write a report: html, junit, markdown, csv or json; repeatable
    #[arg(long, value_name = "FORMAT=PATH", help_heading = OUTPUT)]
    pub report: Vec<String>,
    /// Show more
    #[arg(long, help_heading = OUTPUT)]
    pub verbose: bool,
    /// Show only cases that did not pass, and the totals
    #[arg(long, conflicts_with = "verbose", help_heading = OUTPUT)]
    pub quiet: bool,
    /// Show text, or one JSON event per line
    #[arg(long, value_enum, default_value_t = ReportFormat::Text, conflicts_with = "quiet", help_heading = OUTPUT)]
    pub format: ReportFormat,
    /// Print what AgentV 2.x printed: a line for each case that starts and ends, then `EVALUATION SUMMARY`
    #[arg(long, value_name = "VERSION", value_enum, conflicts_with_all = ["quiet", "format"], help_heading = OUTPUT)]
    pub compat: Option<Compat>,
    #[command(flatten)]
    pub terms: TermsArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 all files are valid, 2 a file is not

Examples:
  agentv validate
  agentv validate evals/
  agentv validate evals/support.eval.yaml .agentv/targets.yaml --format json")]
pub(crate) struct ValidateArgs {
    /// Files or folders [default: the suites that `agentv eval` runs, and their targets files]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
}

// The headings of `--help`.
const CASES: &str = "Selecting cases";
pub(crate) const TARGETS: &str = "Targets";
pub(crate) const RUNNING: &str = "Running";
pub(crate) const OUTPUT: &str = "Output";
const GATES: &str = "Gates";
const BUDGET: &str = "Budget";
const CACHING: &str = "Caching";
const SAFETY: &str = "Safety";

/// Which cases, by what they say of themselves.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CaseArgs {
    /// Run only cases whose id matches this glob
    #[arg(long, value_name = "GLOB", help_heading = CASES)]
    pub eval_id: Option<String>,
    /// Run only cases whose id contains this text or matches this glob; repeatable
    #[arg(long, value_name = "TEXT|GLOB", help_heading = CASES)]
    pub filter: Vec<String>,
    /// Run only cases with this tag; repeatable
    #[arg(long, value_name = "TAG", help_heading = CASES)]
    pub tag: Vec<String>,
}

/// Where the records go.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ResultsArgs {
    /// Results file [default: .agentv/results/eval_<time>.jsonl]
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Format of the results [default: jsonl]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = OUTPUT)]
    pub output_format: Option<OutputFormatArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormatArg {
    Jsonl,
    Yaml,
}

impl From<OutputFormatArg> for agentv_wire::OutputFormat {
    fn from(format: OutputFormatArg) -> Self {
        match format {
            OutputFormatArg::Jsonl => Self::Jsonl,
            OutputFormatArg::Yaml => Self::Yaml,
        }
    }
}

/// What is stored for later runs, and what comes from earlier ones.
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct KeepArgs {
    /// Do not create a run folder; the run cannot be resumed
    #[arg(long, help_heading = OUTPUT)]
    pub no_run_folder: bool,
    /// Sign the run folder with this Ed25519 private key (PEM), for `agentv verify --key`
    #[arg(long, value_name = "KEY", conflicts_with = "no_run_folder", help_heading = SAFETY)]
    pub sign: Option<PathBuf>,
    /// Store answers in .agentv/cache and reuse them
    #[arg(long, help_heading = CACHING)]
    pub cache: bool,
    /// Do not use the cache, even if a file turns it on
    #[arg(long, conflicts_with = "cache", help_heading = CACHING)]
    pub no_cache: bool,
    /// Record all calls of targets and judges in a cassette
    #[arg(long, value_name = "FILE", help_heading = CACHING)]
    pub record: Option<PathBuf>,
    /// Replay a cassette: no calls are made, and a call that is not recorded is an error
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "cache"], help_heading = CACHING)]
    pub replay: Option<PathBuf>,
    /// Do not mask secrets in answers, logs and records
    #[arg(long, help_heading = SAFETY)]
    pub no_redact: bool,
}

/// What a run must reach, what it may spend, and what it tolerates.
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct TermsArgs {
    /// Exit 1 if the mean score of a target is below this; errors and ungraded cases count as 0
    #[arg(long, value_name = "SCORE", help_heading = GATES)]
    pub threshold: Option<f64>,
    /// Exit 1 if a case scores below this; errors and ungraded cases count as 0
    #[arg(long, value_name = "SCORE", help_heading = GATES)]
    pub case_threshold: Option<f64>,
    /// Stop after N errors or ungraded cases, and exit 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = GATES)]
    pub max_errors: Option<u32>,
    /// Stop after the first case that does not pass, and exit 1 (3 if it is an error or ungraded)
    #[arg(long, help_heading = GATES)]
    pub fail_fast: bool,
    /// Stop when calls have cost this many US dollars, judges included, and exit 3
    #[arg(long, value_name = "USD", help_heading = BUDGET)]
    pub max_cost: Option<f64>,
    /// Stop when calls have used N tokens, judges included, and exit 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = BUDGET)]
    pub max_tokens: Option<u64>,
    /// Do not exit 3 for errors and ungraded cases; `=N` or `=N%` sets a limit
    #[arg(long, value_name = "N", help_heading = GATES, num_args = 0..=1, require_equals = true, default_missing_value = "100%", value_parser = case_limit)]
    pub allow_errors: Option<CaseLimit>,
    /// Run judge programs in a sandbox: no writes, no network but the target proxy (Linux)
    #[arg(long, help_heading = SAFETY)]
    pub sandbox: bool,
    /// Skip invalid cases and evaluators instead of refusing to run
    #[arg(long, help_heading = GATES)]
    pub skip_invalid: bool,
    /// Treat warnings in files as errors
    #[arg(long, help_heading = GATES)]
    pub strict: bool,
}

/// Reads `3` or `5%`.
pub(crate) fn case_limit(text: &str) -> Result<CaseLimit, String> {
    let invalid = || "give a number of cases, like 3, or a share of them, like 5%".to_owned();
    match text.strip_suffix('%') {
        None => text.parse().map(CaseLimit::Cases).map_err(|_| invalid()),
        Some(percent) => {
            let percent: f64 = percent.trim_end().parse().map_err(|_| invalid())?;
            let is_share = (0.0..=100.0).contains(&percent);
            is_share.then_some(CaseLimit::Percent(percent)).ok_or_else(invalid)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_share_is_allowed() {
        assert_eq!(case_limit("2"), Ok(CaseLimit::Cases(2)));
        assert_eq!(case_limit("14.9%"), Ok(CaseLimit::Percent(14.9)));
        for text in ["", "-1", "x", "5 of", "101%", "%", "NaN%"] {
            assert!(case_limit(text).is_err(), "{text}");
        }
    }
}
