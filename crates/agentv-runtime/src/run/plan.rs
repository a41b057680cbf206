//! Suites × targets → pools: who answers what, with how many workers.

use super::pool::Pool;
use super::self_judging::SelfJudging;
use super::suite_on_target::{CaseFilter, PlannedTarget, PriorWork, SuiteOnTarget};
use crate::config::{Note, Notes, Secrets, suggestion};
use crate::load::{Labels, LoadedSuite, MAX_WORKERS, TargetPlace, TargetSpec, target_place};
use crate::providers::Deps;
use crate::providers::mock::Mock;
use crate::targets::{Judge, JudgeTargets, TargetBook};
use crate::workspace::Workshop;
use agentv_core::{
    CallContext, NamedProvider, Provider, ProviderError, ProviderInfo, Request, Response,
    TargetName, Trials,
};
use agentv_wire::DryRunDelay;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// What the user chose on the command line.
#[derive(Debug, Clone, Default)]
pub struct PlanChoice {
    /// Targets by name; they win over what files and cases ask for.
    pub targets: Vec<TargetName>,
    pub workers: Option<NonZeroUsize>,
    /// Whether cases are run by workers elsewhere: as many at a time as they take, unless a target has a limit.
    pub is_cluster: bool,
    /// How often each case is asked; wins over what files say.
    pub trials: Option<Trials>,
    /// Ask a stand-in instead of the targets.
    pub dry_run: Option<DryRunDelay>,
    /// Ask no target: the answers are there, and only judges are asked.
    pub regrade: bool,
}

/// The pools of a run, and what is in the way of it.
#[derive(Debug, Default)]
pub struct Plan {
    pub pools: Vec<Pool>,
    /// How many records there will be.
    pub total: usize,
    pub notes: Vec<Note>,
}

impl Plan {
    /// Every suite on every target.
    pub fn lanes(&self) -> impl Iterator<Item = &SuiteOnTarget> {
        self.pools.iter().flat_map(|pool| &pool.lanes)
    }

    /// All secrets that the run can see: of every target in its targets files, called or not, and in the environment.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        for lane in self.lanes() {
            secrets.merge(lane.target.judges.book.secrets());
        }
        secrets
    }

    /// Whether any case is asked several times.
    pub fn has_trials(&self) -> bool {
        let mut lanes = self.pools.iter().flat_map(|pool| &pool.lanes);
        lanes.any(|lane| lane.trials != Trials::ONE)
    }
}

/// The target of cases that ask for none.
const DEFAULT_TARGET: &str = "default";

/// Makes the plan. Suites come with the targets file that holds for them.
pub fn plan(suites: Vec<(Arc<LoadedSuite>, Arc<TargetBook>)>, choice: &PlanChoice) -> Plan {
    let mut plan = Plan::default();
    // By name, so that a target's workers are shared by all files that use it.
    let mut pools: BTreeMap<TargetName, Pool> = BTreeMap::new();
    let mut order = Vec::new();
    let mut first_position = 0;
    let mut self_judging = SelfJudging::default();
    for (suite, book) in suites {
        for (name, takes) in wanted(&suite, choice) {
            let cases = count(&suite, &takes);
            if cases == 0 {
                continue;
            }
            let target = match lane_target(&name, &book, choice) {
                Ok(target) => target,
                Err(notes) => {
                    plan.notes.extend(
                        notes
                            .into_iter()
                            .filter(|note| !plan.notes.contains(note))
                            .collect::<Vec<_>>(),
                    );
                    // On the command line it has no place in a file.
                    let place = if choice.targets.is_empty() {
                        target_place(&suite.suite.file, name.as_str())
                    } else {
                        None
                    };
                    plan.notes.extend(unknown(&name, &suite, &book, place.as_ref()));
                    continue;
                }
            };
            self_judging.look_at(&suite, &takes, &target);
            let workers = workers(&name, &target, &book, choice, &mut plan.notes);
            if cases > 1 && !target.batching && is_undecided(&target, &book, choice) {
                plan.notes.extend(suite.note_on_workers());
            }
            let pool = pools.entry(name.clone()).or_insert_with(|| {
                order.push(name.clone());
                Pool { lanes: Vec::new(), workers }
            });
            pool.workers = pool.workers.max(workers);
            let lane = SuiteOnTarget {
                suite: Arc::clone(&suite),
                target,
                takes,
                cases,
                trials: choice.trials.or(suite.suite.trials).unwrap_or(Trials::ONE),
                first_position,
                past: PriorWork::default(),
            };
            plan.total += lane.records();
            pool.lanes.push(lane);
        }
        first_position += suite.cases.total();
    }
    plan.notes.extend(self_judging.notes());
    plan.pools = order.into_iter().filter_map(|name| pools.remove(&name)).collect();
    plan
}

