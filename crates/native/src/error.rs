//! Turns what stands in the way of reading a capture into one sentence.

use std::fmt::Display;
use std::io;

use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};
use scapfile::OpenError;

create_exception!(
    scapscope._native,
    CaptureError,
    PyException,
    "The input cannot be read as a capture; str() is one clear sentence saying why."
);

/// What can end a run before it has an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input cannot be opened as a capture.
    Open(OpenError),
    /// What was asked for is not to be had of such an input.
    Asked(&'static str),
    /// The answer cannot be put into JSON.
    Json(serde_json::Error),
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl Failure {
    /// As Python is told of it; `name`: the input.
    pub(crate) fn raise(&self, name: impl Display) -> PyErr {
        match self {
            Self::Open(error) => cannot_open(name, error),
            Self::Asked(why) => PyValueError::new_err(*why),
            Self::Json(error) => PyRuntimeError::new_err(error.to_string()),
        }
    }
}

/// The [`CaptureError`] for the input `name` that cannot be opened.
pub(crate) fn cannot_open(name: impl Display, error: &OpenError) -> PyErr {
    CaptureError::new_err(match error {
        OpenError::Io(error) => format!("cannot read {name}: {}", reason(error)),
        OpenError::Foreign(_) | OpenError::Gzip(_) => format!("{name} is {error}"),
    })
}

/// What the operating system says, without the number behind it.
fn reason(error: &io::Error) -> String {
    let said = error.to_string();
    match said.split_once(" (os error ") {
        Some((words, _)) => words.into(),
        None => said,
    }
}
