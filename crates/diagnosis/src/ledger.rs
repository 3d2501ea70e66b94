//! Gathers what happens again and again: deaths of the same kind, uses of the page by one program.
//!
//! Bounded: [`MAX_GROUPS`] kinds of each; what finds no place is counted.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use crate::activity::{Account, LockWaits, Startup, TimeUse};
use crate::episodes::{Death, Emulated, PageUse, Touched};
use crate::fault::{Access, Fault};
use crate::finding::ProcessRef;
use crate::signal::{SIGBUS, SIGSEGV};
use crate::state::ContainerId;
use crate::vsyscall;

/// Kinds of deaths, and programs that used the page, that are told apart.
pub const MAX_GROUPS: usize = 512;
/// Process ids and gaps kept per kind.
pub const KEPT: usize = 16;
/// Addresses below this belong to nobody: a null pointer and what it points into
/// (vm.mmap_min_addr, 65,536 by default).
pub const NULL_END: u64 = 0x1_0000;

/// What makes two faults the same kind of death.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Cause {
    NoFault,
    VsyscallPage(u64, Access),
    Null(Access),
    Address(Access),
    /// All that is known is the address that the signal brought: its offset in the vsyscall page, whether it is
    /// next to null.
    Told(Option<u64>, bool),
}

impl Cause {
    fn of(death: &Death) -> Self {
        match (&death.fault, death.told()) {
            (Some(fault), _) => Self::of_fault(fault),
            (None, Some(told)) => Self::Told(vsyscall::offset(told.address), told.address < NULL_END),
            (None, None) => Self::NoFault,
        }
    }

