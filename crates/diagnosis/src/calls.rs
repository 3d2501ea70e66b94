//! Pairs the enter and exit events of a thread into the system calls it completed.
//!
//! [`State::event`](crate::State::event) gives a [`CompletedCall`] at every exit event. Captures come in two
//! ages: where enter events are recorded a call has a duration, where they are not (libs of 2025 and
//! later) none can be told, and [`CompletedCall::duration_ns`] is `None`, never 0. The same holds for
//! a single call whose enter event is missing: the capture began, dropped events or was filtered in
//! between. An enter event without an exit is an [`OpenCall`], to be had from
//! [`State::open_calls`](crate::State::open_calls) for as long as its thread is in it.
//!
//! What is remembered stands in the thread table, so that memory is bounded by it.

use std::sync::LazyLock;

use scapfile::{Event, schema, syscalls};

use crate::state::ProcessKey;

/// A system call without an event type of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generic {
    /// libscap's code (`PPM_SC_…`), the same on every architecture; 0 for a call it did not know.
    pub code: u16,
    /// The kernel's number, where recorded: different for 32-bit and 64-bit programs.
    pub native_id: Option<u16>,
}

impl Generic {
    /// What a generic event says; `None` for other events, and if it says nothing.
    #[inline]
    #[must_use]
    pub fn of(event: &Event<'_>) -> Option<Self> {
        if !event.is_generic() {
            return None;
        }
        let two = |bytes: &[u8], at| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        if let Some(both) = event.values_of([2, 2]) {
            return Some(Self { code: two(both, 0)?, native_id: two(both, 2) });
        }
        Some(Self { code: event.param(0).and_then(|id| two(id, 0))?, native_id: None })
    }
}

/// A wait for what stands at an address to change: a lock, a job to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWait {
    /// The address.
    pub address: u64,
    /// What stands there says that it is a lock, that it is held, and that others want it.
    pub held: bool,
}

/// What a call was given and its exit event does not repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    Nothing,
    Fd(i32),
    Seek { fd: i32, moves: bool },
    Lock(LockWait),
}

impl Given {
    /// What the enter event `event` says; its type is one of which [`keeps_given`] says so.
    #[inline]
    pub(crate) fn of(event: &Event<'_>) -> Self {
        if event.event_type == FUTEX_ENTER {
            return lock_wait(event).map_or(Self::Nothing, Self::Lock);
        }
        let fd = event.first_signed().and_then(|fd| fd.try_into().ok());
        if event.event_type == LSEEK_ENTER || event.event_type == LLSEEK_ENTER {
            return fd.map_or(Self::Nothing, |fd| Self::Seek { fd, moves: moves(event, 1, 2) == Some(true) });
        }
        fd.map_or(Self::Nothing, Self::Fd)
    }

    fn fd(self) -> Option<i32> {
        match self {
            Self::Fd(fd) | Self::Seek { fd, .. } => Some(fd),
            _ => None,
        }
    }
}

/// `PPME_SYSCALL_FUTEX_E`: address, operation, value.
const FUTEX_ENTER: u16 = 64;

/// `PPME_SYSCALL_LSEEK_E` and `PPME_SYSCALL_LLSEEK_E`: descriptor, offset, whence.
const LSEEK_ENTER: u16 = 86;
const LLSEEK_ENTER: u16 = 88;

/// Whether a seek goes anywhere: 0 from where the file is (`SEEK_CUR`) only asks where that is, as ftell(3) does.
fn moves(event: &Event<'_>, offset: usize, whence: usize) -> Option<bool> {
    const SEEK_CUR: u64 = 1;
    let params = event.params().ok()?;
    Some((params.unsigned(offset)?, params.unsigned(whence)?) != (0, SEEK_CUR))
}

