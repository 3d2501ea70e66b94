//! A source of system-call events and a thread table, as a plugin: Falco itself has both, the runner neither.

use std::cell::RefCell;
use std::ffi::{CStr, CString};

use falco_plugin::FailureReason;
use falco_plugin::anyhow::{Error, anyhow};
use falco_plugin::base::Plugin;
use falco_plugin::event::events::{EventMetadata, RawEvent};
use falco_plugin::parse::{EventInput, ParseInput, ParsePlugin};
use falco_plugin::source::{EventBatch, SourcePlugin, SourcePluginInstance};
use falco_plugin::static_plugin;
use falco_plugin::tables::{TablesInput, export};

use super::Fed;

type Events = Box<dyn Iterator<Item = Fed>>;

thread_local! {
    static FEED: RefCell<Option<Events>> = const { RefCell::new(None) };
    static TABLE_SIZE: RefCell<usize> = const { RefCell::new(0) };
}

/// The events that the next plugin of this thread gives out.
pub fn feed(events: impl Iterator<Item = Fed> + 'static) {
    FEED.with_borrow_mut(|feed| *feed = Some(Box::new(events)));
}

/// Threads in the table.
pub fn table_size() -> usize {
    TABLE_SIZE.with_borrow(|size| *size)
}

const PROCEXIT: u16 = 186;

#[derive(export::Entry)]
struct ThreadEntry {
    tid: export::Readonly<i64>,
}

pub struct Falco {
    threads: Box<export::Table<i64, ThreadEntry>>,
    /// A thread that has ended is there until the next event, for those who look at the present one.
    ended: Option<i64>,
}

impl Plugin for Falco {
    const NAME: &'static CStr = c"falco";
    const PLUGIN_VERSION: &'static CStr = c"0.0.0";
    const DESCRIPTION: &'static CStr = c"What Falco is to a plugin";
    const CONTACT: &'static CStr = c"nobody";
    type ConfigType = ();

    fn new(input: Option<&TablesInput>, (): ()) -> Result<Self, Error> {
        let input = input.ok_or_else(|| anyhow!("no tables"))?;
        Ok(Self { threads: input.add_table(export::Table::new(c"threads")?)?, ended: None })
    }
}

impl ParsePlugin for Falco {
    type Event<'a> = RawEvent<'a>;

    fn parse_event(&mut self, input: &EventInput<RawEvent<'_>>, _: &ParseInput<'_>) -> Result<(), Error> {
        let event = input.event()?;
        let tid = event.metadata.tid;
        if let Some(ended) = self.ended.take() {
            self.threads.erase(&ended);
        }
        if tid > 0 && self.threads.lookup(&tid).is_none() {
            let entry = self.threads.create_entry()?;
            self.threads.insert(&tid, entry);
        }
        if event.event_type == PROCEXIT {
            self.ended = Some(tid);
        }
        TABLE_SIZE.with_borrow_mut(|size| *size = self.threads.size());
        Ok(())
    }
}

/// Gives out the events.
pub struct Source(Events);

impl SourcePlugin for Falco {
    type Instance = Source;
    type Event<'a> = RawEvent<'a>;
    // The source `syscall`, which a plugin without an id and a name of its own gives events of.
    const EVENT_SOURCE: &'static CStr = c"syscall";
    const PLUGIN_ID: u32 = 0;

    fn open(&mut self, _: Option<&str>) -> Result<Source, Error> {
        FEED.with_borrow_mut(Option::take).map(Source).ok_or_else(|| anyhow!("nothing was fed"))
    }

    fn event_to_string(&mut self, _: &EventInput<RawEvent<'_>>) -> Result<CString, Error> {
        Ok(CString::default())
    }
}

impl SourcePluginInstance for Source {
    type Plugin = Falco;

    fn next_batch(&mut self, _: &mut Falco, batch: &mut EventBatch<'_>) -> Result<(), Error> {
        let mut given = 0;
        for fed in self.0.by_ref().take(128) {
            let lengths = fed.params.iter().flat_map(|param| (param.len() as u16).to_le_bytes());
            let payload: Vec<u8> = lengths.chain(fed.params.iter().flatten().copied()).collect();
            let metadata = EventMetadata { ts: fed.timestamp_ns, tid: fed.tid };
            let len = 26 + payload.len() as u32;
            let nparams = fed.params.len() as u32;
            batch.add(RawEvent { metadata, len, event_type: fed.event_type, nparams, payload: &payload })?;
            given += 1;
        }
        if given == 0 { Err(anyhow!("no more events").context(FailureReason::Eof)) } else { Ok(()) }
    }
}

static_plugin!(pub FALCO = Falco);
