//! Turns the items of a capture into findings: what died, why, and the events that prove it.
//!
//! No I/O and no wording: findings carry ids, facts and event numbers. The way through:
//! [`State`] follows threads, processes and containers and says what happens to them; [`Ledger`]
//! gathers that; at the end the [`detectors`] judge it.

mod activity;
mod calls;
pub mod detectors;
mod episodes;
mod fault;
mod finding;
mod ledger;
mod mode;
mod signal;
mod state;
mod summary;
mod vsyscall;
mod window;

use scapfile::{Damage, Item, MachineInfo, SkipReason};
use serde::Serialize;

pub use activity::{
    Account, EmptyEntry, Ending, Histogram, Kept, Lock, LockWaits, Peak, Room, Startup, TimeCall, TimeUse,
};
pub use calls::{CompletedCall, Entered, Generic, LockWait, OpenCall};
pub use detectors::{DEFAULT_HOT_CALLS, Damaged};
pub use episodes::{Death, Delivery, Emulated, MappingCheck, Outcome, PageUse, Told, Touched};
pub use fault::{Access, Fault};
pub use finding::{Confidence, ContainerRef, Evidence, Facts, Finding, Moment, ProcessRef, Relative, Severity};
pub use ledger::{Deaths, Ledger, Pace, ProgramUse, Single};
pub use mode::{KernelMode, ModeEvidence};
pub use signal::{SIGABRT, SIGSEGV, WaitStatus};
pub use state::{
    ContainerId, Containers, MAX_PROCESSES, MAX_THREADS, Process, ProcessKey, ProgramKey, RecentCall, State,
};
pub use summary::Summary;
pub use vsyscall::{Call, Mode, PAGE, offset};
pub use window::Window;

use detectors::Survey;
use state::Happening;

/// The machine, as reports show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Host name.
    pub hostname: String,
    /// Number of processors.
    pub cpus: u32,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Boot time in nanoseconds since the epoch.
    pub boot_timestamp_ns: Option<u64>,
}

impl From<&MachineInfo> for Machine {
    fn from(machine: &MachineInfo) -> Self {
        let MachineInfo { hostname, cpus, memory_bytes, boot_timestamp_ns } = machine.clone();
        Self { hostname, cpus, memory_bytes, boot_timestamp_ns }
    }
}

/// What could not be kept or read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Omitted {
    /// Blocks of a type this program does not know.
    pub unknown_blocks: u64,
    /// Events whose block cannot hold them, or that are larger than 16 MiB.
    pub undecoded_events: u64,
    /// Lists that end in something their layout does not have.
    pub malformed_lists: u64,
    /// Threads forgotten because more than [`MAX_THREADS`] were alive.
    pub threads_forgotten: u64,
    /// Deaths, uses of the vsyscall page and paces of programs that are in no finding: more kinds than are told apart.
    pub happenings_omitted: u64,
    /// Processes whose calls for the time, start-up or waits for locks were not followed: too many at once.
    pub processes_unwatched: u64,
}

impl Omitted {
    /// Notes that a block, or a part of one, was passed over.
    pub fn note(&mut self, reason: SkipReason) {
        match reason {
            SkipReason::UnknownBlock => self.unknown_blocks += 1,
            SkipReason::MalformedEvent | SkipReason::TooLarge => self.undecoded_events += 1,
            SkipReason::MalformedList => self.malformed_lists += 1,
        }
    }
}

/// Everything the diagnosis has to say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The machine, if the capture says.
    pub machine: Option<Machine>,
    /// How the kernel treats the vsyscall page.
    pub kernel: KernelMode,
    /// The findings: the worst first, then in the order of events.
    pub findings: Vec<Finding>,
    /// What could not be kept or read.
    pub omitted: Omitted,
}

/// Reads a capture item by item, then reports.
#[derive(Debug, Default)]
pub struct Diagnosis {
    state: State,
    ledger: Ledger,
    summary: Summary,
    machine: Option<Machine>,
    omitted: Omitted,
    hot_calls: Option<u64>,
    earlier: Earlier,
}

/// What was found in the sections before the one being read.
#[derive(Debug, Default)]
struct Earlier {
    findings: Vec<Finding>,
    kernels: Vec<KernelMode>,
    segfaults: u64,
    threads_forgotten: u64,
    unwatched: u64,
}

/// Sections of one capture whose kernels are remembered, and findings kept over all of them.
const MAX_SECTIONS: usize = 64;
const MAX_FINDINGS: usize = 2048;

