//! Memory stays bounded whatever a length says. One test, for it watches the whole process.

#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{self, Read};
use std::ops::ControlFlow;

use common::*;
use scapfile::{Capture, Item};

/// `head`, then `piece` again and again, `count` times.
struct Repeating {
    head: io::Cursor<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    count: usize,
}

impl Read for Repeating {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.head.read(into)?;
        if count > 0 || self.count == 0 {
            return Ok(count);
        }
        let count = into.len().min(self.piece.len() - self.at);
        into[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        if self.at == self.piece.len() {
            self.at = 0;
            self.count -= 1;
        }
        Ok(count)
    }
}

/// The most memory this process has had in use since the last call, in bytes (proc(5): `VmHWM`, and
/// `clear_refs` to start anew).
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    kib * 1024
}

/// Reads a capture that begins with `small_capture(2)` and `head`; what it took, and what it held.
fn read(head: &[u8], piece: Vec<u8>, count: usize) -> (usize, Vec<String>, Capture) {
    let head = io::Cursor::new([small_capture(2), head.to_vec()].concat());
    let before = {
        peak();
        peak()
    };
    let mut capture = Capture::read(Repeating { head, piece, at: 0, count }, None).unwrap();
    let mut kinds: Vec<String> = Vec::new();
    capture.visit(|item| {
        let kind = match item {
            Item::Skipped(number, reason) => format!("{number:X} {reason:?}"),
            Item::Process(_) => "process".into(),
            Item::Event(event) if event.event_type != 290 => {
                format!("event of {} bytes", event.param(0).map_or(0, <[u8]>::len))
            }
            _ => return ControlFlow::Continue(()),
        };
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
        ControlFlow::Continue(())
    });
    let taken = peak().saturating_sub(before);
    (taken, kinds, capture)
}

fn header(number: u32, length: u32) -> Vec<u8> {
    [number.to_le_bytes(), length.to_le_bytes()].concat()
}

const MIB: usize = 1 << 20;

#[test]
fn memory_is_bounded_whatever_a_length_says() {
    // A block of 3 GB is announced: nothing of it comes, or a part.
    for (number, kind) in [(0x7777, "7777 UnknownBlock"), (EVENT_LARGE, "221 TooLarge")] {
        for count in [0, 200] {
            let (taken, kinds, capture) = read(&header(number, 3_000_000_000), vec![0xEE; MIB], count);
            assert_eq!((kinds.as_slice(), capture.events()), (&["process".to_owned(), kind.to_owned()][..], 2));
            let damage = capture.damage().unwrap();
            assert!(damage.found.contains(&format!("after {} of them", 8 + count * MIB)), "{damage}");
            assert!(taken < 8 * MIB, "{taken} bytes for {number:X} with {count} MiB");
        }
    }

    // Lists of 3 GB: of entries that make no sense, of entries that go on and on, of sound ones.
    let senseless = read(&header(PROCESSES_V9, 3_000_000_000), vec![0xEE; MIB], 100);
    assert!(senseless.1.contains(&"215 MalformedList".to_owned()) && senseless.0 < 8 * MIB, "{:?}", senseless.0);
    let endless =
        read(&[header(PROCESSES_V9, 3_000_000_000), (1u32 << 20).to_le_bytes().to_vec()].concat(), vec![0; MIB], 100);
    assert!(endless.1.contains(&"215 MalformedList".to_owned()) && endless.0 < 8 * MIB, "{:?}", endless.0);
    for (number, version) in [(0x214, 8), (PROCESSES_V9, 9)] {
        let fields = process_fields(version, 41, &"c".repeat(30_000));
        let entry = if version == 9 { sized(&fields) } else { fields };
        let (taken, kinds, capture) = read(&header(number, 3_000_000_000), entry, 2000);
        assert_eq!(kinds, ["process"], "V{version}");
        assert!(capture.damage().is_some() && capture.offset() > 100 << 20, "V{version}");
        assert!(taken < 8 * MIB, "{taken} bytes for a list V{version}");
    }

    // The largest event that is read, again and again; one byte more is too large.
    let largest = EventWriter::new(EVENT_LARGE, 402, &[&vec![7; 16 * MIB - 12 - 28 - 4]]).block();
    assert_eq!(largest.len(), 16 * MIB);
    let (taken, kinds, capture) = read(&[], largest, 10);
    assert_eq!((kinds.last().unwrap().as_str(), capture.events()), ("event of 16777172 bytes", 12));
    assert!(taken < 48 * MIB, "{taken} bytes for events of 16 MiB");
    let larger = EventWriter::new(EVENT_LARGE, 402, &[&vec![7; 16 * MIB - 12 - 28]]).block();
    let (taken, kinds, capture) = read(&[], larger, 10);
    assert_eq!((kinds.last().unwrap().as_str(), capture.events(), capture.damage()), ("221 TooLarge", 12, None));
    assert!(taken < 8 * MIB, "{taken} bytes for events beyond 16 MiB");

    // A gzip stream that unpacks to a thousand times its size.
    let bomb = gzip(&[small_capture(0), block(0x7777, &vec![0; 30 * MIB])].concat());
    peak();
    let before = peak();
    let mut capture = Capture::read(io::Cursor::new(bomb), None).unwrap();
    capture.visit(|_| ControlFlow::Continue(()));
    let taken = peak().saturating_sub(before);
    assert_eq!(capture.damage(), None);
    assert!(capture.offset() > 30 << 20 && taken < 8 * MIB, "{taken} bytes");
}
