//! What is measured on: generated cases, the same in YAML and in JSONL, and the targets that answer them.

use anyhow::{Context as _, Result};
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(super) const SOME: usize = 200;
pub(super) const HUNDREDS: usize = 500;
pub(super) const THOUSAND: usize = 1000;
pub(super) const TEN_THOUSAND: usize = 10_000;
pub(super) const HUNDRED_THOUSAND: usize = 100_000;
pub(super) const MILLION: usize = 1_000_000;

/// What every answer holds and every case looks for.
const ANSWER: &str = "the answer";

/// A million cases that a model grades.
pub(super) const MODEL_JUDGED: &str = "model-judged.jsonl";

/// Cases with a code judge, in a folder of their own: the others are in the home, which a sandbox does not open.
pub(super) const LONG_ANSWERS: &str = "long-answers.yaml";
/// The length of such an answer in bytes: ten thousand of them are a gigabyte.
const LONG_ANSWER: usize = 100_000;
pub(super) const SANDBOXED: &str = "sandboxed/judged.jsonl";

/// A stand-in for `claude`: reads its prompt and answers at once.
pub(super) const CLAUDE: &str = "claude.sh";

fn claude() -> String {
    let result =
        json!({"type": "result", "subtype": "success", "is_error": false, "result": ANSWER});
    format!("#!/bin/sh\nwhile read -r line; do :; done\necho '{result}'\n")
}

/// Where there is memory to spare the files are there, so that it is not the disk that is measured: how long that takes for a
/// new file depends on how many were removed in the last minutes.
pub(super) fn place(target: &Path) -> PathBuf {
    const NEEDED: u64 = 8 << 30;
    let memory = Path::new("/dev/shm");
    let has_room = super::report::memory("MemAvailable") >= NEEDED;
    if memory.is_dir() && has_room { memory.to_owned() } else { target.to_owned() }
}

/// A repository of generated files, removed when dropped.
#[derive(Debug)]
pub(super) struct Inputs {
    dir: TempDir,
    /// Whether there are the large ones.
    pub million: bool,
}

impl Inputs {
    pub(super) fn create(parent: &Path, million: bool) -> Result<Self> {
        fs::create_dir_all(parent)?;
        let dir = tempfile::Builder::new().prefix("bench-").tempdir_in(parent)?;
        let inputs = Self { dir, million };
        // A repository of its own, so that nothing above it is looked for.
        for folder in [".git", "tmp", "sandboxed"] {
            fs::create_dir(inputs.path(folder))?;
        }
        fs::write(inputs.path("targets.yaml"), targets())?;
        fs::write(inputs.path(LONG_ANSWERS), long_answers())?;
        for count in [THOUSAND, TEN_THOUSAND] {
            inputs.write(&format!("{count}-cases.yaml"), |out| yaml(out, count))?;
        }
        let large = [HUNDRED_THOUSAND, MILLION].into_iter().filter(|_| million);
        for count in [SOME, HUNDREDS, TEN_THOUSAND].into_iter().chain(large) {
            inputs.write(&format!("{count}.jsonl"), |out| jsonl(out, count))?;
        }
        if million {
            inputs.write(MODEL_JUDGED, |out| model_judged(out, MILLION))?;
        }
        for name in ["judged.jsonl", SANDBOXED] {
            inputs.write(name, |out| judged(out, SOME))?;
        }
        inputs.write(CLAUDE, |out| out.write_all(claude().as_bytes()))?;
        fs::set_permissions(inputs.path(CLAUDE), fs::Permissions::from_mode(0o755))?;
        Ok(inputs)
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir().join(name)
    }

    /// A targets file with a target `model` at this address.
    pub(super) fn write_model(&self, name: &str, address: &str) -> Result<()> {
        let keys = "provider: openai\n    model: m";
        let text =
            format!("targets:\n  - name: model\n    {keys}\n    base_url: http://{address}\n");
        fs::write(self.path(name), text).with_context(|| format!("cannot write {name}"))
    }

