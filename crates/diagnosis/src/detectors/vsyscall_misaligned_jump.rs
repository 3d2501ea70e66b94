//! vsyscall-misaligned-jump: a fetch in the vsyscall page off its three entry points. No compiler
//! makes such a call: a wild jump, or return-oriented programming with an address that is the same
//! on every machine.

use super::{Case, Verdict, touched_and_lived};
use crate::episodes::Death;
use crate::fault::{Access, Fault};
use crate::finding::{Facts, Finding, Severity};
use crate::ledger::ProgramUse;
use crate::vsyscall;

fn offset(fault: &Fault) -> Option<u64> {
    let offset = vsyscall::offset(fault.address)?;
    (fault.access() == Access::Fetch && fault.vsyscall().is_none()).then_some(offset)
}

/// Claims deaths after such a fetch.
pub fn claim(death: &Death, _: &Case<'_>) -> Option<Verdict> {
    let mut facts = Facts::default();
    facts.set("offset", offset(&death.fault?)?);
    Some(Verdict { id: "vsyscall-misaligned-jump", severity: Severity::Critical, confidence: death.recorded(), facts })
}

/// Finds programs that did it and lived.
pub fn find(program: &ProgramUse, case: &Case<'_>) -> Option<Finding> {
    let touched = program.page_use.misaligned?;
    let mut finding = touched_and_lived("vsyscall-misaligned-jump", &touched, program, case);
    finding.facts.set("offset", offset(&touched.first)?);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, PRESENT_FETCH, case, death, program};
    use super::*;
    use crate::vsyscall::{Mode, PAGE};

    #[test]
    fn jumps_off_the_entry_points_are_claimed_in_every_mode() {
        for (mode, error) in [(Mode::None, ABSENT_FETCH), (Mode::Emulate, PRESENT_FETCH), (Mode::Xonly, ABSENT_FETCH)] {
            let verdict = case(mode, |case| claim(&death(PAGE + 0x402, error), case)).expect("claimed");
            assert_eq!(verdict.facts.get("offset"), Some(&0x402.into()));
        }
    }

    #[test]
    fn calls_reads_and_other_pages_are_not() {
        for (address, error) in [(PAGE + 0x400, ABSENT_FETCH), (PAGE + 0x402, 26), (PAGE + 0x1402, ABSENT_FETCH)] {
            assert_eq!(case(Mode::None, |case| claim(&death(address, error), case)), None, "0x{address:x} {error}");
        }
    }

    #[test]
    fn a_program_that_caught_it_is_found() {
        let found = case(Mode::Emulate, |case| find(&program(PAGE + 0x10, PRESENT_FETCH, true), case)).expect("found");
        assert_eq!(found.facts.get("offset"), Some(&0x10.into()));
        assert_eq!(case(Mode::None, |case| find(&program(PAGE, ABSENT_FETCH, true), case)), None);
    }
}
