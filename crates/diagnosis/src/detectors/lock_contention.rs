//! lock-contention: threads of a process wait for locks that its other threads hold.

use super::{Case, about};
use crate::activity::{Lock, LockWaits};
use crate::finding::{Confidence, Evidence, Finding, Severity, address};
use crate::ledger::Pace;

/// Waits for contended locks within a second from which on it is worth a look how long they are. Go programs wait in
/// futex most of their time, and have 0 to 3 waits of this kind in a whole run.
const PEAK: u64 = 20;
/// Percent of the time from the first to the last wait that threads have to wait, all together. A JVM that starts has 80
/// to 130 such waits under strace, which are 6 % of that time; four threads that do nothing but hold and want one mutex
/// 110 %.
const SHARE: u64 = 20;
/// What that time is taken to be at least: contention that is over sooner costs nobody anything.
const LEAST_NS: u64 = 100_000_000;
/// Waits within a second that cost without being long: each is two system calls and two switches of threads.
const MANY: u64 = 1000;
/// Waits at one address that ended at once, for what stood there had changed, from which on threads race for it whatever
/// it is; and percent of the waits there. Ordinary Go programs have 1 or 2 of up to 150 waits at an address that several
/// threads wait at, a JVM that starts under strace up to 25.
const RACES: u64 = 50;
const RACES_SHARE: u64 = 10;
/// Threads that have to wait at an address: one that waits for itself is stuck, not contended.
const THREADS: usize = 2;

/// What makes a lock one that threads contend for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Held,
    Races,
}

fn sign(lock: &Lock) -> Option<Sign> {
    if lock.threads() < THREADS {
        None
    } else if lock.held * 2 > lock.waits {
        Some(Sign::Held)
    } else if lock.again >= RACES && lock.again * 100 >= lock.waits * RACES_SHARE {
        Some(Sign::Races)
    } else {
        None
    }
}

/// Waits at the addresses of one sign.
struct Waits<'a> {
    sign: Sign,
    locks: Vec<&'a Lock>,
}

impl<'a> Waits<'a> {
    fn of(all: &'a LockWaits, wanted: Sign) -> Self {
        Self { sign: wanted, locks: all.locks().filter(|lock| sign(lock) == Some(wanted)).collect() }
    }

    fn sum(&self, value: fn(&Lock) -> u64) -> u64 {
        self.locks.iter().map(|lock| value(lock)).fold(0, u64::saturating_add)
    }

    /// Whether they cost enough, of `duration_ns` and with `peak` of them within a second.
    fn matter(&self, duration_ns: u64, peak: u64) -> bool {
        let is_long = self.sum(|lock| lock.waited_ns).saturating_mul(100) / SHARE >= duration_ns.max(LEAST_NS);
        let is_often = self.sum(|lock| lock.waits) >= MANY && peak >= MANY;
        is_often || (peak >= PEAK && is_long)
    }
}

/// Finds such processes.
pub fn find(pace: &Pace, case: &Case<'_>) -> Option<Finding> {
    let single = pace.locks.as_ref()?;
    let ((first, last), peak) = (single.what.span?, single.what.peak?.most());
    let duration_ns = last.since(&first);
    let [held, races] = [Sign::Held, Sign::Races].map(|sign| Waits::of(&single.what, sign));
    let told = [&held, &races].into_iter().find(|waits| waits.matter(duration_ns, peak))?;
    let busiest = told.locks.iter().max_by_key(|lock| lock.waits)?;
    let waited_ns = told.sum(|lock| lock.waited_ns);
    let mut finding = about("lock-contention", Severity::Warning, &single.process, pace.container, case);
    // What the value means that they wait for is a custom, although a common one; without it, it may be another thing than a lock.
    finding.confidence = if told.sign == Sign::Held { Confidence::Likely } else { Confidence::Possible };
    let facts = &mut finding.facts;
    facts.set("count", told.sum(|lock| lock.waits));
    facts.set("held", held.sum(|lock| lock.held));
    facts.set("races", races.sum(|lock| lock.waits));
    facts.set("processes", single.processes);
    facts.set("again", told.sum(|lock| lock.again));
    facts.set("peak_per_second", peak);
    facts.set("duration_ns", duration_ns);
    facts.set("threads", busiest.threads());
    if waited_ns > 0 {
        facts.set("waited_ns", waited_ns);
    }
    facts.set("lock", address(busiest.address));
    facts.set("lock_count", busiest.waits);
    let [took_ns, futex_ns] = single.took_ns;
    facts.set_known("futex_percent", futex_ns.saturating_mul(100).checked_div(took_ns).map(|percent| percent.min(100)));
    let shown = |at, which: &str| Evidence::new(at, "futex", format!("the end of the {which} of these waits"));
    finding.evidence = vec![shown(first, "first"), shown(last, "last")];
    Some(finding)
}
