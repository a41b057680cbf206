//! The text of files.

use crate::config::Notes;
use crate::file_input::{self, CAP};
use std::path::Path;

/// The text of a file, which must be UTF-8. The user may have named a pipe.
pub(in crate::load) fn read_text(path: &Path, notes: &mut Notes) -> Option<String> {
    let bytes = match file_input::read_argument(path, CAP) {
        Ok(bytes) => bytes,
        Err(error) => {
            notes.error("file::unreadable", None, format!("the file cannot be read: {error}"));
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let message = format!(
                "the file is not UTF-8 text (byte {})",
                error.utf8_error().valid_up_to() + 1
            );
            notes.error("file::utf8", None, message).help("save the file as UTF-8");
            None
        }
    }
}
