//! Columns of text that line up, whatever letters are in them.

use super::line::Line;
use super::style::{BOLD, DIM, PLAIN, Paint};
use super::text::cut_middle;
use crate::clean::clean;
use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

/// Between columns.
const GAP: &str = "  ";
/// The first column is never cut below this.
const NARROWEST: usize = 12;

/// On which side a column lines up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A table with a head. The first column holds names; where the screen is too narrow, names are cut.
#[derive(Debug)]
pub(super) struct TextTable {
    columns: Vec<(String, Side, usize)>,
    /// Columns that a narrow screen can do without.
    optional: Vec<usize>,
    rows: Vec<Vec<Cell>>,
}

/// A text with its colour.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self::styled(text, PLAIN)
    }

    /// The text is cleaned here, so that a column is as wide as what is shown in it.
    pub(super) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: clean(text.as_ref()).into_owned(), style }
    }
}

impl TextTable {
    pub(super) fn new() -> Self {
        Self { columns: Vec::new(), optional: Vec::new(), rows: Vec::new() }
    }

    /// Adds a column that is at least so wide.
    pub(super) fn column(mut self, title: &str, side: Side, width: usize) -> Self {
        self.columns.push((title.to_owned(), side, width));
        self
    }

    /// Leaves out the last column where there is no room for it.
    pub(super) fn optional(mut self) -> Self {
        self.optional.extend(self.columns.len().checked_sub(1));
        self
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The lines, no wider than the screen if that is known and wide enough.
    pub(super) fn lines(&self, paint: Paint, screen: Option<usize>) -> Vec<Line> {
        let widths = self.widths(screen);
        let is_narrow = screen.is_some_and(|screen| whole(&widths) > screen);
        if let Some(column) = self.optional.last().filter(|_| is_narrow) {
            return self.without(*column).lines(paint, screen);
        }
        let heads: Vec<Cell> =
            self.columns.iter().map(|(title, ..)| Cell::styled(title, BOLD)).collect();
        // A column without a title holds remarks.
        let rule = |title: &str, width: usize| {
            if title.is_empty() { String::new() } else { "─".repeat(width) }
        };
        let rules = self.columns.iter().zip(&widths);
        let rules =
            rules.map(|((title, ..), width)| Cell::styled(rule(title, *width), DIM)).collect();
        let rows = [heads, rules];
        rows.iter().chain(&self.rows).map(|row| self.line(row, &widths, paint)).collect()
    }

    fn widths(&self, screen: Option<usize>) -> Vec<usize> {
        let widest = |index: usize| {
            self.rows.iter().filter_map(|row| Some(row.get(index)?.text.width())).max().unwrap_or(0)
        };
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<usize> = columns
            .map(|(index, (title, _, least))| title.width().max(*least).max(widest(index)))
            .collect();
        let all = whole(&widths);
        if let (Some(screen), Some(first)) = (screen, widths.first_mut()) {
            let over = all.saturating_sub(screen);
            *first = first.saturating_sub(over).max(NARROWEST.min(*first));
        }
        widths
    }

    /// The table without its last optional column, which is this one.
    fn without(&self, column: usize) -> Self {
        let mut table = Self { columns: self.columns.clone(), ..Self::new() };
        table.columns.remove(column);
        table.optional.extend(self.optional.iter().filter(|other| **other != column));
        for row in &self.rows {
            let cells = row.iter().enumerate().filter(|(index, _)| *index != column);
            table.row(cells.map(|(_, cell)| cell.clone()).collect());
        }
        table
    }

    fn line(&self, row: &[Cell], widths: &[usize], paint: Paint) -> Line {
        let mut line = Line::default();
        // Written only before more text, so that no line ends in spaces.
        let mut margin = String::new();
        for ((cell, width), (_, side, _)) in row.iter().zip(widths).zip(&self.columns) {
            let text = cut_middle(&cell.text, *width);
            let room = " ".repeat(width - text.width());
            if *side == Side::Right {
                margin.push_str(&room);
            }
            if text.trim_end().is_empty() {
                margin.push_str(&text);
            } else {
                line += &*std::mem::take(&mut margin);
                line += paint.paint(cell.style, &text);
            }
            if *side == Side::Left {
                margin.push_str(&room);
            }
            margin.push_str(GAP);
        }
        line
    }
}

/// How wide a line of such columns is.
fn whole(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table =
            TextTable::new().column("Name", Side::Left, 0).column("Score", Side::Right, 7);
        table.row(vec![Cell::new("a-rather-long-name-of-a-case"), Cell::new("1.00")]);
        table.row(vec![Cell::new("日本語"), Cell::new("0.25")]);
        table
    }

    fn lines(table: &TextTable, width: Option<usize>) -> Vec<String> {
        let lines = table.lines(Paint::Plain, width);
        lines.iter().map(|line| line.as_str().to_owned()).collect()
    }

    #[test]
    fn columns_line_up_whatever_letters_are_in_them() {
        assert_eq!(
            lines(&table(), None),
            [
                "Name                            Score",
                "────────────────────────────  ───────",
                "a-rather-long-name-of-a-case     1.00",
                "日本語                           0.25",
            ]
        );
    }

    #[test]
    fn a_narrow_screen_cuts_names_in_the_middle() {
        assert_eq!(
            lines(&table(), Some(25)),
            [
                "Name                Score",
                "────────────────  ───────",
                "a-rather…-a-case     1.00",
                "日本語               0.25",
            ]
        );
        assert!(lines(&table(), Some(1))[2].starts_with("a-rath…-case"));
    }

    #[test]
    fn a_narrow_screen_goes_without_optional_columns() {
        let mut table = TextTable::new()
            .column("Name", Side::Left, 12)
            .column("Time", Side::Right, 0)
            .optional()
            .column("Score", Side::Right, 0);
        table.row(vec![Cell::new("a"), Cell::new("1 s"), Cell::new("1.00")]);
        let lines = |width| lines(&table, Some(width));
        assert_eq!(lines(25)[2], "a              1 s   1.00");
        assert_eq!(lines(24)[0], "Name          Score");
        assert_eq!(lines(24)[2], "a              1.00");
    }
}
