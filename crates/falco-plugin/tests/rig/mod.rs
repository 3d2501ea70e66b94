//! What Falco is to the plugin, as far as a test needs it: events of the source `syscall`, a thread table, and the
//! calls of the plugin API. The plugin that is driven is the shared library that Falco would load.

#![allow(dead_code, unused_imports, reason = "no test needs all of it")]

mod falco;
mod library;
pub mod written;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::path::Path;

use falco_plugin_runner::{CapturingPluginRunner, ExtractedField, MetricValue, PluginRunner, ScapStatus};
use scapfile::{Capture, Event, Item};

pub use falco::table_size;
pub use library::{config_schema, fields};

/// An event as it is handed to plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    pub timestamp_ns: u64,
    pub tid: i64,
    pub event_type: u16,
    pub params: Vec<Vec<u8>>,
}

impl Fed {
    /// The event of a capture. Of types that the plugin does not ask for the parameters are left out: nobody reads them.
    pub fn of(event: &Event<'_>) -> Self {
        let &Event { timestamp_ns, tid, event_type, .. } = event;
        let wanted = scapscope::EVENT_TYPES.contains(&event_type);
        let count = if wanted { event.param_count() as usize } else { 0 };
        let params = (0..count).filter_map(|at| event.param(at)).map(<[u8]>::to_vec).collect();
        Self { timestamp_ns, tid, event_type, params }
    }
}

/// The events of a capture.
pub fn events(file: &Path) -> Vec<Fed> {
    let mut capture = Capture::open(file).expect("the capture can be opened");
    let mut events = Vec::new();
    capture.visit(|item| {
        if let Item::Event(event) = item {
            events.push(Fed::of(&event));
        }
        ControlFlow::Continue(())
    });
    assert!(capture.damage().is_none(), "{}: {:?}", file.display(), capture.damage());
    events
}

/// The fields that are true once for each episode.
pub const EPISODES: [&str; 4] = ["vsyscall.crash", "vsyscall.storm", "vsyscall.misaligned", "timecalls.storm"];

/// All fields.
pub const FIELDS: [&str; 12] = [
    "vsyscall.call",
    "vsyscall.mode",
    "vsyscall.fault.addr",
    "vsyscall.fault.count",
    "vsyscall.fault.rate",
    "vsyscall.storm",
    "vsyscall.crash",
    "vsyscall.misaligned",
    "timecalls.count",
    "timecalls.rate",
    "timecalls.share",
    "timecalls.storm",
];

/// The plugin, and events on their way to it.
pub struct Rig {
    runner: CapturingPluginRunner,
}

/// Values of fields by their names; those without a value are not there.
pub type Fields = BTreeMap<&'static str, String>;

impl Rig {
    /// Loads the plugin with `config`, and feeds it `events`.
    pub fn new(config: &str, events: impl Iterator<Item = Fed> + 'static) -> Result<Self, String> {
        let mut runner = PluginRunner::new();
        falco::feed(events);
        runner.register_plugin(&falco::FALCO, c"").map_err(|error| error.to_string())?;
        let config = CString::new(config).expect("no NUL");
        runner.register_plugin(library::api(), &config).map_err(|error| error.to_string())?;
        Ok(Self { runner: runner.start_capture().expect("the capture starts") })
    }

    /// Feeds `events` to nobody: what the stand-in for Falco takes by itself.
    pub fn without_plugin(events: impl Iterator<Item = Fed> + 'static) -> Self {
        let mut runner = PluginRunner::new();
        falco::feed(events);
        runner.register_plugin(&falco::FALCO, c"").expect("the stand-in loads");
        Self { runner: runner.start_capture().expect("the capture starts") }
    }

    /// Takes in the next event, and gives the values of `fields` at it; `None` after the last.
    pub fn next(&mut self, fields: &[&'static str]) -> Option<Fields> {
        let event = match self.runner.next_event() {
            Ok(event) => event,
            Err(error) if error.downcast_ref::<ScapStatus>() == Some(&ScapStatus::Eof) => return None,
            Err(error) => panic!("{error:?}"),
        };
        let mut value = |name: &'static str| match self.runner.extract_field(&event, name)? {
            Ok(ExtractedField::None) => None,
            Ok(value) => Some((name, value.to_string())),
            Err(code) => panic!("{name}: {code}"),
        };
        Some(fields.iter().filter_map(|name| value(name)).collect())
    }

    /// Takes in every event, and gives those at which one of [`EPISODES`] is true: their number, from 1, and all
    /// their fields.
    pub fn episodes(&mut self) -> Vec<(u64, Fields)> {
        let mut episodes = Vec::new();
        for number in 1.. {
            let Some(fields) = self.next(&FIELDS) else { break };
            if EPISODES.iter().any(|name| fields.get(name).is_some_and(|value| value == "true")) {
                episodes.push((number, fields));
            }
        }
        episodes
    }

    /// The plugin's metrics.
    pub fn metrics(&mut self) -> BTreeMap<String, u64> {
        let number = |value| match value {
            MetricValue::U64(number) => number,
            other => panic!("{other:?}"),
        };
        self.runner.get_metrics().into_iter().map(|metric| (metric.name, number(metric.value))).collect()
    }
}
