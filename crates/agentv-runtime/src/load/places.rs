//! On which line each case of an eval file starts, for those who point at cases.

use super::scope::CASES;
use super::suite::is_jsonl;
use super::yaml;
use crate::config::{Node, Notes};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The line of each case, from 1, by the case's place in the file. What cannot be read has none.
pub fn case_lines(path: &Path) -> Vec<usize> {
    if is_jsonl(path) {
        return File::open(path)
            .map(|file| lines_of_jsonl(BufReader::new(file)))
            .unwrap_or_default();
    }
    std::fs::read_to_string(path).map(|text| lines_of_yaml(&text)).unwrap_or_default()
}

/// A dataset may be large, so it is only passed by.
fn lines_of_jsonl(file: impl BufRead) -> Vec<usize> {
    let numbered = (1..).zip(file.split(b'\n').map_while(Result::ok));
    numbered.filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(number, _)| number).collect()
}

fn lines_of_yaml(text: &str) -> Vec<usize> {
    let Some(root) = yaml::parse(text, &mut Notes::new("")) else { return Vec::new() };
    let list = CASES.iter().find_map(|key| root.get(key)).and_then(Node::as_list);
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line = |start: usize| 1 + breaks.partition_point(|at| *at < start);
    list.unwrap_or_default().iter().map(|case| line(case.span.start as usize)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_of_yaml_start_where_their_first_key_is() {
        let text = "# head\nevalcases:\n  - id: a\n    input: x\n\n  -\n    id: b\n  - {id: c}\n";
        assert_eq!(lines_of_yaml(text), [3, 7, 8]);
        assert!(lines_of_yaml("evalcases: 3\n").is_empty());
        assert!(lines_of_yaml("{").is_empty());
    }

    #[test]
    fn blank_lines_of_jsonl_are_no_cases() {
        assert_eq!(lines_of_jsonl(&b"{}\n\n  \n{}\n"[..]), [1, 4]);
    }
}
