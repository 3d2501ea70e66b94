//! Runs work on a second thread, while this one, Python's, listens for Ctrl-C and tells of progress.
//!
//! So nothing that blocks (a pipe that stays silent, a FIFO nobody writes to) keeps Ctrl-C from
//! being heard, and the work itself never has to ask.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Failure;
use crate::input::{Meter, Source};

/// How often this thread looks up: progress is told 10 times a second.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The JSON that `read` makes of the capture at the path `source` ("-": standard input).
///
/// # Errors
/// `CaptureError` if it cannot be read as a capture, and what [`run`] says.
pub(crate) fn json<'py>(
    py: Python<'py>,
    source: PathBuf,
    progress: Option<&Bound<'py, PyAny>>,
    read: impl FnOnce(&Source, &Arc<Meter>) -> Result<Vec<u8>, Failure> + Send + 'static,
) -> PyResult<Bound<'py, PyBytes>> {
    let source = Source::new(source);
    let name = source.to_string();
    let json = run(py, progress, move |meter| read(&source, meter))?;
    json.map(|json| PyBytes::new(py, &json)).map_err(|failure| failure.raise(name))
}

/// What `work` returns. Without the GIL; `progress` is called with the bytes read and the bytes there are.
///
/// # Errors
/// What a signal handler or `progress` raises; the work is then told to stop, and not waited for.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Meter>) -> T + Send + 'static,
) -> PyResult<T> {
    let meter = Arc::new(Meter::default());
    let theirs = Arc::clone(&meter);
    let (send, receive) = sync_channel(1);
    let worker = thread::Builder::new().name("scapscope".into()).spawn(move || {
        // Nobody may be there to take it any more.
        _ = send.send(work(&theirs));
    })?;
    // A channel may be used by one thread at a time only, as its exclusive reference says.
    let receive = &mut { receive };
    loop {
        let receive = &mut *receive;
        match py.detach(move || receive.recv_timeout(TICK)) {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = look_up(py, progress, &meter) {
                    meter.stop();
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                if let Err(panic) = worker.join() {
                    resume_unwind(panic);
                }
                unreachable!("the work ended without a result and without a panic");
            }
        }
    }
}

fn look_up(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, meter: &Meter) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1((meter.read(), meter.total()))?;
    }
    Ok(())
}
