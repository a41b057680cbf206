//! CSV datasets: a case per row. Rows are split and taken apart by `csv-core`, which also says where each cell is.

use super::csv_header::{Column, ColumnPlace, Shape};
use super::row_ids::{self, IdOrigin};
use super::stream::{ReadRow, Row, Seen};
use crate::config::{Cost, Entry, Kind, Map, Node, Notes, Span};
use crate::load::suite::case;
use crate::load::suite::case::LoadPurpose;
use crate::load::suite::scope::CaseScope;
use crate::load::syntax::json;
use csv_core::{ReadFieldResult, ReadRecordResult};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::{Mutex, PoisonError};

/// What the head of a table says of its rows.
#[derive(Debug)]
pub(in crate::load) struct Table {
    pub dialect: Dialect,
    pub columns: Vec<Column>,
    /// Whether there is a column for ids.
    pub has_ids: bool,
    /// How many rows stand before the first case.
    pub head_rows: usize,
}

/// What is between cells.
#[derive(Debug)]
pub(in crate::load) struct Dialect {
    pub separator: u8,
    /// Takes rows apart, one at a time. It is kept, since its tables take longer to make than a row to read.
    row_reader: Box<Mutex<csv_core::Reader>>,
}

impl Dialect {
    pub(in crate::load) fn new(separator: u8) -> Self {
        Self { separator, row_reader: Box::new(Mutex::new(reader(separator))) }
    }
}

/// A reader of its own for each use: a copy of a `csv_core::Reader` does not read what the first one reads.
fn reader(separator: u8) -> csv_core::Reader {
    csv_core::ReaderBuilder::new().delimiter(separator).build()
}

/// A row may be this long. A longer one is a quote that is not closed, and would take the rest of the file with it.
const LONGEST_ROW: usize = 64 << 20;

/// Rows with something in them, the buffer reused.
#[derive(Debug)]
pub(in crate::load) struct Records {
    input: BufReader<File>,
    splitter: csv_core::Reader,
    separator: u8,
    /// The row with its line end, as it is in the file.
    buffer: Vec<u8>,
    /// Where the splitter puts cells, which are not used.
    scratch: Box<[u8]>,
    /// The line on which the next row starts.
    line: usize,
    /// Whether what was read last is a `\r`, whose `\n` may follow.
    after_return: bool,
    pub seen: Seen,
}

impl Records {
    pub(in crate::load) fn new(input: BufReader<File>, dialect: &Dialect, seen: Seen) -> Self {
        Self {
            input,
            splitter: reader(dialect.separator),
            separator: dialect.separator,
            buffer: Vec::new(),
            scratch: vec![0; 8 * 1024].into(),
            line: 1,
            after_return: false,
            seen,
        }
    }

    /// The line and the text of the next row that is not blank.
    pub(in crate::load) fn next(&mut self) -> io::Result<Option<(usize, &[u8])>> {
        loop {
            let is_first = self.line == 1;
            if !self.fill()? {
                return Ok(None);
            }
            // `\n` of a `\r\n`, and empty lines, come before the row that follows them.
            let lead = self.buffer.iter().take_while(|byte| is_line_end(**byte)).count();
            let number = self.line + line_ends(&self.buffer[..lead], self.after_return);
            self.line += line_ends(&self.buffer, self.after_return);
            self.after_return = self.buffer.last() == Some(&b'\r');
            let blank =
                |byte: &u8| byte.is_ascii_whitespace() || [self.separator, b'"'].contains(byte);
            if self.buffer.iter().all(blank) {
                continue;
            }
            let end = self.buffer.iter().rposition(|byte| !is_line_end(*byte)).unwrap_or(0) + 1;
            let bytes = &self.buffer[lead..end];
            let bytes = if is_first { bytes.strip_prefix(BOM).unwrap_or(bytes) } else { bytes };
            return Ok(Some((number, bytes)));
        }
    }

    /// Takes one row from the input. `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        let mut ends = [0; 32];
        let found = loop {
            let input = self.input.fill_buf()?;
            let (result, taken, ..) =
                self.splitter.read_record(input, &mut self.scratch, &mut ends);
            self.buffer.extend_from_slice(&input[..taken]);
            self.input.consume(taken);
            match result {
                ReadRecordResult::Record => break true,
                ReadRecordResult::End => break false,
                _ if self.buffer.len() > LONGEST_ROW => {
                    let problem = format!(
                        "the row on line {} does not end; is a quote in it not closed?",
                        self.line
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
                }
                _ => {}
            }
        };
        // At the end there may be nothing, again and again.
        if !self.buffer.is_empty() {
            self.seen.add(&self.buffer);
        }
        Ok(found)
    }
}

