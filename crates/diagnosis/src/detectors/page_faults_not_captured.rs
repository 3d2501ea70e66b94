//! page-faults-not-captured: the capture has no page faults at all, so it cannot tell why a process
//! got SIGSEGV, nor that none used the vsyscall page. They are off unless `sysdig --page-faults` was
//! given.

use super::Case;
use crate::finding::{Finding, Severity};

/// Says so, louder where a process died of what a fault would explain.
pub fn find(case: &Case<'_>) -> Option<Finding> {
    if case.summary.page_faults_recorded() || case.summary.first_ns().is_none() {
        return None;
    }
    let segfaults = case.earlier_segfaults + case.ledger.segfaults();
    let severity = if segfaults > 0 { Severity::Warning } else { Severity::Info };
    let mut finding = Finding::of_capture("page-faults-not-captured", severity);
    finding.facts.set("segfaults", segfaults);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_READ, case_of_events, deaths_at};
    use super::*;

    const PAGE_FAULT: u16 = 290;
    const SWITCH: u16 = 14;

    #[test]
    fn a_capture_without_faults_says_so_and_louder_after_a_segfault() {
        let quiet = case_of_events(&[SWITCH], deaths_at(0, ABSENT_READ, &[]), find).expect("found");
        let loud = case_of_events(&[SWITCH], deaths_at(0, ABSENT_READ, &[1, 2]), find).expect("found");
        assert_eq!((quiet.severity, loud.severity), (Severity::Info, Severity::Warning));
        assert_eq!(loud.facts.get("segfaults"), Some(&2.into()));
    }

    #[test]
    fn a_capture_with_faults_or_without_events_does_not() {
        assert_eq!(case_of_events(&[SWITCH, PAGE_FAULT], deaths_at(0, ABSENT_READ, &[1]), find), None);
        assert_eq!(case_of_events(&[], deaths_at(0, ABSENT_READ, &[]), find), None);
    }
}
