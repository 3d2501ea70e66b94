//! Puts bytes from a file, a gzip stream or standard input in front of the parser, as windows.
//!
//! A second thread reads and decompresses, a few pieces ahead at most. Files are read, not mapped:
//! a mapped file that shrinks while it is read ends the process with SIGBUS, and the second thread
//! makes up for the copy (see `docs/scap-format.md`, "Reading").

use std::io::{self, BufReader, Read};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::gzip;

/// Bytes read or decompressed at a time.
const CHUNK: usize = 1024 * 1024;
/// Room in front of each piece for what the parser has left of the piece before, most often a part
/// of one event: so the rest moves, not the piece.
const FRONT: usize = 64 * 1024;
/// Pieces that may wait between the two threads: what bounds the memory.
const WAITING: usize = 4;

/// `FRONT` bytes of room, then up to `CHUNK` bytes of the uncompressed stream; no bytes: its end.
type Piece = Vec<u8>;

/// Bytes that come in pieces from another thread.
pub(crate) struct Stream {
    pieces: Receiver<io::Result<Piece>>,
    /// Takes pieces back to be filled again.
    empties: SyncSender<Piece>,
    buffer: Vec<u8>,
    /// Bytes at the start of `buffer` that are not part of the window.
    consumed: usize,
    ended: bool,
    failure: Option<io::Error>,
}

impl Stream {
    /// Reads `input` on a second thread, through a gzip decoder if `gzip`.
    pub(crate) fn start(input: impl Read + Send + 'static, gzip: bool) -> io::Result<Self> {
        let (to_us, pieces) = sync_channel(WAITING);
        let (empties, to_thread) = sync_channel(WAITING);
        thread::Builder::new().name("scapfile-read".into()).spawn(move || {
            if gzip {
                pump(gzip::Members::new(BufReader::with_capacity(CHUNK, input)), &to_us, &to_thread);
            } else {
                pump(input, &to_us, &to_thread);
            }
        })?;
        Ok(Self { pieces, empties, buffer: Vec::new(), consumed: 0, ended: false, failure: None })
    }

    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.consumed..]
    }

    /// Whether nothing will come behind the window.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Why the stream ended early, if it did.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Takes `count` bytes off the front of the window.
    pub(crate) fn consume(&mut self, count: usize) {
        self.consumed += count;
    }

    /// Puts the next piece behind the window, or finds that the stream has ended.
    pub(crate) fn grow(&mut self) {
        match self.pieces.recv() {
            Ok(Ok(piece)) if piece.len() > FRONT => self.append(piece),
            Ok(Ok(_)) => self.ended = true,
            Ok(Err(error)) => self.fail(error),
            // The thread says when it is done; gone without a word, it has panicked.
            Err(_) => self.fail(io::Error::other("the reading thread has stopped")),
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.failure = Some(error);
        self.ended = true;
    }

    fn append(&mut self, mut piece: Piece) {
        let rest = self.window().len();
        let done = if rest <= FRONT {
            piece[FRONT - rest..FRONT].copy_from_slice(self.window());
            self.consumed = FRONT - rest;
            mem::replace(&mut self.buffer, piece)
        } else {
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
            self.buffer.extend_from_slice(&piece[FRONT..]);
            piece
        };
        // A buffer that has grown for a large event is given back to the system.
        if done.capacity() <= FRONT + CHUNK {
            // No room or no thread any more: then it is not needed.
            _ = self.empties.try_send(done);
        }
    }
}

/// Sends `input` in pieces, then an empty piece or the error that ended it.
fn pump(mut input: impl Read, to_us: &SyncSender<io::Result<Piece>>, empties: &Receiver<Piece>) {
    loop {
        let mut piece = empties.try_recv().unwrap_or_default();
        piece.resize(FRONT + CHUNK, 0);
        let (filled, outcome) = fill(&mut input, &mut piece[FRONT..]);
        piece.truncate(FRONT + filled);
        // Whatever came before an error is delivered before the error.
        if filled > 0 && to_us.send(Ok(piece)).is_err() {
            return;
        }
        let last = match outcome {
            Ok(()) if filled > 0 => continue,
            Ok(()) => Ok(Piece::new()),
            Err(error) => Err(error),
        };
        // Nobody may be listening any more, and then nobody needs to know.
        _ = to_us.send(last);
        return;
    }
}

