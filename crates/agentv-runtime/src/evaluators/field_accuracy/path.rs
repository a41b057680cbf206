//! Where a field is: `invoice.lines[0].price`.

use serde_json::Value;

/// The way to a field, step by step; at least one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// A key of an object; or, written as a number, a place in a list.
    Key(String),
    /// A place in a list.
    Place(usize),
}

impl Path {
    /// The problem, if it is no path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (key, places) = part.split_at(part.find('[').unwrap_or(part.len()));
            // `[0].price` begins with a place, and so may any part: `lines.[0]`.
            if !key.is_empty() {
                steps.push(Step::Key(key.to_owned()));
            } else if places.is_empty() {
                return Err("a key is missing before or after a dot".to_owned());
            }
            parse_places(places, &mut steps)?;
        }
        Ok(Self(steps))
    }

    pub(super) fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, step| match (value, step) {
            (Value::Object(object), Step::Key(key)) => object.get(key),
            (Value::Array(list), Step::Key(key)) => list.get(key.parse::<usize>().ok()?),
            (Value::Array(list), Step::Place(place)) => list.get(*place),
            _ => None,
        })
    }
}

/// `[0][1]`
fn parse_places(text: &str, steps: &mut Vec<Step>) -> Result<(), String> {
    let mut rest = text;
    while !rest.is_empty() {
        let Some((place, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        else {
            return Err("misplaced bracket".to_owned());
        };
        let Some(place) = whole_number(place) else {
            return Err(format!("`[{place}]` is not a list index"));
        };
        steps.push(Step::Place(place));
        rest = after;
    }
    Ok(())
}

/// Digits only: `usize` itself would take `+1`.
fn whole_number(text: &str) -> Option<usize> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(path: &str, expected: Option<&Value>) {
        let value = json!({ "a": { "b": [10, { "c": 20, "0": 40 }, [30]] }, "x y": 1, "n": null });
        assert_eq!(Path::parse(path).unwrap().find(&value), expected);
    }

    #[test]
    fn keys_and_places_lead_to_a_value() {
        check("a.b[0]", Some(&json!(10)));
        check("a.b[1].c", Some(&json!(20)));
        check("a.b[2][0]", Some(&json!(30)));
        check("a.b.1.0", Some(&json!(40)));
        check("a.b.[1].c", Some(&json!(20)));
        check("x y", Some(&json!(1)));
        check("n", Some(&Value::Null));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for path in ["b", "a[0]", "a.b[9]", "a.b.c", "n.m", "a.b[0].c", "a.b[1][0]"] {
            check(path, None);
        }
    }

    #[test]
    fn a_list_can_be_the_root() {
        let path = Path::parse("[1].a").unwrap();
        assert_eq!(path.find(&json!([0, { "a": 1 }])), Some(&json!(1)));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (path, problem) in [
            ("", "it is empty"),
            ("a..b", "a key is missing before or after a dot"),
            (".a", "a key is missing before or after a dot"),
            ("a.", "a key is missing before or after a dot"),
            ("a[0", "misplaced bracket"),
            ("a[0]b", "misplaced bracket"),
            ("a[x]", "`[x]` is not a list index"),
            ("a[]", "`[]` is not a list index"),
            ("a[-1]", "`[-1]` is not a list index"),
            ("a[+1]", "`[+1]` is not a list index"),
            ("a[99999999999999999999]", "`[99999999999999999999]` is not a list index"),
        ] {
            assert_eq!(Path::parse(path), Err(problem.to_owned()), "{path}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(path in "([a-b.\\[\\]0-9é]|.)*") {
            if let Ok(path) = Path::parse(&path) {
                path.find(&json!({ "a": [{ "b": [1] }] }));
            }
        }
    }
}
