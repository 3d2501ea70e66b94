//! crash-null-deref: a fault in the lowest 64 KiB, which nobody maps: a null pointer, or a field of
//! what one points to.

use super::{Case, Verdict};
use crate::episodes::Death;
use crate::finding::{Facts, Severity};
use crate::ledger::NULL_END;

/// Claims deaths after such a fault; calls through a null pointer too.
pub fn claim(death: &Death, _: &Case<'_>) -> Option<Verdict> {
    let address = death.fault.map(|fault| fault.address).or(death.told().map(|told| told.address))?;
    if address >= NULL_END {
        return None;
    }
    Some(Verdict {
        id: "crash-null-deref",
        severity: Severity::Error,
        confidence: death.recorded(),
        facts: Facts::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, ABSENT_READ, case, death, told};
    use super::*;
    use crate::vsyscall::{Mode, PAGE};

    #[test]
    fn null_and_what_is_near_is_claimed() {
        for (address, error) in [(0, ABSENT_READ), (0xfff8, ABSENT_READ), (0, ABSENT_FETCH)] {
            assert!(case(Mode::None, |case| claim(&death(address, error), case)).is_some());
        }
    }

    #[test]
    fn an_address_that_the_signal_tells_is_as_good() {
        for (address, claimed) in [(0, true), (0x10, true), (NULL_END, false)] {
            assert_eq!(case(Mode::Unknown, |case| claim(&told(address, false), case)).is_some(), claimed);
        }
    }

    #[test]
    fn other_addresses_are_not() {
        for address in [NULL_END, 0x40_0000, PAGE] {
            assert_eq!(case(Mode::None, |case| claim(&death(address, ABSENT_READ), case)), None);
        }
    }
}