impl Diagnosis {
    /// Sets how many calls for the time of one process within a second count as hot.
    #[must_use]
    pub fn with_hot_calls(mut self, calls: u64) -> Self {
        self.hot_calls = Some(calls);
        self
    }

    /// Takes in the next item of the capture.
    #[inline]
    pub fn item(&mut self, item: &Item<'_>) {
        if let Item::Event(event) = item {
            self.state.event(event);
            self.summary.note(event);
            if self.state.has_happenings() {
                self.gather();
            }
        } else {
            self.other_item(item);
        }
    }

    fn other_item(&mut self, item: &Item<'_>) {
        match item {
            Item::Process(process) => self.state.process(process),
            Item::Section(_) if self.summary.events() > 0 => self.end_section(),
            Item::Machine(machine) => self.machine = Some(machine.into()),
            Item::Skipped(_, reason) => self.omitted.note(*reason),
            _ => {}
        }
    }

    #[inline(never)]
    fn gather(&mut self) {
        for happening in self.state.happenings() {
            match happening {
                Happening::Death(death) => self.ledger.death(*death),
                Happening::PageUse(page_use, process, container) => {
                    self.ledger.page_use(*page_use, *process, container)
                }
                Happening::Activity(told, process, container) => self.ledger.activity(*told, *process, container),
            }
        }
    }

    /// What the capture holds, so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Everything alive, at the present event.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A section may come from another machine or another boot: its threads and its kernel are its own.
    fn end_section(&mut self) {
        self.state.end();
        self.gather();
        let kernel = self.state.modes().infer();
        let survey = Survey::of(self.ledger.paces());
        let case = self.case(kernel.vsyscall_mode, None, &survey);
        let (mut findings, segfaults) = (detectors::of_section(&case), case.ledger.segfaults());
        let room = MAX_FINDINGS.saturating_sub(self.earlier.findings.len());
        self.omitted.happenings_omitted += findings.len().saturating_sub(room) as u64 + self.ledger.omitted();
        findings.truncate(room);
        self.earlier.findings.append(&mut findings);
        self.earlier.segfaults += segfaults;
        self.earlier.threads_forgotten += self.state.threads_forgotten();
        self.earlier.unwatched += self.state.unwatched();
        if kernel.vsyscall_mode != Mode::Unknown && self.earlier.kernels.len() < MAX_SECTIONS {
            self.earlier.kernels.push(kernel);
        }
        self.state = State::default();
        self.ledger = Ledger::default();
    }

    fn case<'a>(&'a self, mode: Mode, damage: Option<&'a Damaged>, survey: &'a Survey<'a>) -> detectors::Case<'a> {
        detectors::Case {
            survey,
            ledger: &self.ledger,
            summary: &self.summary,
            mode,
            damage,
            containers: self.state.containers(),
            hot_calls: self.hot_calls.unwrap_or(DEFAULT_HOT_CALLS),
            earlier_segfaults: self.earlier.segfaults,
        }
    }

    /// Ends the capture and judges what was gathered; `damage`: why reading ended early, if it did.
    #[must_use]
    pub fn finish(&mut self, damage: Option<&Damage>) -> Report {
        self.state.end();
        self.gather();
        let kernel = self.state.modes().infer();
        let damaged = damage.map(Damaged::from);
        let survey = Survey::of(self.ledger.paces());
        let case = self.case(kernel.vsyscall_mode, damaged.as_ref(), &survey);
        let mut findings = detectors::of_section(&case);
        findings.extend(detectors::of_capture(&case));
        findings.append(&mut self.earlier.findings);
        detectors::sort(&mut findings);
        let threads_forgotten = self.state.threads_forgotten() + self.earlier.threads_forgotten;
        let happenings_omitted = self.omitted.happenings_omitted + self.ledger.omitted();
        let processes_unwatched = self.state.unwatched() + self.earlier.unwatched;
        let omitted = Omitted { threads_forgotten, happenings_omitted, processes_unwatched, ..self.omitted };
        let kernel = one_kernel(self.earlier.kernels.drain(..).chain([kernel]));
        Report { machine: self.machine.clone(), kernel, findings, omitted }
    }
}

/// The kernel of all sections. If they tell of different ones there is none to report.
fn one_kernel(kernels: impl Iterator<Item = KernelMode>) -> KernelMode {
    let mut known = kernels.filter(|kernel| kernel.vsyscall_mode != Mode::Unknown);
    let unknown = KernelMode { vsyscall_mode: Mode::Unknown, vsyscall_mode_evidence: Vec::new() };
    let Some(first) = known.next() else { return unknown };
    if known.all(|kernel| kernel.vsyscall_mode == first.vsyscall_mode) { first } else { unknown }
}
