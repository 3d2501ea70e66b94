//! seccomp-overhead: the way into and out of the kernel takes longer inside a container than outside of it.
//!
//! The seccomp filter runs before the enter event is recorded (Linux, syscall_trace_enter), so what it costs shows in no
//! call's duration, but between the exit of one call and the enter of the next: in loops that do nothing else.

use super::time_survey::name;
use super::time_syscalls_hot::{busiest, evidence};
use super::{Case, about};
use crate::activity::TimeUse;
use crate::finding::{Confidence, Evidence, Finding, Severity};
use crate::ledger::Pace;

/// Gaps from which on there is a loop to be measured.
const GAPS: u64 = 200;
/// A loop that does nothing else takes equally long each time: of its gaps, a quarter are below the one of these
/// percentages of the median and three quarters below the other. Recorded loops have 97 to 103; programs that do
/// other work between two calls have from 60 to several hundred.
const EVEN: [u64; 2] = [75, 133];
/// Gaps inside, in percent of those outside, from which on there is something to tell: the same loop differed by 40 %
/// between two boots of the same machine, in containers and not.
const DEARER: u64 = 150;

struct Loop<'a> {
    pace: &'a Pace,
    time: &'a TimeUse,
    gap_ns: u64,
}

/// Compares the loop of a program inside a container with the same program's outside. Where none runs on both sides, the
/// loop with the dearest gaps inside is held against the shortest outside, which is worth a remark and no warning.
pub fn find(case: &Case<'_>) -> Option<Finding> {
    let loops: Vec<Loop<'_>> = case.ledger.paces().iter().filter_map(measured).collect();
    let (inside, outside): (Vec<&Loop<'_>>, Vec<&Loop<'_>>) =
        loops.iter().partition(|one| one.pace.container.is_some());
    let own_of = |inside: &Loop<'_>| {
        let same = outside.iter().filter(|one| name(&one.pace.process) == name(&inside.pace.process));
        same.min_by_key(|one| one.gap_ns).copied()
    };
    let on_both_sides = inside.iter().filter(|one| own_of(one).is_some()).max_by_key(|one| one.gap_ns);
    let inside = *on_both_sides.or_else(|| inside.iter().max_by_key(|one| one.gap_ns))?;
    let own = own_of(inside);
    let outside = own.or_else(|| outside.iter().min_by_key(|one| one.gap_ns).copied())?;
    if inside.gap_ns * 100 < outside.gap_ns * DEARER {
        return None;
    }
    let Loop { pace, time, gap_ns } = inside;
    // Another program's loop may be shorter by itself.
    let (severity, confidence) =
        if own.is_some() { (Severity::Warning, Confidence::Likely) } else { (Severity::Info, Confidence::Possible) };
    let mut finding = about("seccomp-overhead", severity, &pace.process, pace.container, case);
    finding.confidence = confidence;
    let facts = &mut finding.facts;
    facts.set("call", busiest(time).name());
    facts.set("count", time.total());
    facts.set("peak_per_second", time.peak.most());
    facts.set("gap_inside_ns", *gap_ns);
    facts.set("gap_outside_ns", outside.gap_ns);
    facts.set("gap_percent", gap_ns * 100 / outside.gap_ns.max(1));
    facts.set("extra_ns", gap_ns - outside.gap_ns);
    facts.set(
        "compared_with",
        serde_json::json!({ "comm": outside.pace.process.comm, "pid": outside.pace.process.pid }),
    );
    finding.evidence = evidence(time);
    let (at, call) = outside.time.first;
    finding.evidence.push(Evidence::new(at, call.name(), "the first of those outside of containers"));
    finding.evidence.sort_by_key(|evidence| evidence.event);
    Some(finding)
}

fn measured(pace: &Pace) -> Option<Loop<'_>> {
    let time = pace.time().filter(|time| time.gaps.count() >= GAPS)?;
    let [quarter, gap_ns, three_quarters] = [time.gaps.quantile(25)?, time.gaps.quantile(50)?, time.gaps.quantile(75)?];
    let is_even = quarter * 100 >= gap_ns * EVEN[0] && three_quarters * 100 <= gap_ns * EVEN[1];
    is_even.then_some(Loop { pace, time, gap_ns })
}
