//! Turns a window of bytes into the item at its start, or says that more bytes are needed.
//!
//! No I/O happens here and no byte is copied. A length is used only after it was checked against
//! the window, and a block counts only once the length at its end repeats the one at its start.

use crate::block::{BlockCounts, BlockKind, EVENT_V2, ListKind};
use crate::cursor::Cursor;
use crate::damage::Damage;
use crate::event::{Event, Layout};
use crate::lists::{
    self, Entry, EntryError, FdEntry, GroupEntry, InterfaceEntry, MachineInfo, ProcessEntry, UserEntry,
};

/// Type and length in front of a block's body.
const BLOCK_HEADER: usize = 8;
/// Header and the repeated length behind the body.
const BLOCK_FRAME: usize = BLOCK_HEADER + 4;
/// No event with 16-bit parameter lengths is longer: 64 parameters of 64 KiB.
pub(crate) const MAX_EVENT: usize = 4 << 20;
/// An event with 32-bit parameter lengths may be longer, but is passed over beyond this.
pub(crate) const MAX_WIDE_EVENT: usize = 16 << 20;
/// Machine info and section headers are small; options may make them longer.
const MAX_SMALL_BLOCK: usize = 1 << 20;
/// In every section header.
pub(crate) const MAGIC: u32 = 0x1A2B_3C4D;

/// The beginning of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionHeader {
    /// File version; 1 in every known capture.
    pub major: u16,
    /// File version; has stayed 2 since block versions stopped changing.
    pub minor: u16,
}

/// Why a block, or the rest of one, was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// A block type this reader does not know.
    UnknownBlock,
    /// A list block whose next entry contradicts its layout.
    MalformedList,
    /// An event block that cannot hold the event it announces.
    MalformedEvent,
    /// A large event beyond 16 MiB.
    TooLarge,
}

