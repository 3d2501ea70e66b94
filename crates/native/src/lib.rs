//! Turns captures into what Python works with: JSON reports, events, and Arrow record batches.
//!
//! This is the module `scapscope._native`; `analyzer/scapscope/_native.pyi` says what it offers. It
//! emits ids and facts, and no sentence but that of a `CaptureError`.

mod arrow;
mod background;
mod error;
mod event;
mod explain;
mod filter;
mod handover;
mod info;
mod input;

mod selection;
mod spelling;
mod stream;
mod summary;
mod tallies;

use pyo3::prelude::*;

/// The Rust core of scapscope.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::arrow::ArrowStream;
    #[pymodule_export]
    use crate::error::CaptureError;
    #[pymodule_export]
    use crate::event::Event;
    #[pymodule_export]
    use crate::explain::explain;
    #[pymodule_export]
    use crate::info::info;
    #[pymodule_export]
    use crate::stream::EventStream;
    #[pymodule_export]
    use crate::tallies::{flame_graph, rates, stacks, syscalls};
}
