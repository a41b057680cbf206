//! The npm package: packed, installed from its tarballs into an empty folder with no network, and run by the real Node.

use crate::context;
use agentv_test_support::{TestContext, cases, cli_target, targets};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A program in a folder of the test, in an environment from nothing and with no way to a network.
fn command(cx: &TestContext, program: impl AsRef<std::ffi::OsStr>, folder: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let mut command = Command::new(program);
    #[expect(clippy::disallowed_methods, reason = "the one variable that tests inherit")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", cx.path(".home")).env("TMPDIR", cx.temp());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "npm_config_proxy", "npm_config_https_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    command
        .env("npm_config_registry", "http://127.0.0.1:9/")
        .env("npm_config_update_notifier", "false");
    command.current_dir(cx.path(folder));
    command
}

#[track_caller]
fn good(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        said(&output.stdout),
        said(&output.stderr)
    );
    said(&output.stdout)
}

/// The tarballs: this platform's, then `agentv`.
fn pack_all(cx: &TestContext) -> Vec<PathBuf> {
    let mut node = command(cx, "node", "");
    node.args(["-p", "`${process.platform}-${process.arch}`"]);
    let platform = good(node);
    // Without what debuggers want it is packed in half the time; where there is no `strip`, it takes that time.
    let binary = cx.path("agentv-to-pack");
    std::fs::copy(env!("CARGO_BIN_EXE_agentv"), &binary).unwrap();
    let _ = command(cx, "strip", "").arg(&binary).status();
    pack(cx, &[format!("{}={}", platform.trim(), binary.display())])
}

fn pack(cx: &TestContext, programs: &[String]) -> Vec<PathBuf> {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/agentv/scripts/pack.js");
    let mut node = command(cx, "node", "");
    node.arg(script).args(["--out", "packed"]).args(programs);
    good(node).lines().map(PathBuf::from).collect()
}

/// A folder with the package in it.
fn installed() -> TestContext {
    let cx = context();
    let tarballs = pack_all(&cx);
    assert_eq!(tarballs.len(), 2);
    install(&cx, "app", &tarballs);
    cx
}

fn install(cx: &TestContext, folder: &str, tarballs: &[PathBuf]) {
    std::fs::create_dir(cx.path(folder)).unwrap();
    cx.write(format!("{folder}/package.json"), "{}");
    let mut npm = command(cx, "npm", folder);
    npm.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(tarballs);
    good(npm);
}

fn agentv(cx: &TestContext) -> Command {
    command(cx, cx.path("app/node_modules/.bin/agentv"), "app")
}

/// Its exit code as a shell tells it, stdout and stderr.
fn ended(output: &Output) -> (i32, String, String) {
    use std::os::unix::process::ExitStatusExt as _;
    let code = output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (code.unwrap(), said(&output.stdout), said(&output.stderr))
}

/// One walk through one installation, since packing takes its time.
#[test]
fn the_package_runs_the_program_and_hands_everything_on() {
    let cx = installed();
    let version = format!("agentv {}\n", env!("CARGO_PKG_VERSION"));
    let mut npx = command(&cx, "npx", "app");
    npx.args(["--offline", "--no-install", "agentv", "--version"]);
    assert_eq!(good(npx), version);

    // Arguments as they are, and exit codes.
    let (code, _, stderr) = ended(&agentv(&cx).args(["eval", "no such.yaml"]).output().unwrap());
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("`no such.yaml` does not exist"), "{stderr}");

    // Standard input.
    let judge = ["judge", "test", "--payload", "/dev/stdin", "--", "sh", "-c"];
    let script = "grep -q planted && echo '{\"score\": 1}'";
    let mut asked = agentv(&cx);
    asked.args(judge).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = asked.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"question\": \"planted\"}").unwrap();
    let (code, stdout, _) = ended(&child.wait_with_output().unwrap());
    assert_eq!((code, stdout.contains("Score: 1.000")), (0, true), "{stdout}");

    signals(&cx);
}

/// A run that waits is told to end. It does so in its own way, which shows that the signal came through; and its own death
/// by a signal is the launcher's, too.
fn signals(cx: &TestContext) {
    let meeting = cx.meeting("meeting");
    // The shell's parent is the program itself, not the launcher.
    let waits =
        format!("echo $PPID > '{}'; {}", cx.path("program").display(), meeting.attend("here"));
    cx.write("app/targets.yaml", &targets(&[cli_target("default", &waits)]));
    cx.write("app/suite.yaml", &cases(&["a"]));
    for (signal, code) in [("INT", 130), ("TERM", 130), ("HUP", 130), ("KILL", 137)] {
        let mut eval = agentv(cx);
        eval.args(["eval", "suite.yaml"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = eval.spawn().unwrap();
        assert_eq!(meeting.next(), "here");
        let launcher = child.id().to_string();
        let whom = if signal == "KILL" { cx.read("program") } else { launcher };
        let mut kill = command(cx, "sh", "");
        kill.args(["-c", &format!("kill -{signal} {}", whom.trim())]);
        good(kill);
        let (ended_with, stdout, stderr) = ended(&child.wait_with_output().unwrap());
        assert_eq!(ended_with, code, "{signal}\n{stdout}{stderr}");
    }
}

#[test]
fn without_its_platform_it_says_what_to_do() {
    let cx = context();
    install(&cx, "app", &pack(&cx, &[]));
    let (code, _, stderr) = ended(&agentv(&cx).arg("--version").output().unwrap());
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("install without `--omit=optional`"), "{stderr}");
}

/// The versions that belong together are the same everywhere.
#[test]
fn packages_have_the_version_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for package in ["agentv", "core", "eval"] {
        let text =
            std::fs::read_to_string(root.join("packages").join(package).join("package.json"));
        let description: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        assert_eq!(description["version"], env!("CARGO_PKG_VERSION"), "{package}");
    }
}
