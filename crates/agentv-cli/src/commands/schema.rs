//! `agentv schema` and `agentv completions`: what editors and shells want to know.

use crate::completion;
use crate::settings::Environment;
use crate::setup_args::{CompletionsArgs, SchemaArgs, SchemaKind};
use agentv_wire::Exit;

/// The schema as `cargo xtask gen` made it from the types that are read and written.
pub(crate) fn text(kind: SchemaKind) -> &'static str {
    match kind {
        SchemaKind::Eval => include_str!("../../../../schemas/eval.schema.json"),
        SchemaKind::Targets => include_str!("../../../../schemas/targets.schema.json"),
        SchemaKind::Config => include_str!("../../../../schemas/config.schema.json"),
        SchemaKind::Result => include_str!("../../../../schemas/result.schema.json"),
        SchemaKind::CodeJudgePayload => {
            include_str!("../../../../schemas/code-judge-payload.schema.json")
        }
    }
}

pub(crate) fn run(args: &SchemaArgs, environment: &Environment) -> Exit {
    environment.screen().data(text(args.kind).trim_end());
    Exit::Success
}

pub(crate) fn completions(args: &CompletionsArgs, environment: &Environment) -> Exit {
    environment.screen().data(completion::script(args.shell).trim_end());
    Exit::Success
}
