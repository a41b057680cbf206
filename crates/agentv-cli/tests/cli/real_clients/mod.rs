//! The real `claude` and `codex`, of one version each, against a stub of their APIs. They run in a namespace whose network is
//! loopback, with dummy keys and a fresh home: see `tests/clients/sandbox.py`.

mod sandbox;
mod samples;

use agentv_test_support::TestContext;
use sandbox::Sandbox;
use serde_json::{Value, json};
