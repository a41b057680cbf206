//! Rubrics: the judge checks items one by one, or scores each from 0 to 10.

use super::prompt::variable;
use crate::config::{Fields, Kind, Leftovers, Node};
use crate::evaluators::json::first_object_where;
use agentv_core::{EvalContext, Score, Verdict, Weight, score};
use agentv_wire::{Object, VerdictWord};
use serde_json::{Value, json};
use std::fmt::Write;

/// The items, and how they are judged.
#[derive(Debug)]
pub(super) struct Rubrics {
    items: Vec<Item>,
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Each item is met or not.
    Checklist,
    /// Each item has a score from 0 to 10.
    Ranges,
}

/// One thing that a good answer does.
#[derive(Debug)]
struct Item {
    id: String,
    outcome: String,
    weight: Weight,
    /// Without it the answer fails: the score from 0 to 10 that it must reach.
    required: Option<u64>,
    ranges: Vec<Range>,
}

/// What a score from `from` to `to` means.
#[derive(Debug)]
struct Range {
    from: u64,
    to: u64,
    outcome: String,
}

/// The best score of an item.
const TOP: u64 = 10;
/// From this score up an item counts as a hit.
const HIT: u64 = 7;

/// Reads `rubrics`. Each fault is noted; an item that cannot be used spoils the whole, since a score without it is no score.
pub(super) fn read(node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Option<Rubrics> {
    let Some(list) = node.as_list().filter(|list| !list.is_empty()) else {
        let message = format!("`rubrics` of {} must be a list of items", fields.owner());
        fields.error_at("rubric::list", node.span, message);
        return None;
    };
    let items: Vec<Option<Item>> =
        list.iter().enumerate().map(|(index, node)| item(node, index, fields)).collect();
    let items = items.into_iter().collect::<Option<Vec<Item>>>()?;
    // One check of the judge would count for both.
    for (index, item) in items.iter().enumerate() {
        if items[..index].iter().any(|known| known.id == item.id) {
            let message = format!("{} has two rubrics with the id `{}`", fields.owner(), item.id);
            let note = fields.error_at("rubric::twin", list[index].span, message);
            note.help("give each rubric an `id` of its own");
        }
    }
    let scored =
        |item: &Item| !item.ranges.is_empty() || item.required.is_some_and(|bar| bar < TOP);
    let mode = if items.iter().any(scored) { Mode::Ranges } else { Mode::Checklist };
    Some(Rubrics { items, mode })
}

fn item(node: &Node<'_>, index: usize, fields: &mut Fields<'_, '_>) -> Option<Item> {
    let id = format!("rubric-{}", index + 1);
    if let Kind::Text(text) = &node.kind {
        let outcome = text.clone().into_owned();
        return Some(Item {
            id,
            outcome,
            weight: Weight::ONE,
            required: Some(TOP),
            ranges: Vec::new(),
        });
    }
    let mut own = fields.inside(node, format!("rubric {}", index + 1))?;
    let id = own.take("id").unwrap_or(id);
    let outcome: Option<String> =
        own.take_of(&["expected_outcome", "description", "outcome", "criteria"]);
    let weight = own.take::<f64>("weight").map_or(Some(Weight::ONE), Weight::new);
    let ranges = own.node("score_ranges").map(|node| ranges(node, &mut own));
    let min_score = own.take::<u64>("required_min_score");
    let required: Option<bool> = own.take("required");
    own.finish(Leftovers::Warn);

    if weight.is_none() {
        own.error("rubric::weight", "weight", "`weight` of a rubric must be a number from 0 up");
    }
    if min_score.is_some_and(|score| score > TOP) {
        own.error(
            "rubric::score",
            "required_min_score",
            "`required_min_score` must be from 0 to 10",
        );
    }
    if outcome.is_none() && ranges.is_none() {
        let span = own.head();
        own.error_at("rubric::outcome", span, format!("{} needs `expected_outcome`", own.owner()));
    }
    if own.failed() {
        return None;
    }
    let has_ranges = ranges.is_some();
    Some(Item {
        id,
        outcome: outcome.unwrap_or_default(),
        weight: weight?,
        ranges: ranges.flatten().unwrap_or_default(),
        // A plain item is required unless it says otherwise; a scored one only if it says so.
        required: min_score.or_else(|| required.unwrap_or(!has_ranges).then_some(TOP)),
    })
}

/// Ranges must not overlap and must leave no score without a meaning.
fn ranges(node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Option<Vec<Range>> {
    let read = |node: &Node<'_>| {
        let bounds = node.get("score_range")?.as_list()?;
        let bound = |index: usize| bounds.get(index)?.to_value().as_u64();
        let outcome =
            node.get("expected_outcome").or_else(|| node.get("description"))?.as_text()?.to_owned();
        Some(Range { from: bound(0)?, to: bound(1).filter(|_| bounds.len() == 2)?, outcome })
    };
    let ranges: Option<Vec<Range>> =
        node.as_list().and_then(|items| items.iter().map(read).collect());
    let Some(mut ranges) = ranges.filter(|ranges| !ranges.is_empty()) else {
        let message =
            "`score_ranges` must be a list of `{score_range: [from, to], expected_outcome: …}`";
        fields.error_at("rubric::ranges", node.span, message);
        return None;
    };
    ranges.sort_by_key(|range| range.from);
    let mut next = 0;
    let covers = ranges.iter().all(|range| {
        let fits = range.from == next && range.to >= range.from;
        next = range.to.saturating_add(1);
        fits
    });
    if !covers || next != TOP + 1 {
        let message = "`score_ranges` must cover 0 to 10, each score once";
        fields
            .error_at("rubric::ranges", node.span, message)
            .help("for example [0, 3], [4, 7] and [8, 10]");
        return None;
    }
    Some(ranges)
}

impl Rubrics {
    /// The rules of the reply.
    pub(super) fn contract(&self) -> &'static str {
        match self.mode {
            Mode::Checklist => CHECKLIST,
            Mode::Ranges => SCORES,
        }
    }

    pub(super) fn prompt(&self, cx: &EvalContext<'_>) -> String {
        let mut prompt = match self.mode {
            Mode::Checklist => "You are an expert evaluator. Say for each rubric whether the candidate answer meets it.".to_owned(),
            Mode::Ranges => {
                "You are an expert evaluator. Score the candidate answer on each criterion from 0 to 10.".to_owned()
            }
        };
        for name in ["question", "expected_outcome", "reference_answer", "candidate_answer"] {
            let value = variable(name, cx).unwrap_or_default();
            if name != "reference_answer" || !value.is_empty() {
                section(&mut prompt, name, &value);
            }
        }
        if cx.candidate.file_changes.is_some() {
            section(&mut prompt, "file_changes", &variable("file_changes", cx).unwrap_or_default());
        }
        section(&mut prompt, "rubrics", &self.listed());
        prompt
    }

    fn listed(&self) -> String {
        let items: Vec<String> = self
            .items
            .iter()
            .map(|item| match self.mode {
                Mode::Checklist => item.as_check(),
                Mode::Ranges => item.as_criterion(),
            })
            .collect();
        items.join(if self.mode == Mode::Checklist { "\n" } else { "\n\n" })
    }

    /// What the judge found, item by item. An item that it forgot is not met; of two checks of one item the first counts.
    pub(super) fn read(&self, text: &str) -> Option<Verdict> {
        let reply =
            first_object_where(text, |object| object.get("checks").is_some_and(Value::is_array))?;
        let checks = reply.get("checks")?.as_array()?;
        let mut verdict = Verdict::of(Score::ZERO);
        let mut parts = Vec::with_capacity(self.items.len());
        let mut raw_scores = Object::new();
        let mut fails = false;
        for item in &self.items {
            let check = checks
                .iter()
                .find(|check| check.get("id").and_then(Value::as_str) == Some(&item.id));
            let found = Found::of(check, self.mode);
            fails |= item.required.is_some_and(|bar| found.score < bar);
            let text = item.told(&found, self.mode);
            if found.is_hit(item, self.mode) {
                verdict.hits.push(text);
            } else {
                verdict.misses.push(text);
            }
            parts.push((Score::clamped(points(found.score) / points(TOP)), item.weight));
            let written = found.out_of_range.map_or_else(|| json!(found.score), |raw| json!(raw));
            raw_scores.insert(item.id.clone(), written);
        }
        verdict.score = score::aggregate(parts);
        verdict.word = fails.then_some(VerdictWord::Fail);
        verdict.reasoning =
            reply.get("overall_reasoning").and_then(Value::as_str).map(str::to_owned);
        if self.mode == Mode::Ranges {
            let details = json!({ "raw_scores": raw_scores, "normalization": "score / 10", "aggregation": "weighted_average" });
            verdict.details = Some(details);
        }
        Some(verdict)
    }
}

