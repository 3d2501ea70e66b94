//! What a detector says: a finding with its facts and the events that prove it.
//!
//! Facts are values, never sentences; `analyzer/scapscope/knowledge` holds the sentences.

use std::collections::BTreeMap;

use scapfile::Event;
use serde::Serialize;
use serde_json::Value;

/// How bad it is; the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The cause of an outage, known.
    Critical,
    /// A process died.
    Error,
    /// Something that hurts, or that hides an answer.
    Warning,
    /// Worth knowing.
    Info,
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Every step is in the capture.
    Certain,
    /// One step is inferred.
    Likely,
    /// The capture does not contradict it.
    Possible,
}

/// When and where in the capture something was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Event number, as sysdig counts.
    pub event: u64,
    /// Nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// The thread.
    pub tid: i64,
}

impl Moment {
    /// The moment of `event`.
    #[inline]
    #[must_use]
    pub fn of(event: &Event<'_>) -> Self {
        Self { event: event.number, timestamp_ns: event.timestamp_ns, tid: event.tid }
    }

    /// Nanoseconds from `earlier` to this; 0 where the clock went backwards.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> u64 {
        self.timestamp_ns.saturating_sub(earlier.timestamp_ns)
    }
}

/// An event that a reader can look up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Event number, as sysdig counts.
    pub event: u64,
    /// Nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// The thread.
    pub tid: i64,
    /// Event name.
    #[serde(rename = "type")]
    pub event_type: &'static str,
    /// The parameters that matter.
    pub detail: String,
}

impl Evidence {
    /// The event at `at` as evidence.
    #[must_use]
    pub fn new(at: Moment, event_type: &'static str, detail: impl Into<String>) -> Self {
        let Moment { event, timestamp_ns, tid } = at;
        Self { event, timestamp_ns, tid, event_type, detail: detail.into() }
    }
}

/// A process as a finding shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProcessRef {
    /// Command name, where known.
    pub comm: Option<String>,
    /// `argv[0]`.
    pub exe: Option<String>,
    /// The program file, where the capture has it.
    pub exepath: Option<String>,
    /// The path that was given to execve: for a script, the script.
    pub filename: Option<String>,
    /// Arguments after `argv[0]`.
    pub args: Vec<String>,
    /// Process id, host namespace.
    pub pid: i64,
    /// The thread concerned.
    pub tid: i64,
    /// The process that started it.
    pub parent: Option<Relative>,
    /// The container's first process.
    pub entry_point: Option<Relative>,
}

/// Another process that explains one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Relative {
    /// Command name, where known.
    pub comm: Option<String>,
    /// Process id, host namespace.
    pub pid: i64,
    /// `argv[0]` and the arguments after it.
    pub args: Vec<String>,
}

/// A container as a finding shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ContainerRef {
    /// Short id (12 characters).
    pub id: String,
    /// Its name, where the capture has it.
    pub name: Option<String>,
    /// Its image, where the capture has it.
    pub image: Option<String>,
    /// docker, containerd, cri-o, podman …, where the capture has it.
    pub runtime: Option<&'static str>,
}

impl ContainerRef {
    /// Whether people may call it `wanted`: the beginning of its id, its name, or its image, with or
    /// without the tag.
    #[must_use]
    pub fn is_called(&self, wanted: &str) -> bool {
        if wanted.is_empty() {
            return false;
        }
        // Only the first 12 digits of an id are known; more may have been given.
        self.id.starts_with(wanted)
            || (wanted.len() > self.id.len() && wanted.starts_with(&self.id))
            || self.name.as_deref() == Some(wanted)
            || self.image.as_deref().is_some_and(|image| {
                image == wanted || image.strip_prefix(wanted).is_some_and(|tag| tag.starts_with([':', '@']))
            })
    }
}

/// Named values; a fact that is not known is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Facts(BTreeMap<&'static str, Value>);

impl Facts {
    /// States a fact.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.0.insert(name, value.into());
    }

    /// States a fact if it is known.
    pub fn set_known(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Takes over all of `more`.
    pub fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// A fact by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

/// An address as facts carry it.
#[must_use]
pub fn address(value: u64) -> String {
    format!("0x{value:016x}")
}

/// What a detector found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Stable id, such as `vsyscall-none-crash`.
    pub id: &'static str,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// The process it is about.
    pub process: Option<ProcessRef>,
    /// The container it is about.
    pub container: Option<ContainerRef>,
    /// What is known.
    pub facts: Facts,
    /// The proof, in order of events.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// A finding about the capture as a whole.
    #[must_use]
    pub fn of_capture(id: &'static str, severity: Severity) -> Self {
        Self {
            id,
            severity,
            confidence: Confidence::Certain,
            process: None,
            container: None,
            facts: Facts::default(),
            evidence: Vec::new(),
        }
    }
}
