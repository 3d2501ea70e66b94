//! Turns a capture into JSON tallies of its system calls: costs, rates, stacks; and stacks into a picture.

use std::ops::ControlFlow;
use std::path::PathBuf;

use profile::{
    Asked, By, Calls, CostTable, Costs, Group, Made, Order, Picture, Rates, Rest, Series, Stacks, Underway, Who, Within,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scapfile::types::TYPES;
use serde::Serialize;
use stracelog::table::{Row, Table};

use crate::background;
use crate::error::Failure;
use crate::filter::wanted_types;
use crate::input::{self, Opened};
use crate::summary::{CaptureObject, SCHEMA_VERSION};

/// Calls that are not back at the end of which all is told.
const SHOWN_UNDERWAY: usize = 10;
const ONLY_BY_NAME: &str = "a table of strace -c has no processes and no times: --by, --pid, --tid, --comm, --container, \
                            --since and --until do not apply";

/// Which calls a user asks for: the dictionary `CallFilter` of `_native.pyi`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CallFilter {
    calls: Option<Vec<String>>,
    pids: Option<Vec<i64>>,
    tids: Option<Vec<i64>>,
    comms: Option<Vec<String>>,
    containers: Option<Vec<String>>,
    since_ns: Option<i64>,
    until_ns: Option<i64>,
}

impl CallFilter {
    fn asked(self) -> PyResult<Asked> {
        let Self { calls, pids, tids, comms, containers, since_ns, until_ns } = self;
        let calls = calls.map(|names| wanted_types(&names, "system call")).transpose()?;
        Ok(Asked { calls, pids, tids, comms, containers, within: Within { since_ns, until_ns } })
    }
}

/// What a tally says, and of what.
#[derive(Serialize)]
struct Told<T: Serialize> {
    schema_version: &'static str,
    capture: CaptureObject,
    #[serde(flatten)]
    tally: T,
}

#[derive(Serialize)]
struct CostsTold {
    groups: Vec<Group>,
    rest: RestTold,
    underway: UnderwayTold,
}

#[derive(Serialize)]
struct RestTold {
    groups: usize,
    #[serde(flatten)]
    total: Costs,
}

#[derive(Serialize)]
struct UnderwayTold {
    calls: usize,
    longest: Vec<UnderwayCall>,
}

#[derive(Serialize)]
struct UnderwayCall {
    #[serde(flatten)]
    who: Who,
    syscall: &'static str,
    for_ns: u64,
}

#[derive(Serialize)]
struct RatesTold {
    every_ns: u64,
    asked_every_ns: u64,
    series: Vec<Series>,
    rest: Rest,
}

/// The costs of the calls in the capture at the path `source` ("-": standard input), as a JSON object.
#[pyfunction]
#[pyo3(signature = (source, by, order, most, asked, progress=None))]
pub(crate) fn syscalls<'py>(
    py: Python<'py>,
    source: PathBuf,
    by: &str,
    order: &str,
    most: Option<usize>,
    asked: CallFilter,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let ((by, _), order) = (together(by)?, first(order)?);
    let asked = asked.asked()?;
    let of_table = (by == By::Capture && asked.only_by_name()).then(|| asked.clone());
    let calls = Calls::new(asked, by == By::Capture);
    tally(
        py,
        source,
        calls,
        progress,
        CostTable::default(),
        move |table| Ok(costs_of_table(table, &of_table.ok_or(Failure::Asked(ONLY_BY_NAME))?, order)),
        |costs, made| costs.note(made),
        move |costs, calls, underway| {
            let mut groups = costs.by(by, order, calls);
            let left_out = groups.split_off(most.unwrap_or(usize::MAX).min(groups.len()));
            let mut rest = RestTold { groups: left_out.len(), total: Costs::default() };
            left_out.iter().for_each(|group| rest.total.add(&group.total));
            let longest = underway.iter().take(SHOWN_UNDERWAY).map(|call| underway_call(call, calls)).collect();
            CostsTold { groups, rest, underway: UnderwayTold { calls: underway.len(), longest } }
        },
    )
}

/// What `strace -c` has counted, of the calls that were asked for.
fn costs_of_table(table: &Table, asked: &Asked, order: Order) -> CostsTold {
    let costs = |row: &Row| {
        let time_ns = row.seconds.map_or(0.0, |seconds| seconds * 1e9);
        Costs {
            calls: row.calls,
            with_result: row.calls,
            errors: row.errors,
            timed: if row.seconds.is_some() { row.calls } else { 0 },
            // Seconds have six digits behind the point, and a table is no longer than some years.
            time_ns: time_ns.round() as u64,
        }
    };
    let rows = table.rows.iter().map(|row| (TYPES.find(&row.name).unwrap_or_default(), costs(row)));
    let wanted = rows.filter(|(name, _)| asked.call(*name));
    CostsTold {
        groups: vec![profile::counted(wanted, order)],
        rest: RestTold { groups: 0, total: Costs::default() },
        underway: UnderwayTold { calls: 0, longest: Vec::new() },
    }
}

