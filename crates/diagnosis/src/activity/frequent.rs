//! Finds what comes most often among more kinds than can be remembered.

/// Up to `N` kinds of something, each with how often it came. One that came often is never missing:
/// a newcomer takes the place of the rarest, and its count (space-saving; Metwally and others, 2005).
#[derive(Debug, Clone)]
pub struct Frequent<T, const N: usize>(Vec<(T, u64)>);

impl<T, const N: usize> Default for Frequent<T, N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

#[cfg(test)]
impl<T, const N: usize> Frequent<T, N> {
    /// What the kinds take beside it.
    pub const MOST_BYTES: usize = N * size_of::<(T, u64)>();
}

impl<T, const N: usize> Frequent<T, N> {
    /// Counts one more of what `is` knows again and `new` makes.
    pub fn note(&mut self, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
        let known = self.0.iter().position(|(known, _)| is(known));
        let at = known.unwrap_or_else(|| {
            if self.0.len() < N {
                self.0.push((new(), 0));
                return self.0.len() - 1;
            }
            let rarest = (0..N).min_by_key(|at| self.0[*at].1).unwrap_or(0);
            self.0[rarest].0 = new();
            rarest
        });
        let (kind, count) = &mut self.0[at];
        *count += 1;
        kind
    }

    /// The kinds, the most frequent first; of as many, the one that came first.
    #[must_use]
    pub fn most(&self) -> Vec<(&T, u64)> {
        let mut all: Vec<(&T, u64)> = self.0.iter().map(|(kind, count)| (kind, *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }

    /// How many kinds there are, at least.
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_often_is_found_among_much_that_comes_once() {
        let mut frequent = Frequent::<u64, 4>::default();
        for number in 0..1000 {
            for kind in [number, 7_000_000] {
                frequent.note(|known| *known == kind, || kind);
            }
        }
        assert_eq!(frequent.most()[0], (&7_000_000, 1000));
        assert_eq!(frequent.kinds(), 4);
    }
}