    fn write(
        &self,
        name: &str,
        cases: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<()> {
        let mut out = BufWriter::new(File::create(self.path(name))?);
        cases(&mut out).and_then(|()| out.flush()).with_context(|| format!("cannot write {name}"))
    }
}

/// `default` answers at once; `agent` and `claude` are what the bare loops run too. `slowly-judged` answers at once and has a
/// judge that takes its time.
/// A target whose answers are long, and keys of others that its answers must not show.
fn long_answers() -> String {
    let words = format!("The agent reads 17 files, calls `grep -n main` and says {ANSWER}. ");
    let answer = words.repeat(LONG_ANSWER / words.len() + 1);
    let mut targets = format!(
        "targets:\n  - name: default\n    provider: mock\n    response: >-\n      {}\n",
        &answer[..LONG_ANSWER]
    );
    for number in 0..10 {
        use std::fmt::Write as _;
        let keys = "provider: openai\n    model: m";
        let _ = write!(
            targets,
            "  - name: model-{number}\n    {keys}\n    api_key: ${{{{ SERVICE_{number}_KEY }}}}\n"
        );
    }
    targets
}

fn targets() -> String {
    format!(
        "targets:\n  \
         - name: default\n    provider: mock\n    response: {ANSWER}\n  \
         - name: agent\n    provider: cli\n    command_template: echo {ANSWER} > {{OUTPUT_FILE}}\n  \
         - name: claude\n    provider: claude-code\n    executable: ./{CLAUDE}\n  \
         - name: slowly-judged\n    provider: mock\n    response: {ANSWER}\n    judge_target: slow-judge\n  \
         - name: slow-judge\n    provider: mock\n    delay_ms: 5\n    workers: 512\n    response: '{{\"score\": 1}}'\n"
    )
}

/// Cases of 13 lines, as people write them.
pub(super) fn yaml(out: &mut impl Write, count: usize) -> io::Result<()> {
    writeln!(out, "description: Generated for the bench\nevalcases:")?;
    for number in 0..count {
        let Case { id, outcome, system, question: [first, second] } = Case::of(number);
        write!(
            out,
            "  - id: {id}\n    \
             expected_outcome: {outcome}\n    \
             input_messages:\n      \
             - role: system\n        \
             content: {system}\n      \
             - role: user\n        \
             content: |\n          \
             {first}\n          \
             {second}\n    \
             evaluators:\n      \
             - name: names_it\n        \
             type: contains\n        \
             value: {ANSWER}\n"
        )?;
    }
    Ok(())
}

/// The same cases, one on a line.
pub(super) fn jsonl(out: &mut impl Write, count: usize) -> io::Result<()> {
    for number in 0..count {
        let Case { id, outcome, system, question: [first, second] } = Case::of(number);
        let case = json!({
            "id": id,
            "expected_outcome": outcome,
            "input_messages": [
                { "role": "system", "content": system },
                { "role": "user", "content": format!("{first}\n{second}\n") },
            ],
            "evaluators": [{ "name": "names_it", "type": "contains", "value": ANSWER }],
        });
        writeln!(out, "{case}")?;
    }
    Ok(())
}

/// Cases whose judge is a script of one word, so that what is around it is measured.
fn judged(out: &mut impl Write, count: usize) -> io::Result<()> {
    let script = json!(["/bin/sh", "-c", "echo '{\"score\": 1}'"]);
    for number in 0..count {
        let case = json!({
            "id": format!("case-{number}"),
            "expected_outcome": "x",
            "input": "q",
            "evaluators": [{ "name": "judge", "type": "code_judge", "script": script }],
        });
        writeln!(out, "{case}")?;
    }
    Ok(())
}

/// Cases that a model grades.
fn model_judged(out: &mut impl Write, count: usize) -> io::Result<()> {
    for number in 0..count {
        let case = json!({
            "id": format!("case-{number}"),
            "expected_outcome": "x",
            "input": "q",
            "evaluators": [{ "name": "judge", "type": "llm_judge" }],
        });
        writeln!(out, "{case}")?;
    }
    Ok(())
}

/// The texts of one case.
struct Case {
    id: String,
    outcome: String,
    system: &'static str,
    question: [String; 2],
}

impl Case {
    fn of(number: usize) -> Self {
        Self {
            id: format!("case-{number:07}"),
            outcome: format!("The reply names the capital of region {number} and gives one reason"),
            system: "You are a careful assistant who answers in one short paragraph.",
            question: [
                format!("Which city is the capital of region {number}?"),
                "Name it first, then give one reason for your answer.".to_owned(),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yaml_case_has_13_lines() {
        let mut text = Vec::new();
        yaml(&mut text, 3).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 2 + 3 * 13);
        assert!(text.contains("\n        content: |\n          Which city"), "{text}");
        let events = granit_parser::Parser::new_from_str(&text);
        assert!(events.into_iter().all(|event| event.is_ok()), "{text}");
    }

    #[test]
    fn a_jsonl_case_is_one_object_on_a_line() {
        let mut text = Vec::new();
        jsonl(&mut text, 2).unwrap();
        let text = String::from_utf8(text).unwrap();
        let ids: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(ids[1]["id"], "case-0000001");
        assert_eq!(ids.len(), 2);
    }
}
