//! What a judge must not be able to do. Each script would pass without its sandbox.

use super::{confined, failed, judged, judged_with, message, tried};
use agentv_test_support::{TestContext, mock_target, targets};
use serde_json::{Value, json};
use std::net::TcpListener;

const PASS: &str = "echo '{\"score\": 1}'";

/// A script for the shell that passes if what it tries works.
fn if_works(attempt: &str) -> Value {
    json!(format!("{attempt} && {PASS}"))
}

/// The script passes without a sandbox, and with one it fails by these words.
#[track_caller]
fn refused(cx: &TestContext, script: &Value, sandbox: &Value, words: &str) {
    let free = judged(cx, script, &json!(false));
    assert_eq!(free["score"], 1, "the script does not work at all: {free}");
    assert_eq!(free.get("sandbox"), None);
    failed(&judged(cx, script, sandbox), words);
}

/// A judge that tries all of these in Python. Its details have the error number of each, or 0.
fn all_tried(before: &str, attempts: &[&str]) -> Value {
    let script = format!(
        "import ctypes, json, os, socket\n{before}\ndetails = {{}}\nfor attempt in {attempts}:\n    \
         try:\n        exec(attempt)\n        details[attempt] = 0\n    \
         except OSError as error:\n        details[attempt] = error.errno\n\
         print(json.dumps({{'score': 1, 'details': details}}))\n",
        attempts = json!(attempts)
    );
    json!(["python3", "-c", script])
}

#[test]
fn a_judge_does_not_read_the_home() {
    let Some(cx) = confined() else { return };
    cx.write(".home/.ssh/id_ed25519", "planted");
    cx.write(".home/.aws/credentials", "planted");
    for file in ["~/.ssh/id_ed25519", "\"$HOME/.aws/credentials\"", ".home/.ssh/id_ed25519"] {
        refused(&cx, &if_works(&format!("cat {file} >&2")), &json!(true), "Permission denied");
    }
    let opened = json!({ "read": ["~/.aws"] });
    refused(&cx, &if_works("ls ~/.ssh >&2"), &opened, "Permission denied");
    assert_eq!(judged(&cx, &if_works("ls ~/.aws >&2"), &opened)["score"], 1);
}

#[test]
fn a_judge_does_not_read_keys_beside_the_eval_file() {
    let Some(cx) = confined() else { return };
    cx.write(".env", "OPENAI_API_KEY=planted");
    cx.write("notes.txt", "open");
    refused(&cx, &if_works("cat .env >&2"), &json!(true), "Permission denied");
    let beside = judged(&cx, &if_works("cat notes.txt suite.yaml >&2"), &json!(true));
    assert_eq!(beside["score"], 1, "{beside}");
}

#[test]
fn a_judge_does_not_see_the_environment_of_others() {
    let Some(cx) = confined() else { return };
    refused(
        &cx,
        &if_works("cat /proc/$PPID/environ > /dev/null"),
        &json!(true),
        "Permission denied",
    );
    // Nor does root read what only root may read.
    let shadow = judged(&cx, &if_works("cat /etc/shadow > /dev/null"), &json!(true));
    failed(&shadow, "Permission denied");
}

#[test]
fn a_judge_writes_only_where_it_may() {
    let Some(cx) = confined() else { return };
    let outside = cx.path(".home/outside").display().to_string();
    cx.write("long.txt", "whole");
    for attempt in
        [&*format!("echo x > {outside}"), "echo x > here", "mkdir new-$$", "truncate -s 1 long.txt"]
    {
        refused(&cx, &if_works(attempt), &json!(true), "Permission denied");
    }
    let removed = judged(&cx, &if_works("rm here"), &json!(true));
    failed(&removed, "Permission denied");
    let own = judged(&cx, &if_works("echo x > $TMPDIR/x && cat $TMPDIR/x >&2"), &json!(true));
    assert_eq!(own["score"], 1, "{own}");
    // The home is below this directory, which therefore cannot be opened for writing.
    let wide = judged(&cx, &if_works("true"), &json!({"fs": "workspace"}));
    assert!(message(&wide).contains("the home directory or above it"), "{wide}");
}

