//! clocksource-not-vdso: many unrelated programs ask the kernel for the time: its clocksource cannot be read in user
//! space.

use serde_json::json;

use super::Case;
use super::time_syscalls_hot::evidence;
use crate::activity::TimeUse;
use crate::finding::{Confidence, Finding, Severity};
use crate::ledger::Pace;
use crate::state::ContainerId;

/// Programs listed.
const LISTED: usize = 8;

/// Says so, of the host as a whole.
pub fn find(case: &Case<'_>) -> Option<Finding> {
    let survey = case.survey;
    if !survey.is_clocksource() {
        return None;
    }
    let asks = |pace| Some((pace, Pace::time(pace).filter(|time| time.of_clocksource() > 0)?));
    let mut asking: Vec<(&Pace, &TimeUse)> = case.ledger.paces().iter().filter_map(asks).collect();
    asking.sort_by_key(|(_, time)| std::cmp::Reverse(time.of_clocksource()));
    let in_container = asking.iter().any(|(pace, _)| pace.container.is_some());
    let on_host = asking.iter().any(|(pace, _)| pace.container.is_none());
    let mut finding = Finding::of_capture("clocksource-not-vdso", Severity::Warning);
    // Which clock was asked for is not recorded, and some always enter the kernel.
    finding.confidence = Confidence::Likely;
    let facts = &mut finding.facts;
    facts.set("count", asking.iter().map(|(_, time)| time.of_clocksource()).sum::<u64>());
    facts.set("asking_programs", survey.asking);
    facts.set("silent_programs", survey.silent);
    if survey.unaware > 0 {
        facts.set("unaware_programs", survey.unaware);
    }
    let spread = match (in_container, on_host) {
        (true, true) => "host-and-containers",
        (true, false) => "containers",
        _ => "host",
    };
    facts.set("spread", spread);
    facts.set("programs", listed(&asking, case));
    let mut of_all = (*asking.first()?.1).clone();
    asking.iter().skip(1).for_each(|(_, time)| of_all.add(time));
    facts.set_known("cost_ns", of_all.took.quantile(50));
    finding.evidence = evidence(&of_all);
    Some(finding)
}

/// The programs, those that asked most first; of what goes by one name in one place, the sum.
fn listed(asking: &[(&Pace, &TimeUse)], case: &Case<'_>) -> Vec<serde_json::Value> {
    let mut programs: Vec<(Option<&str>, Option<ContainerId>, u64, u64)> = Vec::new();
    for (pace, time) in asking {
        let (comm, container) = (pace.process.comm.as_deref(), pace.container);
        let (count, peak) = (time.of_clocksource(), time.peak.most());
        match programs.iter_mut().find(|known| (known.0, known.1) == (comm, container)) {
            Some(known) => (known.2, known.3) = (known.2 + count, known.3.max(peak)),
            None => programs.push((comm, container, count, peak)),
        }
    }
    programs.sort_by_key(|(_, _, count, _)| std::cmp::Reverse(*count));
    let shown = programs.into_iter().take(LISTED).map(|(comm, container, count, peak)| {
        let container = container.map(|container| case.containers.show(container).id);
        json!({ "comm": comm, "container": container, "count": count, "peak_per_second": peak })
    });
    shown.collect()
}
