//! Turns selected events into Arrow record batches, one at a time, for whoever reads the C stream
//! interface: Polars, pyarrow, pandas, DuckDB.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arrow_array::builder::StringBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Int8Type, Int16Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int16Array, Int64Array, RecordBatch, RecordBatchReader, StringArray,
    TimestampNanosecondArray, UInt16Array, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use scapfile::{Visit, schema};

use crate::event::direction;
use crate::selection::{Selected, Selection};
use crate::stream::{DamageSlot, USED_UP};
use scapfile::types::TYPES;

const UTC: &str = "UTC";
/// Text in a batch beyond which it is handed over before it has all its rows: bounds the memory, and
/// stays far below the 2 GiB that a text column can address.
const MOST_TEXT: usize = 16 << 20;
/// Rows to make room for beforehand.
const ROOM: usize = 65_536;

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let names = |key: DataType| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("number", DataType::UInt64, false),
        Field::new("timestamp", DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())), false),
        Field::new("cpu", DataType::UInt16, false),
        Field::new("tid", DataType::Int64, false),
        Field::new("direction", names(DataType::Int8), false),
        Field::new("type", names(DataType::Int16), false),
        Field::new("comm", DataType::Utf8, true),
        Field::new("container_id", DataType::Utf8, true),
        Field::new("args", DataType::Utf8, false),
    ]))
});
static DIRECTION_NAMES: LazyLock<ArrayRef> =
    LazyLock::new(|| Arc::new(StringArray::from_iter_values([direction(false), direction(true)])));
static TYPE_NAMES: LazyLock<ArrayRef> = LazyLock::new(|| Arc::new(StringArray::from_iter_values(TYPES.names())));

/// Record batches of events, for anything that reads the Arrow PyCapsule interface.
#[pyclass(frozen, module = "scapscope._native")]
pub(crate) struct ArrowStream {
    batches: Unpulled,
}

/// The batches, until somebody pulls the first.
type Unpulled = Arc<Mutex<Option<Batches>>>;

impl ArrowStream {
    pub(crate) fn new(selection: Selection, batch_size: usize, damage: DamageSlot) -> Self {
        let batches = Batches { selection, batch_size, damage, ended: false };
        Self { batches: Arc::new(Mutex::new(Some(batches))) }
    }
}

#[pymethods]
impl ArrowStream {
    /// The batches as an Arrow C stream, which can be read once. A requested schema is not followed.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        _ = requested_schema;
        if self.batches.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Err(PyValueError::new_err(USED_UP));
        }
        // Some readers ask for a stream twice: once for its schema, once for its batches.
        let batches = OnDemand { unpulled: Arc::clone(&self.batches), pulled: None };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The columns and their types, as an Arrow C schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(SCHEMA.as_ref()).map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// Takes the batches when the first is pulled, so that a stream that is only asked for its schema
/// leaves them to another.
struct OnDemand {
    unpulled: Unpulled,
    pulled: Option<Batches>,
}

impl Iterator for OnDemand {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pulled.is_none() {
            self.pulled = self.unpulled.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        match &mut self.pulled {
            Some(batches) => batches.next(),
            None => Some(Err(ArrowError::InvalidArgumentError(USED_UP.into()))),
        }
    }
}

impl RecordBatchReader for OnDemand {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&SCHEMA)
    }
}

/// The record batches of a selection. Whoever pulls them does the reading, on the thread it likes.
struct Batches {
    selection: Selection,
    batch_size: usize,
    damage: DamageSlot,
    ended: bool,
}

impl Batches {
    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        if self.ended {
            return None;
        }
        // The caller is C code, through which no panic may pass.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.pull()));
        outcome
            .unwrap_or_else(|_| {
                self.ended = true;
                Err(ArrowError::ExternalError("reading the capture failed".into()))
            })
            .transpose()
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut columns = Columns::with_room(self.batch_size.min(ROOM));
        let batch_size = self.batch_size;
        let visit = self.selection.visit(|selected| {
            columns.push(&selected);
            if columns.rows() < batch_size && columns.text < MOST_TEXT {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        if visit == Visit::Ended {
            self.ended = true;
            if let Some(found) = self.selection.damage() {
                _ = self.damage.set(found.clone());
            }
            if columns.rows() == 0 {
                return Ok(None);
            }
        }
        columns.finish().map(Some)
    }
}

/// The columns of a batch that is being filled.
struct Columns {
    number: Vec<u64>,
    timestamp: Vec<i64>,
    cpu: Vec<u16>,
    tid: Vec<i64>,
    direction: Vec<i8>,
    types: Vec<i16>,
    comm: StringBuilder,
    container_id: StringBuilder,
    args: StringBuilder,
    text: usize,
}

impl Columns {
    fn with_room(rows: usize) -> Self {
        Self {
            number: Vec::with_capacity(rows),
            timestamp: Vec::with_capacity(rows),
            cpu: Vec::with_capacity(rows),
            tid: Vec::with_capacity(rows),
            direction: Vec::with_capacity(rows),
            types: Vec::with_capacity(rows),
            comm: StringBuilder::with_capacity(rows, rows * 8),
            container_id: StringBuilder::with_capacity(rows, 0),
            args: StringBuilder::with_capacity(rows, rows * 32),
            text: 0,
        }
    }

    fn rows(&self) -> usize {
        self.number.len()
    }

    fn push(&mut self, selected: &Selected<'_>) {
        let event = &selected.event;
        let args = schema::describe(event);
        self.number.push(event.number);
        // Timestamps beyond the year 2262 do not fit, and are none.
        self.timestamp.push(i64::try_from(event.timestamp_ns).unwrap_or(i64::MAX));
        self.cpu.push(event.cpu);
        self.tid.push(event.tid);
        self.direction.push(event.is_exit().into());
        self.types.push(selected.type_key);
        self.comm.append_option(selected.comm.as_deref());
        self.container_id.append_option(selected.container.map(|id| id.text()));
        self.text += args.len() + selected.comm.as_deref().map_or(0, str::len);
        self.args.append_value(args);
    }

    fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        let directions =
            DictionaryArray::<Int8Type>::try_new(Int8Array::from(self.direction), Arc::clone(&DIRECTION_NAMES))?;
        let types = DictionaryArray::<Int16Type>::try_new(Int16Array::from(self.types), Arc::clone(&TYPE_NAMES))?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(self.number)),
            Arc::new(TimestampNanosecondArray::from(self.timestamp).with_timezone(UTC)),
            Arc::new(UInt16Array::from(self.cpu)),
            Arc::new(Int64Array::from(self.tid)),
            Arc::new(directions),
            Arc::new(types),
            Arc::new(self.comm.finish()),
            Arc::new(self.container_id.finish()),
            Arc::new(self.args.finish()),
        ];
        RecordBatch::try_new(Arc::clone(&SCHEMA), columns)
    }
}
