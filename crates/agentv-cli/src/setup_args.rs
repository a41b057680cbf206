//! The commands of the first minutes as clap types.

use crate::args::ReportFormat;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents on PATH and keys in the environment become targets; keys themselves are
neither printed nor written. A mock that needs neither is always among them.
What is there already stays, unless you say otherwise when you are asked.

Exit codes: 0 done, 2 wrong input, 3 a file could not be written, 130 interrupted

Examples:
  agentv init
  agentv init my-evals --yes")]
pub(crate) struct InitArgs {
    /// Where to set up; made if it is not there
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    dir: PathBuf,
    /// The same as DIR
    #[arg(long, value_name = "DIR", conflicts_with = "dir")]
    path: Option<PathBuf>,
    /// Ask nothing: all that was found becomes a target, the mock answers by default, and no file is replaced
    #[arg(short, long)]
    pub yes: bool,
}

impl InitArgs {
    /// Where to set up.
    pub(crate) fn dir(&self) -> &Path {
        self.path.as_deref().unwrap_or(&self.dir)
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 nothing stands in the way of a run (there may be warnings),
            1 something will not work, 2 wrong input

Examples:
  agentv doctor
  agentv doctor evals/support.eval.yaml --offline
  agentv doctor --env                    # who gets which secrets
  agentv doctor --format json")]
pub(crate) struct DoctorArgs {
    /// Eval files (.yaml, .yml, .jsonl), or globs of them [default: all suites that are here]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// The targets file, or a directory that holds it [default: looked for from each eval file upwards]
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
    /// Show which secret variables the programs of each target and judge are given, and
    /// which are withheld: names, never values. Nothing is started
    #[arg(long)]
    pub env: bool,
    /// Connect to nobody, and run no health check
    #[arg(long)]
    pub offline: bool,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
`agentv init` writes these schemas beside your files, and the first line of each
file says where, so that editors complete and explain its keys.

Examples:
  agentv schema eval > .agentv/schema/eval.schema.json
  agentv schema result | jq .properties.status")]
pub(crate) struct SchemaArgs {
    /// Which kind of file or input
    #[arg(value_enum, value_name = "KIND")]
    pub kind: SchemaKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// Suites, `*.eval.yaml`
    Eval,
    /// `targets.yaml`
    Targets,
    /// `.agentv/config.yaml`
    Config,
    /// A line of results
    Result,
    /// What a code judge reads on stdin
    CodeJudgePayload,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentv completions bash > ~/.local/share/bash-completion/completions/agentv
  agentv completions zsh > ~/.zfunc/_agentv
  agentv completions fish > ~/.config/fish/completions/agentv.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}
