//! The chat of VS Code, driven through its command line tool.
//!
//! ```yaml
//! - name: copilot
//!   provider: vscode
//!   workspace_template: ./project.code-workspace
//!   timeout_seconds: 300
//! ```
//!
//! A *subagent* is a folder with a VS Code window of its own. Whoever asks claims the lowest one that is free, writes the
//! request into its `messages/`, tells the window's chat to follow that file, and waits for the response file. The folder
//! is free again afterwards, however the request ended. Windows stay open: they are the user's.

mod claim;
mod dispatch;
mod folder;
mod mail;
mod settings;
mod subagents;

pub use settings::VsCodeSettings;
pub use subagents::{Provisioned, Provisioning, default_root, provision};

use super::{Billing, Deps, FromSettings, Need, Tells};
use crate::config::Fields;
use crate::process::EnvironmentRule;
use agentv_core::{
    BatchProvider, CallContext, Provider, ProviderError, ProviderInfo, Request, Response,
};
use async_trait::async_trait;
use dispatch::Editor;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;

/// What differs between the editions of VS Code.
#[derive(Debug)]
pub struct Edition {
    /// The name of its provider.
    pub provider: &'static str,
    /// Its command line tool.
    pub command: &'static str,
    /// The folder of its subagents, in `~/.subagent`.
    pub folder: &'static str,
}

/// VS Code.
pub const STABLE: Edition =
    Edition { provider: "vscode", command: "code", folder: "vscode-agents" };

/// VS Code Insiders.
pub const INSIDERS: Edition = Edition {
    provider: "vscode-insiders",
    command: "code-insiders",
    folder: "vscode-insiders-agents",
};

/// A type for each edition, since each is an entry of the registry.
pub trait OfEdition: fmt::Debug + Send + Sync + 'static {
    const NAMES: &'static [&'static str];
    const EDITION: &'static Edition;
}

/// `provider: vscode`
#[derive(Debug)]
pub struct Stable;

impl OfEdition for Stable {
    const NAMES: &'static [&'static str] = &[STABLE.provider];
    const EDITION: &'static Edition = &STABLE;
}

/// `provider: vscode-insiders`
#[derive(Debug)]
pub struct Insiders;

impl OfEdition for Insiders {
    const NAMES: &'static [&'static str] = &[INSIDERS.provider];
    const EDITION: &'static Edition = &INSIDERS;
}

/// Asks the chat of a window, one request or many at a time.
#[derive(Debug)]
pub struct VsCode<E> {
    editor: Editor,
    edition: PhantomData<E>,
}

impl<E: OfEdition> FromSettings for VsCode<E> {
    const NAMES: &'static [&'static str] = E::NAMES;
    const INFO: ProviderInfo = ProviderInfo::agent(E::EDITION.provider);
    type Settings = VsCodeSettings;

    fn read(fields: &mut Fields<'_, '_>) -> Option<VsCodeSettings> {
        Some(VsCodeSettings::read(fields))
    }

    fn billing(_settings: &VsCodeSettings) -> Billing {
        Billing::told(Tells::Never, Tells::Never)
    }

    fn needs(settings: &VsCodeSettings) -> Vec<Need> {
        let program = settings.vscode_cmd.as_deref().unwrap_or(E::EDITION.command).to_owned();
        vec![Need::Program { program, key: "vscode_cmd" }]
    }

    fn environment(settings: &VsCodeSettings, deps: &Deps) -> Option<EnvironmentRule> {
        Some(settings.rule(deps))
    }

    fn from_settings(settings: VsCodeSettings, deps: &Deps) -> Self {
        Self { editor: Editor::new(settings, E::EDITION, deps), edition: PhantomData }
    }
}

#[async_trait]
impl<E: OfEdition> Provider for VsCode<E> {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        self.editor.ask(request, cx).await
    }

    fn info(&self) -> ProviderInfo {
        Self::INFO
    }

    async fn prepare(&self, cx: &CallContext) -> Result<(), ProviderError> {
        self.editor.provision_first(cx);
        Ok(())
    }

    fn batch(&self) -> Option<&dyn BatchProvider> {
        Some(self)
    }

    fn shares_directory(&self) -> bool {
        true
    }

    fn max_workers(&self) -> Option<NonZeroUsize> {
        // Spec: VS Code targets run one case at a time. The chat goes to whichever window has the focus.
        Some(NonZeroUsize::MIN)
    }
}

#[async_trait]
impl<E: OfEdition> BatchProvider for VsCode<E> {
    async fn invoke_batch(
        &self,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        self.editor.ask_all(requests, cx).await
    }
}
