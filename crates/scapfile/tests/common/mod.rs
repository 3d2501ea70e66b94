//! Writes small captures, block by block, and reads captures into values that can be compared.
//!
//! The layouts are those of `docs/scap-format.md`.

#![allow(dead_code, reason = "each test file uses a part of this one")]

use std::io::{Cursor, Write};
use std::ops::ControlFlow;

use scapfile::{Capture, Damage, Item, Parser, Progress, SkipReason};

pub const SECTION_HEADER: u32 = 0x0A0D_0D0A;
pub const MACHINE_INFO: u32 = 0x201;
pub const EVENT_V1: u32 = 0x204;
pub const EVENT_V1_FLAGS: u32 = 0x208;
pub const EVENT_V2: u32 = 0x216;
pub const EVENT_V2_FLAGS: u32 = 0x217;
pub const EVENT_LARGE: u32 = 0x221;
pub const EVENT_LARGE_FLAGS: u32 = 0x222;
pub const FDS_SIZED: u32 = 0x218;
pub const PROCESSES_V9: u32 = 0x215;

/// A block: type, length, body padded to four bytes, length.
pub fn block(number: u32, body: &[u8]) -> Vec<u8> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let length = u32::try_from(12 + body.len() + padding).unwrap().to_le_bytes();
    [&number.to_le_bytes(), &length, body, &[0; 3][..padding], &length].concat()
}

/// A section header of version 1.2 with `options` behind it.
pub fn section(options: &[u8]) -> Vec<u8> {
    section_of(0x1A2B_3C4D, 1, 2, options)
}

pub fn section_of(magic: u32, major: u16, minor: u16, options: &[u8]) -> Vec<u8> {
    let body = [&magic.to_le_bytes()[..], &major.to_le_bytes(), &minor.to_le_bytes(), &u64::MAX.to_le_bytes(), options];
    block(SECTION_HEADER, &body.concat())
}

/// The options "comment" and "end of options" of pcapng, as programs around sysdig add them.
pub fn comment(text: &str) -> Vec<u8> {
    let mut option =
        [&1u16.to_le_bytes()[..], &u16::try_from(text.len()).unwrap().to_le_bytes(), text.as_bytes()].concat();
    option.resize(option.len().next_multiple_of(4), 0);
    option.extend([0; 4]);
    option
}

/// Machine info; `boot`: what stands in the field that once was reserved.
pub fn machine(hostname: &str, boot: u64) -> Vec<u8> {
    let mut body = [&4u32.to_le_bytes()[..], &(8u64 << 30).to_le_bytes(), &4_194_304u64.to_le_bytes()].concat();
    body.extend(hostname.as_bytes());
    body.resize(20 + 128, 0);
    body.extend(boot.to_le_bytes());
    body.extend([0; 24]);
    body
}

/// A 16-bit length and the text.
pub fn counted(text: &[u8]) -> Vec<u8> {
    [&u16::try_from(text.len()).unwrap().to_le_bytes()[..], text].concat()
}

/// `entry` behind its length, which counts itself.
pub fn sized(entry: &[u8]) -> Vec<u8> {
    [&u32::try_from(entry.len() + 4).unwrap().to_le_bytes()[..], entry].concat()
}

/// `entry` behind its length, which does not count itself.
pub fn sized_without_itself(entry: &[u8]) -> Vec<u8> {
    [&u32::try_from(entry.len()).unwrap().to_le_bytes()[..], entry].concat()
}

/// The fields of a process as layout `version` has them, without the length that V9 puts in front.
pub fn process_fields(version: u8, tid: i64, comm: &str) -> Vec<u8> {
    let mut fields = [tid.to_le_bytes(), (tid - 1).to_le_bytes(), 1i64.to_le_bytes()].concat();
    if version >= 6 {
        fields.extend(71i64.to_le_bytes()); // session
    }
    if version >= 8 {
        fields.extend(72i64.to_le_bytes()); // process group
    }
    fields.extend(counted(comm.as_bytes()));
    fields.extend(counted(format!("./{comm}").as_bytes()));
    if version >= 7 {
        fields.extend(counted(format!("/usr/bin/{comm}").as_bytes()));
    }
    fields.extend(counted(b"-c\0sleep 1\0"));
    fields.extend(counted(b"/srv/"));
    fields.extend(1024u64.to_le_bytes()); // file descriptor limit
    fields.extend([0x11; 12]); // flags, user, group
    if version >= 2 {
        fields.extend([0x22; 28]); // memory sizes, page fault counts
    }
    if version >= 3 {
        fields.extend(counted(b"HOME=/\0"));
    }
    if version >= 4 {
        fields.extend(7i64.to_le_bytes()); // tid and pid in the namespace
        fields.extend(6i64.to_le_bytes());
        fields.extend(counted(b"cpuset=/docker/0123456789ab\0"));
    }
    if version >= 5 {
        fields.extend(counted(b"/"));
    }
    fields
}

