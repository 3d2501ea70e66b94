//! Counts calls by caller and name: how many, how long, how many in vain.

use rustc_hash::FxHashMap;
use scapfile::types::TypeKey;
use serde::Serialize;

use crate::callers::{CallerId, Callers};
use crate::calls::Made;

/// Pairs of a caller and a call told apart; when there are more, further ones are counted for
/// [`Callers::OTHERS`]. As many as fill a hash table that is about to grow.
pub const MAX_ROWS: usize = 114_688;

/// What calls cost together.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Costs {
    /// How many.
    pub calls: u64,
    /// Of those, how many whose result was recorded.
    pub with_result: u64,
    /// Of those, how many failed.
    pub errors: u64,
    /// Of all, how many whose duration can be told.
    pub timed: u64,
    /// The sum of those durations.
    pub time_ns: u64,
}

impl Costs {
    #[inline]
    fn note(&mut self, made: &Made<'_>) {
        self.calls += 1;
        if let Some(failed) = made.call.failed() {
            self.with_result += 1;
            self.errors += u64::from(failed);
        }
        if let Some(duration_ns) = made.call.duration_ns() {
            self.timed += 1;
            self.time_ns = self.time_ns.saturating_add(duration_ns);
        }
    }

    /// Adds what `more` cost.
    pub fn add(&mut self, more: &Self) {
        let Self { calls, with_result, errors, timed, time_ns } = more;
        self.calls += calls;
        self.with_result += with_result;
        self.errors += errors;
        self.timed += timed;
        self.time_ns = self.time_ns.saturating_add(*time_ns);
    }
}

/// What one caller's calls of one name cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Who made them.
    pub caller: CallerId,
    /// Their name, as a key of [`TYPES`](scapfile::types::TYPES).
    pub name: TypeKey,
    /// What they cost.
    pub costs: Costs,
}

/// The costs of all calls.
#[derive(Debug, Default)]
pub struct CostTable {
    rows: FxHashMap<(CallerId, TypeKey), Costs>,
}

impl CostTable {
    /// Counts a call.
    #[inline]
    pub fn note(&mut self, made: &Made<'_>) {
        match self.rows.get_mut(&(made.caller, made.name)) {
            Some(costs) => costs.note(made),
            None => self.further(made),
        }
    }

    #[inline(never)]
    fn further(&mut self, made: &Made<'_>) {
        let caller = if self.rows.len() < MAX_ROWS { made.caller } else { Callers::OTHERS };
        self.rows.entry((caller, made.name)).or_default().note(made);
    }

    /// All there are, in no order.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        self.rows.iter().map(|((caller, name), costs)| Row { caller: *caller, name: *name, costs: *costs })
    }
}
