//! Work → jobs.

use super::JobError;
use super::files::{JobFiles, SentFile};
use crate::load::{LoadedSuite, written_head};
use crate::run::{AnswerSource, Batch, BatchJob, Job, JobFile, Work};
use crate::session::Environment;
use agentv_core::EvalCase;
use agentv_wire::{Object, SuiteId};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes jobs of the work of a run. Cases must have been loaded as portable ones.
#[derive(Debug)]
pub struct JobWriter {
    project_root: PathBuf,
    files: JobFiles,
    /// The keys of each suite, as written. A lock and not a message: a suite is read once.
    heads: Mutex<HashMap<SuiteId, Arc<Object>>>,
}

/// A job, and where its files are here.
#[derive(Debug)]
pub struct WrittenJob<J> {
    pub job: J,
    pub files: Vec<SentFile>,
}

impl JobWriter {
    pub fn new(environment: &Environment) -> Self {
        Self {
            project_root: environment.project_root.clone(),
            files: JobFiles::below(&environment.repo_root),
            heads: Mutex::default(),
        }
    }

    /// The job of a piece of work. An answer that is there already travels with it.
    pub fn job(
        &self,
        work: &Work,
        source: Box<dyn AnswerSource>,
    ) -> Result<WrittenJob<Job>, JobError> {
        let head = self.head(&work.id.suite)?;
        let (mut files, mut sent) = self.files_of_suite(&work.on.suite)?;
        let case = self.case(&work.case, (&mut files, &mut sent))?;
        let job = Job::new(work, (*head).clone(), case, files, source.known());
        Ok(WrittenJob { job, files: sent })
    }

    /// The job of a batch.
    pub fn batch_job(&self, batch: Batch<'_>) -> Result<WrittenJob<BatchJob>, JobError> {
        let suite = &batch.lane.suite;
        let head = self.head(&suite.suite.id)?;
        let (mut files, mut sent) = self.files_of_suite(suite)?;
        let cases: Result<Vec<Object>, JobError> =
            batch.cases.iter().map(|case| self.case(case, (&mut files, &mut sent))).collect();
        let job = BatchJob::new(batch, (*head).clone(), cases?, files);
        Ok(WrittenJob { job, files: sent })
    }

    fn case(
        &self,
        case: &EvalCase,
        (files, sent): (&mut BTreeMap<String, JobFile>, &mut Vec<SentFile>),
    ) -> Result<Object, JobError> {
        let written = case.written.as_ref();
        let written = written.ok_or_else(|| JobError::NotPortable(case.id.to_string()))?;
        for path in &written.files {
            self.files.add(path, (files, sent))?;
        }
        let mut case_as_written = written.case.clone();
        // Rows without an id have got one.
        case_as_written.insert("id".to_owned(), case.id.as_str().into());
        Ok(case_as_written)
    }

    /// What every case of a suite needs: its directory, where commands run, and the configuration.
    fn files_of_suite(
        &self,
        suite: &LoadedSuite,
    ) -> Result<(BTreeMap<String, JobFile>, Vec<SentFile>), JobError> {
        let (mut files, mut sent) = (BTreeMap::new(), Vec::new());
        if let Some(dir) = self.files.name(&suite.suite.dir).filter(|name| !name.is_empty()) {
            files.insert(dir, JobFile::Directory { directory: true });
        }
        for path in &suite.config_files {
            self.files.add(path, (&mut files, &mut sent))?;
        }
        Ok((files, sent))
    }

    fn head(&self, id: &SuiteId) -> Result<Arc<Object>, JobError> {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(head) = heads.get(id) {
            return Ok(Arc::clone(head));
        }
        let head = written_head(&self.project_root.join(id.as_str()));
        let head = Arc::new(head.ok_or_else(|| JobError::Unreadable(id.clone()))?);
        heads.insert(id.clone(), Arc::clone(&head));
        Ok(head)
    }
}
