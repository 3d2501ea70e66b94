//! vsyscall-none-crash: a fetch at an entry point of the vsyscall page, then SIGSEGV, then death.

use super::{Case, Verdict};
use crate::episodes::Death;
use crate::finding::{Confidence, Facts, Severity};
use crate::signal::{SIGABRT, SIGSEGV};
use crate::vsyscall::Mode;

/// Claims deaths after a call into the page, where the kernel does not have the page. If the page
/// was there (a protection violation), or other calls went well, the kernel refused just this one.
pub fn claim(death: &Death, case: &Case<'_>) -> Option<Verdict> {
    let fault = death.fault?;
    let call = fault.vsyscall()?;
    let page_is_there = fault.is_protection_violation() || matches!(case.mode, Mode::Xonly | Mode::Emulate);
    if page_is_there || !matches!(death.signal, SIGSEGV | SIGABRT) {
        return None;
    }
    let mut facts = Facts::default();
    facts.set("call", serde_json::json!(call));
    // Without the signal it may still be that the kernel emulated the call.
    if death.delivery.is_some() || death.status.is_some() {
        facts.set("vsyscall_mode", "none");
    }
    // An abort after the program caught the signal may have its own reason.
    let confidence = if death.signal == SIGABRT { Confidence::Possible } else { death.recorded() };
    let severity = if confidence == Confidence::Possible { Severity::Warning } else { Severity::Critical };
    Some(Verdict { id: "vsyscall-none-crash", severity, confidence, facts })
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, PRESENT_FETCH, case, death};
    use super::*;
    use crate::vsyscall::PAGE;

    #[test]
    fn each_entry_point_is_named() {
        for (offset, call) in [(0, "gettimeofday"), (0x400, "time"), (0x800, "getcpu")] {
            let verdict = case(Mode::None, |case| claim(&death(PAGE + offset, ABSENT_FETCH), case)).expect("claimed");
            assert_eq!((verdict.facts.get("call"), verdict.confidence), (Some(&call.into()), Confidence::Certain));
        }
    }

    #[test]
    fn a_death_without_its_signal_or_its_exit_is_less_sure() {
        let mut unseen = death(PAGE, ABSENT_FETCH);
        unseen.status = None;
        assert_eq!(case(Mode::None, |case| claim(&unseen, case)).expect("claimed").confidence, Confidence::Likely);
        unseen.exit = None;
        assert_eq!(case(Mode::None, |case| claim(&unseen, case)).expect("claimed").confidence, Confidence::Likely);
        unseen.delivery = None;
        assert_eq!(case(Mode::Unknown, |case| claim(&unseen, case)).expect("claimed").confidence, Confidence::Possible);
    }

    #[test]
    fn what_only_looks_like_it_is_left_to_others() {
        let cases = [
            (PAGE + 0x401, ABSENT_FETCH, Mode::None),
            (PAGE - 0xc00, ABSENT_FETCH, Mode::None),
            (PAGE + 0x400, PRESENT_FETCH, Mode::Unknown),
            (PAGE + 0x400, ABSENT_FETCH, Mode::Xonly),
            (PAGE + 0x400, 26, Mode::None),
            (0, ABSENT_FETCH, Mode::None),
        ];
        for (address, error, mode) in cases {
            let verdict = case(mode, |case| claim(&death(address, error), case));
            assert_eq!(verdict, None, "0x{address:x} {error} {mode:?}");
        }
    }
}
