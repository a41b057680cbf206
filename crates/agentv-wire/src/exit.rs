//! How the program ends.

/// An exit code. Where several apply, the greater one wins, but `Gate` never hides `Incomplete`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// The command did its work and every gate that was asked for held. Low scores alone are no failure.
    Success = 0,
    /// A gate was missed, `compare` found a regression or a margin that is not met, or `doctor` found what will not work.
    Gate = 1,
    /// Wrong input or usage; nothing was called and no output file was touched.
    Usage = 2,
    /// The command could not do all of its work: cases are in error or ungraded, there were too many of them, a budget is
    /// spent, results or a report could not be written, no browser could be opened, or `compare` could not look.
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
            "a gate was missed (`--threshold`, `--case-threshold`, `--fail-fast`), `compare` found a regression or a `--margin` is not \
             met, or `doctor` found what will not work",
        ),
        (Self::Usage, "wrong input or usage; nothing was called and no output file was touched"),
        (
            Self::Incomplete,
            "cases are in error or ungraded (unless `--allow-errors`), `--max-errors` or a budget stopped the run, results or a report could \
             not be written, `report --open` found no browser, or `compare` could not look: no case in common, no interval for `--margin`, or what its `--strict` refuses",
        ),
        (Self::Interrupted, "interrupted"),
    ];
}
