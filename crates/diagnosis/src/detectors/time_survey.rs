//! Weighs who asks the kernel for the time: many unrelated programs, or one among many that do not.
//!
//! Where the clocksource can be read in user space, an ordinary program makes no such system call at all; where it
//! cannot, nearly every program that asks for the time does. A program that asks through the vDSO leaves no trace,
//! so what can be counted on the other side is programs that wait: who waits for input or for others mostly asks
//! for the time in between.

use crate::activity::{TimeCall, TimeUse};
use crate::finding::ProcessRef;
use crate::ledger::Pace;

/// System calls for the time from which on a program counts as one that asks the kernel. Under hpet the one that
/// asked least in the recorded captures made 100; a C library that measures its own processor time makes a few.
const ASKING: u64 = 20;
/// Waits from which on a program without such calls counts as one that does not have to ask the kernel. Under hpet
/// each with more than 10 waits asked; under tsc dockerd, containerd, their shims and clients had 500 to 1700 waits
/// each, and asked never.
const SILENT: u64 = 100;
/// Programs that have to ask for the clocksource to be the cause: two may share a library.
const MANY: usize = 3;
/// As many where hardly any call is gettimeofday(): clock_gettime() may also be asked for the processor time used,
/// which is in the kernel under every clocksource.
const MANY_BY_CLOCK: usize = 4;
/// One wait in so many may go with a call for the time in a program that is still silent.
const HARDLY_EVER: u64 = 50;
/// Programs that have to be silent for the clocksource not to be the cause.
const ENOUGH_SILENT: usize = 2;
/// So many times more programs ask than are silent where the clocksource is the cause.
const OUTWEIGHS: usize = 4;

/// What makes a program ask the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The clocksource cannot be read in user space.
    Clocksource,
    /// The program does not use the vDSO.
    Userspace,
}

impl Cause {
    /// The finding that says so.
    pub fn finding(self) -> &'static str {
        match self {
            Self::Clocksource => "clocksource-not-vdso",
            Self::Userspace => "userspace-without-vdso",
        }
    }
}

/// A program, over all its processes.
#[derive(Debug, Default)]
pub struct Program<'a> {
    /// What it goes by: the names of its files and its command names.
    names: Vec<&'a str>,
    /// What its processes did.
    pub paces: Vec<&'a Pace>,
    waits: u64,
    /// System calls for the time that the clocksource decides about, and others.
    pub clock: u64,
    other: u64,
    /// Those that no clock of processor time is asked by.
    gettimeofday: u64,
}

impl<'a> Program<'a> {
    fn of(pace: &'a Pace) -> Self {
        let mut program = Self { names: names(&pace.process), paces: vec![pace], waits: pace.waits, ..Self::default() };
        if let Some(time) = &pace.time {
            program.clock = time.of_clocksource();
            program.other = time.total() - program.clock;
            program.gettimeofday = time.calls[TimeCall::Gettimeofday as usize];
        }
        program
    }

    fn is_same(&self, other: &Self) -> bool {
        self.names.iter().any(|name| other.names.contains(name))
    }

    fn add(&mut self, more: Self) {
        self.names.extend(more.names);
        self.paces.extend(more.paces);
        self.waits += more.waits;
        self.clock += more.clock;
        self.other += more.other;
        self.gettimeofday += more.gettimeofday;
    }

    /// Who asks asks at least as often as every other time it waits: under hpet each did so more often than it
    /// waited. A program that measures processor time now and then does not.
    fn asks(&self) -> bool {
        self.clock >= ASKING && self.clock * 2 >= self.waits
    }

    fn is_silent(&self) -> bool {
        self.waits >= SILENT && self.clock * HARDLY_EVER < self.waits
    }
}

/// The programs of a capture, by what they do about the time.
#[derive(Debug)]
pub struct Survey<'a> {
    /// Programs that ask the kernel for the time where only the clocksource makes the vDSO do so, those that asked
    /// most first.
    pub asking: Vec<Program<'a>>,
    /// Programs that ask it for what the vDSO always answers itself.
    pub unaware: usize,
    /// Programs that wait often and hardly ever ask.
    pub silent: usize,
}

impl<'a> Survey<'a> {
    /// Looks at all programs. A program is what goes by the same file or the same command name, in whatever container:
    /// python3 and python3.11 are one, and so are the copies of a program.
    pub fn of(paces: &'a [Pace]) -> Self {
        let mut programs: Vec<Program<'_>> = Vec::new();
        for pace in paces {
            let mut program = Program::of(pace);
            let (same, others) = programs.into_iter().partition(|known| program.is_same(known));
            programs = others;
            Vec::into_iter(same).for_each(|known| program.add(known));
            programs.push(program);
        }
        let unaware = programs.iter().filter(|program| program.other >= ASKING).count();
        let silent = programs.iter().filter(|program| program.is_silent()).count();
        let mut asking: Vec<_> = programs.into_iter().filter(Program::asks).collect();
        asking.sort_by_key(|program| std::cmp::Reverse(program.clock));
        Self { asking, unaware, silent }
    }

    /// Whether the clocksource is what makes programs ask.
    pub fn is_clocksource(&self) -> bool {
        let gettimeofday: u64 = self.asking.iter().map(|program| program.gettimeofday).sum();
        let many = if gettimeofday >= ASKING { MANY } else { MANY_BY_CLOCK };
        self.asking.len() >= many && self.silent * OUTWEIGHS <= self.asking.len()
    }

    /// What makes a program with such calls ask; `None`: the capture cannot tell.
    pub fn cause(&self, time: &TimeUse) -> Option<Cause> {
        if self.is_clocksource() {
            return Some(Cause::Clocksource);
        }
        // No clocksource makes the vDSO's time() and getcpu() fall back, but a kernel without a vDSO does, for all.
        let falls_back_by_itself = (time.total() - time.of_clocksource()) * 2 > time.total() && self.unaware < MANY;
        let alone = self.asking.len() < MANY && self.silent >= ENOUGH_SILENT;
        (falls_back_by_itself || alone).then_some(Cause::Userspace)
    }
}

/// What a program is called, for people and to tell it from others: the name of its file.
pub fn name(process: &ProcessRef) -> &str {
    file(process).or(process.comm.as_deref()).unwrap_or_default()
}

fn file(process: &ProcessRef) -> Option<&str> {
    let path = process.exepath.as_deref().or(process.exe.as_deref())?;
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

/// All that a program goes by. What runs itself by /proc/self/exe goes by that, whatever it is, which is a name only
/// where there is no other.
fn names(process: &ProcessRef) -> Vec<&str> {
    let known = [file(process), process.comm.as_deref()].into_iter().flatten();
    let own: Vec<&str> = known.filter(|name| !["", ITSELF].contains(name)).collect();
    if own.is_empty() { vec![name(process)] } else { own }
}

const ITSELF: &str = "exe";
