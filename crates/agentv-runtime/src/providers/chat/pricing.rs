//! What a call cost: from the target's own `pricing`, else from a table that `cargo xtask prices` makes.

use super::ChatUsage;
use crate::config::{Fields, FromNode, Leftovers, Node, Numeric, Wrong};
use crate::providers::{Billing, UnitPrice};
use schemars::JsonSchema;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What tokens cost, in US dollars per million.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
pub(in crate::providers) struct Pricing {
    /// Tokens of the prompt.
    pub input: f64,
    /// Generated tokens, thoughts included.
    pub output: f64,
    /// Tokens of the prompt that came from a cache; as `input` if absent.
    pub cached: Option<f64>,
}

impl Pricing {
    pub(in crate::providers) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let price = |price: Price| price.0;
        let input = fields.need("input").map(price);
        let output = fields.need("output").map(price);
        let cached = fields.take("cached").map(price);
        fields.finish(Leftovers::Refuse);
        Some(Self { input: input?, output: output?, cached })
    }
}

struct Price(f64);

impl FromNode for Price {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let price = Numeric::from_node(node).ok().map(|price| price.0);
        let expected = "a number of dollars from 0 up";
        price.filter(|price| *price >= 0.0).map(Self).ok_or(Wrong { expected })
    }
}

/// Whose price list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::providers) enum Vendor {
    OpenAi,
    Azure,
    Anthropic,
    Gemini,
}

impl Vendor {
    /// As the table writes it, and as gateways write it before a model: `anthropic/claude-…`.
    fn named(name: &str) -> Option<Self> {
        match name {
            "openai" => Some(Self::OpenAi),
            "azure" => Some(Self::Azure),
            "anthropic" => Some(Self::Anthropic),
            "gemini" | "google" => Some(Self::Gemini),
            _ => None,
        }
    }
}

/// How the calls of one target are priced.
#[derive(Debug, Clone)]
pub(in crate::providers) struct Rates {
    own: Option<Pricing>,
    vendor: Vendor,
    /// The model, or the deployment, that is asked for.
    asked: String,
}

impl Rates {
    pub(in crate::providers) fn new(own: Option<Pricing>, vendor: Vendor, asked: &str) -> Self {
        Self { own, vendor, asked: asked.to_owned() }
    }

    /// What a call cost, if that is known. `answered` is the model that the API says it used.
    pub(in crate::providers) fn cost(
        &self,
        usage: &ChatUsage,
        answered: Option<&str>,
    ) -> Option<f64> {
        let row = match self.own {
            Some(Pricing { input, output, cached }) => {
                Row { input, output, cached, written: None, up_to: None, max_output: None }
            }
            None => self.listed(answered)?,
        };
        row.cost(usage)
    }

    /// What a token costs, if that is known before anything was answered.
    pub(in crate::providers) fn billing(&self) -> Billing {
        let own = self.own.map(|own| UnitPrice { input: own.input, output: own.output });
        let listed = || {
            find(self.vendor, &self.asked)
                .map(|row| UnitPrice { input: row.input, output: row.output })
        };
        Billing::by_token(own.or_else(listed))
    }

    fn listed(&self, answered: Option<&str>) -> Option<Row> {
        match (self.vendor, answered) {
            // A deployment may have any name, another model's among them. What the API says it used is the truth.
            (Vendor::Azure, Some(model)) => find(Vendor::Azure, model),
            (vendor, _) => find(vendor, &self.asked).or_else(|| find(vendor, answered?)),
        }
    }
}

/// How many tokens a model can generate, if the table knows it.
pub(in crate::providers) fn max_output_tokens(vendor: Vendor, model: &str) -> Option<u64> {
    find(vendor, model)?.max_output
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    input: f64,
    output: f64,
    cached: Option<f64>,
    /// Tokens written to a cache; as `input` if absent.
    written: Option<f64>,
    /// For longer prompts there is another price, which the table does not hold.
    up_to: Option<u64>,
    max_output: Option<u64>,
}

impl Row {
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    fn cost(&self, usage: &ChatUsage) -> Option<f64> {
        if self.up_to.is_some_and(|limit| usage.input > limit) {
            return None;
        }
        let cached = usage.cached.unwrap_or(0).min(usage.input);
        let written = usage.written.min(usage.input - cached);
        let fresh = usage.input - cached - written;
        let dollars = fresh as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + written as f64 * self.written.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        Some(dollars / 1e6)
    }
}

