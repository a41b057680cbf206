//! Numbers that may be written as text, as older files do: `max_retries: "3"`.

use super::{FromNode, Kind, Node, Wrong};
use serde_json::Number;

/// A finite number, or a text that is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numeric(pub f64);

/// A whole number from 0 up, or a text that is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub u64);

impl FromNode for Numeric {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        f64::from_node(&bare(node)).map(Self)
    }
}

impl FromNode for Count {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        u64::from_node(&bare(node)).map(Self)
    }
}

/// The number that a text is, or the node as it is.
fn bare<'t>(node: &Node<'t>) -> Node<'t> {
    let number = node.as_text().and_then(|text| text.trim().parse().ok());
    let number = number.and_then(Number::from_f64);
    number.map_or_else(|| node.clone(), |number| Node::new(Kind::Number(number), node.span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Span;

    fn text(text: &'static str) -> Node<'static> {
        Node::new(Kind::Text(text.into()), Span::default())
    }

    #[test]
    fn a_text_may_be_a_number() {
        assert_eq!(Numeric::from_node(&text(" 0.5 ")), Ok(Numeric(0.5)));
        assert_eq!(Count::from_node(&text("3")), Ok(Count(3)));
        assert!(Count::from_node(&text("3.5")).is_err());
        assert!(Count::from_node(&text("-1")).is_err());
        assert!(Numeric::from_node(&text("inf")).is_err());
        assert!(Numeric::from_node(&text("three")).is_err());
    }
}
