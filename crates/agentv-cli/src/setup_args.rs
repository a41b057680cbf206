//! The commands of the first minutes as clap types.

use crate::args::ReportFormat;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents on PATH and API keys in the environment become targets, plus a mock that needs
neither. Keys are never printed or written. Existing files are replaced only if you
confirm it.

Exit codes: 0 done, 2 wrong input, 3 a file cannot be written, 130 interrupted

Examples:
  agentv init
  agentv init --template rag             # a suite for your kind of system
  agentv init my-evals --yes")]
pub(crate) struct InitArgs {
    /// Folder to set up; created if missing
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    dir: PathBuf,
    /// Same as DIR
    #[arg(long, value_name = "DIR", conflicts_with = "dir")]
    path: Option<PathBuf>,
    /// Ask no questions: add all targets found, make the mock the default, replace no file
    #[arg(short, long)]
    pub yes: bool,
    /// The suite to start with. It runs at once, on a mock, and says which lines to change
    #[arg(long, value_enum, value_name = "NAME")]
    pub template: Option<TemplateName>,
}

/// A suite that `agentv init` can start a project with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TemplateName {
    /// A first look: text, JSON and fields of answers (the default)
    HelpDesk,
    /// Answers from retrieved passages: facts, sources, faithfulness
    Rag,
    /// An agent that changes code: its tools and its result
    CodingAgent,
    /// An assistant for customers: facts, tone, refusals
    Support,
    /// Structured data from text: its shape and each field
    Extraction,
    /// One label per text, with a score per class
    Classification,
}

impl TemplateName {
    /// Its name, and what it is for.
    pub(crate) fn described(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        let name = value.as_ref().map_or("", |value| value.get_name());
        format!("{name}: {}", help.unwrap_or_default())
    }
}

impl InitArgs {
    /// Where to set up.
    pub(crate) fn dir(&self) -> &Path {
        self.path.as_deref().unwrap_or(&self.dir)
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 no problems (there may be warnings), 1 a problem was found,
            2 wrong input

Examples:
  agentv doctor
  agentv doctor evals/support.eval.yaml --offline
  agentv doctor --env                    # which program gets which secrets
  agentv doctor --format json")]
pub(crate) struct DoctorArgs {
    /// Eval files, folders or globs [default: `evals/**` and `*.eval.*`]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Targets file, or the folder that holds it [default: found from each eval file upwards]
    #[arg(long, value_name = "PATH")]
    pub targets: Option<PathBuf>,
    /// Show the names of secret variables that each target and judge gets; runs nothing
    #[arg(long)]
    pub env: bool,
    /// Do not connect to the network or run health checks
    #[arg(long)]
    pub offline: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
`agentv init` writes these schemas beside your files and refers to them in the first line
of each file, so that editors complete and explain keys.

Examples:
  agentv schema eval > .agentv/schema/eval.schema.json
  agentv schema result | jq .properties.status")]
pub(crate) struct SchemaArgs {
    /// Kind of file
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
    /// A line of a results file
    Result,
    /// What a code judge reads on stdin
    CodeJudgePayload,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The shell then completes commands, flags, target names, case ids, tags and run ids.

Examples:
  agentv completions fish > ~/.config/fish/completions/agentv.fish
  echo 'source <(agentv completions bash)' >> ~/.bashrc
  echo 'source <(agentv completions zsh)' >> ~/.zshrc")]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}