/// Who finds a mutex locked sets it to 2, and waits for as long as it is 2: glibc (nptl, lowlevellock.h), Go
/// (runtime, `mutex_sleeping`), Rust (std, `CONTENDED`). Waits for work to do or for a time have other values, but for a
/// chance.
fn lock_wait(event: &Event<'_>) -> Option<LockWait> {
    /// Operations; above the low 7 bits are flags (linux/futex.h, which libs keeps).
    const WAIT: u64 = 0;
    const WAIT_BITSET: u64 = 9;
    const CONTENDED: u64 = 2;
    let params = event.params().ok()?;
    let (address, operation, value) = (params.unsigned(0)?, params.unsigned(1)? & 0x7f, params.unsigned(2)?);
    let held = operation == WAIT && value == CONTENDED;
    matches!(operation, WAIT | WAIT_BITSET).then_some(LockWait { address, held })
}

/// Where a call began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entered {
    /// Number of the enter event.
    pub event: u64,
    /// Its time, in nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// What it was given.
    pub(crate) given: Given,
}

/// A system call that its thread has come back from.
///
/// Nothing is read before it is asked for; the exit event is at hand for whatever else it holds.
#[derive(Debug, Clone, Copy)]
pub struct CompletedCall<'a> {
    /// The exit event.
    pub exit: &'a Event<'a>,
    /// Which call it was, if it has no event type of its own.
    pub generic: Option<Generic>,
    /// Its enter event, if the capture has it.
    pub entered: Option<Entered>,
    /// The process of its thread, if the capture has said which.
    pub process: Option<ProcessKey>,
}

impl<'a> CompletedCall<'a> {
    /// The thread that made it.
    #[inline]
    #[must_use]
    pub fn tid(&self) -> i64 {
        self.exit.tid
    }

    /// The call's name, such as `openat`. `syscall` for a generic call of unknown code, empty for an
    /// event type that is newer than this program.
    #[must_use]
    pub fn name(&self) -> &'static str {
        name(self.exit.event_type, self.generic)
    }

    /// How long it took. `None`: cannot be told, for its enter event is missing or is later than its
    /// exit event, as happens between processors whose clocks differ.
    #[inline]
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        self.exit.timestamp_ns.checked_sub(self.entered?.timestamp_ns)
    }

    /// What the kernel returned. `None`: not recorded, as for every generic event but those of a log of strace,
    /// which have it behind their parameters.
    #[inline]
    #[must_use]
    pub fn result(&self) -> Option<i64> {
        if self.generic.is_some() {
            return self
                .exit
                .params()
                .ok()
                .filter(|_| self.exit.param_count() > BEHIND_GENERIC)?
                .signed(BEHIND_GENERIC as usize);
        }
        match self.places().result? {
            0 => self.exit.first_signed(),
            at => self.exit.params().ok()?.signed(at.into()),
        }
    }

    /// Whether it asked for the time that a processor spent, which the kernel alone can tell. Only logs of strace say
    /// so, behind the result.
    #[inline]
    pub(crate) fn asks_for_cpu_time(&self) -> bool {
        let at = BEHIND_GENERIC + 1;
        self.exit.param_count() > at && self.exit.params().is_ok_and(|params| params.signed(at as usize).is_some())
    }

    /// Whether it failed. `None`: cannot be told, for its result was not recorded.
    #[inline]
    #[must_use]
    pub fn failed(&self) -> Option<bool> {
        self.result().map(|result| errno_of(result).is_some())
    }

    /// The error it failed with, such as 2 for `ENOENT`.
    #[inline]
    #[must_use]
    pub fn errno(&self) -> Option<u16> {
        errno_of(self.result()?)
    }

    /// The file descriptor it was given, where that was recorded. What `open` and its kin return is their
    /// [`result`](Self::result).
    #[must_use]
    pub fn fd(&self) -> Option<i32> {
        let own = || self.exit.params().ok()?.signed(self.places().fd?.into())?.try_into().ok();
        self.entered.and_then(|entered| entered.given.fd()).or_else(own)
    }

    /// Whether it, an lseek, was to go anywhere. `None`: not recorded.
    #[must_use]
    pub fn moves(&self) -> Option<bool> {
        let Places { offset, whence, .. } = self.places();
        match self.entered.map(|entered| entered.given) {
            Some(Given::Seek { moves, .. }) => Some(moves),
            _ => moves(self.exit, offset?.into(), whence?.into()),
        }
    }

    /// What it waited for, if it was a wait and that was recorded.
    #[must_use]
    pub fn lock_wait(&self) -> Option<LockWait> {
        match self.entered?.given {
            Given::Lock(lock) => Some(lock),
            _ => None,
        }
    }

    /// The path it was given, where the exit event has it; the first one, of calls that take two.
    #[must_use]
    pub fn path(&self) -> Option<&'a [u8]> {
        let path = self.exit.params().ok()?.string(self.places().path?.into())?;
        Some(path).filter(|path| !path.is_empty())
    }

    fn places(&self) -> Places {
        places(self.exit.event_type)
    }
}

