"""How much of what the agent did was reading? All numbers are in the payload that comes in on stdin."""
import json
import sys

payload = json.load(sys.stdin)
config = payload["config"]
metrics = payload["execution_metrics"]
calls = payload["trace_summary"]["tool_calls_by_name"]
total = sum(calls.values())
reading = sum(count for tool, count in calls.items() if tool in config["reading"])
share = reading / total if total else 0
enough = share >= config["at_least"]
finding = f"{reading} of {total} calls read something"
print(json.dumps({
    "score": 1 if enough else 0,
    "hits": [finding] if enough else [],
    "misses": [] if enough else [finding],
    "details": {
        "share": share,
        "output_tokens_per_call": metrics["token_usage"]["output"] / total,
        "slowest_tool_ms": max(max(times) for times in metrics["tool_durations"].values()),
    },
}))
