//! lock-contention: threads of a process wait for locks that its other threads hold.

use super::{Case, about};
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
/// Threads that have to wait: one that waits for itself is stuck, not contended.
const THREADS: usize = 2;

/// Finds such processes.
pub fn find(pace: &Pace, case: &Case<'_>) -> Option<Finding> {
    let single = pace.locks.as_ref()?;
    let locks = &*single.what;
    let duration_ns = locks.last.since(&locks.first);
    let is_long = locks.waited_ns.saturating_mul(100) / SHARE >= duration_ns.max(LEAST_NS);
    let hurts = locks.peak.most() >= MANY || (locks.peak.most() >= PEAK && is_long);
    if !hurts || locks.threads() < THREADS {
        return None;
    }
    let mut finding = about("lock-contention", Severity::Warning, &single.process, pace.container, case);
    // What the value means that they wait for is a custom, although a common one.
    finding.confidence = Confidence::Likely;
    let facts = &mut finding.facts;
    facts.set("count", locks.waits);
    facts.set("processes", single.processes);
    facts.set("again", locks.again);
    facts.set("peak_per_second", locks.peak.most());
    facts.set("duration_ns", duration_ns);
    facts.set("threads", locks.threads());
    if locks.waited_ns > 0 {
        facts.set("waited_ns", locks.waited_ns);
    }
    if let Some((lock, waits)) = locks.busiest_lock() {
        facts.set("lock", address(lock));
        facts.set("lock_count", waits);
    }
    let [took_ns, futex_ns] = single.took_ns;
    facts.set_known("futex_percent", futex_ns.saturating_mul(100).checked_div(took_ns).map(|percent| percent.min(100)));
    let shown = |at, which: &str| Evidence::new(at, "futex", format!("the end of the {which} of these waits"));
    finding.evidence = vec![shown(locks.first, "first"), shown(locks.last, "last")];
    Some(finding)
}
