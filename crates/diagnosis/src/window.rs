//! Counts what happens again and again, in windows of time that begin with their first event.

const SECOND_NS: u128 = 1_000_000_000;

/// The window that is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// When it began, in nanoseconds since the epoch.
    pub start_ns: u64,
    /// How often it happened since then; 0 only before the first.
    pub count: u64,
}

impl Window {
    /// Counts one more. If that begins a new window, the one before it is given back.
    ///
    /// A clock that goes back by less than `length_ns` (those of two processors differ) ends no window.
    #[inline]
    pub fn note(&mut self, now_ns: u64, length_ns: u64) -> Option<Self> {
        if self.count > 0 && now_ns.abs_diff(self.start_ns) < length_ns {
            self.count += 1;
            return None;
        }
        Some(std::mem::replace(self, Self { start_ns: now_ns, count: 1 }))
    }

    /// Calls a second from the first of the window to that of `now_ns`, its last. `None`: a single one has no rate.
    #[must_use]
    pub fn rate(&self, now_ns: u64) -> Option<u64> {
        let steps = u128::from(self.count.saturating_sub(1));
        let rate = (steps * SECOND_NS).checked_div(now_ns.saturating_sub(self.start_ns).into())?;
        (steps > 0).then(|| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 1_000_000_000;

    #[test]
    fn a_window_begins_with_an_event_and_ends_after_its_length() {
        let mut window = Window::default();
        assert_eq!(window.note(5, LENGTH), Some(Window::default()));
        assert_eq!(window.note(5 + LENGTH - 1, LENGTH), None);
        assert_eq!(window.note(5 + LENGTH, LENGTH), Some(Window { start_ns: 5, count: 2 }));
        assert_eq!(window, Window { start_ns: 5 + LENGTH, count: 1 });
    }

    #[test]
    fn a_clock_a_little_behind_ends_nothing_and_one_set_back_does() {
        let mut window = Window { start_ns: 2 * LENGTH, count: 1 };
        assert_eq!(window.note(2 * LENGTH - 10, LENGTH), None);
        assert!(window.note(7, LENGTH).is_some());
        assert_eq!(window.start_ns, 7);
    }

    #[test]
    fn the_rate_is_of_the_steps_between_events() {
        assert_eq!(Window { start_ns: 0, count: 1001 }.rate(LENGTH), Some(1000));
        assert_eq!(Window { start_ns: 0, count: 3 }.rate(1000), Some(2_000_000));
        assert_eq!(Window { start_ns: 0, count: 1 }.rate(LENGTH), None);
        assert_eq!(Window { start_ns: 9, count: 3 }.rate(9), None, "no time has passed");
    }
}
