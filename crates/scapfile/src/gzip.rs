//! Turns a gzip stream of any number of members into the bytes within, and judges what follows them.
//!
//! Not with flate2's own readers: where data are damaged, these keep back what the same call has
//! already decompressed, up to a whole buffer of sound events.

use std::io::{self, BufRead, Read};

use flate2::{Decompress, FlushDecompress, Status};

/// The two bytes that every gzip member begins with (RFC 1952, section 2.3.1).
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The largest window of deflate, 32 KiB, as a power of two.
const WINDOW_BITS: u8 = 15;

/// Reads one member after the other, as `gzip -d` does.
///
/// Zeros behind the last member are padding (tapes, block devices) and pass. Anything else is an
/// error, after everything before it was handed out: a member whose first byte was damaged must not
/// pass for the end of the capture.
pub(crate) struct Members<R> {
    input: R,
    at: At,
}

enum At {
    /// Within a member, its header and checksum included.
    Member(Decompress),
    /// Behind a member.
    Between,
    End,
    /// What was wrong, to be said at the next read.
    Failed(io::Error),
}

impl<R: BufRead> Members<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, at: At::Member(Decompress::new_gzip(WINDOW_BITS)) }
    }

    /// What follows a member: another one, or nothing.
    fn next_member(&mut self) -> io::Result<At> {
        loop {
            let bytes = self.input.fill_buf()?;
            match bytes.first() {
                None => return Ok(At::End),
                Some(first) if *first == MAGIC[0] => return Ok(At::Member(Decompress::new_gzip(WINDOW_BITS))),
                Some(_) if bytes.iter().all(|byte| *byte == 0) => {
                    let padding = bytes.len();
                    self.input.consume(padding);
                }
                Some(_) => return Err(corrupt("other bytes after the end of a gzip member")),
            }
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let member = match &mut self.at {
                At::Member(member) => member,
                At::Between => {
                    self.at = self.next_member()?;
                    continue;
                }
                At::End => return Ok(0),
                At::Failed(error) => return Err(std::mem::replace(error, io::ErrorKind::InvalidData.into())),
            };
            let bytes = self.input.fill_buf()?;
            let at_end = bytes.is_empty();
            let before = (member.total_in(), member.total_out());
            let outcome = member.decompress(bytes, into, FlushDecompress::None);
            let taken = member.total_in() - before.0;
            let given = member.total_out() - before.1;
            self.input.consume(usize::try_from(taken).unwrap_or(usize::MAX));
            match outcome {
                Ok(Status::StreamEnd) => self.at = At::Between,
                Ok(_) if at_end && given == 0 => self.at = At::Failed(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) => {
                    self.at = At::Failed(corrupt(error.message().unwrap_or("data that cannot be decompressed")))
                }
            }
            if given > 0 {
                return Ok(usize::try_from(given).unwrap_or(usize::MAX));
            }
        }
    }
}

fn corrupt(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn member(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let mut content = Vec::new();
        let error = Members::new(bytes).read_to_end(&mut content).err();
        (content, error)
    }

    #[test]
    fn members_follow_each_other_and_may_be_empty() {
        let stream = [member(b"one "), member(b""), member(b""), member(b"two")].concat();
        let (content, error) = read(&stream);
        assert_eq!((content.as_slice(), error.is_none()), (&b"one two"[..], true));
    }

    #[test]
    fn zeros_behind_the_last_member_are_padding() {
        let (content, error) = read(&[member(b"one"), vec![0; 100_000]].concat());
        assert_eq!((content.as_slice(), error.is_none()), (&b"one"[..], true));
    }

    #[test]
    fn other_bytes_behind_a_member_are_an_error_after_its_content() {
        for tail in [&b"tail"[..], &[0, 0, 1], &[0x1f], &[0x1f, 0x8b, 8]] {
            let (content, error) = read(&[member(b"one"), tail.to_vec()].concat());
            assert_eq!(content, b"one");
            assert!(error.is_some(), "{tail:?} was taken for a proper end");
        }
    }

    #[test]
    fn what_was_decompressed_before_the_damage_is_handed_out() {
        let content: Vec<u8> = (0..40_000u32).flat_map(|n| (n * n).to_le_bytes()).collect();
        let sound = member(&content);
        for cut in [sound.len() / 3, sound.len() / 2, sound.len() - 9, sound.len() - 1] {
            let (cut_off, error) = read(&sound[..cut]);
            assert_eq!(error.unwrap().kind(), io::ErrorKind::UnexpectedEof);
            let mut corrupt = sound.clone();
            corrupt[cut..].fill(0xFF);
            let (corrupted, error) = read(&corrupt);
            assert!(error.is_some());
            assert!(content.starts_with(&cut_off) && cut_off.len() * sound.len() > content.len() * cut / 2);
            // Decompressed are a few bytes more at most, which the damage itself makes up.
            assert!(corrupted.starts_with(&cut_off), "cut at {cut}: {} bytes, not {}", corrupted.len(), cut_off.len());
        }
    }

    #[test]
    fn a_checksum_that_does_not_match_is_an_error_after_the_content() {
        let mut stream = member(b"content");
        let checksum = stream.len() - 8;
        stream[checksum] ^= 1;
        let (content, error) = read(&stream);
        assert_eq!(content, b"content");
        assert_eq!(error.unwrap().to_string(), "incorrect data check");
    }
}
