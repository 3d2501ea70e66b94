//! Opens a path or standard input as a capture, and meters how much of it has been read. A log of strace is
//! opened as the capture that it amounts to.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use scapfile::{Capture, OpenError};
use stracelog::table::{self, Table};
use stracelog::{Kept, Log, Tally};

/// Where a capture comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input, written `-`.
    StandardInput,
}

impl Source {
    pub(crate) fn new(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::StandardInput } else { Self::Path(path) }
    }

    /// Opens the capture; `meter` counts what is read of it.
    pub(crate) fn open(&self, meter: &Arc<Meter>) -> Result<Capture, OpenError> {
        match self.open_any(meter)? {
            Opened::Capture(capture) => Ok(capture),
            Opened::Table(_) => Err(no_events_in_table()),
        }
    }

    /// The same where sums are as good as events.
    pub(crate) fn open_any(&self, meter: &Arc<Meter>) -> Result<Opened, OpenError> {
        let file = match self {
            Self::Path(path) => File::open(path)?,
            Self::StandardInput => standard_input()?,
        };
        let metadata = file.metadata()?;
        let size = metadata.is_file().then_some(metadata.len());
        meter.total.store(size.unwrap_or(UNKNOWN), Ordering::Relaxed);
        let mut input = Metered { file, meter: Arc::clone(meter) };
        let mut start = Vec::new();
        // A capture is told by its first bytes, and a slow pipe need not fill up for it.
        input.by_ref().take(CAPTURE_TOLD).read_to_end(&mut start)?;
        if start.first().is_some_and(|byte| byte.is_ascii_graphic() || *byte == b' ') {
            input.by_ref().take(stracelog::SNIFF_LENGTH as u64).read_to_end(&mut start)?;
        }
        match stracelog::recognise(&start) {
            Some(Kept::Log) => {
                let log = stracelog::Reader::new(&start, input);
                meter.set_log(log.log());
                Capture::read(log, size).map(Opened::Capture)
            }
            Some(Kept::Untimed) => Err(OpenError::Foreign(UNTIMED.into())),
            Some(Kept::Table) => {
                let mut text = start;
                input.take(MAX_TABLE).read_to_end(&mut text)?;
                table::parse(&String::from_utf8_lossy(&text)).map(Opened::Table).ok_or_else(no_events_in_table)
            }
            None => Capture::read(io::Cursor::new(start).chain(input), size).map(Opened::Capture),
        }
    }

    /// Whether the same capture can be read again from its beginning.
    pub(crate) fn can_be_reopened(&self, capture: &Capture) -> bool {
        matches!(self, Self::Path(_)) && capture.size().is_some()
    }

    /// As reports name it: the path as it was given.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Path(path) => path.to_string_lossy().into_owned(),
            Self::StandardInput => "-".into(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) if path.as_os_str().is_empty() => f.write_str("an empty path"),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::StandardInput => f.write_str("standard input"),
        }
    }
}

/// The file behind standard input, without the buffer that the standard library puts before it.
fn standard_input() -> io::Result<File> {
    let input = io::stdin();
    if input.is_terminal() {
        return Err(io::Error::other("it is a terminal; give the path of a capture, or pipe one in"));
    }
    Ok(File::from(input.as_fd().try_clone_to_owned()?))
}

const UNKNOWN: u64 = u64::MAX;
/// Bytes by which captures and gzip streams are told from text.
const CAPTURE_TOLD: u64 = 4;
const UNTIMED: &str =
    "a log of strace without times, from which no events can be made (record it with strace -f -tt -T)";
/// What is read of a table of `strace -c`, which has some tens of lines.
const MAX_TABLE: u64 = 1 << 20;

/// What an input turned out to be.
pub(crate) enum Opened {
    /// A capture, or the log of strace that becomes one.
    Capture(Capture),
    /// The table of `strace -c`.
    Table(Table),
}

/// Why a table of `strace -c` is not enough.
pub(crate) fn no_events_in_table() -> OpenError {
    let table = "the table of strace -c, which has sums and no events";
    OpenError::Foreign(format!("{table} (scapscope syscalls shows it; for more record a log with strace -f -tt -T)"))
}

/// How much of an input has been read, and whether anybody still wants more of it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    read: AtomicU64,
    total: AtomicU64,
    stopped: AtomicBool,
    log: Mutex<Option<Log>>,
}

impl Meter {
    fn set_log(&self, log: Log) {
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(log);
    }

    /// What the log is like, if the input is one.
    pub(crate) fn log(&self) -> Option<Tally> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Log::tally)
    }

    /// Bytes read so far, as stored (a gzip stream is not unpacked here).
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes there are, if known.
    pub(crate) fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|total| *total != UNKNOWN)
    }

    /// Ends the input at the next read, so that whoever works on it comes to an end.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

struct Metered {
    file: File,
    meter: Arc<Meter>,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.meter.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        let count = self.file.read(buffer)?;
        self.meter.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