#[test]
fn a_workspace_judge_writes_in_its_own_directory() {
    let Some(cx) = confined() else { return };
    cx.write("work/seen.txt", "");
    let script = if_works("echo x > made && rm seen.txt");
    let own =
        judged_with(&cx, json!({"script": script, "cwd": "work", "sandbox": {"fs": "workspace"}}));
    assert_eq!(own["score"], 1, "{own}");
    assert!(cx.path("work/made").exists() && !cx.path("work/seen.txt").exists());
    let script = if_works("echo x > ../made");
    let beside =
        judged_with(&cx, json!({"script": script, "cwd": "work", "sandbox": {"fs": "workspace"}}));
    failed(&beside, "Permission denied");
    let script = if_works("echo x > ../out/made");
    cx.write("out/seen.txt", "");
    let opened = json!({"fs": "workspace", "write": ["out"]});
    let opened = judged_with(&cx, json!({"script": script, "cwd": "work", "sandbox": opened}));
    assert_eq!(opened["score"], 1, "{opened}");
}

#[test]
fn a_judge_opens_no_sockets() {
    let Some(cx) = confined() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let tcp = format!("socket.create_connection(('127.0.0.1', {port}))");
    let udp = "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))";
    let abstract_unix = "socket.socket(socket.AF_UNIX).bind('\\0agentv-test-' + str(os.getpid()))";
    for attempt in [&*tcp, udp, abstract_unix] {
        refused(
            &cx,
            &tried(attempt),
            &json!({"network": "none"}),
            "refused: [Errno 1] Operation not",
        );
    }
    let others = [
        udp,
        abstract_unix,
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM).listen()",
    ];
    for network in ["none", "proxy"] {
        let result = judged(&cx, &all_tried("", &others), &json!({ "network": network }));
        for attempt in others {
            assert_eq!(result["details"][attempt], 1, "{attempt}: {result}");
        }
    }
    // A pair of streams reaches no other process; interpreters talk to their children by it.
    let pair = judged(&cx, &tried("socket.socketpair()"), &json!({"network": "none"}));
    assert_eq!(pair["score"], 1, "{pair}");
}

#[test]
fn only_listed_ports_are_reached() {
    let Some(cx) = confined() else { return };
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [open, closed] = listeners.each_ref().map(|one| one.local_addr().unwrap().port());
    let connect = |port: u16| tried(&format!("socket.create_connection(('127.0.0.1', {port}))"));
    let sandbox = json!({ "network": [open] });
    assert_eq!(judged(&cx, &connect(open), &sandbox)["score"], 1);
    failed(&judged(&cx, &connect(closed), &sandbox), "refused: [Errno 13]");
    // The first packet of a connection may carry data, which takes another way through the kernel.
    let fast = tried(&format!(
        "one = socket.socket(); one.sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', {closed}))"
    ));
    failed(&judged(&cx, &fast, &sandbox), "refused: [Errno 1]");
    let multipath = tried("socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)");
    failed(&judged(&cx, &multipath, &sandbox), "refused: [Errno 1]");
    let udp = tried("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)");
    failed(&judged(&cx, &udp, &sandbox), "refused: [Errno 1]");
    assert_eq!(judged(&cx, &udp, &json!({ "network": [53] }))["score"], 1);
}

