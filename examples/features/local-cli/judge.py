"""Reads the payload on stdin, prints one JSON object, logs to stderr."""
import json
import sys

payload = json.load(sys.stdin)
word = payload["config"]["must_mention"]
searches = payload["trace_summary"]["tool_calls_by_name"].get("search", 0)
found = word in payload["candidate_answer"]
print(f"looked for {word}", file=sys.stderr)
print(json.dumps({
    "score": (found + (searches > 0)) / 2,
    "hits": [f"mentions {word}"] if found else [],
    "misses": [] if found else [f"does not mention {word}"],
    "details": {"searches": searches},
}))
