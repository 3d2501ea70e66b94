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

/// The report of the capture at the path `source` ("-": standard input), as a JSON object.
#[pyfunction]
#[pyo3(signature = (source, progress=None))]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    source: PathBuf,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let source = Source::new(source);
    let name = source.to_string();
    let report = background::run(py, progress, move |meter| read(&source, meter))?;
    report.map(|json| PyBytes::new(py, &json)).map_err(|failure| failure.raise(name))
}

fn read(source: &Source, meter: &Arc<Meter>) -> Result<Vec<u8>, Failure> {
    let mut capture = source.open(meter)?;
    let mut diagnosis = Diagnosis::default();
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
