//! clocksource-not-vdso: many unrelated programs ask the kernel for the time: its clocksource cannot be read in user
//! space.

use serde_json::json;

use super::Case;
use super::time_survey::Program;
use super::time_syscalls_hot::evidence;
use crate::activity::TimeUse;
use crate::finding::{Confidence, Finding, Severity};
use crate::ledger::Pace;

/// Programs listed: as many as a sentence names.
const LISTED: usize = 6;

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
    facts.set("asking_programs", survey.asking.len());
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
    facts.set("programs", survey.asking.iter().take(LISTED).map(|program| listed(program, case)).collect::<Vec<_>>());
    if survey.asking.len() > LISTED {
        facts.set("more_programs", survey.asking.len() - LISTED);
    }
    let mut of_all = (*asking.first()?.1).clone();
    asking.iter().skip(1).for_each(|(_, time)| of_all.add(time));
    facts.set_known("cost_ns", of_all.took.quantile(50));
    finding.evidence = evidence(&of_all);
    Some(finding)
}

/// A program, by the name of the process that asked most, and its container if there is but one.
fn listed(program: &Program<'_>, case: &Case<'_>) -> serde_json::Value {
    let asks = |pace: &&&Pace| Pace::time(pace).map_or(0, TimeUse::of_clocksource);
    let asking = || program.paces.iter().filter(|pace| asks(pace) > 0);
    let comm = asking().max_by_key(asks).and_then(|pace| pace.process.comm.as_deref());
    let container = asking().next().and_then(|pace| pace.container);
    let only = container.filter(|_| asking().all(|pace| pace.container == container));
    let peak = asking().filter_map(|pace| Pace::time(pace)).map(|time| time.peak.most()).max();
    let container = only.map(|container| case.containers.show(container).id);
    json!({ "comm": comm, "container": container, "count": program.clock, "peak_per_second": peak })
}
