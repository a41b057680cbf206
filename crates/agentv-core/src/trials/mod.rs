//! A case that is asked several times: which trial it is, and what all trials come to.

mod figures;

pub(crate) use figures::wire;
pub use figures::{CaseTrials, TrialFigures};

/// How often each case is asked on each target. Never 0, and never more than anyone could mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials(u32);

impl Trials {
    pub const ONE: Self = Self(1);
    pub const MOST: u32 = 1000;

    /// `None` if it is 0, or more than [`Trials::MOST`].
    pub fn new(count: u32) -> Option<Self> {
        (1..=Self::MOST).contains(&count).then_some(Self(count))
    }

    pub fn count(self) -> u32 {
        self.0
    }

    /// The trial of this number, counted from 0, if there is one.
    pub fn nth(self, number: u32) -> Option<Trial> {
        (number < self.0).then_some(Trial { number, of: self })
    }

    pub fn each(self) -> impl Iterator<Item = Trial> {
        (0..self.0).filter_map(move |number| self.nth(number))
    }
}

/// One trial of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    number: u32,
    of: Trials,
}

impl Trial {
    /// The trial of a case that is asked once.
    pub const ONLY: Self = Self { number: 0, of: Trials::ONE };

    /// From 0.
    pub fn number(self) -> u32 {
        self.number
    }

    pub fn of(self) -> Trials {
        self.of
    }

    /// As records have it: a case that is asked once has no trials.
    pub fn index_if_repeated(self) -> Option<u32> {
        (self.of != Trials::ONE).then_some(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_at_least_one_trial_and_not_too_many() {
        assert_eq!(Trials::new(0), None);
        assert_eq!(Trials::new(1), Some(Trials::ONE));
        assert_eq!(Trials::new(1000).map(Trials::count), Some(1000));
        assert_eq!(Trials::new(1001), None);
    }

    #[test]
    fn only_one_of_several_has_a_number_in_records() {
        assert_eq!(Trial::ONLY.index_if_repeated(), None);
        let told: Vec<_> = Trials(3).each().map(Trial::index_if_repeated).collect();
        assert_eq!(told, [Some(0), Some(1), Some(2)]);
    }
}
