//! Turns an event of a capture into a Python object that owns what it holds.

use diagnosis::ContainerId;
use pyo3::prelude::*;

/// One event of a capture, as sysdig numbers and names it.
#[pyclass(frozen, module = "scapscope._native")]
#[derive(Debug)]
pub(crate) struct Event {
    /// Position among the capture's events, from 1.
    #[pyo3(get)]
    pub(crate) number: u64,
    /// Nanoseconds since 1970.
    #[pyo3(get)]
    pub(crate) timestamp_ns: u64,
    /// The processor it was recorded on.
    #[pyo3(get)]
    pub(crate) cpu: u16,
    /// The thread (host namespace), or -1.
    #[pyo3(get)]
    pub(crate) tid: i64,
    pub(crate) exit: bool,
    pub(crate) type_name: &'static str,
    pub(crate) comm: Option<String>,
    pub(crate) container: Option<ContainerId>,
    pub(crate) args: String,
}

impl Event {
    /// Roughly how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.args.capacity()
    }
}

#[pymethods]
impl Event {
    /// ">" for the enter event of a system call, "<" for its exit.
    #[getter]
    fn direction(&self) -> &'static str {
        direction(self.exit)
    }

    /// The event's name; for a system call without an event type of its own, the call's name.
    #[getter]
    fn r#type(&self) -> &'static str {
        self.type_name
    }

    /// The thread's name when the event happened, if known.
    #[getter]
    fn comm(&self) -> Option<&str> {
        self.comm.as_deref()
    }

    /// The short id of the container the thread is in, if it is in one.
    #[getter]
    fn container_id(&self) -> Option<String> {
        self.container.map(|id| id.text())
    }

    /// The event's parameters as one printable line.
    #[getter]
    fn args(&self) -> &str {
        &self.args
    }

    fn __repr__(&self) -> String {
        let Self { number, tid, type_name, args, .. } = self;
        format!("<Event {number} tid={tid} {} {type_name} {args}>", self.direction())
    }
}

/// As sysdig writes it.
pub(crate) fn direction(exit: bool) -> &'static str {
    if exit { "<" } else { ">" }
}
