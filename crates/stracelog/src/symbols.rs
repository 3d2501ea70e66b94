//! Numbers of the flags and constants that strace names, as scap numbers them.

use falco_event_schema::fields::event_flags::{
    PT_FLAGS16_futex_operations as Futex, PT_FLAGS32_access_flags as Access, PT_FLAGS32_clone_flags as Clone,
    PT_FLAGS32_file_flags as File, PT_FLAGS32_linkat_flags as Link, PT_FLAGS32_mmap_flags as Map,
    PT_FLAGS32_newfstatat_flags as Stat, PT_FLAGS32_prot_flags as Protection, PT_FLAGS32_unlinkat_flags as Unlink,
};

use crate::text;

/// `AT_FDCWD`: the working directory in place of a descriptor (fcntl.h).
const AT_FDCWD: i64 = -100;
/// `PR_SET_NAME` (prctl.h).
const PR_SET_NAME: i64 = 15;

/// The number of `O_RDONLY|O_CLOEXEC`, of a single constant, or of what is a number already.
///
/// A flag that scap has no number for is left out, as a recorder leaves it out. `None` where nothing is
/// known of any of it.
pub(crate) fn number(expression: &[u8]) -> Option<i64> {
    let mut sum = None;
    for word in expression.split(|byte| *byte == b'|') {
        if let Some(value) = text::number(word).or_else(|| symbol(word)) {
            *sum.get_or_insert(0) |= value;
        }
    }
    sum
}

fn symbol(word: &[u8]) -> Option<i64> {
    // With -y the working directory has its path behind it.
    let end = word.iter().position(|byte| *byte == b'<').unwrap_or(word.len());
    let word = std::str::from_utf8(&word[..end]).ok()?;
    let (kind, _) = word.split_once('_')?;
    let bits = match kind {
        "O" => File::from_name(word)?.bits(),
        "PROT" => Protection::from_name(word)?.bits(),
        "MAP" => Map::from_name(word)?.bits(),
        "CLONE" => Clone::from_name(word)?.bits(),
        "F" | "R" | "W" | "X" => Access::from_name(word)?.bits(),
        "FUTEX" => {
            // strace writes FUTEX_WAIT_PRIVATE for FUTEX_WAIT|FUTEX_PRIVATE_FLAG.
            let (word, private) = match word.strip_suffix("_PRIVATE") {
                Some(word) => (word, Futex::FUTEX_PRIVATE_FLAG.bits()),
                None => (word, 0),
            };
            (Futex::from_name(word)?.bits() | private).into()
        }
        "AT" if word == "AT_FDCWD" => return Some(AT_FDCWD),
        "AT" => {
            let stat = Stat::from_name(word).map(|flag| flag.bits());
            let link = || Link::from_name(word).map(|flag| flag.bits());
            stat.or_else(link).or_else(|| Unlink::from_name(word).map(|flag| flag.bits()))?
        }
        "SEEK" => {
            return ["SEEK_SET", "SEEK_CUR", "SEEK_END"]
                .iter()
                .zip(0..)
                .find(|(name, _)| **name == word)
                .map(|(_, number)| number);
        }
        "PR" if word == "PR_SET_NAME" => return Some(PR_SET_NAME),
        _ => return None,
    };
    Some(bits.into())
}

/// The number of a signal on x86 and ARM (signal(7)): `SIGSEGV`, `SIGRT_1`, `SIGRTMIN`.
pub(crate) fn signal(name: &[u8]) -> Option<u8> {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
        "WINCH", "IO", "PWR", "SYS",
    ];
    /// As the kernel counts; the C library keeps the first two for itself.
    const SIGRTMIN: u8 = 32;
    const SIGRTMAX: u8 = 64;
    let name = std::str::from_utf8(name).ok()?.strip_prefix("SIG")?;
    if let Some(at) = NAMES.iter().position(|known| *known == name) {
        return u8::try_from(at + 1).ok();
    }
    let number = match name {
        "POLL" => 29,
        "RTMIN" => SIGRTMIN,
        "RTMAX" => SIGRTMAX,
        _ => SIGRTMIN.checked_add(name.strip_prefix("RT_")?.parse().ok()?)?,
    };
    Some(number).filter(|number| *number <= SIGRTMAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_the_numbers_of_scap() {
        for (text, number) in [
            ("O_RDONLY|O_CLOEXEC", Some(4097)),
            ("O_RDWR|O_CREAT|O_NOFOLLOW", Some(7)),
            ("O_NOFOLLOW", None),
            ("PROT_READ|PROT_EXEC", Some(5)),
            ("PROT_NONE", Some(0)),
            ("MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS", Some(14)),
            ("CLONE_VM|CLONE_THREAD|SIGCHLD", Some(0x8000 | 0x2000)),
            ("FUTEX_WAIT", Some(0)),
            ("FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME", Some(9 | 128 | 256)),
            ("F_OK", Some(0)),
            ("R_OK", Some(4)),
            ("AT_FDCWD", Some(-100)),
            ("AT_FDCWD</srv/app>", Some(-100)),
            ("AT_REMOVEDIR", Some(0x200)),
            ("SEEK_END", Some(2)),
            ("3</etc/passwd>", Some(3)),
            ("0666", Some(0o666)),
            ("", None),
        ] {
            assert_eq!(super::number(text.as_bytes()), number, "{text}");
        }
    }

    #[test]
    fn signals_have_their_numbers() {
        for (name, number) in [
            ("SIGHUP", Some(1)),
            ("SIGSEGV", Some(11)),
            ("SIGCHLD", Some(17)),
            ("SIGSYS", Some(31)),
            ("SIGRT_1", Some(33)),
            ("SIGRTMIN", Some(32)),
            ("SIGRT_33", None),
            ("SIGRT_300", None),
            ("SEGV", None),
        ] {
            assert_eq!(signal(name.as_bytes()), number, "{name}");
        }
    }
}