fn underway_call(call: &Underway, calls: &Calls) -> UnderwayCall {
    UnderwayCall { who: By::Thread.who(call.caller, calls), syscall: TYPES.name(call.name), for_ns: call.for_ns }
}

/// The calls by intervals of `every_ns`, as a JSON object.
#[pyfunction]
#[pyo3(signature = (source, every_ns, by, most, asked, progress=None))]
pub(crate) fn rates<'py>(
    py: Python<'py>,
    source: PathBuf,
    every_ns: u64,
    by: &str,
    most: Option<usize>,
    asked: CallFilter,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (by, by_name) = together(by)?;
    let calls = Calls::new(asked.asked()?, by == By::Capture);
    tally(
        py,
        source,
        calls,
        progress,
        Rates::new(every_ns, by_name),
        |_| Err(input::no_events_in_table().into()),
        |rates, made| rates.note(made),
        move |rates, calls, _| {
            let mut series = rates.by(by, calls);
            let rest = Rest::of(&mut series, most.unwrap_or(usize::MAX));
            RatesTold { every_ns: rates.every_ns(), asked_every_ns: every_ns, series, rest }
        },
    )
}

/// The costs of the calls as stacks, as a JSON object.
#[pyfunction]
#[pyo3(signature = (source, asked, progress=None))]
pub(crate) fn stacks<'py>(
    py: Python<'py>,
    source: PathBuf,
    asked: CallFilter,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let told = |costs: &mut CostTable, calls: &Calls, _: &[Underway]| -> Stacks { costs.stacks(calls) };
    let calls = Calls::new(asked.asked()?, false);
    let none = |_: &Table| Err(input::no_events_in_table().into());
    tally(py, source, calls, progress, CostTable::default(), none, |costs, made| costs.note(made), told)
}

/// The SVG of `stacks`, each with a weight in `unit`.
#[pyfunction]
pub(crate) fn flame_graph<'py>(
    py: Python<'py>,
    stacks: Vec<(String, u64)>,
    title: String,
    unit: String,
) -> PyResult<Bound<'py, PyBytes>> {
    let svg = py.detach(|| profile::draw(&stacks, &Picture { title, unit }))?;
    Ok(PyBytes::new(py, &svg))
}

/// What calls are put together by, and whether also by their names.
fn together(by: &str) -> PyResult<(By, bool)> {
    match by {
        "capture" => Ok((By::Capture, false)),
        "container" => Ok((By::Container, false)),
        "process" => Ok((By::Process, false)),
        "thread" => Ok((By::Thread, false)),
        "syscall" => Ok((By::Capture, true)),
        _ => Err(PyValueError::new_err(format!("calls cannot be put together by {by:?}"))),
    }
}

fn first(order: &str) -> PyResult<Order> {
    match order {
        "time" => Ok(Order::Time),
        "calls" => Ok(Order::Calls),
        "errors" => Ok(Order::Errors),
        "usecs" => Ok(Order::Mean),
        "name" => Ok(Order::Name),
        _ => Err(PyValueError::new_err(format!("calls cannot be sorted by {order:?}"))),
    }
}

/// Reads the capture, has `note` take in every call that was asked for, and at the end `tell`; or has `count` tell of
/// a table of `strace -c`, if that is enough.
#[expect(clippy::too_many_arguments, reason = "three of them are functions, which are the tally")]
fn tally<'py, T: Send + 'static, J: Serialize>(
    py: Python<'py>,
    source: PathBuf,
    mut calls: Calls,
    progress: Option<&Bound<'py, PyAny>>,
    mut tally: T,
    count: impl FnOnce(&Table) -> Result<J, Failure> + Send + 'static,
    note: impl Fn(&mut T, &Made<'_>) + Send + 'static,
    tell: impl FnOnce(&mut T, &Calls, &[Underway]) -> J + Send + 'static,
) -> PyResult<Bound<'py, PyBytes>> {
    background::json(py, source, progress, move |source, meter| {
        let mut capture = match source.open_any(meter)? {
            Opened::Capture(capture) => capture,
            Opened::Table(table) => {
                let tally = count(&table)?;
                let capture = CaptureObject::of_table(source, meter, &table);
                return Ok(serde_json::to_vec(&Told { schema_version: SCHEMA_VERSION, capture, tally })?);
            }
        };
        capture.visit(|item| {
            if let Some(made) = calls.item(&item) {
                note(&mut tally, &made);
            }
            ControlFlow::Continue(())
        });
        let underway = calls.finish();
        let told = Told {
            schema_version: SCHEMA_VERSION,
            tally: tell(&mut tally, &calls, &underway),
            capture: CaptureObject::new(source, meter, &capture, calls.summary(), calls.omitted()),
        };
        Ok(serde_json::to_vec(&told)?)
    })
}
