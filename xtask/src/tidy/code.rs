//! Rust source with the parts that are not code blanked out, so that a word in a comment or a text is not taken for code.

/// The same text with comments, strings and character literals as spaces. Lines stay where they are.
pub(super) fn only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = not_code(rest, code.chars().next_back());
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..skipped].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[skipped..];
        }
    }
    code
}

/// A string literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal<'s> {
    /// Where it starts.
    pub line: usize,
    /// What stands before it in its line.
    pub before: &'s str,
    /// What is between the quotes, with its escapes.
    pub text: &'s str,
}

/// The string literals of a source.
pub(super) fn literals(source: &str) -> Vec<Literal<'_>> {
    let (mut literals, mut at) = (Vec::new(), 0);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let skipped = not_code(rest, source[..at].chars().next_back());
        if skipped > 0 && !rest.starts_with(['/', '\'']) {
            let (line, start) = (source[..at].matches('\n').count() + 1, source[..at].rfind('\n'));
            let text = rest[..skipped].trim_start_matches(['b', 'r', '#']).trim_end_matches('#');
            let before = &source[start.map_or(0, |start| start + 1)..at];
            literals.push(Literal { line, before, text: text.trim_matches('"') });
        }
        at += skipped.max(first.len_utf8());
    }
    literals
}

/// The part of a file before its unit tests. A `mod tests;` among the first lines does not end the file.
pub(super) fn without_tests(source: &str) -> &str {
    let tests = source.match_indices("#[cfg(test)]").find(|(at, mark)| {
        let item = source[at + mark.len()..].trim_start();
        let opens = item.find(['{', ';']).is_some_and(|end| item[end..].starts_with('{'));
        item.starts_with("mod ") && opens
    });
    tests.map_or(source, |(at, _)| &source[..at])
}

/// How many bytes at the start are no code; 0 if it starts with code.
fn not_code(text: &str, before: Option<char>) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if let Some(inside) = text.strip_prefix('"') {
        return 1 + string_end(inside);
    }
    if text.starts_with('\'') {
        return character(text);
    }
    // The `r` of an identifier like `for` is none.
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if !in_word && (text.starts_with('r') || text.starts_with("br")) {
        return raw_string(text);
    }
    0
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, _) in text.char_indices() {
        if text[at..].starts_with("/*") {
            depth += 1;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            if depth == 0 {
                return at + 2;
            }
        }
    }
    text.len()
}

/// Where a string ends, just behind its closing quote.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A lifetime is code; a character is not.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, c))) => {
            let from = at + c.len_utf8();
            text[from..].find('\'').map_or(0, |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

fn raw_string(text: &str) -> usize {
    let opened = text.trim_start_matches('b').trim_start_matches('r');
    let hashes: String = opened.chars().take_while(|c| *c == '#').collect();
    if !opened[hashes.len()..].starts_with('"') {
        return 0;
    }
    let start = text.len() - opened.len() + hashes.len() + 1;
    let end = format!("\"{hashes}");
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let code = only(source);
        assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        assert_eq!(code.lines().count(), source.lines().count());
    }

    #[test]
    fn comments_and_texts_are_no_code() {
        check("a // b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check("f(\"a \\\" b\", c)", "f( , c)");
        check("f(r#\"a \" b\"#, c)", "f( , c)");
        check("f(br\"a\", c)", "f( , c)");
    }

    #[test]
    fn literals_are_found_with_their_lines() {
        let source = "// \"a\"\nf('\"', \"b \\\" c\",\n  r#\"d \" e\"#, b\"f\")";
        let found: Vec<_> = literals(source).iter().map(|one| (one.line, one.text)).collect();
        assert_eq!(found, [(2, "b \\\" c"), (3, "d \" e"), (3, "f")]);
        assert_eq!(literals("let a = \"b\";")[0].before, "let a = ");
    }

    #[test]
    fn only_tests_in_the_file_end_it() {
        let inline = "a\n#[cfg(test)]\nmod tests {\n use b;\n}\n";
        assert_eq!(without_tests(inline), "a\n");
        let beside = "#[cfg(test)]\nmod tests;\nfn f() {}\n";
        assert_eq!(without_tests(beside), beside);
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_not() {
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check("f('x', '\\'', '\\u{1f600}', '\"') + g", "f( , , , ) + g");
        check("for r in br", "for r in br");
    }
}
