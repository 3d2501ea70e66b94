//! Turns a path or a stream into the items of the capture in it.

use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use crate::block::BlockKind;
use crate::damage::Damage;
use crate::gzip;
use crate::parser::{Item, Parser, Progress};
use crate::sniff;
use crate::source::Stream;

/// Why a capture could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Something else than a capture.
    #[error("not a capture but {0}")]
    Foreign(String),
    /// A gzip stream that yields nothing at all.
    #[error("a gzip stream that is damaged from its first bytes on ({0})")]
    Gzip(io::Error),
}

/// How far [`Capture::visit`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// There is more; the visitor asked to stop.
    Paused,
    /// There is no more: see [`Capture::damage`] for whether the end is a proper one.
    Ended,
}

/// Why [`Capture::visit`] stopped working on a window.
enum Outcome {
    Paused,
    NeedMore,
    Ended(Option<Damage>),
}

/// A capture that is being read, once, from its beginning to its end.
pub struct Capture {
    parser: Parser,
    stream: Stream,
    compressed: bool,
    size: Option<u64>,
    damage: Option<Damage>,
    ended: bool,
}

impl Capture {
    /// Opens a capture file, gzipped or plain.
    ///
    /// # Errors
    /// [`OpenError`]: the file cannot be read or is something else, which is named.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        let size = metadata.is_file().then_some(metadata.len());
        Self::read(file, size)
    }

    /// Reads a capture, gzipped or plain, from any stream; `size`: its length in bytes, if known.
    ///
    /// # Errors
    /// [`OpenError`]: the stream cannot be read or is something else, which is named.
    pub fn read(mut input: impl Read + Send + 'static, size: Option<u64>) -> Result<Self, OpenError> {
        let mut start = Vec::new();
        input.by_ref().take(gzip::MAGIC.len() as u64).read_to_end(&mut start)?;
        let compressed = start == gzip::MAGIC;
        let mut stream = Stream::start(io::Cursor::new(start).chain(input), compressed)?;
        while stream.window().len() < sniff::SNIFF_LENGTH && !stream.ended() {
            stream.grow();
        }
        if stream.window().is_empty()
            && let Some(error) = stream.failure()
        {
            let error = io::Error::new(error.kind(), error.to_string());
            return Err(if compressed { OpenError::Gzip(error) } else { OpenError::Io(error) });
        }
        let start = &stream.window()[..stream.window().len().min(sniff::SNIFF_LENGTH)];
        if let Some(what) = sniff::foreign(start) {
            let inside = if compressed { ", inside gzip" } else { "" };
            return Err(OpenError::Foreign(what + inside));
        }
        Ok(Self { parser: Parser::default(), stream, compressed, size, damage: None, ended: false })
    }

    /// Hands items to `visitor` in order until it breaks or the capture ends.
    #[inline]
    pub fn visit(&mut self, mut visitor: impl FnMut(Item<'_>) -> ControlFlow<()>) -> Visit {
        while !self.ended {
            // Where the stream failed, nothing says that the capture ends there.
            let at_end = self.stream.ended() && self.stream.failure().is_none();
            let window = self.stream.window();
            let mut taken = 0;
            let outcome = loop {
                // Kept apart from the other items: built and taken apart at once, an event in
                // the loop's own registers costs half of one that is passed on as an item.
                if let Some((event, consumed)) = self.parser.common_event(&window[taken..]) {
                    taken += consumed;
                    if visitor(Item::Event(event)).is_break() {
                        break Outcome::Paused;
                    }
                    continue;
                }
                match self.parser.next(&window[taken..], at_end) {
                    Ok(Progress::Item { item, consumed }) => {
                        taken += consumed;
                        if visitor(item).is_break() {
                            break Outcome::Paused;
                        }
                    }
                    Ok(Progress::Consumed(consumed)) => taken += consumed,
                    Ok(Progress::NeedMore) => break Outcome::NeedMore,
                    Ok(Progress::End) => break Outcome::Ended(None),
                    Err(damage) => break Outcome::Ended(Some(damage)),
                }
            };
            self.stream.consume(taken);
            match outcome {
                Outcome::Paused => return Visit::Paused,
                Outcome::NeedMore if self.stream.ended() => self.end(self.stream_damage()),
                Outcome::NeedMore => self.stream.grow(),
                Outcome::Ended(damage) => self.end(damage),
            }
        }
        Visit::Ended
    }

    fn end(&mut self, damage: Option<Damage>) {
        self.damage = damage;
        self.ended = true;
    }

    /// A stream that failed: what is damaged is not the capture but what it came in.
    fn stream_damage(&self) -> Option<Damage> {
        let error = self.stream.failure()?;
        let offset = self.parser.offset() + self.stream.window().len() as u64;
        let expected = if self.compressed { "sound gzip data" } else { "more data" };
        Some(match error.kind() {
            io::ErrorKind::UnexpectedEof => Damage::cut_off(offset, "more gzip data", "the end of the file"),
            _ => Damage::corrupt(offset, expected, error.to_string()),
        })
    }

    /// Why reading ended before a proper end, if it did.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Whether the capture is gzipped.
    #[must_use]
    pub fn compressed(&self) -> bool {
        self.compressed
    }

    /// Size of the file in bytes, as stored; `None` for a stream.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Bytes of the uncompressed capture read so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.parser.offset()
    }

    /// Blocks begun so far, by kind, in the order of their first appearance.
    #[must_use]
    pub fn blocks(&self) -> Vec<(BlockKind, u64)> {
        self.parser.blocks()
    }

    /// Event blocks read so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.parser.events()
    }
}
