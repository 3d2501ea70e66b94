//! Names the signals that end a process, and reads how a process ended off its wait status.
//!
//! Numbers: signal(7), x86 and ARM column. Wait status: wait(2).

/// Segmentation violation.
pub const SIGSEGV: u8 = 11;
/// Bus error.
pub const SIGBUS: u8 = 7;
/// Abort.
pub const SIGABRT: u8 = 6;
/// Cannot be caught.
pub const SIGKILL: u8 = 9;

const FATAL: [(u8, &str); 10] = [
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (SIGABRT, "SIGABRT"),
    (SIGBUS, "SIGBUS"),
    (8, "SIGFPE"),
    (SIGKILL, "SIGKILL"),
    (SIGSEGV, "SIGSEGV"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (31, "SIGSYS"),
];

/// The name of a signal whose death is a crash, and none of the others: a process that ends by
/// SIGTERM, SIGINT, SIGHUP or SIGPIPE was asked to.
#[must_use]
pub fn crash_name(signal: u8) -> Option<&'static str> {
    FATAL.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name)
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitStatus(pub i64);

impl WaitStatus {
    /// The signal that ended it, 0 if it exited.
    #[must_use]
    pub fn signal(self) -> u8 {
        u8::try_from(self.0 & 0x7f).unwrap_or(0)
    }

    /// Whether a core was dumped.
    #[must_use]
    pub fn core_dumped(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// The status that a shell or a container runtime shows: 128 and the signal, or the exit status.
    #[must_use]
    pub fn shown(self) -> u8 {
        match self.signal() {
            0 => u8::try_from((self.0 >> 8) & 0xff).unwrap_or(0),
            signal => 128 + signal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segfault_is_139_and_exit_42_is_42() {
        assert_eq!((WaitStatus(11).shown(), WaitStatus(11).signal()), (139, SIGSEGV));
        assert_eq!((WaitStatus(0x8b).shown(), WaitStatus(0x8b).core_dumped()), (139, true));
        assert_eq!((WaitStatus(10752).shown(), WaitStatus(10752).signal()), (42, 0));
        assert_eq!(WaitStatus(35584).signal(), 0, "a wrapper that passes on 139 was not killed");
    }

    #[test]
    fn asking_a_process_to_end_is_no_crash() {
        assert_eq!([1, 2, 13, 15].map(crash_name), [None; 4]);
    }
}
