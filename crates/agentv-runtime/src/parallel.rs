//! How many cores there are, and the same work on all of them.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread;

/// How many cores there are for us. Asked once: the system reads a handful of files for the answer.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// Does this once on each core, but at most this many times at once, and gives what came of it. `None` if it panicked.
pub(crate) fn on_each_core<T: Send>(at_most: usize, work: impl Fn() -> T + Sync) -> Option<Vec<T>> {
    let cores = cores().min(at_most);
    thread::scope(|scope| {
        // This thread would only wait otherwise.
        let others: Vec<_> = (1..cores).map(|_| scope.spawn(&work)).collect();
        let mut all = vec![work()];
        for other in others {
            all.push(other.join().ok()?);
        }
        Some(all)
    })
}
