//! Names a file that is not a capture, so that a person knows what was handed in.

use crate::block::{BlockKind, SECTION_HEADER};
use crate::cursor::Cursor;
use crate::gzip;

/// How many bytes [`foreign`] wants to see, where there are that many: enough for a pcapng section
/// header with the comments of a person in it.
pub(crate) const SNIFF_LENGTH: usize = 128 * 1024;
/// Text and zeros are told by so many bytes.
const TELLING: usize = 512;

const SCAP_MAGIC: u32 = 0x1A2B_3C4D;

/// Says what `start`, the first bytes of a stream (uncompressed), is if it is not a capture.
///
/// `None` for the beginning of a capture, also one that was cut off within its first bytes.
pub(crate) fn foreign(start: &[u8]) -> Option<String> {
    let word = |at: usize| start.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    if start.is_empty() {
        return Some("an empty file".into());
    }
    if SECTION_HEADER.to_le_bytes().starts_with(&start[..start.len().min(4)]) {
        return match word(8) {
            Some(magic) if magic == SCAP_MAGIC.swap_bytes() => {
                Some("a capture of a big-endian machine (wrong-endian section header)".into())
            }
            Some(SCAP_MAGIC) => pcapng(start).then(|| "a pcapng network capture".into()),
            Some(other) => Some(format!("a section header without the capture magic number (0x{other:08X})")),
            None => None,
        };
    }
    let named: &[(&[u8], &str)] = &[
        (b"\x7fELF", "an ELF program or core dump"),
        (b"\xd4\xc3\xb2\xa1", "a pcap network capture"),
        (b"\xa1\xb2\xc3\xd4", "a pcap network capture (big-endian)"),
        (b"\x4d\x3c\xb2\xa1", "a pcap network capture (nanosecond)"),
        (b"\xa1\xb2\x3c\x4d", "a pcap network capture (nanosecond, big-endian)"),
        (&gzip::MAGIC, "a gzip stream (decompress it first: gzip -dc FILE | scapscope explain -)"),
        (b"PERFILE2", "a perf.data file"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd-compressed file (decompress it first: zstd -dc FILE | scapscope explain -)"),
        (b"\xfd7zXZ\0", "an xz-compressed file (decompress it first: xz -dc FILE | scapscope explain -)"),
        (b"BZh", "a bzip2-compressed file (decompress it first: bzip2 -dc FILE | scapscope explain -)"),
        (b"\x04\x22\x4d\x18", "an lz4-compressed file (decompress it first: lz4 -dc FILE | scapscope explain -)"),
    ];
    if let Some((_, name)) = named.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some((*name).into());
    }
    if *start == gzip::MAGIC[..1] {
        return Some("a single byte, with which a gzip stream may begin".into());
    }
    let start = &start[..start.len().min(TELLING)];
    if start.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..)) {
        return Some("a text file".into());
    }
    if start.iter().all(|byte| *byte == 0) {
        return Some("a file of zeros".into());
    }
    let first: Vec<String> = start.iter().take(4).map(|byte| format!("{byte:02X}")).collect();
    Some(format!("a file of an unknown kind (first bytes {})", first.join(" ")))
}

/// Whether a section header is followed by the blocks of pcapng.
///
/// The two formats share the section header, magic number and versions 1.0 and 1.2 included. But
/// scap uses none of the block types 1 to 10, which are pcapng's (draft-ietf-opsawg-pcapng,
/// "Standardized Block Type Codes": interface, packet, name resolution, statistics ...). A program
/// that knows both may put some of these into a scap file, so one block of scap is enough to tell.
fn pcapng(start: &[u8]) -> bool {
    let mut blocks = Cursor::new(start);
    let mut network = false;
    while let Some((number, length)) = blocks.u32().zip(blocks.u32()) {
        match BlockKind::of(number) {
            BlockKind::SectionHeader => {}
            BlockKind::Unknown => network |= (1..=10).contains(&number),
            _ => return false,
        }
        if (length as usize).checked_sub(8).and_then(|rest| blocks.bytes(rest)).is_none() {
            break;
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_capture_is_named() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "empty"),
            (b"\x7fELF\x02\x01\x01", "ELF"),
            (b"\xd4\xc3\xb2\xa1\x02\x00", "pcap"),
            (b"execve(\"/bin/true\", ", "text"),
            (b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x1a\x2b\x3c\x4d\0\0\0\0", "big-endian"),
            (&[0; 32], "zeros"),
            (b"\x1f", "gzip stream may begin"),
            (b"\x1f\x8b\x08\0", "a gzip stream (decompress"),
            (b"\x01\x02\x03\x04", "unknown kind"),
        ];
        for (bytes, word) in cases {
            let name = foreign(bytes).unwrap_or_default();
            assert!(name.contains(word), "{bytes:?} is named {name:?}, without {word:?}");
        }
    }

    fn block(number: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(12 + body.len()).unwrap().to_le_bytes();
        [&number.to_le_bytes(), &length, body, &length].concat()
    }

    fn section(options: &[u8]) -> Vec<u8> {
        block(SECTION_HEADER, &[b"\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", options].concat())
    }

    #[test]
    fn pcapng_is_told_from_scap_whatever_its_section_header_holds() {
        let interface = block(1, b"\x01\0\0\0\0\0\x04\0");
        let hardware_system_program = b"\x02\0\x04\0x64\0\x03\0\x08\0Linux 6.\x04\0\x06\0Dumpca\0\0\0\0\0\0";
        let comment = [b"\x01\0\xfc\xff".as_slice(), &[b'x'; 0xfffc], &[0; 4]].concat();
        // A capture of no packets, and one of nothing at all, which may be either.
        assert!(foreign(&[section(&[]), interface.clone()].concat()).is_some_and(|name| name.contains("pcapng")));
        assert_eq!(foreign(&section(&[])), None);
        for options in [&b""[..], hardware_system_program, &comment] {
            let network = [section(options), interface.clone(), block(6, &[0; 40])].concat();
            assert!(
                foreign(&network).is_some_and(|name| name.contains("pcapng")),
                "{} bytes of options",
                options.len()
            );
            // The same with a machine info behind the interface.
            let mixed = [section(options), interface.clone(), block(0x201, &[0; 180])].concat();
            assert_eq!(foreign(&mixed), None, "{} bytes of options", options.len());
        }
    }

    #[test]
    fn the_start_of_a_capture_is_not_foreign() {
        let start = b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\x02\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0\x01\x02\0\0";
        for cut in 1..=start.len() {
            assert_eq!(foreign(&start[..cut]), None, "cut at {cut}");
        }
    }
}
