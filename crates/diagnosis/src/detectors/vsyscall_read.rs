//! vsyscall-read: the vsyscall page was read (or written), not called. Programs that look into it
//! for functions die under `none` and `xonly`; scanners do it to find gadgets.

use super::{Case, Verdict, touched_and_lived};
use crate::episodes::Death;
use crate::fault::{Access, Fault};
use crate::finding::{Facts, Finding, Severity};
use crate::ledger::ProgramUse;

fn is_read(fault: &Fault) -> bool {
    fault.in_vsyscall_page() && fault.access() != Access::Fetch
}

/// Claims deaths after a read of the page.
pub fn claim(death: &Death, _: &Case<'_>) -> Option<Verdict> {
    death.fault.filter(is_read)?;
    Some(Verdict {
        id: "vsyscall-read",
        severity: Severity::Error,
        confidence: death.recorded(),
        facts: Facts::default(),
    })
}

/// Finds programs that did it and lived.
pub fn find(program: &ProgramUse, case: &Case<'_>) -> Option<Finding> {
    let touched = program.page_use.read?;
    let mut finding = touched_and_lived("vsyscall-read", &touched, program, case);
    finding.facts.set("fault_access", touched.first.access().name());
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, ABSENT_READ, case, death, program};
    use super::*;
    use crate::vsyscall::{Mode, PAGE};

    #[test]
    fn reads_are_claimed_and_calls_are_not() {
        assert!(case(Mode::None, |case| claim(&death(PAGE + 0x3c, ABSENT_READ), case)).is_some());
        assert_eq!(case(Mode::None, |case| claim(&death(PAGE, ABSENT_FETCH), case)), None);
        assert_eq!(case(Mode::None, |case| claim(&death(PAGE - 1, ABSENT_READ), case)), None);
    }

    #[test]
    fn a_read_that_was_caught_is_found() {
        let found = case(Mode::None, |case| find(&program(PAGE + 0x3c, ABSENT_READ, true), case)).expect("found");
        assert_eq!(found.severity, Severity::Warning);
    }
}
