//! Turns what is known of a capture file into the `capture` object of the JSON.

use diagnosis::{Damaged, Omitted, Summary};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scapfile::{Capture, Damage};
use serde::Serialize;
use stracelog::Tally;
use stracelog::table::Table;

use crate::input::{Meter, Source};

/// The version of the JSON; its first number changes when something is taken away or means something else.
pub(crate) const SCHEMA_VERSION: &str = "1.0";

/// What a capture is, all in all.
#[derive(Debug, Serialize)]
pub(crate) struct CaptureObject {
    path: String,
    bytes: u64,
    compressed: bool,
    events: u64,
    first_timestamp_ns: Option<u64>,
    last_timestamp_ns: Option<u64>,
    duration_ns: u64,
    enter_events: bool,
    page_faults_recorded: bool,
    #[serde(flatten)]
    omitted: Omitted,
    damage: Option<Damaged>,
    strace: Option<StraceObject>,
}

/// The log that a capture was made of.
#[derive(Debug, Serialize)]
struct StraceObject {
    lines: u64,
    damaged_lines: u64,
    first_damaged: Vec<u64>,
    dated: bool,
    relative: bool,
}

impl From<Tally> for StraceObject {
    fn from(Tally { lines, damaged_lines, first_damaged, dated, relative }: Tally) -> Self {
        Self { lines, damaged_lines, first_damaged, dated, relative }
    }
}

impl CaptureObject {
    /// The object for a table of `strace -c`: no events.
    pub(crate) fn of_table(source: &Source, meter: &Meter, table: &Table) -> Self {
        Self {
            path: source.path(),
            bytes: meter.read(),
            compressed: false,
            events: 0,
            first_timestamp_ns: None,
            last_timestamp_ns: None,
            duration_ns: 0,
            enter_events: false,
            page_faults_recorded: false,
            omitted: Omitted::default(),
            damage: None,
            strace: Some(StraceObject {
                lines: table.lines,
                damaged_lines: table.damaged_lines,
                first_damaged: table.first_damaged.clone(),
                dated: false,
                relative: false,
            }),
        }
    }

    /// The object for a capture that has been read to its end.
    pub(crate) fn new(source: &Source, meter: &Meter, capture: &Capture, summary: &Summary, omitted: Omitted) -> Self {
        let (first, last) = (summary.first_ns(), summary.last_ns());
        Self {
            path: source.path(),
            bytes: capture.size().unwrap_or_else(|| meter.read()),
            compressed: capture.compressed(),
            events: capture.events(),
            first_timestamp_ns: first,
            last_timestamp_ns: last,
            duration_ns: first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first)),
            enter_events: summary.enter_events(),
            page_faults_recorded: summary.page_faults_recorded(),
            omitted,
            damage: capture.damage().map(Damaged::from),
            strace: meter.log().map(StraceObject::from),
        }
    }
}

/// Where a capture stops making sense, as a Python dictionary.
pub(crate) fn damage_dict<'py>(py: Python<'py>, damage: &Damage) -> PyResult<Bound<'py, PyDict>> {
    let Damaged { kind, offset, expected, found } = damage.into();
    let dict = PyDict::new(py);
    dict.set_item("kind", kind)?;
    dict.set_item("offset", offset)?;
    dict.set_item("expected", expected)?;
    dict.set_item("found", found)?;
    Ok(dict)
}
