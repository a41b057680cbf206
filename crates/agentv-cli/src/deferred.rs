//! Commands whose options clap learns of only when they are called for: to know all options of all commands takes longer
//! than to run a case.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The options of a command.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub Box<T>);

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| described_as_before(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| described_as_before(command, T::augment_args_for_update))
    }
}

/// Groups of options have descriptions too, which are not the command's.
fn described_as_before(command: Command, augment: fn(Command) -> Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    augment(command).about(about).long_about(None)
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Box::from_arg_matches(matches).map(Self)
    }

    /// Without this one, all that was found is copied first.
    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        Box::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
