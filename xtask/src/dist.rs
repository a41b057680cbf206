//! `dist`: the program as it is shipped, with fat LTO. With `--trained` the compiler also arranges it by a profile of the
//! benchmarks (profile-guided optimisation), which needs LLVM's tools and twice the time.

use crate::bench;
use crate::repository::{command, metadata, output, succeed};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

const PROGRAM: [&str; 6] = ["--profile", "dist", "--package", "agentv-cli", "--bin", "agentv"];

/// Identical functions are kept once. Rust does not promise that two functions have two addresses, so nothing may rely on
/// it. Only the linker that comes with Rust for Linux on x86-64 is sure to know the option.
const FLAGS: &[&str] = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    &["-Clink-arg=-Wl,--icf=all"]
} else {
    &[]
};

pub(crate) fn run(words: &[&str]) -> Result<()> {
    match words {
        [] => plain(),
        ["--trained"] => trained(),
        _ => bail!("unknown option for dist; the only one is `--trained`"),
    }
}

fn plain() -> Result<()> {
    let args = [&["rustc"][..], &PROGRAM, &["--"], FLAGS].concat();
    succeed(command("cargo").args(args))
}

/// Builds a program that counts, runs the benchmarks with it, and builds the shipped program by these counts.
fn trained() -> Result<()> {
    let compiler = Compiler::installed()?;
    // First of all, since both builds take minutes.
    let profdata = profdata_for(&compiler)?;
    let target = metadata()?.target_directory;
    let (counts, profile) =
        (target.join("learning/counts"), target.join("learning/agentv.profdata"));
    let _ = fs::remove_dir_all(&counts);
    let flag = format!("-Cprofile-generate={}", counts.display());
    let learner = build(&target.join("learning"), &compiler.host, &flag)?;
    bench::exercise(learner)?;
    succeed(command(&profdata).arg("merge").arg("-o").arg(&profile).arg(&counts))?;
    let profile = named_by_contents(&profile)?;
    let flag = format!("-Cprofile-use={}", profile.display());
    let program = build(&target.join("trained"), &compiler.host, &flag)?;
    let shipped = target.join("dist/agentv");
    fs::create_dir_all(target.join("dist"))?;
    // Not in place: the present program may be running.
    let _ = fs::remove_file(&shipped);
    fs::copy(&program, &shipped).with_context(|| shipped.display().to_string())?;
    eprintln!("built {}", shipped.display());
    Ok(())
}

/// Cargo rebuilds when flags change, but does not look into the files that they name.
fn named_by_contents(profile: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    fs::read(profile)?.hash(&mut hasher);
    let named = profile.with_file_name(format!("{:016x}.profdata", hasher.finish()));
    fs::rename(profile, &named)?;
    Ok(named)
}

/// With one more flag for everything that is linked into the program, but not for build scripts and macros.
fn build(dir: &Path, host: &str, flag: &str) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo.arg("build").args(PROGRAM).args(["--target", host]).arg("--target-dir").arg(dir);
    // Cargo separates these flags by this character, so that paths may contain spaces.
    let flags = [FLAGS, &[flag]].concat().join("\u{1f}");
    succeed(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    Ok(dir.join(host).join("dist/agentv"))
}

/// The compiler, as far as its profiles depend on it.
struct Compiler {
    /// The platform it runs on, as in `x86_64-unknown-linux-gnu`.
    host: String,
    /// The major version of its LLVM.
    llvm: u32,
}

impl Compiler {
    fn installed() -> Result<Self> {
        let described = output("rustc", &["-vV"])?;
        Self::parse(&described).context("`rustc -vV` does not name its host and LLVM version")
    }

    fn parse(described: &str) -> Option<Self> {
        let host = described.lines().find_map(|line| line.strip_prefix("host: "))?;
        Some(Self { host: host.to_owned(), llvm: llvm_version(described)? })
    }
}

/// The `llvm-profdata` that can read the compiler's profiles. Their format changes between LLVM's major versions, so only
/// one of the same version is sure to.
fn profdata_for(compiler: &Compiler) -> Result<PathBuf> {
    let sysroot = output("rustc", &["--print", "sysroot"])?;
    let bundled = Path::new(sysroot.trim()).join("lib/rustlib").join(&compiler.host);
    let tools = [
        bundled.join("bin/llvm-profdata"),
        PathBuf::from(format!("llvm-profdata-{}", compiler.llvm)),
        PathBuf::from("llvm-profdata"),
    ];
    let versions = tools.map(|tool| (installed_version(&tool), tool));
    choose(&versions, compiler.llvm)
}

/// `None` if there is no such program, or none that says its version.
fn installed_version(tool: &Path) -> Option<u32> {
    // Old ones take the option only after a subcommand.
    [&["--version"][..], &["merge", "--version"]].into_iter().find_map(|args| {
        let output = command(tool).args(args).output().ok()?;
        llvm_version(&String::from_utf8_lossy(&output.stdout))
    })
}

fn choose(tools: &[(Option<u32>, PathBuf)], llvm: u32) -> Result<PathBuf> {
    if let Some((_, tool)) = tools.iter().find(|(version, _)| *version == Some(llvm)) {
        return Ok(tool.clone());
    }
    let others = tools.iter().filter_map(|(version, tool)| {
        version.map(|version| format!("; `{}` is version {version}", tool.display()))
    });
    let found: String = others.collect();
    bail!(
        "`--trained` needs `llvm-profdata` of LLVM {llvm}, the version in rustc{found}\n\
         install it with `rustup component add llvm-tools`, or as the package `llvm-{llvm}` of your system, or build \
         without `--trained`"
    )
}

/// The major version in what `rustc -vV` or an LLVM tool prints: `LLVM version: 22.1.2`, `Debian LLVM version 14.0.6`.
fn llvm_version(printed: &str) -> Option<u32> {
    let (_, after) = printed.split_once("LLVM version")?;
    let number = after.trim_start_matches([':', ' ']);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_rustc_and_llvm_print_them() {
        let described = "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";
        let compiler = Compiler::parse(described).unwrap();
        assert_eq!((compiler.host.as_str(), compiler.llvm), ("x86_64-unknown-linux-gnu", 22));
        assert_eq!(llvm_version("Debian LLVM version 14.0.6\n  Optimized build.\n"), Some(14));
        assert_eq!(llvm_version("LLVM version 22.1.2-rust-1.95.0-stable\n"), Some(22));
        assert_eq!(llvm_version("no such tool"), None);
    }

    #[test]
    fn only_a_tool_of_the_same_version_is_used() {
        let tools = [(None, PathBuf::from("a")), (Some(22), PathBuf::from("b"))];
        assert_eq!(choose(&tools, 22).unwrap(), Path::new("b"));
        let refused = choose(&[(Some(14), PathBuf::from("c"))], 22).unwrap_err().to_string();
        assert!(
            refused.contains("of LLVM 22") && refused.contains("`c` is version 14"),
            "{refused}"
        );
        assert!(refused.contains("rustup component add llvm-tools"), "{refused}");
    }
}
