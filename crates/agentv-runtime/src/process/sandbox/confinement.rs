//! A sandbox for one call: which files, which ports, and a folder of its own.

use super::folders::{PathAndHome, ProgramPlaces};
use super::launch::{FileAccess, FileRule, Launch};
use super::{SUBCOMMAND, SandboxSettings};
use crate::config::Env;
use crate::process::{ChildEnvironment, Processes};
use agentv_wire::{FsAccess, NetworkAccess, SandboxRecord};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};
use tempfile::TempDir;

/// A program that is about to be started, and where.
#[derive(Debug)]
pub struct Surroundings<'a> {
    pub argv: &'a [OsString],
    /// Its own directory: it is written to in a [`FsAccess::Workspace`], else only read.
    pub cwd: &'a Path,
    /// The variables that there are, and those that it gets.
    pub env: &'a Env,
    pub child: &'a ChildEnvironment,
    pub processes: &'a Processes,
    /// Where relative paths of the settings start.
    pub eval_dir: &'a Path,
    pub proxy_port: Option<u16>,
}

/// What a program is given to work on, by its path.
#[derive(Debug, Clone, Default)]
pub struct GivenFiles {
    /// What the case names: it is read.
    pub named: Vec<PathBuf>,
    /// Directories like the program's own.
    pub own: Vec<PathBuf>,
    /// A folder that it writes its answer to.
    pub output: Option<PathBuf>,
}

/// A sandbox that is ready for a program. Its temporary folder goes with the last copy of this.
#[derive(Clone)]
pub struct Confinement(Arc<Prepared>);

struct Prepared {
    launch: Launch,
    record: SandboxRecord,
    scratch: TempDir,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    #[error("{0}; {help}", help = super::settings::BEST_EFFORT)]
    Kernel(String),
    #[error(
        "a sandbox cannot open `{}`, since that is the home directory or above it; put the eval file, and what it \
         names, into a folder of its own",
        .0.display()
    )]
    TooWide(PathBuf),
    #[error("cannot create a temporary folder for the sandbox: {0}")]
    Scratch(io::Error),
}

impl SandboxSettings {
    /// Makes a sandbox for one call.
    pub fn confine(
        &self,
        around: &Surroundings<'_>,
        given: &GivenFiles,
    ) -> Result<Confinement, ConfinementError> {
        if let Some(reason) = self.refusal() {
            return Err(ConfinementError::Kernel(reason));
        }
        let prefix = around.processes.temp_prefix("sandbox");
        let scratch = tempfile::Builder::new().prefix(&prefix).tempdir();
        let scratch = scratch.map_err(ConfinementError::Scratch)?;
        let files = self.files(around, given, scratch.path())?;
        let (held, missing) = self.parts();
        let nonce =
            getrandom::u64().map_err(|error| ConfinementError::Scratch(io::Error::other(error)))?;
        let launch = Launch {
            nonce: format!("{nonce:016x}"),
            parts: held.clone(),
            files,
            network: self.network.clone(),
            proxy_port: around.proxy_port,
            memory_mb: self.limits.memory_mb,
            cpu_seconds: self.limits.cpu_seconds,
        };
        let record = SandboxRecord {
            fs: self.fs,
            network: self.network.clone(),
            limits: self.limits,
            held,
            missing,
        };
        Ok(Confinement(Arc::new(Prepared { launch, record, scratch })))
    }

    fn files(
        &self,
        around: &Surroundings<'_>,
        given: &GivenFiles,
        scratch: &Path,
    ) -> Result<Vec<FileRule>, ConfinementError> {
        let variable = |name| around.child.get(name, around.env).unwrap_or_default();
        let home = Some(variable("HOME")).filter(|home| !home.is_empty()).map(Path::new);
        let path = OsStr::new(variable("PATH"));
        let places = ProgramPlaces::new(path, home, around.cwd);
        let own = || given.own.iter().map(PathBuf::as_path).chain([around.cwd]);
        let is_too_wide = |folder: &&Path| match self.fs {
            FsAccess::Workspace => places.is_too_wide(folder),
            FsAccess::ReadOnly => places.is_home_or_root(folder),
        };
        let named = || given.named.iter().map(PathBuf::as_path);
        let wide = own().find(is_too_wide).or_else(|| named().find(|f| places.is_home_or_root(f)));
        if let Some(wide) = wide {
            return Err(ConfinementError::TooWide(wide.to_owned()));
        }
        let written = |paths: &[String]| {
            paths.iter().map(|path| resolve(path, around.eval_dir, home)).collect::<Vec<_>>()
        };
        let write = |path: &Path| FileRule(FileAccess::Write, path.to_owned());
        let mut rules = Rules(around.processes.system_rules().of(&places));
        rules.add(std::iter::once(scratch).chain(given.output.as_deref()).map(write));
        match self.fs {
            FsAccess::Workspace => own().for_each(|folder| rules.add([write(folder)])),
            FsAccess::ReadOnly => own().for_each(|folder| rules.add(places.readable(folder))),
        }
        rules.add(written(&self.write).iter().map(|path| write(path)));
        named().for_each(|path| rules.add(places.readable(path)));
        rules.add(places.of_program(around.argv, around.env));
        rules.add(written(&self.read).into_iter().map(|path| FileRule(FileAccess::Read, path)));
        Ok(rules.0)
    }
}

