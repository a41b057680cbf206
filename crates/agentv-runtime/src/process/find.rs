//! Where a program is.

use crate::config::Env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("cannot find the program `{}`", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is not executable", path.display())]
    NotExecutable { path: PathBuf },
    #[error("`{program}` was not found in any directory of `PATH`")]
    NotInPath { program: String, searched: Vec<PathBuf> },
    #[error("`{program}` was not found, since `PATH` is not set")]
    NoPath { program: String },
}

/// The file that a program's name stands for: a name with a `/` is a path, taken from `cwd` if it is relative; any other is
/// looked up in `PATH`.
pub fn find(program: &str, cwd: &Path, env: &Env) -> Result<PathBuf, FindError> {
    if program.contains('/') {
        let path = cwd.join(program);
        if is_executable(&path) {
            return Ok(path);
        }
        let is_file = path.is_file();
        return Err(if is_file {
            FindError::NotExecutable { path }
        } else {
            FindError::Missing { path }
        });
    }
    let Some(path) = env.get("PATH").filter(|path| !path.is_empty()) else {
        return Err(FindError::NoPath { program: program.to_owned() });
    };
    in_path(program.as_ref(), path.as_ref(), cwd).ok_or_else(|| FindError::NotInPath {
        program: program.to_owned(),
        searched: std::env::split_paths(path).collect(),
    })
}

/// The first executable of this name in a `PATH`.
pub(super) fn in_path(program: &OsStr, path: &OsStr, cwd: &Path) -> Option<PathBuf> {
    // An empty or relative entry means the directory that the program will run in.
    std::env::split_paths(path)
        .map(|dir| cwd.join(dir).join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn bin() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, mode) in [("tool", 0o755), ("notes", 0o644)] {
            fs::write(dir.path().join(name), "").unwrap();
            fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        dir
    }

    fn env(path: &Path) -> Env {
        Env::new([("PATH".to_owned(), format!("/nowhere:{}", path.display()))])
    }

    #[test]
    fn a_bare_name_is_looked_up_in_the_given_path() {
        let dir = bin();
        let env = env(dir.path());
        assert_eq!(find("tool", Path::new("/"), &env), Ok(dir.path().join("tool")));
        let searched = vec![PathBuf::from("/nowhere"), dir.path().to_owned()];
        assert_eq!(
            find("notes", Path::new("/"), &env),
            Err(FindError::NotInPath { program: "notes".to_owned(), searched })
        );
        assert_eq!(
            find("tool", Path::new("/"), &Env::default()),
            Err(FindError::NoPath { program: "tool".to_owned() })
        );
    }

    #[test]
    fn a_path_must_be_an_executable_file() {
        let dir = bin();
        let look = |program: &str| find(program, dir.path(), &Env::default());
        assert_eq!(look("./tool"), Ok(dir.path().join("./tool")));
        assert_eq!(
            look("./notes"),
            Err(FindError::NotExecutable { path: dir.path().join("./notes") })
        );
        assert_eq!(look("./none"), Err(FindError::Missing { path: dir.path().join("./none") }));
        assert_eq!(look("/"), Err(FindError::Missing { path: "/".into() }));
    }
}
