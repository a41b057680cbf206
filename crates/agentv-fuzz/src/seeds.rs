//! The first inputs of each target: our examples, what real clients printed, and small texts of the formats that have no
//! file.

use agentv_runtime::load::yaml_value;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the first inputs of a target come from.
#[derive(Debug, Clone, Copy)]
pub struct Seeds {
    /// Files of the repository, by how their paths end and by a part of them.
    files: &'static [(&'static str, &'static str)],
    texts: &'static [&'static str],
    form: Form,
    /// How many meanings the first byte of an input has.
    selectors: u8,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    AsIs,
    /// YAML files, as JSON.
    Json,
}

impl Seeds {
    pub(crate) const NONE: Self = Self { files: &[], texts: &[], form: Form::AsIs, selectors: 0 };

    /// The inputs themselves.
    pub fn load(&self) -> Vec<Vec<u8>> {
        let is_wanted = |path: &&PathBuf| self.files.iter().any(|place| is_at(path, place));
        let paths = if self.files.is_empty() { Vec::new() } else { repository_files() };
        let mut inputs: Vec<Vec<u8>> =
            paths.iter().filter(is_wanted).filter_map(|path| self.read(path)).collect();
        inputs.extend(self.texts.iter().map(|text| text.as_bytes().to_vec()));
        if self.selectors == 0 {
            return inputs;
        }
        let each = |input: &Vec<u8>| -> Vec<Vec<u8>> {
            (0..self.selectors).map(|selector| [&[selector], input.as_slice()].concat()).collect()
        };
        inputs.iter().flat_map(each).collect()
    }

    /// Places in the repository that have no file.
    pub fn empty_places(&self) -> Vec<(&'static str, &'static str)> {
        let paths = repository_files();
        let is_empty = |place: &&(_, _)| !paths.iter().any(|path| is_at(path, place));
        self.files.iter().filter(is_empty).copied().collect()
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let bytes = fs::read(path).ok()?;
        match self.form {
            Form::AsIs => Some(bytes),
            Form::Json => {
                let value: Value = yaml_value(std::str::from_utf8(&bytes).ok()?).ok()?;
                Some(value.to_string().into_bytes())
            }
        }
    }
}

fn is_at(path: &Path, (ending, part): &(&str, &str)) -> bool {
    let path = path.to_string_lossy();
    path.ends_with(ending) && path.contains(part)
}

/// Files that hold what targets read, always in the same order.
fn repository_files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for place in
        ["examples", "crates/agentv-cli/assets/demo", "crates/agentv-runtime/src/providers"]
    {
        gather(&root.join(place), &mut paths);
    }
    paths.sort();
    paths
}

