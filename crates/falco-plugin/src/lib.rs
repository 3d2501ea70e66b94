//! The Falco plugin: turns Falco's events into fields that say what single events cannot, the sequence of a crash
//! and the rate of calls.
//!
//! What is remembered of a thread stands in Falco's thread table; the plugin itself has the kernel's vsyscall mode,
//! and what the present event means. Falco gives each event to the plugin once, and asks for fields right after that.

mod clock;
mod config;
mod events;
mod fields;
mod page;
mod storm;
mod threads;

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Error, anyhow};
use diagnosis::{Fault, Generic, Mode, ModeEvidence, Moment, WaitStatus};
use falco_plugin::base::{Json, Metric, MetricLabel, MetricType, MetricValue, Plugin};
use falco_plugin::event::events::AnyEventPayload;
use falco_plugin::parse::{EventInput, ParseInput, ParsePlugin};
use falco_plugin::tables::TablesInput;
use scapfile::{Event, syscalls};

use clock::Asked;
pub use config::{Config, TimeCall};
use events::{EXECVE, EXECVEAT, EXIT, GENERIC, Known, PAGE_FAULT, SIGNAL, Signal};
use page::{PageState, RECENT_NS, Seen};
use threads::{Thread, Threads};

/// The types of events that the plugin is given.
pub const EVENT_TYPES: &[u16] = Known::EVENT_TYPES;

/// What the event means that Falco is at.
#[derive(Debug, Clone, Copy, Default)]
struct Present {
    /// Its number.
    event: u64,
    /// In the vsyscall page.
    page: Option<Seen>,
    /// As a system call for the time.
    asked: Option<Asked>,
    /// How the kernel treats the page, as far as is known by now.
    mode: Option<Mode>,
}

/// Events that came to nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Missed {
    /// Their parameters are not those of their type.
    malformed: u64,
    /// Falco's thread table does not have their thread.
    thread_unknown: u64,
    /// The plugin failed on them: a bug of ours.
    failed: u64,
}

/// The plugin.
pub struct Scapscope {
    config: Config,
    threads: Threads,
    /// libscap's codes of the system calls for the time.
    time_codes: Vec<u16>,
    modes: ModeEvidence,
    /// After this time no thread is at a fault in the page of which more may come at its next event, so that faults
    /// elsewhere need no look into the thread table.
    page_until_ns: u64,
    present: Present,
    missed: Missed,
}

impl Plugin for Scapscope {
    const NAME: &'static CStr = c"scapscope";
    const PLUGIN_VERSION: &'static CStr = VERSION;
    const DESCRIPTION: &'static CStr =
        c"Crashes by calls into the vsyscall page, storms of emulated calls, and high rates of system calls for the time";
    const CONTACT: &'static CStr = c"the scapscope project";
    type ConfigType = Json<Config>;

    fn new(input: Option<&TablesInput>, Json(config): Json<Config>) -> Result<Self, Error> {
        let input = input.context("this Falco gives plugins no tables")?;
        let threads = input.get_table(threads::TABLE).context("Falco's thread table cannot be used")?;
        let time_codes = time_codes(&config);
        let (present, missed) = (Present::default(), Missed::default());
        Ok(Self { config, threads, time_codes, modes: ModeEvidence::default(), page_until_ns: 0, present, missed })
    }

    fn set_config(&mut self, Json(config): Json<Config>) -> Result<(), Error> {
        self.time_codes = time_codes(&config);
        self.config = config;
        Ok(())
    }

    fn get_metrics(&mut self) -> impl IntoIterator<Item = Metric> {
        let Missed { malformed, thread_unknown, failed } = self.missed;
        [(c"events_malformed", malformed), (c"events_of_unknown_threads", thread_unknown), (c"events_failed", failed)]
            .map(|(name, count)| MetricLabel::new(name, MetricType::Monotonic).with_value(MetricValue::U64(count)))
    }
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"0",
};

