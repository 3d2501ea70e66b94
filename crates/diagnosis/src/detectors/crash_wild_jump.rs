//! crash-wild-jump: the program jumped to an address where no code is.

use super::{Case, Verdict, confidence_of_fault};
use crate::episodes::Death;
use crate::fault::Access;
use crate::finding::{Confidence, Facts, Severity};
use crate::signal::SIGBUS;

/// Claims deaths after a fetch outside of the vsyscall page. An address that the process had mapped
/// may have been fetched for the first time, and the signal have another cause: then it is a guess.
pub fn claim(death: &Death, _: &Case<'_>) -> Option<Verdict> {
    let fault = death.fault.filter(|fault| fault.access() == Access::Fetch && !fault.in_vsyscall_page())?;
    if death.signal == SIGBUS {
        return None;
    }
    let was_mapped = death.mapping.is_some_and(|check| check.holds) && !fault.is_protection_violation();
    let confidence = if was_mapped { Confidence::Possible } else { confidence_of_fault(death) };
    Some(Verdict { id: "crash-wild-jump", severity: Severity::Error, confidence, facts: Facts::default() })
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, ABSENT_READ, case, death};
    use super::*;
    use crate::vsyscall::{Mode, PAGE};

    #[test]
    fn a_jump_is_claimed_a_read_and_a_vsyscall_are_not() {
        assert!(case(Mode::None, |case| claim(&death(0x1234_5678_9000, ABSENT_FETCH), case)).is_some());
        assert_eq!(case(Mode::None, |case| claim(&death(0x1234_5678_9000, ABSENT_READ), case)), None);
        assert_eq!(case(Mode::None, |case| claim(&death(PAGE + 0x400, ABSENT_FETCH), case)), None);
    }

    #[test]
    fn a_jump_into_mapped_memory_is_a_guess() {
        let mut death = death(0x7000_0000, ABSENT_FETCH);
        death.mapping = death.mapping.map(|check| crate::episodes::MappingCheck { holds: true, ..check });
        assert_eq!(case(Mode::None, |case| claim(&death, case)).expect("claimed").confidence, Confidence::Possible);
    }
}
