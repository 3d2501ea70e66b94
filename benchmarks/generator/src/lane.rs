//! Replays one capture again and again, with threads and times of its own.

use std::error::Error;

use crate::source::{self, Place, Source, Template};

/// Lanes have the threads of their capture this far apart.
const LANE_TIDS: i64 = 4000;
/// From here on threads are numbered that are born, up to the largest pid of Linux (`PID_MAX_LIMIT`).
const FIRST_BORN: i64 = 100_000;
const LAST_BORN: i64 = (1 << 22) - 1;
/// Processors of the machine that the captures were recorded on.
const CPUS: u16 = 2;

/// Numbers for threads that are born, as a kernel gives them: upwards, then from the start again.
pub struct Ids {
    next: i64,
}

impl Default for Ids {
    fn default() -> Self {
        Self { next: FIRST_BORN }
    }
}

impl Ids {
    fn take(&mut self) -> i64 {
        let id = self.next;
        self.next = if id == LAST_BORN { FIRST_BORN } else { id + 1 };
        id
    }
}

/// A capture that is replayed.
pub struct Lane<'a> {
    source: &'a Source,
    number: u16,
    /// When the current repetition began.
    start: u64,
    repetition: u64,
    next: usize,
    /// What the source's threads are called in this repetition.
    tids: Vec<i64>,
}

impl<'a> Lane<'a> {
    pub fn new(source: &'a Source, number: usize, start: u64, ids: &mut Ids) -> Result<Self, Box<dyn Error>> {
        let number = u16::try_from(number)?;
        let mut lane = Self { source, number, start, repetition: 0, next: 0, tids: Vec::new() };
        for thread in &source.threads {
            if thread.tid >= LANE_TIDS {
                return Err(format!("thread {} is out of the generator's range", thread.tid).into());
            }
            lane.tids.push(thread.tid + LANE_TIDS * i64::from(number));
        }
        lane.renumber(ids);
        Ok(lane)
    }

    /// Gives new numbers to threads that are born and die in every repetition.
    fn renumber(&mut self, ids: &mut Ids) {
        for (tid, _) in self.tids.iter_mut().zip(&self.source.threads).filter(|(_, thread)| thread.passing) {
            *tid = ids.take();
        }
    }

    pub fn source(&self) -> &'a Source {
        self.source
    }

    pub fn repetitions(&self) -> u64 {
        self.repetition
    }

    fn template(&self) -> &'a Template {
        &self.source.events[self.next]
    }

    pub fn next_timestamp(&self) -> u64 {
        self.start + self.template().after
    }

    fn rename(&self, block: &mut [u8], places: &[Place]) {
        for place in places {
            let at = place.at as usize;
            block[at..at + 8].copy_from_slice(&self.tids[place.thread as usize].to_le_bytes());
        }
    }

    /// Puts the next event into `block`; `false`: it is left out of this repetition.
    pub fn write_next(&mut self, block: &mut Vec<u8>, ids: &mut Ids) -> bool {
        let template = self.template();
        let written = !(template.once && self.repetition > 0);
        if written {
            block.clear();
            block.extend_from_slice(&self.source.bytes[template.block.clone()]);
            let cpu = u16::from_le_bytes([block[source::CPU], block[source::CPU + 1]]) % CPUS + CPUS * self.number;
            block[source::CPU..source::CPU + 2].copy_from_slice(&cpu.to_le_bytes());
            block[source::TIMESTAMP..source::TIMESTAMP + 8].copy_from_slice(&self.next_timestamp().to_le_bytes());
            self.rename(block, &self.source.places[template.places.clone()]);
        }
        self.next += 1;
        if self.next == self.source.events.len() {
            self.next = 0;
            self.repetition += 1;
            self.start += self.source.duration;
            self.renumber(ids);
        }
        written
    }

    /// The machine info, for so many lanes.
    pub fn machine(&self, lanes: usize) -> Vec<u8> {
        let mut block = self.source.bytes[self.source.machine.clone()].to_vec();
        let cpus = u32::try_from(lanes).unwrap_or(u32::MAX) * u32::from(CPUS);
        block[source::BLOCK_HEADER..source::BLOCK_HEADER + 4].copy_from_slice(&cpus.to_le_bytes());
        block
    }

    /// Process and fd lists.
    pub fn tables(&self) -> Vec<u8> {
        let mut blocks = Vec::new();
        for (range, places) in &self.source.tables {
            let mut block = self.source.bytes[range.clone()].to_vec();
            self.rename(&mut block, places);
            blocks.extend(block);
        }
        blocks
    }
}
