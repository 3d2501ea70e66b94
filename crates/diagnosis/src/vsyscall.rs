//! Knows the vsyscall page: which addresses are in it and what its entry points are.
//!
//! Source: Linux, arch/x86/include/uapi/asm/vsyscall.h and arch/x86/entry/vsyscall/vsyscall_64.c.

use serde::Serialize;

/// Where the page starts, on every x86-64 Linux.
pub const PAGE: u64 = 0xffff_ffff_ff60_0000;
const PAGE_SIZE: u64 = 0x1000;

/// A function of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Call {
    /// Entry point +0x000.
    Gettimeofday,
    /// Entry point +0x400.
    Time,
    /// Entry point +0x800.
    Getcpu,
}

impl Call {
    /// All three, in the order of their entry points.
    pub const ALL: [Self; 3] = [Self::Gettimeofday, Self::Time, Self::Getcpu];

    /// The function whose entry point is `address`.
    #[must_use]
    pub fn at(address: u64) -> Option<Self> {
        match offset(address)? {
            0x000 => Some(Self::Gettimeofday),
            0x400 => Some(Self::Time),
            0x800 => Some(Self::Getcpu),
            _ => None,
        }
    }

    /// Its name, as facts have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gettimeofday => "gettimeofday",
            Self::Time => "time",
            Self::Getcpu => "getcpu",
        }
    }
}

/// How far into the page `address` is; `None` outside of it.
#[must_use]
pub fn offset(address: u64) -> Option<u64> {
    let offset = address.wrapping_sub(PAGE);
    (offset < PAGE_SIZE).then_some(offset)
}

/// How the kernel treats the page (boot parameter `vsyscall=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The page is not there: a call is a segmentation fault.
    None,
    /// Calls are emulated; the page cannot be read.
    Xonly,
    /// Calls are emulated; the page can be read.
    Emulate,
    /// The capture does not tell.
    Unknown,
}

impl Mode {
    /// Its name, as facts and the kernel's command line have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Xonly => "xonly",
            Self::Emulate => "emulate",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_entry_points_are_calls_and_nothing_else_is() {
        assert_eq!(Call::at(PAGE), Some(Call::Gettimeofday));
        assert_eq!(Call::at(PAGE + 0x400), Some(Call::Time));
        assert_eq!(Call::at(PAGE + 0x800), Some(Call::Getcpu));
        assert_eq!(Call::at(PAGE + 0x401), None);
        assert_eq!(Call::at(PAGE - 0xc00), None, "the page below");
        assert_eq!(Call::at(PAGE + 0x1400), None, "the page above");
    }
    #[test]
    fn names_are_those_of_the_facts() {
        for call in Call::ALL {
            assert_eq!(serde_json::json!(call), call.name());
        }
        for mode in [Mode::None, Mode::Xonly, Mode::Emulate, Mode::Unknown] {
            assert_eq!(serde_json::json!(mode), mode.name());
        }
    }
}
