"""Runs one program beside a stub of the model APIs, with nothing else to talk to.

  unshare -n -p -m -f --mount-proc --kill-child python3 -I sandbox.py DIRECTORY PROGRAM [ARGUMENT]...

It is the first process of its pid namespace, and the namespace's network is loopback only. In DIRECTORY it reads
`scenario.json` (what the stub says) and `codex.toml` (more lines for codex's configuration, if there), and writes
`requests.jsonl` (what the stub was asked) and `left.json` (the command lines of processes that are still alive when
PROGRAM has ended). The exit code is PROGRAM's. Python's standard library only.
"""
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import stub  # noqa: E402

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def main():
    directory, program = sys.argv[1], sys.argv[2:]
    bring_up_loopback()
    url = start_stub(directory)
    home = os.path.join(directory, ".home")
    write_codex_settings(directory, home, url)
    child = subprocess.Popen(program, env=environment(directory, home, url))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: os.kill(child.pid, number))
    status = wait_for(child.pid)
    with open(os.path.join(directory, "left.json"), "w", encoding="utf-8") as file:
        json.dump(alive(), file)
    code = os.waitstatus_to_exitcode(status)
    sys.stdout.flush()
    # The stub's threads are not waited for.
    os._exit(code if code >= 0 else 128 - code)


def bring_up_loopback():
    """`ip link set lo up`, without iproute2."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def start_stub(directory):
    with open(os.path.join(directory, "scenario.json"), encoding="utf-8") as file:
        scenario = json.load(file)
    stub.Handler.state = stub.State(scenario, os.path.join(directory, "requests.jsonl"))
    server = stub.Server(("127.0.0.1", scenario["port"]), stub.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d" % server.server_address[1]


def write_codex_settings(directory, home, url):
    os.makedirs(os.path.join(home, ".codex"), exist_ok=True)
    more = ""
    if os.path.exists(os.path.join(directory, "codex.toml")):
        with open(os.path.join(directory, "codex.toml"), encoding="utf-8") as file:
            more = file.read()
    with open(os.path.join(home, ".codex", "config.toml"), "w", encoding="utf-8") as file:
        file.write(
            'model = "stub-model"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "Stub"\n'
            'base_url = "%s/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n%s' % (url, more)
        )


def environment(directory, home, url):
    """All that the clients are told. Whatever the caller has set comes along, for what a test adds."""
    return {
        **os.environ,
        "HOME": home,
        "TMPDIR": os.path.join(directory, ".tmp"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy-anthropic-key",
        "OPENAI_API_KEY": "dummy-openai-key",
        "CODEX_HOME": os.path.join(home, ".codex"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        # Claude wants to know that a root user without permission prompts is no accident.
        "IS_SANDBOX": "1",
    }


def wait_for(wanted):
    """As the first process we also bury orphans."""
    while True:
        pid, status = os.wait()
        if pid == wanted:
            return status


def alive():
    """The command lines of all processes in this namespace but our own and the dead."""
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as file:
                state = file.read().rpartition(")")[2].split()[0]
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                command = file.read().decode("utf-8", "replace").split("\0")[:-1]
        except OSError:
            continue
        if state not in "ZX":
            left.append(command)
    return left


main()
