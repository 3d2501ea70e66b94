//! Weighs who asks the kernel for the time: many unrelated programs, or one among many that do not.
//!
//! Where the clocksource can be read in user space, an ordinary program makes no such system call at all; where it
//! cannot, nearly every program that asks for the time does. A program that asks through the vDSO leaves no trace,
//! so what can be counted on the other side is programs that wait: who waits for input or for others mostly asks
//! for the time in between.

use std::collections::BTreeMap;

use crate::activity::TimeUse;
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

#[derive(Debug, Default)]
struct Program {
    waits: u64,
    /// System calls for the time that the clocksource decides about, and others.
    clock: u64,
    other: u64,
}

impl Program {
    /// Who asks asks at least as often as every other time it waits: under hpet each did so more often than it
    /// waited. A program that measures processor time now and then does not.
    fn asks(&self) -> bool {
        self.clock >= ASKING && self.clock * 2 >= self.waits
    }

    fn is_silent(&self) -> bool {
        self.waits >= SILENT && self.clock == 0
    }
}

/// The programs of a capture, by what they do about the time.
#[derive(Debug)]
pub struct Survey {
    /// Programs that ask the kernel for the time where only the clocksource makes the vDSO do so.
    pub asking: usize,
    /// Programs that ask it for what the vDSO always answers itself.
    pub unaware: usize,
    /// Programs that wait often and never ask.
    pub silent: usize,
}

impl Survey {
    /// Looks at all programs. A program is its file, in whatever container.
    pub fn of(paces: &[Pace]) -> Self {
        let mut programs: BTreeMap<&str, Program> = BTreeMap::new();
        for pace in paces {
            let program = programs.entry(name(&pace.process)).or_default();
            program.waits += pace.waits;
            if let Some(time) = &pace.time {
                program.clock += time.of_clocksource();
                program.other += time.total() - time.of_clocksource();
            }
        }
        let count = |is: fn(&Program) -> bool| programs.values().filter(|program| is(program)).count();
        Self {
            asking: count(Program::asks),
            unaware: count(|program| program.other >= ASKING),
            silent: count(Program::is_silent),
        }
    }

    /// Whether the clocksource is what makes programs ask.
    pub fn is_clocksource(&self) -> bool {
        self.asking >= MANY && self.silent * OUTWEIGHS <= self.asking
    }

    /// What makes a program with such calls ask; `None`: the capture cannot tell.
    pub fn cause(&self, time: &TimeUse) -> Option<Cause> {
        if self.is_clocksource() {
            return Some(Cause::Clocksource);
        }
        // No clocksource makes the vDSO's time() and getcpu() fall back, but a kernel without a vDSO does, for all.
        let falls_back_by_itself = (time.total() - time.of_clocksource()) * 2 > time.total() && self.unaware < MANY;
        let alone = self.asking < MANY && self.silent >= ENOUGH_SILENT;
        (falls_back_by_itself || alone).then_some(Cause::Userspace)
    }
}

/// What a program is called, for people and to tell it from others: the name of its file.
pub fn name(process: &ProcessRef) -> &str {
    let file = process.exepath.as_deref().or(process.exe.as_deref()).and_then(|path| path.rsplit('/').next());
    file.filter(|name| !name.is_empty()).or(process.comm.as_deref()).unwrap_or_default()
}
