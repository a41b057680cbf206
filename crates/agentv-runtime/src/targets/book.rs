//! Targets by name, built when they are first needed, so that an unused one needs no key.

use super::judge_calls::JudgeCalls;
use super::metered::{self, Metered};
use super::redacted::Redacted;
use super::{JudgeLimit, LimitBook, Overrun, Spending, Target};
use crate::cache::{AnswerStore, CacheChoice, Cached, TargetFingerprint};
use crate::cassette::{RecordingProvider, Replaying, Tape};
use crate::config::Secrets;
use crate::load::{TargetSpec, TargetsFile};
use crate::process::SecretPolicy;
use crate::providers::{CallPolicy, Deps};
use agentv_core::{EvaluatorError, NamedProvider, Provider, Redactor, TargetName, Targets};
use agentv_wire::FailureKind;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The targets of one targets file, as one eval file sees them.
#[derive(Debug)]
pub struct TargetBook {
    pub file: TargetsFile,
    /// What every provider is given; the target's name is filled in.
    deps: Deps,
    /// A lock and not a message: building is quick and happens once.
    built: Mutex<HashMap<TargetName, Arc<dyn Provider>>>,
    /// Shared with the other eval files of the run.
    limits: Arc<LimitBook>,
    services: CallServices,
}

/// What is remembered of the calls.
#[derive(Debug, Clone, Default)]
pub struct CallServices {
    /// Which answers are kept from run to run.
    pub cache: CacheChoice,
    /// Where; nowhere, nothing is kept.
    pub store: Option<Arc<dyn AnswerStore>>,
    /// Whether all calls of the run are recorded, or replayed.
    pub tape: Tape,
    /// What all calls cost, and how much they may; shared by all targets and judges of a run.
    pub spending: Arc<Spending>,
}

/// Why a target cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("unknown target `{name}`; available: {available}")]
    Unknown { name: String, available: String },
    #[error("target `{name}` cannot be used: {reason}")]
    Unusable { name: String, reason: String },
}

impl TargetBook {
    /// A book of its own.
    pub fn new(file: TargetsFile, deps: Deps) -> Arc<Self> {
        Self::sharing(file, deps, Arc::default(), CallServices::default())
    }

    /// One of several books of a run, which call the same accounts.
    pub fn sharing(
        file: TargetsFile,
        deps: Deps,
        limits: Arc<LimitBook>,
        services: CallServices,
    ) -> Arc<Self> {
        let used = Arc::new(file.secret_variables.clone());
        let deps = Deps { secrets: SecretPolicy { used, ..deps.secrets }, ..deps };
        Arc::new(Self { file, deps, built: Mutex::default(), limits, services })
    }

    /// What every provider is given, but for its name.
    pub fn deps(&self) -> &Deps {
        &self.deps
    }

    /// All secrets that calls of these targets can see.
    pub fn secrets(&self) -> Secrets {
        self.file.secrets(&self.deps.env)
    }

