//! What is in a subagent's folder. Agents work in it, so a link that they put in the place of a folder is not followed.

use crate::file_input;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

/// Chat agents that stay; others are of requests that are over.
const LASTING_AGENTS: [&str; 2] = ["wakeup.md", "subagent.md"];

const WAKEUP: &str = "\
---
description: Shows that this window is ready
tools: ['edit']
---
Create the empty file that you are asked for, in the folder that you are told. Do nothing else.
";

/// Makes the folder of a subagent, or what is missing of it.
pub(super) fn make(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    unless_there(&workspace_file(dir), &render(&CodeWorkspace::default().with_own_folder(&[])))?;
    write_wakeup_agent(dir)
}

/// Puts the folder in order for a new request: nothing is left of the last one.
pub(super) fn prepare(dir: &Path, workspace: CodeWorkspace, more: &[PathBuf]) -> io::Result<()> {
    replace(&workspace_file(dir), &render(&workspace.with_own_folder(more)))?;
    for entry in fs::read_dir(real_folder(messages(dir))?)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    for entry in fs::read_dir(agents(dir)?)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_agent = Path::new(&name).extension().is_some_and(|extension| extension == "md");
        if is_agent && !LASTING_AGENTS.iter().any(|lasting| name == *lasting) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// `…/subagent-3/subagent-3.code-workspace`
pub(super) fn workspace_file(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".code-workspace");
    dir.join(name)
}

pub(super) fn messages(dir: &Path) -> PathBuf {
    dir.join("messages")
}

/// The file by which a window says that it is ready.
pub(super) fn alive_file(dir: &Path) -> PathBuf {
    dir.join(".alive")
}

/// The chat agent that makes the file, unless the user has put one there.
pub(super) fn write_wakeup_agent(dir: &Path) -> io::Result<()> {
    unless_there(&agents(dir)?.join(LASTING_AGENTS[0]), WAKEUP)
}

/// Writes a file, unless it is there. Another process may be making the same subagent.
fn unless_there(path: &Path, text: &str) -> io::Result<()> {
    match File::create_new(path) {
        Ok(mut file) => file.write_all(text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a file that is not there yet in this form; what was there is not written through.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)?.write_all(text.as_bytes())
}

fn agents(dir: &Path) -> io::Result<PathBuf> {
    let github = real_folder(dir.join(".github"))?;
    real_folder(github.join("agents"))
}

/// The folder, made if it is not there. A link in its place is removed: what is behind it is none of our business.
fn real_folder(path: PathBuf) -> io::Result<PathBuf> {
    if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        fs::remove_file(&path)?;
    }
    fs::create_dir_all(&path)?;
    Ok(path)
}

/// A `.code-workspace` file, the folders of which are absolute.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct CodeWorkspace(Map<String, Value>);

/// Why a template cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("the workspace template `{}` cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the workspace template `{}` is not JSON: {source}{}", path.display(), hint(text))]
    Json { path: PathBuf, text: String, source: serde_json::Error },
    #[error("the workspace template `{}` must be {expected}", path.display())]
    Shape { path: PathBuf, expected: &'static str },
}

/// VS Code itself takes more than JSON here.
fn hint(text: &str) -> &'static str {
    if text.contains("//") || text.contains("/*") {
        "; remove comments and trailing commas"
    } else {
        "; remove trailing commas, if there are any"
    }
}

impl CodeWorkspace {
    /// Reads a template. Its folders are relative to itself.
    pub(super) fn read(path: &Path) -> Result<Self, TemplateError> {
        let shape = |expected| TemplateError::Shape { path: path.to_owned(), expected };
        let text = file_input::read_to_string(path)
            .map_err(|source| TemplateError::Read { path: path.to_owned(), source })?;
        let value = serde_json::from_str(text.trim_start_matches('\u{feff}'));
        let value: Value = value.map_err(|source| {
            let (path, text) = (path.to_owned(), text.clone());
            TemplateError::Json { path, text, source }
        })?;
        let Value::Object(mut workspace) = value else { return Err(shape("a JSON object")) };
        let base = path.parent().unwrap_or(path);
        match workspace.get_mut("folders") {
            None => {}
            Some(Value::Array(folders)) => folders.iter_mut().for_each(|one| anchor(one, base)),
            Some(_) => return Err(shape("an object whose `folders` are a list")),
        }
        Ok(Self(workspace))
    }

    /// The subagent's own folder comes first: the chat looks for its agents there.
    fn with_own_folder(mut self, more: &[PathBuf]) -> Value {
        let own = std::iter::once(json!({ "path": "." }));
        let more = more.iter().map(|path| json!({ "path": path.to_string_lossy() }));
        let given = match self.0.shift_remove("folders") {
            Some(Value::Array(folders)) => folders,
            _ => Vec::new(),
        };
        let folders: Vec<Value> = own.chain(more).chain(given).collect();
        self.0.shift_insert(0, "folders".to_owned(), folders.into());
        Value::Object(self.0)
    }
}

