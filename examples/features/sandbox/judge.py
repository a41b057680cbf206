"""Grades an answer, and tells what the sandbox keeps from it."""

import json
import os
import socket
import sys
import tempfile


def attempt(what):
    try:
        what()
        return "allowed"
    except OSError as error:
        return error.strerror


answer = json.load(sys.stdin)["candidate_answer"]
home = os.path.expanduser("~")
attempts = {
    "list the home": lambda: os.listdir(home),
    "write beside the judge": lambda: open("notes.txt", "w"),
    "open a socket": lambda: socket.socket(),
    "write to the temporary folder": lambda: tempfile.TemporaryFile(),
}
details = {name: attempt(what) for name, what in attempts.items()}
print(json.dumps({"score": float("30 days" in answer), "details": details}))
