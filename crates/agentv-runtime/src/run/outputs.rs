//! Who is told what: writers keep records, reporters show the run. Two traits, since their failures mean different things.

use agentv_core::RunEvent;
use agentv_wire::ResultRecord;
use std::fmt;
use std::io;

/// Keeps records. If it fails, the run fails: results would be lost.
pub trait ResultWriter: fmt::Debug + Send {
    /// Takes a record; it may wait in memory until [`ResultWriter::commit`].
    fn write(&mut self, record: &ResultRecord) -> io::Result<()>;

    /// Hands everything taken so far to the system, in whole records.
    fn commit(&mut self) -> io::Result<()>;

    /// Makes it last through a power cut.
    fn sync(&mut self) -> io::Result<()>;
}

/// Shows the run to someone. It cannot fail the run.
pub trait Reporter: fmt::Debug + Send {
    fn event(&mut self, event: &RunEvent);

    /// Nothing more is waiting: a good moment to show what was gathered.
    fn pause(&mut self) {}
}
