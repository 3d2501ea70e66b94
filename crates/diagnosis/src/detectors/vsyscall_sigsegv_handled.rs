//! vsyscall-sigsegv-handled: a call into the page brought SIGSEGV, and the program caught it and lived.

use super::{Case, touched_and_lived};
use crate::episodes::Outcome;
use crate::fault::Fault;
use crate::finding::Finding;
use crate::ledger::ProgramUse;

/// Finds programs that did. If they died of it after all, the death is the finding; a death in the
/// handler of another fault is none of this one's.
pub fn find(program: &ProgramUse, case: &Case<'_>) -> Option<Finding> {
    let touched = program.page_use.handled?;
    let fault = touched.first;
    let died_of_it = case.ledger.deaths().iter().any(|deaths| {
        let death = &deaths.shown;
        death.fault.as_ref().is_some_and(Fault::in_vsyscall_page)
            && death.container == program.container
            && deaths.pids.contains(&program.process.pid)
    });
    if died_of_it {
        return None;
    }
    let mut finding = touched_and_lived("vsyscall-sigsegv-handled", &touched, program, case);
    let facts = &mut finding.facts;
    facts.set_known("call", fault.vsyscall().map(|call| serde_json::json!(call)));
    if !fault.is_protection_violation() {
        facts.set("vsyscall_mode", "none");
    }
    facts.set("signal", "SIGSEGV");
    facts.set("fault_access", fault.access().name());
    facts.set("fault_error", fault.error_names());
    match program.page_use.outcome {
        Outcome::Exited(status) => {
            facts.set("outcome", "exited");
            facts.set("own_exit_status", status);
        }
        Outcome::Alive => facts.set("outcome", "alive"),
        Outcome::Gone => {}
    }
    facts.set_known("fault_to_signal_ns", touched.delivery.map(|delivery| delivery.at.since(&fault.at)));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, case, program};
    use super::*;
    use crate::vsyscall::{Mode, PAGE};

    #[test]
    fn a_caught_call_is_found_and_an_emulated_one_is_not() {
        let found = case(Mode::None, |case| find(&program(PAGE + 0x400, ABSENT_FETCH, true), case)).expect("found");
        assert_eq!(found.facts.get("call"), Some(&"time".into()));
        assert_eq!(case(Mode::Xonly, |case| find(&program(PAGE + 0x400, ABSENT_FETCH, false), case)), None);
    }
}
