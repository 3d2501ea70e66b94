//! time-syscalls-hot: a program asks the kernel for the time so often that it costs.

use serde_json::{Map, Value, json};

use super::time_survey::Cause;
use super::{Case, about};
use crate::activity::{TimeCall, TimeUse};
use crate::finding::{Evidence, Facts, Finding, Moment, Severity};
use crate::ledger::Pace;

/// Percent of a program's system calls from which on it stands out on a host where the clocksource makes every program
/// ask: ordinary ones reach 64 there (dockerd and containerd under hpet), one that does nothing else 99. Below it,
/// the program is told among those that clocksource-not-vdso lists.
const STANDS_OUT: u64 = 75;

/// Finds programs that do: those of which a process made [`Case::hot_calls`] within a second. The default is that of
/// emulated calls, for a system call costs about the same (0.1 to 0.2 µs, and 0.5 to 1.5 µs where the clocksource has
/// to be read from a device); where the clocksource is tsc, no ordinary capture has a single one.
pub fn find(pace: &Pace, case: &Case<'_>) -> Option<Finding> {
    let time = pace.time.as_ref().filter(|time| time.peak.most() >= case.hot_calls)?;
    let cause = case.survey.cause(time);
    let percent = share(pace, time);
    if cause == Some(Cause::Clocksource) && percent < STANDS_OUT {
        return None;
    }
    let mut finding = about("time-syscalls-hot", severity(time), &pace.process, pace.container, case);
    finding.facts = facts(pace, time);
    finding.facts.set("share_percent", percent);
    finding.facts.set_known("cause", cause.map(Cause::finding));
    finding.evidence = evidence(time);
    Some(finding)
}

/// A warning only where they cost: for a second or longer, and at least one percent of a processor all that time, or
/// a second of it in all.
pub fn severity(time: &TimeUse) -> Severity {
    let duration_ns = duration_ns(time);
    let told = time.took.sum_ns();
    let took_ns = if time.took.count() > 0 { told } else { time.total().saturating_mul(CHEAP_NS) };
    let is_dear = took_ns >= duration_ns / 100 || took_ns >= SECOND_NS;
    if duration_ns >= SECOND_NS && is_dear { Severity::Warning } else { Severity::Info }
}

/// What a call costs at least, where the capture does not tell.
const CHEAP_NS: u64 = 100;

fn duration_ns(time: &TimeUse) -> u64 {
    time.last.0.since(&time.first.0)
}

fn share(pace: &Pace, time: &TimeUse) -> u64 {
    (time.total() * 100).checked_div(pace.time_of_calls).unwrap_or(100).min(100)
}

/// What there is to say of a program's calls.
pub fn facts(pace: &Pace, time: &TimeUse) -> Facts {
    let mut facts = Facts::default();
    let duration_ns = duration_ns(time);
    // Of what is over within a second there is no rate.
    let is_burst = duration_ns < SECOND_NS;
    facts.set("call", busiest(time).name());
    facts.set("calls", counts(time));
    facts.set("count", time.total());
    facts.set("processes", pace.time_processes);
    facts.set("duration_ns", duration_ns);
    facts.set("peak_per_second", time.peak.most());
    if is_burst {
        facts.set("burst_ns", duration_ns);
    } else {
        facts.set_known("rate_per_second", per_second(time.total(), duration_ns));
    }
    if let (Some(cost), Some(slow)) = (time.took.quantile(50), time.took.quantile(99)) {
        facts.set("cost_ns", cost);
        facts.set("cost_tail_ns", slow);
        if is_burst {
            facts.set("took_ns", time.took.sum_ns());
        } else {
            facts.set_known("cost_per_second_ns", per_second(time.took.sum_ns(), duration_ns));
        }
    }
    if let Some((tid, count)) = time.busiest_thread() {
        facts.set("busiest_thread", json!({ "tid": tid, "count": count }));
    }
    if time.compat * 2 > time.total() {
        facts.set("bits", 32);
    }
    facts
}

const SECOND_NS: u64 = 1_000_000_000;

fn per_second(count: u64, duration_ns: u64) -> Option<u64> {
    let rate = (u128::from(count) * u128::from(SECOND_NS)).checked_div(duration_ns.into())?;
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}

/// The call made most often.
pub fn busiest(time: &TimeUse) -> TimeCall {
    // Of as many, the first.
    time.each()
        .fold((TimeCall::ClockGettime, 0), |most, (call, count)| if count > most.1 { (call, count) } else { most })
        .0
}

/// How often each call was made.
pub fn counts(time: &TimeUse) -> Map<String, Value> {
    time.each().filter(|(_, count)| *count > 0).map(|(call, count)| (call.name().into(), count.into())).collect()
}

/// The first and the last call.
pub fn evidence(time: &TimeUse) -> Vec<Evidence> {
    let shown =
        |(at, call): (Moment, TimeCall), which| Evidence::new(at, call.name(), format!("the {which} of these calls"));
    vec![shown(time.first, "first"), shown(time.last, "last")]
}
