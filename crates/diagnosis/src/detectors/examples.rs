//! Deaths, programs and cases for the detectors' tests.

use scapfile::{Capture, Event, Item, write};
use std::ops::ControlFlow;

use super::{Case, DEFAULT_HOT_CALLS, Survey};
use crate::activity::Room;
use crate::episodes::{Death, Delivery, MappingCheck, PageUse, Told};
use crate::fault::Fault;
use crate::finding::{Moment, ProcessRef};
use crate::ledger::{Ledger, ProgramUse};
use crate::signal::{SIGSEGV, WaitStatus};
use crate::state::Containers;
use crate::summary::Summary;
use crate::vsyscall::Mode;

pub const ABSENT_FETCH: u32 = 154;
pub const PRESENT_FETCH: u32 = 153;
pub const ABSENT_READ: u32 = 26;

const TID: i64 = 308;

fn moment(event: u64, timestamp_ns: u64) -> Moment {
    Moment { event, timestamp_ns, tid: TID }
}

fn process() -> ProcessRef {
    ProcessRef {
        comm: Some("entrypoint.sh".into()),
        exe: Some("/bin/bash".into()),
        pid: TID,
        tid: TID,
        ..Default::default()
    }
}

fn fault(address: u64, error: u32, at: Moment) -> Fault {
    Fault { at, address, ip: address, error }
}

fn delivery(fault: Fault) -> Delivery {
    let at = moment(fault.at.event + 2, fault.at.timestamp_ns + 2);
    Delivery { at, signal: SIGSEGV, sender: None, fault: Some(fault), told: None }
}

/// A death by SIGSEGV right after a fault at `address`.
pub fn death(address: u64, error: u32) -> Death {
    let fault = fault(address, error, moment(1, 1));
    Death {
        process: process(),
        container: None,
        signal: SIGSEGV,
        status: Some(WaitStatus(SIGSEGV.into())),
        exit: Some(moment(5, 5)),
        delivery: Some(delivery(fault)),
        fault: Some(fault),
        handler_ran: false,
        sender: None,
        exec: Some(moment(0, 0)),
        born: None,
        last_calls: Vec::new(),
        libraries: Vec::new(),
        mapping: Some(MappingCheck { seen: 1, holds: false, near_used: false, nearest: Some((0x1000, 0x2000)) }),
    }
}

/// A death by SIGSEGV that tells its address, without any fault.
pub fn told(address: u64, mapped: bool) -> Death {
    let delivery =
        Delivery { fault: None, told: Some(Told { address, mapped }), ..delivery(fault(0, 0, moment(1, 1))) };
    Death { fault: None, delivery: Some(delivery), ..death(0, 0) }
}

/// A program that faulted once at `address` and lived; `caught`: it caught a signal.
pub fn program(address: u64, error: u32, caught: bool) -> ProgramUse {
    let fault = fault(address, error, moment(1, 1));
    let mut page_use = PageUse::default();
    page_use.note(fault, caught.then(|| delivery(fault)), &Room::new(1));
    ProgramUse { process: process(), container: None, page_use, processes: 1 }
}

/// A program whose calls at `address` were emulated `count` times, `step_ns` apart.
pub fn program_calling(address: u64, error: u32, count: u64, step_ns: u64) -> ProgramUse {
    let mut page_use = PageUse::default();
    let room = Room::new(1);
    for call in 0..count {
        page_use.note(fault(address, error, moment(call + 1, call * step_ns)), None, &room);
    }
    ProgramUse { process: process(), container: None, page_use, processes: 1 }
}

/// Deaths of one program after a fault at `address`, at these times.
pub fn deaths_at(address: u64, error: u32, times: &[u64]) -> Ledger {
    let mut ledger = Ledger::default();
    for time in times {
        ledger.death(Death { exit: Some(moment(5, *time)), ..death(address, error) });
    }
    ledger
}

/// Asks `question` of a case with nothing in it but the kernel's mode.
pub fn case<T>(mode: Mode, question: impl FnOnce(&Case<'_>) -> T) -> T {
    case_with(mode, Ledger::default(), question)
}

/// Asks `question` of a case with these happenings.
pub fn case_with<T>(mode: Mode, ledger: Ledger, question: impl FnOnce(&Case<'_>) -> T) -> T {
    ask(mode, &ledger, &Summary::default(), question)
}

/// Asks `question` of a case whose capture has one event of each type.
pub fn case_of_events<T>(types: &[u16], ledger: Ledger, question: impl FnOnce(&Case<'_>) -> T) -> T {
    let mut summary = Summary::default();
    each_event(types, |event| summary.note(event));
    ask(Mode::Unknown, &ledger, &summary, question)
}

/// Shows `visitor` an event of each type, without parameters.
pub fn each_event(types: &[u16], mut visitor: impl FnMut(&Event<'_>)) {
    let mut capture = Capture::read(std::io::Cursor::new(capture_of(types)), None).expect("a capture");
    capture.visit(|item| {
        if let Item::Event(event) = item {
            visitor(&event);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(capture.damage(), None);
}

fn ask<T>(mode: Mode, ledger: &Ledger, summary: &Summary, question: impl FnOnce(&Case<'_>) -> T) -> T {
    let containers = Containers::default();
    let survey = Survey::of(ledger.paces());
    question(&Case {
        ledger,
        summary,
        mode,
        damage: None,
        containers: &containers,
        hot_calls: DEFAULT_HOT_CALLS,
        survey: &survey,
        earlier_segfaults: 0,
    })
}

/// A capture of events without parameters.
fn capture_of(types: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::section(&mut bytes);
    for (timestamp_ns, event_type) in (1..).zip(types) {
        let event = write::Event { cpu: 0, timestamp_ns, tid: TID, event_type: *event_type, params: &[[0; 0]; 0] };
        write::event(&mut bytes, &event).expect("room for it");
    }
    bytes
}
