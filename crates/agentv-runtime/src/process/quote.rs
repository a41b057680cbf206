//! Words of the shell: values that are put into command templates, and the program that a command starts with.

/// One word for a POSIX shell, whatever it holds.
pub fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\'', r#"'"'"'"#))
}

/// The program that a script for the shell starts with, where that is plain to see. What the shell does itself is none.
pub fn first_program(script: &str) -> Option<&str> {
    let word = script.split_whitespace().next()?;
    (is_plain(word) && !SHELL_WORDS.contains(&word)).then_some(word)
}

/// Whether a shell takes a word as it is written.
pub fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+'))
}

const SHELL_WORDS: [&str; 30] = [
    ".", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "echo", "eval", "exec",
    "exit", "export", "false", "fg", "for", "if", "printf", "read", "return", "set", "shift",
    "test", "trap", "true", "unset", "until", "wait", "while",
];

#[cfg(test)]
mod tests {
    use super::{first_program, quote};

    #[track_caller]
    fn check(value: &str, expected: &str) {
        assert_eq!(quote(value), expected);
    }

    #[test]
    fn a_script_starts_with_a_program_or_with_the_shell() {
        let check = |script: &str, expected| assert_eq!(first_program(script), expected);
        check("python3 agent.py > out", Some("python3"));
        check("  ./bin/agent-2.sh {x}", Some("./bin/agent-2.sh"));
        check("cd x && ./run", None);
        check("KEY=1 ./run", None);
        check("\"$TOOL\" x", None);
        check("", None);
    }

    #[test]
    fn every_value_is_one_word() {
        check("", "''");
        check("plain", "'plain'");
        check("a b\n$HOME `x` \\ \"y\"", "'a b\n$HOME `x` \\ \"y\"'");
        check("it's", r#"'it'"'"'s'"#);
        check("'", r#"''"'"''"#);
    }
}
