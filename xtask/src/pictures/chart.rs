//! The few shapes that a chart needs, on a light card that is legible on light and dark pages.

use std::fmt::Write as _;

pub(super) const INK: &str = "#1f2328";
pub(super) const FAINT: &str = "#656d76";
pub(super) const RULE: &str = "#d0d7de";
pub(super) const BLUE: &str = "#0969da";
pub(super) const GREEN: &str = "#1a7f37";
pub(super) const RED: &str = "#cf222e";

/// A point in the drawing, in pixels from its upper left corner.
#[derive(Clone, Copy)]
pub(super) struct At(pub f64, pub f64);

/// How a text looks.
#[derive(Clone, Copy)]
pub(super) struct Lettering {
    pub colour: &'static str,
    pub is_bold: bool,
    /// `start`, `middle` or `end`: which part of the text is at its point.
    pub anchor: &'static str,
}

pub(super) const PLAIN: Lettering = Lettering { colour: INK, is_bold: false, anchor: "start" };

pub(super) struct Chart {
    svg: String,
}

impl Chart {
    /// An empty card. The label is what screen readers say.
    pub(super) fn new(width: f64, height: f64, label: &str) -> Self {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{label}\">\n\
             <style>text {{ font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif }} \
             .b {{ font-weight: 600 }}</style>\n\
             <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"9\" fill=\"#ffffff\" stroke=\"{RULE}\"/>\n",
            width - 1.0,
            height - 1.0,
        );
        Self { svg }
    }

    pub(super) fn text(&mut self, At(x, y): At, lettering: Lettering, text: &str) {
        let Lettering { colour, is_bold, anchor } = lettering;
        let class = if is_bold { " class=\"b\"" } else { "" };
        let _ = writeln!(
            self.svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\" text-anchor=\"{anchor}\"{class}>{text}</text>"
        );
    }

    pub(super) fn dot(&mut self, At(x, y): At, radius: f64, colour: &str) {
        let _ = writeln!(
            self.svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"
        );
    }

    pub(super) fn line(&mut self, from: At, to: At, colour: &str, width: f64) {
        self.stroke(from, to, &format!("stroke=\"{colour}\" stroke-width=\"{width}\""));
    }

    pub(super) fn dashed(&mut self, from: At, to: At, colour: &str) {
        self.stroke(from, to, &format!("stroke=\"{colour}\" stroke-dasharray=\"4 4\""));
    }

    fn stroke(&mut self, At(x1, y1): At, At(x2, y2): At, look: &str) {
        let _ = writeln!(
            self.svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {look} stroke-linecap=\"round\"/>"
        );
    }

    pub(super) fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}
