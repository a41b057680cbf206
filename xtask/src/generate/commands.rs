//! The command line as a page: every command with its flags, from clap's own description of them.

use super::Generated;
use super::reference::{NOTICE, in_cell};
use clap::{Arg, ArgAction, Command};
use std::fmt::Write as _;

pub(super) fn page() -> Generated {
    let mut program = agentv_cli::command();
    program.build();
    let mut text = format!(
        "{NOTICE}\n# Command line\n\n{}\n\n`agentv help COMMAND` prints the same. What the exit codes mean: \
         [exit codes](exit-codes.md).\n",
        program.get_about().map(ToString::to_string).unwrap_or_default()
    );
    text += "\n| command | what it does |\n| --- | --- |\n";
    let leaves = leaves(&program, "agentv");
    for (name, command) in &leaves {
        let anchor = name.replace(' ', "-");
        let _ = writeln!(text, "| [`{name}`](#{anchor}) | {} |", about(command));
    }
    for (name, command) in &leaves {
        section(name, command, &mut text);
    }
    Generated::new("docs/reference/cli.md", text)
}

/// Commands that do something themselves, with their whole names.
fn leaves<'c>(command: &'c Command, name: &str) -> Vec<(String, &'c Command)> {
    let mut found = Vec::new();
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        let name = format!("{name} {}", inner.get_name());
        if inner.has_subcommands() {
            found.extend(leaves(inner, &name));
        } else {
            found.push((name, inner));
        }
    }
    found
}

fn about(command: &Command) -> String {
    in_cell(&command.get_about().map(ToString::to_string).unwrap_or_default())
}

fn section(name: &str, command: &Command, text: &mut String) {
    let _ = write!(text, "\n## {name}\n\n{}.\n", about(command));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = write!(text, "\n```text\n{usage}\n```\n");
    let mut args: Vec<&Arg> = command.get_arguments().filter(|arg| !is_common(arg)).collect();
    // As help shows them: arguments, then flags, by what they are about.
    args.sort_by_key(|arg| (!arg.is_positional(), arg.get_help_heading().is_some()));
    if !args.is_empty() {
        *text += "\n| argument | default | meaning |\n| --- | --- | --- |\n";
    }
    for arg in args {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            in_cell(&spelled(arg)),
            default(arg),
            meaning(arg)
        );
    }
    if let Some(after) = command.get_after_help() {
        let _ = write!(text, "\n```text\n{}\n```\n", after.to_string().trim_end());
    }
}

/// `--help` and `--version` are everywhere.
fn is_common(arg: &Arg) -> bool {
    ["help", "version"].contains(&arg.get_id().as_str()) || arg.is_hide_set()
}

/// `-o, --out <FILE>`
fn spelled(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ");
    let many = matches!(arg.get_action(), ArgAction::Append);
    let value = if many && arg.is_positional() { format!("{value}…") } else { value };
    let flags: Vec<String> = arg
        .get_short()
        .map(|short| format!("-{short}"))
        .into_iter()
        .chain(arg.get_long().map(|long| format!("--{long}")))
        .collect();
    let takes = arg.get_action().takes_values() && !value.is_empty();
    match (flags.is_empty(), takes) {
        (true, _) => value,
        (false, true) => format!("{} {value}", flags.join(", ")),
        (false, false) => flags.join(", "),
    }
}

fn default(arg: &Arg) -> String {
    let values = arg.get_default_values();
    let is_told = !arg.is_hide_default_value_set() && arg.get_action().takes_values();
    match values.first().filter(|_| is_told) {
        Some(value) => format!("`{}`", value.to_string_lossy()),
        None => "–".to_owned(),
    }
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values = arg.get_possible_values();
    let shown: Vec<String> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
    if arg.get_action().takes_values() && !shown.is_empty() {
        let _ = write!(text, " ({})", shown.join(", "));
    }
    // Else it would be taken for HTML.
    in_cell(&text).replace('<', "\\<")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_flag_is_explained() {
        let mut program = agentv_cli::command();
        program.build();
        for (name, command) in leaves(&program, "agentv") {
            assert!(!about(command).is_empty(), "`{name}` says nothing of itself");
            for arg in command.get_arguments() {
                assert!(
                    arg.get_help().is_some(),
                    "`{}` of `{name}` is not explained",
                    arg.get_id()
                );
            }
        }
    }

    #[test]
    fn a_command_below_another_has_its_whole_name() {
        let page = page().text;
        assert!(page.contains("\n## agentv runs list\n"));
        assert!(page.contains("| `-y, --yes` | – |"));
        assert!(page.contains("| `<DIR>` | – |"));
    }
}
