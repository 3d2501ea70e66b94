//! Turns a capture into JSON that says what it holds: machine, kernel, events by type, containers.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use diagnosis::{ContainerRef, Diagnosis, KernelMode, Machine};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scapfile::{Event, Item};
use serde::Serialize;

use crate::background;
use crate::error::Failure;
use crate::event::direction;
use crate::input::{Meter, Source};
use crate::summary::CaptureObject;
use scapfile::types::TYPES;

#[derive(Serialize)]
struct Info {
    capture: CaptureObject,
    machine: Option<Machine>,
    kernel: KernelMode,
    events_by_type: Vec<TypeCount>,
    processes: u64,
    threads_seen: u64,
    containers: Vec<ContainerRef>,
    blocks: Vec<BlockCount>,
    drops: u64,
    interfaces: u64,
    users: u64,
    groups: u64,
}

#[derive(Serialize)]
struct TypeCount {
    #[serde(rename = "type")]
    name: &'static str,
    direction: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct BlockCount {
    #[serde(rename = "type")]
    name: String,
    count: u64,
}

/// What the capture at the path `source` ("-": standard input) holds, as a JSON object.
#[pyfunction]
#[pyo3(signature = (source, progress=None))]
pub(crate) fn info<'py>(
    py: Python<'py>,
    source: PathBuf,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    background::json(py, source, progress, read)
}

fn read(source: &Source, meter: &Arc<Meter>) -> Result<Vec<u8>, Failure> {
    let mut capture = source.open(meter)?;
    let mut diagnosis = Diagnosis::default();
    let mut census = Census::default();
    capture.visit(|item| {
        diagnosis.item(&item);
        census.item(&item);
        ControlFlow::Continue(())
    });
    let told = diagnosis.finish(capture.damage());
    let summary = diagnosis.summary();
    let info = Info {
        capture: CaptureObject::new(source, meter, &capture, summary, told.omitted),
        machine: told.machine,
        kernel: told.kernel,
        events_by_type: census.by_type(),
        processes: census.processes,
        threads_seen: census.threads.count(),
        containers: diagnosis.state().containers().all(),
        blocks: capture.blocks().into_iter().map(|(kind, count)| BlockCount { name: kind.name(), count }).collect(),
        drops: summary.drops(),
        interfaces: census.interfaces,
        users: census.users,
        groups: census.groups,
    };
    Ok(serde_json::to_vec(&info)?)
}

/// Running counts that the diagnosis has no use for.
struct Census {
    /// By type key: enter events, exit events.
    by_type: Vec<[u64; 2]>,
    threads: ThreadSet,
    processes: u64,
    interfaces: u64,
    users: u64,
    groups: u64,
}

impl Default for Census {
    fn default() -> Self {
        let by_type = vec![[0; 2]; TYPES.names().len()];
        Self { by_type, threads: ThreadSet::default(), processes: 0, interfaces: 0, users: 0, groups: 0 }
    }
}

impl Census {
    fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Event(event) => self.event(event),
            Item::Process(process) => {
                self.threads.note(process.tid);
                self.processes += u64::from(process.tid == process.pid);
            }
            Item::Interface(_) => self.interfaces += 1,
            Item::User(_) => self.users += 1,
            Item::Group(_) => self.groups += 1,
            _ => {}
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Some(counts) = usize::try_from(TYPES.key(event)).ok().and_then(|key| self.by_type.get_mut(key)) {
            counts[usize::from(event.is_exit())] += 1;
        }
        self.threads.note(event.tid);
    }

    /// The most frequent first.
    fn by_type(&self) -> Vec<TypeCount> {
        let rows = TYPES.names().iter().zip(&self.by_type);
        let mut types: Vec<TypeCount> = rows
            .flat_map(|(name, counts)| [(*name, false, counts[0]), (*name, true, counts[1])])
            .filter(|(_, _, count)| *count > 0)
            .map(|(name, exit, count)| TypeCount { name, direction: direction(exit), count })
            .collect();
        types.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(b.name)));
        types
    }
}

/// The largest number of thread ids a kernel can be set to (`PID_MAX_LIMIT`, linux/threads.h).
const MOST_TIDS: usize = 4 << 20;

/// Thread ids, a bit for each there can be.
struct ThreadSet(Vec<u64>);

impl Default for ThreadSet {
    fn default() -> Self {
        Self(vec![0; MOST_TIDS / 64])
    }
}

impl ThreadSet {
    /// Notes `tid`; numbers that no thread can have, such as -1, are left out.
    fn note(&mut self, tid: i64) {
        if let Some(word) = usize::try_from(tid).ok().and_then(|tid| self.0.get_mut(tid / 64)) {
            *word |= 1 << (tid % 64);
        }
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
