//! The files that cases refer to: found, read and kept, since many cases name the same ones.

use super::guidelines::Guidelines;
use crate::config::{FileSearch, Found};
use crate::file_input;
use crate::hash::sha256;
use agentv_core::suite::Attachment;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Finds and reads attachments.
#[derive(Debug)]
pub(in crate::load) struct Files {
    search: FileSearch,
    guidelines: Guidelines,
    /// By reference as written. A lock and not a message, as cases are read by the workers that run them.
    known: Mutex<HashMap<String, Result<Known, Missing>>>,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub(in crate::load) struct Known {
    pub attachment: Attachment,
    pub is_guideline: bool,
    pub digest: [u8; 32],
}

/// Why a reference leads nowhere.
#[derive(Debug, Clone)]
pub(in crate::load) enum Missing {
    NotFound { tried: Vec<PathBuf> },
    Unreadable { path: PathBuf, reason: String },
}

/// Files up to this many are kept; past that, memory would grow with the number of cases.
const KEPT: usize = 256;

impl Files {
    pub(in crate::load) fn new(search: FileSearch, guidelines: Guidelines) -> Self {
        Self { search, guidelines, known: Mutex::default() }
    }

    pub(in crate::load) fn search(&self) -> &FileSearch {
        &self.search
    }

    pub(in crate::load) fn guidelines(&self) -> &Guidelines {
        &self.guidelines
    }

    /// The file that a reference names.
    pub(in crate::load) fn get(&self, reference: &str) -> Result<Known, Missing> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = known.get(reference) {
            return file.clone();
        }
        let file = self.read(reference);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(reference.to_owned(), file.clone());
        file
    }

    fn read(&self, reference: &str) -> Result<Known, Missing> {
        let Found { path, display } =
            self.search.find(reference).map_err(|tried| Missing::NotFound { tried })?;
        let bytes = file_input::read(&path).map_err(|error| Missing::Unreadable {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        Ok(Known {
            is_guideline: self.guidelines.cover(&path),
            digest: sha256(&bytes),
            attachment: Attachment { display, path, text: Arc::from(text) },
        })
    }
}