/// A system call that its thread is still in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenCall {
    /// The thread.
    pub tid: i64,
    /// Type of the enter event.
    pub event_type: u16,
    /// Which call it is, if it has no event type of its own.
    pub generic: Option<Generic>,
    /// The enter event.
    pub entered: Entered,
    /// The process of the thread, if the capture has said which.
    pub process: Option<ProcessKey>,
}

impl OpenCall {
    /// The call's name, as [`CompletedCall::name`] has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        name(self.event_type, self.generic)
    }
}

fn name(event_type: u16, generic: Option<Generic>) -> &'static str {
    let known = generic.map(|generic| syscalls::name(generic.code.into())).filter(|name| !name.is_empty());
    known.unwrap_or_else(|| schema::name(event_type))
}

/// Parameters that a generic exit event has itself: the code and, since 2025, the kernel's number.
const BEHIND_GENERIC: u32 = 2;

/// Linux, include/linux/err.h: results from -4095 on are errors; below are addresses.
fn errno_of(result: i64) -> Option<u16> {
    if (-4095..0).contains(&result) { u16::try_from(-result).ok() } else { None }
}

/// Whether enter events of this type say what is kept until the exit: a file descriptor first, or a lock.
pub(crate) fn keeps_given(event_type: u16) -> bool {
    let has_fd = || schema::params(event_type).first().is_some_and(|name| name == "fd");
    event_type.is_multiple_of(2) && (event_type == FUTEX_ENTER || has_fd())
}

/// Positions of parameters in the exit events of one type.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    result: Option<u8>,
    fd: Option<u8>,
    path: Option<u8>,
    offset: Option<u8>,
    whence: Option<u8>,
}

/// The names that a call's path has.
const PATHS: [&str; 6] = ["path", "name", "filename", "pathname", "oldpath", "target"];

impl Places {
    fn of(event_type: u16) -> Self {
        let find = |wanted: &[&str]| {
            let names = schema::params(event_type);
            names.iter().position(|name| wanted.contains(&name.as_str())).and_then(|at| u8::try_from(at).ok())
        };
        if matches!(event_type.checked_sub(1), Some(LSEEK_ENTER | LLSEEK_ENTER)) {
            // Newer than the table of events: what the enter event had, behind the result.
            return Self { result: Some(0), fd: Some(1), path: None, offset: Some(2), whence: Some(3) };
        }
        // Calls that create a descriptor have it in front, in place of a result.
        let created = find(&["fd", "res_or_fd"]).filter(|at| *at == 0);
        Self {
            result: find(&["res"]).or(created),
            fd: find(&["fd"]).filter(|at| *at > 0),
            path: find(&PATHS),
            offset: None,
            whence: None,
        }
    }
}

fn places(event_type: u16) -> Places {
    static PLACES: LazyLock<Vec<Places>> = LazyLock::new(|| (0..schema::known_types()).map(Places::of).collect());
    PLACES.get(usize::from(event_type)).copied().unwrap_or_default()
}
