//! Everything that touches the world, in the data's order: files are loaded, targets built, programs run, cases asked and
//! graded, records written.

pub mod config;
pub mod cores;
pub mod load;

pub mod cache;
pub mod cassette;
mod deadline;
pub mod http;
pub mod process;
pub mod providers;
pub mod target;
pub mod workspace;

pub mod convert;
pub mod evaluators;
pub mod generate;
pub mod import;

pub mod folder;
pub mod results;
pub mod run;
pub mod writers;
