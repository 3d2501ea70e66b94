//! Reads a page fault out of its event.

use scapfile::Event;

use crate::finding::{Evidence, Moment};
use crate::vsyscall;

/// `page_fault` error bits; scap's own, not the processor's (`ppm_events_public.h`, `PPM_PF_…`).
const NAMES: [(u32, &str); 8] = [
    (PROTECTION_VIOLATION, "PROTECTION_VIOLATION"),
    (2, "PAGE_NOT_PRESENT"),
    (WRITE_ACCESS, "WRITE_ACCESS"),
    (8, "READ_ACCESS"),
    (USER_FAULT, "USER_FAULT"),
    (32, "SUPERVISOR_FAULT"),
    (64, "RESERVED_PAGE"),
    (INSTRUCTION_FETCH, "INSTRUCTION_FETCH"),
];
const PROTECTION_VIOLATION: u32 = 1;
const WRITE_ACCESS: u32 = 4;
const USER_FAULT: u32 = 16;
const INSTRUCTION_FETCH: u32 = 128;

/// What a program tried to do with the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Run the instruction there.
    Fetch,
    /// Read it.
    Read,
    /// Write to it.
    Write,
}

impl Access {
    /// The word for it in facts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A page fault taken in user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The event.
    pub at: Moment,
    /// The address that was touched.
    pub address: u64,
    /// Instruction pointer as recorded. Not to be relied on: some probes record a wrong one.
    pub ip: u64,
    /// scap's error bits.
    pub error: u32,
}

impl Fault {
    /// The fault in a `page_fault` event; `None` for faults of the kernel itself and for events
    /// without the parameters.
    #[inline]
    #[must_use]
    pub fn read(event: &Event<'_>) -> Option<Self> {
        let values = event.values_of([8, 8, 4])?;
        let number = |at: usize| values.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let error = u32::from_le_bytes(values.get(16..20)?.try_into().ok()?);
        let fault = Self { at: Moment::of(event), address: number(0)?, ip: number(8)?, error };
        (fault.error & USER_FAULT != 0).then_some(fault)
    }

    /// What was tried. A fetch carries READ_ACCESS too, so it is looked for first.
    #[must_use]
    pub fn access(&self) -> Access {
        if self.error & INSTRUCTION_FETCH != 0 {
            Access::Fetch
        } else if self.error & WRITE_ACCESS != 0 {
            Access::Write
        } else {
            Access::Read
        }
    }

    /// The page is there, but may not be used like that.
    #[must_use]
    pub fn is_protection_violation(&self) -> bool {
        self.error & PROTECTION_VIOLATION != 0
    }

    /// Whether the address is in the vsyscall page.
    #[inline]
    #[must_use]
    pub fn in_vsyscall_page(&self) -> bool {
        vsyscall::offset(self.address).is_some()
    }

    /// The call that was made in the vsyscall page, if this is one.
    #[must_use]
    pub fn vsyscall(&self) -> Option<vsyscall::Call> {
        if self.access() == Access::Fetch { vsyscall::Call::at(self.address) } else { None }
    }

    /// The names of the error bits.
    #[must_use]
    pub fn error_names(&self) -> Vec<&'static str> {
        NAMES.iter().filter(|(bit, _)| self.error & bit != 0).map(|(_, name)| *name).collect()
    }

    /// The event as evidence.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let Self { address, ip, error, .. } = self;
        let detail = format!("addr=0x{address:x} ip=0x{ip:x} error={error}({})", self.error_names().join("|"));
        Evidence::new(self.at, "page_fault", detail)
    }
}
