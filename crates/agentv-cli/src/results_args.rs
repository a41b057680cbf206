//! The commands on runs that are over as clap types; no logic.

use crate::args::ReportFormat;
use crate::run_args::{CaseArgs, KeepArgs, ResultsArgs, TermsArgs, case_limit};
use agentv_wire::CaseLimit;
use clap::{Arg, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The evaluators are those that the eval files have now. A case that asks something
else than what was answered is left out and named, and so is one without an answer.
With --cache, a judge is not asked again what it has been asked before.

Exit codes: 0 done (low scores alone are no failure), 1 a gate was missed,
            2 wrong input, 3 a record has an error or a budget is spent, 130 interrupted

Examples:
  agentv grade latest
  agentv grade 2026-11-16T03-59-47-579Z-ef7e --cache --out regraded.jsonl
  agentv grade results.jsonl evals/support.eval.yaml")]
#[command(mut_args(in_words_of_grading))]
pub(crate) struct GradeArgs {
    /// The id or the folder of a run, `latest`, or a results file (.jsonl, .yaml)
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Eval files, or globs of them [default: those of the run]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Grade only the answers of this target; repeat it for more
    #[arg(long, value_name = "NAME")]
    pub target: Vec<String>,
    /// The targets file, or a directory that holds it, for the judges [default: looked for from each eval file upwards]
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
    #[command(flatten)]
    pub cases: CaseArgs,
    /// Cases at a time, 1 to 1024 [default: the target's `workers`, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    #[command(flatten)]
    pub results: ResultsArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Seconds that one judge may take; 0 means no limit [default: 120]
    #[arg(long, value_name = "SECONDS")]
    pub agent_timeout: Option<f64>,
    #[command(flatten)]
    pub terms: TermsArgs,
    /// Say more
    #[arg(long)]
    pub verbose: bool,
}

/// What shared flags are about where only judges are asked.
fn in_words_of_grading(flag: Arg) -> Arg {
    let help = match flag.get_id().as_str() {
        "eval_id" => "Grade only cases whose id matches",
        "filter" => {
            "Grade only cases with this text in their id, or whose id matches this pattern; repeat it for more"
        }
        "tag" => "Grade only cases with this tag; repeat it for more",
        "out" => "Where results go [default: .agentv/results/grade_<time>.jsonl]",
        "no_run_folder" => "Keep nothing in .agentv/runs",
        "cache" => {
            "Keep answers of judges in .agentv/cache, and do not ask again what is known there"
        }
        "no_cache" => "Ask judges again and keep nothing, whatever the files say",
        "record" => "Write every call of judges to a cassette, a text file fit for Git",
        "max_cost" => {
            "Start no more calls of judges once they have cost so many US dollars, and exit 3"
        }
        "max_tokens" => "Start no more calls of judges once they have used N tokens, and exit 3",
        "skip_invalid" => {
            "Leave out cases and evaluators that cannot be used, instead of refusing to grade"
        }
        _ => return flag,
    };
    flag.help(help)
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 no verdict is `regression`, 1 one is, or a margin is not met,
            2 wrong input, 3 the comparison could not look: no case in common, no
            interval for --margin, or what --strict refuses

Examples:
  agentv compare before.jsonl after.jsonl
  agentv compare main.jsonl branch.jsonl --strict --format markdown
  agentv compare main.jsonl branch.jsonl --margin 0.02
  agentv compare baseline.jsonl gpt.jsonl claude.jsonl --json")]
#[expect(clippy::struct_excessive_bools, reason = "flags are what they are")]
pub(crate) struct CompareArgs {
    /// Results files (.jsonl, .yaml), folders or ids of runs; the first is the baseline
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// A case is a win or a loss from this difference on; the statistics do not use it
    #[arg(short, long, value_name = "DELTA", default_value_t = 0.1)]
    pub threshold: f64,
    /// How to print the comparison
    #[arg(short, long, value_enum, default_value_t = CompareFormat::Table)]
    pub format: CompareFormat,
    /// The same as --format json
    #[arg(long)]
    pub json: bool,
    /// Exit 3 if there are too few cases for a verdict, or if cases of the baseline could not be compared
    #[arg(long)]
    pub strict: bool,
    /// With --strict: how many cases of the baseline may be missing, ungraded or in error; `N` or `N%`
    #[arg(long, value_name = "N", default_value = "0", value_parser = case_limit)]
    pub max_missing: CaseLimit,
    /// Exit 1 unless the candidate is shown to be worse by less than this (non-inferiority)
    #[arg(long, value_name = "DELTA")]
    pub margin: Option<f64>,
    /// Count cases with the same value of this key in their `metadata` as one: a document, a conversation
    #[arg(long, value_name = "KEY")]
    pub cluster: Option<String>,
    /// Significance level (false-positive rate) of all verdicts together, 0.001 to 0.5
    #[arg(long, value_name = "LEVEL", default_value_t = 0.05)]
    pub level: f64,
    /// The seed of random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Exit by the rule of 2.x: 1 if a mean is lower to three decimals, where records with an error count as 0
    #[arg(long, value_name = "VERSION", value_enum, conflicts_with_all = ["strict", "margin"])]
    pub compat: Option<Compat>,
    /// With --compat 2x: leave records with an error out. Without it, they always are.
    #[arg(long, hide = true)]
    pub exclude_errors: bool,
    /// No colours, even on a terminal; `NO_COLOR` does the same
    #[arg(long)]
    pub no_color: bool,
}

/// Which version's rule counts.
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
The noise comes from earlier runs of the cases: one run with trials shows how much the
trials of a case differ, a second one also how an effect differs between cases. Without
a run, --rate assumes that every case passes with the same probability.

Exit codes: 0 done, 2 wrong input

Examples:
  agentv plan main.jsonl --difference 0.05
  agentv plan main.jsonl branch.jsonl --difference 0.05 --power 0.9
  agentv plan --rate 0.8 --difference 0.1 --trials 1,3")]
pub(crate) struct PlanArgs {
    /// One or two earlier runs: results files (.jsonl, .yaml), folders or ids of runs
    #[arg(value_name = "RUN", num_args = 0..=2, required_unless_present = "rate", conflicts_with = "rate")]
    pub runs: Vec<PathBuf>,
    /// The true difference of the mean scores that is to be seen, above 0 and at most 1
    #[arg(short, long, value_name = "DELTA")]
    pub difference: f64,
    /// How often it is to be seen, 0.5 to 0.999
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
    /// Trials of the baseline, if it exists already [default: as many as the candidate has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub baseline_trials: Option<u16>,
    /// Cases at a time, for the forecast of the time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: u16,
    /// How to print the plan
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
Without a format, the web page is written: `report.html` in the run's folder, or
beside the results file. `-` stands for standard output, for one format at most.
In GitHub Actions, the step's summary and annotations are written, too.

Exit codes: 0 done, 2 wrong input, 3 a report could not be written

Examples:
  agentv report
  agentv report --html report.html --junit junit.xml
  agentv report results.jsonl --markdown -")]
pub(crate) struct ReportArgs {
    /// The id or folder of a run, a results file (.jsonl, .yaml), or `latest` [default: the last run]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// One web page with everything, which needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// For CI systems
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// A short page for pull requests
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// A row for each record, for spreadsheets
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Numbers and each case in short, for programs
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 done, 2 wrong input or records that contradict each other, 3 the file
            cannot be written

Examples:
  agentv merge shard-1.jsonl shard-2.jsonl --out results.jsonl")]
pub(crate) struct MergeArgs {
    /// Results files (.jsonl, .yaml), folders or ids of runs, in the order in which their records are wanted
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Where the records go; JSONL, or YAML if the name says so
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A run folder has a manifest with the SHA-256 of its files, and each line of its journal
has a hash over the line before. What was changed since is named, with its line. Of a
run that was killed, everything up to its last line is checked.

A signature (`agentv eval --sign`) says who made the folder. Without one, whoever can
write to the folder could have written all of it anew.

Exit codes: 0 nothing differs, and the signature is valid if `--key` is given,
            1 something differs, 2 wrong input

Examples:
  agentv verify
  agentv verify 2026-11-16T03-59-47-579Z-ef7e --key public.pem
  agentv verify /mnt/archive/run --format json

  openssl genpkey -algorithm ed25519 -out key.pem
  openssl pkey -in key.pem -pubout -out public.pem
  agentv eval evals/support.eval.yaml --sign key.pem")]
pub(crate) struct VerifyArgs {
    /// A run by its id or its folder, or `latest` [default: latest]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// The public key (Ed25519, PEM) whose signature the run must have
    #[arg(long, value_name = "PUBLIC")]
    pub key: Option<PathBuf>,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
}
