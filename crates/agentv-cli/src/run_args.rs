//! The flags that `eval` and `grade` share as clap types; no logic. Their help is that of `eval`; `grade` says in its own
//! words what means something else there.

use agentv_wire::CaseLimit;
use clap::ValueEnum;
use std::path::PathBuf;

/// Which cases, by what they say of themselves.
#[derive(Debug, clap::Args)]
pub(crate) struct CaseArgs {
    /// Run only cases whose id matches
    #[arg(long, value_name = "GLOB", help_heading = "Which cases")]
    pub eval_id: Option<String>,
    /// Run only cases with this text in their id, or whose id matches this pattern; repeat it for more
    #[arg(long, value_name = "TEXT|GLOB", help_heading = "Which cases")]
    pub filter: Vec<String>,
    /// Run only cases with this tag; repeat it for more
    #[arg(long, value_name = "TAG", help_heading = "Which cases")]
    pub tag: Vec<String>,
}

/// Where the records go.
#[derive(Debug, clap::Args)]
pub(crate) struct ResultsArgs {
    /// Where results go [default: .agentv/results/eval_<time>.jsonl]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The format of the results [default: jsonl]
    #[arg(long, value_name = "FORMAT", value_enum)]
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

/// What is kept for later runs, and what is taken from earlier ones.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are what they are")]
pub(crate) struct KeepArgs {
    /// Keep nothing in .agentv/runs: the run cannot be resumed
    #[arg(long)]
    pub no_run_folder: bool,
    /// Sign the run folder with a private key (Ed25519, PEM) when the run ends, for `agentv verify --key`
    #[arg(long, value_name = "KEY", conflicts_with = "no_run_folder")]
    pub sign: Option<PathBuf>,
    /// Keep answers of models in .agentv/cache, and do not ask again what is known there
    #[arg(long)]
    pub cache: bool,
    /// Ask everything again and keep nothing, whatever the files say
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
    /// Write every call of targets and judges to a cassette, a text file fit for Git
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Answer only from a cassette: nobody is called, and a call that is not on it is an error
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "cache"])]
    pub replay: Option<PathBuf>,
    /// Do not mask secrets in answers, logs and records
    #[arg(long)]
    pub no_redact: bool,
}

/// What a run must reach, what it may spend, and what it puts up with.
#[derive(Debug, clap::Args)]
pub(crate) struct TermsArgs {
    /// Exit 1 if the mean score of any target is below this; errors and ungraded cases count as 0
    #[arg(long, value_name = "SCORE")]
    pub threshold: Option<f64>,
    /// Exit 1 if any case scores below this; errors and ungraded cases count as 0
    #[arg(long, value_name = "SCORE")]
    pub case_threshold: Option<f64>,
    /// Start no more cases once N are in error or ungraded, and exit 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_errors: Option<u32>,
    /// Start no more cases once one did not pass, and exit 1 (3 if it is in error or ungraded)
    #[arg(long)]
    pub fail_fast: bool,
    /// Start no more calls once they have cost so many US dollars, judges included, and exit 3
    #[arg(long, value_name = "USD")]
    pub max_cost: Option<f64>,
    /// Start no more calls once they have used N tokens, judges included, and exit 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// Do not exit 3 when cases are in error or ungraded; with `=N` or `=N%`, up to that many of them
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "100%", value_parser = case_limit)]
    pub allow_errors: Option<CaseLimit>,
    /// Leave out cases and evaluators that cannot be used, instead of refusing to run
    #[arg(long)]
    pub skip_invalid: bool,
    /// Treat warnings in files as errors
    #[arg(long)]
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