/// A descriptor's fields up to its kind.
pub fn fd_fields(fd: i64, kind: u8) -> Vec<u8> {
    [&fd.to_le_bytes()[..], &99u64.to_le_bytes(), &[kind]].concat()
}

/// Writes an event block: `number` says which header it has.
#[derive(Debug, Clone)]
pub struct EventWriter {
    pub number: u32,
    pub cpu: u16,
    pub flags: u32,
    pub timestamp_ns: u64,
    pub tid: i64,
    pub event_type: u16,
    pub params: Vec<Vec<u8>>,
}

impl EventWriter {
    pub fn new(number: u32, event_type: u16, params: &[&[u8]]) -> Self {
        Self {
            number,
            cpu: 3,
            flags: 0xABCD_0001,
            timestamp_ns: 1_795_176_952_775_580_364,
            tid: 308,
            event_type,
            params: params.iter().map(|param| param.to_vec()).collect(),
        }
    }

    pub fn body(&self) -> Vec<u8> {
        let flagged = matches!(self.number, EVENT_V1_FLAGS | EVENT_V2_FLAGS | EVENT_LARGE_FLAGS);
        let counted = !matches!(self.number, EVENT_V1 | EVENT_V1_FLAGS | 0x8010_ABCD);
        let wide = matches!(self.number, EVENT_LARGE | EVENT_LARGE_FLAGS);
        let lengths: Vec<u8> = if wide {
            self.params.iter().flat_map(|param| u32::try_from(param.len()).unwrap().to_le_bytes()).collect()
        } else {
            self.params.iter().flat_map(|param| u16::try_from(param.len()).unwrap().to_le_bytes()).collect()
        };
        let values = self.params.concat();
        let header: usize = if counted { 26 } else { 22 };
        let length = u32::try_from(header + lengths.len() + values.len()).unwrap();

        let mut body = self.cpu.to_le_bytes().to_vec();
        if flagged {
            body.extend(self.flags.to_le_bytes());
        }
        body.extend(self.timestamp_ns.to_le_bytes());
        body.extend(self.tid.to_le_bytes());
        body.extend(length.to_le_bytes());
        body.extend(self.event_type.to_le_bytes());
        if counted {
            body.extend(u32::try_from(self.params.len()).unwrap().to_le_bytes());
        }
        [body, lengths, values].concat()
    }

    pub fn block(&self) -> Vec<u8> {
        block(self.number, &self.body())
    }
}

/// The page fault of the redis crash: three parameters of 8, 8 and 4 bytes.
pub fn page_fault(timestamp_ns: u64) -> Vec<u8> {
    let address = 0xFFFF_FFFF_FF60_0400u64.to_le_bytes();
    let mut event = EventWriter::new(EVENT_V2, 290, &[&address, &address, &154u32.to_le_bytes()]);
    event.timestamp_ns = timestamp_ns;
    event.block()
}

