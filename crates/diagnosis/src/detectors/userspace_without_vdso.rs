//! userspace-without-vdso: one program asks the kernel for the time where others need not: it does not use the vDSO,
//! or asks for a clock that the vDSO does not have.

use super::time_survey::Cause;
use super::time_syscalls_hot::{busiest, counts, evidence, severity};
use super::{Case, about};
use crate::finding::{Confidence, Finding};
use crate::ledger::Pace;

/// Finds such programs among the hot ones.
pub fn find(pace: &Pace, case: &Case<'_>) -> Option<Finding> {
    let time = pace.time.as_ref().filter(|time| time.peak.most() >= case.hot_calls)?;
    if case.survey.cause(time) != Some(Cause::Userspace) {
        return None;
    }
    let mut finding = about("userspace-without-vdso", severity(time), &pace.process, pace.container, case);
    // That others do not ask is all there is to go by, and that the vDSO would have answered is known of some calls.
    finding.confidence = Confidence::Likely;
    let facts = &mut finding.facts;
    let call = busiest(time);
    facts.set("call", call.name());
    facts.set("calls", counts(time));
    facts.set("count", time.total());
    facts.set("processes", pace.time_processes);
    facts.set("needs_clocksource", call.needs_clocksource());
    facts.set("silent_programs", case.survey.silent);
    if time.compat * 2 > time.total() {
        facts.set("bits", 32);
    }
    finding.evidence = evidence(time);
    Some(finding)
}
