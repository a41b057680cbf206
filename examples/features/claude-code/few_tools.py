"""A code judge: one tool call is enough for this question."""
import json
import sys

calls = json.load(sys.stdin)["trace_summary"]["event_count"]
print(json.dumps({"score": 1 if calls <= 1 else 0, "reasoning": f"{calls} tool call(s)"}))