fn gather(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "node_modules") {
                gather(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

const fn texts(texts: &'static [&'static str]) -> Seeds {
    Seeds { texts, ..Seeds::NONE }
}

/// Small suites, each with other keys.
const SMALL_SUITES: &[&str] = &[
    "evalcases: [{id: a, input: b, criteria: c}]\n",
    "name: shop\npass_score: 0.8\nvars: {city: Rome}\nexecution: {on_judge_error: exclude, trials: 2, cache: true}\nevalcases:\n  - id: one\n    criteria: says yes\n    input: \"{{ city }}?\"\n    vars: {city: [1, null]}\n    tags: [a, b]\n    metadata: {k: 1.5}\n",
    "evaluators:\n  - {name: j, type: llm_judge, prompt: \"Grade {{ candidate_answer }}\", weight: 2, required: true}\nevalcases:\n  - {id: 1, input: x, rubrics: [short, {id: a, expected_outcome: b, weight: 2, required: true}]}\n",
    "evalcases:\n  - id: a\n    input: x\n    expected_output: {a: [1, 2.5]}\n    evaluators:\n      - {type: contains, value: [x, y], mode: any, ignore_case: true, negate: true}\n      - {type: field_accuracy, fields: [{path: \"a[0].b\", match: numeric_tolerance, tolerance: 0.1, relative: true}]}\n",
    "evalcases:\n  - id: a\n    input: x\n    evaluators:\n      - {type: tool_trajectory, mode: in_order, expected: [{tool: Read, args: {p: 1}, max_duration_ms: 5}]}\n      - {type: field_accuracy, aggregation: all_or_nothing, fields: [{path: d, match: date, formats: [D.M.YYYY]}]}\n      - {type: token_usage, max_total: 5}\n",
    "evalcases:\n  - id: a\n    input: x\n    evaluators:\n      - type: composite\n        evaluators: [{name: x, type: regex, pattern: \"^a\"}, {name: y, type: is_json, schema: {type: object}}]\n        aggregator: {type: weighted_average, weights: {x: 1, y: 2}}\n",
    "base: &b {criteria: &c >-\n    says\n    yes\n  }\nevalcases:\n  - id: a\n    <<: *b\n    input_messages:\n      - role: user\n        content: [{type: text, value: hi}, {type: file, value: suite.yaml}]\n      - {role: assistant, content: *c}\n",
    "$schema: agentv-eval-v2\ntarget: default\nworkspace: {template: ./template}\nevalcases:\n- id: a\n  conversation_id: c\n  expected_outcome: |+\n    block\n\n  input:\n  - {role: user, content: \"é\\u00e9\"}\n  expected_messages: [{role: assistant, content: 'it''s'}]\n",
];

pub(crate) const SUITES: Seeds =
    Seeds { files: &[(".eval.yaml", ""), (".yaml", "demo/")], texts: SMALL_SUITES, ..Seeds::NONE };

pub(crate) const SUITES_JSON: Seeds = Seeds {
    files: &[(".eval.yaml", "")],
    texts: &[
        r#"[{"id": "a", "input": "b", "criteria": "c", "evaluators": [{"type": "equals", "value": "1e3"}]}]"#,
    ],
    form: Form::Json,
    ..Seeds::NONE
};

pub(crate) const LINES: Seeds = Seeds {
    files: &[(".jsonl", "features/jsonl"), (".jsonl", "import-transcripts")],
    texts: &[
        "{\"id\": \"a\", \"input\": \"b\", \"criteria\": \"c\", \"vars\": {\"x\": 1}, \"evaluators\": [{\"type\": \"contains\", \"value\": \"y\"}]}\n\n{\"input\": \"b\", \"expected_output\": {\"a\": 1.0}, \"criteria\": \"c\"}\n",
        "{\"question\": \"b\", \"answer\": \"c\", \"tags\": [\"x\"]}\n{\"input_messages\": [{\"role\": \"user\", \"content\": \"x\"}], \"criteria\": \"c\"}",
    ],
    ..Seeds::NONE
};

pub(crate) const TABLES: Seeds = Seeds {
    files: &[(".csv", "features/csv")],
    texts: &[
        "id,input,criteria,tags,vars:json,evaluators:json,city\na,\"b, \"\"c\"\"\nd\",e,x;y,\"{\"\"a\"\": 1}\",\"[{\"\"type\"\": \"\"equals\"\", \"\"value\"\": \"\"z\"\"}]\",Rome\n",
        "sep=;\r\ninput;expected_outcome;expected_output:json\r\nq;a;[1]\r\n;;\r\nq;a;[1]\r\n",
        "\u{feff}question\tcriteria\nx\ty\n",
    ],
    ..Seeds::NONE
};

pub(crate) const TARGETS_FILES: Seeds = Seeds {
    files: &[("targets.yaml", "")],
    texts: &[r"$schema: agentv-targets-v2.2
targets:
  - {name: a, provider: azure, endpoint: '${{ NAME }}', api_key: '${{ KEY }}', deployment: d, version: '1', temperature: 0.2, max_output_tokens: 5, retry: {max_retries: 3, initial_delay_ms: 10, backoff_factor: 2, retryable_status_codes: [429]}, pricing: {input: 1, output: 2, cached: 0.5}}
  - {name: b, provider: cli, command_template: 'run {PROMPT} {FILES} {OUTPUT_FILE}', timeout_seconds: 5, cwd: ., healthcheck: {type: http, url: 'http://localhost:1', timeout_seconds: 1}, files_format: '{path}', provider_batching: true, workers: 4}
  - {name: c, provider: claude-code, model: opus, args: [-x], env: {A: b}, workspace: {template: ./t, repo: {url: x, ref: main}}, judge_target: a, log_dir: l, log_format: json}
  - {name: d, provider: mock, responses: [a, {text: b, delay_ms: 3}], cases: {x: y}}
  - {name: e, provider: openai, base_url: 'http://localhost:1/v1', model: m, rate_limit: {requests_per_minute: 5, tokens_per_minute: 9}, max_concurrency: 2, cache: true}
  - {name: f, provider: replay, file: calls.ndjson}
"],
    ..Seeds::NONE
};

pub(crate) const SETTINGS: Seeds = Seeds {
    files: &[(".agentv.yaml", "")],
    texts: &[
        "# c\nA=1\nexport B = two words # no\nC=\"x\\ny\" # c\nD='it $HOME #1'\nE=`b`\nF=\n  G=a=b#c\nK=\"open\nline\"\n",
        "$schema: agentv-config-v2\nguideline_patterns:\n  - '**/*.instructions.md'\n  - 'docs/{a,b}*.md'\nenv: scrub\n",
    ],
    ..Seeds::NONE
};

pub(crate) const PROSE: Seeds = texts(&[
    "As {\"a\": 0}:\n```json\n{\"a\": [1, {\"b\": \"}\"}]}\n```\n",
    "Use {braces}, then {\"a\": \"}\\\"\"} and [{\"a\": 2}] [1].",
    "{\"a\": {\"b\": 1e5}, \"c\": -0.0}",
    "```\nls\n```\n  ```json\n[{\"a\": null, \"\\u00e9\": true}]\n  ```",
    "\u{feff}{\"x\": \"\\ud83e\\udd80\"}",
]);

pub(crate) const JUDGE_REPLIES: Seeds = Seeds {
    selectors: 7,
    ..texts(&[
        "{\"score\": 0.5, \"hits\": [\"a\"], \"misses\": [\"b\", 3], \"reasoning\": \"r\"}",
        "Sure:\n```json\n{\"score\": 1.5, \"reasoning\": \"\"}\n```",
        "{\"checks\": [{\"id\": \"a\", \"satisfied\": true, \"reasoning\": \"x\"}, {\"id\": \"rubric-1\", \"score\": 7}], \"overall_reasoning\": \"o\"}",
        "{\"checks\": [{\"id\": \"a\", \"score\": 11}]}",
        "{\"rubrics\": [{\"id\": \"a\", \"expected_outcome\": \"b: c\", \"weight\": 2, \"required\": false}]}",
    ])
};

pub(crate) const SCRIPT_OUTPUTS: Seeds = texts(&[
    "{\"score\": 0.5, \"hits\": [\"a\"], \"misses\": [\"b\", 3], \"reasoning\": \"r\", \"details\": {\"a\": [1]}}",
    "{\"score\": 1, \"verdict\": \"borderline\", \"details\": null}\n",
    "{\"score\": 95}",
]);

pub(crate) const CLI_OUTPUTS: Seeds = texts(&[
    "plain text\n",
    "{\"text\": \"t\", \"output_messages\": [{\"role\": \"assistant\", \"content\": [1], \"tool_calls\": [{\"tool\": \"Read\", \"input\": {\"p\": 1}, \"output\": \"x\", \"id\": \"c\", \"duration_ms\": 12}], \"metadata\": {\"k\": 1}, \"timestamp\": \"t\"}], \"token_usage\": {\"input\": 1, \"output\": 2, \"cached\": 1}, \"cost_usd\": 0.5, \"duration_ms\": 3, \"trace_ref\": \"x.json\"}",
    "{\"outputMessages\": [{\"role\": \"user\", \"toolCalls\": [{\"tool\": \"A\", \"durationMs\": 1}]}], \"tokenUsage\": {\"input\": 1, \"output\": 2}, \"costUsd\": 1, \"trace\": [{\"type\": \"tool_call\", \"name\": \"A\"}, {\"type\": \"error\", \"text\": \"e\"}]}",
    "{\"id\": \"a\", \"text\": \"x\"}\n{\"id\": \"b\", \"text\": {\"y\": 1.0}, \"cost_usd\": -1}\n",
]);

pub(crate) const CLAUDE: Seeds =
    Seeds { files: &[(".jsonl", "fixtures/claude-code")], ..Seeds::NONE };
pub(crate) const CODEX: Seeds = Seeds {
    files: &[(".jsonl", "fixtures/codex")],
    texts: &[
        "{\"messages\": [{\"role\": \"assistant\", \"content\": [{\"text\": \"a\"}]}], \"response\": {\"content\": \"b\"}, \"output\": \"c\"}",
        "{\"id\":\"0\",\"msg\":{\"type\":\"mcp_tool_call_begin\",\"call_id\":\"c\",\"invocation\":{\"server\":\"s\",\"tool\":\"t\",\"arguments\":{\"a\":1}}}}\n{\"id\":\"0\",\"msg\":{\"type\":\"mcp_tool_call_end\",\"call_id\":\"c\",\"duration\":{\"secs\":1,\"nanos\":5},\"result\":{\"Ok\":1}}}\n{\"id\":\"0\",\"msg\":{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{\"input_tokens\":1,\"output_tokens\":2}}}}\n",
    ],
    ..Seeds::NONE
};
pub(crate) const OTHER_AGENTS: Seeds = Seeds {
    files: &[
        (".jsonl", "fixtures/copilot"),
        (".jsonl", "fixtures/gemini"),
        (".jsonl", "fixtures/opencode"),
        (".jsonl", "fixtures/pi"),
    ],
    selectors: 4,
    ..Seeds::NONE
};

pub(crate) const CHAT_REPLIES: Seeds = texts(&[
    r#"{"id": "c", "model": "gpt-4o", "choices": [{"finish_reason": "stop", "message": {"content": "hi", "refusal": null, "tool_calls": [{"id": "t", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}}], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}}"#,
    r#"{"choices": [{"message": {"content": [{"type": "text", "text": "a"}]}}]}"#,
    r#"{"id": "m", "model": "claude", "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}, {"type": "thinking"}], "stop_reason": "end_turn", "usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 7}}"#,
    r#"{"candidates": [{"content": {"parts": [{"text": "hi"}, {"text": "t", "thought": true}, {"functionCall": {"id": "x", "name": "f", "args": {"a": 1}}}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 5, "cachedContentTokenCount": 3, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}, "modelVersion": "g", "responseId": "r"}"#,
    r#"{"error": {"message": "Overloaded", "code": 529, "details": [{"retryDelay": "34.5s"}]}}"#,
    r#"[{"promptFeedback": {"blockReason": "SAFETY"}}]"#,
]);

pub(crate) const PROXY_REQUESTS: Seeds = texts(&[
    "GET /info HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token\r\n\r\n",
    "POST /invoke HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token\r\ncontent-length: 76\r\n\r\n{\"question\": \"q\", \"systemPrompt\": \"s\", \"evalCaseId\": \"e\", \"attempt\": 1, \"x\":1}",
    "POST /invokeBatch HTTP/1.1\r\nauthorization: Bearer token\r\ncontent-length: 60\r\n\r\n{\"requests\": [{\"question\": \"q\", \"target\": \"other\"}, {\"q\": 3}]}",
    "POST /invoke HTTP/1.1\r\nauthorization: Bearer token\r\ntransfer-encoding: chunked\r\n\r\n10\r\n{\"question\": \"q\"\r\n1\r\n}\r\n0\r\n\r\nGET /info HTTP/1.1\r\nauthorization: Bearer token\r\n\r\n",
    "OPTIONS * HTTP/1.0\r\n\r\n",
]);

pub(crate) const JOURNALS: Seeds = texts(&[
    "{\"answered\":{\"work\":{\"suite\":\"a.yaml\",\"eval_id\":\"x\",\"target\":\"t\",\"trial\":1},\"revision\":{\"fingerprint\":\"f\",\"asked\":\"q\"},\"attempt\":0,\"wall_ms\":12.5,\"workspace\":true,\"response\":{\"text\":\"hi\",\"messages\":[{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[{\"tool\":\"A\",\"duration_ms\":3}]}],\"reported\":{\"cost_usd\":0.5}}}}\n",
    "{\"recorded\":{\"work\":{\"suite\":\"a.yaml\",\"eval_id\":\"x\",\"target\":\"t\"},\"revision\":{\"fingerprint\":\"f\",\"asked\":\"q\"},\"line\":\"0dbb92ed73deed52\"}}\n{\"spent\":{\"targets\":{\"calls\":1,\"cost_usd\":0.5,\"tokens\":7},\"judges\":{\"calls\":2,\"cost_usd\":0,\"tokens\":0}}}\n{\"spent\":{\"targets\":{\"calls\":1,\"cost_usd\":0.5,\"tokens\":7},\"judges\":{\"calls\":2,\"cost_usd\":0,\"tokens\":0,\"unpriced\":1}}}\n{\"torn",
]);

const RECORD: &str = "{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"eval_id\":\"a\",\"dataset\":\"d\",\"suite\":\"evals/a.yaml\",\"score\":0.5,\"status\":\"fail\",\"outcome\":\"fail\",\"hits\":[\"h\"],\"misses\":[\"m\"],\"candidate_answer\":\"x\",\"target\":\"t\",\"trial\":1,\"tags\":[\"g\"],\"metadata\":{\"group\":\"k\"},\"reasoning\":\"r\",\"lm_provider_request\":{\"question\":\"q\",\"guidelines\":\"\"},\"evaluator_results\":[{\"name\":\"e\",\"type\":\"composite\",\"score\":0.5,\"weight\":1,\"verdict\":\"fail\",\"hits\":[],\"misses\":[],\"evaluator_results\":[{\"name\":\"m\",\"type\":\"equals\",\"score\":1,\"weight\":2,\"verdict\":\"pass\",\"hits\":[],\"misses\":[],\"error\":{\"kind\":\"parse\",\"message\":\"no\",\"on_judge_error\":\"zero\"}}],\"usage\":{\"cost_usd\":0.1,\"token_usage\":{\"input\":1,\"output\":2}}}],\"trace_summary\":{\"event_count\":1,\"tool_names\":[\"A\"],\"tool_calls_by_name\":{\"A\":1},\"error_count\":0},\"execution_metrics\":{\"token_usage\":{\"input\":1,\"output\":2,\"cached\":1},\"cost_usd\":0.5,\"duration_ms\":3}}\n";

pub(crate) const RESULTS: Seeds = Seeds {
    files: &[
        (".jsonl", "features/compare"),
        (".jsonl", "features/plan"),
        (".jsonl", "features/grade"),
    ],
    texts: &[
        RECORD,
        "{\"eval_id\":\"a\",\"score\":1}\n\n{\"eval_id\":\"b\",\"score\":0,\"error\":\"e\",\"trial\":0}\n{\"eval_id\":\"b\",\"score\":1e300,\"trial\":1}\n{\"eval_id\"",
    ],
    ..Seeds::NONE
};

pub(crate) const RESULTS_YAML: Seeds = texts(&[
    "---\neval_id: a\nscore: 0.5\nstatus: fail\nmisses:\n  - m\ncandidate_answer: |-\n  x\n  y\nevaluator_results:\n  - name: e\n    type: equals\n    score: 1\n    weight: 2\n---\neval_id: b\nscore: 1\ntrial: 1\nerror: null\n",
    "eval_id: a\nscore: 1e3\n---\n---\neval_id: [b]\n",
]);

pub(crate) const CASSETTES: Seeds = Seeds {
    files: &[(".cassette.jsonl", "")],
    texts: &[
        "{\"agentv_cassette\":2}\n{\"call\":{\"work\":\"a.yaml#x@t~1\",\"target\":\"t\",\"role\":\"judge\",\"evaluator\":\"e\",\"ask\":1},\"request\":\"00\",\"response\":{\"text\":\"hi\",\"reported\":{\"cost_usd\":1}}}\n{\"call\":{\"work\":\"a.yaml#y@t\",\"target\":\"t\",\"role\":\"candidate\",\"ask\":1},\"request\":\"00\",\"error\":{\"kind\":{\"http\":500},\"message\":\"m\",\"metadata\":{\"a\":1}}}\n",
        "{\"agentv_cassette\":1}\n{\"call\":{\"eval_id\":\"x\",\"target\":\"t\",\"trial\":1,\"role\":\"candidate\",\"ask\":1},\"request\":\"00\",\"response\":{\"text\":\"hi\"}}\n",
    ],
    ..Seeds::NONE
};

pub(crate) const RECORDINGS: Seeds = Seeds {
    files: &[(".ndjson", "")],
    texts: &[
        "{\"id\":\"a\",\"response\":{\"text\":\"hi\"}}\n{\"id\":\"case\",\"error\":\"e\"}\n{\"id\":\"\\u0061\",\"response\":{}}\n",
    ],
    ..Seeds::NONE
};

pub(crate) const SESSIONS: Seeds = Seeds {
    files: &[
        (".jsonl", "import-transcripts"),
        ("/tool.jsonl", "fixtures/c"),
        ("/text.jsonl", "fixtures/c"),
    ],
    texts: &[
        "{\"type\":\"user\",\"sessionId\":\"s\",\"uuid\":\"1\",\"parentUuid\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n{\"type\":\"assistant\",\"sessionId\":\"s\",\"uuid\":\"2\",\"parentUuid\":\"1\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"yes\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Read\",\"input\":{\"p\":1}}],\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"x\"}]}}\n",
        "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"cwd\":\"/\"}}\n{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}}\n{\"timestamp\":\"2026-01-01T00:00:02Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"name\":\"shell\",\"arguments\":\"{\\\"command\\\":[\\\"ls\\\"]}\",\"call_id\":\"c\"}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"x\"}}\n{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{\"input_tokens\":1,\"cached_input_tokens\":1,\"output_tokens\":2}}}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"yes\"}]}}\n",
    ],
    ..Seeds::NONE
};

pub(crate) const NAMES: Seeds = texts(&[
    "evals/a.yaml#refund@default~2",
    "a%23b.yaml#100%25 %40home@x%7E1~1",
    "**/*.{yaml,json}",
    "[!a-z]?{x,y*}",
    "2/5",
    "city:json",
    "{a: [1, 0x1F, 1_000, .inf, 2024-01-01], b: !!str 3, c: &x y, d: *x}",
]);
