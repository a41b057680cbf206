//! A sandbox without root and without containers.
//!
//! ```text
//! SandboxSettings ─confine─► Confinement ─spawn─► agentv __sandbox ─► Landlock, seccomp, rlimits ─exec─► the program
//!  what a file asks for      paths, ports, a       our own binary      on itself
//!                            private folder
//! ```
//!
//! The small re-exec takes the place of `pre_exec`: it restricts itself and then becomes the program, so its process id,
//! its pipes and its group are the program's. What rlimits cannot say of a whole tree, a [`Guard`] watches.
//!
//! A part that the kernel lacks is known before anything is started ([`kernel::missing`]). The launcher applies what it is
//! told or fails: nothing is left out in silence.

mod confinement;
#[cfg(target_os = "linux")]
mod filter;
mod folders;
mod guard;
mod kernel;
mod launch;
mod limit;
mod settings;
#[cfg(target_os = "linux")]
mod tree_use;

pub use confinement::{Confinement, ConfinementError, GivenFiles, Surroundings};
pub use kernel::{summary, support};
pub use launch::launch_if_asked;
pub use limit::ExceededLimit;
pub use settings::{SandboxKeys, SandboxSettings, SandboxUser};

pub(super) use confinement::SystemRules;
pub(super) use guard::Guard;
pub(super) use launch::{LaunchFailure, SUBCOMMAND, failure_in};
