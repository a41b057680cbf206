//! `man`: the pages for `man agentv`, from clap's description of the command line. Packages carry them; the program does not.

use crate::repository::root;
use anyhow::{Context as _, Result};
use std::fs;
use std::path::PathBuf;

/// Writes a page for the program and one for each command.
pub(crate) fn write(dir: Option<&str>) -> Result<()> {
    let dir = dir.map_or_else(|| root().join("target/man"), PathBuf::from);
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    clap_mangen::generate_to(agentv_cli::command(), &dir).context("cannot write the pages")?;
    println!("wrote {}", dir.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_every_command() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().to_str()).unwrap();
        let page = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(page("agentv.1").contains("Evaluate AI agents and models"));
        assert!(page("agentv-eval.1").contains("\\-\\-threshold"));
        assert!(page("agentv-runs-list.1").contains(".TH"));
    }
}