pub(super) const BOM: &[u8] = "\u{feff}".as_bytes();

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// How many lines end in here: by `\n`, `\r\n` or `\r`. A `\r` may have come before.
fn line_ends(bytes: &[u8], after_return: bool) -> usize {
    let mut count = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let follows_return = if at == 0 { after_return } else { bytes[at - 1] == b'\r' };
        count += usize::from(bytes[at] == b'\r' || !follows_return);
    }
    count
}

/// The cells of one row, without their quotes.
pub(super) struct Cells {
    text: String,
    cells: Vec<Cell>,
}

struct Cell {
    /// Where it ends in the text; it begins where the one before ends.
    end: usize,
    /// Its place in the row, quotes included.
    span: Span,
}

impl Cells {
    pub(in crate::load) fn of(row: &str, dialect: &Dialect) -> Self {
        let mut reader = dialect.row_reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.reset();
        let input = row.as_bytes();
        let mut output = vec![0; input.len() + 1];
        let (mut start, mut at, mut end) = (0, 0, 0);
        let mut cells = Vec::new();
        loop {
            let (result, taken, put) = reader.read_field(&input[at..], &mut output[end..]);
            (at, end) = (at + taken, end + put);
            match result {
                ReadFieldResult::Field { record_end } => {
                    let stop = if record_end { at } else { at.saturating_sub(1) };
                    cells.push(Cell { end, span: span(start, stop) });
                    start = at;
                    if record_end {
                        break;
                    }
                }
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull | ReadFieldResult::End => break,
            }
        }
        output.truncate(end);
        // Separators and quotes are ASCII, so what is left of UTF-8 without them is UTF-8.
        Self { text: String::from_utf8(output).unwrap_or_default(), cells }
    }

    pub(in crate::load) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Each cell and its place.
    pub(in crate::load) fn iter(&self) -> impl Iterator<Item = (&str, Span)> {
        let mut start = 0;
        self.cells.iter().map(move |cell| {
            let text = self.text.get(start..cell.end).unwrap_or_default();
            start = cell.end;
            (text, cell.span)
        })
    }
}

fn span(start: usize, end: usize) -> Span {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: small(start), end: small(end) }
}

/// The text of a row, or a note that it has none.
pub(super) fn text_of<'r>(row: Row<'r>, notes: &mut Notes) -> Option<&'r str> {
    match std::str::from_utf8(row.bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let at = error.valid_up_to();
            let message = format!("byte {} of this row is not UTF-8", at + 1);
            notes
                .error("csv::utf8", Some(span(at, at + 1)), message)
                .help("save the file as UTF-8; spreadsheets call it `CSV UTF-8`")
                .costs(Cost::Case);
            notes.locate(&String::from_utf8_lossy(row.bytes), row.number);
            None
        }
    }
}

/// Notes cells whose quotes make no sense. `false` if there are any.
pub(super) fn check_quotes(row: &str, cells: &Cells, notes: &mut Notes) -> bool {
    let mut good = true;
    for (_, span) in cells.iter() {
        let raw = row.get(span.start as usize..span.end as usize).unwrap_or_default();
        let Some(inside) = raw.trim_start().strip_prefix('"') else { continue };
        if inside.len() + 1 < raw.len() {
            notes
                .error("csv::quote", Some(span), "a quote counts only where a cell begins")
                .help("remove the space before the quote")
                .costs(Cost::Case);
            good = false;
            continue;
        }
        // Two quotes in a quoted cell are one quote of its text.
        let without_pairs = inside.replace("\"\"", "  ");
        let message = match without_pairs.split_once('"') {
            Some((_, rest)) if rest.trim().is_empty() => continue,
            Some(_) => "there is text after the closing quote of this cell",
            None => "the quote that opens this cell is never closed",
        };
        notes
            .error("csv::quote", Some(span), message)
            .help("inside a quoted cell, write each quote twice: `\"\"`")
            .costs(Cost::Case);
        good = false;
    }
    good
}

impl Table {
    pub(in crate::load) fn records(
        &self,
        input: BufReader<File>,
        seen: Seen,
    ) -> io::Result<Records> {
        let mut records = Records::new(input, &self.dialect, seen);
        for _ in 0..self.head_rows {
            records.next()?;
        }
        Ok(records)
    }

    /// One row → one case. There is none if it is not wanted, or wrong, which is then noted.
    pub(super) fn read(
        &self,
        row: Row<'_>,
        scope: &CaseScope,
        purpose: LoadPurpose,
        notes: &mut Notes,
    ) -> ReadRow {
        self.with_node(row, notes, |node, origin, notes| {
            ReadRow::of(node, origin, |node| {
                scope.filter.wants(node).then_some(())?;
                case::check(node, row.ordinal, scope, purpose, notes)
            })
        })
        .unwrap_or_default()
    }

