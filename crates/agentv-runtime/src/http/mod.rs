//! The one door to the network: outgoing connections are made by the client here and nowhere else.

mod client;
mod error;
mod excerpt;
mod post;
mod reach;
#[cfg(test)]
mod tests;

pub use client::{ClientError, client};
pub use post::{HttpPost, HttpResponse, KeyHeader, host, post};
pub use reach::reach;

/// An address.
pub use reqwest::Url;
