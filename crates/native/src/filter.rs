//! Turns the filters a user gives into a test for events.

use diagnosis::ContainerRef;
use profile::Within;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::spelling;
use scapfile::types::{TYPES, TypeKey};

/// What an event must be to be selected; whatever is `None` does not matter.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// By type key: whether it is wanted.
    types: Option<Vec<bool>>,
    tids: Option<Vec<i64>>,
    containers: Option<Vec<String>>,
    within: Within,
}

impl Filter {
    /// The filter for events of these types, threads and containers, within a time range in nanoseconds
    /// from the first event on, both ends included.
    ///
    /// # Errors
    /// `ValueError` for an event type that does not exist; names near to it are given.
    pub(crate) fn new(
        types: Option<Vec<String>>,
        tids: Option<Vec<i64>>,
        containers: Option<Vec<String>>,
        since_ns: Option<i64>,
        until_ns: Option<i64>,
    ) -> PyResult<Self> {
        let types = types.map(|names| wanted_types(&names, "event type")).transpose()?;
        Ok(Self { types, tids, containers, within: Within { since_ns, until_ns } })
    }

    /// Whether an event of this type, thread and time, `first_ns` being the capture's first, is wanted.
    #[inline]
    pub(crate) fn accepts(&self, key: TypeKey, tid: i64, timestamp_ns: u64, first_ns: u64) -> bool {
        if let Some(types) = &self.types
            && !usize::try_from(key).is_ok_and(|key| types.get(key) == Some(&true))
        {
            return false;
        }
        if let Some(tids) = &self.tids
            && !tids.contains(&tid)
        {
            return false;
        }
        self.within.holds(timestamp_ns, first_ns)
    }

    /// Whether it matters in which container an event happened.
    #[inline]
    pub(crate) fn asks_for_containers(&self) -> bool {
        self.containers.is_some()
    }

    /// Whether an event in this container is wanted.
    pub(crate) fn accepts_container(&self, container: &ContainerRef) -> bool {
        self.containers.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| container.is_called(wanted)))
    }
}

/// By type key: whether it is among `names`.
///
/// # Errors
/// `ValueError` for a name that no event has; names near to it are given. `kind`: what it was taken for.
pub(crate) fn wanted_types(names: &[String], kind: &str) -> PyResult<Vec<bool>> {
    let mut wanted = vec![false; TYPES.names().len()];
    for name in names {
        let Some(key) = TYPES.find(name).and_then(|key| usize::try_from(key).ok()) else {
            return Err(PyValueError::new_err(unknown_type(name, kind)));
        };
        wanted[key] = true;
    }
    Ok(wanted)
}

fn unknown_type(name: &str, kind: &str) -> String {
    let near = spelling::near(name, TYPES.names().iter().copied());
    match near.split_last() {
        None => format!("there is no {kind} {name:?}"),
        Some((only, [])) => format!("there is no {kind} {name:?}; did you mean {only}?"),
        Some((last, others)) => {
            format!("there is no {kind} {name:?}; did you mean {} or {last}?", others.join(", "))
        }
    }
}
