//! Names that must not be mixed up. Cheap to clone, since records, events and jobs all carry them.

use std::fmt;
use std::sync::Arc;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The id of a case. Not always unique: see [`crate::suite::CaseKey`].
    EvalId
}
name! {
    /// The name of a target in its targets file.
    TargetName
}
name! {
    /// The name of an evaluator in its case.
    EvaluatorName
}

/// A name as a part of a file name: no separators, no surprises, not too long.
pub fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().take(64).map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_directory() {
        assert_eq!(file_name("../../etc/passwd"), ".._.._etc_passwd");
        assert_eq!(file_name("é a"), "__a");
        assert_eq!(file_name(&"x".repeat(900)).len(), 64);
    }
}
