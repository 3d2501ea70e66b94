//! crash-bad-access: memory was read or written that the process may not use.

use super::{Case, Verdict, confidence_in_user_space, may_be_harmless};
use crate::episodes::Death;
use crate::fault::Access;
use crate::finding::{Facts, Severity};
use crate::signal::SIGBUS;
use crate::vsyscall::Mode;

const ID: &str = "crash-bad-access";

/// Claims deaths after any other fault of data, and at any other address that a signal tells. In memory that the process may have had, an absent
/// page is filled in without a signal, so the fault may not be the cause: then it is a guess.
pub fn claim(death: &Death, case: &Case<'_>) -> Option<Verdict> {
    if death.told().is_some() {
        let confidence = death.recorded();
        return Some(Verdict { id: ID, severity: Severity::Error, confidence, facts: Facts::default() });
    }
    let fault = death.fault.filter(|_| death.signal != SIGBUS)?;
    let is_own_code = fault.access() == Access::Fetch && may_be_harmless(death);
    if is_own_code {
        return None;
    }
    let confidence = confidence_in_user_space(death);
    let mut facts = Facts::default();
    // The kernel emulates vsyscalls here, but refused this one (bad argument or stack).
    if let Some(call) = fault.vsyscall() {
        facts.set("call", serde_json::json!(call));
        if case.mode != Mode::Unknown {
            facts.set("vsyscall_mode", serde_json::json!(case.mode));
        }
    }
    Some(Verdict { id: ID, severity: Severity::Error, confidence, facts })
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_READ, PRESENT_FETCH, case, death, told};
    use super::*;
    use crate::vsyscall::PAGE;

    #[test]
    fn reads_of_foreign_memory_are_claimed() {
        let verdict = case(Mode::None, |case| claim(&death(0x5555_0000_0000, ABSENT_READ), case)).expect("claimed");
        assert_eq!(verdict.id, "crash-bad-access");
    }

    #[test]
    fn a_call_that_an_emulating_kernel_refused_says_so() {
        let verdict = case(Mode::Emulate, |case| claim(&death(PAGE, PRESENT_FETCH), case)).expect("claimed");
        assert_eq!(verdict.facts.get("vsyscall_mode"), Some(&"emulate".into()));
    }

    #[test]
    fn an_address_that_the_signal_tells_is_the_cause_whatever_is_mapped_near_it() {
        let mut death = told(0x5555_0000_0000, true);
        death.mapping = death.mapping.map(|check| crate::episodes::MappingCheck { near_used: true, ..check });
        let verdict = case(Mode::Unknown, |case| claim(&death, case)).expect("claimed");
        assert_eq!(verdict.confidence, crate::finding::Confidence::Certain);
    }

    #[test]
    fn a_bus_error_is_another_matter() {
        let mut death = death(0x5555_0000_0000, ABSENT_READ);
        death.signal = SIGBUS;
        assert_eq!(case(Mode::None, |case| claim(&death, case)), None);
    }
}
