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
}
