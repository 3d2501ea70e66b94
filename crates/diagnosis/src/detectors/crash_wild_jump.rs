//! crash-wild-jump: the program jumped to an address where no code is.

use super::{Case, Verdict, confidence_in_user_space, may_be_harmless};
use crate::episodes::Death;
use crate::fault::Access;
use crate::finding::{Facts, Severity};
use crate::signal::SIGBUS;

/// Claims deaths after a fetch outside of the vsyscall page, but not where the program may have had
/// code at that address and run it for the first time: such faults come by the dozen in any program,
/// and say nothing of a signal that follows.
pub fn claim(death: &Death, _: &Case<'_>) -> Option<Verdict> {
    death.fault.filter(|fault| fault.access() == Access::Fetch && !fault.in_vsyscall_page())?;
    if death.signal == SIGBUS || may_be_harmless(death) {
        return None;
    }
    let confidence = confidence_in_user_space(death);
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
    fn code_that_is_run_for_the_first_time_is_no_wild_jump() {
        let near = |check| crate::episodes::MappingCheck { near_used: true, ..check };
        let mapped = |check| crate::episodes::MappingCheck { holds: true, ..check };
        for change in [near, mapped] {
            let mut death = death(0x49_0c10, ABSENT_FETCH);
            death.mapping = death.mapping.map(change);
            assert_eq!(case(Mode::None, |case| claim(&death, case)), None);
        }
    }
}
