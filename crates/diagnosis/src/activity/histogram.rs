//! Turns many durations into their median and other quantiles, in little memory.

/// Buckets per doubling: a quantile is off by at most an eighth.
const STEPS: usize = 4;
/// Durations below 2^this nanoseconds are told apart by nothing: no system call is that short.
const LOWEST: u32 = 4;
/// Durations of 2^this nanoseconds (half a minute) and more are counted together.
const HIGHEST: u32 = 35;
const BUCKETS: usize = (HIGHEST - LOWEST) as usize * STEPS + 1;

/// How many durations there were of about each length.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: [u32; BUCKETS],
    count: u64,
    sum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], count: 0, sum_ns: 0 }
    }
}

impl Histogram {
    /// Takes in one duration.
    #[inline]
    pub fn note(&mut self, duration_ns: u64) {
        let bucket = &mut self.counts[bucket(duration_ns)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
    }

    /// Takes in all of `more`.
    pub fn add(&mut self, more: &Self) {
        for (count, more) in self.counts.iter_mut().zip(more.counts) {
            *count = count.saturating_add(more);
        }
        self.count += more.count;
        self.sum_ns = self.sum_ns.saturating_add(more.sum_ns);
    }

    /// How many durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The duration that `percent` of all are below; `None` where there are none.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<u64> {
        let wanted = u64::try_from(u128::from(self.count.checked_sub(1)?) * u128::from(percent) / 100).ok()?;
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            let count = u64::from(*count);
            if below + count > wanted {
                let (start, end) = (start_of(bucket), start_of(bucket + 1));
                // As if those of a bucket were spread evenly over it.
                let inside = u128::from(end - start) * u128::from(2 * (wanted - below) + 1) / u128::from(2 * count);
                return Some(start + u64::try_from(inside).unwrap_or(0));
            }
            below += count;
        }
        None
    }
}

#[inline]
fn bucket(duration_ns: u64) -> usize {
    let Some(octave) = duration_ns.max(1).ilog2().checked_sub(LOWEST) else { return 0 };
    // The two bits behind the highest.
    let step = (duration_ns >> (octave + LOWEST - STEPS.ilog2())) as usize % STEPS;
    (octave as usize * STEPS + step + 1).min(BUCKETS - 1)
}

/// The shortest duration of a bucket.
fn start_of(bucket: usize) -> u64 {
    let Some(above) = bucket.checked_sub(1) else { return 0 };
    let octave = 1u64 << (LOWEST as usize + above / STEPS);
    octave + octave / STEPS as u64 * (above % STEPS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_an_eighth() {
        for length in [20, 999, 1240, 1_000_000, 7_000_000_000] {
            let mut histogram = Histogram::default();
            for duration in (1..=1000u64).map(|part| length * part / 1000) {
                histogram.note(duration);
            }
            for percent in [50, 75, 99] {
                let (found, right) = (histogram.quantile(percent).expect("some"), length * percent / 100);
                assert!(found.abs_diff(right) * 8 <= right + 8 * 16, "{percent} % of {length}: {found}");
            }
            assert_eq!(histogram.count(), 1000);
        }
    }

    #[test]
    fn every_duration_has_its_bucket() {
        for at in 0..BUCKETS {
            assert_eq!(bucket(start_of(at)), at);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!((bucket(0), bucket(15), bucket(16)), (0, 0, 1));
    }

    #[test]
    fn nothing_has_no_median_and_two_are_added() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(50), None);
        let mut more = Histogram::default();
        more.note(u64::MAX);
        more.note(u64::MAX);
        histogram.add(&more);
        assert_eq!((histogram.count(), histogram.sum_ns()), (2, u64::MAX));
        assert!(histogram.quantile(99).is_some());
    }
}