    /// Hands a row to `look`, as it would stand in JSON. `None` if it cannot be read, which is noted.
    pub(in crate::load) fn with_node<T>(
        &self,
        row: Row<'_>,
        notes: &mut Notes,
        look: impl FnOnce(&Node<'_>, IdOrigin, &mut Notes) -> T,
    ) -> Option<T> {
        let text = text_of(row, notes)?;
        let cells = Cells::of(text, &self.dialect);
        let is_whole = check_quotes(text, &cells, notes) && self.check_length(&cells, notes);
        let node = is_whole.then(|| self.node(&cells, notes)).flatten();
        let seen = node.map(|mut node| {
            let origin = row_ids::complete(&mut node);
            look(&node, origin, notes)
        });
        notes.locate(text, row.number);
        seen
    }

    /// Hands a row that can be read to `look`, with its text.
    pub(super) fn look_at(&self, row: Row<'_>, look: impl FnOnce(&Node<'_>, IdOrigin, &str)) {
        let text = String::from_utf8_lossy(row.bytes);
        self.with_node(row, &mut Notes::new(""), |node, origin, _| look(node, origin, &text));
    }

    /// A row must have a cell for each column; blank ones more are what spreadsheets leave behind.
    fn check_length(&self, cells: &Cells, notes: &mut Notes) -> bool {
        let (wanted, found) = (self.columns.len(), cells.len());
        let has_more = cells.iter().skip(wanted).any(|(cell, _)| !cell.trim().is_empty());
        if found >= wanted && !has_more {
            return true;
        }
        let place = cells.iter().nth(wanted.min(found.saturating_sub(1)));
        let message = format!("this row has {found} cells, but the header has {wanted}");
        let separator = self.separator();
        let help = format!("put quotes around a cell that has {separator} or a line break in it");
        notes
            .error("csv::cells", place.map(|(_, span)| span), message)
            .help(help)
            .costs(Cost::Case);
        false
    }

    fn separator(&self) -> &'static str {
        match self.dialect.separator {
            b'\t' => "a tab",
            b';' => "a semicolon",
            b'|' => "a bar",
            _ => "a comma",
        }
    }

    /// The case as it would stand in JSON. `None` if a cell cannot be read, which is noted.
    fn node<'c>(&self, cells: &'c Cells, notes: &mut Notes) -> Option<Node<'c>> {
        let mut case = Map::with_capacity(self.columns.len() + 1);
        let mut vars = Map::new();
        let mut good = true;
        let mut whole = Span::default();
        for (column, (cell, span)) in self.columns.iter().zip(cells.iter()) {
            whole = Span { start: 0, end: span.end };
            // An empty cell says nothing, but for a var, which is empty then.
            let is_needed = column.place == ColumnPlace::Var && column.shape == Shape::Text;
            if cell.is_empty() && !is_needed {
                continue;
            }
            let Some(value) = value(column, cell, span, notes) else {
                good = false;
                continue;
            };
            match column.place {
                ColumnPlace::Case(key) => case.push(entry(Cow::Borrowed(key), span, value)),
                ColumnPlace::Var => vars.push(entry(Cow::Owned(column.name.clone()), span, value)),
                ColumnPlace::Nowhere => {}
            }
        }
        join(&mut case, vars, whole);
        good.then(|| Node::new(Kind::Map(case), whole))
    }
}

fn entry<'c>(key: Cow<'c, str>, span: Span, value: Node<'c>) -> Entry<'c> {
    Entry { key, key_span: span, value }
}

/// Puts the vars of columns to those of a column `vars`, over which they win.
fn join<'c>(case: &mut Map<'c>, vars: Map<'c>, whole: Span) {
    if vars.is_empty() {
        return;
    }
    let given = case.iter_mut().find(|entry| entry.key == "vars");
    match given.map(|entry| &mut entry.value.kind) {
        Some(Kind::Map(map)) => {
            map.retain(|old| vars.iter().all(|new| new.key != old.key));
            map.extend(vars);
        }
        // What is no mapping is told of when the case is checked.
        Some(_) => {}
        None => {
            let node = Node::new(Kind::Map(vars), whole);
            case.push(entry(Cow::Borrowed("vars"), whole, node));
        }
    }
}

/// What a cell says.
fn value<'c>(column: &Column, cell: &'c str, span: Span, notes: &mut Notes) -> Option<Node<'c>> {
    let text = |text: &'c str| Node::new(Kind::Text(Cow::Borrowed(text)), span);
    match column.shape {
        Shape::Text => Some(text(cell)),
        Shape::Tags => {
            let tags = cell.split(';').map(str::trim).filter(|tag| !tag.is_empty());
            Some(Node::new(Kind::List(tags.map(text).collect()), span))
        }
        Shape::Json => match json::parse(cell) {
            Ok(node) => Some(node.placed(span)),
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.split(" at line ").next().unwrap_or_default();
                let message = format!("the cell under `{}` must be JSON: {reason}", column.name);
                notes
                    .error("csv::json", Some(span), message)
                    .help("write JSON in the cell, in quotes, with each quote of its own twice")
                    .costs(Cost::Case);
                None
            }
        },
    }
}