/// What stands in a capture.
#[derive(Debug, Clone)]
pub enum Item<'a> {
    /// The beginning of a section; the first item of every capture.
    Section(SectionHeader),
    /// The machine.
    Machine(MachineInfo),
    /// A thread alive at the beginning.
    Process(ProcessEntry<'a>),
    /// A file descriptor open at the beginning.
    Fd(FdEntry<'a>),
    /// A network interface.
    Interface(InterfaceEntry<'a>),
    /// A user account.
    User(UserEntry<'a>),
    /// A group.
    Group(GroupEntry<'a>),
    /// An event.
    Event(Event<'a>),
    /// Something passed over: the block's type number and why.
    Skipped(u32, SkipReason),
}

/// What [`Parser::next`] made of a window.
#[derive(Debug, Clone)]
pub enum Progress<'a> {
    /// An item; the parser has moved past `consumed` bytes.
    Item {
        /// The item.
        item: Item<'a>,
        /// Bytes to take off the front of the window; 0 only for [`SkipReason::MalformedList`].
        consumed: usize,
    },
    /// No item, but so many bytes, at least one, can be taken off the front of the window.
    Consumed(usize),
    /// The window ends within something; call again with more behind it. Never asked for at the end,
    /// nor with 16 MiB at hand.
    NeedMore,
    /// The capture ended where a capture may end.
    End,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// At the start of a block.
    Block,
    /// Within a list block.
    List(Frame, ListKind, Owner),
    /// Within a part of a block that is passed over.
    Skipping(Frame),
}

/// The thread whose descriptors an fd list has.
type Owner = i64;

/// A block that is read piece by piece.
#[derive(Debug, Clone, Copy)]
struct Frame {
    number: u32,
    /// Length of the block, as it says at its start.
    total: u32,
    /// Where it starts.
    start: u64,
    /// Bytes of its body that are still to come.
    left: usize,
}

/// Reads a capture from successive windows of its bytes.
#[derive(Debug)]
pub struct Parser {
    state: State,
    offset: u64,
    events: u64,
    in_section: bool,
    /// All blocks but those that went through [`Parser::common_event`].
    uncommon: BlockCounts,
}

impl Default for Parser {
    fn default() -> Self {
        Self { state: State::Block, offset: 0, events: 0, in_section: false, uncommon: BlockCounts::default() }
    }
}

impl Parser {
    /// Bytes of the uncompressed stream read so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Event blocks read so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Blocks begun so far, by kind, in the order of their first appearance.
    #[must_use]
    pub fn blocks(&self) -> Vec<(BlockKind, u64)> {
        let mut blocks = self.uncommon.clone();
        let is_event = |kind: &BlockKind| matches!(kind, BlockKind::Event { .. });
        let uncommon_events: u64 = blocks.iter().filter(|(kind, _)| is_event(kind)).map(|(_, count)| count).sum();
        blocks.add(BlockKind::of(EVENT_V2), self.events.saturating_sub(uncommon_events));
        blocks.iter().collect()
    }

    /// Reads what stands at the start of `window`.
    ///
    /// `at_end`: nothing follows the window.
    ///
    /// # Errors
    /// [`Damage`] if the bytes contradict the format, or end within something. There is nothing to
    /// be read after that.
    #[inline]
    pub fn next<'a>(&mut self, window: &'a [u8], at_end: bool) -> Result<Progress<'a>, Damage> {
        if let Some((event, consumed)) = self.common_event(window) {
            return Ok(Progress::Item { item: Item::Event(event), consumed });
        }
        self.anything(window, at_end)
    }

    /// The one case that nearly every block is: a whole, sound event of the current block version.
    /// Answers the event and its block's length.
    #[inline]
    pub(crate) fn common_event<'a>(&mut self, window: &'a [u8]) -> Option<(Event<'a>, usize)> {
        if !matches!(self.state, State::Block) || !self.in_section {
            return None;
        }
        // Fixed places in a window that was measured once: a check per field would double the time.
        let (number, rest) = window.split_first_chunk()?;
        let (length, _) = rest.split_first_chunk()?;
        let total = u32::from_le_bytes(*length) as usize;
        if u32::from_le_bytes(*number) != EVENT_V2 || total > MAX_EVENT {
            return None;
        }
        let (block, trailer) = window.get(..total)?.split_last_chunk()?;
        if trailer != length {
            return None;
        }
        let event = Event::read_v2(block.get(BLOCK_HEADER..)?, self.events + 1)?;
        self.events += 1;
        self.offset += total as u64;
        Some((event, total))
    }

    #[inline(never)]
    fn anything<'a>(&mut self, window: &'a [u8], at_end: bool) -> Result<Progress<'a>, Damage> {
        match self.state {
            State::Block => {
                let start = self.offset;
                let progress = self.block(window, at_end)?;
                if self.offset > start
                    && let Some(number) = Cursor::new(window).u32()
                {
                    self.uncommon.add(BlockKind::of(number), 1);
                }
                Ok(progress)
            }
            // What is left is padding.
            State::List(frame, ..) if frame.left < 4 => self.skip(window, at_end, frame),
            State::List(frame, kind, owner) => self.entry(window, at_end, frame, kind, owner),
            State::Skipping(frame) => self.skip(window, at_end, frame),
        }
    }

    fn block<'a>(&mut self, window: &'a [u8], at_end: bool) -> Result<Progress<'a>, Damage> {
        let start = self.offset;
        let mut header = Cursor::new(window);
        let (Some(number), Some(total)) = (header.u32(), header.u32()) else {
            return match (at_end, window.len()) {
                (false, _) => Ok(Progress::NeedMore),
                (true, 0) if self.in_section => Ok(Progress::End),
                (true, left) => Err(Damage::cut_off(start, "a block header (8 bytes)", format!("{left} bytes"))),
            };
        };
        let kind = BlockKind::of(number);
        let named = describe(kind, number);
        if !self.in_section && kind != BlockKind::SectionHeader {
            return Err(Damage::corrupt(start, "a section header", named));
        }
        let size = total as usize;
        if size < BLOCK_FRAME {
            return Err(Damage::corrupt(
                start,
                format!("a block length of at least {BLOCK_FRAME}"),
                format!("{named} of {size} bytes"),
            ));
        }
        let body = size - BLOCK_FRAME;
        let frame = Frame { number, total, start, left: body };
        if let BlockKind::List(list) = kind {
            return self.begin_list(header, window.len(), at_end, frame, list);
        }
        let (most, beyond) = match kind {
            BlockKind::Event { wide: true, .. } => (MAX_WIDE_EVENT, Some(SkipReason::TooLarge)),
            BlockKind::Event { .. } => (MAX_EVENT, None),
            BlockKind::SectionHeader | BlockKind::MachineInfo => (MAX_SMALL_BLOCK, None),
            BlockKind::List(_) | BlockKind::Unknown => (0, Some(SkipReason::UnknownBlock)),
        };
        if size > most {
            let Some(reason) = beyond else {
                return Err(Damage::corrupt(
                    start,
                    format!("{named} of at most {most} bytes"),
                    format!("a length of {size}"),
                ));
            };
            self.state = State::Skipping(frame);
            self.offset += BLOCK_HEADER as u64;
            return Ok(Progress::Item { item: Item::Skipped(number, reason), consumed: BLOCK_HEADER });
        }
        let Some(content) = header.bytes(body) else {
            return self.more(at_end, frame, window.len());
        };
        match header.u32() {
            None => return self.more(at_end, frame, window.len()),
            Some(trailer) if trailer != total => return Err(wrong_trailer(start, total, trailer)),
            Some(_) => {}
        }
        let item = self.whole_block(kind, number, content, start)?;
        self.offset += size as u64;
        Ok(Progress::Item { item, consumed: size })
    }

    /// Reads a block whose body is at hand and whose frame is sound.
    fn whole_block<'a>(
        &mut self,
        kind: BlockKind,
        number: u32,
        body: &'a [u8],
        start: u64,
    ) -> Result<Item<'a>, Damage> {
        match kind {
            BlockKind::SectionHeader => {
                let header = section_header(body, start)?;
                self.in_section = true;
                Ok(Item::Section(header))
            }
            BlockKind::MachineInfo => match MachineInfo::read(body) {
                Some(machine) => Ok(Item::Machine(machine)),
                None => {
                    Err(Damage::corrupt(start, "machine info of at least 148 bytes", format!("{} bytes", body.len())))
                }
            },
            BlockKind::Event { counted, flagged, wide } => {
                self.events += 1;
                let event = Event::read(body, Layout { counted, flagged, wide }, self.events);
                Ok(event.map_or(Item::Skipped(number, SkipReason::MalformedEvent), Item::Event))
            }
            BlockKind::List(_) | BlockKind::Unknown => Ok(Item::Skipped(number, SkipReason::UnknownBlock)),
        }
    }

    /// `header`: what follows the block header; `have`: bytes of the block at hand.
    fn begin_list<'a>(
        &mut self,
        mut header: Cursor<'a>,
        have: usize,
        at_end: bool,
        mut frame: Frame,
        kind: ListKind,
    ) -> Result<Progress<'a>, Damage> {
        let mut consumed = BLOCK_HEADER;
        let mut owner = -1;
        if matches!(kind, ListKind::Fds { .. }) && frame.left >= 8 {
            let Some(tid) = header.i64() else { return self.more(at_end, frame, have) };
            owner = tid;
            frame.left -= 8;
            consumed += 8;
        }
        self.state = State::List(frame, kind, owner);
        self.offset += consumed as u64;
        Ok(Progress::Consumed(consumed))
    }

    /// Reads the next entry of the list block the parser is in.
    fn entry<'a>(
        &mut self,
        window: &'a [u8],
        at_end: bool,
        mut frame: Frame,
        kind: ListKind,
        owner: Owner,
    ) -> Result<Progress<'a>, Damage> {
        let bytes = &window[..window.len().min(frame.left)];
        let all_there = bytes.len() == frame.left;
        match lists::read_entry(kind, owner, bytes) {
            Ok((consumed, entry)) => {
                frame.left -= consumed;
                self.state = State::List(frame, kind, owner);
                self.offset += consumed as u64;
                let item = match entry {
                    Entry::Process(process) => Item::Process(process),
                    Entry::Fd(fd) => Item::Fd(fd),
                    Entry::Interface(interface) => Item::Interface(interface),
                    Entry::User(user) => Item::User(user),
                    Entry::Group(group) => Item::Group(group),
                };
                Ok(Progress::Item { item, consumed })
            }
            Err(EntryError::TooShort) if !all_there && bytes.len() <= lists::MAX_ENTRY => {
                if !at_end {
                    return Ok(Progress::NeedMore);
                }
                let (name, start) = (BlockKind::List(kind).name(), frame.start);
                Err(Damage::cut_off(
                    self.offset,
                    format!("an entry of the {name} that began at byte {start}"),
                    format!("the end of the file after {} bytes of it", bytes.len()),
                ))
            }
            Err(EntryError::TooShort | EntryError::Contradiction) => {
                // The frame of the block still holds: go on behind it.
                self.state = State::Skipping(frame);
                Ok(Progress::Item { item: Item::Skipped(frame.number, SkipReason::MalformedList), consumed: 0 })
            }
        }
    }

    /// Passes over the rest of a block, then checks the length at its end.
    fn skip<'a>(&mut self, window: &'a [u8], at_end: bool, mut frame: Frame) -> Result<Progress<'a>, Damage> {
        if let Some((rest, behind)) = window.split_at_checked(frame.left)
            && let Some(trailer) = Cursor::new(behind).u32()
        {
            if trailer != frame.total {
                return Err(wrong_trailer(frame.start, frame.total, trailer));
            }
            if matches!(BlockKind::of(frame.number), BlockKind::Event { .. }) {
                self.events += 1;
            }
            let consumed = rest.len() + 4;
            self.state = State::Block;
            self.offset += consumed as u64;
            return Ok(Progress::Consumed(consumed));
        }
        let now = frame.left.min(window.len());
        if now == 0 {
            let before = usize::try_from(self.offset - frame.start).unwrap_or(usize::MAX);
            return self.more(at_end, frame, before.saturating_add(window.len()));
        }
        frame.left -= now;
        self.state = State::Skipping(frame);
        self.offset += now as u64;
        Ok(Progress::Consumed(now))
    }

    /// Asks for more of a block of which `have` bytes have come, or says that the bytes end within it.
    fn more<'a>(&self, at_end: bool, frame: Frame, have: usize) -> Result<Progress<'a>, Damage> {
        if !at_end {
            return Ok(Progress::NeedMore);
        }
        let kind = BlockKind::of(frame.number);
        let expected = format!("{} of {} bytes", describe(kind, frame.number), frame.total);
        let found = format!("the end of the file after {have} of them");
        Err(match kind {
            // Nothing says that an unknown number is a block at all.
            BlockKind::Unknown => Damage::corrupt(frame.start, expected, found),
            _ => Damage::cut_off(frame.start, expected, found),
        })
    }
}

fn describe(kind: BlockKind, number: u32) -> String {
    match kind {
        BlockKind::Unknown => format!("a block of unknown type 0x{number:X}"),
        known => format!("a block of type 0x{number:X} ({})", known.name()),
    }
}

fn wrong_trailer(block: u64, total: u32, trailer: u32) -> Damage {
    Damage::corrupt(block, format!("the block's length, {total}, again at its end"), format!("{trailer}"))
}

fn section_header(body: &[u8], start: u64) -> Result<SectionHeader, Damage> {
    let mut body = Cursor::new(body);
    let mut read = || Some((body.u32()?, body.u16()?, body.u16()?, body.u64()?));
    let Some((magic, major, minor, _section_length)) = read() else {
        return Err(Damage::corrupt(start, "a section header of at least 16 bytes", "a shorter one"));
    };
    if magic != MAGIC {
        return Err(Damage::corrupt(start, format!("the magic number 0x{MAGIC:08X}"), format!("0x{magic:08X}")));
    }
    if major > 1 {
        return Err(Damage::corrupt(
            start,
            "file version 1",
            format!("version {major}.{minor}, which this program cannot read"),
        ));
    }
    Ok(SectionHeader { major, minor })
}