#[test]
fn a_judge_that_only_calls_the_proxy_passes() {
    let Some(cx) = confined() else { return };
    cx.write("targets.yaml", &targets(&[mock_target("default", "from the proxy")]));
    let python = r#"
import json, os, urllib.request
url, token = os.environ["AGENTV_TARGET_PROXY_URL"], os.environ["AGENTV_TARGET_PROXY_TOKEN"]
request = urllib.request.Request(url + "/invoke", b'{"question": "?"}', {"Authorization": "Bearer " + token})
print(json.dumps({"score": 1, "reasoning": json.load(urllib.request.urlopen(request))["rawText"]}))
"#;
    let node = r#"
const url = process.env.AGENTV_TARGET_PROXY_URL + "/invoke";
const headers = { Authorization: "Bearer " + process.env.AGENTV_TARGET_PROXY_TOKEN };
fetch(url, { method: "POST", body: '{"question": "?"}', headers })
  .then(reply => reply.json()).then(reply => console.log(JSON.stringify({ score: 1, reasoning: reply.rawText })));
"#;
    cx.write("judge.py", python);
    cx.write("judge.mjs", node);
    for script in [["python3", "judge.py"], ["node", "judge.mjs"]] {
        let sandbox = json!({"fs": "read_only", "network": "proxy"});
        let result =
            judged_with(&cx, json!({"script": script, "target": true, "sandbox": sandbox}));
        assert_eq!(result["reasoning"], "from the proxy", "{result}");
        assert_eq!(result["sandbox"]["network"], "proxy");
        let held = json!(["files", "tcp_ports", "signals", "system_calls", "limits"]);
        assert_eq!(result["sandbox"]["held"], held);
        assert_eq!(result["sandbox"].get("missing"), None);
        let none = json!({"network": "none"});
        let cut_off = judged_with(&cx, json!({"script": script, "target": true, "sandbox": none}));
        failed(&cut_off, "it ran in a sandbox (fs: read_only, network: none");
    }
}

#[test]
fn a_judge_makes_no_calls_that_reach_around_the_sandbox() {
    let Some(cx) = confined() else { return };
    let call = "libc = ctypes.CDLL(None, use_errno=True)\ndef call(*args):\n    if libc.syscall(*args) < 0: raise OSError(ctypes.get_errno(), 'refused')\n";
    // ptrace, mount, umount2, unshare, keyctl, io_uring_setup, bpf, chroot, setns, and clone with a namespace.
    let attempts = if cfg!(target_arch = "x86_64") {
        [
            "call(101, 0, 0, 0, 0)",
            "call(165, b'x', b'/mnt', b'tmpfs', 0, 0)",
            "call(166, b'/mnt', 0)",
            "call(272, 0x10000000)",
            "call(250, 0, -3, 0)",
            "call(425, 1, 0)",
            "call(321, 0, 0, 0)",
            "call(161, b'/')",
            "call(308, 0, 0)",
            "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
        ]
    } else {
        [
            "call(117, 0, 0, 0, 0)",
            "call(40, b'x', b'/mnt', b'tmpfs', 0, 0)",
            "call(39, b'/mnt', 0)",
            "call(97, 0x10000000)",
            "call(219, 0, -3, 0)",
            "call(425, 1, 0)",
            "call(280, 0, 0, 0)",
            "call(51, b'/')",
            "call(268, 0, 0)",
            "call(220, 0x10000000 | 17, 0, 0, 0, 0)",
        ]
    };
    let result = judged(&cx, &all_tried(call, &attempts), &json!(true));
    for attempt in attempts {
        assert_eq!(result["details"][attempt], 1, "{attempt}: {result}");
    }
    for attempt in &attempts[..2] {
        let result = judged(&cx, &tried(&format!("{call}{attempt}")), &json!(true));
        failed(&result, "refused: [Errno 1] refused; it ran in a sandbox");
    }
    // Threads and children are made as ever, without the newer call that no filter can look into.
    let usual = "import threading, subprocess\nthreading.Thread(target=len, args=('x',)).start()\nsubprocess.run(['true'], check=True)";
    assert_eq!(judged(&cx, &tried(usual), &json!(true))["score"], 1);
}

#[test]
fn processes_outside_get_no_signals() {
    let Some(cx) = confined() else { return };
    let signal = tried("os.kill(os.getppid(), 0)");
    refused(&cx, &signal, &json!(true), "refused: [Errno 1]");
}
