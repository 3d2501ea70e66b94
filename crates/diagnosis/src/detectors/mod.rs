//! One file per finding: each says when the finding is there, how sure it is and what goes with it.
//!
//! A death is claimed by exactly one detector, the first in [`DEATHS`] that wants it, so that a
//! vsyscall verdict is never the default.

mod capture_truncated;
mod clocksource_not_vdso;
mod crash_bad_access;
mod crash_loop;
mod crash_null_deref;
mod crash_signal;
mod crash_wild_jump;
mod events_dropped;
mod lock_contention;
mod page_faults_not_captured;
mod seccomp_overhead;
mod startup_failed_lookups;
mod startup_seek_read;
mod time_survey;
mod time_syscalls_hot;
mod userspace_without_vdso;
mod vsyscall_emulated_hot;
mod vsyscall_misaligned_jump;
mod vsyscall_none_crash;
mod vsyscall_read;
mod vsyscall_sigsegv_handled;

#[cfg(test)]
pub(crate) mod examples;

use crate::episodes::{Death, Delivery, Touched, call_name};
use crate::finding::{Confidence, Evidence, Facts, Finding, ProcessRef, Severity, address};
use crate::ledger::{Deaths, KEPT, Ledger, Pace, ProgramUse};
use crate::signal;
use crate::state::{ContainerId, Containers};
use crate::summary::Summary;
use crate::vsyscall::{self, Mode};

pub use capture_truncated::Damaged;
pub use time_survey::Survey;
pub use vsyscall_emulated_hot::DEFAULT_HOT_CALLS;

/// Everything the detectors go by, at the end of the capture.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What happened.
    pub ledger: &'a Ledger,
    /// What the capture holds.
    pub summary: &'a Summary,
    /// How the kernel treats the vsyscall page.
    pub mode: Mode,
    /// Why reading ended early, if it did.
    pub damage: Option<&'a Damaged>,
    /// Containers, as known at the end.
    pub containers: &'a Containers,
    /// Calls for the time of one process within a second from which on they count as hot.
    pub hot_calls: u64,
    /// Who asks the kernel for the time.
    pub survey: &'a Survey<'a>,
    /// Deaths by SIGSEGV or SIGBUS in earlier sections of the capture.
    pub earlier_segfaults: u64,
}

/// What a detector makes of a death it claims.
#[derive(Debug, Clone, PartialEq)]
struct Verdict {
    id: &'static str,
    severity: Severity,
    confidence: Confidence,
    facts: Facts,
}

