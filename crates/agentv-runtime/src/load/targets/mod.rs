//! The targets file, the settings in it, and the `.env` files that its variables come from.

pub(super) mod dotenv;
pub(super) mod file;
mod secrets;
mod settings;
