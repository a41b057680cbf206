//! Which files and folders a program in a sandbox needs: the system's, those of its tool chain, and those of its project.
//! Landlock can only open more, never less, so what must stay closed is in none of them.

use super::launch::{FileAccess, FileRule};
use crate::config::Env;
use crate::process::{find, interpreted, shell_words};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Folders of the system without anything of the user's. `/proc` is among them: of processes outside of the sandbox it
/// shows names and command lines, but neither their environment nor their memory.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/gnu",
    "/run/current-system",
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
];

/// What programs read in `/etc`. Not the whole of it: root would read `shadow` and the keys of the machine.
const ETC: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "localtime",
    "locale.alias",
    "locale.conf",
    "lsb-release",
    "machine-id",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "php",
    "pki/ca-trust",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "profile",
    "protocols",
    "resolv.conf",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Tool chains in the home whose folder holds more than a tool chain: what is opened of them.
const PARTLY_OPEN: &[(&str, &[&str])] =
    &[(".local", &["bin", "lib"]), (".cargo", &["bin", "registry"])];

/// Files and folders of a project that run times look for, from a script upwards.
const PROJECT: &[&str] =
    &["node_modules", "package.json", "tsconfig.json", ".venv", "pyproject.toml"];

/// Names that hold keys. A folder that is only read is opened without them, and without all other `.env` files.
const SECRETS: &[&str] = &[
    ".env",
    ".env.local",
    ".envrc",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".ssh",
    ".aws",
    ".gnupg",
];

/// The variables that decide what is opened of the system.
pub(super) type PathAndHome = (OsString, Option<PathBuf>);

/// Where a program looks for other programs, and what must not be opened as a whole.
#[derive(Debug)]
pub(super) struct ProgramPlaces<'a> {
    path: &'a OsStr,
    home: Option<&'a Path>,
    /// Where the home really is. It is asked for often.
    real_home: Option<PathBuf>,
    cwd: &'a Path,
}

impl<'a> ProgramPlaces<'a> {
    pub(super) fn new(path: &'a OsStr, home: Option<&'a Path>, cwd: &'a Path) -> Self {
        Self { path, home, real_home: home.map(real), cwd }
    }

    /// What the places of the system depend on.
    pub(super) fn key(&self) -> PathAndHome {
        (self.path.to_owned(), self.home.map(Path::to_owned))
    }

    /// Whether a folder is the user's home or above it, so that the keys in it would be open.
    pub(super) fn is_too_wide(&self, folder: &Path) -> bool {
        let folder = real(folder);
        folder.parent().is_none()
            || self.real_home.as_ref().is_some_and(|home| home.starts_with(folder))
    }

    /// Whether a folder cannot be opened even without the home that is in it.
    pub(super) fn is_home_or_root(&self, folder: &Path) -> bool {
        let folder = real(folder);
        folder.parent().is_none() || self.real_home.as_ref().is_some_and(|home| *home == folder)
    }

    /// Opens a folder for reading, without the keys and without the home that are in it.
    pub(super) fn readable(&self, path: &Path) -> Vec<FileRule> {
        let read = |path: PathBuf| FileRule(FileAccess::Read, path);
        let holds_home = self.is_too_wide(path);
        if !holds_home && !SECRETS.iter().any(|name| path.join(name).exists()) {
            return vec![read(path.to_owned())];
        }
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        let mut rules = Vec::new();
        if !holds_home {
            // A folder that is listed is so with all that is below it.
            rules.push(FileRule(FileAccess::List, path.to_owned()));
        }
        for entry in entries.flatten().filter(|entry| !is_secret(&entry.file_name())) {
            let path = entry.path();
            if !self.is_too_wide(&path) {
                rules.push(read(path));
            } else if !self.is_home_or_root(&path) {
                rules.extend(self.readable(&path));
            }
        }
        rules
    }

    /// The system and every tool chain on the `PATH`.
    pub(super) fn of_system(&self) -> Vec<FileRule> {
        let read = |path: PathBuf| FileRule(FileAccess::Read, path);
        let mut rules: Vec<FileRule> = SYSTEM
            .iter()
            .map(PathBuf::from)
            .chain(ETC.iter().map(|name| Path::new("/etc").join(name)))
            .map(read)
            .collect();
        rules.extend(DEVICES.iter().map(|path| FileRule(FileAccess::Device, PathBuf::from(path))));
        for folder in std::env::split_paths(self.path).filter(|folder| folder.is_absolute()) {
            rules.extend(self.tool_chain(&folder).into_iter().map(read));
        }
        // The proxies of Rust's tools are in one folder, the tools in another.
        rules.extend(self.home.map(|home| read(home.join(".rustup"))));
        rules
    }

