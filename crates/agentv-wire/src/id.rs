//! Names that must not be mixed up. Cheap to clone, since records, events and jobs all carry them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema,
        )]
        #[serde(from = "String")]
        #[schemars(with = "String")]
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

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
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
    /// A suite: the canonical path of its eval file, with `/` between its parts. It starts at the project root, so that it
    /// is the same on every machine; a suite outside of the project has its absolute path.
    SuiteId
}
name! {
    /// The id of a case, unique in its suite.
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
