//! Requests and responses, which are files in a subagent's `messages/`.
//!
//! The wording of requests is ours, but for what stand-ins look for: the line `1. Create and write your complete response
//! to: <path>` in a request and a line `<n>. messages/<name>` for each request in an orchestrator file.

use super::folder;
use crate::file_input;
use agentv_core::Request;
use agentv_core::prompt::preread::{self, Wording};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often it is looked for responses: often at first, for those who answer quickly.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What one chat is about.
#[derive(Debug)]
pub(super) struct Mail {
    letters: Vec<Letter>,
    /// For a batch: the file that tells the chat to hand the requests on.
    orchestrator: Option<PathBuf>,
}

/// One request and where its response is to be.
#[derive(Debug)]
struct Letter {
    request: PathBuf,
    /// Written first, and renamed to `response` when it is complete.
    draft: PathBuf,
    response: PathBuf,
}

impl Letter {
    /// `name` is `20260131235959`, with `_<index>` in a batch.
    fn new(messages: &Path, name: &str) -> Self {
        let file = |end| messages.join(format!("{name}{end}"));
        Self { request: file("_req.md"), draft: file("_res.tmp.md"), response: file("_res.md") }
    }
}

impl Mail {
    /// Writes the request of a chat with one question, which is the first.
    pub(super) fn one(dir: &Path, time: &str, requests: &[Request]) -> io::Result<Self> {
        let mut letters = Vec::new();
        if let Some(request) = requests.first() {
            let letter = Letter::new(&folder::messages(dir), time);
            folder::replace(&letter.request, &request_text(request, &letter))?;
            letters.push(letter);
        }
        Ok(Self { letters, orchestrator: None })
    }

    /// Writes the requests of a chat with many, and the orchestrator file.
    pub(super) fn batch(dir: &Path, time: &str, requests: &[Request]) -> io::Result<Self> {
        let messages = folder::messages(dir);
        let mut letters = Vec::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let letter = Letter::new(&messages, &format!("{time}_{index}"));
            folder::replace(&letter.request, &request_text(request, &letter))?;
            letters.push(letter);
        }
        let orchestrator = messages.join(format!("{time}_orchestrator.md"));
        folder::replace(&orchestrator, &orchestrator_text(&letters))?;
        Ok(Self { letters, orchestrator: Some(orchestrator) })
    }

    /// What comes after `-m <chat>`: attachments, and what the chat is told.
    pub(super) fn chat_arguments(&self, attachments: &[&Path]) -> Vec<PathBuf> {
        let attach = |path: &Path| [PathBuf::from("-a"), path.to_owned()];
        let files = attachments.iter().flat_map(|path| attach(path));
        // Where the chat finds its instructions in a list of files is part of the protocol.
        match &self.orchestrator {
            None => {
                let request = self.letters.first().map(|letter| letter.request.as_path());
                let request = request.unwrap_or(Path::new(""));
                let text = format!("Follow instructions in {}", preread::link(request));
                files.chain(attach(request)).chain([text.into()]).collect()
            }
            Some(orchestrator) => {
                let link = preread::link(orchestrator);
                let text = format!("Follow instructions in {link}. Use #runSubagent tool.");
                attach(orchestrator).into_iter().chain(files).chain([text.into()]).collect()
            }
        }
    }

    /// Until every response is there.
    pub(super) async fn arrived(&self) {
        let mut pause = FIRST_LOOK;
        while self.first_missing().is_some() {
            tokio::time::sleep(pause).await;
            pause = pause.mul_f64(1.25).min(LAST_LOOK);
        }
    }

    /// The first response that is not there yet.
    pub(super) fn first_missing(&self) -> Option<&Path> {
        // A pipe or a folder of this name would be no answer.
        let is_there = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
        self.letters.iter().map(|letter| letter.response.as_path()).find(|path| !is_there(path))
    }

    /// The responses in the order of the requests, with the files they came in.
    pub(super) fn read(&self) -> io::Result<Vec<(String, &Path)>> {
        let read =
            |letter: &'_ Letter| file_input::read(&letter.response).map(|bytes| plain(&bytes));
        self.letters.iter().map(|letter| Ok((read(letter)?, letter.response.as_path()))).collect()
    }
}

/// The text without what editors put around it.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']).to_owned()
}

fn request_text(request: &Request, letter: &Letter) -> String {
    let mut task = preread::document(request, Wording::Attachment);
    if let Some(rules) = &request.system_prompt {
        task = format!("{}\n\n{task}", rules.trim());
    }
    let changes = match &request.workspace {
        Some(workspace) => format!(
            "Work on the files in `{}`; change no files elsewhere but the response.",
            workspace.display()
        ),
        None => {
            "Create and change no other files: show what you would change as diffs in the response."
                .to_owned()
        }
    };
    format!(
        "[[ ## task ## ]]\n\n\
         {task}\n\n\
         [[ ## system_instructions ## ]]\n\n\
         **IMPORTANT**: Follow these steps exactly:\n\
         1. Create and write your complete response to: {}\n\
         2. When it is complete, rename that file to: {}\n\n\
         A program waits for the file of step 2, so do not rename before the response is complete. Use your file tools, or \
         `mv` in a POSIX shell, or `Move-Item -LiteralPath` in PowerShell.\n\
         {changes}\n",
        letter.draft.display(),
        letter.response.display(),
    )
}

