//! A targets file → targets that can be built when they are needed.

use super::{secrets, settings};
use crate::config::{
    Cost, Entry, Env, Fields, FileSearch, Kind, Leftovers, Node, Note, Notes, Secrets, Span,
    suggestion, variable_reference,
};
use crate::load::discover::paths::{TARGETS_FILES, targets_in};
use crate::load::labels::{self, Labels};
use crate::load::suite::{v2_notes, workspace};
use crate::load::syntax::{read_text, yaml};
use crate::load::{Loader, Report};
use crate::providers::{CheckedSettings, GONE, Maker, Need, PROVIDERS, ProviderKind};
use agentv_core::{Secret, TargetName, WorkspaceSpec};
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The targets of one file.
#[derive(Debug)]
pub struct TargetsFile {
    pub path: PathBuf,
    pub targets: Vec<TargetSpec>,
    /// The environment variables that hold their keys.
    pub secret_variables: BTreeSet<String>,
    /// Keys that are written into the file, with the names that they are written under.
    pub literal_secrets: Vec<(String, Secret)>,
}

/// A target as written, checked but not built: an unused one needs no key.
pub struct TargetSpec {
    pub name: TargetName,
    pub judge_target: Option<TargetName>,
    pub workers: Option<NonZeroUsize>,
    /// The model as it is in the file, for people.
    pub model: Option<String>,
    pub provider_batching: bool,
    /// What a worker must have to get its cases.
    pub labels: Labels,
    /// Where its answers are worked out.
    pub workspace: Option<WorkspaceSpec>,
    /// What it is, if that is known.
    pub kind: Option<&'static ProviderKind>,
    /// Whether its answers are kept from run to run, if it says so.
    pub cache: Option<bool>,
    /// A hash of what it says of itself, without secrets: the same settings give the same answers.
    pub settings: [u8; 32],
    /// How to build it.
    pub maker: Option<Maker>,
    /// What it needs of the machine; nothing is known of a target that cannot be built.
    pub needs: Vec<Need>,
    /// The environment variables that hold its keys.
    pub secret_variables: BTreeSet<String>,
    /// What prevents its use, though not that of the others: a variable that is not set, a provider that is
    /// not known.
    pub obstacles: Vec<Note>,
}

impl fmt::Debug for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetSpec({})", self.name)
    }
}

impl TargetSpec {
    /// The program and the script of its command, if these are files, for an eval file in this directory.
    pub fn command_files(&self, eval_dir: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for need in &self.needs {
            let Need::Command(command) = need else { continue };
            let dir = command.dir(eval_dir);
            let program = Some(&command.program).filter(|program| program.contains('/'));
            files.extend(program.into_iter().chain(&command.script).map(|file| dir.join(file)));
        }
        files
    }
}

impl TargetsFile {
    /// The target of this name.
    pub fn find(&self, name: &str) -> Option<&TargetSpec> {
        self.targets.iter().find(|target| target.name.as_str() == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().map(|target| target.name.as_str())
    }

    /// All secrets that a run with these targets can see in its environment, and those that are written into the file.
    pub fn secrets(&self, env: &Env) -> Secrets {
        let mut secrets = Secrets::of(env, &self.secret_variables);
        for (name, secret) in &self.literal_secrets {
            secrets.insert(name, secret.clone());
        }
        secrets
    }
}

/// How many workers a target, or the command line, may ask for.
pub const MAX_WORKERS: usize = 1024;

impl Loader {
    /// Finds the targets file for an eval file: where `given` says, else upwards from the eval file.
    pub fn find_targets(&self, eval_dir: &Path, given: Option<&Path>) -> Result<PathBuf, String> {
        if let Some(given) = given {
            let path = self.working_dir.join(given);
            let found =
                if path.is_dir() { targets_in(&path) } else { path.exists().then_some(path) };
            return found.ok_or_else(|| format!("no targets file at `{}`", given.display()));
        }
        let search = FileSearch::new(eval_dir, &self.repo_root, &self.working_dir);
        search.roots().iter().find_map(|dir| targets_in(dir)).ok_or_else(|| {
            format!(
                "Unable to locate targets.yaml: none of {} was found from `{}` upwards",
                TARGETS_FILES.join(", "),
                eval_dir.display()
            )
        })
    }

