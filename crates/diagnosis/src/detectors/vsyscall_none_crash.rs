//! vsyscall-none-crash: a fetch at an entry point of the vsyscall page, then SIGSEGV, then death.

use super::{Case, Verdict};
use crate::episodes::{Death, Told};
use crate::finding::{Confidence, Facts, Severity};
use crate::signal::{SIGABRT, SIGSEGV};
use crate::vsyscall::{Call, Mode};

/// Claims deaths after a call into the page, where the kernel does not have the page. If the page
/// was there (a protection violation), or other calls went well, the kernel refused just this one.
pub fn claim(death: &Death, case: &Case<'_>) -> Option<Verdict> {
    if let Some(told) = death.told() {
        return claim_told(told, case);
    }
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

/// Claims deaths whose signal brought the very address of an entry point. Whether it was jumped to or read does
/// not show; a jump is what programs do there, and only a kernel without the page answers one so.
fn claim_told(told: Told, case: &Case<'_>) -> Option<Verdict> {
    let call = Call::at(told.address)?;
    if told.mapped || matches!(case.mode, Mode::Xonly | Mode::Emulate) {
        return None;
    }
    let mut facts = Facts::default();
    facts.set("call", serde_json::json!(call));
    facts.set("vsyscall_mode", "none");
    Some(Verdict { id: "vsyscall-none-crash", severity: Severity::Critical, confidence: Confidence::Likely, facts })
}

#[cfg(test)]
mod tests {
    use super::super::examples::{ABSENT_FETCH, PRESENT_FETCH, case, death, told};
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
    fn an_entry_point_that_the_signal_tells_is_likely_a_call() {
        let claimed = |address, mapped, mode| {
            case(mode, |case| claim(&told(address, mapped), case)).map(|verdict| verdict.confidence)
        };
        assert_eq!(claimed(PAGE + 0x400, false, Mode::Unknown), Some(Confidence::Likely));
        assert_eq!(claimed(PAGE + 0x401, false, Mode::Unknown), None);
        assert_eq!(claimed(PAGE + 0x400, true, Mode::Unknown), None);
        assert_eq!(claimed(PAGE + 0x400, false, Mode::Xonly), None);
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
