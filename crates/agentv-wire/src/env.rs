//! Every environment variable that AgentV sets or reads by name, besides those that a file asks for with `${{ NAME }}`.

/// Turns colours off when set to anything but nothing.
pub const NO_COLOR: &str = "NO_COLOR";
/// Turns colours on without a terminal, when set to anything but nothing and `0`.
pub const CLICOLOR_FORCE: &str = "CLICOLOR_FORCE";
/// Set by CI systems.
pub const CI: &str = "CI";
/// What the terminal can do.
pub const TERM: &str = "TERM";
/// Set in every child: which run it belongs to. `--resume` ends leftovers by it.
pub const RUN_ID: &str = "AGENTV_RUN_ID";
/// Set in every child: which call it belongs to. What is left of a call is found and ended by it.
pub const CALL_ID: &str = "AGENTV_CALL_ID";
/// Set for commands of `cli` targets and for the setup of workspaces: the directory of the eval file. A command that runs in
/// a workspace finds its own files by it.
pub const EVAL_DIR: &str = "AGENTV_EVAL_DIR";
/// The address of a cluster, and the key that its members share.
pub const CLUSTER: &str = "AGENTV_CLUSTER";
pub const CLUSTER_KEY: &str = "AGENTV_CLUSTER_KEY";
/// Set for commands of `cli` targets: which trial of its case this is, from 0.
pub const TRIAL: &str = "AGENTV_TRIAL";
/// Set for code judges with a proxy: where it listens, and what lets them in. Both generations of names.
pub const PROXY_URL: [&str; 2] = ["AGENTV_TARGET_PROXY_URL", "AGENTV_JUDGE_PROXY_URL"];
/// See [`PROXY_URL`].
pub const PROXY_TOKEN: [&str; 2] = ["AGENTV_TARGET_PROXY_TOKEN", "AGENTV_JUDGE_PROXY_TOKEN"];
/// Turns the stream logs of Claude Code off, when it is `false`, `0` or `off`.
pub const CLAUDE_CODE_STREAM_LOGS: &str = "AGENTV_CLAUDE_CODE_STREAM_LOGS";
/// The format of Claude Code's stream logs, for targets that name none.
pub const CLAUDE_CODE_LOG_FORMAT: &str = "AGENTV_CLAUDE_CODE_LOG_FORMAT";
/// See [`CLAUDE_CODE_STREAM_LOGS`].
pub const CODEX_STREAM_LOGS: &str = "AGENTV_CODEX_STREAM_LOGS";
/// See [`CLAUDE_CODE_LOG_FORMAT`].
pub const CODEX_LOG_FORMAT: &str = "AGENTV_CODEX_LOG_FORMAT";

/// Set by GitHub Actions for every step.
pub const GITHUB_ACTIONS: &str = "GITHUB_ACTIONS";
/// Set by GitHub Actions: a file whose Markdown is shown on the job's page.
pub const GITHUB_STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The table behind `docs/reference/env.md`.
pub const DOCUMENTED: &[(&str, &str)] = &[
    (NO_COLOR, "Read. Any value but the empty one turns colours off."),
    (
        CLICOLOR_FORCE,
        "Read. Any value but the empty one and `0` turns colours on, also through a pipe; `eval` then ends with the \
         summary for people. `NO_COLOR` wins.",
    ),
    (
        CI,
        "Read. Any value but the empty one, `0` and `false`: `eval` prints lines, even on a terminal.",
    ),
    (TERM, "Read. `dumb`: `eval` prints lines, even on a terminal."),
    (RUN_ID, "Set for every child process: the run it belongs to."),
    (
        CALL_ID,
        "Set for every child process: the call it belongs to. When the call ends, AgentV ends all processes with this value.",
    ),
    (
        EVAL_DIR,
        "Set for commands of `cli` targets and for the setup of workspaces: the directory of the eval file.",
    ),
    (TRIAL, "Set for commands of `cli` targets: which trial of its case this is, from 0."),
    (
        PROXY_URL[0],
        "Set for code judges that may ask a model: where the proxy listens. Also as `AGENTV_JUDGE_PROXY_URL`.",
    ),
    (
        PROXY_TOKEN[0],
        "Set for code judges that may ask a model: the bearer token. Also as `AGENTV_JUDGE_PROXY_TOKEN`.",
    ),
    (
        CLAUDE_CODE_STREAM_LOGS,
        "Read. `false`, `0` or `off`: no stream logs of Claude Code. Also `AGENTV_CODEX_STREAM_LOGS`.",
    ),
    (
        CLUSTER,
        "Read by `worker` and `cluster`: the address of the cluster, where `--cluster` does not name one.",
    ),
    (
        CLUSTER_KEY,
        "Read with a cluster: the key that its members share. No child gets it. Logins: [cluster](../guide/cluster.md#settings).",
    ),
    (
        GITHUB_ACTIONS,
        "Read. Any value but nothing and `false`: `eval` and `report` print annotations and add to `GITHUB_STEP_SUMMARY`.",
    ),
    (
        CLAUDE_CODE_LOG_FORMAT,
        "Read. `summary` or `json`, where the target has no `log_format`. Also `AGENTV_CODEX_LOG_FORMAT`.",
    ),
];