    fn of_fault(fault: &Fault) -> Self {
        match vsyscall::offset(fault.address) {
            Some(offset) => Self::VsyscallPage(offset, fault.access()),
            None if fault.address < NULL_END => Self::Null(fault.access()),
            None => Self::Address(fault.access()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Program {
    container: Option<ContainerId>,
    comm: Option<String>,
    exe: Option<String>,
}

impl Program {
    fn of(process: &ProcessRef, container: Option<ContainerId>) -> Self {
        Self { container, comm: process.comm.clone(), exe: process.exepath.clone().or_else(|| process.exe.clone()) }
    }
}

/// Deaths of the same program in the same container by the same cause.
#[derive(Debug, Clone)]
pub struct Deaths {
    /// The one of which most is recorded; the first of those.
    pub shown: Death,
    /// How many.
    pub count: u64,
    /// Of how many less is recorded than of the one shown.
    pub less_sure: u64,
    /// Their process ids, the first [`KEPT`].
    pub pids: Vec<i64>,
    /// When they were, in nanoseconds since the epoch, the first [`KEPT`] + 1.
    pub times_ns: Vec<u64>,
}

/// What a program did in the vsyscall page and lived, over all its processes.
#[derive(Debug)]
pub struct ProgramUse {
    /// One of the processes.
    pub process: ProcessRef,
    /// Their container.
    pub container: Option<ContainerId>,
    /// What they did together.
    pub page_use: PageUse,
    /// How many processes.
    pub processes: u64,
}

/// Something that one process of a program did, and the others too.
#[derive(Debug, Clone)]
pub struct Single<T> {
    /// What the process did that did most of it.
    pub what: Box<T>,
    /// That process.
    pub process: ProcessRef,
    /// How long its system calls took, all of them and those of futex.
    pub took_ns: [u64; 2],
    /// How many processes did such a thing.
    pub processes: u64,
}

impl<T> Single<T> {
    /// Takes in what another process did; `is_more`: whether that is more than this.
    fn add(
        known: &mut Option<Self>,
        what: Box<T>,
        process: &ProcessRef,
        took_ns: [u64; 2],
        is_more: fn(&T, &T) -> bool,
    ) {
        let processes = known.as_ref().map_or(0, |known| known.processes) + 1;
        match known {
            Some(known) if !is_more(&what, &known.what) => known.processes = processes,
            _ => *known = Some(Self { what, process: process.clone(), took_ns, processes }),
        }
    }
}

/// What the system calls of a program amount to, over all its processes.
#[derive(Debug)]
pub struct Pace {
    /// The process that asked for the time most often, or the first.
    pub process: ProcessRef,
    /// Their container.
    pub container: Option<ContainerId>,
    /// Calls that wait.
    pub waits: u64,
    /// Their system calls for the time.
    pub time: Option<Box<TimeUse>>,
    /// How many processes made such calls.
    pub time_processes: u64,
    /// All system calls of these.
    pub time_of_calls: u64,
    /// The start-up that was furthest out of the ordinary.
    pub startup: Option<Single<Startup>>,
    /// The process that waited most for locks.
    pub locks: Option<Single<LockWaits>>,
}

impl Pace {
    fn add(&mut self, told: Account, process: ProcessRef) {
        let took_ns = [told.took_ns, told.futex_ns];
        self.waits += told.waits;
        if let Some(startup) = told.startup {
            Single::add(&mut self.startup, startup, &process, took_ns, |new, known| new.weight() > known.weight());
        }
        if let Some(locks) = told.locks {
            Single::add(&mut self.locks, locks, &process, took_ns, |new, known| new.weight() > known.weight());
        }
        let Some(time) = told.time else { return };
        self.time_processes += 1;
        self.time_of_calls += told.calls;
        match &mut self.time {
            Some(known) => {
                if time.peak.most() > known.peak.most() {
                    self.process = process;
                }
                known.add(&time);
            }
            none => {
                *none = Some(time);
                self.process = process;
            }
        }
    }

    /// Its system calls for the time.
    #[must_use]
    pub fn time(&self) -> Option<&TimeUse> {
        self.time.as_deref()
    }

    fn only_waits(&self) -> bool {
        self.time.is_none() && self.startup.is_none() && self.locks.is_none()
    }
}

/// Everything gathered.
#[derive(Debug, Default)]
pub struct Ledger {
    deaths: Vec<Deaths>,
    uses: Vec<ProgramUse>,
    paces: Vec<Pace>,
    death_index: FxHashMap<(Program, u8, Cause, bool), usize>,
    use_index: FxHashMap<Program, usize>,
    pace_index: FxHashMap<Program, usize>,
    omitted: u64,
}

impl Ledger {
    /// The kinds of deaths, in the order in which they happened first.
    #[must_use]
    pub fn deaths(&self) -> &[Deaths] {
        &self.deaths
    }

    /// Deaths by signals that a page fault explains, but for those that tell their address themselves.
    #[must_use]
    pub fn segfaults(&self) -> u64 {
        let untold = self.deaths.iter().filter(|deaths| deaths.shown.told().is_none());
        let faulted = untold.filter(|deaths| matches!(deaths.shown.signal, SIGSEGV | SIGBUS));
        faulted.map(|deaths| deaths.count).sum()
    }

    /// The programs that used the page and lived.
    #[must_use]
    pub fn uses(&self) -> &[ProgramUse] {
        &self.uses
    }

    /// The programs whose system calls amount to something.
    #[must_use]
    pub fn paces(&self) -> &[Pace] {
        &self.paces
    }

    /// Deaths, uses and paces that found no place.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Notes a death.
    pub fn death(&mut self, death: Death) {
        let program = Program::of(&death.process, death.container);
        let key = (program, death.signal, Cause::of(&death), death.handler_ran);
        let (pid, time) = (death.process.pid, death.at().timestamp_ns);
        if let Some(at) = self.death_index.get(&key) {
            let deaths = &mut self.deaths[*at];
            match death.recorded().cmp(&deaths.shown.recorded()) {
                Ordering::Less => (deaths.shown, deaths.less_sure) = (death, deaths.count),
                Ordering::Equal => {}
                Ordering::Greater => deaths.less_sure += 1,
            }
            deaths.count += 1;
            if deaths.pids.len() < KEPT {
                deaths.pids.push(pid);
            }
            if deaths.times_ns.len() <= KEPT {
                deaths.times_ns.push(time);
            }
        } else if self.deaths.len() < MAX_GROUPS {
            self.death_index.insert(key, self.deaths.len());
            self.deaths.push(Deaths { shown: death, count: 1, less_sure: 0, pids: vec![pid], times_ns: vec![time] });
        } else {
            self.omitted += 1;
        }
    }

    /// Notes what a process did in the page and lived.
    pub fn page_use(&mut self, page_use: PageUse, process: ProcessRef, container: Option<ContainerId>) {
        let program = Program::of(&process, container);
        if let Some(at) = self.use_index.get(&program) {
            let known = &mut self.uses[*at];
            known.processes += 1;
            add(&mut known.page_use, page_use);
        } else if self.uses.len() < MAX_GROUPS {
            self.use_index.insert(program, self.uses.len());
            self.uses.push(ProgramUse { process, container, page_use, processes: 1 });
        } else {
            self.omitted += 1;
        }
    }
}

/// Programs of which nothing is known but that they wait, which are the most; more are not told apart.
const ONLY_WAITING: usize = 128;

impl Ledger {
    /// Notes what the system calls of a process amount to.
    pub fn activity(&mut self, told: Account, process: ProcessRef, container: Option<ContainerId>) {
        let program = Program::of(&process, container);
        if let Some(at) = self.pace_index.get(&program) {
            return self.paces[*at].add(told, process);
        }
        let only_waits = told.time.is_none() && told.startup.is_none() && told.locks.is_none();
        if only_waits && self.paces.iter().filter(|pace| pace.only_waits()).count() >= ONLY_WAITING {
            return;
        }
        if self.paces.len() >= MAX_GROUPS {
            self.omitted += 1;
            return;
        }
        self.pace_index.insert(program, self.paces.len());
        let mut pace = Pace {
            process: process.clone(),
            container,
            waits: 0,
            time: None,
            time_processes: 0,
            time_of_calls: 0,
            startup: None,
            locks: None,
        };
        pace.add(told, process);
        self.paces.push(pace);
    }
}

fn add(to: &mut PageUse, more: PageUse) {
    match (&mut to.emulated, more.emulated) {
        (Some(emulated), Some(more)) => add_emulated(emulated, &more),
        (none, more) => *none = none.take().or(more),
    }
    for (touched, more) in
        [(&mut to.handled, more.handled), (&mut to.misaligned, more.misaligned), (&mut to.read, more.read)]
    {
        match (touched, more) {
            (Some(Touched { count, .. }), Some(more)) => *count += more.count,
            (none, more) => *none = none.take().or(more),
        }
    }
    to.outcome = more.outcome;
}

/// Processes of one program that follow one another or run side by side: the peak is that of the
/// busiest one.
fn add_emulated(emulated: &mut Emulated, more: &Emulated) {
    for (calls, more) in emulated.calls.iter_mut().zip(more.calls) {
        *calls += more;
    }
    if more.first.at.event < emulated.first.at.event {
        emulated.first = more.first;
    }
    if more.last.event > emulated.last.event {
        emulated.last = more.last;
    }
    emulated.peak.add(&more.peak);
    if let (Some(gaps), Some(more)) = (&mut emulated.gaps, &more.gaps) {
        gaps.add(more);
    }
}
