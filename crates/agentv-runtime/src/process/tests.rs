//! The promises of the one door, against real children.

use super::*;
use crate::config::Env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Long enough for a shell to get going on a busy machine.
const A_MOMENT: Duration = Duration::from_millis(800);

fn processes() -> Arc<Processes> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    become_subreaper().unwrap();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Processes::new(format!("test-{}-{number}", std::process::id()))
}

fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn sh(script: impl Into<OsString>, dir: &TempDir) -> Command {
    Command {
        argv: Command::shell(script),
        cwd: dir.path().to_owned(),
        env: inherited(),
        stdin: Stdin::Nothing,
        time_limit: None,
        output_cap: 1 << 20,
        gentle: Gentle::Terminate,
        sandbox: None,
    }
}

fn inherited() -> ChildEnvironment {
    EnvironmentRule::of_program(&Env::default(), false, &[]).environment([])
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

async fn run(command: Command) -> Result<Output, RunError> {
    processes().run(command, &CancellationToken::new()).await
}

async fn text_of(script: &str) -> String {
    let output = run(sh(script, &dir())).await.unwrap();
    output.stdout.text_lossy().into_owned()
}

#[track_caller]
fn timed_out(outcome: Result<Output, RunError>) -> Output {
    match outcome {
        Err(RunError::TimedOut { output, .. }) => *output,
        other => panic!("not timed out: {other:?}"),
    }
}

/// The pids that a script wrote to `pids`.
fn pids(dir: &TempDir) -> Vec<i32> {
    let text = std::fs::read_to_string(dir.path().join("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

async fn until_pids(dir: &TempDir, count: usize) -> Vec<i32> {
    loop {
        let pids = pids(dir);
        if pids.len() >= count {
            return pids;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[track_caller]
fn check_gone(pids: &[i32]) {
    assert!(!pids.is_empty(), "nothing was started");
    let left: Vec<&i32> = pids.iter().filter(|pid| is_there(**pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids:?} are left");
}

/// Zombies count: they are to be reaped as well.
fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn output_and_exit_code_come_back() {
    let output = run(sh("echo out; echo err >&2; exit 3", &dir())).await.unwrap();
    assert_eq!(output.ended, ProgramExit::Code(3));
    assert_eq!(output.stdout.bytes_if_whole(), Some(&b"out\n"[..]));
    assert_eq!(output.stderr.bytes_if_whole(), Some(&b"err\n"[..]));
}

#[tokio::test]
async fn a_signal_is_no_exit_code() {
    let output = run(sh("kill -9 $$", &dir())).await.unwrap();
    assert_eq!(output.ended, ProgramExit::Signal(9));
}

#[tokio::test]
async fn output_may_be_any_bytes() {
    let output = run(sh(r"printf '\377\000a'", &dir())).await.unwrap();
    assert_eq!(output.stdout.bytes_if_whole(), Some(&b"\xff\0a"[..]));
}

#[tokio::test]
async fn stdin_that_is_never_read_does_not_hang() {
    let dir = dir();
    let stdin = Stdin::Bytes(vec![b'x'; 10_000_000]);
    let output = run(Command { stdin, ..sh("echo done", &dir) }).await.unwrap();
    assert_eq!(output.stdout.text_lossy(), "done\n");
}

#[tokio::test]
async fn a_program_may_close_its_pipes_long_before_it_ends() {
    let output = run(sh("echo told; exec >&- 2>&-; sleep 0.1; exit 3", &dir())).await.unwrap();
    assert_eq!((output.ended, &*output.stdout.text_lossy()), (ProgramExit::Code(3), "told\n"));
}

#[tokio::test]
async fn stdin_that_is_closed_early_is_no_error() {
    let dir = dir();
    let stdin = Stdin::Bytes(vec![b'x'; 10_000_000]);
    let script = "head -c 5; exec <&-; echo; echo done";
    let output = run(Command { stdin, ..sh(script, &dir) }).await.unwrap();
    assert_eq!(
        (output.ended, &*output.stdout.text_lossy()),
        (ProgramExit::Code(0), "xxxxx\ndone\n")
    );
}

#[tokio::test]
async fn a_child_that_prints_before_it_reads_cannot_block() {
    let dir = dir();
    let command = Command {
        stdin: Stdin::Bytes(vec![b'x'; 10_000_000]),
        output_cap: 20_000_000,
        ..sh("head -c 2000000 /dev/zero; head -c 2000000 /dev/zero >&2; cat", &dir)
    };
    let output = run(command).await.unwrap();
    assert_eq!(output.stdout.bytes_if_whole().unwrap().len(), 12_000_000);
    assert_eq!(output.stderr.bytes_if_whole().unwrap().len(), 2_000_000);
}

#[tokio::test]
async fn stdin_goes_on_after_the_outputs_are_closed() {
    let dir = dir();
    let stdin = Stdin::Bytes(vec![b'x'; 1_000_000]);
    let script = "exec >/dev/null 2>&1; cat > copy";
    run(Command { stdin, ..sh(script, &dir) }).await.unwrap();
    assert_eq!(std::fs::metadata(dir.path().join("copy")).unwrap().len(), 1_000_000);
}

#[tokio::test]
async fn output_over_the_cap_is_counted_and_does_not_block() {
    let dir = dir();
    let command = Command { output_cap: 1000, ..sh("head -c 50000000 /dev/zero; echo end", &dir) };
    let output = run(command).await.unwrap();
    assert_eq!(output.ended, ProgramExit::Code(0));
    assert_eq!(output.stdout.dropped(), 50_000_004 - 1000);
    assert_eq!(output.stdout.tail(3), "end");
}

#[tokio::test]
async fn a_child_that_prints_for_ever_is_timed_out() {
    let dir = dir();
    let time_limit = Some(A_MOMENT);
    let output = timed_out(run(Command { time_limit, ..sh("yes >&2", &dir) }).await);
    assert!(output.stderr.dropped() > 0);
    assert_eq!(output.ended, ProgramExit::Signal(15));
}

#[tokio::test]
async fn a_child_that_ignores_the_gentle_signal_is_killed() {
    let dir = dir();
    let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let output = timed_out(run(Command { time_limit: Some(A_MOMENT), ..sh(script, &dir) }).await);
    assert_eq!((output.ended, &*output.stdout.text_lossy()), (ProgramExit::Signal(9), "ready\n"));
}

#[tokio::test]
async fn the_gentle_signal_is_the_one_asked_for() {
    for (name, gentle) in [("TERM", Gentle::Terminate), ("INT", Gentle::Interrupt)] {
        let dir = dir();
        let script = format!("trap 'echo bye; exit 7' {name}; while :; do sleep 0.05; done");
        let command = Command { gentle, time_limit: Some(A_MOMENT), ..sh(script, &dir) };
        let output = timed_out(run(command).await);
        assert_eq!((output.ended, &*output.stdout.text_lossy()), (ProgramExit::Code(7), "bye\n"));
    }
}

#[tokio::test]
async fn without_gentleness_it_is_killed_at_once() {
    let dir = dir();
    let script = "trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done";
    let command = Command { gentle: Gentle::Kill, time_limit: Some(A_MOMENT), ..sh(script, &dir) };
    assert_eq!(timed_out(run(command).await).ended, ProgramExit::Signal(9));
}

#[tokio::test]
async fn an_agent_under_a_shell_has_the_grace_time() {
    let dir = dir();
    // The outer shell dies of the signal at once; the inner one has to clean up first.
    let script = r#"sh -c 'trap "sleep 0.3; echo clean > mark; exit 0" TERM
        echo $$ > pids; while :; do sleep 0.05; done'; true"#;
    timed_out(run(Command { time_limit: Some(A_MOMENT), ..sh(script, &dir) }).await);
    assert_eq!(std::fs::read_to_string(dir.path().join("mark")).unwrap(), "clean\n");
    check_gone(&pids(&dir));
}

#[tokio::test]
async fn a_session_of_its_own_does_not_save_a_grandchild_from_a_time_out() {
    let dir = dir();
    let script = "setsid sleep 300 & echo $! >> pids; sleep 300 & echo $! >> pids; wait";
    timed_out(run(Command { time_limit: Some(A_MOMENT), ..sh(script, &dir) }).await);
    assert_eq!(pids(&dir).len(), 2);
    check_gone(&pids(&dir));
}

/// A daemon's tricks: two forks, a session of its own, no environment.
const DAEMON: &str = "(env -i setsid sh -c 'echo $$ >> pids; exec sleep 300' >/dev/null 2>&1 &)";

#[tokio::test]
async fn cancel_ends_the_whole_tree() {
    let dir = dir();
    let (processes, cancel) = (processes(), CancellationToken::new());
    let script = "sh -c 'setsid sleep 300 & echo $! >> pids; wait' &
        sh -c 'setsid env -i sleep 300 & echo $! >> pids; wait' & echo $$ >> pids; wait";
    let (outcome, pids) = tokio::join!(processes.run(sh(script, &dir), &cancel), async {
        let pids = until_pids(&dir, 3).await;
        cancel.cancel();
        pids
    });
    assert!(matches!(outcome, Err(RunError::Cancelled)));
    check_gone(&pids);
}

#[tokio::test]
async fn nothing_is_started_after_a_cancel() {
    let (dir, cancel) = (dir(), CancellationToken::new());
    cancel.cancel();
    let outcome = processes().run(sh("touch mark", &dir), &cancel).await;
    assert!(matches!(outcome, Err(RunError::Cancelled)));
    assert!(!dir.path().join("mark").exists());
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_alive() {
    let dir = dir();
    let (processes, cancel) = (processes(), CancellationToken::new());
    let script = "trap '' TERM; setsid sleep 300 & echo $! >> pids; echo $$ >> pids; wait";
    let call = processes.run(sh(script, &dir), &cancel);
    let pids = tokio::select! {
        outcome = call => panic!("ended: {outcome:?}"),
        pids = until_pids(&dir, 2) => pids,
    };
    let lives = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(!pids.iter().any(lives), "{pids:?}");
    // The zombies are taken away by whoever comes next.
    while pids.iter().any(|pid| is_there(*pid)) {
        processes.run(sh("true", &dir), &cancel).await.unwrap();
    }
}

#[tokio::test]
async fn a_tree_that_forks_while_it_is_killed_is_ended() {
    let dir = dir();
    let script = "trap '' TERM; while :; do setsid sh -c '(sleep 300 & echo $! >> pids) & sleep 300' & \
        echo $! >> pids; sleep 0.02; done";
    timed_out(run(Command { time_limit: Some(A_MOMENT), ..sh(script, &dir) }).await);
    check_gone(&pids(&dir));
}

#[tokio::test]
async fn a_background_child_does_not_outlive_a_normal_end() {
    for start in ["nohup sleep 300", "setsid sleep 300", "setsid setsid nohup sleep 300"] {
        let dir = dir();
        let script = format!("{start} >/dev/null 2>&1 & echo $! >> pids; echo done");
        let output = run(sh(script, &dir)).await.unwrap();
        assert_eq!((output.ended, &*output.stdout.text_lossy()), (ProgramExit::Code(0), "done\n"));
        check_gone(&pids(&dir));
    }
}

#[tokio::test]
async fn descendants_of_an_orphan_go_with_it() {
    let dir = dir();
    let script = "setsid sh -c 'setsid sleep 300 & echo $! >> pids; echo $$ >> pids; wait' \
        >/dev/null 2>&1 & while [ $(wc -l < pids || echo 0) -lt 2 ]; do sleep 0.01; done 2>/dev/null";
    run(sh(script, &dir)).await.unwrap();
    assert_eq!(pids(&dir).len(), 2);
    check_gone(&pids(&dir));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_application_that_was_handed_over_to_stays() {
    become_subreaper().unwrap();
    let (dir, processes) = (dir(), processes());
    // As `code` starts VS Code: in a session of its own.
    let script = "setsid sh -c 'echo $$ > pids; exec sleep 300' >/dev/null 2>&1 & \
        while ! [ -s pids ]; do sleep 0.01; done; echo opened";
    let output = processes.hand_over(sh(script, &dir), &CancellationToken::new()).await.unwrap();
    assert_eq!(output.stdout.text_lossy(), "opened\n");
    processes.run(sh("true", &dir), &CancellationToken::new()).await.unwrap();
    processes.end_leftovers();
    let application = pids(&dir);
    assert!(is_there(application[0]));
    run(sh(format!("kill -9 {}", application[0]), &dir)).await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_hands_over_for_too_long_is_ended_with_all_that_it_started() {
    let dir = dir();
    let script = "setsid sh -c 'echo $$ > pids; exec sleep 300' >/dev/null 2>&1 & wait";
    let (processes, cancel) = (processes(), CancellationToken::new());
    let (ended, pids) = tokio::join!(processes.hand_over(sh(script, &dir), &cancel), async {
        let pids = until_pids(&dir, 1).await;
        cancel.cancel();
        pids
    });
    assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
    check_gone(&pids);
}

/// The pids of what carries this call's or run's `NAME=value`.
#[cfg(target_os = "linux")]
fn carriers(entry: &str) -> Vec<i32> {
    let all = procfs::all().into_iter();
    all.filter(|process| process.environment().has(entry.as_bytes())).map(|it| it.pid).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphans_that_fork_and_exec_while_they_are_looked_for_are_ended() {
    become_subreaper().unwrap();
    let run_id = format!("busy-{}", std::process::id());
    let (processes, dir) = (Processes::new(run_id.clone()), dir());
    let script = "setsid setsid setsid nohup env sleep 300 >/dev/null 2>&1 &";
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (processes, command) = (Arc::clone(&processes), sh(script, &dir));
        calls.spawn(async move {
            for _ in 0..8 {
                processes.run(command.clone(), &CancellationToken::new()).await.unwrap();
            }
        });
    }
    calls.join_all().await;
    let left = carriers(&format!("AGENTV_RUN_ID={run_id}"));
    processes.end_leftovers();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipes_does_not_hold_us() {
    let dir = dir();
    let output = run(sh("sleep 300 & echo $! >> pids; echo done", &dir)).await.unwrap();
    assert_eq!(output.stdout.text_lossy(), "done\n");
    assert!(output.elapsed < Duration::from_mins(1));
    check_gone(&pids(&dir));
}

#[tokio::test]
async fn what_a_background_child_prints_at_once_is_kept() {
    assert_eq!(text_of("echo now; (echo late) &").await, "now\nlate\n");
}

#[tokio::test]
async fn orphans_that_hide_end_with_the_run() {
    let (dir, processes) = (dir(), processes());
    let other = self::processes();
    // Without the mark of its call, too: `dash` and `bash` have different names for that limit.
    let unmark = "ulimit -S -w unlimited 2> /dev/null || ulimit -S -x unlimited";
    let script = format!("{unmark}; {DAEMON}; while ! [ -s pids ]; do sleep 0.01; done");
    processes.run(sh(script, &dir), &CancellationToken::new()).await.unwrap();
    let hidden = pids(&dir);
    assert!(is_there(hidden[0]), "it was found without its id; then this test tests nothing");

    let (theirs, cancel) = (self::dir(), CancellationToken::new());
    let script = "echo $$ > pids; exec sleep 300";
    let (_, ()) = tokio::join!(other.run(sh(script, &theirs), &cancel), async {
        let other_pids = until_pids(&theirs, 1).await;
        processes.end_leftovers();
        check_gone(&hidden);
        assert!(is_there(other_pids[0]), "another run's child was ended");
        cancel.cancel();
    });
}

#[tokio::test]
async fn leftovers_of_a_killed_run_are_found_by_its_id() {
    let (dir, run_id) = (dir(), format!("killed-{}", std::process::id()));
    let script = format!(
        "AGENTV_RUN_ID={run_id} setsid sleep 300 >/dev/null 2>&1 & echo $! > pids; exec sleep 300"
    );
    let (processes, cancel) = (processes(), CancellationToken::new());
    let (_, ()) = tokio::join!(processes.run(sh(script, &dir), &cancel), async {
        let pids = until_pids(&dir, 1).await;
        // The shell may not have become `setsid` yet; its environment is set by then.
        while !std::fs::read_to_string(format!("/proc/{}/environ", pids[0]))
            .unwrap()
            .contains(&run_id)
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Processes::new(run_id.clone()).end_run();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pids[0])).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        cancel.cancel();
    });
}

#[tokio::test]
async fn the_environment_is_inherited_with_changes() {
    let dir = dir();
    let script = r#"echo "$A|${B-none}|$HOME|${AGENTV_RUN_ID%%-*}|${AGENTV_CALL_ID##*.}""#;
    let command = Command {
        env: inherited()
            .without(&["B", "HOME", "PATH"])
            .with([pair("A", "one"), pair("HOME", "/h")]),
        ..sh(script, &dir)
    };
    let processes = processes();
    for call in 0..2 {
        let output = processes.run(command.clone(), &CancellationToken::new()).await.unwrap();
        assert_eq!(output.stdout.text_lossy(), format!("one|none|/h|test|{call}\n"));
    }
}

#[tokio::test]
async fn a_clean_environment_has_only_what_is_named() {
    let env = Env::new([pair("PATH", "/usr/bin:/bin"), pair("A", "one"), pair("B", "two")]);
    let env = ChildEnvironment::only(&env, &["PATH", "B", "C"]).with([pair("D", "four")]);
    let output = run(Command { env, ..sh("env -u _ | sort", &dir()) }).await.unwrap();
    let names: Vec<String> = output.stdout.text_lossy().lines().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().filter_map(|line| line.split('=').next()).collect();
    assert_eq!(names, ["AGENTV_CALL_ID", "AGENTV_RUN_ID", "B", "D", "PATH", "PWD"]);
}

#[tokio::test]
async fn a_program_is_looked_up_in_the_path_that_it_gets() {
    use std::os::unix::fs::PermissionsExt;
    let dir = dir();
    let tool = dir.path().join("agentv-test-tool");
    std::fs::write(&tool, "#!/bin/sh\necho mine $#\n").unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = Command {
        argv: vec!["agentv-test-tool".into(), "a b".into()],
        env: inherited().with([pair("PATH", &format!("/nowhere:{}", dir.path().display()))]),
        ..sh("", &dir)
    };
    assert_eq!(run(command).await.unwrap().stdout.text_lossy(), "mine 1\n");
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let dir = dir();
    let why = async |command: Command| match run(command).await {
        Err(error @ RunError::Spawn { .. }) => {
            let source = std::error::Error::source(&error).unwrap().to_string();
            format!("{error}: {source}")
        }
        other => panic!("{other:?}"),
    };
    let missing = Command { argv: vec!["agentv-no-such-program".into()], ..sh("", &dir) };
    let text = why(missing).await;
    assert!(text.starts_with("cannot run `agentv-no-such-program`: No such file"), "{text}");
    let nowhere = Command { cwd: "/agentv/nowhere".into(), ..sh("true", &dir) };
    let text = why(nowhere).await;
    assert!(text.ends_with("the working directory `/agentv/nowhere` does not exist"), "{text}");
    let nothing = Command { argv: Vec::new(), ..sh("", &dir) };
    assert!(why(nothing).await.ends_with("no program to run"));
}

#[test]
fn values_of_variables_are_not_shown() {
    let command = Command {
        env: inherited().with([pair("KEY", "hidden")]),
        stdin: Stdin::Bytes(b"hidden".to_vec()),
        ..sh("true", &dir())
    };
    let shown = format!("{command:?}");
    assert!(shown.contains("KEY") && !shown.contains("hidden"), "{shown}");
}
