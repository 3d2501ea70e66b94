//! Follows one thread through the vsyscall page: fault, SIGSEGV, death; or calls that the kernel emulates.
//!
//! What is to be remembered of a thread is a few numbers, for it stands in Falco's thread table.

use diagnosis::{Access, Evidence, Fault, Mode, ModeEvidence, Moment, PAGE, SIGABRT, SIGSEGV, WaitStatus, offset};

use crate::events::Signal;
use crate::storm::{Storm, Threshold};

/// SIGSEGV follows its fault at once, and a handler that ends the process does so soon.
pub const RECENT_NS: u64 = 1_000_000_000;

/// How far the thread has come since it last faulted in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has faulted, and has done nothing since.
    Faulted,
    /// SIGSEGV was delivered for it, and the thread has done nothing since.
    Signalled,
    /// The program has caught that signal.
    Caught,
}

/// The last fault of the thread in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastFault {
    /// Where in the page.
    pub offset: u16,
    /// scap's error bits.
    pub error: u8,
    /// What has come of it.
    pub stage: Stage,
}

impl LastFault {
    /// The fault itself.
    #[must_use]
    pub fn fault(&self, timestamp_ns: u64, tid: i64) -> Fault {
        let at = Moment { event: 0, timestamp_ns, tid };
        Fault { at, address: PAGE + u64::from(self.offset), ip: 0, error: self.error.into() }
    }
}

/// What one thread has done in the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageState {
    /// The last fault in the page that matters still.
    pub last: Option<LastFault>,
    /// When that came to its stage.
    pub last_ns: u64,
    /// Faults in the page.
    pub faults: u64,
    /// It has been told that the thread jumped into the page off the entry points.
    pub jump_told: bool,
    /// Calls.
    pub storm: Storm,
}

/// What an event means for the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The fault that it is, or that led to it.
    pub fault: Fault,
    /// Faults of the thread in the page so far.
    pub faults: u64,
    /// Calls a second in the window that is open.
    pub rate: Option<u64>,
    /// A storm of emulated calls begins.
    pub storm: bool,
    /// The thread jumped into the page off the entry points, for the first time.
    pub misaligned: bool,
    /// The thread dies of a call into a page that is not there.
    pub crash: bool,
}

impl PageState {
    /// The thread did something. What it was seen in before is over.
    pub fn went_on(&mut self, now_ns: u64, tid: i64, modes: &mut ModeEvidence) {
        let Some(last) = &mut self.last else { return };
        match last.stage {
            Stage::Faulted => {
                if now_ns.abs_diff(self.last_ns) < RECENT_NS {
                    modes.note(&last.fault(self.last_ns, tid), None);
                }
                self.last = None;
            }
            Stage::Signalled => last.stage = Stage::Caught,
            Stage::Caught => {}
        }
    }

    /// The thread faults in the page.
    pub fn fault(&mut self, fault: Fault, threshold: Threshold, modes: &mut ModeEvidence) -> Option<Seen> {
        let now_ns = fault.at.timestamp_ns;
        self.went_on(now_ns, fault.at.tid, modes);
        let offset = u16::try_from(offset(fault.address)?).ok()?;
        let error = u8::try_from(fault.error & 0xff).ok()?;
        if fault.is_protection_violation() {
            // A page that is there, whatever comes of the fault.
            modes.note(&fault, None);
        }
        self.last = Some(LastFault { offset, error, stage: Stage::Faulted });
        self.last_ns = now_ns;
        self.faults += 1;
        let is_call = fault.vsyscall().is_some();
        let misaligned = fault.access() == Access::Fetch && !is_call && !self.jump_told;
        self.jump_told |= misaligned;
        let storm = is_call && self.storm.note(now_ns, threshold);
        let rate = if is_call { self.storm.window.rate(now_ns) } else { None };
        Some(Seen { fault, faults: self.faults, rate, storm, misaligned, crash: false })
    }

    /// A signal is delivered to the thread. The fault behind it, if it is in the page.
    pub fn signal(&mut self, signal: Signal, now: Moment, modes: &mut ModeEvidence) -> Option<Seen> {
        let last = self.last.as_mut()?;
        let recent = now.timestamp_ns.abs_diff(self.last_ns) < RECENT_NS;
        if last.stage == Stage::Faulted && signal.number == SIGSEGV && signal.sender == 0 && recent {
            last.stage = Stage::Signalled;
            let fault = last.fault(self.last_ns, now.tid);
            modes.note(&fault, Some(Evidence::new(now, "signaldeliver", "sig=SIGSEGV")));
            self.last_ns = now.timestamp_ns;
            return Some(self.seen(fault, false));
        }
        // Handlers send themselves the signal again once they are done, or SIGABRT in its stead.
        let by_itself = signal.sender == signal.receiver || (signal.number == SIGABRT && signal.sender == 0);
        if last.stage != Stage::Faulted && by_itself && recent {
            last.stage = Stage::Caught;
        } else {
            self.last = None;
        }
        None
    }

    /// The thread ends. The fault in the page that it died of, if it did.
    pub fn exit(&self, status: WaitStatus, now: Moment, mode: Mode) -> Option<Seen> {
        let last = self.last?;
        let died = match last.stage {
            Stage::Faulted => false,
            Stage::Signalled => status.signal() == SIGSEGV,
            Stage::Caught => {
                matches!(status.signal(), SIGSEGV | SIGABRT) && now.timestamp_ns.abs_diff(self.last_ns) <= RECENT_NS
            }
        };
        let fault = last.fault(self.last_ns, now.tid);
        // A page that is there, or calls that went well: the kernel refused just this one.
        let page_is_there = fault.is_protection_violation() || matches!(mode, Mode::Xonly | Mode::Emulate);
        died.then(|| self.seen(fault, fault.vsyscall().is_some() && !page_is_there))
    }

    fn seen(&self, fault: Fault, crash: bool) -> Seen {
        Seen { fault, faults: self.faults, rate: None, storm: false, misaligned: false, crash }
    }
}
