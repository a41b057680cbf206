//! What the files say.

use super::offers::{Offer, variables};
use super::templates::SuiteTemplate;
use crate::commands::schema;
use crate::setup_args::SchemaKind;
use std::fmt::Write as _;

/// Where targets are looked for.
pub(super) const TARGETS: &str = ".agentv/targets.yaml";
pub(super) const WORKFLOW: &str = ".github/workflows/agentv.yml";
pub(super) const ENV_EXAMPLE: &str = ".env.example";
pub(super) const GITIGNORE: &str = ".gitignore";

/// What Git is to leave alone: results and what runs keep, and the keys.
pub(super) const IGNORED: [&str; 5] =
    [".agentv/results/", ".agentv/runs/", ".agentv/logs/", ".agentv/cache/", ".env"];

/// Kinds of files with a schema beside them. They lie in the project, since editors have to find them without a network,
/// and the same ones for everybody who works on it.
pub(super) const SCHEMAS: [(SchemaKind, &str); 3] = [
    (SchemaKind::Eval, ".agentv/schema/eval.schema.json"),
    (SchemaKind::Targets, ".agentv/schema/targets.schema.json"),
    (SchemaKind::Config, ".agentv/schema/config.schema.json"),
];

pub(super) fn schema_text(kind: SchemaKind) -> &'static str {
    schema::text(kind)
}

/// The template's targets and those that were chosen. `default` is the one that runs if no target is named; without it,
/// the mock does.
pub(super) fn targets(
    template: &SuiteTemplate,
    chosen: &[Offer],
    default: Option<usize>,
) -> String {
    let mut text = include_str!("templates/targets.yaml").to_owned();
    let name = |index: usize| {
        if default == Some(index) { "default" } else { chosen[index].starter.name }
    };
    let judge = (0..chosen.len()).find(|index| chosen[*index].starter.is_judge).map(name);
    let judged_by = |judge: &str| format!("    judge_target: {judge}\n");
    let mock = if default.is_none() { "default" } else { "mock" };
    let mut mock = format!("  - name: {mock}\n{}", template.mock);
    // The mock of a template with a judge names it: both are simulated until the user changes them.
    if let Some(judge) = judge.filter(|_| template.judge.is_none()) {
        mock.push_str(&judged_by(judge));
    }
    let mut entries = vec![mock];
    if !template.targets.is_empty() {
        entries.push(template.targets.to_owned());
    }
    for (index, offer) in chosen.iter().enumerate() {
        let mut entry = format!("  - name: {}\n    provider: {}\n", name(index), offer.provider);
        for key in offer.starter.keys {
            let _ = writeln!(entry, "    {key}");
        }
        if let Some(judge) = judge.or(template.judge).filter(|_| !offer.starter.is_judge) {
            entry.push_str(&judged_by(judge));
        }
        // The default comes first.
        let place = if default == Some(index) { 0 } else { entries.len() };
        entries.insert(place, entry);
    }
    text.push_str(&entries.join("\n"));
    text
}

/// The workflow, with the secrets that the chosen models need.
pub(super) fn workflow(chosen: &[Offer]) -> String {
    let mut env = String::new();
    for variable in chosen.iter().flat_map(|offer| offer.starter.variables) {
        let _ = write!(env, "\n          {variable}: ${{{{ secrets.{variable} }}}}");
    }
    if !env.is_empty() {
        env.insert_str(0, "\n        env:");
    }
    include_str!("templates/workflow.yml")
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{env}", &env)
}

/// Names without values.
pub(super) fn env_example() -> String {
    let mut text = "# Copy this file to `.env` and fill in the keys that your targets use. Never commit `.env`.\n\
                    # Variables that are set in the environment win over it.\n"
        .to_owned();
    for variable in variables() {
        let _ = writeln!(text, "# {variable}=");
    }
    text
}

/// `.gitignore` with the lines that it lacks, and how many those are.
pub(super) fn gitignore(there: &str) -> (String, usize) {
    let has = |line: &str| {
        let bare = |text: &str| text.trim().trim_matches('/').to_owned();
        there
            .lines()
            .any(|known| bare(known) == bare(line) || bare(known) == ".agentv" && line != ".env")
    };
    let missing: Vec<&str> = IGNORED.into_iter().filter(|line| !has(line)).collect();
    let mut text = there.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for line in &missing {
        let _ = writeln!(text, "{line}");
    }
    (text, missing.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_runtime::providers::Starter;

    const AGENT: Offer =
        Offer { provider: "claude-code", starter: Starter::program("claude-code", "claude") };
    const MODEL: Offer = Offer {
        provider: "openai",
        starter: Starter::model("openai", &["KEY"], &["model: m", "api_key: ${{ KEY }}"]),
    };

    #[test]
    fn the_mock_is_the_default_unless_another_was_chosen() {
        let text = targets(&SuiteTemplate::of(None), &[AGENT], None);
        assert!(text.contains("  - name: default\n    # Always gives the same answer"), "{text}");
        assert!(text.contains("  - name: claude-code\n    provider: claude-code\n"), "{text}");
        let text = targets(&SuiteTemplate::of(None), &[AGENT], Some(0));
        assert!(
            text.contains("targets:\n  - name: default\n    provider: claude-code\n"),
            "{text}"
        );
        assert!(text.contains("  - name: mock\n"), "{text}");
    }

    #[test]
    fn a_model_judges_the_others() {
        let text = targets(&SuiteTemplate::of(None), &[AGENT, MODEL], None);
        assert_eq!(text.matches("judge_target: openai").count(), 2, "{text}");
        let text = targets(&SuiteTemplate::of(None), &[AGENT, MODEL], Some(1));
        assert_eq!(text.matches("judge_target: default").count(), 2, "{text}");
    }

    #[test]
    fn a_workflow_passes_the_secrets_that_are_needed() {
        assert!(!workflow(&[AGENT]).contains("secrets."));
        let text = workflow(&[AGENT, MODEL]);
        assert!(
            text.contains("0.8\n        env:\n          KEY: ${{ secrets.KEY }}\n      - uses"),
            "{text}"
        );
    }

    #[test]
    fn git_is_told_only_what_it_does_not_know() {
        assert_eq!(gitignore("").1, 5);
        assert_eq!(gitignore("/.agentv/runs\n.env").0.lines().count(), 5);
        assert_eq!(gitignore(".agentv/\n"), (".agentv/\n.env\n".to_owned(), 1));
    }
}
