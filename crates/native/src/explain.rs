//! Turns a capture into the JSON report of what died in it, and why.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use diagnosis::{Diagnosis, Finding, KernelMode, Machine};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::background;
use crate::error::Failure;
use crate::input::{Meter, Source};
use crate::summary::{CaptureObject, SCHEMA_VERSION};

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    capture: CaptureObject,
    machine: Option<Machine>,
    kernel: KernelMode,
    findings: Vec<Finding>,
}

/// The report of the capture at the path `source` ("-": standard input), as a JSON object; `hot_calls`: time
/// calls of one process within a second that count as many.
#[pyfunction]
#[pyo3(signature = (source, progress=None, hot_calls=None))]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    source: PathBuf,
    progress: Option<&Bound<'py, PyAny>>,
    hot_calls: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    background::json(py, source, progress, move |source, meter| read(source, meter, hot_calls))
}

fn read(source: &Source, meter: &Arc<Meter>, hot_calls: Option<u64>) -> Result<Vec<u8>, Failure> {
    let mut capture = source.open(meter)?;
    let mut diagnosis = Diagnosis::default();
    if let Some(calls) = hot_calls {
        diagnosis = diagnosis.with_hot_calls(calls);
    }
    capture.visit(|item| {
        diagnosis.item(&item);
        ControlFlow::Continue(())
    });
    let told = diagnosis.finish(capture.damage());
    let report = Report {
        schema_version: SCHEMA_VERSION,
        capture: CaptureObject::new(source, meter, &capture, diagnosis.summary(), told.omitted),
        machine: told.machine,
        kernel: told.kernel,
        findings: told.findings,
    };
    Ok(serde_json::to_vec(&report)?)
}
