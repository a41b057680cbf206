//! The one door to the network: outgoing connections are made by the client here and by nobody else.

mod client;
mod error;
mod excerpt;
mod post;
#[cfg(test)]
mod tests;

pub use client::{ClientError, client};
pub use post::{Answer, KeyHeader, Post, post};

/// An address.
pub use reqwest::Url;
