//! The real captures of this repository are read from end to end without damage, and alike in any
//! windows.

mod common;

use std::fs;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;

use common::*;
use scapfile::{Capture, Item};

/// All captures under `traces/`, with their names.
fn captures() -> Vec<(String, Vec<u8>)> {
    let traces = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let mut folders = vec![traces.clone()];
    let mut captures = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "scap") {
                captures.push((path.strip_prefix(&traces).unwrap().display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    captures.sort();
    if captures.is_empty() {
        eprintln!("\n*** SKIPPED: there are no captures under traces/; only synthetic ones were read.\n");
    }
    captures
}

/// The small ones among them, decompressed.
fn small_captures() -> impl Iterator<Item = (String, Vec<u8>)> {
    captures().into_iter().filter(|(_, stored)| stored.len() < 80_000).map(|(name, stored)| {
        let mut plain = Vec::new();
        match flate2::read::MultiGzDecoder::new(stored.as_slice()).read_to_end(&mut plain) {
            Ok(_) => (name, plain),
            Err(_) => (name, stored),
        }
    })
}

#[test]
fn real_captures_are_read_without_damage() {
    for (name, stored) in captures() {
        let mut capture = Capture::read(io::Cursor::new(stored), None).unwrap();
        let mut kinds = [0; 8];
        capture.visit(|item| {
            let kind = match item {
                Item::Section(_) => 0,
                Item::Machine(_) => 1,
                Item::Process(process) => 2 * usize::from(process.tid > 0 && !process.comm.is_empty()),
                Item::Fd(fd) => 3 * usize::from(fd.tid > 0 && fd.fd >= -1),
                Item::Interface(interface) => 4 * usize::from(!interface.name.is_empty()),
                Item::User(user) => 5 * usize::from(!user.name.is_empty()),
                Item::Group(group) => 6 * usize::from(!group.name.is_empty()),
                Item::Event(event) => 7 * usize::from(event.params().is_ok() && !event.name().is_empty()),
                Item::Skipped(number, reason) => panic!("{name}: {number:X} {reason:?}"),
            };
            kinds[kind] += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(capture.damage(), None, "{name}");
        assert_eq!((kinds[0], kinds[1]), (1, 1), "{name}: not one section and one machine, but {kinds:?}");
        assert!(kinds[2..].iter().all(|count| *count > 0), "{name}: {kinds:?}");
        assert_eq!(kinds[7], capture.events(), "{name}: events without sense");
    }
}

#[test]
fn real_captures_are_read_alike_plain_gzipped_and_in_windows() {
    for (name, bytes) in small_captures() {
        let whole = read(&bytes);
        assert!(read_capture(&bytes).unwrap() == whole, "{name}, as a file");
        assert!(read_capture(&gzip(&bytes)).unwrap() == whole, "{name}, gzipped");
        for size in [61, 4099] {
            assert!(read_in_windows(&bytes, &[size], false) == whole, "{name}, in windows of {size}");
        }
    }
}

/// Every 61st byte: all places within blocks of all kinds come up.
#[test]
fn a_real_capture_cut_anywhere_keeps_what_came_before() {
    for (name, bytes) in small_captures().filter(|(name, _)| name == "none-neg-null-plain.scap") {
        let whole = read(&bytes);
        let boundaries = block_starts(&bytes);
        for cut in (1..bytes.len()).step_by(61) {
            if boundaries.contains(&cut) {
                continue;
            }
            let reading = read(&bytes[..cut]);
            assert!(reading.items == whole.items[..reading.items.len()], "{name} cut at {cut}");
            let damage = reading.damage.unwrap_or_else(|| panic!("{name} cut at {cut}: a proper end"));
            assert!(
                damage.offset <= cut as u64 && damage.offset + 70_000 > cut as u64,
                "{name} cut at {cut}: {damage}"
            );
        }
    }
}