/// The line of a model, by its exact name. Only gateways put a vendor before it.
fn find(vendor: Vendor, model: &str) -> Option<Row> {
    if let Some(row) = table().get(&(vendor, model)) {
        return Some(*row);
    }
    let (prefix, rest) = model.split_once('/').filter(|_| vendor == Vendor::OpenAi)?;
    table().get(&(Vendor::named(prefix)?, rest)).copied()
}

type Table = HashMap<(Vendor, &'static str), Row>;

/// The table, read at the first look into it: runs without such a target should not pay for it.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| include_str!("prices.tsv").lines().filter_map(line).collect())
}

fn line(line: &'static str) -> Option<((Vendor, &'static str), Row)> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [vendor, model, input, output, cached, written, up_to, max_output] = columns[..] else {
        return None;
    };
    let row = Row {
        input: input.parse().ok()?,
        output: output.parse().ok()?,
        cached: cached.parse().ok(),
        written: written.parse().ok(),
        up_to: up_to.parse().ok(),
        max_output: max_output.parse().ok(),
    };
    Some(((Vendor::named(vendor)?, model), row))
}

#[cfg(test)]
mod tests {
    use super::super::ChatReply;
    use super::*;

    const USAGE: ChatUsage =
        ChatUsage { input: 1_000_000, cached: Some(400_000), written: 0, output: 10 };

    #[track_caller]
    fn check(rates: &Rates, usage: &ChatUsage, answered: Option<&str>, expected: Option<f64>) {
        let cost = rates.cost(usage, answered).map(|cost| (cost * 1e6).round() / 1e6);
        assert_eq!(cost, expected);
    }

    #[test]
    fn every_line_of_the_table_is_read() {
        let text = include_str!("prices.tsv");
        let lines = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(table().len(), lines);
        assert!(lines > 100);
    }

    #[test]
    fn cached_tokens_are_a_part_of_the_input() {
        let own = Some(Pricing { input: 2.0, output: 100.0, cached: Some(1.0) });
        let rates = Rates::new(own, Vendor::OpenAi, "gpt-4o");
        check(&rates, &USAGE, None, Some(1.6 + 0.001));
        let own = Some(Pricing { input: 2.0, output: 100.0, cached: None });
        check(&Rates::new(own, Vendor::OpenAi, "x"), &USAGE, None, Some(2.001));
    }

    #[test]
    fn a_cost_is_always_a_number() {
        let own = Some(Pricing { input: f64::MAX, output: 0.0, cached: None });
        let usage = ChatUsage { input: u64::MAX, cached: None, written: 0, output: 0 };
        let rates = Rates::new(own, Vendor::OpenAi, "x");
        let reply = ChatReply { usage: Some(usage), ..ChatReply::default() };
        assert_eq!(reply.into_response(&rates).reported.cost_usd, Some(f64::MAX));
    }

    #[test]
    fn a_known_model_has_a_price_and_an_unknown_one_has_none() {
        let usage = ChatUsage { input: 1000, output: 100, ..ChatUsage::default() };
        check(&Rates::new(None, Vendor::OpenAi, "gpt-4o"), &usage, None, Some(0.0035));
        check(&Rates::new(None, Vendor::OpenAi, "gpt-4o-typo"), &usage, None, None);
        check(&Rates::new(None, Vendor::OpenAi, "openai/gpt-4o"), &usage, None, Some(0.0035));
        check(&Rates::new(None, Vendor::Anthropic, "gpt-4o"), &usage, None, None);
        check(&Rates::new(None, Vendor::Anthropic, "openai/gpt-4o"), &usage, None, None);
    }

    #[test]
    fn a_deployment_is_priced_as_what_it_runs() {
        let usage = ChatUsage { input: 1000, output: 100, ..ChatUsage::default() };
        let rates = Rates::new(None, Vendor::Azure, "gpt-4o");
        check(&rates, &usage, Some("gpt-4o-mini"), Some(0.000_21));
        check(&rates, &usage, Some("something-new"), None);
        check(&rates, &usage, None, Some(0.0035));
    }

    #[test]
    fn beyond_the_listed_length_the_price_is_unknown() {
        let rates = Rates::new(None, Vendor::Gemini, "gemini-2.5-pro");
        check(&rates, &ChatUsage { input: 1000, ..ChatUsage::default() }, None, Some(0.00125));
        check(&rates, &ChatUsage { input: 200_001, ..ChatUsage::default() }, None, None);
    }

    #[test]
    fn the_table_knows_how_much_a_model_can_say() {
        assert_eq!(max_output_tokens(Vendor::Anthropic, "claude-sonnet-4-5"), Some(64_000));
        assert_eq!(max_output_tokens(Vendor::Anthropic, "claude-unheard-of"), None);
    }
}
