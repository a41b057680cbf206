//! A value that must not be seen.

use std::fmt;

/// A key or token. It can be compared and handed to the header it is meant for; it cannot be printed or serialized, so it
/// cannot end up in a log, a record or an error by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself. Every call of this is a place to look at in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Which of the secrets in the environment a child gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretAccess {
    /// All of them.
    All,
    /// All but those that targets use for their calls, and of those only what is passed by name.
    NotOfTargets,
    /// Only those that are passed by name.
    Passed,
}

const SHOWN: &str = "Secret(…)";

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHOWN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Some(Secret::new("canary"));
        assert_eq!(format!("{secret:?}"), "Some(Secret(…))");
        assert_eq!(Secret::new("canary").to_string(), "Secret(…)");
    }
}