#[expect(clippy::cast_precision_loss, reason = "scores go from 0 to 10")]
fn points(score: u64) -> f64 {
    score as f64
}

fn section(prompt: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = write!(prompt, "\n\n[[ ## {name} ## ]]\n{value}");
}

/// What the judge said of one item.
struct Found<'r> {
    /// From 0 to 10; a met check is 10.
    score: u64,
    /// What the judge wrote, where that is not from 0 to 10.
    out_of_range: Option<f64>,
    reasoning: Option<&'r str>,
}

impl<'r> Found<'r> {
    fn of(check: Option<&'r Value>, mode: Mode) -> Self {
        let Some(check) = check else {
            let reasoning = Some("the judge did not check this");
            return Self { score: 0, out_of_range: None, reasoning };
        };
        let mut out_of_range = None;
        let score = match mode {
            Mode::Checklist => {
                if check.get("satisfied") == Some(&Value::Bool(true)) {
                    TOP
                } else {
                    0
                }
            }
            Mode::Ranges => {
                let written = check.get("score").and_then(Value::as_f64).unwrap_or(0.0);
                let raw = written.clamp(0.0, points(TOP));
                out_of_range = (written - raw != 0.0).then_some(written);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "clamped to 0..=10"
                )]
                let score = raw.round() as u64;
                score
            }
        };
        let reasoning = check.get("reasoning").and_then(Value::as_str).map(str::trim);
        Self { score, out_of_range, reasoning: reasoning.filter(|text| !text.is_empty()) }
    }

    /// A required item is a hit from its own bar up, any other scored one from 7.
    fn is_hit(&self, item: &Item, mode: Mode) -> bool {
        match mode {
            Mode::Checklist => self.score == TOP,
            Mode::Ranges => self.score >= item.required.unwrap_or(HIT).max(HIT),
        }
    }
}