    /// Loads a targets file.
    pub fn targets(&self, path: &Path, env: &Env) -> (Option<TargetsFile>, Report) {
        let mut report = Report::default();
        let mut notes = Notes::new(path);
        let mut literal_secrets = Vec::new();
        let targets = read_text(path, &mut notes).and_then(|text| {
            let targets = check(&text, path, env, (&mut notes, &mut literal_secrets));
            notes.locate(&text, 1);
            targets
        });
        let secret_variables = notes.secret_variables().clone();
        report.add(notes);
        let file = targets.map(|targets| TargetsFile {
            path: path.to_owned(),
            targets,
            secret_variables,
            literal_secrets,
        });
        (file, report)
    }
}

fn check(
    text: &str,
    path: &Path,
    env: &Env,
    (notes, literal_secrets): (&mut Notes, &mut Vec<(String, Secret)>),
) -> Option<Vec<TargetSpec>> {
    let root = yaml::parse(text, notes)?;
    let mut fields = Fields::of(&root, "the targets file", Cost::Command, notes, env)?;
    for key in ["$schema", "description", "version"] {
        fields.node(key);
    }
    let Some(list) = fields.node("targets") else {
        fields
            .error("targets::list", "targets", "the targets file has no `targets`")
            .help("add `targets:` with a list of `{name, provider, …}`");
        return None;
    };
    fields.finish(Leftovers::Warn);
    let Some(items) = list.as_list() else {
        let message = format!("`targets` must be a list, not {}", list.describe());
        notes.error("targets::list", Some(list.span), message);
        return None;
    };
    if v2_notes::is_of_2(&root) {
        v2_notes::look_at_targets(&root, notes);
    }
    let mut targets: Vec<TargetSpec> = Vec::new();
    for item in items {
        let found = secrets::of_target(item);
        found.variables.iter().for_each(|name| notes.remember_secret(name));
        literal_secrets.extend(found.literals);
        let Some(target) = target(item, text, path, env, notes) else { continue };
        if targets.iter().any(|known| known.name == target.name) {
            let span = item.get("name").map(|name| name.span);
            notes
                .error(
                    "targets::twin",
                    span,
                    format!("there are two targets named `{}`", target.name),
                )
                .help("rename one of them");
        }
        targets.push(target);
    }
    for item in items {
        warn_of_unknown_judge(item, &targets, env, notes);
    }
    notes.refuse_secrets_on_command_lines();
    Some(targets)
}

/// Only what asks the judge is lost by this, so it is no error yet.
fn warn_of_unknown_judge(node: &Node<'_>, targets: &[TargetSpec], env: &Env, notes: &mut Notes) {
    let Some(judge) = node.get("judge_target").or_else(|| node.get("judgeTarget")) else { return };
    let names = || targets.iter().map(|target| target.name.as_str());
    let meant = judge.as_text().and_then(|text| match variable_reference(text) {
        Some(variable) => env.get(variable),
        None => Some(text),
    });
    let Some(name) = meant.filter(|name| !names().any(|known| known == *name)) else { return };
    let help = match suggestion(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("available: {}", names().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("unknown judge target `{name}`");
    notes.warning("targets::judge", Some(judge.span), message).help(help);
}

fn target(
    node: &Node<'_>,
    text: &str,
    path: &Path,
    env: &Env,
    notes: &mut Notes,
) -> Option<TargetSpec> {
    let flat = with_nested_settings(node);
    let node = flat.as_ref().unwrap_or(node);
    let shown = node
        .get("name")
        .and_then(Node::as_text)
        .map_or_else(|| "a target".to_owned(), |name| format!("target `{name}`"));

    let mut own = Notes::new(path);
    for span in literal_secrets(node) {
        notes.hide(span);
        own.hide(span);
    }
    let mut fields = Fields::of(node, shown.clone(), Cost::Command, notes, env)?;
    let name: Option<String> = fields.need("name");
    let provider: Option<String> = fields.need("provider");
    for (key, value) in [("name", &name), ("provider", &provider)] {
        if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
            fields.error("config::empty", key, format!("`{key}` of {shown} must not be empty"));
        }
    }
    let judge_target: Option<String> = fields.take("judge_target");
    let workers = workers(&mut fields);
    let provider_batching = fields.take("provider_batching").unwrap_or(false);
    let cache = fields.take("cache");
    let labels = labels::read(&mut fields);
    let workspace = fields.node("workspace");
    let common_is_wrong = fields.failed();
    let rest = rest(&mut fields, node);

    // A variable that is not set makes only this target unusable.
    let mut with_variable = |key: &'static str, written: Option<String>| {
        if written.as_deref().and_then(variable_reference).is_none() {
            return written;
        }
        Fields::of(node, shown.clone(), Cost::Command, &mut own, env)?.expanding().take(key)
    };
    let provider = with_variable("provider", provider);
    let judge_target = with_variable("judge_target", judge_target).map(TargetName::from);
    let is_usable = own.errors() == 0;

    let kind = provider.as_deref().and_then(ProviderKind::find);
    let checked = match (kind, provider.as_deref()) {
        (Some(kind), _) => read_settings(kind, &rest, &shown, &mut own, env),
        (None, Some(provider)) => {
            unknown_provider(provider, node, &shown, &mut own);
            None
        }
        (None, None) => None,
    };
    let settings = settings::digest(&rest, own.secret_variables(), env);
    let workspace =
        workspace.map(|node| read_workspace(node, &rest, &shown, path, (&mut own, env)));
    // A target without the workspace that it asks for is another target.
    let checked = checked.filter(|_| is_usable && workspace.as_ref().is_none_or(Option::is_some));
    let (maker, needs) = checked.map(|checked| (checked.maker, checked.needs)).unzip();
    let secret_variables = own.secret_variables().clone();
    own.locate(text, 1);
    // A batch is not about one prompt.
    let is_moot = |note: &Note| provider_batching && note.code == "cli::prompt";
    let mut obstacles =
        notes.absorb_unless(own, |note| OBSTACLES.contains(&note.code) || is_moot(note));
    obstacles.retain(|note| !is_moot(note));
    if common_is_wrong {
        return None;
    }
    Some(TargetSpec {
        name: TargetName::from(name?),
        judge_target,
        workers,
        model: MODEL_KEYS.iter().find_map(|key| node.get(key)?.as_text().map(str::to_owned)),
        provider_batching,
        labels,
        workspace: workspace.flatten(),
        kind,
        cache,
        settings,
        maker,
        needs: needs.unwrap_or_default(),
        secret_variables,
        obstacles,
    })
}

/// What a model is called by, the best first.
const MODEL_KEYS: [&str; 2] = ["model", "deployment"];

/// Values that look like keys that were written into the file. No note shows them.
fn literal_secrets(node: &Node<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    for entry in node.as_map().into_iter().flatten() {
        let key = entry.key.to_ascii_lowercase();
        let telling = settings::TELLING.iter().any(|word| key.contains(word));
        match &entry.value.kind {
            Kind::Map(_) => spans.extend(literal_secrets(&entry.value)),
            Kind::Text(text) if telling && variable_reference(text).is_none() => {
                spans.push(entry.value.span);
            }
            Kind::Number(_) if telling && !key.contains("tokens") => spans.push(entry.value.span),
            _ => {}
        }
    }
    spans
}

/// Notes that matter only for a target that is used.
const OBSTACLES: [&str; 3] = ["config::env", "targets::provider", "workspace::template"];

/// The keys that are the provider's own.
fn rest<'t>(fields: &mut Fields<'_, 't>, node: &Node<'t>) -> Node<'t> {
    let entries = fields.rest().into_iter().cloned().collect();
    Node::new(Kind::Map(entries), node.span)
}

