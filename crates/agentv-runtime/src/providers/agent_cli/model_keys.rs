//! The variables in which agents that know several providers of models look for their keys.

/// By provider, as pi and OpenCode name it. The keys of others are in `<NAME>_API_KEY`.
const KEYS: &[(&str, &[&str])] = &[
    ("anthropic", &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"]),
    ("google", GOOGLE),
    ("gemini", GOOGLE),
    ("azure", &["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"]),
    ("azure-openai-responses", &["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"]),
    ("amazon-bedrock", AWS),
    ("google-vertex", &["GOOGLE_APPLICATION_CREDENTIALS"]),
    ("google-vertex-anthropic", &["GOOGLE_APPLICATION_CREDENTIALS"]),
    ("github-copilot", &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"]),
    ("huggingface", &["HF_TOKEN"]),
];

const GOOGLE: &[&str] = &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"];

/// For models on Amazon Bedrock.
pub const AWS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
];

/// The variables that may hold the key of this provider.
pub fn of_provider(provider: &str) -> Vec<String> {
    let provider = provider.to_ascii_lowercase();
    match KEYS.iter().find(|(name, _)| *name == provider) {
        Some((_, keys)) => keys.iter().map(ToString::to_string).collect(),
        None => vec![variable(&provider)],
    }
}

/// The provider in `provider/model`.
pub fn provider_of(model: &str) -> Option<&str> {
    model.split_once('/').map(|(provider, _)| provider)
}

/// `ANTHROPIC_API_KEY`
pub fn variable(provider: &str) -> String {
    let name = provider.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("{}_API_KEY", name.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_known_by_its_name_or_by_rule() {
        assert_eq!(of_provider("Google")[0], "GEMINI_API_KEY");
        assert_eq!(of_provider("open-router"), ["OPEN_ROUTER_API_KEY"]);
        assert_eq!(provider_of("anthropic/claude-sonnet-4-5"), Some("anthropic"));
        assert_eq!(provider_of("sonnet"), None);
    }
}
