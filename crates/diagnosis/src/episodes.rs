//! What happens to processes: signals delivered, uses of the vsyscall page that went well, deaths.

use scapfile::{Params, schema, syscalls};

use crate::activity::{Histogram, Kept, Peak, Room};
use crate::calls::Generic;
use crate::fault::{Access, Fault};
use crate::finding::{Confidence, Moment, ProcessRef, Relative};
use crate::signal::WaitStatus;
use crate::state::{ContainerId, RecentCall};
use crate::vsyscall::Call;

/// A signal delivered that ends a process unless the process catches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The `signaldeliver` event.
    pub at: Moment,
    /// The signal.
    pub signal: u8,
    /// The process that sent it; `None` where the kernel did.
    pub sender: Option<i64>,
    /// The page fault right before it on the same thread.
    pub fault: Option<Fault>,
    /// The address that the signal itself brought, where that was recorded: no `.scap` recorder does, strace
    /// does.
    pub told: Option<Told>,
}

/// The address that a SIGSEGV brings the program (`si_addr`), and no more: not whether it was read, written or
/// jumped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Where the access was.
    pub address: u64,
    /// Something is mapped there, but not for that use (`SEGV_ACCERR`); if not, nothing is (`SEGV_MAPERR`).
    pub mapped: bool,
}

impl Told {
    /// What a `signaldeliver` event tells behind its own parameters; `None` for a signal whose address means
    /// nothing, as that of a general protection fault (`SI_KERNEL`).
    #[must_use]
    pub fn read(params: &Params<'_>) -> Option<Self> {
        // Numbers: include/uapi/asm-generic/siginfo.h.
        let mapped = match params.signed(3)? {
            1 => false,
            2 => true,
            _ => return None,
        };
        Some(Self { address: params.unsigned(4)?, mapped })
    }

    /// The code's name.
    #[must_use]
    pub fn code(self) -> &'static str {
        if self.mapped { "SEGV_ACCERR" } else { "SEGV_MAPERR" }
    }
}

/// Calls into the vsyscall page after which the thread went on: the kernel emulated them.
#[derive(Debug)]
pub struct Emulated {
    /// How often each call was made, in the order of [`Call::ALL`].
    pub calls: [u64; 3],
    /// The first.
    pub first: Fault,
    /// The last.
    pub last: Moment,
    /// The most calls within one second.
    pub peak: Peak,
    /// The times from one call to the next of the same thread; `None`: too many programs make calls.
    pub gaps: Option<Kept<Histogram>>,
}

/// Of so many calls the gap before one is measured: faults come by the million, and some are as good as all.
const MEASURED: u64 = 16;

impl Emulated {
    #[cold]
    fn start(fault: Fault, room: &Room) -> Self {
        let peak = Peak::start(fault.at.timestamp_ns);
        Self { calls: [0; 3], first: fault, last: fault.at, peak, gaps: room.keep(Histogram::default) }
    }

    #[inline]
    fn count(&mut self, call: Call, at: Moment) {
        let count = &mut self.calls[call as usize];
        *count += 1;
        if count.is_multiple_of(MEASURED) {
            self.measure(at);
        }
        self.last = at;
        self.peak.note(at.timestamp_ns);
    }

    #[inline(never)]
    fn measure(&mut self, at: Moment) {
        if let Some(gaps) = self.gaps.as_mut().filter(|_| self.last.tid == at.tid) {
            gaps.note(at.since(&self.last));
        }
    }

    /// All calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.iter().sum()
    }
}

/// Something else done in the vsyscall page, again and again.
#[derive(Debug, Clone, Copy)]
pub struct Touched {
    /// How often.
    pub count: u64,
    /// The first time.
    pub first: Fault,
    /// The signal that the first time brought, if any.
    pub delivery: Option<Delivery>,
}

fn touch(touched: &mut Option<Touched>, fault: Fault, delivery: Option<Delivery>) {
    touched.get_or_insert(Touched { count: 0, first: fault, delivery }).count += 1;
}

/// What became of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It is gone, or another program, in a way that says nothing of the page.
    #[default]
    Gone,
    /// It exited by itself, with this status.
    Exited(u8),
    /// The capture ends before it does.
    Alive,
}