    /// The program, its interpreter, its script, and what these look for.
    pub(super) fn of_program(&self, argv: &[OsString], env: &Env) -> Vec<FileRule> {
        let mut words: Vec<&str> = argv.iter().map_while(|word| word.to_str()).collect();
        let mut folders = Vec::new();
        let mut programs = vec![words.first().copied()];
        if let ["/bin/sh", "-c", script] = *words {
            words = shell_words(script);
            programs.push(words.first().copied());
        }
        for program in programs.into_iter().flatten() {
            let found = find(program, self.cwd, env);
            folders.extend(found.map(|file| self.links(&file)).unwrap_or_default());
        }
        let script = interpreted(&words).map(|script| self.cwd.join(script));
        let script = script.filter(|script| script.is_file());
        folders.extend(script.as_deref().map(|script| self.around(script)).unwrap_or_default());
        let start = script.as_deref().and_then(Path::parent);
        for folder in [Some(self.cwd), start].into_iter().flatten() {
            folders.extend(project(folder));
        }
        folders.iter().flat_map(|folder| self.readable(folder)).collect()
    }

    /// A file and all that it leads to as a link, each with its tool chain.
    fn links(&self, file: &Path) -> Vec<PathBuf> {
        let mut folders = self.around(file);
        let mut at = file.to_owned();
        // The kernel follows no more than 40.
        for _ in 0..40 {
            let Ok(next) = std::fs::read_link(&at) else { break };
            at = at.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
            folders.extend(self.around(&at));
        }
        folders.extend(at.canonicalize().map(|real| self.around(&real)).unwrap_or_default());
        folders
    }

    /// The tool chain that a file belongs to, or the file alone where its folder must not be opened.
    fn around(&self, file: &Path) -> Vec<PathBuf> {
        match file.parent() {
            Some(folder) if !self.is_too_wide(folder) => self.tool_chain(folder),
            _ => vec![file.to_owned()],
        }
    }

    /// A folder of programs with what they need: `bin` belongs to the folder around it.
    fn tool_chain(&self, folder: &Path) -> Vec<PathBuf> {
        if self.is_too_wide(folder) {
            return Vec::new();
        }
        let name = folder.file_name().and_then(OsStr::to_str);
        let around = folder.parent().filter(|_| matches!(name, Some("bin" | "sbin" | "shims")));
        let around = around.filter(|around| !self.is_too_wide(around) && !is_a_home(around));
        let Some(around) = around else {
            return vec![folder.to_owned()];
        };
        let parts = self.home.and_then(|home| {
            PARTLY_OPEN.iter().find(|(name, _)| around == home.join(name)).map(|(_, parts)| *parts)
        });
        match parts {
            Some(parts) => parts.iter().map(|part| around.join(part)).collect(),
            None => vec![around.to_owned()],
        }
    }
}

/// Whether a folder is a user's home, even if `HOME` names another one.
fn is_a_home(folder: &Path) -> bool {
    folder == Path::new("/root") || folder.parent() == Some(Path::new("/home"))
}

/// What run times look for in a folder and in those above it.
fn project(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let found = folder.ancestors().flat_map(|folder| PROJECT.iter().map(|name| folder.join(name)));
    found.filter(|path| path.exists())
}

/// Where a path leads to, if it is there.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn is_secret(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(".env") || SECRETS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn places<'a>(home: &'a Path, path: &'a str) -> ProgramPlaces<'a> {
        ProgramPlaces::new(path.as_ref(), Some(home), home)
    }

    #[test]
    fn a_tool_chain_is_opened_and_the_home_is_not() {
        let homes = Path::new("/home");
        let home = homes.join("ada");
        let check = |folder: &str, expected: &[&str]| {
            let found = places(&home, "").tool_chain(&homes.join(folder));
            assert_eq!(found, expected.iter().map(|path| homes.join(path)).collect::<Vec<_>>());
        };
        check("ada/.pyenv/shims", &["ada/.pyenv"]);
        check("ada/.nvm/versions/node/v24/bin", &["ada/.nvm/versions/node/v24"]);
        check("ada/.local/bin", &["ada/.local/bin", "ada/.local/lib"]);
        check("ada/.cargo/bin", &["ada/.cargo/bin", "ada/.cargo/registry"]);
        check("ada/bin", &["ada/bin"]);
        check("bob/bin", &["bob/bin"]);
        check("ada/project/judges", &["ada/project/judges"]);
        check("ada", &[]);
        check("", &[]);
        check("/", &[]);
        check("/opt/tool/bin", &["/opt/tool"]);
    }

    #[test]
    fn keys_and_the_home_beside_an_eval_file_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("homes/ada");
        let beside = places(Path::new("/nowhere"), "");
        let names = |rules: Vec<FileRule>| {
            let mut names: Vec<_> = rules
                .into_iter()
                .map(|FileRule(access, path)| {
                    let name = path.strip_prefix(dir.path()).unwrap().display().to_string();
                    format!("{access:?} {name}")
                })
                .collect();
            names.sort();
            names
        };
        fs::write(dir.path().join("a.eval.yaml"), "").unwrap();
        assert_eq!(names(beside.readable(dir.path())), ["Read "]);
        fs::write(dir.path().join(".env"), "KEY=1").unwrap();
        fs::write(dir.path().join(".env.production"), "KEY=1").unwrap();
        assert_eq!(names(beside.readable(dir.path())), ["List ", "Read a.eval.yaml"]);
        fs::create_dir_all(&home).unwrap();
        fs::create_dir(dir.path().join("homes/shared")).unwrap();
        let expected = ["Read a.eval.yaml", "Read homes/shared"];
        assert_eq!(names(places(&home, "").readable(dir.path())), expected);
    }
}
