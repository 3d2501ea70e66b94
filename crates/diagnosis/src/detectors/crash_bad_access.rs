//! crash-bad-access: memory was read or written that the process may not use.

use super::{Case, Verdict, confidence_of_fault};
use crate::episodes::Death;
use crate::finding::{Confidence, Facts, Severity};
use crate::signal::SIGBUS;

/// Claims deaths after any other fault. In memory that the process had mapped, an absent page is
/// filled in without a signal, so the fault may not be the cause: then it is a guess.
pub fn claim(death: &Death, case: &Case<'_>) -> Option<Verdict> {
    let fault = death.fault.filter(|_| death.signal != SIGBUS)?;
    let was_mapped = death.mapping.is_some_and(|check| check.holds) && !fault.is_protection_violation();
    let confidence = if was_mapped { Confidence::Possible } else { confidence_of_fault(death) };
    let mut facts = Facts::default();
    // The kernel emulates vsyscalls here, but refused this one (bad argument or stack).
    if let Some(call) = fault.vsyscall() {
        facts.set("call", serde_json::json!(call));
        facts.set("vsyscall_mode", serde_json::json!(case.mode));
    }
    Some(Verdict { id: "crash-bad-access", severity: Severity::Error, confidence, facts })
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_READ, PRESENT_FETCH, case, death};
    use super::*;
    use crate::vsyscall::{Mode, PAGE};

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
    fn a_bus_error_is_another_matter() {
        let mut death = death(0x5555_0000_0000, ABSENT_READ);
        death.signal = SIGBUS;
        assert_eq!(case(Mode::None, |case| claim(&death, case)), None);
    }
}
