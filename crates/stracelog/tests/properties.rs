//! Whatever the text is and however it comes: no panic, a sound capture, no more damage than there is.

mod common;

use common::{read, read_in_pieces};
use proptest::collection::vec;
use proptest::prelude::*;

const LOGS: [&[u8]; 3] =
    [include_bytes!("logs/threads.log"), include_bytes!("logs/crash.log"), include_bytes!("logs/gaps.log")];

/// Pieces that lines of logs are made of.
const WORDS: &[&str] = &[
    "16:30:05.221805 ",
    "1795192205.661699 ",
    "     0.000401 ",
    "[pid 7] ",
    "7 ",
    "8<comm> ",
    "openat",
    "clone3",
    "execve",
    "read",
    "futex",
    "rt_sigreturn",
    "prctl",
    "switch",
    "(",
    ")",
    " = ",
    "0",
    "-1 ENOENT (No such file)",
    "?",
    "7",
    " <0.000033>",
    "<unfinished ...>",
    "<... read resumed>",
    "<... clone3 resumed>",
    "<... execve resumed>",
    "\"a\\177\\n\"",
    "\"cut\"...",
    "\"",
    "[\"ls\", \"/\"]",
    "{flags=CLONE_THREAD}",
    "AT_FDCWD",
    "3</etc/passwd>",
    "3<TCP:[1->2]>",
    ", ",
    "O_RDONLY|O_CLOEXEC",
    "NULL",
    "0x7f",
    "8*1024",
    "/* 39 vars */",
    "--- ",
    " ---",
    "SIGSEGV",
    " {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x10}",
    "+++ ",
    " +++",
    "exited with 3",
    "killed by SIGSEGV (core dumped)",
    "superseded by execve in pid 8",
    "strace: Process 8 attached",
    "\n",
    "\n",
    "\\",
    "<",
    ">",
    "[",
    "]",
    "{",
    "}",
];

fn made_up() -> impl Strategy<Value = Vec<u8>> {
    vec(proptest::sample::select(WORDS), 0..120).prop_map(|words| words.concat().into_bytes())
}

/// Whole lines in the order of a log, with words that are put together anew in between.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let call = (1..6i64, proptest::sample::select(WORDS), proptest::sample::select(WORDS), 0..4u8).prop_map(
        |(tid, first, second, how)| {
            let time = format!("{tid} 16:30:05.000100");
            match how {
                0 => format!("{time} read({first}, {second}) = 0 <0.000001>\n"),
                1 => format!("{time} clone3({first}, {second} <unfinished ...>\n"),
                2 => format!("{time} <... clone3 resumed>{first}) = {} <0.000002>\n", tid + 1),
                _ => format!("{time} +++ exited with 0 +++\n"),
            }
        },
    );
    vec(call, 0..60).prop_map(|lines| lines.concat().into_bytes())
}

/// A real log of which some bytes are changed, taken out or put in, or lines put elsewhere.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5u8, any::<[u8; 4]>());
    (proptest::sample::select(&LOGS[..]), vec(change, 1..12)).prop_map(|(log, changes)| {
        let mut bytes = log.to_vec();
        for (place, other, how, with) in changes {
            let at = place.index(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
            match how {
                0 => bytes[at] = with[0],
                1 => bytes[at] ^= 1 << (with[0] % 8),
                2 => drop(bytes.splice(at..at, with)),
                3 => drop(bytes.splice(at..(at + 1 + usize::from(with[0])).min(bytes.len()), [])),
                _ => {
                    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
                    let (from, to) = (place.index(lines.len()), other.index(lines.len()));
                    lines.swap(from, to);
                    bytes = lines.join(&b'\n');
                }
            }
            if bytes.is_empty() {
                bytes.push(b' ');
            }
        }
        bytes
    })
}

// PROPTEST_CASES sets how many cases each of these tries: 256 by default.
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// [`read`] holds every event to be sound; what is not said twice is that nothing panics.
    #[test]
    fn any_bytes_become_a_sound_capture(bytes in vec(any::<u8>(), 0..400)) {
        let told = read(&bytes);
        prop_assert!(told.tally.damaged_lines <= told.tally.lines);
        _ = stracelog::recognise(&bytes);
    }

    #[test]
    fn any_words_of_strace_become_a_sound_capture(bytes in prop_oneof![made_up(), lines()], start in 0..200usize, piece in 1..50usize) {
        let told = read(&bytes);
        prop_assert!(told.tally.damaged_lines <= told.tally.lines);
        prop_assert_eq!(told.tally.first_damaged.len() as u64, told.tally.damaged_lines.min(8));
        _ = stracelog::recognise(&bytes);
        _ = stracelog::table::parse(&String::from_utf8_lossy(&bytes));
        // What is looked at beforehand tells whose the lines without a thread are, and nothing else.
        let mut pieces = read_in_pieces(&bytes, start, piece);
        prop_assert_eq!(pieces.events.len(), told.events.len());
        pieces = read_in_pieces(&bytes, usize::MAX, piece);
        prop_assert_eq!(pieces, told);
    }

    #[test]
    fn a_changed_log_loses_little(bytes in mutated(), place in any::<prop::sample::Index>()) {
        let told = read(&bytes);
        prop_assert!(told.tally.damaged_lines <= 2 * 12 + 40, "{:?}", told.tally);
        // Cut anywhere, it says no more than it says as a whole.
        let cut = read(&bytes[..place.index(bytes.len())]);
        prop_assert!(cut.events.len() <= told.events.len() + 1);
    }
}