fn orchestrator_text(letters: &[Letter]) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut requests, mut responses) = (String::new(), String::new());
    for (index, letter) in letters.iter().enumerate() {
        let _ = writeln!(requests, "{}. messages/{}", index + 1, name(&letter.request));
        let _ = writeln!(responses, "* messages/{}", name(&letter.response));
    }
    format!(
        "Each of these files is a task of its own. Hand each to a subagent of its own with the #runSubagent tool.\n\
         Do not read the files yourself: give the subagent the path, and tell it to follow the instructions in the file.\n\n\
         {requests}\n\
         You are done when all of these files exist:\n\n\
         {responses}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_core::EvalId;
    use std::fs;

    fn request(question: &str) -> Request {
        Request {
            guideline_paths: vec!["/g/style guide.md".into()],
            file_paths: vec!["/f/a.py".into()],
            system_prompt: Some("Be brief.\n".to_owned()),
            ..Request::plain(&EvalId::from("c"), question.to_owned())
        }
    }

    fn desk() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("subagent-1");
        fs::create_dir_all(dir.join("messages")).unwrap();
        (root, dir)
    }

    #[test]
    fn a_request_tells_the_task_and_then_where_the_response_goes() {
        let (_root, dir) = desk();
        let mail = Mail::one(&dir, "20260131235959", &[request("why?")]).unwrap();
        let text = fs::read_to_string(dir.join("messages/20260131235959_req.md")).unwrap();
        let text = text.replace(&dir.display().to_string(), "[DIR]");
        assert_eq!(
            text,
            "[[ ## task ## ]]\n\n\
             Be brief.\n\n\
             Read all guideline files first:\n* [style guide.md](file:///g/style guide.md).\n\n\
             Read all attachment files first:\n* [a.py](file:///f/a.py).\n\n\
             If a file is missing, reply with `ERROR: missing-file <filename>` and stop.\n\
             Then apply system_instructions to the user query below.\n\n\
             [[ ## user_query ## ]]\n\nwhy?\n\n\
             [[ ## system_instructions ## ]]\n\n\
             **IMPORTANT**: Follow these steps exactly:\n\
             1. Create and write your complete response to: [DIR]/messages/20260131235959_res.tmp.md\n\
             2. When it is complete, rename that file to: [DIR]/messages/20260131235959_res.md\n\n\
             A program waits for the file of step 2, so do not rename before the response is complete. Use your file \
             tools, or `mv` in a POSIX shell, or `Move-Item -LiteralPath` in PowerShell.\n\
             Create and change no other files: show what you would change as diffs in the response.\n"
        );
        let arguments = mail.chat_arguments(&[Path::new("/f/a.py")]);
        let path = dir.join("messages/20260131235959_req.md");
        let told =
            format!("Follow instructions in [20260131235959_req.md](file://{})", path.display());
        let expected = ["-a".into(), "/f/a.py".into(), "-a".into(), path, told.into()];
        assert_eq!(arguments, expected);
    }

    #[test]
    fn a_batch_has_a_file_that_names_its_requests() {
        let (_root, dir) = desk();
        let mail = Mail::batch(&dir, "20260131235959", &[request("one"), request("two")]).unwrap();
        let text = fs::read_to_string(dir.join("messages/20260131235959_orchestrator.md")).unwrap();
        assert!(text.contains(
            "\n1. messages/20260131235959_0_req.md\n2. messages/20260131235959_1_req.md\n"
        ));
        assert!(text.ends_with(
            "\n* messages/20260131235959_0_res.md\n* messages/20260131235959_1_res.md\n"
        ));
        let told = mail.chat_arguments(&[]).pop().unwrap();
        assert!(told.to_string_lossy().ends_with("_orchestrator.md). Use #runSubagent tool."));
        fs::write(dir.join("messages/20260131235959_1_res.md"), "second").unwrap();
        assert!(mail.first_missing().unwrap().ends_with("20260131235959_0_res.md"));
        fs::create_dir(dir.join("messages/20260131235959_0_res.md")).unwrap();
        assert!(mail.first_missing().is_some(), "a folder is no response");
        fs::remove_dir(dir.join("messages/20260131235959_0_res.md")).unwrap();
        fs::write(dir.join("messages/20260131235959_0_res.md"), "\u{feff}first\r\n").unwrap();
        assert_eq!(mail.first_missing(), None);
        let texts: Vec<String> = mail.read().unwrap().into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, ["first", "second"]);
    }

    #[test]
    fn with_a_workspace_the_files_in_it_may_change() {
        let (_root, dir) = desk();
        let request = Request { workspace: Some("/w/1".into()), ..request("fix it") };
        Mail::one(&dir, "1", &[request]).unwrap();
        let text = fs::read_to_string(dir.join("messages/1_req.md")).unwrap();
        assert!(text.contains("Work on the files in `/w/1`"), "{text}");
        assert!(!text.contains("diffs"), "{text}");
    }
}
