//! The one door to the network: outgoing connections are made by the client here and by nobody else.

mod client;

pub use client::{ClientError, client};
