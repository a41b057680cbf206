//! A set of cases by their places in a file: a bit for each.

/// Places from 0 up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ordinals {
    words: Vec<u64>,
}

impl Ordinals {
    pub fn insert(&mut self, ordinal: usize) {
        let (word, bit) = (ordinal / 64, ordinal % 64);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    pub fn contains(&self, ordinal: usize) -> bool {
        self.words.get(ordinal / 64).is_some_and(|word| word & (1 << (ordinal % 64)) != 0)
    }
}

impl FromIterator<usize> for Ordinals {
    fn from_iter<I: IntoIterator<Item = usize>>(ordinals: I) -> Self {
        let mut set = Self::default();
        ordinals.into_iter().for_each(|ordinal| set.insert(ordinal));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_put_in_is_there() {
        let set: Ordinals = [0, 63, 64, 1000].into_iter().collect();
        let found: Vec<usize> = (0..2000).filter(|ordinal| set.contains(*ordinal)).collect();
        assert_eq!(found, [0, 63, 64, 1000]);
    }
}
