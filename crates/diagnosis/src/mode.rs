//! Infers how the kernel treats the vsyscall page (`vsyscall=`) from faults in it and what followed.
//!
//! Measured on Linux 6.1: a call faults with PAGE_NOT_PRESENT under `none` and `xonly`, and with
//! PROTECTION_VIOLATION under `emulate`, which alone has the page in the page table. Under `none`
//! SIGSEGV follows on the same thread; under the other two the kernel emulates the call and the thread
//! goes on.

use serde::Serialize;

use crate::fault::Fault;
use crate::finding::Evidence;
use crate::vsyscall::Mode;

/// The mode, and the events that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelMode {
    /// How the page is treated.
    pub vsyscall_mode: Mode,
    /// Where that shows first.
    pub vsyscall_mode_evidence: Vec<Evidence>,
}

/// The first fault of each kind that tells something.
#[derive(Debug, Clone, Default)]
pub struct ModeEvidence {
    emulated_absent: Option<Fault>,
    present: Option<Fault>,
    refused_absent: Option<(Fault, Evidence)>,
}

impl ModeEvidence {
    /// Notes a fault, if it is in the page; `refused`: the event that shows SIGSEGV to have followed.
    #[inline]
    pub fn note(&mut self, fault: &Fault, refused: Option<Evidence>) {
        if !fault.in_vsyscall_page() {
            return;
        }
        // A page that is there is there whatever was done with it, and whether the kernel liked it or not.
        if fault.is_protection_violation() {
            self.present.get_or_insert(*fault);
        } else if fault.vsyscall().is_some() {
            match refused {
                None => _ = self.emulated_absent.get_or_insert(*fault),
                Some(event) => _ = self.refused_absent.get_or_insert((*fault, event)),
            }
        }
    }

    /// The mode that fits all that was seen.
    #[must_use]
    pub fn infer(&self) -> KernelMode {
        let one = |fault: &Fault| vec![fault.evidence()];
        let (vsyscall_mode, vsyscall_mode_evidence) = match (&self.emulated_absent, &self.present, &self.refused_absent)
        {
            (Some(fault), None, _) => (Mode::Xonly, one(fault)),
            (None, Some(fault), None) => (Mode::Emulate, one(fault)),
            (None, None, Some((fault, event))) => (Mode::None, vec![fault.evidence(), event.clone()]),
            // Nothing seen, or what no single kernel does.
            _ => (Mode::Unknown, Vec::new()),
        };
        KernelMode { vsyscall_mode, vsyscall_mode_evidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Moment;
    use crate::vsyscall::PAGE;

    const ABSENT: u32 = 154;
    const PRESENT: u32 = 153;

    fn mode(seen: &[(u32, bool)]) -> Mode {
        let at = Moment { event: 1, timestamp_ns: 0, tid: 1 };
        let mut evidence = ModeEvidence::default();
        for (error, refused) in seen {
            let signal = refused.then(|| Evidence::new(at, "signaldeliver", "sig=SIGSEGV"));
            evidence.note(&Fault { at, address: PAGE + 0x400, ip: 0, error: *error }, signal);
        }
        evidence.infer().vsyscall_mode
    }

    #[test]
    fn error_and_outcome_tell_the_mode() {
        assert_eq!(mode(&[(ABSENT, true)]), Mode::None);
        assert_eq!(mode(&[(ABSENT, false)]), Mode::Xonly);
        assert_eq!(mode(&[(PRESENT, false)]), Mode::Emulate);
        assert_eq!(mode(&[(PRESENT, true)]), Mode::Emulate);
        assert_eq!(mode(&[]), Mode::Unknown);
    }

    #[test]
    fn a_fault_elsewhere_tells_nothing() {
        let at = Moment { event: 1, timestamp_ns: 0, tid: 1 };
        let mut evidence = ModeEvidence::default();
        evidence.note(&Fault { at, address: PAGE - 0x1000, ip: 0, error: PRESENT }, None);
        assert_eq!(evidence.infer().vsyscall_mode, Mode::Unknown);
    }

    #[test]
    fn one_refused_call_does_not_make_an_emulating_kernel_none() {
        assert_eq!(mode(&[(ABSENT, true), (ABSENT, false)]), Mode::Xonly);
        assert_eq!(mode(&[(PRESENT, true), (PRESENT, false)]), Mode::Emulate);
    }

    #[test]
    fn what_no_kernel_does_is_unknown() {
        assert_eq!(mode(&[(PRESENT, false), (ABSENT, false)]), Mode::Unknown);
        assert_eq!(mode(&[(PRESENT, false), (ABSENT, true)]), Mode::Unknown);
    }
}
