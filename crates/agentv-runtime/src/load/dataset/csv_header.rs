//! The first row of a CSV dataset: what its columns are.

use super::csv::{BOM, Cells, Dialect, Records, Table, check_quotes, text_of};
use super::stream::{Data, Row, Seen};
use crate::config::{Notes, Presence, Span, suggestion, typos_between};
use crate::load::suite::defaults::{Defaults, INPUT, OUTCOME, TEXTS};
use crate::load::suite::unread::meant_grader;
use std::io::{self, BufRead};
use std::path::Path;

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::load) struct Column {
    /// As written, without space around it and without `:json`.
    pub name: String,
    pub place: ColumnPlace,
    pub shape: Shape,
}

/// Where the cells of a column go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) enum ColumnPlace {
    /// A key of the case.
    Case(&'static str),
    /// A var of the column's name.
    Var,
    Nowhere,
}

/// How the cells of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) enum Shape {
    Text,
    /// `a;b`.
    Tags,
    Json,
}

/// Keys of a case that have columns; all other columns are vars.
pub(in crate::load) const KEYS: [(&str, Shape); 15] = [
    ("id", Shape::Text),
    ("input", Shape::Text),
    ("input_messages", Shape::Json),
    ("expected_outcome", Shape::Text),
    ("outcome", Shape::Text),
    ("criteria", Shape::Text),
    ("expected_output", Shape::Text),
    ("expected_messages", Shape::Json),
    ("conversation_id", Shape::Text),
    ("tags", Shape::Tags),
    ("evaluators", Shape::Json),
    ("rubrics", Shape::Json),
    ("execution", Shape::Json),
    ("workspace", Shape::Json),
    ("vars", Shape::Json),
];

/// What others call `input`. The first of these columns is it, if nothing else says what to ask.
const QUESTIONS: [&str; 3] = ["question", "prompt", "query"];

/// Ends the name of a column whose cells are JSON.
pub(super) const JSON_SUFFIX: &str = ":json";

/// Begins the names of promptfoo's columns with checks.
const PROMPTFOO_CHECK: &str = "__expected";

/// What may stand between cells, the likeliest first.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// Reads the head of a table. `None` if its rows cannot be read by it, which is noted. What the suite says for all rows
/// need not be in the table; whether `criteria` must be there depends on its evaluators.
pub(in crate::load) fn read(
    data: &Data,
    path: &Path,
    (defaults, criteria): (&Defaults, Presence),
    notes: &mut Notes,
) -> io::Result<Option<Table>> {
    let mut input = data.open()?;
    let start = input.fill_buf()?;
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        notes
            .error("csv::utf8", None, "the file is UTF-16")
            .help("save it as UTF-8; spreadsheets call it `CSV UTF-8`");
        return Ok(None);
    }
    let start = start.strip_prefix(BOM).unwrap_or(start);
    let declared = declared_separator(start);
    let separator = declared.unwrap_or_else(|| likeliest_separator(start, path));
    let dialect = Dialect::new(separator);
    let mut records = Records::new(data.open()?, &dialect, Seen::default());
    if declared.is_some() {
        records.next()?;
    }
    let Some((number, bytes)) = records.next()? else {
        notes
            .error("csv::empty", None, "the table is empty")
            .help("name the columns in the first row: `id,input,criteria`");
        return Ok(None);
    };
    let row = Row { ordinal: 0, number, bytes };
    let Some(text) = text_of(row, notes) else { return Ok(None) };
    let cells = Cells::of(text, &dialect);
    let before = notes.errors();
    let columns = if check_quotes(text, &cells, notes) {
        columns(&cells, defaults, notes)
    } else {
        Vec::new()
    };
    check_columns(&columns, defaults, criteria, notes);
    let has_ids = columns.iter().any(|column| column.place == ColumnPlace::Case("id"));
    if !has_ids && notes.errors() == before {
        let message = "no column `id`: each case gets an id from a hash of its input";
        notes
            .warning("csv::id", Some(Span::default()), message)
            .help("add a column `id`: results stay comparable when an input is edited");
    }
    let good = notes.errors() == before;
    notes.locate(text, number);
    let head_rows = if declared.is_some() { 2 } else { 1 };
    Ok(good.then_some(Table { dialect, columns, has_ids, head_rows }))
}

