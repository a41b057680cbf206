//! The language server that VS Code's YAML extension runs, spoken to as the editor does.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running server for one folder.
pub(super) struct LanguageServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    root: PathBuf,
    asked: u64,
    /// What it has said of each document, once it has looked at it.
    diagnostics: HashMap<String, Vec<Value>>,
    /// The version of each document that is open.
    open: HashMap<String, u64>,
}

/// Where something stands in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    line: usize,
    character: usize,
}

impl Position {
    pub(super) fn at(text: &str, byte: usize) -> Self {
        let before = &text[..byte];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line, character: before[start..].encode_utf16().count() }
    }

    fn to_value(self) -> Value {
        json!({ "line": self.line, "character": self.character })
    }
}

impl LanguageServer {
    #[track_caller]
    pub(super) fn start(root: &Path) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let server = repository.join("node_modules/yaml-language-server/bin/yaml-language-server");
        assert!(server.is_file(), "yaml-language-server is not installed: run `npm ci`");
        #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
        let mut command = Command::new("node");
        command
            .arg(server)
            .arg("--stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // With no proxy that leads anywhere, a schema that has to be fetched would not be there.
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, "http://127.0.0.1:9");
        }
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (diagnostics, open) = (HashMap::new(), HashMap::new());
        let mut server =
            Self { child, input, output, root: root.to_owned(), asked: 0, diagnostics, open };
        let capabilities = json!({
            "workspace": { "configuration": true },
            "textDocument": {
                "completion": { "completionItem": { "documentationFormat": ["markdown"] } },
                "hover": { "contentFormat": ["markdown"] },
            },
        });
        let root = format!("file://{}", root.display());
        server.ask(
            "initialize",
            &json!({ "processId": null, "rootUri": root, "capabilities": capabilities }),
        );
        server.tell("initialized", &json!({}));
        server
    }

    /// Opens a document, or gives it another text, and waits for what the server finds wrong with it.
    pub(super) fn show(&mut self, path: &str, text: &str) -> Vec<String> {
        let uri = self.uri(path);
        self.diagnostics.remove(&uri);
        let version = self.open.entry(uri.clone()).or_default();
        *version += 1;
        let (version, is_new) = (*version, *version == 1);
        if is_new {
            let document =
                json!({ "uri": uri, "languageId": "yaml", "version": version, "text": text });
            self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        } else {
            let document = json!({ "uri": uri, "version": version });
            let changes = json!([{ "text": text }]);
            self.tell(
                "textDocument/didChange",
                &json!({ "textDocument": document, "contentChanges": changes }),
            );
        }
        loop {
            if let Some(found) = self.diagnostics.get(&uri) {
                return found
                    .iter()
                    .map(|one| one["message"].as_str().unwrap().to_owned())
                    .collect();
            }
            let message = self.read();
            self.take(&message);
        }
    }

    /// What could stand here: each with what is said of it.
    pub(super) fn complete(&mut self, path: &str, at: Position) -> HashMap<String, String> {
        let document = json!({ "uri": self.uri(path) });
        let answer = self.ask(
            "textDocument/completion",
            &json!({ "textDocument": document, "position": at.to_value() }),
        );
        let items = answer.get("items").unwrap_or(&answer).as_array().cloned().unwrap_or_default();
        let told = |item: &Value| match &item["documentation"] {
            Value::String(text) => text.clone(),
            other => other["value"].as_str().unwrap_or_default().to_owned(),
        };
        items.iter().map(|item| (item["label"].as_str().unwrap().to_owned(), told(item))).collect()
    }

    /// What is said of the word here.
    pub(super) fn hover(&mut self, path: &str, at: Position) -> String {
        let document = json!({ "uri": self.uri(path) });
        let answer = self.ask(
            "textDocument/hover",
            &json!({ "textDocument": document, "position": at.to_value() }),
        );
        // Markdown has marks of its own, which are escaped.
        answer["contents"]["value"].as_str().unwrap_or_default().replace('\\', "")
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}", self.root.join(path).display())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.read();
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{message:#}");
                return message["result"].clone();
            }
            self.take(&message);
        }
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Takes note of a message, and answers what the server wants to know.
    fn take(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("textDocument/publishDiagnostics") => {
                let found = params["diagnostics"].as_array().cloned().unwrap_or_default();
                self.diagnostics.insert(params["uri"].as_str().unwrap().to_owned(), found);
            }
            Some("workspace/configuration") => {
                let settings = json!({ "validate": true, "hover": true, "completion": true, "schemaStore": { "enable": false } });
                let asked = params["items"].as_array().unwrap();
                let answers: Vec<Value> = asked
                    .iter()
                    .map(
                        |item| if item["section"] == "yaml" { settings.clone() } else { json!({}) },
                    )
                    .collect();
                self.write(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": answers }));
            }
            Some(_) if message.get("id").is_some() => {
                self.write(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": null }));
            }
            _ => {}
        }
    }

    fn write(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the language server has ended");
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = number.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

impl Drop for LanguageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
