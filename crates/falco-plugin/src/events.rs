//! Chooses the event types that the plugin is given, and reads their parameters.

use falco_event_schema::ffi;
use falco_plugin::event::events::{AnyEventPayload, RawEvent};
use scapfile::{Event, Params};

/// A system call without an event type of its own; which, says its first parameter.
pub const GENERIC: u16 = ffi::ppm_event_code_PPME_GENERIC_X as u16;
/// A thread ends.
pub const EXIT: u16 = ffi::ppm_event_code_PPME_PROCEXIT_1_E as u16;
/// A signal is delivered.
pub const SIGNAL: u16 = ffi::ppm_event_code_PPME_SIGNALDELIVER_E as u16;
/// A page fault.
pub const PAGE_FAULT: u16 = ffi::ppm_event_code_PPME_PAGE_FAULT_E as u16;
/// A process has become another program.
pub const EXECVE: u16 = ffi::ppm_event_code_PPME_SYSCALL_EXECVE_19_X as u16;
/// The same, of a file given by its descriptor.
pub const EXECVEAT: u16 = ffi::ppm_event_code_PPME_SYSCALL_EXECVEAT_X as u16;

/// An event of one of the types that the plugin is given. Falco does not even call it for the others.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a>(pub Event<'a>);

impl AnyEventPayload for Known<'_> {
    const SOURCES: &'static [Option<&'static str>] = &[Some("syscall")];
    const EVENT_TYPES: &'static [u16] = &[GENERIC, EXIT, SIGNAL, PAGE_FAULT, EXECVE, EXECVEAT];
}

impl<'a> From<&RawEvent<'a>> for Known<'a> {
    #[inline]
    fn from(raw: &RawEvent<'a>) -> Self {
        let (ts, tid) = (raw.metadata.ts, raw.metadata.tid);
        Self(Event::from_parts(0, ts, tid, raw.event_type, raw.nparams, raw.payload))
    }
}

/// A signal on its way to the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: u8,
    /// Process that sent it, 0 for the kernel.
    pub sender: i64,
    /// Process that gets it.
    pub receiver: i64,
}

impl Signal {
    /// The signal of a `signaldeliver` event.
    #[must_use]
    pub fn read(params: Params<'_>) -> Option<Self> {
        let number = u8::try_from(params.unsigned(2)?).ok()?;
        Some(Self { number, sender: params.signed(0)?, receiver: params.signed(1)? })
    }
}
