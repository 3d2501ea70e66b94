//! Remembers which address ranges a process mapped, as far as the capture shows it.
//!
//! The program file itself is mapped by the kernel within execve, and the stack too: no event shows
//! them. So a range that is not here is "not seen", never "not mapped".

/// Ranges remembered per process; more are not told apart from unseen ones.
const MAX_RANGES: usize = 40;

/// Address ranges, sorted and apart from one another.
#[derive(Debug, Clone, Default)]
pub struct Mappings {
    ranges: Vec<(u64, u64)>,
    heap_start: Option<u64>,
}

impl Mappings {
    /// `[start, start + length)` was mapped.
    pub fn map(&mut self, start: u64, length: u64) {
        let Some(end) = start.checked_add(length).filter(|_| length > 0) else { return };
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = self.ranges.partition_point(|range| range.0 <= end);
        if first == last {
            if self.ranges.len() < MAX_RANGES {
                self.ranges.insert(first, (start, end));
            }
            return;
        }
        let joined = (start.min(self.ranges[first].0), end.max(self.ranges[last - 1].1));
        self.ranges.drain(first + 1..last);
        self.ranges[first] = joined;
    }

    /// `[start, start + length)` was unmapped.
    pub fn unmap(&mut self, start: u64, length: u64) {
        let Some(end) = start.checked_add(length).filter(|_| length > 0) else { return };
        let first = self.ranges.partition_point(|range| range.1 <= start);
        let last = self.ranges.partition_point(|range| range.0 < end);
        if first >= last {
            return;
        }
        let before = (self.ranges[first].0, start);
        let after = (end, self.ranges[last - 1].1);
        let left = [before, after].into_iter().filter(|range| range.0 < range.1);
        self.ranges.splice(first..last, left);
    }

    /// The end of the heap is now `end`; the first answer tells where it starts.
    pub fn set_heap_end(&mut self, end: u64) {
        let start = *self.heap_start.get_or_insert(end);
        self.map(start, end.saturating_sub(start));
    }

    /// How many ranges are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Whether a known range holds `address`.
    #[must_use]
    pub fn holds(&self, address: u64) -> bool {
        let next = self.ranges.partition_point(|range| range.1 <= address);
        self.ranges.get(next).is_some_and(|range| range.0 <= address)
    }

    /// The known range that ends or begins nearest to `address`.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Option<(u64, u64)> {
        self.ranges.iter().copied().min_by_key(|range| address.abs_diff(range.0).min(address.abs_diff(range.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join_and_holes_part() {
        let mut mappings = Mappings::default();
        mappings.map(0x1000, 0x1000);
        mappings.map(0x3000, 0x1000);
        mappings.map(0x2000, 0x1000);
        assert_eq!(mappings.ranges, [(0x1000, 0x4000)]);
        mappings.unmap(0x1800, 0x800);
        assert_eq!(mappings.ranges, [(0x1000, 0x1800), (0x2000, 0x4000)]);
        assert!(mappings.holds(0x17ff) && !mappings.holds(0x1800) && mappings.holds(0x2000));
        mappings.unmap(0, 0x10000);
        assert_eq!(mappings.count(), 0);
    }

    #[test]
    fn lengths_that_overflow_are_passed_over() {
        let mut mappings = Mappings::default();
        mappings.map(u64::MAX, 2);
        mappings.unmap(u64::MAX - 1, 100);
        mappings.map(5, 0);
        assert_eq!(mappings.count(), 0);
    }

    #[test]
    fn the_heap_grows_from_its_first_end() {
        let mut mappings = Mappings::default();
        mappings.set_heap_end(0x5000);
        assert_eq!(mappings.count(), 0);
        mappings.set_heap_end(0x7000);
        assert!(mappings.holds(0x6fff) && !mappings.holds(0x7000));
    }

    #[test]
    fn the_nearest_range_is_named() {
        let mut mappings = Mappings::default();
        mappings.map(0x1000, 0x1000);
        mappings.map(0x9000, 0x1000);
        assert_eq!(mappings.nearest(0x2100), Some((0x1000, 0x2000)));
        assert_eq!(mappings.nearest(0x8fff), Some((0x9000, 0xa000)));
    }
}
