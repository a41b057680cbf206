//! What the server and the client can do at most: messages are published, pulled and acknowledged, and nothing else. Prints
//! how many per second. `cargo xtask cluster` compares a run with it.
//!
//! `bare_loop URL MESSAGES BYTES IN_FLIGHT`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for developers")]

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::{self, stream};
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words[index].parse::<usize>().unwrap();
    let (messages, bytes, in_flight) = (number(1), number(2), number(3));
    let context = jetstream::new(async_nats::connect(&words[0]).await.unwrap());
    let config = stream::Config {
        name: "bare".to_owned(),
        subjects: vec!["bare.>".to_owned()],
        retention: stream::RetentionPolicy::WorkQueue,
        ..Default::default()
    };
    let stream = context.create_stream(config).await.unwrap();
    let config = pull::Config { durable_name: Some("bare".to_owned()), ..Default::default() };
    let consumer = stream.create_consumer(config).await.unwrap();
    let started = Instant::now();
    let (done, mut tasks) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    // As many as there are slots, each of which pulls one message after the other.
    for _ in 0..in_flight {
        let (consumer, done) = (consumer.clone(), Arc::clone(&done));
        tasks.spawn(async move {
            while done.load(Ordering::Relaxed) < messages {
                let batch = consumer.batch().max_messages(1).expires(Duration::from_millis(500));
                let mut batch = batch.messages().await.unwrap();
                if let Some(Ok(message)) = batch.next().await {
                    message.double_ack().await.unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    let (body, window) = ("x".repeat(bytes), Arc::new(Semaphore::new(2 * in_flight)));
    for index in 0..messages {
        let (context, body) = (context.clone(), body.clone());
        let permit = Arc::clone(&window).acquire_owned().await.unwrap();
        tasks.spawn(async move {
            let kept = context.publish(format!("bare.{index}"), body.into()).await.unwrap();
            kept.await.unwrap();
            drop(permit);
        });
    }
    while done.load(Ordering::Relaxed) < messages {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = messages as f64 / started.elapsed().as_secs_f64();
    println!("{rate:.0}");
    tasks.abort_all();
}
