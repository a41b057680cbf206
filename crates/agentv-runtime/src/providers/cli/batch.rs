//! One command for many questions: it knows its inputs by itself and gives a line of JSON for each.

use super::Cli;
use super::command::{CommandCall, Values};
use super::output::{self, Otherwise};
use agentv_core::{BatchProvider, CallContext, Provider, ProviderError, Request, Response};
use agentv_wire::Object;
use async_trait::async_trait;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How large the answers may be together.
const BATCH_CAP: usize = 64 << 20;

#[async_trait]
impl BatchProvider for Cli {
    async fn invoke_batch(
        &self,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        self.prepare(cx).await?;
        let cwd = self.cwd(None);
        let call = CommandCall {
            template: &self.settings.command_template,
            values: Values { files: all_files(requests), ..Values::without_question("batch", cx) },
            cwd: &cwd,
            time_limit: self.settings.timeout_seconds,
            output_cap: BATCH_CAP,
            label: Some(format!("batch size={}", requests.len())),
        };
        let file = self.output_file(&call, ".jsonl")?;
        let answer = self.ask_with(call, file, cx).await?;
        let lines = parse(&answer.text).map_err(ProviderError::failed)?;
        let share = share(answer.elapsed, requests.len());
        let mut responses = Vec::with_capacity(requests.len());
        for request in requests {
            let Some(line) = lines.get(request.eval_id.as_str()) else {
                responses.push(missing(&request.eval_id));
                continue;
            };
            let parsed = output::from_object(line, Otherwise::Nothing);
            let dirs = [Some(&cwd), answer.output_dir.as_ref()];
            let mut response = self.complete(parsed, dirs, &request.eval_id, cx).await;
            response.reported.duration_ms = response.reported.duration_ms.or(Some(share));
            response.metadata.extend(answer.facts.clone());
            responses.push(response);
        }
        Ok(responses)
    }
}

/// Every file of every request, once, in the order in which they are first named.
fn all_files(requests: &[Request]) -> Vec<&Path> {
    let mut files: Vec<&Path> = Vec::new();
    for file in requests.iter().flat_map(Request::input_files).map(PathBuf::as_path) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// What each answer of a batch took, as far as can be said.
fn share(total: Duration, count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer than 2^52 requests")]
    let count = count.max(1) as f64;
    (total.as_secs_f64() * 1000.0 / count).round()
}

fn missing(id: &str) -> Response {
    let problem = format!("Batch output missing id '{id}'");
    Response { error: Some(problem.clone()), ..Response::text(format!("Error: {problem}")) }
}

/// The lines by id. One that cannot be assigned spoils the batch: the answers would be mixed up.
pub(in crate::providers) fn parse(text: &str) -> Result<HashMap<String, Object>, String> {
    let mut lines = HashMap::new();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at = |problem: &str| format!("Batch output line {}: {problem}", number + 1);
        let value: Value =
            serde_json::from_str(line).map_err(|error| at(&format!("not JSON: {error}")))?;
        let Value::Object(object) = value else {
            return Err(at("not a JSON object"));
        };
        let id = object.get("id").and_then(Value::as_str).unwrap_or_default();
        if id.trim().is_empty() {
            return Err(at("`id` is missing, empty or not text"));
        }
        let id = id.to_owned();
        let problem = at(&format!("id '{id}' was on a line before"));
        if lines.insert(id, object).is_some() {
            return Err(problem);
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[&str], &str>) {
        let got = parse(text).map(|lines| {
            let mut ids: Vec<String> = lines.into_keys().collect();
            ids.sort();
            ids
        });
        match expected {
            Ok(ids) => assert_eq!(got.unwrap(), ids),
            Err(start) => {
                let error = got.unwrap_err();
                assert!(error.starts_with(start), "{error}");
            }
        }
    }

    #[test]
    fn each_line_has_an_id() {
        check("{\"id\":\"a\"}\n\n  \r\n{\"id\":\"b\",\"text\":1}\n", Ok(&["a", "b"]));
        check("", Ok(&[]));
        check("{\"id\":\"a\"}\nno", Err("Batch output line 2: not JSON"));
        check("[1]", Err("Batch output line 1: not a JSON object"));
        check("{\"id\":\" \"}", Err("Batch output line 1: `id` is missing"));
        check("{\"id\":7}", Err("Batch output line 1: `id` is missing"));
        check(
            "{\"id\":\"a\"}\n{\"id\":\"a\"}",
            Err("Batch output line 2: id 'a' was on a line before"),
        );
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in ".{0,60}") {
            let _ = parse(&text);
        }
    }
}
