//! `needs: [LABEL]` of a suite or a target: what a worker must have to get its cases.

use crate::config::Fields;
use std::collections::BTreeSet;

/// Labels that something needs, or that a worker has.
pub type Labels = BTreeSet<String>;

const LONGEST: usize = 32;

/// Whether a label can be used. Labels become parts of names on the server.
pub fn is_label(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !text.is_empty()
        && text.len() <= LONGEST
        && text.bytes().all(|byte| is_plain(byte) || byte == b'-' || byte == b'_')
}

/// Reads the key. What is wrong is noted.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Labels {
    let labels: Vec<String> = fields.take("needs").unwrap_or_default();
    if let Some(wrong) = labels.iter().find(|label| !is_label(label)) {
        let message = format!(
            "`{wrong}` in `needs` of {} must have up to {LONGEST} lowercase letters, digits, `-` and `_`",
            fields.owner()
        );
        fields
            .error("needs::label", "needs", message)
            .help("write labels such as `gpu` or `docker`");
    }
    labels.into_iter().collect()
}
