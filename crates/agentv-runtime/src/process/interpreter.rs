//! Scripts that are run by a program which is named before them.

use super::quote::{first_program, is_plain};

/// Programs that run a script which is one of their arguments. `python` has many names, so it is not listed.
const INTERPRETERS: [&str; 18] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "node", "bun", "deno", "tsx", "ts-node", "uv",
    "ruby", "perl", "php", "lua", "Rscript", "pwsh",
];

/// Options of interpreters whose value is the next word.
const WITH_VALUE: [&str; 16] = [
    "-C",
    "-I",
    "-W",
    "-X",
    "-r",
    "--config",
    "--conditions",
    "--cwd",
    "--directory",
    "--import",
    "--import-map",
    "--loader",
    "--preload",
    "--project",
    "--require",
    "--with",
];

/// Options of interpreters that stand for a script: code or a module comes next.
const INLINE: [&str; 7] = ["-c", "-e", "-m", "-p", "-lc", "--eval", "--print"];

/// The script that an interpreter is given, if it is a file.
pub fn interpreted<'w>(words: &[&'w str]) -> Option<&'w str> {
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next()?;
    if !name.starts_with("python") && !INTERPRETERS.contains(&name) {
        return None;
    }
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if INLINE.contains(argument) {
            return None;
        }
        if WITH_VALUE.contains(argument) {
            arguments.next();
        } else if !argument.starts_with('-') && *argument != "run" {
            // `npm:x` and `https://x` are fetched.
            return (!argument.contains(':')).then_some(*argument);
        }
    }
    None
}

/// The words of a script for the shell, up to the first that the shell would change.
pub fn shell_words(script: &str) -> Vec<&str> {
    match first_program(script) {
        Some(_) => script.split_whitespace().take_while(|word| is_plain(word)).collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_given_a_file_or_not() {
        let check = |script: &str, expected: Option<&str>| {
            let words: Vec<&str> = script.split_whitespace().collect();
            assert_eq!(interpreted(&words), expected, "{script}");
        };
        check("python3 judges/a.py --x b/c", Some("judges/a.py"));
        check("/usr/bin/python3.12 -u judges/a.py", Some("judges/a.py"));
        check("bun run scripts/a.ts", Some("scripts/a.ts"));
        check("node --import tsx/esm scripts/a.ts", Some("scripts/a.ts"));
        check("deno run --allow-read --config x/y.json scripts/a.ts", Some("scripts/a.ts"));
        check("python3 -m judges/a", None);
        check("sh -c ./a.sh", None);
        check("deno run npm:@scope/judge", None);
        check("npx @scope/judge", None);
        check("./judge.sh a/b", None);
    }
}