/// Reads until `into` is full or `input` ends: how many bytes, and the error that ended it.
fn fill(input: &mut impl Read, into: &mut [u8]) -> (usize, io::Result<()>) {
    let mut filled = 0;
    while filled < into.len() {
        match input.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Err(error)),
        }
    }
    (filled, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbered bytes, so that one that is lost, doubled or moved shows.
    fn numbered(length: usize) -> Vec<u8> {
        (0..length as u64 / 8 + 1).flat_map(u64::to_le_bytes).take(length).collect()
    }

    /// Reads all of it, leaving `keep(n)` bytes in the window before the n-th growth.
    fn read(content: &[u8], keep: impl Fn(usize) -> usize) -> Vec<u8> {
        let mut stream = Stream::start(io::Cursor::new(content.to_vec()), false).unwrap();
        let mut got = Vec::new();
        for round in 0.. {
            let take =
                if stream.ended() { stream.window().len() } else { stream.window().len().saturating_sub(keep(round)) };
            got.extend_from_slice(&stream.window()[..take]);
            stream.consume(take);
            if stream.ended() {
                break;
            }
            stream.grow();
        }
        assert!(stream.failure().is_none());
        got
    }

    #[test]
    fn every_byte_comes_once_whatever_is_left_in_the_window() {
        let content = numbered(5 * CHUNK + 17);
        for keep in [0, 1, FRONT - 1, FRONT, FRONT + 1, CHUNK, 3 * CHUNK, usize::MAX] {
            assert!(read(&content, |_| keep) == content, "leaving {keep} bytes");
        }
        assert!(read(&content, |round| [0, 2 * CHUNK, 5, FRONT + 1][round % 4]) == content);
    }

    #[test]
    fn short_reads_and_interruptions_are_no_end() {
        struct Reluctant(io::Cursor<Vec<u8>>, usize);
        impl Read for Reluctant {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.1 += 1;
                if self.1.is_multiple_of(3) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                let most = into.len().min(1000);
                self.0.read(&mut into[..most])
            }
        }
        let content = numbered(CHUNK + 12_345);
        let mut stream = Stream::start(Reluctant(io::Cursor::new(content.clone()), 0), false).unwrap();
        while !stream.ended() {
            stream.grow();
        }
        assert!(stream.window() == content && stream.failure().is_none());
    }

    #[test]
    fn what_came_before_an_error_is_delivered() {
        struct Failing(usize);
        impl Read for Failing {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 > 3 { Err(io::Error::other("the disk is gone")) } else { Ok(into.len().min(100)) }
            }
        }
        let mut stream = Stream::start(Failing(0), false).unwrap();
        while !stream.ended() {
            stream.grow();
        }
        assert_eq!(stream.window().len(), 300);
        assert_eq!(stream.failure().unwrap().to_string(), "the disk is gone");
    }

    #[test]
    fn a_panic_of_the_thread_is_a_failure_and_no_end() {
        struct Panicking;
        impl Read for Panicking {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                std::panic::resume_unwind(Box::new("quietly"))
            }
        }
        let mut stream = Stream::start(Panicking, false).unwrap();
        stream.grow();
        assert!(stream.ended() && stream.failure().is_some());
    }

    #[test]
    fn a_buffer_that_grew_is_not_kept() {
        let mut stream = Stream::start(io::repeat(7), false).unwrap();
        for _ in 0..3 {
            while stream.window().len() < 16 << 20 {
                stream.grow();
            }
            stream.consume(stream.window().len());
            for _ in 0..2 * WAITING {
                stream.grow();
                stream.consume(stream.window().len());
                assert!(stream.buffer.capacity() <= FRONT + CHUNK, "{} bytes are kept", stream.buffer.capacity());
            }
        }
    }
}