/// The rules of the system and of the `PATH`, found once in a run: to look for them takes as long as to start a program.
#[derive(Debug, Default)]
pub(in crate::process) struct SystemRules(Mutex<HashMap<PathAndHome, Vec<FileRule>>>);

impl SystemRules {
    fn of(&self, places: &ProgramPlaces<'_>) -> Vec<FileRule> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.entry(places.key()).or_insert_with(|| {
            let mut rules = Rules(Vec::new());
            rules.add(places.of_system().into_iter().filter(|FileRule(_, path)| path.exists()));
            rules.0
        });
        found.clone()
    }
}

/// Rules, without those that others make idle.
struct Rules(Vec<FileRule>);

impl Rules {
    fn add(&mut self, rules: impl IntoIterator<Item = FileRule>) {
        for rule in rules {
            let FileRule(access, path) = &rule;
            let covers = |FileRule(known, above): &FileRule| {
                let is_enough = matches!(
                    (known, access),
                    (FileAccess::Write, _)
                        | (FileAccess::Read, FileAccess::Read | FileAccess::List)
                );
                // `a/../b` only looks as if it were below `a`.
                is_enough
                    && path.starts_with(above)
                    && !path.components().any(|part| part == Component::ParentDir)
            };
            if !self.0.iter().any(covers) {
                self.0.push(rule);
            }
        }
    }
}

/// A path of the settings. `~` is the home.
fn resolve(path: &str, eval_dir: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => eval_dir.join(path),
    }
}

impl Confinement {
    /// What the record says of it.
    pub fn record(&self) -> &SandboxRecord {
        &self.0.record
    }

    /// The folder that only this program has, and may write to. It is the program's `TMPDIR`.
    pub fn scratch(&self) -> &Path {
        self.0.scratch.path()
    }

    /// What a failed program is told: its error may be the sandbox's doing.
    pub fn hint(&self) -> String {
        let SandboxRecord { fs, network, limits, .. } = &self.0.record;
        let fs = match fs {
            FsAccess::Workspace => "workspace",
            FsAccess::ReadOnly => "read_only",
        };
        let network = match network {
            NetworkAccess::None => "none".to_owned(),
            NetworkAccess::Proxy => "proxy".to_owned(),
            NetworkAccess::Ports(ports) => format!("{ports:?}"),
        };
        let memory =
            limits.memory_mb.map(|limit| format!(", memory_mb: {limit}")).unwrap_or_default();
        format!("it ran in a sandbox (fs: {fs}, network: {network}{memory})")
    }

    /// The nonce of its launcher; `None` where nothing can be applied, so that there is no launcher.
    pub(in crate::process) fn nonce(&self) -> Option<&str> {
        (!self.0.launch.parts.is_empty()).then_some(&*self.0.launch.nonce)
    }

    /// The program and the arguments that start a launcher, before those of the program itself.
    pub(in crate::process) fn launcher(&self) -> io::Result<(&'static str, [OsString; 2])> {
        let launch = serde_json::to_string(&self.0.launch).map_err(io::Error::other)?;
        // The binary that is running now, even if its file was replaced since.
        Ok(("/proc/self/exe", [SUBCOMMAND.into(), launch.into()]))
    }

    /// The variables that a program finds its temporary folder by.
    pub(in crate::process) fn variables(&self) -> [(&'static str, &Path); 3] {
        ["TMPDIR", "TMP", "TEMP"].map(|name| (name, self.scratch()))
    }
}

/// Without the rules, which are long.
impl fmt::Debug for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Confinement").field(self.record()).finish()
    }
}