/// How many cases may be under way where other processes run them.
const MOST_WORKERS: NonZeroUsize = NonZeroUsize::new(MAX_WORKERS).unwrap();

/// How many cases of a target run at a time: as many as the user says, if the provider can.
fn workers(
    name: &TargetName,
    target: &PlannedTarget,
    book: &TargetBook,
    choice: &PlanChoice,
    notes: &mut Vec<Note>,
) -> NonZeroUsize {
    let spec_workers = book.file.find(name.as_str()).and_then(|spec| spec.workers);
    let workers = choice
        .workers
        .or(spec_workers.filter(|_| choice.dry_run.is_none()))
        .unwrap_or(if choice.is_cluster { MOST_WORKERS } else { NonZeroUsize::MIN });
    let Some(most) = target.provider.max_workers().filter(|most| *most < workers) else {
        return workers;
    };
    if workers == MOST_WORKERS {
        return most;
    }
    let kind = target.provider.info().kind;
    let mut own = Notes::new(book.file.path.clone());
    let message = format!("target `{name}` has {most} worker instead of {workers}");
    own.warning("targets::workers", None, message)
        .help(format!("`{kind}` takes {most} case at a time; leave the workers out"));
    notes.extend(
        own.finish().0.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>(),
    );
    most
}

/// Whether it is not set how many cases of a target run at a time, though there could be several.
fn is_undecided(target: &PlannedTarget, book: &TargetBook, choice: &PlanChoice) -> bool {
    let decided = book.file.find(target.name.as_str()).is_some_and(|spec| spec.workers.is_some());
    let could = target.provider.max_workers().is_none_or(|most| most > NonZeroUsize::MIN);
    could && !decided && choice.workers.is_none() && choice.dry_run.is_none() && !choice.is_cluster
}

/// Which targets answer which cases of a suite.
fn wanted(suite: &LoadedSuite, choice: &PlanChoice) -> Vec<(TargetName, CaseFilter)> {
    if !choice.targets.is_empty() {
        return choice.targets.iter().map(|name| (name.clone(), CaseFilter::All)).collect();
    }
    let (main, own) = targets_of(suite);
    let own = own.into_iter().map(|name| (name.clone(), CaseFilter::Only(name)));
    std::iter::once((main.clone(), CaseFilter::UndecidedOr(main))).chain(own).collect()
}

/// The target of a suite, and those that cases of it insist on, where the command line names none.
pub fn targets_of(suite: &LoadedSuite) -> (TargetName, Vec<TargetName>) {
    let main = suite.target.clone().unwrap_or_else(|| TargetName::from(DEFAULT_TARGET));
    let own = suite.cases.by_target().keys().flatten().filter(|name| **name != main).cloned();
    let own = own.collect();
    (main, own)
}

fn count(suite: &LoadedSuite, takes: &CaseFilter) -> usize {
    let counts = suite.cases.by_target().iter();
    counts.filter(|(wanted, _)| takes.accepts(wanted.as_ref())).map(|(_, count)| count).sum()
}

/// What replaces every provider in a dry run.
const DRY_RUN: &str = "mock (dry-run)";

fn label(name: &TargetName, kind: &str) -> Arc<str> {
    format!("{name} [provider={kind}]").into()
}