fn time_codes(config: &Config) -> Vec<u16> {
    let wanted = |name| config.time_syscalls.iter().any(|call| call.name() == name);
    syscalls::names().filter(|(_, name)| wanted(*name)).map(|(code, _)| code).collect()
}

impl ParsePlugin for Scapscope {
    type Event<'a> = Known<'a>;

    /// Never fails, and never unwinds into Falco: what goes wrong is counted.
    fn parse_event(&mut self, input: &EventInput<Known<'_>>, tables: &ParseInput<'_>) -> Result<(), Error> {
        self.present = Present { event: input.event_number() as u64, ..Present::default() };
        if let Err(problem) = contained(|| self.take_in(input, tables)) {
            self.present = Present { event: self.present.event, ..Present::default() };
            if self.missed.failed == 0 {
                log::error!("event {} could not be taken in, nor may others: {problem}", self.present.event);
            }
            self.missed.failed += 1;
        }
        Ok(())
    }
}

/// Does `work`; a panic in it becomes an error.
fn contained(work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(anyhow!("the plugin panicked")))
}

impl Scapscope {
    fn take_in(&mut self, input: &EventInput<Known<'_>>, tables: &ParseInput<'_>) -> Result<(), Error> {
        let Known(mut event) = input.event()?;
        event.number = self.present.event;
        match event.event_type {
            PAGE_FAULT => self.page_fault(&event, tables),
            GENERIC => self.generic(&event, tables),
            SIGNAL => self.signal(&event, tables),
            EXIT => self.exit(&event, tables),
            EXECVE | EXECVEAT => self.exec(&event, tables),
            _ => Ok(()),
        }
    }

    fn page_fault(&mut self, event: &Event<'_>, tables: &ParseInput<'_>) -> Result<(), Error> {
        let Some(fault) = Fault::read(event) else {
            // A fault of the kernel itself, such as for the stack that it puts a signal on, tells nothing of the thread.
            return if event.values_of([8, 8, 4]).is_some() { Ok(()) } else { self.malformed() };
        };
        if !fault.in_vsyscall_page() {
            return self.went_on(event, tables);
        }
        let threshold = self.config.emulated();
        self.page_until_ns = event.timestamp_ns.saturating_add(RECENT_NS);
        let seen = self.in_page(event, tables, |state, modes| state.fault(fault, threshold, modes))?;
        self.tell(seen);
        Ok(())
    }

    fn signal(&mut self, event: &Event<'_>, tables: &ParseInput<'_>) -> Result<(), Error> {
        let Some(signal) = event.params().ok().and_then(Signal::read) else { return self.malformed() };
        if !matches!(signal.number, diagnosis::SIGSEGV | diagnosis::SIGABRT) {
            return Ok(());
        }
        let now = Moment::of(event);
        self.page_until_ns = event.timestamp_ns.saturating_add(RECENT_NS);
        let seen = self.in_page(event, tables, |state, modes| state.signal(signal, now, modes))?;
        self.tell(seen);
        Ok(())
    }

    fn exit(&mut self, event: &Event<'_>, tables: &ParseInput<'_>) -> Result<(), Error> {
        let Some(status) = event.params().ok().and_then(|params| params.signed(0)) else { return self.malformed() };
        let (now, mode) = (Moment::of(event), self.modes.mode());
        let seen = self.in_page(event, tables, |state, _| state.exit(WaitStatus(status), now, mode))?;
        self.tell(seen);
        Ok(())
    }

    /// Another program: nothing of what the thread did counts any more.
    fn exec(&mut self, event: &Event<'_>, tables: &ParseInput<'_>) -> Result<(), Error> {
        let Some(result) = event.params().ok().and_then(|params| params.signed(0)) else { return self.malformed() };
        if result != 0 {
            return Ok(());
        }
        self.in_page(event, tables, |state, _| *state = PageState::default())?;
        let Some(thread) = self.thread(event, tables) else { return Ok(()) };
        let before = threads::clock(&thread, &tables.reader);
        threads::keep_clock(&thread, &tables.writer, &before, &Default::default())
    }

