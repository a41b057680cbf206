//! A provider that only repeats what was recorded, without a provider behind it.

use super::call::{
    CallKey, CassetteError, CassetteHeader, CassetteLine, LEGACY_VERSION, LegacyCallKey, VERSION,
};
use crate::cache::RequestDigest;
use crate::file_input::{self, RECORD_CAP};
use agentv_core::{
    CallContext, Provider, ProviderError, ProviderInfo, Request, Response, TargetName,
};
use async_trait::async_trait;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The calls of a cassette.
#[derive(Debug)]
pub struct Player {
    path: PathBuf,
    /// Words that name files below it are the same on every machine.
    root: PathBuf,
    /// Whether it is of version 1, whose calls do not say of which suite they are.
    is_legacy: bool,
    /// A lock and not a message: answers are handed out once each, in a moment.
    calls: Mutex<HashMap<CallKey, HashMap<String, Answers>>>,
}

/// What came back of the same call, where several cases of one id asked the same.
type Answers = VecDeque<Result<Response, ProviderError>>;

impl Player {
    pub fn open(path: &Path, root: &Path) -> Result<Self, CassetteError> {
        let own = || path.to_owned();
        let text = file_input::read_argument_to_string(path, RECORD_CAP)
            .map_err(|source| CassetteError::Unreadable { path: own(), source })?;
        let mut lines = text.lines().enumerate();
        let head =
            lines.next().and_then(|(_, line)| serde_json::from_str::<CassetteHeader>(line).ok());
        let is_legacy = match head.map(|head| head.agentv_cassette) {
            Some(VERSION) => false,
            Some(LEGACY_VERSION) => true,
            _ => return Err(CassetteError::Foreign { path: own() }),
        };
        let mut calls: HashMap<CallKey, HashMap<String, Answers>> = HashMap::new();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let outcome = if is_legacy {
                serde_json::from_str(line).map(CassetteLine::<LegacyCallKey>::outcome)
            } else {
                serde_json::from_str(line).map(CassetteLine::<CallKey>::outcome)
            };
            let (call, asked, outcome) = outcome.map_err(|source| CassetteError::Broken {
                path: own(),
                number: index + 1,
                source,
            })?;
            calls.entry(call).or_default().entry(asked).or_default().push_back(outcome);
        }
        Ok(Self { path: own(), root: root.to_owned(), is_legacy, calls: Mutex::new(calls) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its calls do not say of which suite they are.
    pub fn is_legacy(&self) -> bool {
        self.is_legacy
    }

    fn answer(&self, call: &CallKey, asked: RequestDigest) -> Result<Response, ProviderError> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(recorded) = calls.get_mut(call) else {
            return Err(self.miss(call, "is not on the cassette"));
        };
        let Some(answers) = recorded.get_mut(&asked.to_string()) else {
            let why = "had another request when it was recorded";
            return Err(self.miss(call, why));
        };
        let next = answers.pop_front();
        next.unwrap_or_else(|| Err(self.miss(call, "was called less often when it was recorded")))
    }

    fn miss(&self, call: &CallKey, why: &str) -> ProviderError {
        let path = self.path.display();
        ProviderError::failed(format!("{call} {why}; record it with `--record {path}`"))
    }
}

/// Makes no calls: no socket, no program, no key.
#[derive(Debug)]
pub struct Replaying {
    target: TargetName,
    info: ProviderInfo,
    player: Arc<Player>,
}

impl Replaying {
    pub fn new(target: TargetName, info: ProviderInfo, player: Arc<Player>) -> Self {
        Self { target, info, player }
    }
}

#[async_trait]
impl Provider for Replaying {
    async fn invoke(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        let call = CallKey::of(&self.target, request, cx);
        let call = if self.player.is_legacy { call.legacy() } else { call };
        if request.workspace.is_some() {
            return Err(ProviderError::failed(format!(
                "{call} cannot be replayed: what an agent leaves in its workspace is not on a cassette"
            )));
        }
        self.player.answer(&call, RequestDigest::of(request, Some(&self.player.root)))
    }

    fn info(&self) -> ProviderInfo {
        self.info
    }

    fn is_free(&self) -> bool {
        true
    }
}
