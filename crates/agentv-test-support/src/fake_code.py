#!/usr/bin/env python3
"""A stand-in for `code`, the command line tool of VS Code: it opens "windows" and answers chats.

Beside itself, in `<its name>.state`, it keeps `calls.jsonl` (the arguments of every call), `windows` (those that are open)
and `requests` (a copy of every request file that was answered), and finds `mode`, which is one of
  ok          answers at once
  background  answers from a process of its own after the call has ended, as VS Code does; its pid is in `pid`
  meet        as ok, but first tells `arrivals` and waits at `gate`
  hang        the chat call never ends, and there is no answer; its pid is in `pid`
  never       there is no answer
  partial     as ok, but the last request of a batch is not answered
  fail        ends with an error
The answer to a request is `ok: ` and its query, in one line; or the text of `answer`, which is then printed, too.
"""
import json
import os
import re
import shutil
import sys
import time

state = os.path.abspath(__file__) + ".state"
arguments = sys.argv[1:]


def keep(name, text):
    with open(os.path.join(state, name), "a", encoding="utf-8") as file:
        file.write(text + "\n")


def lines(name):
    try:
        with open(os.path.join(state, name), encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def answer(path):
    with open(path, encoding="utf-8") as file:
        request = file.read()
    os.makedirs(os.path.join(state, "requests"), exist_ok=True)
    shutil.copy(path, os.path.join(state, "requests"))
    draft = re.findall(r"^1\. Create and write your complete response to: (.+)$", request, re.M)[-1]
    query = request.split("[[ ## user_query ## ]]")[1].split("[[ ## system_instructions ## ]]")[0]
    told = lines("answer")
    print("\n".join(told), file=sys.stderr)
    with open(draft, "w", encoding="utf-8") as file:
        file.write("\n".join(told or ["ok: " + " ".join(query.split())]) + "\n")
    os.replace(draft, re.sub(r"_res\.tmp\.md$", "_res.md", draft))


def requests(files):
    for path in files:
        folder = os.path.dirname(os.path.dirname(path))
        if path.endswith("_orchestrator.md"):
            with open(path, encoding="utf-8") as file:
                for name in re.findall(r"^\d+\. (messages/\S+_req\.md)$", file.read(), re.M):
                    yield os.path.join(folder, name)
        elif path.endswith("_req.md"):
            yield path


def chat(mode, files):
    found = list(requests(files))
    if mode == "hang":
        keep("pid", str(os.getpid()))
        time.sleep(600)
    if mode == "background":
        if os.fork():
            return
        os.setsid()
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        keep("pid", str(os.getpid()))
        # The call is over for certain when its process is nobody's parent any more.
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.01)
    if mode == "meet":
        with open(os.path.join(state, "arrivals"), "w", encoding="utf-8") as file:
            file.write(os.path.basename(os.path.dirname(os.path.dirname(found[0]))) + "\n")
        # Without a buffer, which would take what is meant for others.
        with open(os.path.join(state, "gate"), "rb", buffering=0) as file:
            file.readline()
    for path in found[:-1] if mode == "partial" and len(found) > 1 else found:
        answer(path)
    if mode == "background":
        time.sleep(600)


def main():
    os.makedirs(state, exist_ok=True)
    mode = (lines("mode") or ["ok"])[0]
    keep("calls.jsonl", json.dumps(arguments))
    if mode == "fail":
        sys.exit("\n".join(["the display is on strike", *lines("answer")]))
    if arguments == ["--status"]:
        print("\n".join("|  Window (%s (Workspace))" % name for name in lines("windows")))
    elif len(arguments) == 1 and arguments[0].endswith(".code-workspace"):
        keep("windows", os.path.basename(arguments[0])[: -len(".code-workspace")])
        keep("opened", arguments[0])
    elif arguments[:3] == ["-r", "chat", "-m"]:
        if arguments[3] == "wakeup":
            open(os.path.join(os.path.dirname(lines("opened")[-1]), ".alive"), "w").close()
        elif mode != "never":
            chat(mode, [arguments[i + 1] for i, a in enumerate(arguments[:-1]) if a == "-a"])
    else:
        sys.exit("unexpected arguments: %r" % arguments)


main()
