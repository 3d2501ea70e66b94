//! Reads a log as the capture that it becomes, into values that can be compared.

#![allow(dead_code, reason = "each test file uses a part of this one")]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::ControlFlow;

use scapfile::{Capture, Item, schema};
use stracelog::{Reader, Tally};

/// An event with its parameters by name; what is empty or has no name in the table is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    pub timestamp_ns: u64,
    pub tid: i64,
    pub name: &'static str,
    pub exit: bool,
    pub params: BTreeMap<&'static str, Vec<u8>>,
    /// All parameters, by position.
    pub all: Vec<Vec<u8>>,
}

impl Read {
    pub fn number(&self, name: &str) -> Option<i64> {
        let bytes = self.params.get(name)?;
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        Some(i64::from_le_bytes(wide))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.params.get(name)?).ok()?.strip_suffix('\0')
    }
}

/// What a log became.
#[derive(Debug, Default, PartialEq)]
pub struct Told {
    pub events: Vec<Read>,
    /// Threads told of by a process list: thread, process, parent, name.
    pub threads: Vec<(i64, i64, i64, String)>,
    pub tally: Tally,
}

impl Told {
    /// Calls by name: exit events.
    pub fn calls(&self) -> BTreeMap<&'static str, usize> {
        let mut calls = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.exit) {
            *calls.entry(event.name).or_default() += 1;
        }
        calls
    }

    pub fn of(&self, name: &str) -> Vec<&Read> {
        self.events.iter().filter(|event| event.name == name).collect()
    }
}

/// Reads `log`, handed over in pieces of at most `piece` bytes, of which the first `start` are looked at beforehand.
pub fn read_in_pieces(log: &[u8], start: usize, piece: usize) -> Told {
    struct Pieces(Cursor<Vec<u8>>, usize);
    impl std::io::Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let most = into.len().min(self.1);
            self.0.read(&mut into[..most])
        }
    }
    let (start, rest) = log.split_at(start.min(log.len()));
    let reader = Reader::new(start, Pieces(Cursor::new(rest.to_vec()), piece.max(1)));
    let counted = reader.log();
    let mut capture = Capture::read(reader, None).expect("a capture, whatever the log is");
    let mut told = Told::default();
    capture.visit(|item| {
        match item {
            Item::Event(event) => {
                let params = event.params().expect("sound parameters");
                let all: Vec<Vec<u8>> =
                    (0..event.param_count() as usize).map(|index| params.get(index).unwrap().to_vec()).collect();
                let named = schema::params(event.event_type).iter().map(String::as_str).zip(all.clone());
                told.events.push(Read {
                    timestamp_ns: event.timestamp_ns,
                    tid: event.tid,
                    name: event.name(),
                    exit: event.is_exit(),
                    params: named.filter(|(_, value)| !value.is_empty()).collect(),
                    all,
                });
            }
            Item::Process(process) => {
                let comm = String::from_utf8_lossy(process.comm).into_owned();
                told.threads.push((process.tid, process.pid, process.ppid, comm));
            }
            Item::Section(_) => {}
            other => panic!("{other:?}"),
        }
        ControlFlow::Continue(())
    });
    assert_eq!(capture.damage(), None);
    told.tally = counted.tally();
    told
}

pub fn read(log: &[u8]) -> Told {
    read_in_pieces(log, stracelog::SNIFF_LENGTH, usize::MAX)
}
