#!/bin/sh
# Prints a session as Codex prints one.
cat > /dev/null
cat <<'END'
{"type":"thread.started","thread_id":"019a"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"bash -lc 'cat orders.csv'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"bash -lc 'cat orders.csv'","aggregated_output":"lamp,2\nchair,5\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Seven things were ordered: 2 lamps and 5 chairs."}}
{"type":"turn.completed","usage":{"input_tokens":2100,"cached_input_tokens":1500,"output_tokens":48}}
END
