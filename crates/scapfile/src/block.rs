//! Turns a block's type number into what kind of block it is.
//!
//! Source of the numbers: `scap_savefile.h` of falcosecurity/libs (2022 and 2026). The numbers
//! `0x80xxABCD` were used before sysdig's first release.

/// A list block: its body is a row of entries, read one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// The threads alive when the capture began; layout 1 to 9.
    Processes(u8),
    /// The open file descriptors of one thread. `sized`: every entry carries its length.
    Fds {
        /// Whether each entry begins with its own length.
        sized: bool,
    },
    /// The network interfaces of the machine.
    Interfaces {
        /// Whether each entry begins with its own length.
        sized: bool,
    },
    /// The users and groups of the machine.
    Users {
        /// Whether each entry begins with its own length.
        sized: bool,
    },
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Starts a section: magic number and file version.
    SectionHeader,
    /// The machine the capture was made on.
    MachineInfo,
    /// A list of processes, descriptors, interfaces or users.
    List(ListKind),
    /// One event.
    Event {
        /// The event header says how many parameters there are (block version 2).
        counted: bool,
        /// A 32-bit flags word stands before the event header.
        flagged: bool,
        /// Parameter lengths are 32 bits wide instead of 16.
        wide: bool,
    },
    /// A number this reader does not know; the block is skipped.
    Unknown,
}

/// How many blocks of each kind there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockCounts(Vec<(BlockKind, u64)>);

impl BlockCounts {
    pub(crate) fn add(&mut self, kind: BlockKind, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, sum)) => *sum += count,
            None if count > 0 => self.0.push((kind, count)),
            None => {}
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (BlockKind, u64)> {
        self.0.iter().copied()
    }
}

/// Type number of the section header block; reads `\n\r\r\n` in a file of either byte order.
pub(crate) const SECTION_HEADER: u32 = 0x0A0D_0D0A;
/// Type number of the event block that current writers use, and by far the most common block.
pub(crate) const EVENT_V2: u32 = 0x216;
/// The same for events with 32-bit parameter lengths.
pub(crate) const EVENT_LARGE: u32 = 0x221;
/// Type number of the machine info block.
pub(crate) const MACHINE_INFO: u32 = 0x201;
/// Type number of the process list that current writers use, layout 9.
pub(crate) const PROCESSES_V9: u32 = 0x215;

impl BlockKind {
    /// The kind of block that carries the type number `number`.
    #[must_use]
    pub const fn of(number: u32) -> Self {
        const fn event(counted: bool, flagged: bool, wide: bool) -> BlockKind {
            BlockKind::Event { counted, flagged, wide }
        }
        match number {
            SECTION_HEADER => Self::SectionHeader,
            MACHINE_INFO | 0x8002_ABCD => Self::MachineInfo,
            0x202 | 0x8000_ABCD => Self::List(ListKind::Processes(1)),
            0x207 | 0x8013_ABCD => Self::List(ListKind::Processes(2)),
            0x209 | 0x8014_ABCD => Self::List(ListKind::Processes(3)),
            0x210 => Self::List(ListKind::Processes(4)),
            0x211 => Self::List(ListKind::Processes(5)),
            0x212 => Self::List(ListKind::Processes(6)),
            0x213 => Self::List(ListKind::Processes(7)),
            0x214 => Self::List(ListKind::Processes(8)),
            PROCESSES_V9 => Self::List(ListKind::Processes(9)),
            0x203 | 0x8001_ABCD => Self::List(ListKind::Fds { sized: false }),
            0x218 => Self::List(ListKind::Fds { sized: true }),
            0x205 | 0x8011_ABCD => Self::List(ListKind::Interfaces { sized: false }),
            0x219 => Self::List(ListKind::Interfaces { sized: true }),
            0x206 | 0x8012_ABCD => Self::List(ListKind::Users { sized: false }),
            0x220 => Self::List(ListKind::Users { sized: true }),
            0x204 | 0x8010_ABCD => event(false, false, false),
            0x208 => event(false, true, false),
            EVENT_V2 => event(true, false, false),
            0x217 => event(true, true, false),
            EVENT_LARGE => event(true, false, true),
            0x222 => event(true, true, true),
            _ => Self::Unknown,
        }
    }

    /// A short name for people, such as `event` or `process list V9`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::SectionHeader => "section header".into(),
            Self::MachineInfo => "machine info".into(),
            Self::List(ListKind::Processes(version)) => format!("process list V{version}"),
            Self::List(ListKind::Fds { .. }) => "fd list".into(),
            Self::List(ListKind::Interfaces { .. }) => "interface list".into(),
            Self::List(ListKind::Users { .. }) => "user list".into(),
            Self::Event { counted, flagged, wide } => {
                let version = if counted { "event V2" } else { "event V1" };
                let wide = if wide { ", large" } else { "" };
                let flagged = if flagged { ", with flags" } else { "" };
                format!("{version}{wide}{flagged}")
            }
            Self::Unknown => "unknown".into(),
        }
    }
}
