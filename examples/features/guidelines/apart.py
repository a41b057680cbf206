"""Judges see guidelines and other files apart."""
import json
import os
import sys

payload = json.load(sys.stdin)


def names(key):
    return [os.path.basename(path) for path in payload[key]]


found = {"guideline_files": names("guideline_files"), "input_files": names("input_files")}
wanted = {"guideline_files": ["style.md"], "input_files": ["article.txt"]}
print(json.dumps({"score": int(found == wanted), "details": found}))
