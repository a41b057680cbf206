//! Whether the files of a run are still there when it ends, and whole. They may have been removed, replaced or cut
//! meanwhile; what the open files still have is written again.

use super::Conclusion;
use crate::new_paths::{claim_name, create_private_dir};
use crate::run::Outputs;
use crate::run_dir::{Link, is_same, link};
use crate::writers::ResultFile;
use crate::written_file::{FileState, WrittenFile};
use agentv_wire::Exit;
use std::io;
use std::path::{Path, PathBuf};

/// What is known of a run when its files are looked at.
pub(super) struct EndedRun<'a> {
    /// Where the results are for the user.
    pub out: &'a Path,
    /// From where paths are shown.
    pub working_dir: &'a Path,
    /// What can be resumed.
    pub resume: Option<&'a str>,
}

/// Looks at every file that was written, restores what can be restored, and says what happened.
pub(super) fn check(outputs: &Outputs, run: &EndedRun<'_>, conclusion: &mut Conclusion) {
    let results = outputs.results.written();
    let is_whole = |file: &WrittenFile| matches!(file.state(), Ok(FileState::Whole));
    let copy = outputs.copy.as_ref().map(ResultFile::written);
    let others = copy.as_ref().filter(|copy| is_whole(copy)).map(|copy| copy.path.as_path());
    check_file(&results, others, run, conclusion);
    if let Some(copy) = &copy {
        let others = is_whole(&results).then_some(results.path.as_path());
        check_file(copy, others, run, conclusion);
    }
    if let Some(journal) = &outputs.journal {
        check_file(&journal.written(), None, run, conclusion);
    }
    if copy.is_none() && run.out != results.path {
        check_link(&results, run, conclusion);
    }
}

/// `other` is a whole file with the same records.
fn check_file(
    file: &WrittenFile,
    other: Option<&Path>,
    run: &EndedRun<'_>,
    conclusion: &mut Conclusion,
) {
    let name = run.shown(&file.path);
    let (what, rescued) = match file.state() {
        Ok(FileState::Whole) => return,
        Ok(FileState::Removed) => ("was removed during the run", rescue(file)),
        Ok(FileState::Replaced) => ("was replaced by another file during the run", rescue(file)),
        Ok(FileState::Resized(bytes)) => {
            let length = file.length;
            let which = if bytes < length { "shorter" } else { "longer" };
            let message = format!(
                "`{name}` is {which} than what was written to it: {bytes} of {length} bytes"
            );
            conclusion.add(Exit::Incomplete, message, Some(run.remedy(other)));
            return;
        }
        Err(error) => ("cannot be looked at", Err(error)),
    };
    let (message, help) = match rescued {
        Ok((path, bytes)) if bytes == file.length => {
            let place = if path == file.path {
                String::new()
            } else {
                format!(" to `{}`", run.shown(&path))
            };
            (format!("`{name}` {what}; all of it was written again{place}"), None)
        }
        Ok((path, bytes)) => {
            let path = run.shown(&path);
            let part =
                format!("{bytes} of {} bytes could be written again to `{path}`", file.length);
            (format!("`{name}` {what}; {part}"), Some(run.remedy(other)))
        }
        Err(error) => (
            format!("`{name}` {what}, and cannot be written again: {error}"),
            Some(run.remedy(other)),
        ),
    };
    conclusion.add(Exit::Incomplete, message, help);
}

/// The output is another name of the results.
fn check_link(results: &WrittenFile, run: &EndedRun<'_>, conclusion: &mut Conclusion) {
    if is_same(&results.path, run.out) {
        return;
    }
    let (name, kept) = (run.shown(run.out), run.shown(&results.path));
    let mut say = |text: String| conclusion.add(Exit::Incomplete, text, None);
    if run.out.exists() {
        return say(format!(
            "`{name}` was replaced by another file during the run; the results are in `{kept}`"
        ));
    }
    match run
        .out
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| link(&results.path, run.out))
    {
        Ok(Link::Made) => say(format!(
            "`{name}` was removed during the run; it was written again, as another name of `{kept}`"
        )),
        _ => say(format!("`{name}` was removed during the run; the results are in `{kept}`")),
    }
}

/// Writes what the open file has to its path, or beside it if something else is there.
fn rescue(file: &WrittenFile) -> io::Result<(PathBuf, u64)> {
    if let Some(dir) = file.path.parent().filter(|dir| !dir.exists()) {
        create_private_dir(dir)?;
    }
    claim_name(&file.path, |path| file.copy_to_new(path))
}

impl EndedRun<'_> {
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.working_dir).unwrap_or(path).display().to_string()
    }

    /// Where else the records are, or how to get them again.
    fn remedy(&self, other: Option<&Path>) -> String {
        match (other, self.resume) {
            (Some(other), _) => format!("all records are in `{}`", self.shown(other)),
            (None, Some(run)) => format!(
                "`agentv eval --resume {run}` grades again what the journal still has, and runs the rest again"
            ),
            (None, None) => "nothing else has what is missing: run it again".to_owned(),
        }
    }
}