/// The target, or the notes on why it cannot be used; none if it does not exist.
fn lane_target(
    name: &TargetName,
    book: &Arc<TargetBook>,
    choice: &PlanChoice,
) -> Result<PlannedTarget, Vec<Note>> {
    let spec = book.file.find(name.as_str()).ok_or_else(Vec::new)?;
    if let Some(delay) = choice.dry_run {
        let provider: Arc<dyn Provider> = Arc::new(Mock::dry_run(delay));
        let name = TargetName::from(format!("{name}-dry-run"));
        let judge = Arc::new(Mock::dry_run_judge(delay));
        let judge = NamedProvider { name: name.clone(), provider: judge };
        return Ok(PlannedTarget {
            label: label(&spec.name, DRY_RUN),
            kind: DRY_RUN.to_owned(),
            name,
            provider,
            batching: false,
            judges: JudgeTargets { book: Arc::clone(book), judge: Judge::StandIn(judge) },
            workspace: None,
            workshop: None,
            labels: Labels::default(),
        });
    }
    if choice.regrade {
        return recorded_target(name, book, spec);
    }
    let provider = book.provider(name).map_err(|_| spec.obstacles.clone())?;
    let judge = match &spec.judge_target {
        Some(judge) => Judge::Named(judge.clone()),
        None => Judge::Own(NamedProvider { name: name.clone(), provider: Arc::clone(&provider) }),
    };
    Ok(PlannedTarget {
        name: name.clone(),
        label: label(name, provider.info().kind),
        kind: provider.info().kind.to_owned(),
        provider,
        batching: spec.provider_batching,
        judges: JudgeTargets { book: Arc::clone(book), judge },
        workspace: spec.workspace.clone(),
        workshop: Some(workshop(book.deps())),
        labels: spec.labels.clone(),
    })
}

/// A target that is not asked, and so needs no key. It may still be its own judge, who does.
fn recorded_target(
    name: &TargetName,
    book: &Arc<TargetBook>,
    spec: &TargetSpec,
) -> Result<PlannedTarget, Vec<Note>> {
    let kind = spec.kind.ok_or_else(|| spec.obstacles.clone())?;
    let judge = Judge::Named(spec.judge_target.clone().unwrap_or_else(|| name.clone()));
    Ok(PlannedTarget {
        name: name.clone(),
        label: label(name, kind.info.kind),
        kind: kind.info.kind.to_owned(),
        provider: Arc::new(Unasked(kind.info)),
        batching: false,
        judges: JudgeTargets { book: Arc::clone(book), judge },
        workspace: None,
        workshop: None,
        labels: Labels::default(),
    })
}

/// Holds the place of a target whose answers are there.
#[derive(Debug)]
struct Unasked(ProviderInfo);

#[async_trait]
impl Provider for Unasked {
    async fn invoke(&self, _: &Request, _: &CallContext) -> Result<Response, ProviderError> {
        Err(ProviderError::failed("no target is called when recorded answers are graded"))
    }

    fn info(&self) -> ProviderInfo {
        self.0
    }
}

fn workshop(deps: &Deps) -> Workshop {
    let Deps { eval_dir, env, secrets, processes, .. } = deps.clone();
    Workshop { eval_dir, env, secrets, processes }
}

/// The note on a target that the targets file does not have.
fn unknown(
    name: &TargetName,
    suite: &LoadedSuite,
    book: &TargetBook,
    place: Option<&TargetPlace>,
) -> Vec<Note> {
    if book.file.find(name.as_str()).is_some() {
        return Vec::new();
    }
    let names: Vec<&str> = book.file.names().collect();
    let message = format!("unknown target `{name}` in `{}`", book.file.path.display());
    let help = match suggestion(name.as_str(), names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? available: {}", names.join(", ")),
        None if name.as_str() == DEFAULT_TARGET => {
            format!(
                "choose one with `--target` or `execution.target`; available: {}",
                names.join(", ")
            )
        }
        None => format!("available: {}", names.join(", ")),
    };
    let path = place.map_or(&suite.suite.file, |place| &place.path);
    let mut own = Notes::new(path.as_path());
    own.error("targets::unknown", place.map(|place| place.span), message).help(help);
    if let Some(TargetPlace { text, first_line, .. }) = place {
        own.locate(text, *first_line);
    }
    own.finish().0
}
