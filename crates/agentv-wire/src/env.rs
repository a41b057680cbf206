//! Every environment variable that AgentV sets or reads by name, besides those that a file asks for with `${{ NAME }}`.

/// Turns colours off when set to anything but nothing.
pub const NO_COLOR: &str = "NO_COLOR";
/// Set in every child: which run it belongs to. `--resume` ends leftovers by it.
pub const RUN_ID: &str = "AGENTV_RUN_ID";
/// Set in every child: which call it belongs to. What is left of a call is found and ended by it.
pub const CALL_ID: &str = "AGENTV_CALL_ID";

/// The table behind `docs/reference/env.md`.
pub const DOCUMENTED: &[(&str, &str)] = &[
    (NO_COLOR, "Read. Any value but the empty one turns colours off."),
    (RUN_ID, "Set for every child process: the run it belongs to."),
    (
        CALL_ID,
        "Set for every child process: the call it belongs to; whatever still runs when the call ends is ended by it.",
    ),
];