    fn generic(&mut self, event: &Event<'_>, tables: &ParseInput<'_>) -> Result<(), Error> {
        let Some(Generic { code, .. }) = Generic::of(event) else { return self.malformed() };
        self.went_on(event, tables)?;
        if !self.time_codes.contains(&code) {
            return Ok(());
        }
        let Some(thread) = self.thread(event, tables) else { return Ok(()) };
        let before = threads::clock(&thread, &tables.reader);
        let mut state = before;
        self.present.asked = Some(state.ask(event.timestamp_ns, event.number, self.config.time()));
        threads::keep_clock(&thread, &tables.writer, &before, &state)
    }

    /// The thread did something that has nothing to do with the page.
    fn went_on(&mut self, event: &Event<'_>, tables: &ParseInput<'_>) -> Result<(), Error> {
        if event.timestamp_ns > self.page_until_ns {
            return Ok(());
        }
        let (now_ns, tid) = (event.timestamp_ns, event.tid);
        self.in_page(event, tables, |state, modes| state.went_on(now_ns, tid, modes)).map(|_| ())
    }

    /// Has `change` work on what the event's thread has done in the page; `None` if Falco does not know the thread.
    fn in_page<T>(
        &mut self,
        event: &Event<'_>,
        tables: &ParseInput<'_>,
        change: impl FnOnce(&mut PageState, &mut ModeEvidence) -> T,
    ) -> Result<Option<T>, Error> {
        let Some(thread) = self.thread(event, tables) else { return Ok(None) };
        let before = threads::page(&thread, &tables.reader);
        let mut state = before;
        let made = change(&mut state, &mut self.modes);
        threads::keep_page(&thread, &tables.writer, &before, &state)?;
        Ok(Some(made))
    }

    fn thread(&mut self, event: &Event<'_>, tables: &ParseInput<'_>) -> Option<Thread> {
        let found = self.threads.get_entry(&tables.reader, &event.tid).ok();
        self.missed.thread_unknown += u64::from(found.is_none());
        found
    }

    fn tell(&mut self, seen: Option<Option<Seen>>) {
        self.present.page = seen.flatten();
        self.present.mode = self.present.page.map(|_| self.modes.mode());
    }

    fn malformed(&mut self) -> Result<(), Error> {
        self.missed.malformed += 1;
        Ok(())
    }
}

/// The functions of the plugin API, which the macros of the SDK write.
mod exports {
    use falco_plugin::{extract_plugin, parse_plugin, plugin};

    use crate::Scapscope;

    plugin!(Scapscope);
    parse_plugin!(Scapscope);
    extract_plugin!(Scapscope);
}

#[cfg(test)]
mod tests {
    use scapfile::schema;

    use super::*;

    #[test]
    fn a_panic_is_contained() {
        assert!(contained(|| panic!("on purpose")).is_err());
        assert!(contained(|| Err(anyhow!("on purpose"))).is_err());
        assert!(contained(|| Ok(())).is_ok());
    }

    #[test]
    fn event_types_are_those_that_current_recorders_write() {
        let newest = |name: &str, exit: bool| {
            (0..schema::known_types()).rev().find(|number| schema::name(*number) == name && (number % 2 == 1) == exit)
        };
        let wanted = [
            ("syscall", true),
            ("procexit", false),
            ("signaldeliver", false),
            ("page_fault", false),
            ("execve", true),
            ("execveat", true),
        ];
        assert_eq!(EVENT_TYPES, wanted.map(|(name, exit)| newest(name, exit).expect(name)));
    }

    #[test]
    fn each_system_call_for_the_time_has_a_code() {
        assert_eq!(time_codes(&Config::default()).len(), 4);
        let one = Config { time_syscalls: vec![TimeCall::Getcpu], ..Config::default() };
        assert_eq!(
            time_codes(&one).iter().map(|code| syscalls::name(u64::from(*code))).collect::<Vec<_>>(),
            ["getcpu"]
        );
    }
}
