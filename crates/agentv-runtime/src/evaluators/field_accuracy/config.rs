//! The keys, and the fields that they make.

use super::compare::{FieldComparison, Scale};
use super::date::DateFormat;
use super::path::Path;
use crate::config::{Fields, FromNode, Leftovers, Node, Wrong};
use crate::evaluators::amount::Amount;
use agentv_core::Weight;
use schemars::JsonSchema;

/// `type: field_accuracy`: compares fields of a JSON answer with those of the expected data.
///
/// The answer may be bare JSON, JSON in a code fence, or JSON in prose. The expected data is the content of the last
/// expected assistant message that is an object or a list, or text that holds one.
#[derive(Debug, JsonSchema)]
pub struct FieldAccuracyConfig {
    /// The fields to compare; at least one.
    pub fields: Vec<FieldConfig>,
    /// How the fields make a score.
    #[serde(default)]
    pub aggregation: Aggregation,
}

/// How fields make a score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// The mean over the fields, by their weights.
    #[default]
    WeightedAverage,
    /// 1 if no field is wrong, else 0.
    AllOrNothing,
}

/// One field.
#[derive(Debug, JsonSchema)]
pub struct FieldConfig {
    /// Where the field is: keys with dots between, list places in brackets: `invoice.lines[0].price`. The first of a list is
    /// number 0.
    pub path: String,
    /// How the two values are compared.
    #[serde(rename = "match")]
    pub comparison: Match,
    /// Whether a missing field is wrong (the default), or not counted. A field that the expected data does not have is
    /// always right.
    #[serde(default = "yes")]
    pub required: bool,
    /// What the field counts for in the mean. The default is 1.
    #[serde(default)]
    pub weight: Option<Amount>,
    /// With `numeric_tolerance`: how far the numbers may be apart. The default is 0.
    #[serde(default)]
    pub tolerance: Option<Amount>,
    /// With `numeric_tolerance`: whether `tolerance` is a share of the expected number, 0.05 for 5 %.
    #[serde(default)]
    pub relative: bool,
    /// With `date`: how dates may be written. The first format that fits is taken. Made of `YYYY`, `MM` or `M`, `MMM` or
    /// `MMMM` (the month's English name, short or long), `DD` or `D`, `HH`, `mm`, `ss` (with or without a fraction), `Z`
    /// (a time zone), and the text between them. Only the day counts, as it is written, in any time zone.
    ///
    /// The default is ISO 8601 (with or without time and zone), `DD-MMM-YYYY`, `MM/DD/YYYY`, `DD/MM/YYYY`, `MM-DD-YYYY` and
    /// `DD-MM-YYYY`; so `02/03/2026` is the 3rd of February, unless you list only `DD/MM/YYYY`.
    #[serde(default)]
    pub formats: Vec<String>,
}

fn yes() -> bool {
    true
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// They are equal: lists in order, objects with the same keys; 1 is 1.0, but not `"1"`.
    Exact,
    /// They are numbers, or text that begins with one, and near each other.
    NumericTolerance,
    /// They are dates of the same day.
    Date,
}

/// A field, ready to be compared.
#[derive(Debug)]
pub(super) struct Field {
    /// The path as written, for messages.
    pub(super) written: String,
    pub(super) path: Path,
    pub(super) comparison: FieldComparison,
    pub(super) required: bool,
    pub(super) weight: Weight,
}

impl FromNode for Aggregation {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match node.as_text() {
            Some("weighted_average") => Ok(Self::WeightedAverage),
            Some("all_or_nothing") => Ok(Self::AllOrNothing),
            _ => Err(Wrong { expected: "`weighted_average` or `all_or_nothing`" }),
        }
    }
}

impl FromNode for Match {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match node.as_text() {
            Some("exact") => Ok(Self::Exact),
            Some("numeric_tolerance") => Ok(Self::NumericTolerance),
            Some("date") => Ok(Self::Date),
            _ => Err(Wrong { expected: "`exact`, `numeric_tolerance` or `date`" }),
        }
    }
}

