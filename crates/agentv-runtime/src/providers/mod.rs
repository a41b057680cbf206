//! The kinds of targets. A provider is one folder here and one line in [`PROVIDERS`].

mod billing;
mod chat;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod need;
mod policy;
mod sandbox;

pub mod agent_cli;
pub mod anthropic;
pub mod azure;
pub mod claude_code;
pub mod cli;
pub mod codex;
pub mod copilot;
pub mod gemini;
pub mod gemini_cli;
pub mod mock;
pub mod openai;
pub mod opencode;
pub mod pi_coding_agent;
pub mod replay;
pub mod vscode;

pub use billing::{Billing, Tells, UnitPrice};
pub use need::{CommandNeed, Need, Starter};
pub use policy::{CallPolicy, RateLimits, RetrySettings};

use crate::config::{Env, Fields, Leftovers};
use crate::process::{EnvironmentRule, Processes, SecretPolicy};
use agentv_core::{Provider, ProviderInfo, Redactor, TargetName};
use schemars::JsonSchema;
#[cfg(any(feature = "schema", test))]
use schemars::{Schema, SchemaGenerator};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The registry. Order is the order of the reference documentation.
pub const PROVIDERS: &[ProviderKind] = &[
    ProviderKind::of::<azure::Azure>(),
    ProviderKind::of::<anthropic::Anthropic>(),
    ProviderKind::of::<gemini::Gemini>(),
    ProviderKind::of::<openai::OpenAi>(),
    ProviderKind::of::<claude_code::ClaudeCode>(),
    ProviderKind::of::<codex::Codex>(),
    ProviderKind::of::<copilot::Copilot>(),
    ProviderKind::of::<gemini_cli::GeminiCli>(),
    ProviderKind::of::<pi_coding_agent::PiCodingAgent>(),
    ProviderKind::of::<opencode::OpenCode>(),
    ProviderKind::of::<cli::Cli>(),
    ProviderKind::of::<vscode::VsCode<vscode::Stable>>(),
    ProviderKind::of::<vscode::VsCode<vscode::Insiders>>(),
    ProviderKind::of::<mock::Mock>(),
    ProviderKind::of::<replay::Replay>(),
];

/// Providers of 2.x that there are no more: the name, why, and what to use instead.
pub const GONE: &[(&str, &str, &str)] = &[(
    "pi-agent-sdk",
    "needs the JS SDK of pi, which AgentV does not run",
    "use `provider: pi-coding-agent` with the same `pi_provider` and `model`, or ask the model itself with \
     `provider: anthropic`; see docs/guide/moving-from-2.x.md#providers",
)];

/// How one kind of provider is named, documented and built.
pub trait FromSettings: Provider + Sized + 'static {
    /// The name in `targets.yaml`, then its aliases.
    const NAMES: &'static [&'static str];
    /// What is known of it before it is built.
    const INFO: ProviderInfo;
    /// Whether an answer follows from the target's settings and the request alone, so that `--cache` may keep it. Others
    /// are kept only where their target says `cache: true`.
    const IS_CACHED: bool = false;
    /// What becomes of keys it does not know.
    const LEFTOVERS: Leftovers = Leftovers::Warn;
    /// What a first target of this kind looks like, if that can be told from the machine.
    const STARTER: Option<Starter> = None;
    /// Its keys. The doc comments become the reference page and the schema.
    type Settings: JsonSchema;

    /// Takes its keys one by one; what is wrong becomes notes with places, what is left over is noticed by the caller.
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self::Settings>;

    /// How its calls are repeated and paced by the layer around it.
    fn policy(_settings: &Self::Settings) -> CallPolicy {
        CallPolicy::default()
    }

    /// What its answers tell of their cost.
    fn billing(_settings: &Self::Settings) -> Billing {
        Billing::default()
    }

    /// What it needs of the machine, for `agentv doctor` and `--watch`. Keys are known from reading.
    fn needs(_settings: &Self::Settings) -> Vec<Need> {
        Vec::new()
    }

    /// Which variables its programs get; `None` if it starts none.
    fn environment(_settings: &Self::Settings, _deps: &Deps) -> Option<EnvironmentRule> {
        None
    }

    /// Cannot fail: `read` has noted everything that is wrong.
    fn from_settings(settings: Self::Settings, deps: &Deps) -> Self;
}

/// What a provider is given besides its settings.
#[derive(Debug, Clone)]
pub struct Deps {
    pub target: TargetName,
    /// The directory of the eval file.
    pub eval_dir: PathBuf,
    /// Where AgentV was started.
    pub working_dir: PathBuf,
    /// Where `.agentv` is.
    pub project_root: PathBuf,
    pub env: Env,
    /// Which of its secrets children get.
    pub secrets: SecretPolicy,
    pub processes: Arc<Processes>,
    pub health: Health,
    /// Masks secrets in what it writes by itself, such as a log.
    pub redactor: Arc<Redactor>,
}

/// What a target's health check found, once it has run. All eval files of a run share it.
pub type Health = Arc<OnceCell<Result<(), String>>>;

/// One entry of the registry.
#[derive(Debug)]
pub struct ProviderKind {
    pub names: &'static [&'static str],
    pub info: ProviderInfo,
    /// Whether `--cache` alone is enough to keep its answers.
    pub is_cached: bool,
    pub leftovers: Leftovers,
    pub starter: Option<Starter>,
    read: fn(&mut Fields<'_, '_>) -> Option<CheckedSettings>,
    #[cfg(any(feature = "schema", test))]
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The settings of a target, checked.
pub struct CheckedSettings {
    /// Builds the provider.
    pub maker: Maker,
    /// What it needs of the machine.
    pub needs: Vec<Need>,
}

impl std::fmt::Debug for CheckedSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckedSettings").field("needs", &self.needs).finish_non_exhaustive()
    }
}

/// A checked target, not built yet.
pub type Maker = Box<dyn Fn(&Deps) -> Made + Send + Sync>;

/// A provider, and what the layer around it is to do.
#[derive(Debug)]
pub struct Made {
    pub provider: Arc<dyn Provider>,
    pub policy: CallPolicy,
    pub billing: Billing,
    pub environment: Option<EnvironmentRule>,
}

impl ProviderKind {
    const fn of<P: FromSettings>() -> Self
    where
        P::Settings: Clone + Send + Sync,
    {
        Self {
            names: P::NAMES,
            info: P::INFO,
            is_cached: P::IS_CACHED,
            leftovers: P::LEFTOVERS,
            starter: P::STARTER,
            read: |fields| {
                let settings = P::read(fields)?;
                let needs = P::needs(&settings);
                let maker: Maker = Box::new(move |deps| Made {
                    policy: P::policy(&settings),
                    billing: P::billing(&settings),
                    environment: P::environment(&settings, deps),
                    provider: Arc::new(P::from_settings(settings.clone(), deps)),
                });
                Some(CheckedSettings { maker, needs })
            },
            #[cfg(any(feature = "schema", test))]
            schema: P::Settings::json_schema,
        }
    }

    /// The kind of this name, in any letter case.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROVIDERS
            .iter()
            .find(|kind| kind.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// Reads the settings of a target of this kind; `None` if something is wrong, which is then noted.
    pub fn read(&self, fields: &mut Fields<'_, '_>) -> Option<CheckedSettings> {
        (self.read)(fields).filter(|_| !fields.failed())
    }

    /// For documentation only, so the shipped program does without.
    #[cfg(any(feature = "schema", test))]
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }
}
