//! crash-loop: the same program of the same image dies again and again.

use rustc_hash::FxHashMap;

use crate::finding::{Confidence, Finding, Severity};
use crate::ledger::{Deaths, KEPT};
use crate::signal::SIGKILL;

/// Deaths from which on it is a loop: the crash, a restart, and a restart that did not help either.
const LOOP: u64 = 3;

/// What makes deaths in different containers the same loop. A restarted container may get a new id:
/// the image counts where it is known.
#[derive(PartialEq, Eq, Hash)]
struct Same<'a> {
    image_or_id: Option<&'a str>,
    comm: &'a str,
    program: Option<&'a str>,
    cause: &'static str,
}

impl<'a> Same<'a> {
    fn of(finding: &'a Finding) -> Option<Self> {
        let process = finding.process.as_ref()?;
        let container = finding.container.as_ref();
        Some(Self {
            image_or_id: container.map(|container| container.image.as_deref().unwrap_or(&container.id)),
            comm: process.comm.as_deref()?,
            program: process.exepath.as_deref().or(process.exe.as_deref()),
            cause: finding.id,
        })
    }
}

/// Finds loops among the deaths and what was said of them.
pub fn find(deaths: &[(&Deaths, Finding)]) -> Vec<Finding> {
    let mut programs: Vec<Vec<&(&Deaths, Finding)>> = Vec::new();
    let mut index: FxHashMap<Same<'_>, usize> = FxHashMap::default();
    for one in deaths {
        let (group, finding) = one;
        // Whoever is killed by another process again and again is not crashing.
        if group.shown.signal == SIGKILL && group.shown.sender.is_some() {
            continue;
        }
        let Some(same) = Same::of(finding) else { continue };
        let at = *index.entry(same).or_insert(programs.len());
        if at == programs.len() {
            programs.push(Vec::new());
        }
        programs[at].push(one);
    }
    programs.iter().filter_map(|same| one_loop(same)).collect()
}

fn one_loop(same: &[&(&Deaths, Finding)]) -> Option<Finding> {
    let count: u64 = same.iter().map(|(deaths, _)| deaths.count).sum();
    let (_, cause) = same.first().filter(|_| count >= LOOP)?;
    // Three deaths recorded to their ends make it a loop, whatever is missing of others.
    let certain = same.iter().filter(|(_, finding)| finding.confidence == Confidence::Certain);
    let sure: u64 = certain.map(|(deaths, _)| deaths.count - deaths.less_sure).sum();
    let mut times: Vec<u64> = same.iter().flat_map(|(deaths, _)| &deaths.times_ns).copied().collect();
    times.sort_unstable();
    let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut finding = Finding {
        process: cause.process.clone(),
        container: cause.container.clone(),
        confidence: if sure >= LOOP { Confidence::Certain } else { Confidence::Likely },
        ..Finding::of_capture("crash-loop", Severity::Critical)
    };
    let facts = &mut finding.facts;
    facts.set("count", count);
    facts.set("cause", cause.id);
    facts.set_known("image", cause.container.as_ref().and_then(|container| container.image.clone()));
    facts.set_known("signal", cause.facts.get("signal").cloned());
    facts.set_known("exit_status", cause.facts.get("exit_status").cloned());
    facts.set("pids", same.iter().flat_map(|(deaths, _)| &deaths.pids).copied().take(KEPT).collect::<Vec<i64>>());
    facts.set("gaps_ns", gaps.iter().copied().take(KEPT).collect::<Vec<u64>>());
    facts.set_known("lifetime_ns", cause.facts.get("lifetime_ns").or(cause.facts.get("after_exec_ns")).cloned());
    gaps.sort_unstable();
    facts.set_known("median_gap_ns", gaps.get(gaps.len() / 2).copied());
    finding.evidence = cause.evidence.clone();
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, case_with, deaths_at};
    use crate::vsyscall::{Mode, PAGE};

    const SECOND: u64 = 1_000_000_000;

    fn loops(times: &[u64]) -> Vec<super::Finding> {
        let ledger = deaths_at(PAGE + 0x400, ABSENT_FETCH, times);
        case_with(Mode::None, ledger, super::super::of_section)
            .into_iter()
            .filter(|finding| finding.id == "crash-loop")
            .collect()
    }

    #[test]
    fn three_deaths_are_a_loop_and_two_are_not() {
        assert!(loops(&[0, SECOND]).is_empty());
        let found = loops(&[0, SECOND, 3 * SECOND]);
        assert_eq!(found[0].facts.get("gaps_ns"), Some(&serde_json::json!([SECOND, 2 * SECOND])));
        assert_eq!(found[0].facts.get("cause"), Some(&"vsyscall-none-crash".into()));
    }
}
