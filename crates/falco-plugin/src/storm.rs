//! Tells storms of calls as episodes: when one begins, and when it is over.

use diagnosis::Window;

/// From how many calls within which time on it is a storm.
#[derive(Debug, Clone, Copy)]
pub struct Threshold {
    /// Calls.
    pub calls: u64,
    /// Length of the window they are counted in.
    pub window_ns: u64,
}

/// The calls of one thread: the window that is open, and whether a storm is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Storm {
    /// The window that is open.
    pub window: Window,
    /// A storm has begun and is not over.
    pub on: bool,
}

impl Storm {
    /// Counts a call. True if a storm begins with it, which is once until that storm is over: with a window of fewer
    /// than half the calls, or a pause as long as a window.
    #[inline]
    pub fn note(&mut self, now_ns: u64, threshold: Threshold) -> bool {
        if let Some(before) = self.window.note(now_ns, threshold.window_ns) {
            let paused = now_ns.abs_diff(before.start_ns) >= threshold.window_ns.saturating_mul(2);
            self.on &= !paused && before.count >= threshold.calls.div_ceil(2);
        }
        let begins = !self.on && self.window.count >= threshold.calls;
        self.on |= begins;
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: Threshold = Threshold { calls: 100, window_ns: 1_000 };

    /// How many storms begin in calls of `count` by `step_ns`, from `start_ns` on.
    fn begun(storm: &mut Storm, start_ns: u64, count: u64, step_ns: u64) -> usize {
        (0..count).filter(|call| storm.note(start_ns + call * step_ns, THRESHOLD)).count()
    }

    #[test]
    fn a_storm_is_told_once_however_long_it_is() {
        let mut storm = Storm::default();
        assert_eq!(begun(&mut storm, 0, 99, 1), 0);
        assert!(storm.note(99, THRESHOLD), "the hundredth call");
        assert_eq!(begun(&mut storm, 100, 10_000, 5), 0);
    }

    #[test]
    fn a_storm_that_abates_a_little_is_still_the_same() {
        let mut storm = Storm::default();
        assert_eq!(begun(&mut storm, 0, 1_000, 5), 1);
        assert_eq!(begun(&mut storm, 5_000, 1_000, 15), 0, "67 in a window");
        assert_eq!(begun(&mut storm, 20_000, 1_000, 5), 0);
    }

    #[test]
    fn the_next_storm_is_told_again() {
        let mut storm = Storm::default();
        assert_eq!(begun(&mut storm, 0, 1_000, 5), 1);
        assert_eq!(begun(&mut storm, 10_000, 1_000, 5), 1, "after a pause");
        assert_eq!(begun(&mut storm, 15_000, 100, 100), 0, "10 in a window");
        assert_eq!(begun(&mut storm, 25_000, 1_000, 5), 1, "after a lull");
    }

    #[test]
    fn a_steady_trickle_is_none() {
        assert_eq!(begun(&mut Storm::default(), 0, 100_000, 11), 0);
    }
}
