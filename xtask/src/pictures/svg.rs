//! A terminal's screen as a drawing.

use std::fmt::Write as _;
use vt100::{Cell, Color, Screen};

const FONT: f64 = 14.0;
const COLUMN: f64 = 8.43;
const ROW: f64 = 19.0;
const MARGIN: f64 = 18.0;
/// The bar above, with the command.
const BAR: f64 = 34.0;

const BACKGROUND: &str = "#16181d";
const PLAIN: &str = "#d7dae0";
/// Black to white, then the same in bright.
const PALETTE: [&str; 16] = [
    "#3a3f4b", "#ef6b73", "#7cc379", "#e2b45c", "#5ea9ee", "#c285dd", "#56b9c6", "#c8ccd4",
    "#6c7280", "#ff8088", "#95db90", "#f2ca78", "#7fc0ff", "#d9a0f0", "#74d3df", "#ffffff",
];

/// All rows down to the last that has something on it.
pub(super) fn draw(screen: &Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let last =
        (0..rows).rev().find(|row| (0..columns).any(|column| is_drawn(screen, *row, column)));
    let rows = last.map_or(1, |row| row + 1);
    let (width, height) =
        (f64::from(columns) * COLUMN + 2.0 * MARGIN, BAR + f64::from(rows) * ROW + MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">\n\
         <style>text {{ font: {FONT}px ui-monospace, 'SFMono-Regular', 'DejaVu Sans Mono', Menlo, Consolas, monospace; \
         white-space: pre; fill: {PLAIN} }} .b {{ font-weight: 700 }} .d {{ opacity: 0.6 }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"9\" fill=\"{BACKGROUND}\"/>\n",
        escaped(title)
    );
    for (number, colour) in ["#ef6b73", "#e2b45c", "#7cc379"].iter().enumerate() {
        let x = MARGIN + 3.0 + 17.0 * f64::from(u8::try_from(number).unwrap_or(0));
        let _ = writeln!(svg, "<circle cx=\"{x:.0}\" cy=\"17\" r=\"5.5\" fill=\"{colour}\"/>");
    }
    let middle = width / 2.0;
    let _ = writeln!(
        svg,
        "<text x=\"{middle:.0}\" y=\"22\" class=\"d\" text-anchor=\"middle\">{}</text>",
        escaped(title)
    );
    for row in 0..rows {
        for run in runs(screen, row, columns) {
            svg.push_str(&run.text(row));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn is_drawn(screen: &Screen, row: u16, column: u16) -> bool {
    screen.cell(row, column).is_some_and(|cell| !cell.contents().trim().is_empty())
}

/// Neighbours that look alike.
struct Run {
    column: u16,
    columns: u16,
    look: Look,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
struct Look {
    colour: Color,
    is_bold: bool,
    is_dim: bool,
}

fn runs(screen: &Screen, row: u16, columns: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let look = look(cell);
        let text = if cell.contents().is_empty() { " " } else { cell.contents() };
        match runs.last_mut() {
            Some(run) if run.look == look => {
                run.text.push_str(text);
                run.columns += columns_of(cell);
            }
            _ => {
                let columns = columns_of(cell);
                runs.push(Run { column, columns, look, text: text.to_owned() });
            }
        }
    }
    runs.retain(|run| !run.text.trim().is_empty());
    runs
}

fn columns_of(cell: &Cell) -> u16 {
    if cell.is_wide() { 2 } else { 1 }
}

fn look(cell: &Cell) -> Look {
    Look { colour: cell.fgcolor(), is_bold: cell.bold(), is_dim: cell.dim() }
}

impl Run {
    fn text(&self, row: u16) -> String {
        // Blanks are not drawn; each of them is one column.
        let blanks = |trimmed: &str| u16::try_from(self.text.len() - trimmed.len()).unwrap_or(0);
        let skipped = blanks(self.text.trim_start());
        let text = self.text.trim();
        let columns = self.columns - skipped - blanks(self.text.trim_end());
        let x = MARGIN + f64::from(self.column + skipped) * COLUMN;
        let y = BAR + f64::from(row) * ROW + FONT;
        // Whatever font there is: columns line up.
        let length = f64::from(columns) * COLUMN;
        let class = match (self.look.is_bold, self.look.is_dim) {
            (false, false) => "",
            (true, false) => " class=\"b\"",
            (false, true) => " class=\"d\"",
            (true, true) => " class=\"b d\"",
        };
        let colour = colour(self.look.colour).map(|colour| format!(" style=\"fill:{colour}\""));
        format!(
            "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\"{class}{}>{}</text>\n",
            colour.unwrap_or_default(),
            escaped(text)
        )
    }
}

fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Idx(index) => PALETTE.get(usize::from(index)).map(|colour| (*colour).to_owned()),
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
