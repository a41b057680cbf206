//! How the evaluators' tests build one from its keys and let it grade.

use super::CaseDigest;
use super::{Build, EvaluatorKind};
use crate::config::{Cost, Entry, Env, Fields, FileSearch, Kind, Leftovers, Node, Notes, Span};
use crate::process::Processes;
use agentv_core::suite::Fingerprint;
use agentv_core::{
    CallContext, Candidate, EvalCase, EvalContext, Evaluator, EvaluatorError, Log, LogLevel,
    NamedProvider, Score, Suite, Targets, Verdict,
};
use agentv_wire::FailureKind;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An evaluator by its `type` and keys, in a case that expects something.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    kind: &'static str,
    config: Value,
    expected_messages: Vec<Value>,
    dir: PathBuf,
}

/// What a test looks at after building.
struct Built {
    evaluator: Option<Arc<dyn Evaluator>>,
    /// `place: message`, where the place is a path like `expected[0].tool`.
    notes: Vec<String>,
    known: Vec<&'static str>,
    fingerprint: [u8; 32],
}

impl Bench {
    pub(super) fn new(kind: &'static str, config: &Value) -> Self {
        let config = config.clone();
        Self { kind, config, expected_messages: Vec::new(), dir: PathBuf::new() }
    }

    /// With one expected message of the assistant.
    pub(super) fn expecting(self, content: &Value) -> Self {
        let message = serde_json::json!({ "role": "assistant", "content": content });
        Self { expected_messages: vec![message], ..self }
    }

    pub(super) fn expecting_messages(self, messages: &Value) -> Self {
        Self { expected_messages: messages.as_array().unwrap().clone(), ..self }
    }

    /// With an eval file in this directory.
    pub(super) fn in_dir(self, dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), ..self }
    }

    /// What is noted when it is built, warnings of unknown keys included.
    pub(super) fn notes(&self) -> Vec<String> {
        self.build().notes
    }

    /// Whether it can be built, whatever is noted.
    pub(super) fn is_usable(&self) -> bool {
        self.build().evaluator.is_some()
    }

    /// Every key that it asks for.
    pub(super) fn known(&self) -> Vec<&'static str> {
        self.build().known
    }

    pub(super) fn fingerprint(&self) -> [u8; 32] {
        self.build().fingerprint
    }

    /// The verdict on a text answer.
    #[track_caller]
    pub(super) fn answer(&self, text: &str) -> Verdict {
        self.grade(&serde_json::json!({ "text": text }))
    }

    /// The verdict on a response.
    #[track_caller]
    pub(super) fn grade(&self, response: &Value) -> Verdict {
        self.grade_heard(response).0.unwrap()
    }

    /// What came of grading, and what was said to the user meanwhile.
    #[track_caller]
    pub(super) fn grade_heard(
        &self,
        response: &Value,
    ) -> (Result<Verdict, EvaluatorError>, Vec<String>) {
        let built = self.build();
        let Some(evaluator) = built.evaluator else { panic!("not built: {:#?}", built.notes) };
        let heard = Arc::new(Heard::default());
        let call = CallContext { log: Arc::<Heard>::clone(&heard), ..CallContext::quiet() };
        let response = serde_json::from_value(response.clone()).unwrap();
        let cx = EvalContext {
            case: &self.case(),
            candidate: &Candidate::new(response, Duration::from_millis(41), &[]),
            question: "",
            targets: &Nobody,
            call: &call,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let verdict = runtime.block_on(evaluator.evaluate(&cx));
        let said = heard.0.lock().unwrap().clone();
        (verdict, said)
    }

    fn build(&self) -> Built {
        let mut places = Vec::new();
        let node = node(&self.config, "", &mut places);
        let mut notes = Notes::new("eval.yaml");
        let env = Env::default();
        let mut fingerprint = CaseDigest::default();
        let mut build = Build {
            on_error: agentv_core::evaluator::OnError::Zero,
            scrub_judges: false,
            sandbox: None,
            digests: &crate::evaluators::FileDigests::default(),
            eval_dir: &self.dir,
            search: &FileSearch::new(&self.dir, &self.dir, &self.dir),
            processes: &Processes::new(String::new()),
            fingerprint: &mut fingerprint,
        };
        let owner = "evaluator `e`";
        let mut fields = Fields::of(&node, owner, Cost::Evaluator, &mut notes, &env).unwrap();
        let evaluator = EvaluatorKind::find(self.kind).unwrap().read(&mut fields, &mut build);
        fields.finish(Leftovers::Warn);
        let known = fields.known().to_vec();
        // Every node is on a line of its own, so the line of a note names its node.
        notes.locate(&"\n".repeat(places.len()), 0);
        let notes = notes.finish().0.into_iter();
        let notes =
            notes.map(|note| format!("{}: {}", places[note.place.line], note.message)).collect();
        Built { evaluator, notes, known, fingerprint: fingerprint.finish() }
    }

    fn case(&self) -> EvalCase {
        EvalCase {
            suite: Arc::new(Suite {
                id: "suite.yaml".into(),
                file: PathBuf::new(),
                dir: self.dir.clone(),
                dataset: String::new(),
                pass_score: Score::ONE,
                exploration_tools: Vec::new(),
                needs: std::collections::BTreeSet::new(),
                cache: None,
                trials: None,
            }),
            id: "case".into(),
            ordinal: 0,
            conversation_id: None,
            expected_outcome: String::new(),
            input: Vec::new(),
            expected_messages: self.expected_messages.clone(),
            evaluators: Arc::new([]),
            evaluators_given: true,
            target: None,
            tags: Vec::new(),
            metadata: None,
            workspace: None,
            fingerprint: Fingerprint([0; 32]),
            written: None,
        }
    }
}

/// A value as a node whose span is the number of its path in `places`.
fn node(value: &Value, path: &str, places: &mut Vec<String>) -> Node<'static> {
    let start = u32::try_from(places.len()).unwrap();
    let span = Span { start, end: start };
    places.push(path.to_owned());
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(truth) => Kind::Bool(*truth),
        Value::Number(number) => Kind::Number(number.clone()),
        Value::String(text) => Kind::Text(text.clone().into()),
        Value::Array(list) => Kind::List(
            (0..)
                .zip(list)
                .map(|(at, item)| node(item, &format!("{path}[{at}]"), places))
                .collect(),
        ),
        Value::Object(map) => Kind::Map(
            map.iter()
                .map(|(key, value)| {
                    let dot = if path.is_empty() { "" } else { "." };
                    let value = node(value, &format!("{path}{dot}{key}"), places);
                    Entry { key: key.clone().into(), key_span: value.span, value }
                })
                .collect(),
        ),
    };
    Node::new(kind, span)
}

/// Keeps what is said.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Log for Heard {
    fn wants(&self, _level: LogLevel) -> bool {
        true
    }

    fn say(&self, _level: LogLevel, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

/// No targets.
#[derive(Debug)]
struct Nobody;

impl Targets for Nobody {
    fn judge(&self) -> Result<NamedProvider, EvaluatorError> {
        self.named("judge")
    }

    fn named(&self, name: &str) -> Result<NamedProvider, EvaluatorError> {
        Err(EvaluatorError::new(FailureKind::Provider, format!("no target `{name}`")))
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}
