//! The text of a `targets.yaml`.

use serde_json::json;

/// A whole file of these entries.
pub fn targets(entries: &[String]) -> String {
    format!("targets:\n{}", entries.concat())
}

/// An entry of kind `mock`.
pub fn mock_target(name: &str, response: &str) -> String {
    entry(name, "mock", "response", response)
}

/// An entry of kind `cli`. More keys may follow, each on a line of its own, indented by four spaces.
pub fn cli_target(name: &str, command: &str) -> String {
    entry(name, "cli", "command_template", command)
}

/// An entry of kind `openai` whose API is at this address, for a [`FakeLlm`](crate::FakeLlm). More keys may follow, as with
/// [`cli_target`].
pub fn openai_target(name: &str, url: &str) -> String {
    entry(name, "openai", "base_url", url) + "    model: fake-model\n"
}

/// Texts are written as JSON strings, which YAML reads the same.
fn entry(name: &str, provider: &str, key: &str, value: &str) -> String {
    let (name, value) = (json!(name), json!(value));
    format!("  - name: {name}\n    provider: {provider}\n    {key}: {value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_survives_quotes_and_newlines() {
        let file = targets(&[cli_target("agent", "echo \"a\"\n"), mock_target("judge", "ok")]);
        assert_eq!(
            file,
            "targets:\n  \
             - name: \"agent\"\n    provider: cli\n    command_template: \"echo \\\"a\\\"\\n\"\n  \
             - name: \"judge\"\n    provider: mock\n    response: \"ok\"\n"
        );
    }
}
