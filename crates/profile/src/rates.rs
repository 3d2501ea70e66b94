//! Counts calls by interval of time and by who makes them, or which they are.
//!
//! Bounded: only intervals with calls are kept. When there are more than [`MAX_CELLS`], two neighbouring
//! intervals become one, throughout, as often as it takes; [`Rates::every_ns`] says what they are then.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use scapfile::types::{TYPES, TypeKey};
use serde::Serialize;

use crate::callers::{CallerId, Callers};
use crate::calls::{Calls, Made};
use crate::costs::MAX_ROWS;
use crate::table::{By, Who};

/// Pairs of an interval and a caller that are kept.
pub const MAX_CELLS: usize = 262_144;

/// The calls of one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Number of the interval; 0 begins with the first event of the capture.
    pub interval: u64,
    /// How many calls ended in it.
    pub calls: u64,
}

/// Calls that belong together, over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Whose they are.
    #[serde(flatten)]
    pub who: Who,
    /// Which they are, if calls are told apart by their names.
    pub syscall: Option<&'static str>,
    /// How many.
    pub calls: u64,
    /// The intervals that have any, in order.
    pub intervals: Vec<Cell>,
}

/// Series that are not told one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rest {
    /// How many series.
    pub series: usize,
    /// How many calls.
    pub calls: u64,
    /// The intervals that have any, in order.
    pub intervals: Vec<Cell>,
}

impl Rest {
    /// Takes all but the first `most` of `series` together.
    #[must_use]
    pub fn of(series: &mut Vec<Series>, most: usize) -> Self {
        let left_out = series.split_off(most.min(series.len()));
        let mut intervals = BTreeMap::new();
        for cell in left_out.iter().flat_map(|series| &series.intervals) {
            *intervals.entry(cell.interval).or_default() += cell.calls;
        }
        Self {
            series: left_out.len(),
            calls: left_out.iter().map(|series| series.calls).sum(),
            intervals: cells(intervals),
        }
    }
}

fn cells(intervals: BTreeMap<u64, u64>) -> Vec<Cell> {
    intervals.into_iter().map(|(interval, calls)| Cell { interval, calls }).collect()
}

/// What is counted for itself: a caller's calls, all or of one name.
type Counted = (CallerId, Option<TypeKey>);

/// Where a series stands: in the interval from `from_ns` on.
#[derive(Debug, Clone, Copy)]
struct Counter {
    from_ns: u64,
    calls: u64,
}

/// Running counts by interval.
#[derive(Debug)]
pub struct Rates {
    every_ns: u64,
    by_name: bool,
    index: FxHashMap<Counted, u32>,
    counted: Vec<Counted>,
    counters: Vec<Counter>,
    cells: Vec<(u32, Cell)>,
    most: usize,
}

impl Rates {
    /// Counts in intervals of `every_ns` (at least 1); `by_name`: calls of different names for themselves.
    #[must_use]
    pub fn new(every_ns: u64, by_name: bool) -> Self {
        Self {
            every_ns: every_ns.max(1),
            by_name,
            index: FxHashMap::default(),
            counted: Vec::new(),
            counters: Vec::new(),
            cells: Vec::new(),
            most: MAX_CELLS,
        }
    }

    /// How long an interval is.
    #[must_use]
    pub fn every_ns(&self) -> u64 {
        self.every_ns
    }

    /// Counts a call, in the interval in which it ends.
    #[inline]
    pub fn note(&mut self, made: &Made<'_>) {
        self.count((made.caller, self.by_name.then_some(made.name)), made.after_ns);
    }

    #[inline]
    fn count(&mut self, counted: Counted, after_ns: u64) {
        let series = match self.index.get(&counted) {
            Some(series) => *series,
            None => self.series(counted),
        };
        let counter = &mut self.counters[series as usize];
        if after_ns.wrapping_sub(counter.from_ns) < self.every_ns {
            counter.calls += 1;
        } else {
            self.turn_to(series, after_ns);
        }
    }

    #[inline(never)]
    fn series(&mut self, counted: Counted) -> u32 {
        let counted = if self.counted.len() < MAX_ROWS { counted } else { (Callers::OTHERS, counted.1) };
        let next = self.counted.len() as u32;
        let series = *self.index.entry(counted).or_insert(next);
        if series == next {
            self.counted.push(counted);
            self.counters.push(Counter { from_ns: 0, calls: 0 });
        }
        series
    }

