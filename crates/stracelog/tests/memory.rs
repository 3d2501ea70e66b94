//! Memory stays bounded whatever a log holds. One test, for it watches the whole process.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, Read};

use stracelog::{Reader, Tally};

const MIB: usize = 1 << 20;

/// The most memory this process has had in use since the last call, in bytes (proc(5): `VmHWM`, and
/// `clear_refs` to start anew).
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    kib * 1024
}

/// Lines made one at a time, until there are `count`.
struct Lines<F> {
    make: F,
    count: usize,
    line: io::Cursor<Vec<u8>>,
}

impl<F: FnMut(usize) -> String> Read for Lines<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.line.read(into)?;
        if count > 0 || self.count == 0 {
            return Ok(count);
        }
        self.count -= 1;
        self.line = io::Cursor::new((self.make)(self.count).into_bytes());
        self.line.read(into)
    }
}

/// Reads so many lines; what that took, and what was counted.
fn read(count: usize, make: impl FnMut(usize) -> String) -> (usize, Tally) {
    peak();
    let before = peak();
    let mut reader = Reader::new(b"", Lines { make, count, line: io::Cursor::default() });
    let log = reader.log();
    io::copy(&mut reader, &mut io::sink()).unwrap();
    (peak().saturating_sub(before), log.tally())
}

#[test]
fn memory_is_bounded_whatever_a_log_holds() {
    // Calls that never come back, of ever new threads, with long arguments.
    let arguments = "x".repeat(2500);
    let (taken, tally) = read(20_000, |tid| format!("{tid} 16:30:05.0 write(1, \"{arguments} <unfinished ...>\n"));
    assert_eq!((tally.lines, tally.damaged_lines), (20_000, 0));
    assert!(taken < 24 * MIB, "{taken} bytes for calls that do not come back");

    // Ever new threads that do something, and programs.
    let (taken, _) =
        read(40_000, |tid| format!("{tid} 16:30:05.0 execve(\"/bin/a-long-name\", [\"a\"], 0) = 0 <0.1>\n"));
    assert!(taken < 12 * MIB, "{taken} bytes for threads");

    // A line without an end, a call that is broken off again and again, nothing that is strace's.
    let (taken, tally) = read(60, |_| "x".repeat(MIB));
    assert_eq!((tally.lines, tally.damaged_lines), (1, 1));
    assert!(taken < 6 * MIB, "{taken} bytes for one line");
    let (taken, tally) = read(2_000, |_| format!("7 16:30:05.0 write(1, \"{arguments}\n"));
    assert_eq!((tally.damaged_lines, tally.first_damaged.len()), (2_000, 8));
    assert!(taken < 6 * MIB, "{taken} bytes for broken calls");
    let (taken, _) = read(100_000, |_| "nothing\n".into());
    assert!(taken < 6 * MIB, "{taken} bytes for other lines");
}
