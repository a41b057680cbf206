//! What a line on the screen is made of: text, which is cleaned on its way in, and styles, which are only ours. Nothing else
//! can be printed, so no print can forget to clean.

use crate::clean::clean;
use std::fmt;
use std::ops::{Add, AddAssign};

/// A line without its end, or a part of one.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Line(String);

impl Line {
    /// A text between two sequences of ours.
    pub(super) fn styled(style: anstyle::Style, text: &str) -> Self {
        Self(format!("{style}{}{style:#}", clean(text)))
    }

    /// What goes to the terminal.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Parts with a gap between them.
    pub(super) fn joined(parts: impl IntoIterator<Item = Self>, gap: &str) -> Self {
        let mut line = Self::default();
        for part in parts {
            if !line.0.is_empty() {
                line += gap;
            }
            line += part;
        }
        line
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<T: AsRef<str>> From<T> for Line {
    fn from(text: T) -> Self {
        Self(clean(text.as_ref()).into_owned())
    }
}

impl AddAssign<Self> for Line {
    fn add_assign(&mut self, part: Self) {
        self.0.push_str(&part.0);
    }
}

impl AddAssign<&str> for Line {
    fn add_assign(&mut self, text: &str) {
        self.0.push_str(&clean(text));
    }
}

impl<P> Add<P> for Line
where
    Self: AddAssign<P>,
{
    type Output = Self;

    fn add(mut self, part: P) -> Self {
        self += part;
        self
    }
}