/// A capture with one of everything that a current writer writes, and `events` events.
pub fn small_capture(events: u64) -> Vec<u8> {
    let processes = [sized(&process_fields(9, 308, "entrypoint.sh")), sized(&process_fields(9, 1, "init"))].concat();
    let fds = [
        308i64.to_le_bytes().to_vec(),
        sized(&[fd_fields(0, 1), counted(b"/dev/null")].concat()),
        sized(&[fd_fields(3, 3), vec![1; 13]].concat()),
    ]
    .concat();
    let interfaces = sized_without_itself(&[&[1, 0, 2, 0][..], &[10; 20], b"lo"].concat());
    let users =
        [sized(&[&[0][..], &[0; 8], &counted(b"root"), &counted(b"/root"), &counted(b"/bin/sh")].concat())].concat();
    let mut capture = [
        section(&comment("kept by hand")),
        block(MACHINE_INFO, &machine("host", 5)),
        block(0x219, &interfaces),
        block(0x220, &users),
        block(PROCESSES_V9, &processes),
        block(FDS_SIZED, &fds),
    ]
    .concat();
    for number in 0..events {
        capture.extend(page_fault(1000 + number));
    }
    capture
}

/// Where the blocks of a sound capture begin, and where it ends.
pub fn block_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    while let Some(header) = bytes.get(starts[starts.len() - 1] + 4..).filter(|rest| rest.len() >= 4) {
        starts.push(starts[starts.len() - 1] + u32::from_le_bytes(header[..4].try_into().unwrap()) as usize);
    }
    starts
}

/// `bytes` as one gzip member.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What reading came to: every item in its printed form, then whether the end is a proper one.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub items: Vec<String>,
    pub events: u64,
    pub offset: u64,
    pub damage: Option<Damage>,
}

impl Reading {
    /// Items whose printed form begins with `kind`, such as `Event`.
    pub fn count(&self, kind: &str) -> usize {
        self.items.iter().filter(|item| item.starts_with(kind)).count()
    }
}

/// Reads with the parser alone, from windows that grow by the given sizes (the last one repeats).
///
/// Holds the parser to its promises: progress at every call, and no wish for more at the end or
/// with 16 MiB at hand. `end_in_sight`: whether the parser is told of the end with the last bytes, or
/// only once it asks for more.
pub fn read_in_windows(bytes: &[u8], sizes: &[usize], end_in_sight: bool) -> Reading {
    let mut sizes = sizes.iter().copied().chain(std::iter::repeat(sizes.last().copied().unwrap_or(usize::MAX).max(1)));
    let mut parser = Parser::default();
    let (mut start, mut end, mut told) = (0, 0, false);
    let mut items = Vec::new();
    let mut idle = 0;
    let damage = loop {
        let at_end = end == bytes.len() && (end_in_sight || told);
        let window = &bytes[start..end];
        let consumed = match parser.next(window, at_end) {
            Ok(Progress::Item { item, consumed }) => {
                let malformed_list = matches!(item, Item::Skipped(_, SkipReason::MalformedList));
                assert_eq!(consumed == 0, malformed_list, "{item:?} takes {consumed} bytes");
                items.push(format!("{item:?}"));
                consumed
            }
            Ok(Progress::Consumed(consumed)) => {
                assert!(consumed > 0, "no progress");
                consumed
            }
            Ok(Progress::NeedMore) => {
                assert!(!at_end, "more is wanted where there is no more");
                assert!(window.len() < 16 << 20, "more is wanted than 16 MiB");
                told = end == bytes.len();
                end = end.saturating_add(sizes.next().unwrap()).min(bytes.len());
                continue;
            }
            Ok(Progress::End) => {
                assert!(window.is_empty() && at_end, "the end is seen before it");
                break None;
            }
            Err(damage) => break Some(damage),
        };
        idle = if consumed == 0 { idle + 1 } else { 0 };
        assert!(idle <= 1, "the parser goes in circles");
        assert!(consumed <= window.len());
        start += consumed;
        assert_eq!(parser.offset(), start as u64, "the offset is wrong");
    };
    Reading { items, events: parser.events(), offset: parser.offset(), damage }
}

/// Reads with the parser alone, from one window.
pub fn read(bytes: &[u8]) -> Reading {
    read_in_windows(bytes, &[usize::MAX], true)
}

/// Reads as a file would be read.
pub fn read_capture(bytes: &[u8]) -> Result<Reading, scapfile::OpenError> {
    let mut capture = Capture::read(Cursor::new(bytes.to_vec()), None)?;
    let mut items = Vec::new();
    capture.visit(|item| {
        items.push(format!("{item:?}"));
        ControlFlow::Continue(())
    });
    Ok(Reading { items, events: capture.events(), offset: capture.offset(), damage: capture.damage().cloned() })
}