fn read_settings(
    kind: &ProviderKind,
    rest: &Node<'_>,
    shown: &str,
    notes: &mut Notes,
    env: &Env,
) -> Option<CheckedSettings> {
    let mut fields = Fields::of(rest, shown.to_owned(), Cost::Command, notes, env)?.expanding();
    let checked = kind.read(&mut fields);
    fields.finish(kind.leftovers);
    checked
}

fn read_workspace(
    node: &Node<'_>,
    rest: &Node<'_>,
    shown: &str,
    path: &Path,
    (notes, env): (&mut Notes, &Env),
) -> Option<WorkspaceSpec> {
    let mut fields = Fields::of(rest, shown.to_owned(), Cost::Command, notes, env)?.expanding();
    workspace::read(node, &mut fields, path.parent().unwrap_or(Path::new("/")))
}

fn unknown_provider(provider: &str, node: &Node<'_>, shown: &str, notes: &mut Notes) {
    let known = || PROVIDERS.iter().flat_map(|kind| kind.names.iter().copied());
    let gone = GONE.iter().find(|(name, ..)| name.eq_ignore_ascii_case(provider));
    let why = gone.map_or("is not known", |(_, why, _)| why);
    let help = match (gone, suggestion(provider, known())) {
        (Some((_, _, instead)), _) => (*instead).to_owned(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => format!("known providers: {}", known().collect::<Vec<_>>().join(", ")),
    };
    let span = node.get("provider").map(|provider| provider.span);
    notes
        .error(
            "targets::provider",
            span,
            format!("{shown} has the provider `{provider}`, which {why}"),
        )
        .help(help);
}

fn workers(fields: &mut Fields<'_, '_>) -> Option<NonZeroUsize> {
    let workers: u64 = fields.take("workers")?;
    let checked = usize::try_from(workers)
        .ok()
        .filter(|workers| *workers <= MAX_WORKERS)
        .and_then(NonZeroUsize::new);
    if checked.is_none() {
        let message = format!(
            "`workers` of {} must be from 1 to {MAX_WORKERS}, not `{workers}`",
            fields.owner()
        );
        fields
            .error("targets::workers", "workers", message)
            .help("leave `workers` out to run one case at a time");
    }
    checked
}

/// Older files keep a target's keys under `settings`. The flat ones win.
fn with_nested_settings<'t>(node: &Node<'t>) -> Option<Node<'t>> {
    let nested = node.get("settings")?.as_map()?;
    let flat = node.as_map()?.iter().filter(|entry| entry.key != "settings");
    let mut entries: Vec<Entry<'t>> = flat.cloned().collect();
    for entry in nested {
        if !entries.iter().any(|known| known.key == entry.key) {
            entries.push(entry.clone());
        }
    }
    Some(Node::new(Kind::Map(entries), node.span))
}
