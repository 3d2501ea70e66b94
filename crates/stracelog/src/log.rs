//! Puts the conversion under a reader: a log goes in, a capture comes out.

use std::io::{self, Read};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use crate::convert::Converter;
use crate::sniff;

/// No line is longer; strace writes at most a few KiB unless it is asked for more (`-s`).
const MAX_LINE: usize = 1 << 20;
/// Bytes read at a time.
const PIECE: usize = 64 << 10;
/// Damaged lines whose numbers are kept.
const NUMBERED: usize = 8;

/// What a log was like, apart from its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines read.
    pub lines: u64,
    /// Lines that are not strace's, or that contradict themselves, and are left out.
    pub damaged_lines: u64,
    /// The numbers of the first of them, from 1.
    pub first_damaged: Vec<u64>,
    /// Whether the log says which day it was (`-ttt`). If not, its times count from the epoch's first day.
    pub dated: bool,
    /// Whether it says only how long after one another its lines were written (`-r`).
    pub relative: bool,
}

impl Tally {
    pub(crate) fn damaged(&mut self, line: u64) {
        self.damaged_lines += 1;
        if self.first_damaged.len() < NUMBERED {
            self.first_damaged.push(line);
        }
    }
}

/// The tally of a log that is being read, also from another thread.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Mutex<Tally>>);

impl Log {
    /// What was counted so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads a log as the capture that it amounts to.
pub struct Reader<R> {
    input: R,
    converter: Converter,
    log: Log,
    /// The beginning of a line.
    line: Vec<u8>,
    /// The line is too long and is passed over.
    passing: bool,
    piece: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads `input` from its beginning, of which `start` is known to be the first bytes, and taken off it.
    pub fn new(start: &[u8], input: R) -> Self {
        let mut converter = Converter::new(sniff::main_thread(start));
        let (line, passing) = (Vec::new(), false);
        converter.out.reserve(PIECE);
        let mut reader = Self {
            input,
            converter,
            log: Log::default(),
            line,
            passing,
            piece: vec![0; PIECE],
            given: 0,
            ended: false,
        };
        reader.feed(start);
        reader
    }

    /// What is counted while this is read.
    #[must_use]
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    fn feed(&mut self, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.feed_part(&piece[..end]);
            self.end_line();
            piece = &piece[end + 1..];
        }
        self.feed_part(piece);
        self.log.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.converter.tally);
    }

    fn feed_part(&mut self, part: &[u8]) {
        if self.passing || self.line.len() + part.len() > MAX_LINE {
            self.passing = true;
        } else {
            self.line.extend_from_slice(part);
        }
    }

    fn end_line(&mut self) {
        if mem::take(&mut self.passing) {
            self.converter.overlong_line();
        } else {
            self.converter.line(self.line.strip_suffix(b"\r").unwrap_or(&self.line));
        }
        self.line.clear();
    }

    fn end(&mut self) {
        if !self.line.is_empty() || self.passing {
            self.end_line();
        }
        self.converter.end();
        self.feed(b"");
        self.ended = true;
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.converter.out.len() && !self.ended {
            self.converter.out.clear();
            self.given = 0;
            let mut piece = mem::take(&mut self.piece);
            let read = self.input.read(&mut piece);
            match read {
                Ok(0) => self.end(),
                Ok(count) => self.feed(&piece[..count]),
                Err(_) => {}
            }
            self.piece = piece;
            read?;
        }
        let waiting = &self.converter.out[self.given..];
        let count = waiting.len().min(into.len());
        into[..count].copy_from_slice(&waiting[..count]);
        self.given += count;
        Ok(count)
    }
}
