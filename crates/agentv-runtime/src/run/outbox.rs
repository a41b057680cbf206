//! Workers to dispatcher: what happened, with the bytes that it adds to the files. A buffer that both share, and not a
//! channel: records are copied into it, so nobody makes room for each of them anew.

use super::outputs::Rendered;
use agentv_core::RunEvent;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};

/// How much may wait for the dispatcher; who has more to tell then waits too, so that a slow disk slows the workers instead
/// of filling the memory. With few events, quick targets fill it at once, and the threads spend their time waking each other.
const EVENTS: usize = 256;
const BYTES: usize = 1 << 20;

/// The two ends.
pub(super) fn outbox() -> (Outbox, Inbox) {
    let shared = Arc::new(Shared::default());
    // Who rang once need not ring again until somebody has come.
    let (bell, rings) = mpsc::channel(1);
    (Outbox { shared: Arc::clone(&shared), bell }, Inbox { shared, rings })
}

/// A worker's end.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    shared: Arc<Shared>,
    bell: mpsc::Sender<()>,
}

/// The dispatcher's end.
#[derive(Debug)]
pub(super) struct Inbox {
    shared: Arc<Shared>,
    rings: mpsc::Receiver<()>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Post>,
    room: Notify,
}

/// What waits to be written and told.
#[derive(Debug, Default)]
pub(super) struct Post {
    pub told: Vec<Told>,
    /// Of all records, one after the other.
    pub bytes: Vec<u8>,
    /// Whether the dispatcher is on its way.
    has_rung: bool,
}

/// Something that happened.
#[derive(Debug)]
pub(super) struct Told {
    pub event: RunEvent,
    /// What of the bytes belongs to it, if it is a record.
    pub rendered: Option<io::Result<Rendered>>,
}

/// Nobody listens any more.
#[derive(Debug)]
pub(super) struct Gone;

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Post> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Post {
    fn has_room(&self) -> bool {
        self.told.len() < EVENTS && self.bytes.len() < BYTES
    }

    /// Whether the dispatcher has to be called. A case that starts can wait until it looks by itself: waking it costs more
    /// than all that it does then.
    fn wants_ring(&self) -> bool {
        let is_urgent = self.told.last().is_some_and(|told| told.rendered.is_some());
        !self.has_rung && (is_urgent || !self.has_room())
    }

    pub(super) fn clear(&mut self) {
        self.told.clear();
        self.bytes.clear();
        self.has_rung = false;
    }
}

impl Outbox {
    /// Tells, as soon as there is room.
    pub(super) async fn tell(&self, told: Told, bytes: &[u8]) -> Result<(), Gone> {
        loop {
            let room = {
                let mut waiting = self.shared.lock();
                if waiting.has_room() {
                    waiting.told.push(told);
                    waiting.bytes.extend_from_slice(bytes);
                    let wants_ring = waiting.wants_ring();
                    waiting.has_rung |= wants_ring;
                    drop(waiting);
                    return if wants_ring { self.ring() } else { Ok(()) };
                }
                // Made while it is locked: it hears of all room that is made from now on.
                self.shared.room.notified()
            };
            tokio::select! {
                () = room => {}
                () = self.bell.closed() => return Err(Gone),
            }
        }
    }

    fn ring(&self) -> Result<(), Gone> {
        match self.bell.try_send(()) {
            Ok(()) | Err(mpsc::error::TrySendError::Full(())) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(())) => Err(Gone),
        }
    }
}

impl Inbox {
    /// Waits until there is something to be written, or nobody left to tell anything: then it is `false`.
    pub(super) async fn has_post(&mut self) -> bool {
        self.rings.recv().await.is_some()
    }

    /// Takes all there is, in exchange for something empty.
    pub(super) fn swap(&self, empty: &mut Post) {
        std::mem::swap(&mut *self.shared.lock(), empty);
        self.shared.room.notify_waiters();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shared.lock().told.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn start(outbox: &Outbox) -> Result<(), Gone> {
        outbox.tell(Told { event: RunEvent::Stopping, rendered: None }, &[]).await
    }

    #[tokio::test]
    async fn who_finds_it_full_waits_for_room() {
        let (outbox, mut inbox) = outbox();
        for _ in 0..EVENTS {
            start(&outbox).await.unwrap();
        }
        let (more, post) = tokio::join!(start(&outbox), async {
            // It is full, so it rings though nothing is urgent.
            assert!(inbox.has_post().await);
            let mut post = Post::default();
            inbox.swap(&mut post);
            post
        });
        more.unwrap();
        assert_eq!(post.told.len(), EVENTS);
        assert!(!inbox.is_empty());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_dispatcher_that_is_gone() {
        let (outbox, inbox) = outbox();
        for _ in 1..EVENTS {
            start(&outbox).await.unwrap();
        }
        drop(inbox);
        assert!(start(&outbox).await.is_err(), "the last one rings");
        assert!(start(&outbox).await.is_err(), "there is no room any more");
    }

    #[tokio::test]
    async fn with_the_last_worker_there_is_no_more_post() {
        let (outbox, mut inbox) = outbox();
        start(&outbox).await.unwrap();
        drop(outbox);
        assert!(!inbox.has_post().await);
        let mut post = Post::default();
        inbox.swap(&mut post);
        assert_eq!(post.told.len(), 1, "what nobody was called for is there all the same");
    }
}
