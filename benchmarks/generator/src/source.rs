//! Reads a capture into the blocks to be replayed, with the places where thread ids stand in them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Read;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use scapfile::{BlockKind, Capture, Event, Item, ListKind, schema};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Type and length in front of a block's body.
pub const BLOCK_HEADER: usize = 8;
/// Where an event block of version 2 has its CPU, timestamp, thread and parameter lengths.
pub const CPU: usize = BLOCK_HEADER;
pub const TIMESTAMP: usize = CPU + 2;
pub const TID: usize = TIMESTAMP + 8;
const LENGTHS: usize = TID + 8 + 4 + 2 + 4;

/// Parameters that hold a thread or process id of the host's namespace (`PT_PID` in the event table).
const ID_PARAMS: [&str; 10] = ["tid", "pid", "ptid", "spid", "dpid", "next", "pgid", "vpgid", "reaper_tid", "res"];
/// The same in the thread's own namespace, and the host's id they equal where there is none.
const NAMESPACE_IDS: [(&str, &str); 2] = [("vtid", "tid"), ("vpid", "pid")];

/// A place in a block where a thread id stands, and whose.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub at: u32,
    /// Index into [`Source::threads`].
    pub thread: u32,
}

#[derive(Debug)]
pub struct Template {
    pub block: Range<usize>,
    pub places: Range<usize>,
    /// Nanoseconds since the first event.
    pub after: u64,
    /// Its thread was alive before the capture and dies in it, which cannot happen twice.
    pub once: bool,
}

/// A thread, as the capture numbers it.
#[derive(Debug, Clone, Copy)]
pub struct Thread {
    pub tid: i64,
    /// It is born and dies within the capture: every repetition has another one.
    pub passing: bool,
}

/// A capture to be replayed.
pub struct Source {
    pub bytes: Vec<u8>,
    pub events: Vec<Template>,
    pub places: Vec<Place>,
    pub threads: Vec<Thread>,
    /// Timestamp of the first event.
    pub start: u64,
    /// Nanoseconds from the first event to the last, and a little more: when a repetition may follow.
    pub duration: u64,
    pub machine: Range<usize>,
    /// Interface and user lists.
    pub accounts: Vec<u8>,
    /// Process and fd lists, with the places of thread ids.
    pub tables: Vec<(Range<usize>, Vec<Place>)>,
}

pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn id(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

/// Finds threads and gives them their index.
#[derive(Default)]
struct Threads {
    /// Swapper and "no thread" are nobody's and stay.
    indexes: BTreeMap<i64, u32>,
    born: BTreeSet<i64>,
    died: BTreeSet<i64>,
}

impl Threads {
    fn index(&self, tid: i64) -> Option<u32> {
        self.indexes.get(&tid).copied()
    }

    fn note(&mut self, tid: i64) {
        let next = u32::try_from(self.indexes.len()).unwrap_or(u32::MAX);
        if tid > 0 {
            self.indexes.entry(tid).or_insert(next);
        }
    }

    fn note_event(&mut self, event: &Event<'_>) {
        self.note(event.tid);
        let result = || event.params().ok()?.signed(schema::param_index(event.event_type, "res")?);
        match event.name() {
            "clone" | "clone3" | "fork" | "vfork" if event.is_exit() => match result() {
                Some(0) => _ = self.born.insert(event.tid),
                Some(child) if child > 0 => {
                    self.note(child);
                    self.born.insert(child);
                }
                _ => {}
            },
            "procexit" => _ = self.died.insert(event.tid),
            _ => {}
        }
    }
}

impl Source {
    pub fn read(path: &Path) -> Result<Self> {
        let named = |error: Box<dyn Error>| format!("{}: {error}", path.display());
        Self::try_read(path).map_err(|error| named(error).into())
    }

    fn try_read(path: &Path) -> Result<Self> {
        let mut threads = Threads::default();
        let mut events = Vec::new();
        let mut capture = Capture::open(path)?;
        capture.visit(|item| {
            match item {
                Item::Process(process) => threads.note(process.tid),
                Item::Event(event) => {
                    threads.note_event(&event);
                    events.push((event.timestamp_ns, event.tid, event.event_type));
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        if let Some(damage) = capture.damage() {
            return Err(damage.to_string().into());
        }
        let (start, end) =
            events.first().zip(events.last()).map(|(first, last)| (first.0, last.0)).ok_or("no events")?;

        let bytes = plain(path)?;
        let mut source = Self {
            bytes: Vec::new(),
            events: Vec::with_capacity(events.len()),
            places: Vec::new(),
            threads: vec![Thread { tid: 0, passing: false }; threads.indexes.len()],
            start,
            duration: end - start + (end - start) / events.len() as u64,
            machine: 0..0,
            accounts: Vec::new(),
            tables: Vec::new(),
        };
        for (tid, index) in &threads.indexes {
            let passing = threads.born.contains(tid) && threads.died.contains(tid);
            source.threads[*index as usize] = Thread { tid: *tid, passing };
        }
        let mut events = events.into_iter();
        let mut at = 0;
        while at < bytes.len() {
            let range = at..at + word(&bytes, at + 4) as usize;
            at = range.end;
            let block = &bytes[range.clone()];
            match BlockKind::of(word(block, 0)) {
                BlockKind::MachineInfo => source.machine = range,
                BlockKind::List(ListKind::Interfaces { .. } | ListKind::Users { .. }) => source.accounts.extend(block),
                BlockKind::List(ListKind::Processes(9)) => {
                    let places = process_places(block, &threads).ok_or("a process list that cannot be read")?;
                    source.tables.push((range, places));
                }
                BlockKind::List(ListKind::Fds { sized: true }) => {
                    let place = threads.index(id(block, BLOCK_HEADER)).map(|thread| Place { at: 8, thread });
                    source.tables.push((range, place.into_iter().collect()));
                }
                BlockKind::Event { counted: true, flagged: false, wide } => {
                    let (timestamp, tid, event_type) = events.next().ok_or("an event too many")?;
                    let first = source.places.len();
                    source.places.extend(place(block, TID, &threads));
                    // Large events (metadata, plugins) have no thread ids for parameters.
                    if !wide {
                        source.places.extend(param_places(block, event_type, &threads));
                    }
                    source.events.push(Template {
                        block: range,
                        places: first..source.places.len(),
                        after: timestamp.checked_sub(start).ok_or("an event before the first")?,
                        once: threads.died.contains(&tid) && !threads.born.contains(&tid),
                    });
                }
                BlockKind::SectionHeader => {}
                other => return Err(format!("a block that the generator does not replay: {}", other.name()).into()),
            }
        }
        source.bytes = bytes;
        Ok(source)
    }
}

/// The uncompressed bytes of a capture.
fn plain(path: &Path) -> Result<Vec<u8>> {
    let stored = std::fs::read(path)?;
    if !stored.starts_with(&[0x1f, 0x8b]) {
        return Ok(stored);
    }
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(stored.as_slice()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn place(block: &[u8], at: usize, threads: &Threads) -> Option<Place> {
    Some(Place { at: u32::try_from(at).ok()?, thread: threads.index(id(block, at))? })
}

/// Where thread ids stand among the parameters of an event.
fn param_places(block: &[u8], event_type: u16, threads: &Threads) -> Vec<Place> {
    let mut places = Vec::new();
    let count = word(block, LENGTHS - 4) as usize;
    let mut at = LENGTHS + 2 * count;
    // The 8-byte parameters, where they stand.
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, name) in schema::params(event_type).iter().take(count).enumerate() {
        let length = usize::from(u16::from_le_bytes([block[LENGTHS + 2 * index], block[LENGTHS + 2 * index + 1]]));
        if length == 8 {
            numbers.insert(name, at);
        }
        at += length;
    }
    // `res` is an id only where a child is born.
    let birth = matches!(schema::name(event_type), "clone" | "clone3" | "fork" | "vfork");
    for name in ID_PARAMS.iter().filter(|name| **name != "res" || birth) {
        places.extend(numbers.get(name).and_then(|at| place(block, *at, threads)));
    }
    for (own, host) in NAMESPACE_IDS {
        if let (Some(own), Some(host)) = (numbers.get(own), numbers.get(host))
            && id(block, *own) == id(block, *host)
        {
            places.extend(place(block, *own, threads));
        }
    }
    places
}

/// Where thread ids stand in a process list of layout 9 (`docs/scap-format.md`).
fn process_places(block: &[u8], threads: &Threads) -> Option<Vec<Place>> {
    let mut places = Vec::new();
    let end = block.len() - 4;
    let mut entry = BLOCK_HEADER;
    while entry + 4 <= end {
        let next = entry + word(block, entry) as usize;
        let (tid, pid) = (entry + 4, entry + 12);
        // Thread, process, parent, session, process group.
        places.extend((0..5).filter_map(|field| place(block, tid + 8 * field, threads)));
        let mut at = tid + 40;
        let string = |at: &mut usize| {
            let length = block.get(*at..*at + 2)?;
            *at += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
            Some(())
        };
        for _comm_exe_path_args_cwd in 0..5 {
            string(&mut at)?;
        }
        at += 8 + 12 + 28;
        string(&mut at)?;
        for (own, host) in [(at, tid), (at + 8, pid)] {
            if block.get(own..own + 8)? == &block[host..host + 8] {
                places.extend(place(block, own, threads));
            }
        }
        if next <= entry || next > end {
            return None;
        }
        entry = next;
    }
    Some(places)
}