/// Makes the path of a folder absolute. A folder by `uri` has none.
fn anchor(folder: &mut Value, base: &Path) {
    let Some(Value::String(path)) = folder.get_mut("path") else { return };
    *path = without_dots(&base.join(&*path)).to_string_lossy().into_owned();
}

/// The path without `.` and `..`, by its text alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn render(workspace: &Value) -> String {
    format!("{workspace:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.code-workspace");
        fs::write(&path, text).unwrap();
        let shown = dir.path().display().to_string();
        let rest = |text: String| text.replace(&shown, "[DIR]");
        let read = CodeWorkspace::read(&path).map_err(|error| rest(error.to_string()))?;
        let text = rest(render(&read.with_own_folder(&[PathBuf::from("/w")])));
        Ok(serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn folders_of_a_template_become_absolute_behind_our_own() {
        let given = json!({
            "settings": {"a": 1},
            "folders": [{"path": "sub/../x y", "name": "n"}, {"path": "/abs"}, {"uri": "vscode-remote://h/p"}],
        });
        let expected = json!({
            "folders": [{"path": "."}, {"path": "/w"}, {"path": "[DIR]/x y", "name": "n"}, {"path": "/abs"},
                {"uri": "vscode-remote://h/p"}],
            "settings": {"a": 1},
        });
        assert_eq!(read(&given.to_string()).unwrap(), expected);
        assert_eq!(read("{}").unwrap(), json!({"folders": [{"path": "."}, {"path": "/w"}]}));
    }

    #[test]
    fn a_template_that_is_no_workspace_is_refused() {
        let refused = |text| read(text).unwrap_err();
        assert_eq!(
            refused("{\n// mine\n}"),
            "the workspace template `[DIR]/a.code-workspace` is not JSON: key must be a string at line 2 column 1; \
             remove comments and trailing commas"
        );
        assert!(refused("[]").ends_with("must be a JSON object"));
        assert!(
            refused("{\"folders\": 1}").ends_with("must be an object whose `folders` are a list")
        );
        let missing = CodeWorkspace::read(Path::new("/none/t")).unwrap_err().to_string();
        assert!(
            missing.starts_with("the workspace template `/none/t` cannot be read: "),
            "{missing}"
        );
    }

    #[test]
    fn nothing_is_left_of_the_last_request() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("subagent-1");
        make(&dir).unwrap();
        fs::create_dir_all(dir.join("messages/deep/er")).unwrap();
        for name in ["messages/1_res.md", ".github/agents/ab12cd34.md", ".github/agents/notes.txt"]
        {
            fs::write(dir.join(name), "old").unwrap();
        }
        fs::write(dir.join(".github/agents/wakeup.md"), "the user's").unwrap();
        prepare(&dir, CodeWorkspace::default(), &[]).unwrap();
        make(&dir).unwrap();
        assert_eq!(fs::read_dir(dir.join("messages")).unwrap().count(), 0);
        assert!(!dir.join(".github/agents/ab12cd34.md").exists());
        assert!(dir.join(".github/agents/notes.txt").exists());
        assert_eq!(fs::read_to_string(dir.join(".github/agents/wakeup.md")).unwrap(), "the user's");
        let workspace = fs::read_to_string(dir.join("subagent-1.code-workspace")).unwrap();
        assert_eq!(workspace, "{\n  \"folders\": [\n    {\n      \"path\": \".\"\n    }\n  ]\n}\n");
    }

    #[test]
    fn many_may_make_the_same_one_at_once() {
        let root = tempfile::tempdir().unwrap();
        let (dir, start) = (root.path().join("deep/subagent-1"), std::sync::Barrier::new(8));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    make(&dir).unwrap();
                });
            }
        });
        assert!(workspace_file(&dir).is_file());
    }

    #[test]
    fn a_link_that_an_agent_left_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let (dir, precious) = (root.path().join("subagent-1"), root.path().join("precious"));
        make(&dir).unwrap();
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("thesis.md"), "mine").unwrap();
        fs::remove_dir_all(dir.join(".github/agents")).unwrap();
        for link in ["messages", ".github/agents"] {
            std::os::unix::fs::symlink(&precious, dir.join(link)).unwrap();
        }
        let workspace = workspace_file(&dir);
        fs::remove_file(&workspace).unwrap();
        std::os::unix::fs::symlink(precious.join("thesis.md"), &workspace).unwrap();
        prepare(&dir, CodeWorkspace::default(), &[]).unwrap();
        assert_eq!(fs::read_to_string(precious.join("thesis.md")).unwrap(), "mine");
        assert!(!dir.join("messages").is_symlink() && !workspace.is_symlink());
    }
}
