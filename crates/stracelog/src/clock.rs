//! Turns the times in front of lines into nanoseconds since the epoch, as far as they tell.

use crate::line::Time;

const DAY_NS: u64 = 86_400 * 1_000_000_000;

/// Follows the times of a log.
///
/// A time of day (`-t`, `-tt`) is counted from the epoch's first day, and on over midnight; the gaps of `-r` are
/// added up from the epoch on. Either way the differences are right and the date is not known: see
/// [`Clock::dated`].
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Midnight of the present day.
    midnight_ns: u64,
    now_ns: u64,
    dated: bool,
    relative: bool,
}

impl Clock {
    /// The time of a line.
    pub(crate) fn read(&mut self, time: Time) -> u64 {
        self.relative = matches!(time, Time::Gap(_));
        let ns = match time {
            Time::Epoch(ns) => {
                self.dated = true;
                ns
            }
            Time::Day(ns) => {
                let today = self.midnight_ns.saturating_add(ns);
                // Lines may be a little out of order; half a day is midnight.
                if today.saturating_add(DAY_NS / 2) < self.now_ns {
                    self.midnight_ns = self.midnight_ns.saturating_add(DAY_NS);
                }
                self.midnight_ns.saturating_add(ns)
            }
            Time::Gap(ns) => self.now_ns.saturating_add(ns),
        };
        self.now_ns = ns;
        ns
    }

    /// Whether the log says which day it is.
    pub(crate) fn dated(&self) -> bool {
        self.dated
    }

    /// Whether the log has gaps and no times.
    pub(crate) fn relative(&self) -> bool {
        self.relative
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    #[test]
    fn midnight_begins_a_day_and_disorder_does_not() {
        let mut clock = Clock::default();
        let times =
            [23 * HOUR, 23 * HOUR - 5, 24 * HOUR - 1, 3, HOUR, 23 * HOUR, 0].map(|ns| clock.read(Time::Day(ns)));
        let day = 24 * HOUR;
        assert_eq!(times, [23 * HOUR, 23 * HOUR - 5, day - 1, day + 3, day + HOUR, day + 23 * HOUR, 2 * day]);
        assert!(!clock.dated() && !clock.relative());
    }

    #[test]
    fn gaps_add_up_and_times_since_the_epoch_are_dates() {
        let mut clock = Clock::default();
        assert_eq!([0, 5, 0, 7].map(|ns| clock.read(Time::Gap(ns))), [0, 5, 5, 12]);
        assert_eq!(clock.read(Time::Gap(u64::MAX)), u64::MAX);
        assert!(clock.relative() && !clock.dated());
        assert_eq!(clock.read(Time::Epoch(1 << 60)), 1 << 60);
        assert!(clock.dated() && !clock.relative());
    }
}