/// A detector of deaths; `None`: not one of mine.
type Claim = fn(&Death, &Case<'_>) -> Option<Verdict>;

const DEATHS: [Claim; 7] = [
    vsyscall_none_crash::claim,
    vsyscall_misaligned_jump::claim,
    vsyscall_read::claim,
    crash_null_deref::claim,
    crash_wild_jump::claim,
    crash_bad_access::claim,
    crash_signal::claim,
];

/// A detector of what programs did in the vsyscall page and lived.
type Watch = fn(&ProgramUse, &Case<'_>) -> Option<Finding>;

const USES: [Watch; 4] =
    [vsyscall_sigsegv_handled::find, vsyscall_emulated_hot::find, vsyscall_misaligned_jump::find, vsyscall_read::find];

/// A detector of what the system calls of programs amount to.
type Clock = fn(&Pace, &Case<'_>) -> Option<Finding>;

const PACES: [Clock; 5] = [
    time_syscalls_hot::find,
    userspace_without_vdso::find,
    startup_failed_lookups::find,
    startup_seek_read::find,
    lock_contention::find,
];

/// A detector that looks at all programs of a machine.
const MACHINE: [Whole; 2] = [clocksource_not_vdso::find, seccomp_overhead::find];

/// A detector that looks at the case as a whole.
type Whole = fn(&Case<'_>) -> Option<Finding>;

const WHOLE: [Whole; 3] = [page_faults_not_captured::find, events_dropped::find, capture_truncated::find];

/// What was found about processes.
#[must_use]
pub fn of_section(case: &Case<'_>) -> Vec<Finding> {
    let deaths: Vec<(&Deaths, Finding)> =
        case.ledger.deaths().iter().map(|deaths| (deaths, death(deaths, case))).collect();
    let mut findings = crash_loop::find(&deaths);
    findings.extend(deaths.into_iter().map(|(_, finding)| finding));
    for program in case.ledger.uses() {
        findings.extend(USES.iter().filter_map(|find| find(program, case)));
    }
    for pace in case.ledger.paces() {
        findings.extend(PACES.iter().filter_map(|find| find(pace, case)));
    }
    findings.extend(MACHINE.iter().filter_map(|find| find(case)));
    findings
}

/// What was found about the capture as a whole.
#[must_use]
pub fn of_capture(case: &Case<'_>) -> Vec<Finding> {
    WHOLE.iter().filter_map(|find| find(case)).collect()
}

/// Puts the worst first, then goes by the order of events.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (finding.severity, finding.evidence.first().map_or(u64::MAX, |first| first.event)));
}

fn death(deaths: &Deaths, case: &Case<'_>) -> Finding {
    let shown = &deaths.shown;
    let verdict =
        DEATHS.iter().find_map(|claim| claim(shown, case)).unwrap_or_else(|| crash_signal::verdict(shown, case));
    let Verdict { id, severity, confidence, facts } = verdict;
    // A fault that no detector of faults made the cause is not shown as if it were.
    let explained = id != crash_signal::ID || shown.signal == signal::SIGBUS;
    let cause = if explained { shown.clone() } else { Death { fault: None, mapping: None, ..shown.clone() } };
    let mut finding = about(id, severity, &shown.process, shown.container, case);
    finding.confidence = confidence;
    finding.facts = death_facts(&cause, deaths);
    finding.facts.extend(facts);
    finding.evidence = death_evidence(&cause);
    finding
}

/// A finding about a process, still without facts and evidence.
fn about(
    id: &'static str,
    severity: Severity,
    process: &ProcessRef,
    container: Option<ContainerId>,
    case: &Case<'_>,
) -> Finding {
    let container = container.map(|container| case.containers.show(container));
    Finding { process: Some(process.clone()), container, ..Finding::of_capture(id, severity) }
}

/// A finding about something that a program did in the vsyscall page and lived.
fn touched_and_lived(id: &'static str, touched: &Touched, program: &ProgramUse, case: &Case<'_>) -> Finding {
    let mut finding = about(id, Severity::Warning, &program.process, program.container, case);
    finding.facts.set("count", touched.count);
    finding.facts.set("fault_address", address(touched.first.address));
    finding.evidence.push(touched.first.evidence());
    finding.evidence.extend(touched.delivery.as_ref().map(delivery_evidence));
    finding
}

fn delivery_evidence(delivery: &Delivery) -> Evidence {
    let name = signal::crash_name(delivery.signal).unwrap_or_default();
    let sender = delivery.sender.map_or_else(|| "the kernel".into(), |sender| format!("pid {sender}"));
    let told = delivery.told.map(|told| format!(" si_code={} si_addr=0x{:x}", told.code(), told.address));
    Evidence::new(delivery.at, "signaldeliver", format!("sig={name} from={sender}{}", told.unwrap_or_default()))
}

/// The facts that go with every death.
fn death_facts(death: &Death, deaths: &Deaths) -> Facts {
    let mut facts = Facts::default();
    facts.set("count", deaths.count);
    if deaths.less_sure > 0 {
        facts.set("less_sure", deaths.less_sure);
    }
    facts.set("pids", deaths.pids.clone());
    let gaps: Vec<u64> = deaths.times_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).take(KEPT).collect();
    if !gaps.is_empty() {
        facts.set("gaps_ns", gaps);
    }
    facts.set_known("signal", signal::crash_name(death.signal));
    if let Some(status) = death.status {
        facts.set("exit_status", status.shown());
        facts.set("core_dumped", status.core_dumped());
    }
    if let Some(sender) = &death.sender {
        facts.set("sent_by", serde_json::json!({ "comm": sender.comm, "pid": sender.pid }));
    }
    let at = death.at();
    facts.set_known("after_exec_ns", death.exec.map(|exec| at.since(&exec)));
    facts.set_known("lifetime_ns", death.born.map(|born| at.since(&born)));
    if death.handler_ran {
        facts.set("handler_ran", true);
    }
    if let Some(fault) = &death.fault {
        facts.set("fault_address", address(fault.address));
        facts.set("fault_access", fault.access().name());
        facts.set("fault_error", fault.error_names());
        if let Some(delivery) = &death.delivery {
            facts.set("fault_to_signal_ns", delivery.at.since(&fault.at));
            facts.set("events_between", delivery.at.event.saturating_sub(fault.at.event + 1));
        }
        // The page belongs to no process: that none had mapped it says nothing.
        if !fault.in_vsyscall_page() {
            facts.extend(mapping_facts(death, fault.address));
        }
    }
    if let Some(told) = death.told() {
        facts.set("fault_address", address(told.address));
        facts.set("si_code", told.code());
        if vsyscall::offset(told.address).is_none() {
            facts.extend(mapping_facts(death, told.address));
            // The kernel has looked it up.
            facts.set("address_mapped", if told.mapped { "yes" } else { "no" });
        }
    }
    let calls: Vec<serde_json::Value> = death
        .last_calls
        .iter()
        .filter_map(|call| {
            let before_death_ns = at.timestamp_ns.saturating_sub(call.timestamp_ns);
            let name = call_name(call)?;
            Some(serde_json::json!({ "event": call.event, "name": name, "before_death_ns": before_death_ns }))
        })
        .collect();
    if !calls.is_empty() {
        facts.set("last_syscalls", calls);
    }
    if !death.libraries.is_empty() {
        facts.set("libraries", death.libraries.clone());
    }
    facts
}

/// Was the address one that the process had mapped?
fn mapping_facts(death: &Death, fault_address: u64) -> Facts {
    let mut facts = Facts::default();
    let Some(check) = death.mapping else { return facts };
    if check.holds {
        facts.set("address_mapped", "yes");
    } else if !(crate::ledger::NULL_END..USER_END).contains(&fault_address) {
        facts.set("address_mapped", "no");
    } else if check.seen > 0 {
        // The program file and the stack are mapped without an event.
        facts.set("address_mapped", "not-seen");
    }
    facts.set("mappings_seen", check.seen);
    facts
        .set_known("nearest_mapping", check.nearest.map(|(start, end)| format!("{}-{}", address(start), address(end))));
    facts
}

fn death_evidence(death: &Death) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    if let Some(fault) = &death.fault {
        evidence.push(fault.evidence());
    }
    evidence.extend(death.delivery.as_ref().map(delivery_evidence));
    evidence.extend(death.exit.map(|exit| {
        let detail = death.status.map_or_else(
            || "status=not recorded".into(),
            |status| format!("status={} exit_status={}", status.0, status.shown()),
        );
        Evidence::new(exit, "procexit", detail)
    }));
    evidence
}

/// User space ends here on x86-64 with four-level page tables.
const USER_END: u64 = 0x8000_0000_0000;

/// Whether the fault may have been harmless, and the signal have come from something that leaves no
/// fault (a general protection fault, an event that was dropped): the page was not there, but it is
/// one that the process may have had and just not used before.
fn may_be_harmless(death: &Death) -> bool {
    let Some(fault) = &death.fault else { return false };
    let is_user_memory = (crate::ledger::NULL_END..USER_END).contains(&fault.address);
    let may_be_its_own = death.mapping.is_some_and(|check| check.holds || check.near_used);
    is_user_memory && may_be_its_own && !fault.is_protection_violation()
}

/// How sure a death is that a fault at an address of user space explains. Only a page that cannot
/// be the process's own leaves no doubt that the fault was the cause.
fn confidence_in_user_space(death: &Death) -> Confidence {
    let Some(fault) = &death.fault else { return Confidence::Possible };
    let is_user_memory = (crate::ledger::NULL_END..USER_END).contains(&fault.address);
    if may_be_harmless(death) {
        Confidence::Possible
    } else if is_user_memory && !fault.is_protection_violation() {
        death.recorded().max(Confidence::Likely)
    } else {
        death.recorded()
    }
}
