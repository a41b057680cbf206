//! A thread that only waits need not hear of every child that ends.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Does this without being woken by children that end. When the thread that started a child is starting another one just
/// then, the system tells any other thread of the end, even if nobody wants to know: that had the main thread get up for
/// every second one of 200 quick commands, which cost 3 % of their time.
///
/// Not for threads that start programs: a program keeps what is blocked for it, and Node.js would then wait for its own
/// children for ever.
pub fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let before = SigSet::from(Signal::SIGCHLD).thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let done = work();
    if let Ok(before) = before {
        // It was valid before.
        let _ = before.thread_set_mask();
    }
    done
}