/// Whether a table is one of cases, by its header.
pub(in crate::load) fn looks_like_cases(path: &Path) -> bool {
    let read = || -> io::Result<bool> {
        let mut input = Data::new(path)?.open()?;
        let start = input.fill_buf()?;
        let start = start.strip_prefix(BOM).unwrap_or(start);
        let separator =
            declared_separator(start).unwrap_or_else(|| likeliest_separator(start, path));
        let lines = start.split(|byte| matches!(byte, b'\n' | b'\r'));
        let header = lines
            .into_iter()
            .find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"sep="));
        let header = String::from_utf8_lossy(header.unwrap_or_default());
        let cells = Cells::of(&header, &Dialect::new(separator));
        Ok(cells.iter().filter(|(cell, _)| is_known(cell)).count() >= LEAST_KNOWN)
    };
    let has_settings = path.with_extension("yaml").is_file();
    has_settings || read().unwrap_or(false)
}

/// A table with this many columns that we know is one of cases.
const LEAST_KNOWN: usize = 2;

/// Spreadsheets may say it in a line of its own, `sep=;`.
fn declared_separator(start: &[u8]) -> Option<u8> {
    let line = start.split(|byte| *byte == b'\n').next()?;
    match line.trim_ascii_end().strip_prefix(b"sep=")? {
        // A tab goes with the blanks at the line's end.
        [] => Some(b'\t'),
        [separator @ (b',' | b';' | b'|')] => Some(*separator),
        _ => None,
    }
}

/// The one that makes most columns that we know, then the one that makes most columns.
fn likeliest_separator(start: &[u8], path: &Path) -> u8 {
    let is_tsv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    if is_tsv {
        return b'\t';
    }
    let lines = start.split(|byte| matches!(byte, b'\n' | b'\r'));
    let line = lines.into_iter().find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let worth = |separator: u8| {
        let cells = Cells::of(&line, &Dialect::new(separator));
        let known = cells.iter().filter(|(cell, _)| is_known(cell)).count();
        (known, cells.len())
    };
    // The last of equals would win, so the likeliest comes last.
    SEPARATORS.into_iter().rev().max_by_key(|separator| worth(*separator)).unwrap_or(b',')
}

/// Whether a column of this name could be a case's.
fn is_known(name: &str) -> bool {
    let name = snake_case(name.strip_suffix(JSON_SUFFIX).unwrap_or(name));
    KEYS.iter().any(|(key, _)| *key == name) || QUESTIONS.contains(&name.as_str())
}

/// `Expected Outcome`, `expected-outcome` and `expectedOutcome` are `expected_outcome`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    let mut was_small = false;
    for letter in name.trim().chars() {
        if letter.is_ascii_uppercase() && was_small {
            snake.push('_');
        }
        was_small = letter.is_ascii_lowercase();
        snake.push(if matches!(letter, ' ' | '-') { '_' } else { letter.to_ascii_lowercase() });
    }
    snake
}

fn columns(cells: &Cells, defaults: &Defaults, notes: &mut Notes) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::with_capacity(cells.len());
    for (number, (cell, span)) in cells.iter().enumerate() {
        let column = column(cell);
        let is_twin = |other: &Column| {
            other.name == column.name
                || (other.place == column.place && matches!(other.place, ColumnPlace::Case(_)))
        };
        if column.name.is_empty() {
            let message = format!("column {} has no name, so it is not read", number + 1);
            notes.warning("csv::header", Some(span), message).help("name it, or remove it");
        } else if let Some(twin) = columns.iter().position(is_twin) {
            let message =
                format!("duplicate column `{}` (first used as column {})", column.name, twin + 1);
            notes.error("csv::header", Some(span), message).help("rename or remove one of them");
        } else if is_grader(&column, defaults) {
            let message = format!(
                "the column `{}` is not read, so its checks would be left out",
                column.name
            );
            let help = "name it `evaluators`, with a JSON list of evaluators in each cell; rename it if it is a var";
            notes.error("evaluator::not-read", Some(span), message).help(help);
        } else if column.name.starts_with("__") {
            let message = format!("the column `{}` is not read", column.name);
            let help = "names with `__` mean something to other tools; say what is expected in `criteria`, `expected_output` or `evaluators`";
            notes.warning("csv::header", Some(span), message).help(help);
        }
        columns.push(column);
    }
    adopt_question(&mut columns, defaults);
    columns
}

/// Whether other tools, or other versions of AgentV, would read checks in this column, or its name is misspelt, and the
/// suite does not use it as a var.
fn is_grader(column: &Column, defaults: &Defaults) -> bool {
    match column.place {
        ColumnPlace::Case(_) => false,
        ColumnPlace::Nowhere => column.name.starts_with(PROMPTFOO_CHECK),
        ColumnPlace::Var => {
            let (name, known) = (snake_case(&column.name), KEYS.map(|(key, _)| key));
            // A table may have columns for people, such as `metric`, so only columns that are read may be misspelt.
            let is_meant =
                |meant| name == meant || known.contains(&meant) && typos_between(&name, meant) == 1;
            meant_grader(&name, &known).is_some_and(is_meant) && !defaults.ask_for(&column.name)
        }
    }
}

