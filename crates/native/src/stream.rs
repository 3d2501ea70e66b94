//! Turns a capture into Python's events, one after the other.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::vec;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scapfile::{Damage, OpenError};

use crate::arrow::ArrowStream;
use crate::background::{self, TICK};
use crate::error::cannot_open;
use crate::event::Event;
use crate::filter::Filter;
use crate::handover::{Giver, Taken, Taker, handover};
use crate::input::{Meter, Source};
use crate::selection::{Selection, containers_of};
use crate::summary::damage_dict;

/// Why a capture ended early; empty until it has ended, and after a proper end.
pub(crate) type DamageSlot = Arc<OnceLock<Damage>>;

/// The events of one capture, once, in file order.
#[pyclass(module = "scapscope._native")]
pub(crate) struct EventStream {
    damage: DamageSlot,
    state: State,
}

enum State {
    /// Nothing has been read. The lock is never taken: it makes the selection shareable.
    Unread(Box<Mutex<Selection>>),
    /// Being iterated.
    Reading { ready: vec::IntoIter<Event>, taker: Taker, reader: JoinHandle<()> },
    /// Iterated to its end.
    Read,
    /// Handed to Arrow.
    Handed,
}

#[pymethods]
impl EventStream {
    #[new]
    #[pyo3(signature = (source, *, types=None, tids=None, containers=None, since_ns=None, until_ns=None))]
    fn new(
        py: Python<'_>,
        source: PathBuf,
        types: Option<Vec<String>>,
        tids: Option<Vec<i64>>,
        containers: Option<Vec<String>>,
        since_ns: Option<i64>,
        until_ns: Option<i64>,
    ) -> PyResult<Self> {
        let filter = Filter::new(types, tids, containers, since_ns, until_ns)?;
        let source = Source::new(source);
        let name = source.to_string();
        let selection = background::run(py, None, move |meter| select(&source, meter, filter))?;
        let selection = selection.map_err(|error| cannot_open(name, &error))?;
        let state = State::Unread(Box::new(Mutex::new(selection)));
        Ok(Self { damage: DamageSlot::default(), state })
    }

    fn __iter__(stream: PyRef<'_, Self>) -> PyRef<'_, Self> {
        stream
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Event>> {
        loop {
            match &mut self.state {
                State::Reading { ready, taker, .. } => {
                    if let Some(event) = ready.next() {
                        return Ok(Some(event));
                    }
                    let taker = &*taker;
                    match py.detach(|| taker.take(TICK)) {
                        Taken::Events(events) => *ready = events.into_iter(),
                        Taken::Nothing => py.check_signals()?,
                        Taken::Ended => self.end(),
                    }
                }
                State::Unread(_) => self.start()?,
                State::Read => return Ok(None),
                State::Handed => return Err(used_up()),
            }
        }
    }

    /// The selected events as Arrow record batches of up to `batch_size` rows.
    #[pyo3(name = "to_arrow", signature = (batch_size=65536))]
    fn hand_to_arrow(&mut self, batch_size: usize) -> PyResult<ArrowStream> {
        if batch_size == 0 {
            return Err(PyValueError::new_err("batch_size must be at least 1"));
        }
        let selection = self.take_unread(State::Handed)?;
        Ok(ArrowStream::new(selection, batch_size, Arc::clone(&self.damage)))
    }

    /// Where the capture stops making sense, known after its last event; None if it ends properly.
    #[getter]
    fn damage<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.damage.get().map(|damage| damage_dict(py, damage)).transpose()
    }
}

impl EventStream {
    fn start(&mut self) -> PyResult<()> {
        let selection = self.take_unread(State::Read)?;
        let (giver, taker) = handover();
        let damage = Arc::clone(&self.damage);
        let reader = thread::Builder::new().name("scapscope".into()).spawn(move || read(selection, &giver, &damage))?;
        self.state = State::Reading { ready: Vec::new().into_iter(), taker, reader };
        Ok(())
    }

    fn end(&mut self) {
        if let State::Reading { reader, .. } = std::mem::replace(&mut self.state, State::Read)
            && let Err(panic) = reader.join()
        {
            resume_unwind(panic);
        }
    }

    fn take_unread(&mut self, next: State) -> PyResult<Selection> {
        match std::mem::replace(&mut self.state, next) {
            State::Unread(selection) => Ok(selection.into_inner().unwrap_or_else(PoisonError::into_inner)),
            other => {
                self.state = other;
                Err(used_up())
            }
        }
    }
}

/// Opens the capture; a file that is asked for containers is read once to find out about them all.
fn select(source: &Source, meter: &Arc<Meter>, filter: Filter) -> Result<Selection, OpenError> {
    let mut capture = source.open(meter)?;
    let mut hindsight = None;
    if filter.asks_for_containers() && source.can_be_reopened(&capture) {
        hindsight = Some(containers_of(&mut capture));
        capture = source.open(meter)?;
    }
    Ok(Selection::new(capture, filter, hindsight))
}

/// Reads to the end, or until nobody wants more.
fn read(mut selection: Selection, giver: &Giver, damage: &DamageSlot) {
    selection.visit(|event| {
        let wanted = giver.give(event.into_owned());
        if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if let Some(found) = selection.damage() {
        _ = damage.set(found.clone());
    }
}

/// What a second use of the same events is told.
pub(crate) const USED_UP: &str = "the events of this stream have been handed out already; open the capture again";

fn used_up() -> PyErr {
    PyValueError::new_err(USED_UP)
}