/// The list under `fields`.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Vec<Field>> {
    let Some(node) = fields.node("fields") else {
        let message = format!("{} needs `fields`", fields.owner());
        fields.error("config::missing", "fields", message).help("list at least one field");
        return None;
    };
    let Some(list) = node.as_list().filter(|list| !list.is_empty()) else {
        let message = format!("`fields` of {} must be a list of fields", fields.owner());
        fields.error_at("config::type", node.span, message).help("list at least one field");
        return None;
    };
    let read = list.iter().enumerate().filter_map(|(index, node)| {
        let owner = format!("field {} of {}", index + 1, fields.owner());
        read_field(fields.inside(node, owner)?)
    });
    // A wrong field is already an error of the whole, so leaving it out loses nothing.
    Some(read.collect())
}

fn read_field(mut fields: Fields<'_, '_>) -> Option<Field> {
    let written: Option<String> = fields.need("path");
    let comparison = read_comparison(&mut fields);
    let required = fields.take("required").unwrap_or_else(yes);
    let weight = fields.take::<Amount>("weight");
    fields.finish(Leftovers::Warn);
    let written = written?;
    let path = match Path::parse(&written) {
        Ok(path) => path,
        Err(problem) => {
            let message = format!("`path` of {}: {problem}", fields.owner());
            fields.error("field_accuracy::path", "path", message).help(
                "write keys with dots between, and list places in brackets: `lines[0].price`",
            );
            return None;
        }
    };
    let weight = weight.and_then(|weight| Weight::new(weight.value())).unwrap_or(Weight::ONE);
    Some(Field { written, path, comparison: comparison?, required, weight })
}

fn read_comparison(fields: &mut Fields<'_, '_>) -> Option<FieldComparison> {
    let kind = fields.need("match");
    let tolerance = fields.take("tolerance");
    let relative = fields.take("relative");
    let formats = read_formats(fields);
    let kind = kind?;
    for (key, given, belongs_to) in [
        ("tolerance", tolerance.is_some(), Match::NumericTolerance),
        ("relative", relative.is_some(), Match::NumericTolerance),
        ("formats", formats.is_some(), Match::Date),
    ] {
        if given && kind != belongs_to {
            let message = format!("`{key}` of {} has no effect with this `match`", fields.owner());
            let span = fields.span_of(key);
            fields
                .warning_at("field_accuracy::ignored", span, message)
                .help(format!("remove `{key}`"));
        }
    }
    Some(match kind {
        Match::Exact => FieldComparison::Exact,
        Match::NumericTolerance => FieldComparison::Numeric {
            tolerance: tolerance.unwrap_or(Amount::ZERO).value(),
            scale: if relative == Some(true) { Scale::Relative } else { Scale::Absolute },
        },
        Match::Date => FieldComparison::Date(formats.unwrap_or_else(DateFormat::defaults)),
    })
}

/// Each wrong format is noted by itself.
fn read_formats(fields: &mut Fields<'_, '_>) -> Option<Vec<DateFormat>> {
    let node = fields.node("formats")?;
    let Some(list) = node.as_list().filter(|list| !list.is_empty()) else {
        let message = format!("`formats` of {} must be a list of date formats", fields.owner());
        fields
            .error_at("config::type", node.span, message)
            .help("leave `formats` out to accept the usual ones");
        return None;
    };
    let read = list.iter().filter_map(|node| {
        let problem = match node.as_text().map(DateFormat::parse) {
            Some(Ok(format)) => return Some(format),
            Some(Err(problem)) => problem,
            None => format!("it is {}", node.describe()),
        };
        let message = format!("not a date format for {}: {problem}", fields.owner());
        fields
            .error_at("field_accuracy::format", node.span, message)
            .help("write it like `YYYY-MM-DD` or `DD MMM YYYY`");
        None
    });
    Some(read.collect())
}
