//! A provider whose calls are written down; itself a provider.

use super::call::{CallKey, CassetteError, CassetteHeader, CassetteLine, VERSION};
use crate::atomic_file::AtomicFile;
use crate::cache::{RequestDigest, took};
use agentv_core::call::Role;
use agentv_core::{
    BatchProvider, CallContext, Layer, Provider, ProviderError, Request, Response, TargetName,
};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Gathers the calls of a run.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    /// Words that name files below it are the same on every machine.
    root: PathBuf,
    /// A lock and not a message: calls come from many threads, and each is kept in a moment.
    tape: Mutex<Recorded>,
}

#[derive(Debug)]
struct Recorded {
    calls: Vec<(CallKey, String)>,
    /// Lies beside the cassette until the end, so that a cassette is whole or as it was.
    file: Option<AtomicFile>,
}

impl Recorder {
    /// Makes sure that the file can be written before anything is paid for.
    pub fn new(path: &Path, root: &Path) -> Result<Self, CassetteError> {
        let file = AtomicFile::create_with_directory(path)
            .map_err(|source| CassetteError::Unwritable { path: path.to_owned(), source })?;
        let tape = Mutex::new(Recorded { calls: Vec::new(), file: Some(file) });
        Ok(Self { path: path.to_owned(), root: root.to_owned(), tape })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file, and tells how many calls are in it. Sorted, so that the order of the workers leaves no trace.
    pub fn finish(&self) -> Result<usize, CassetteError> {
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        let Recorded { calls, file } = &mut *tape;
        calls.sort();
        let written = match file.take() {
            Some(file) => write(file, calls),
            None => Err(io::Error::other("it was written before")),
        };
        written.map_err(|source| CassetteError::Unwritable { path: self.path.clone(), source })?;
        Ok(calls.len())
    }

    fn note(&self, call: CallKey, asked: RequestDigest, outcome: &Result<Response, ProviderError>) {
        let line = CassetteLine::new(call.clone(), asked.to_string(), outcome);
        // What came as JSON can be written as JSON.
        if let Ok(text) = line.text() {
            let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
            tape.calls.push((call, text));
        }
    }
}

fn write(mut file: AtomicFile, calls: &[(CallKey, String)]) -> io::Result<()> {
    let head = serde_json::to_string(&CassetteHeader { agentv_cassette: VERSION })?;
    let mut text = head + "\n";
    for (_, line) in calls {
        text.push_str(line);
        text.push('\n');
    }
    file.write_all(text.as_bytes())?;
    file.commit_synced()
}

/// Asks, and has what came back written down, errors too.
#[derive(Debug)]
pub struct RecordingProvider {
    target: TargetName,
    provider: Arc<dyn Provider>,
    recorder: Arc<Recorder>,
}

impl RecordingProvider {
    pub fn new(target: TargetName, provider: Arc<dyn Provider>, recorder: Arc<Recorder>) -> Self {
        Self { target, provider, recorder }
    }

    /// Looked at before the call, which may change the files.
    fn digest(&self, request: &Request) -> RequestDigest {
        RequestDigest::of(request, Some(&self.recorder.root))
    }

    async fn call(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        self.provider.prepare(cx).await?;
        let started = Instant::now();
        let mut response = self.provider.invoke(request, cx).await?;
        took(&mut response, started.elapsed());
        Ok(response)
    }

    /// What the caller makes of the outcome. Whoever is told to stop has taken too long: a run that the user stops leaves
    /// no cassette.
    fn as_seen(
        &self,
        outcome: &Result<Response, ProviderError>,
        cx: &CallContext,
    ) -> Result<Response, ProviderError> {
        if !cx.cancel.is_cancelled() {
            return outcome.clone();
        }
        let who = match cx.purpose.role {
            Role::Judge => format!("the judge `{}`", self.target),
            Role::Candidate | Role::Proxy => "the target".to_owned(),
        };
        Err(ProviderError::timed_out(&who, cx.time_limit.unwrap_or(Duration::ZERO)))
    }
}

impl Layer for RecordingProvider {
    fn inner(&self) -> &dyn Provider {
        &*self.provider
    }

    async fn ask(&self, request: &Request, cx: &CallContext) -> Result<Response, ProviderError> {
        if request.workspace.is_some() {
            cx.log.warn(format!(
                "{}: not recorded, since what an agent leaves in its workspace is not on a cassette",
                request.eval_id
            ));
            self.provider.prepare(cx).await?;
            return self.provider.invoke(request, cx).await;
        }
        let asked = self.digest(request);
        let outcome = self.call(request, cx).await;
        let call = CallKey::of(&self.target, request, cx);
        self.recorder.note(call, asked, &self.as_seen(&outcome, cx));
        outcome
    }

    /// Each answer is a call of its own. Of a batch that failed nothing is kept: its cases are asked one by one.
    async fn ask_batch(
        &self,
        batch: &dyn BatchProvider,
        requests: &[Request],
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        self.provider.prepare(cx).await?;
        let asked: Vec<RequestDigest> =
            requests.iter().map(|request| self.digest(request)).collect();
        let responses = batch.invoke_batch(requests, cx).await?;
        if responses.len() == requests.len() && !cx.cancel.is_cancelled() {
            for ((request, asked), response) in requests.iter().zip(asked).zip(&responses) {
                let call = CallKey::of(&self.target, request, cx);
                self.recorder.note(call, asked, &Ok(response.clone()));
            }
        }
        Ok(responses)
    }

    /// Put off until the calls: that a target is not healthy is an answer to be recorded, too.
    async fn prepare(&self, _: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }
}
