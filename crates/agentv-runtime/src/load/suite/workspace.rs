//! `workspace`, wherever it is: on a target, in a suite or in a case.

use crate::config::{Fields, Kind, Leftovers, Node, Span, suggestion, variable_reference};
use crate::process::Command;
use agentv_core::WorkspaceSpec;
use agentv_core::workspace::Keep;
use std::path::{Path, PathBuf};

/// Reads it. `fields` are those that it is in, `dir` is where their file is. `None` if something is wrong, which is then
/// noted.
pub(in crate::load) fn read(
    node: &Node<'_>,
    fields: &mut Fields<'_, '_>,
    dir: &Path,
) -> Option<WorkspaceSpec> {
    let owner = format!("`workspace` of {}", fields.owner());
    if let Kind::Text(text) = &node.kind {
        let template = template(text, node.span, &owner, fields, dir)?;
        return Some(WorkspaceSpec { template: Some(template), ..WorkspaceSpec::default() });
    }
    let mut own = fields.inside(node, owner.clone())?;
    let template = own.take::<String>("template").map(|text| {
        let span = own.span_of("template");
        template(&text, span, &owner, &mut own, dir)
    });
    let setup = own.node("setup").map(|node| {
        let node = own.expanded("setup", node)?;
        setup(&node, &owner, &mut own)
    });
    let pass_env = own.passed_variables();
    let keep = own.take::<String>("keep").map(|name| keep(&name, &mut own));
    own.finish(Leftovers::Refuse);
    if own.failed() {
        return None;
    }
    Some(WorkspaceSpec {
        template: template.flatten(),
        setup: setup.flatten(),
        pass_env,
        keep: keep.flatten(),
    })
}

/// A directory that is there. The text may be `${{ NAME }}` as a whole.
fn template(
    text: &str,
    span: Span,
    owner: &str,
    fields: &mut Fields<'_, '_>,
    dir: &Path,
) -> Option<PathBuf> {
    let env = fields.env();
    let value = match variable_reference(text) {
        None => text.trim(),
        Some(name) => match env.require(name) {
            Ok(value) => value.trim(),
            Err(error) => {
                let message = format!(
                    "environment variable `{name}`, required for `template` of {owner}, {error}"
                );
                let note = fields.error_at("config::env", span, message);
                note.help(format!("set `{name}` in the environment or in a `.env` file"));
                return None;
            }
        },
    };
    let path = dir.join(value);
    let problem = match path.canonicalize() {
        Ok(found) if value.is_empty() || !found.is_dir() => "is not a directory".to_owned(),
        Ok(found) => return Some(found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be read: {error}"),
    };
    let message = format!("the template `{value}` of {owner} {problem}");
    fields
        .error_at("workspace::template", span, message)
        .help(format!("create the directory `{}`, or correct the path", path.display()));
    None
}

/// A list of commands, each a list; one such command; or a text for the shell.
fn setup(node: &Node<'_>, owner: &str, fields: &mut Fields<'_, '_>) -> Option<Vec<Vec<String>>> {
    let commands = match &node.kind {
        Kind::Text(script) if !script.trim().is_empty() => {
            let argv = Command::shell(script.as_ref());
            vec![argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()]
        }
        Kind::List(items) if items.iter().all(|item| item.as_list().is_some()) => {
            items.iter().map(|item| argv(item, owner, fields)).collect::<Option<_>>()?
        }
        Kind::List(_) => vec![argv(node, owner, fields)?],
        _ => {
            let message = format!(
                "`setup` of {owner} must be a list of commands, each a program and its arguments, not {}",
                node.describe()
            );
            fields.error_at("workspace::setup", node.span, message).help("write `[[npm, ci]]`");
            return None;
        }
    };
    Some(commands)
}

fn argv(node: &Node<'_>, owner: &str, fields: &mut Fields<'_, '_>) -> Option<Vec<String>> {
    let words: Option<Vec<String>> =
        node.as_list()?.iter().map(|word| word.as_text().map(str::to_owned)).collect();
    let program = words.as_ref().map(|words| words.first().map_or("", |word| word.trim()));
    let problem = match program {
        None => "has an entry that is not text".to_owned(),
        Some("") => "names no program".to_owned(),
        // Two commands in one list, most likely; a path may have spaces.
        Some(program) if program.contains(char::is_whitespace) && !program.contains('/') => {
            format!("names the program `{program}`, with a space in it")
        }
        Some(_) => return words,
    };
    let message = format!("a command in `setup` of {owner} {problem}");
    fields
        .error_at("workspace::setup", node.span, message)
        .help("write each command as a list of its words, `[[npm, ci], [npm, run, build]]`, or one text for the shell");
    None
}

fn keep(name: &str, fields: &mut Fields<'_, '_>) -> Option<Keep> {
    let keep = Keep::of(name);
    if keep.is_none() {
        let names = Keep::ALL.map(|(_, name)| name);
        let help = match suggestion(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of {}", names.map(|name| format!("`{name}`")).join(", ")),
        };
        let message = format!("`keep` of {} cannot be `{name}`", fields.owner());
        fields.error("workspace::keep", "keep", message).help(help);
    }
    keep
}