/// What a process did in the vsyscall page and lived.
#[derive(Debug, Default)]
pub struct PageUse {
    /// Calls that the kernel emulated.
    pub emulated: Option<Emulated>,
    /// Calls that brought a signal, which the program caught.
    pub handled: Option<Touched>,
    /// Jumps off the entry points.
    pub misaligned: Option<Touched>,
    /// Reads and writes.
    pub read: Option<Touched>,
    /// What became of the process afterwards.
    pub outcome: Outcome,
}

impl PageUse {
    /// Notes a fault in the page that did not end the process; `delivery`: the signal it brought; `room`: for the
    /// gaps between calls.
    #[inline]
    pub fn note(&mut self, fault: Fault, delivery: Option<Delivery>, room: &Room) {
        match (fault.access(), fault.vsyscall(), delivery) {
            (Access::Fetch, Some(call), None) => {
                self.emulated.get_or_insert_with(|| Emulated::start(fault, room)).count(call, fault.at);
            }
            (Access::Fetch, Some(_), Some(_)) => touch(&mut self.handled, fault, delivery),
            (Access::Fetch, None, _) => touch(&mut self.misaligned, fault, delivery),
            (Access::Read | Access::Write, _, _) => touch(&mut self.read, fault, delivery),
        }
    }
}

/// Whether the faulting address was one the process had mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappingCheck {
    /// Ranges that the capture shows.
    pub seen: usize,
    /// Whether one of them holds the address.
    pub holds: bool,
    /// The thread used memory near the address before: the page may be one that it had.
    pub near_used: bool,
    /// The range nearest to the address.
    pub nearest: Option<(u64, u64)>,
}

/// A process that was ended by a signal, with all that is known when it dies.
#[derive(Debug, Clone)]
pub struct Death {
    /// Who.
    pub process: ProcessRef,
    /// In which container.
    pub container: Option<ContainerId>,
    /// The signal.
    pub signal: u8,
    /// The wait status; `None`: not recorded, or the capture ends before the death.
    pub status: Option<WaitStatus>,
    /// The `procexit` event.
    pub exit: Option<Moment>,
    /// The delivery of the signal, if recorded.
    pub delivery: Option<Delivery>,
    /// The page fault that caused it, if there was one.
    pub fault: Option<Fault>,
    /// The program caught the fault's signal first, and died of what its handler did.
    pub handler_ran: bool,
    /// Who sent the signal, where somebody did.
    pub sender: Option<Relative>,
    /// The last execve.
    pub exec: Option<Moment>,
    /// The creation of the process.
    pub born: Option<Moment>,
    /// The thread's last system calls.
    pub last_calls: Vec<RecentCall>,
    /// Shared libraries the process opened.
    pub libraries: Vec<String>,
    /// The mapping check for the fault's address.
    pub mapping: Option<MappingCheck>,
}

impl Death {
    /// The address that the signal brought, if that is all there is to go by.
    #[must_use]
    pub fn told(&self) -> Option<Told> {
        self.delivery.and_then(|delivery| delivery.told).filter(|_| self.fault.is_none())
    }

    /// How much of the death the capture shows: every step, all but one, or only the beginning.
    #[must_use]
    pub fn recorded(&self) -> Confidence {
        let end = self.exit.and(self.status);
        match (&self.fault, &self.delivery, end) {
            (None, _, Some(_)) => Confidence::Certain,
            (None, _, None) => Confidence::Likely,
            (Some(_), Some(_), Some(_)) if !self.handler_ran => Confidence::Certain,
            (Some(_), None, None) => Confidence::Possible,
            (Some(_), _, _) => Confidence::Likely,
        }
    }

    /// When the process died, or was last seen on its way there.
    #[must_use]
    pub fn at(&self) -> Moment {
        let seen = self.exit.or(self.delivery.map(|delivery| delivery.at)).or(self.fault.map(|fault| fault.at));
        seen.unwrap_or(Moment { event: 0, timestamp_ns: 0, tid: self.process.tid })
    }
}

/// The name of a system call. One that libscap had no code for when it was recorded is named by the
/// kernel's number, which depends on the architecture: `syscall 334`.
#[must_use]
pub fn call_name(call: &RecentCall) -> Option<String> {
    let name = match call.generic {
        Some(Generic { code, .. }) => syscalls::name(code.into()),
        None => schema::name(call.event_type),
    };
    match call.generic {
        Some(Generic { native_id: Some(id), .. }) if name.is_empty() => Some(format!("syscall {id}")),
        _ => Some(name.into()).filter(|name: &String| !name.is_empty()),
    }
}
