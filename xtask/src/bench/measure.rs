//! One run of a program: how long it took and how much memory it held at most.

use crate::repository::command;
use anyhow::{Context as _, Result, bail};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wait4::Wait4 as _;

/// What one run cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement {
    pub wall: Duration,
    /// Of all its threads, and of its children that it waited for.
    pub cpu: Duration,
    /// The largest resident set, in bytes, as the kernel counted it; not sampled, so no peak is missed.
    ///
    /// Between being made and starting its program, a child counts as its parent. So it never reads less than the
    /// parent's own peak, which is why this process streams its inputs and stays small: the reading of an empty process
    /// is the least that can be told apart.
    pub peak: u64,
}

/// A program with arguments, which is run again and again.
#[derive(Debug)]
pub(super) struct Subject {
    command: Command,
    stderr: std::path::PathBuf,
    /// What it writes; removed before each run, as nobody's results file is there before the run.
    output: Option<std::path::PathBuf>,
    samples: Vec<Measurement>,
}

impl Subject {
    /// In `dir`, with an environment made from nothing but `PATH`.
    pub(super) fn new(program: &Path, args: &[&str], dir: &Path) -> Self {
        let mut command = command(program);
        command.args(args).current_dir(dir).env_clear();
        #[expect(clippy::disallowed_methods, reason = "children need to find `sh`")]
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("HOME", dir).env("TMPDIR", dir.join("tmp"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self { command, stderr: dir.join("stderr.txt"), output: None, samples: Vec::new() }
    }

    /// It writes this file.
    pub(super) fn writing(self, output: std::path::PathBuf) -> Self {
        Self { output: Some(output), ..self }
    }

    /// With more arguments.
    pub(super) fn with(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// With one more variable in its environment.
    pub(super) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn run(&mut self) -> Result<Measurement> {
        self.command.stderr(File::create(&self.stderr)?);
        if let Some(output) = &self.output {
            // The first run finds none.
            let _ = fs::remove_file(output);
        }
        // Nobody has the folders of a hundred runs either.
        if let Some(dir) = self.command.get_current_dir() {
            let _ = fs::remove_dir_all(dir.join(".agentv/runs"));
        }
        let start = Instant::now();
        let child =
            self.command.spawn().with_context(|| format!("cannot run {:?}", self.command))?;
        let used = child.wait4()?;
        let wall = start.elapsed();
        if !used.status.success() {
            let said = fs::read_to_string(&self.stderr).unwrap_or_default();
            bail!("{:?}: {}\n{said}", self.command, used.status);
        }
        let cpu = used.rusage.utime + used.rusage.stime;
        Ok(Measurement { wall, cpu, peak: used.rusage.maxrss })
    }

    /// The middle one of all runs, by each figure on its own.
    pub(super) fn median(&self) -> Measurement {
        Measurement {
            wall: middle(self.samples.iter().map(|sample| sample.wall).collect()),
            cpu: middle(self.samples.iter().map(|sample| sample.cpu).collect()),
            peak: middle(self.samples.iter().map(|sample| sample.peak).collect()),
        }
    }
}

fn middle<T: Ord + Copy + Default>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Runs the subjects in turns, so that a slow moment of the machine falls on all of them. The first turn is not counted:
/// it fills the caches.
pub(super) fn in_turns(rounds: usize, subjects: &mut [Subject]) -> Result<()> {
    for subject in &mut *subjects {
        subject.run()?;
    }
    in_turns_at_once(rounds, subjects)
}

/// The same without a first turn, for runs that are too long to waste one.
pub(super) fn in_turns_at_once(rounds: usize, subjects: &mut [Subject]) -> Result<()> {
    for _ in 0..rounds {
        for subject in &mut *subjects {
            let sample = subject.run()?;
            subject.samples.push(sample);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_not_moved_by_one_slow_run() {
        assert_eq!(middle(vec![3, 900, 1, 2, 2]), 2);
        assert_eq!(middle::<u8>(vec![]), 0);
    }

    #[test]
    fn a_failing_program_is_told_with_its_words() {
        let dir = tempfile::tempdir().unwrap();
        let mut subject =
            Subject::new(Path::new("/bin/sh"), &["-c", "echo why >&2; exit 3"], dir.path());
        let error = in_turns(1, std::slice::from_mut(&mut subject)).unwrap_err().to_string();
        assert!(error.contains("why"), "{error}");
    }

    #[test]
    fn a_run_has_a_time_and_a_peak() {
        let dir = tempfile::tempdir().unwrap();
        let mut subjects = [Subject::new(Path::new("/bin/sh"), &["-c", "true"], dir.path())];
        in_turns(3, &mut subjects).unwrap();
        assert!(subjects[0].median().wall > Duration::ZERO);
        assert!(subjects[0].median().peak > 0);
    }
}
