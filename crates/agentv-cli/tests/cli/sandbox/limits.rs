//! How much a program may use: whoever uses more is ended, with all that it started, and the record says why.

use super::{confined, failed, judged, judged_with};
use agentv_test_support::is_alive;
use serde_json::json;

#[test]
fn a_judge_that_forks_without_end_is_ended() {
    let Some(cx) = confined() else { return };
    // Each child would stay for minutes; all are gone when the judge is.
    let forks = r"
import os, time
for _ in range(10_000):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
time.sleep(600)
";
    let result = judged(&cx, &json!(["python3", "-c", forks]), &json!({"processes": 50}));
    failed(
        &result,
        "the script was ended by its sandbox: it had more than 50 processes (`processes`)",
    );
    // The usual limit holds, too, against children that leave their parent and its group.
    let orphans = "for i in $(seq 10000); do (setsid sleep 600 &); done; sleep 600";
    failed(&judged(&cx, &json!(orphans), &json!(true)), "it had more than 256 processes");
}

#[test]
fn a_judge_that_eats_memory_is_refused_or_ended() {
    let Some(cx) = confined() else { return };
    let sandbox = json!({"memory_mb": 256});
    let at_once = json!(["python3", "-c", "b = bytearray(8 << 30)"]);
    failed(
        &judged(&cx, &at_once, &sandbox),
        "MemoryError; it ran in a sandbox (fs: read_only, network: proxy, memory_mb: 256)",
    );
    // No process of this tree has more than its limit, but all of them together do.
    let together = r"
import os, time
for _ in range(8):
    if os.fork() == 0:
        b = b'x' * (100 << 20)
        time.sleep(600)
time.sleep(600)
";
    let words =
        "the script was ended by its sandbox: it used more than 256 MB of memory (`memory_mb`)";
    failed(&judged(&cx, &json!(["python3", "-c", together]), &sandbox), words);
    // Shared memory is not among what one process may have of its own.
    let shared = r"
import mmap
m = mmap.mmap(-1, 8 << 30)
for at in range(0, 8 << 30, 4096): m[at] = 1
";
    failed(&judged(&cx, &json!(["python3", "-c", shared]), &sandbox), words);
    let file = "head -c 8G /dev/zero > $TMPDIR/big && echo '{\"score\": 1}'";
    failed(&judged(&cx, &json!(file), &sandbox), "it ran in a sandbox");
}

#[test]
fn pages_that_processes_share_count_once() {
    let Some(cx) = confined() else { return };
    let shared = r#"
import os, time
b = b'x' * (120 << 20)
children = []
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        time.sleep(0.5)
        os._exit(0)
    children.append(pid)
for pid in children: os.waitpid(pid, 0)
print('{"score": 1}')
"#;
    let result = judged(&cx, &json!(["python3", "-c", shared]), &json!({"memory_mb": 300}));
    assert_eq!(result["score"], 1, "{result}");
}

#[test]
fn engines_that_reserve_much_and_use_little_are_fine() {
    let Some(cx) = confined() else { return };
    let script = "const a = []; for (let i = 0; i < 20; i++) a.push(Buffer.alloc(1 << 20, 1)); console.log('{\"score\": 1}')";
    let result = judged(&cx, &json!(["node", "-e", script]), &json!({"memory_mb": 256}));
    assert_eq!(result["score"], 1, "{result}");
}

#[test]
fn a_judge_that_stays_too_long_is_ended_with_what_it_left() {
    let Some(cx) = confined() else { return };
    let script = "echo $$ > pid; (setsid sleep 600 & echo $! > child; wait) & sleep 600";
    cx.write("work/x", "");
    let sandbox = json!({"fs": "workspace", "seconds": 1});
    let result = judged_with(&cx, json!({"script": script, "cwd": "work", "sandbox": sandbox}));
    failed(
        &result,
        "the script was ended by its sandbox: it ran for more than 1 seconds (`seconds`)",
    );
    assert_eq!(result["error"]["kind"], "timeout");
    assert_eq!(result["sandbox"]["limits"]["seconds"], 1.0);
    for who in ["work/pid", "work/child"] {
        assert!(!is_alive(&cx.read(who)), "{who} is alive");
    }
}

#[test]
fn a_judge_that_computes_too_much_is_ended() {
    let Some(cx) = confined() else { return };
    let words = "it used more than 1 seconds of processor time (`cpu_seconds`)";
    let sandbox = json!({"cpu_seconds": 1});
    failed(&judged(&cx, &json!("while :; do :; done"), &sandbox), words);
    // Time is that of the tree: each of these is short.
    let parts = "while :; do timeout 0.2 sh -c 'while :; do :; done'; done";
    failed(&judged(&cx, &json!(parts), &sandbox), words);
}

#[test]
fn root_does_not_take_its_limits_off() {
    let Some(cx) = confined() else { return };
    let script = r#"
import resource, sys
try:
    resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))
except (ValueError, PermissionError) as error:
    sys.exit(f'refused: {error}')
print('{"score": 1}')
"#;
    failed(&judged(&cx, &json!(["python3", "-c", script]), &json!(true)), "refused: ");
}
