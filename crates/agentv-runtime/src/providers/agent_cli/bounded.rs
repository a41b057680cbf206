//! What is kept of a list that a program may make as long as it likes: its beginning and its end.

use serde_json::Value;
use std::collections::VecDeque;

/// How many items each of the two parts has at most, and how many bytes. The longest sessions of agents have some thousand
/// messages with a few megabytes.
const PART_ITEMS: usize = 5000;
const PART_BYTES: usize = 16 << 20;

/// A list whose middle is dropped when it grows too large. Items keep their numbers.
#[derive(Debug)]
pub struct Bounded<T> {
    head: Vec<T>,
    head_bytes: usize,
    /// The last items with their sizes. The last one of all is always there, however large it is.
    tail: VecDeque<(T, usize)>,
    tail_bytes: usize,
    dropped: usize,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self { head: Vec::new(), head_bytes: 0, tail: VecDeque::new(), tail_bytes: 0, dropped: 0 }
    }
}

impl<T> Bounded<T> {
    /// The number that the next item gets.
    pub fn next_number(&self) -> usize {
        self.head.len() + self.dropped + self.tail.len()
    }

    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Adds an item of about this size. Gives the items that had to go for it, with their numbers.
    pub fn push(&mut self, item: T, bytes: usize) -> Vec<(usize, T)> {
        let is_beginning = self.tail.is_empty() && self.dropped == 0;
        if is_beginning && self.head.len() < PART_ITEMS && self.head_bytes + bytes <= PART_BYTES {
            self.head.push(item);
            self.head_bytes += bytes;
            return Vec::new();
        }
        self.tail.push_back((item, bytes));
        self.tail_bytes += bytes;
        let mut gone = Vec::new();
        while self.tail.len() > 1
            && (self.tail.len() > PART_ITEMS || self.tail_bytes > PART_BYTES)
            && let Some((item, bytes)) = self.tail.pop_front()
        {
            gone.push((self.head.len() + self.dropped, item));
            self.tail_bytes -= bytes;
            self.dropped += 1;
        }
        gone
    }

    /// The item of this number, if it is still there.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let Some(later) = number.checked_sub(self.head.len()) else {
            return self.head.get_mut(number);
        };
        self.tail.get_mut(later.checked_sub(self.dropped)?).map(|(item, _)| item)
    }

    /// Notes that an item has grown. `false` if there is no room for that.
    pub fn grow(&mut self, number: usize, bytes: usize) -> bool {
        let Some(later) = number.checked_sub(self.head.len()) else {
            let has_room = self.head_bytes + bytes <= 2 * PART_BYTES;
            self.head_bytes += if has_room { bytes } else { 0 };
            return has_room;
        };
        let at = later.checked_sub(self.dropped);
        if let Some((_, size)) = at.and_then(|at| self.tail.get_mut(at)) {
            *size += bytes;
            self.tail_bytes += bytes;
        }
        true
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.head.iter().chain(self.tail.iter().map(|(item, _)| item))
    }

    pub fn into_vec(self) -> Vec<T> {
        let Self { head: mut all, tail, .. } = self;
        all.extend(tail.into_iter().map(|(item, _)| item));
        all
    }
}

/// About how much memory a value takes.
pub fn size(value: &Value) -> usize {
    const NODE: usize = 32;
    match value {
        Value::String(text) => NODE + text.len(),
        Value::Array(items) => NODE + items.iter().map(size).sum::<usize>(),
        Value::Object(entries) => {
            NODE + entries.iter().map(|(key, value)| NODE + key.len() + size(value)).sum::<usize>()
        }
        _ => NODE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_goes_and_numbers_stay() {
        let mut list = Bounded::default();
        let mut gone = Vec::new();
        for number in 0..2 * PART_ITEMS + 3 {
            assert_eq!(list.next_number(), number);
            gone.extend(list.push(number, 1));
        }
        assert_eq!(
            gone,
            [PART_ITEMS, PART_ITEMS + 1, PART_ITEMS + 2].map(|number| (number, number))
        );
        assert_eq!(list.dropped(), 3);
        assert_eq!(list.get_mut(0), Some(&mut 0));
        assert_eq!(list.get_mut(PART_ITEMS), None);
        assert_eq!(list.get_mut(PART_ITEMS + 3), Some(&mut (PART_ITEMS + 3)));
        assert_eq!(list.get_mut(2 * PART_ITEMS + 3), None);
        assert_eq!(list.iter().count(), 2 * PART_ITEMS);
        assert_eq!(list.into_vec().last(), Some(&(2 * PART_ITEMS + 2)));
    }

    #[test]
    fn the_last_item_is_there_however_large() {
        let mut list = Bounded::default();
        list.push("first", 10);
        list.push("large", PART_BYTES);
        assert_eq!(list.push("larger", 2 * PART_BYTES), [(1, "large")]);
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), ["first", "larger"]);
        assert!(list.grow(0, PART_BYTES) && !list.grow(0, PART_BYTES));
    }
}