fn column(cell: &str) -> Column {
    let written = cell.trim();
    let (name, is_json) =
        written.strip_suffix(JSON_SUFFIX).map_or((written, false), |name| (name.trim_end(), true));
    let snake = snake_case(name);
    let known = KEYS.iter().find(|(key, _)| *key == snake);
    let place = match known {
        Some((key, _)) => ColumnPlace::Case(key),
        None if name.is_empty() || name.starts_with("__") => ColumnPlace::Nowhere,
        None => ColumnPlace::Var,
    };
    let shape = if is_json { Shape::Json } else { known.map_or(Shape::Text, |(_, shape)| *shape) };
    Column { name: name.to_owned(), place, shape }
}

/// Whether a column of this name is a var of this very name, whatever else is in the table.
pub fn reads_as_var(name: &str) -> bool {
    let is_question = QUESTIONS.contains(&snake_case(name).as_str());
    let Column { name: read, place, shape } = column(name);
    read == name && place == ColumnPlace::Var && shape == Shape::Text && !is_question
}

/// What others call `input` is it, where neither a column nor the suite has one.
fn adopt_question(columns: &mut [Column], defaults: &Defaults) {
    if defaults.has(INPUT) || has(columns, INPUT) {
        return;
    }
    let is = |column: &Column, name: &str| snake_case(&column.name) == name;
    let found =
        QUESTIONS.iter().find_map(|name| columns.iter().position(|column| is(column, name)));
    if let Some(column) = found.and_then(|found| columns.get_mut(found)) {
        column.place = ColumnPlace::Case("input");
    }
}

/// Whether a column is one of these texts.
fn has(columns: &[Column], text: usize) -> bool {
    let is = |column: &Column| TEXTS[text].iter().any(|key| column.place == ColumnPlace::Case(key));
    columns.iter().any(is)
}

/// What no row can have is said once, and not for each of them.
fn check_columns(columns: &[Column], defaults: &Defaults, criteria: Presence, notes: &mut Notes) {
    if columns.is_empty() {
        return;
    }
    // Rows with evaluators of their own are checked one by one.
    let has_evaluators =
        columns.iter().any(|column| column.place == ColumnPlace::Case("evaluators"));
    let is_optional = |text| text == OUTCOME && (criteria == Presence::Optional || has_evaluators);
    for (text, name) in [(INPUT, "input"), (OUTCOME, "criteria")] {
        if has(columns, text) || defaults.has(text) || is_optional(text) {
            continue;
        }
        let names = columns.iter().filter(|column| column.place == ColumnPlace::Var);
        let near = names.filter_map(|column| {
            let near = suggestion(&snake_case(&column.name), TEXTS[text].iter().copied())?;
            Some(format!("did you mean `{near}` by `{}`?", column.name))
        });
        let help = near.into_iter().next().unwrap_or_else(|| {
            format!("add the column, or `{name}:` for all rows to the YAML file of the same name")
        });
        let message = format!("missing column `{name}`");
        notes.error("csv::header", Some(Span::default()), message).help(help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, separator: u8) {
        assert_eq!(
            char::from(likeliest_separator(header.as_bytes(), Path::new("a.csv"))),
            char::from(separator)
        );
    }

    #[test]
    fn the_separator_is_found_by_the_header() {
        check("id,input,expected_outcome\n1,a;b;c;d,x", b',');
        check("id;input;criteria\r\n", b';');
        check("id\tinput, please\tcriteria", b'\t');
        check("\n\"id, of all\";input;criteria", b';');
        check("a;b,c,d;id", b';');
        check("input", b',');
        check("", b',');
    }

    #[test]
    fn a_separator_may_be_declared() {
        assert_eq!(declared_separator(b"sep=;\r\nid;input"), Some(b';'));
        assert_eq!(declared_separator(b"sep=\t\nid"), Some(b'\t'));
        assert_eq!(declared_separator(b"separator;id"), None);
    }

    #[test]
    fn names_are_known_in_every_spelling() {
        for name in
            ["expected_outcome", "Expected outcome", "expectedOutcome", " EXPECTED-OUTCOME "]
        {
            assert_eq!(column(name).place, ColumnPlace::Case("expected_outcome"), "{name}");
        }
        let json = column("expected_output:json");
        assert_eq!((json.place, json.shape), (ColumnPlace::Case("expected_output"), Shape::Json));
        assert_eq!(column("Customer name").place, ColumnPlace::Var);
        assert_eq!(column("ID").place, ColumnPlace::Case("id"));
    }
}
