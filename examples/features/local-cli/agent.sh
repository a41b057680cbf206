#!/bin/sh
# A stand-in for an agent: it "searches" and answers, and tells in JSON what it did and what it cost.
# Usage: agent.sh <prompt> <output file>
cat > "$2" <<JSON
{
  "output_messages": [
    {"role": "assistant", "tool_calls": [{"tool": "search", "input": {"query": "$1"}, "duration_ms": 12}]},
    {"role": "assistant", "content": "Paris is the capital of France."}
  ],
  "token_usage": {"input": 120, "output": 9},
  "cost_usd": 0.0004
}
JSON
