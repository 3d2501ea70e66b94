//! Says, for every system call, what it tells of a program's pace.

use scapfile::{schema, syscalls};

use crate::calls::CompletedCall;

/// A system call that asks for the time, or for the processor, and that the vDSO offers too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeCall {
    /// `clock_gettime`; which clock only logs of strace tell.
    ClockGettime,
    /// `gettimeofday`.
    Gettimeofday,
    /// `time`.
    Time,
    /// `getcpu`.
    Getcpu,
}

impl TimeCall {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ClockGettime, Self::Gettimeofday, Self::Time, Self::Getcpu];

    /// The system call's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClockGettime => "clock_gettime",
            Self::Gettimeofday => "gettimeofday",
            Self::Time => "time",
            Self::Getcpu => "getcpu",
        }
    }

    /// Whether the vDSO makes this system call where it cannot read the clocksource. Its time() reads what
    /// the kernel leaves at each tick, its getcpu() asks the processor (Linux, lib/vdso/gettimeofday.c and
    /// arch/x86/entry/vdso/vgetcpu.c): neither falls back, whatever the clocksource.
    #[must_use]
    pub fn needs_clocksource(self) -> bool {
        matches!(self, Self::ClockGettime | Self::Gettimeofday)
    }

    /// Whether the kernel's number of the call is that of a 32-bit x86 program and of no other (Linux,
    /// arch/x86/entry/syscalls/syscall_32.tbl, against syscall_64.tbl and the generic table).
    #[must_use]
    pub fn is_32_bit(self, native_id: u16) -> bool {
        match self {
            Self::ClockGettime => matches!(native_id, 265 | 403),
            Self::Gettimeofday => native_id == 78,
            Self::Time => native_id == 13,
            Self::Getcpu => native_id == 318,
        }
    }
}

/// What a system call tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but that it was made.
    Other,
    /// That somebody asks for the time.
    Time(TimeCall),
    /// Whether a path is there.
    Lookup,
    /// Where in a file is read next.
    Seek,
    /// What stands there.
    Read,
    /// In which directory relative paths begin.
    Chdir,
    /// That a thread waits for others, or lets them go on.
    Futex,
    /// That a thread waits for input or for a time.
    Wait,
}

fn kind(name: &str) -> Kind {
    match name {
        "stat" | "lstat" | "stat64" | "lstat64" | "newfstatat" | "fstatat64" | "access" | "faccessat"
        | "faccessat2" | "open" | "openat" | "openat2" => Kind::Lookup,
        "lseek" | "llseek" | "_llseek" => Kind::Seek,
        "read" => Kind::Read,
        "chdir" => Kind::Chdir,
        "futex" => Kind::Futex,
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll" | "select" | "pselect6" | "nanosleep"
        | "clock_nanosleep" => Kind::Wait,
        _ => TimeCall::ALL.into_iter().find(|call| call.name() == name).map_or(Kind::Other, Kind::Time),
    }
}

/// The kinds of all system calls.
#[derive(Debug)]
pub struct Kinds {
    of_type: Box<[Kind; TYPES]>,
    of_code: Box<[Kind; CODES]>,
}

/// Event types and codes from here on are newer than this program.
const TYPES: usize = 512;
const CODES: usize = 512;

impl Default for Kinds {
    fn default() -> Self {
        let (mut of_type, mut of_code) = (Box::new([Kind::Other; TYPES]), Box::new([Kind::Other; CODES]));
        for (event_type, place) in (0..schema::known_types()).zip(of_type.iter_mut()) {
            *place = kind(schema::name(event_type));
        }
        for (code, name) in syscalls::names() {
            if let Some(place) = of_code.get_mut(usize::from(code)) {
                *place = kind(name);
            }
        }
        Self { of_type, of_code }
    }
}

impl Kinds {
    /// The kind of a call.
    #[inline]
    pub fn of(&self, call: &CompletedCall<'_>) -> Kind {
        let (kinds, at): (&[Kind], u16) = match call.generic {
            Some(generic) => (&*self.of_code, generic.code),
            None => (&*self.of_type, call.exit.event_type),
        };
        match kinds.get(usize::from(at)).copied().unwrap_or(Kind::Other) {
            Kind::Time(TimeCall::ClockGettime) if call.asks_for_cpu_time() => Kind::Other,
            kind => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_kinds_by_type_and_by_code() {
        let kinds = Kinds::default();
        let of_type = |name| schema::types_named(name).map(|at| kinds.of_type[usize::from(at)]).next();
        assert_eq!(of_type("openat"), Some(Kind::Lookup));
        assert_eq!(of_type("futex"), Some(Kind::Futex));
        assert_eq!(of_type("epoll_wait"), Some(Kind::Wait));
        assert_eq!(of_type("page_fault"), Some(Kind::Other));
        let of_code = |name| syscalls::names().find(|(_, known)| *known == name).map(|(code, _)| code);
        for call in TimeCall::ALL {
            let code = of_code(call.name()).expect("in the table");
            assert_eq!(kinds.of_code[usize::from(code)], Kind::Time(call));
        }
        assert!(usize::from(schema::known_types()) < TYPES && syscalls::names().count() < CODES);
    }
}
