//! crash-signal: a death by signal that no fault in the capture explains, with what can be said.

use super::{Case, Verdict};
use crate::episodes::Death;
use crate::finding::{Confidence, Facts, Severity};
use crate::signal::{SIGABRT, SIGBUS, SIGKILL, SIGSEGV};

/// The finding.
pub const ID: &str = "crash-signal";

/// Claims every death that is left.
pub fn claim(death: &Death, case: &Case<'_>) -> Option<Verdict> {
    Some(verdict(death, case))
}

/// What can be said of the death.
pub fn verdict(death: &Death, case: &Case<'_>) -> Verdict {
    let mut facts = Facts::default();
    let by_another = death.sender.as_ref().is_some_and(|sender| sender.pid != death.process.pid);
    let cause_hint = match death.signal {
        SIGKILL if death.sender.is_some() => "killed",
        SIGKILL => "killed-by-kernel",
        _ if by_another => "sent-by-process",
        SIGABRT => "abort",
        4 => "illegal-instruction",
        5 => "trap",
        SIGBUS => "bus-error",
        8 => "arithmetic",
        31 => "bad-syscall",
        24 | 25 => "resource-limit",
        SIGSEGV if !case.summary.page_faults_recorded() => "page-faults-not-recorded",
        _ if death.sender.is_some() => "sent-by-itself",
        _ => "no-fault-seen",
    };
    facts.set("cause_hint", cause_hint);
    let severity = if cause_hint == "killed" { Severity::Warning } else { Severity::Error };
    // That it died so is certain if the death was recorded; the hint says what may be behind it.
    let confidence = if death.exit.and(death.status).is_some() { Confidence::Certain } else { Confidence::Likely };
    Verdict { id: ID, severity, confidence, facts }
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_READ, case, death};
    use super::*;
    use crate::finding::Relative;
    use crate::vsyscall::Mode;

    fn hint(signal: u8, sender: Option<i64>) -> String {
        let mut death = death(0, ABSENT_READ);
        death.fault = None;
        death.signal = signal;
        death.sender = sender.map(|pid| Relative { comm: None, pid, args: Vec::new() });
        let verdict = case(Mode::Unknown, |case| verdict(&death, case));
        verdict.facts.get("cause_hint").and_then(|hint| hint.as_str()).unwrap_or_default().into()
    }

    #[test]
    fn each_signal_has_its_hint() {
        let own_pid = death(0, ABSENT_READ).process.pid;
        assert_eq!(hint(SIGABRT, Some(own_pid)), "abort");
        assert_eq!(hint(SIGKILL, Some(7)), "killed");
        assert_eq!(hint(SIGKILL, None), "killed-by-kernel");
        assert_eq!(hint(SIGSEGV, Some(7)), "sent-by-process");
        assert_eq!(hint(SIGSEGV, None), "page-faults-not-recorded", "the example's summary is empty");
        assert_eq!(hint(31, None), "bad-syscall");
    }
}
