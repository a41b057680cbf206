//! `dist`: the program as it is shipped. It is built twice: the first build counts what a round of the bench has it do, and
//! by these counts the second one puts together what belongs together.

use crate::bench;
use crate::repository::{command, metadata, output, succeed};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

const PROGRAM: [&str; 6] = ["--profile", "dist", "--package", "agentv-cli", "--bin", "agentv"];

/// Functions that came out alike are kept once, and the program has a fixed place in memory: about a tenth of the time of
/// `--version` went into moving it to another. Only the linker that comes with Rust for Linux on x86-64 is sure to know how.
const FLAGS: &[&str] = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    &["-Clink-arg=-Wl,--icf=all", "-Crelocation-model=static"]
} else {
    &[]
};

pub(crate) fn run(words: &[&str]) -> Result<()> {
    match words {
        [] => trained(),
        ["--untrained"] => untrained(),
        _ => bail!("dist knows no option but `--untrained`"),
    }
}

/// In half the time, for a look at something.
fn untrained() -> Result<()> {
    let args = [&["rustc"][..], &PROGRAM, &["--"], FLAGS].concat();
    succeed(command("cargo").args(args))
}

fn trained() -> Result<()> {
    let host = host()?;
    // Before minutes are spent.
    let tools = merge_tools(&host)?;
    let target = metadata()?.target_directory;
    let (counts, profile) =
        (target.join("learning/counts"), target.join("learning/agentv.profdata"));
    let _ = fs::remove_dir_all(&counts);
    let flag = format!("-Cprofile-generate={}", counts.display());
    let learner = build(&target.join("learning"), &host, &flag)?;
    bench::exercise(learner)?;
    merge(&tools, &counts, &profile)?;
    let profile = named_by_contents(&profile)?;
    let flag = format!("-Cprofile-use={}", profile.display());
    let program = build(&target.join("trained"), &host, &flag)?;
    let shipped = target.join("dist/agentv");
    fs::create_dir_all(target.join("dist"))?;
    // Not in place: somebody may be running the one that is there.
    let _ = fs::remove_file(&shipped);
    fs::copy(&program, &shipped).with_context(|| shipped.display().to_string())?;
    eprintln!("built {}", shipped.display());
    Ok(())
}

/// Cargo builds anew what is built with other flags, and knows nothing of what is in the files that they name.
fn named_by_contents(profile: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    fs::read(profile)?.hash(&mut hasher);
    let named = profile.with_file_name(format!("{:016x}.profdata", hasher.finish()));
    fs::rename(profile, &named)?;
    Ok(named)
}

/// With one more flag for all that goes into the program, but not for what only helps to build it.
fn build(dir: &Path, host: &str, flag: &str) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo.arg("build").args(PROGRAM).args(["--target", host]).arg("--target-dir").arg(dir);
    // Flags are kept apart by this character, so that paths may hold spaces.
    let flags = [FLAGS, &[flag]].concat().join("\u{1f}");
    succeed(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    Ok(dir.join(host).join("dist/agentv"))
}

/// What the compiler calls this machine.
fn host() -> Result<String> {
    let told = output("rustc", &["-vV"])?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what machine this is")?.to_owned())
}

/// Programs that may be able to read the counts. Those of another LLVM often can, but not always.
fn merge_tools(host: &str) -> Result<Vec<PathBuf>> {
    let sysroot = output("rustc", &["--print", "sysroot"])?;
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/llvm-profdata");
    let named = (19..30).rev().map(|version| format!("llvm-profdata-{version}"));
    let others = named.chain(["llvm-profdata".to_owned()]).map(PathBuf::from);
    let tools: Vec<PathBuf> = std::iter::once(own)
        .chain(others)
        .filter(|tool| command(tool).arg("--version").output().is_ok())
        .collect();
    if tools.is_empty() {
        bail!(
            "there is no `llvm-profdata`: get it with `rustup component add llvm-tools` or Debian's package `llvm-19`, \
             or build with `cargo dist --untrained`"
        );
    }
    Ok(tools)
}

fn merge(tools: &[PathBuf], counts: &Path, profile: &Path) -> Result<()> {
    for tool in tools {
        let done = command(tool).arg("merge").arg("-o").arg(profile).arg(counts).output()?;
        if done.status.success() {
            return Ok(());
        }
        eprint!("{}: {}", tool.display(), String::from_utf8_lossy(&done.stderr));
    }
    bail!(
        "no `llvm-profdata` can read what was counted; that of `rustup component add llvm-tools` can"
    )
}