    /// The provider of a target; one instance for all who ask.
    pub fn provider(&self, name: &TargetName) -> Result<Arc<dyn Provider>, TargetError> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = built.get(name) {
            return Ok(Arc::clone(provider));
        }
        let provider = self.build(name)?;
        built.insert(name.clone(), Arc::clone(&provider));
        Ok(provider)
    }

    /// Why the calls of a target cannot be counted in the run's budget, if that is known before they are made.
    pub fn unknowable(&self, name: &TargetName) -> Option<Overrun> {
        if matches!(self.services.tape, Tape::Replaying(_)) {
            return None;
        }
        let maker = self.file.find(name.as_str())?.maker.as_ref()?;
        let made = maker(&Deps { target: name.clone(), ..self.deps.clone() });
        metered::unknowable(name, &made.billing, self.services.spending.budget())
    }

    /// What all calls of the run cost, and how much they may.
    pub fn spending(&self) -> &Arc<Spending> {
        &self.services.spending
    }

    /// Masks the secrets that calls of these targets may bring.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.deps.redactor
    }

    /// A target as graders call it: no more often at once than it says.
    fn for_graders(&self, name: &TargetName, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match self.file.find(name.as_str()).and_then(|spec| spec.workers) {
            Some(workers) => {
                let file = self.file.path.clone();
                let limit = JudgeLimit { file, target: name.clone(), workers };
                Arc::new(JudgeCalls::new(provider, limit, Arc::clone(self.limits.shared())))
            }
            None => provider,
        }
    }

    fn spec(&self, name: &TargetName) -> Result<&TargetSpec, TargetError> {
        self.file.find(name.as_str()).ok_or_else(|| {
            let available: Vec<&str> = self.file.names().collect();
            TargetError::Unknown { name: name.to_string(), available: available.join(", ") }
        })
    }

    fn build(&self, name: &TargetName) -> Result<Arc<dyn Provider>, TargetError> {
        let spec = self.spec(name)?;
        if let (Tape::Replaying(player), Some(kind)) = (&self.services.tape, spec.kind) {
            return Ok(Arc::new(Replaying::new(name.clone(), kind.info, Arc::clone(player))));
        }
        let Some(maker) = &spec.maker else {
            let reasons: Vec<&str> =
                spec.obstacles.iter().map(|note| note.message.as_str()).collect();
            return Err(TargetError::Unusable {
                name: name.to_string(),
                reason: reasons.join("; "),
            });
        };
        let health = self.limits.health(&self.file.path, spec);
        let mut made = maker(&Deps { target: name.clone(), health, ..self.deps.clone() });
        made.provider = Redacted::around(made.provider, &self.deps.redactor);
        let limits = |policy: &CallPolicy| self.limits.of(&self.file.path, name, policy);
        let bill = (made.billing, made.policy.max_output_tokens);
        let target = Target::around(name, made, limits);
        let provider = self.cached(spec, Metered::around(name, target, bill, self.limits.shared()));
        Ok(match &self.services.tape {
            Tape::Recording(recorder) => {
                Arc::new(RecordingProvider::new(name.clone(), provider, Arc::clone(recorder)))
            }
            Tape::Off | Tape::Replaying(_) => provider,
        })
    }

    /// Around the retries and limits: what is known needs neither.
    fn cached(&self, spec: &TargetSpec, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        let Some((kind, store)) = spec.kind.zip(self.services.store.as_ref()) else {
            return provider;
        };
        if !self.services.cache.covers(spec.cache, kind.is_cached) {
            return provider;
        }
        let place = (!kind.is_cached).then(|| self.deps.eval_dir.clone());
        let settled = TargetFingerprint { kind: kind.info.kind, settings: spec.settings, place };
        Arc::new(Cached::new(provider, settled, Arc::clone(store)))
    }
}

/// What the graders of one target's answers may ask.
#[derive(Debug)]
pub struct JudgeTargets {
    pub book: Arc<TargetBook>,
    pub judge: Judge,
}

/// Who judges.
#[derive(Debug)]
pub enum Judge {
    /// The target's `judge_target`.
    Named(TargetName),
    /// The target itself, since it names no judge.
    Own(NamedProvider),
    /// In a dry run: the same mock for all names, so that no target is called.
    StandIn(NamedProvider),
}

impl Targets for JudgeTargets {
    fn judge(&self) -> Result<NamedProvider, EvaluatorError> {
        match &self.judge {
            Judge::Named(name) => self.named(name.as_str()),
            Judge::Own(own) => Ok(NamedProvider {
                provider: self.book.for_graders(&own.name, Arc::clone(&own.provider)),
                name: own.name.clone(),
            }),
            Judge::StandIn(own) => Ok(own.clone()),
        }
    }

    fn named(&self, name: &str) -> Result<NamedProvider, EvaluatorError> {
        let name = TargetName::from(name);
        let found = match &self.judge {
            Judge::StandIn(stand_in) => self.book.spec(&name).map(|_| stand_in.clone()),
            _ => self.book.provider(&name).map(|provider| NamedProvider {
                provider: self.book.for_graders(&name, provider),
                name,
            }),
        };
        found.map_err(|error| EvaluatorError::new(FailureKind::Provider, error.to_string()))
    }

    fn names(&self) -> Vec<&str> {
        self.book.file.names().collect()
    }

    fn secret_variables(&self) -> Vec<&str> {
        self.book.file.secret_variables.iter().map(String::as_str).collect()
    }
}
