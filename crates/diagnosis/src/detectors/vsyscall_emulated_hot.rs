//! vsyscall-emulated-hot: a program calls into the vsyscall page so often that emulation hurts.

use serde_json::{Map, Value};

use super::{Case, about};
use crate::finding::{Evidence, Finding, Severity};
use crate::ledger::ProgramUse;
use crate::vsyscall::{Call, Mode};

/// Calls of one process within a second from which on emulation is worth a word.
///
/// An emulated call costs 0.35 µs (a machine of 2026) to 0.7 µs (1.4 million a second, Sysdig's
/// article of 2018) where the vDSO takes a few nanoseconds, so a thousand a second are 0.05 % of a
/// CPU: little, but a program that does that does it all day, and no ordinary capture comes near (a
/// program that starts under `emulate` makes one call).
pub const DEFAULT_HOT_CALLS: u64 = 1000;

/// What a machine of 2018 made of them through the vDSO (Sysdig's article): what one emulated call takes is compared
/// with that. A machine of 2026 made 751 million.
const VDSO_CALLS_PER_SECOND: u64 = 266_770_000;

/// Finds programs that do.
pub fn find(program: &ProgramUse, case: &Case<'_>) -> Option<Finding> {
    let emulated = program.page_use.emulated.as_ref().filter(|emulated| emulated.peak.most() >= case.hot_calls)?;
    let mut finding = about("vsyscall-emulated-hot", Severity::Warning, &program.process, program.container, case);
    let facts = &mut finding.facts;
    let calls: Map<String, Value> = Call::ALL
        .iter()
        .zip(emulated.calls)
        .filter(|(_, count)| *count > 0)
        .filter_map(|(call, count)| Some((serde_json::json!(call).as_str()?.into(), count.into())))
        .collect();
    let busiest =
        Call::ALL.iter().zip(emulated.calls).max_by_key(|(_, count)| *count).map(|(call, _)| serde_json::json!(call));
    let duration_ns = emulated.last.since(&emulated.first.at);
    facts.set("count", emulated.total());
    facts.set("calls", calls);
    facts.set_known("call", busiest);
    facts.set("processes", program.processes);
    facts.set("duration_ns", duration_ns);
    facts.set("peak_per_second", emulated.peak.most());
    if let Some(rate) = (u128::from(emulated.total()) * 1_000_000_000).checked_div(duration_ns.into()) {
        facts.set("rate_per_second", u64::try_from(rate).unwrap_or(u64::MAX));
    }
    if let Some(gap_ns) = emulated.gaps.as_ref().and_then(|gaps| gaps.quantile(50)) {
        facts.set("cost_ns", gap_ns);
        facts.set_known("pace_per_second", 1_000_000_000u64.checked_div(gap_ns));
        facts.set("vdso_factor", gap_ns * VDSO_CALLS_PER_SECOND / 1_000_000_000);
    }
    if case.mode != Mode::Unknown {
        facts.set("vsyscall_mode", serde_json::json!(case.mode));
    }
    finding.evidence.push(emulated.first.evidence());
    finding.evidence.push(Evidence::new(emulated.last, "page_fault", "the last of these faults"));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{PRESENT_FETCH, case, program_calling};
    use super::*;
    use crate::vsyscall::PAGE;

    #[test]
    fn a_thousand_calls_in_a_second_are_hot_and_fewer_are_not() {
        let hot = |count, step_ns| {
            case(Mode::Emulate, |case| find(&program_calling(PAGE, PRESENT_FETCH, count, step_ns), case))
        };
        assert!(hot(1000, 1000).is_some());
        assert_eq!(hot(999, 1000), None);
        assert_eq!(hot(5000, 10_000_000), None, "100 a second for 50 seconds");
    }

    #[test]
    fn rate_and_calls_are_told() {
        let found =
            case(Mode::Xonly, |case| find(&program_calling(PAGE + 0x400, 154, 2001, 1_000_000), case)).expect("found");
        assert_eq!(found.facts.get("rate_per_second"), Some(&1000.into()));
        assert_eq!(found.facts.get("calls"), Some(&serde_json::json!({ "time": 2001 })));
        assert_eq!(found.facts.get("vsyscall_mode"), Some(&"xonly".into()));
    }
}