    #[inline(never)]
    fn turn_to(&mut self, series: u32, after_ns: u64) {
        self.put_away(series);
        if self.cells.len() >= self.most {
            self.make_room();
        }
        let from_ns = after_ns - after_ns % self.every_ns;
        self.counters[series as usize] = Counter { from_ns, calls: 1 };
    }

    fn put_away(&mut self, series: u32) {
        let Counter { from_ns, calls } = self.counters[series as usize];
        if calls > 0 {
            self.cells.push((series, Cell { interval: from_ns / self.every_ns, calls }));
        }
        self.counters[series as usize].calls = 0;
    }

    fn put_all_away(&mut self) {
        (0..self.counters.len() as u32).for_each(|series| self.put_away(series));
        self.merge();
    }

    /// There are fewer series than cells may be, so that it comes to an end.
    fn make_room(&mut self) {
        self.put_all_away();
        while self.cells.len() > self.most / 2 && self.cells.iter().any(|(_, cell)| cell.interval > 0) {
            self.every_ns = self.every_ns.saturating_mul(2);
            self.cells.iter_mut().for_each(|(_, cell)| cell.interval /= 2);
            self.merge();
        }
        for counter in &mut self.counters {
            counter.from_ns -= counter.from_ns % self.every_ns;
        }
    }

    /// Makes one of the cells of a series that are of the same interval.
    fn merge(&mut self) {
        self.cells.sort_unstable_by_key(|(series, cell)| (*series, cell.interval));
        self.cells.dedup_by(|(series, cell), (kept_series, kept)| {
            let same = *series == *kept_series && cell.interval == kept.interval;
            if same {
                kept.calls += cell.calls;
            }
            same
        });
    }

    /// The wanted calls put together, the series with most calls first.
    #[must_use]
    pub fn by(&mut self, by: By, calls: &Calls) -> Vec<Series> {
        self.put_all_away();
        let mut together: BTreeMap<_, BTreeMap<u64, u64>> = BTreeMap::new();
        for (series, cell) in &self.cells {
            let (caller, name) = self.counted[*series as usize];
            if calls.wants(caller) {
                let intervals = together.entry((by.key(caller, calls), name)).or_default();
                *intervals.entry(cell.interval).or_default() += cell.calls;
            }
        }
        let mut all: Vec<Series> = together
            .into_iter()
            .map(|((key, name), intervals)| Series {
                who: calls.who(key),
                syscall: name.map(|name| TYPES.name(name)),
                calls: intervals.values().sum(),
                intervals: cells(intervals),
            })
            .collect();
        all.sort_by_key(|series| (std::cmp::Reverse(series.calls), series.syscall));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has callers make a call each at these times.
    fn counted(most: usize, every_ns: u64, calls: impl Iterator<Item = (CallerId, u64)>) -> Rates {
        let mut rates = Rates { most, ..Rates::new(every_ns, false) };
        for (caller, after_ns) in calls {
            rates.count((caller, None), after_ns);
        }
        rates.put_all_away();
        rates
    }

    fn total(rates: &Rates) -> u64 {
        rates.cells.iter().map(|(_, cell)| cell.calls).sum()
    }

    #[test]
    fn intervals_become_longer_when_there_are_too_many() {
        let rates = counted(16, 10, (0..1000).map(|at| (1, at * 10)));
        assert_eq!((rates.every_ns, total(&rates)), (640, 1000));
        let expected = |interval| (0, Cell { interval, calls: if interval < 15 { 64 } else { 1000 - 15 * 64 } });
        assert_eq!(rates.cells, (0..16).map(expected).collect::<Vec<_>>());
    }

    #[test]
    fn intervals_that_are_few_stay_as_short_as_asked_for_however_far_apart() {
        let rates = counted(16, 10, [(1, 0), (1, u64::MAX), (1, 5), (1, u64::MAX - 3)].into_iter());
        assert_eq!((rates.every_ns, total(&rates)), (10, 4));
    }

    #[test]
    fn as_many_callers_as_there_can_be_find_room() {
        let callers = MAX_ROWS as u32 + 1000;
        let rates = counted(MAX_CELLS, 1, (1..=callers).flat_map(|caller| [(caller, 7), (caller, u64::MAX)]));
        assert_eq!(total(&rates), u64::from(callers) * 2);
        assert!(rates.cells.len() <= MAX_CELLS && rates.counted.len() <= MAX_ROWS + 1);
    }
}
