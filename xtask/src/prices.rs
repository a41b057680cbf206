//! `prices`: what models cost, from the price list in the PyPI package `litellm`, as a small table for the runtime.
//!
//! Nothing of the package is run. It is downloaded, its licence is looked at, and of its list only what the runtime looks
//! up is kept: chat models of the vendors that have a provider, by their exact names.

use crate::repository::{command, root};
use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const TABLE: &str = "crates/agentv-runtime/src/providers/chat/prices.tsv";
const LIST: &str = "litellm/model_prices_and_context_window_backup.json";
const VENDORS: [&str; 4] = ["anthropic", "azure", "gemini", "openai"];

pub(crate) fn write() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let package = Package::download(dir.path())?;
    let list: Map<String, Value> =
        serde_json::from_str(&fs::read_to_string(dir.path().join(LIST))?)?;
    let rows = rows(&list);
    if rows.len() < 100 {
        bail!("only {} models were found; the list must have changed its shape", rows.len());
    }
    fs::write(root().join(TABLE), package.table(&rows))?;
    eprintln!("wrote {} models of litellm {}", rows.len(), package.version);
    Ok(())
}

/// Where the list is from.
struct Package {
    version: String,
    date: String,
}

impl Package {
    /// Downloads and unpacks the newest one.
    fn download(dir: &Path) -> Result<Self> {
        let pip =
            ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "litellm"];
        run_python(dir, &pip)?;
        let wheel = wheel_in(dir)?;
        run_python(dir, &["-m", "zipfile", "-e", &wheel, "."])?;
        let version =
            wheel.split('-').nth(1).context("the wheel's name has no version")?.to_owned();
        let licence = dir.join(format!("litellm-{version}.dist-info/licenses/LICENSE"));
        let licence = fs::read_to_string(&licence).context("the package has no licence")?;
        // Its own words: all but `enterprise/` is under MIT.
        if !licence.contains("MIT License") || LIST.contains("enterprise") {
            bail!("the licence of litellm {version} is not MIT any more");
        }
        Ok(Self { version, date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string() })
    }

    fn table(&self, rows: &[String]) -> String {
        let Self { version, date } = self;
        let mut text = format!(
            "# Made by `cargo xtask prices` on {date} from the price list of litellm {version} (PyPI).\n\
             # MIT License, Copyright (c) 2023 Berri AI.\n\
             # US dollars per million tokens. `up_to`: longer prompts have another price.\n\
             # vendor\tmodel\tinput\toutput\tcached\tcache_write\tup_to\tmax_output\n"
        );
        for row in rows {
            // Writing to a `String` cannot fail.
            writeln!(text, "{row}").ok();
        }
        text
    }
}

fn run_python(dir: &Path, args: &[&str]) -> Result<()> {
    let status = command("python3").args(args).current_dir(dir).status();
    if !status.context("cannot run `python3`")?.success() {
        bail!("`python3 {}` failed", args.join(" "));
    }
    Ok(())
}

fn wheel_in(dir: &Path) -> Result<String> {
    let mut paths = fs::read_dir(dir)?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "whl");
    let wheel = paths.find(is_wheel).context("pip downloaded no wheel")?;
    Ok(wheel.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// The lines of the table, sorted. Names of regions (`azure/eu/…`) and of fine-tuned models are no names of models.
fn rows(list: &Map<String, Value>) -> Vec<String> {
    let mut rows: Vec<String> = list.iter().filter_map(|(name, model)| row(name, model)).collect();
    rows.sort_unstable();
    // Some models are listed with and without their vendor.
    rows.dedup_by(|a, b| a.split('\t').take(2).eq(b.split('\t').take(2)));
    rows
}

fn row(name: &str, model: &Value) -> Option<String> {
    let vendor = model["litellm_provider"].as_str().filter(|vendor| VENDORS.contains(vendor))?;
    let name = name.strip_prefix(vendor).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
    if model["mode"] != "chat" || name.contains('/') || name.starts_with("ft:") {
        return None;
    }
    let price = |key: &str| Some(per_million(model[key].as_f64()?));
    let output = price("output_cost_per_token")?;
    // Thoughts count as output here; a price of their own would make that wrong.
    if price("output_cost_per_reasoning_token").is_some_and(|thoughts| thoughts != output) {
        return None;
    }
    let columns = [
        Some(price("input_cost_per_token")?),
        Some(output),
        price("cache_read_input_token_cost"),
        price("cache_creation_input_token_cost"),
        threshold(model),
        model["max_output_tokens"].as_u64().map(|tokens| tokens.to_string()),
    ];
    let columns = columns.map(|column| column.unwrap_or_else(|| "-".to_owned()));
    Some(format!("{vendor}\t{name}\t{}", columns.join("\t")))
}

/// Without the last digits that a product of fractions leaves.
fn per_million(per_token: f64) -> String {
    let millionths = (per_token * 1e12).round() / 1e6;
    millionths.to_string()
}

/// `input_cost_per_token_above_200k_tokens` means another price from there on.
fn threshold(model: &Value) -> Option<String> {
    let keys = model.as_object()?.keys();
    let limits = keys.filter_map(|key| {
        let thousands =
            key.strip_prefix("input_cost_per_token_above_")?.strip_suffix("k_tokens")?;
        thousands.parse::<u64>().ok()
    });
    limits.min().map(|thousands| (thousands * 1000).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(name: &str, model: &Value, expected: Option<&str>) {
        assert_eq!(row(name, model).as_deref(), expected);
    }

    fn model(vendor: &str) -> Value {
        json!({
            "litellm_provider": vendor,
            "mode": "chat",
            "input_cost_per_token": 2.5e-6,
            "output_cost_per_token": 1e-5,
            "max_output_tokens": 16384,
        })
    }

    #[test]
    fn prices_are_per_million() {
        check("gpt-4o", &model("openai"), Some("openai\tgpt-4o\t2.5\t10\t-\t-\t-\t16384"));
        let mut long = model("gemini");
        long["cache_read_input_token_cost"] = json!(3e-8);
        long["input_cost_per_token_above_200k_tokens"] = json!(5e-6);
        check("gemini/g", &long, Some("gemini\tg\t2.5\t10\t0.03\t-\t200000\t16384"));
    }

    #[test]
    fn other_kinds_and_other_names_are_left_out() {
        check("azure/eu/gpt-4o", &model("azure"), None);
        check("ft:gpt-4o", &model("openai"), None);
        check("x", &model("bedrock"), None);
        let mut image = model("openai");
        image["mode"] = json!("image_generation");
        check("x", &image, None);
        let mut thoughts = model("gemini");
        thoughts["output_cost_per_reasoning_token"] = json!(1e-3);
        check("x", &thoughts, None);
    }

    #[test]
    fn a_model_stands_there_once() {
        let list = json!({ "gemini/g": model("gemini"), "g": model("gemini") });
        assert_eq!(rows(list.as_object().unwrap()).len(), 1);
    }
}
