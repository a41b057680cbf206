//! How the program ends.

/// An exit code. Where several apply, the greater one wins, but `Gate` never hides `Incomplete`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// The command did its work and every gate that was asked for held. Low scores alone are no failure.
    Success = 0,
    /// A gate was missed, or `compare` found the candidate worse.
    Gate = 1,
    /// Wrong input or usage; nothing was called and no output file was touched.
    Usage = 2,
    /// The run could not do all of its work: a record has `error`, there were too many of them, or results or a report
    /// could not be written.
    Incomplete = 3,
    /// Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// Every code, for the reference page.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Success, "the command did its work; low scores alone are no failure"),
        (
            Self::Gate,
            "a gate was missed (`--threshold`, `--case-threshold`, `--fail-fast`), or `compare` found the candidate worse",
        ),
        (Self::Usage, "wrong input or usage; nothing was called and no output file was touched"),
        (
            Self::Incomplete,
            "a record has `error` (unless `--allow-errors`), `--max-errors` stopped the run, or results or a report could not be written",
        ),
        (Self::Interrupted, "interrupted"),
    ];
}
