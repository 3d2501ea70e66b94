//! Bounds how many records of a kind are kept for live processes at once.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Room for a number of records.
#[derive(Debug)]
pub struct Room {
    taken: Arc<()>,
    most: usize,
}

impl Room {
    /// Room for `most` records.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { taken: Arc::new(()), most }
    }

    /// Keeps a record, for as long as what is returned lives; `None`: there is no room.
    #[must_use]
    pub fn keep<T>(&self, record: impl FnOnce() -> T) -> Option<Kept<T>> {
        let has_room = Arc::strong_count(&self.taken) <= self.most;
        has_room.then(|| Kept(Box::new((record(), Arc::clone(&self.taken)))))
    }
}

/// A record that takes up room.
#[derive(Debug)]
pub struct Kept<T>(Box<(T, Arc<()>)>);

impl<T> Kept<T> {
    /// The record; it takes up no room any more.
    #[must_use]
    pub fn release(self) -> Box<T> {
        Box::new(self.0.0)
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.0
    }
}

impl<T> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_released_or_dropped_makes_room() {
        let room = Room::new(2);
        let (first, second) = (room.keep(|| 1), room.keep(|| 2));
        assert!(room.keep(|| 3).is_none());
        assert_eq!(first.map(|kept| *kept.release()), Some(1));
        drop(second);
        let again = [room.keep(|| 4), room.keep(|| 5)];
        assert!(again.iter().all(Option::is_some) && room.keep(|| 6).is_none());
    }
}