impl Item {
    fn as_check(&self) -> String {
        let required = if self.required.is_some() { " (REQUIRED)" } else { "" };
        let weight = if self.weight == Weight::ONE {
            String::new()
        } else {
            format!(" (weight: {})", self.weight.value())
        };
        format!("- [{}]{required}{weight}: {}", self.id, self.outcome)
    }

    fn as_criterion(&self) -> String {
        let required =
            self.required.map_or_else(String::new, |bar| format!(" [REQUIRED: min score {bar}]"));
        let mut text =
            format!("### Criterion: {} (weight: {}){required}", self.id, self.weight.value());
        if !self.outcome.is_empty() {
            let _ = write!(text, "\n{}", self.outcome);
        }
        for Range { from, to, outcome } in &self.ranges {
            let _ = write!(text, "\n  - Score {from}-{to}: {outcome}");
        }
        text
    }

    fn told(&self, found: &Found<'_>, mode: Mode) -> String {
        let what = if self.outcome.is_empty() { &self.id } else { &self.outcome };
        let mut text = format!("[{}] {what}", self.id);
        if mode == Mode::Ranges {
            let _ = write!(text, " - Score: {}/10", found.score);
            let range =
                self.ranges.iter().find(|range| (range.from..=range.to).contains(&found.score));
            if let Some(range) = range {
                let _ = write!(text, " ({})", range.outcome);
            }
        }
        if let Some(reasoning) = found.reasoning {
            let _ = write!(text, ": {reasoning}");
        }
        text
    }
}

const CHECKLIST: &str = r#"You grade answers. Reply with a single JSON object and nothing else: no prose, no code fence.

{
  "checks": [
    {"id": "<the rubric's id>", "satisfied": <true or false>, "reasoning": "<one sentence>"}
  ],
  "overall_reasoning": "<one or two sentences>"
}

Check every rubric, each once."#;

const SCORES: &str = r#"You grade answers. Reply with a single JSON object and nothing else: no prose, no code fence.

{
  "checks": [
    {"id": "<the criterion's id>", "score": <a whole number from 0 to 10>, "reasoning": "<one sentence>"}
  ],
  "overall_reasoning": "<one or two sentences>"
}

Score every criterion, each once."#;
