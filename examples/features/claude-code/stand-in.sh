#!/bin/sh
# Prints a session as Claude Code prints one.
cat > /dev/null
cat <<'END'
{"type":"system","subtype":"init","session_id":"5f0c","model":"claude-sonnet-4-5","tools":["Read"]}
{"type":"assistant","message":{"content":[{"type":"text","text":"They ship on Friday, after one more test run."}]},"parent_tool_use_id":null}
{"type":"result","subtype":"success","is_error":false,"result":"They ship on Friday, after one more test run.","num_turns":1,"duration_ms":2100,"duration_api_ms":1900,"total_cost_usd":0.0042,"session_id":"5f0c","usage":{"input_tokens":310,"output_tokens":14,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}
END
