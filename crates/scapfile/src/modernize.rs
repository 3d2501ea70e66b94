//! Rewrites a capture of the enter-and-exit age as a recorder of today would have written it: exit events
//! only, each with the parameters that its enter had.
//!
//! What today's libscap does when it reads an old capture was taken from three captures that Falco
//! read and wrote again (`traces/current-format`), and is held against them in `tests/modernize.rs`,
//! where the differences that remain are listed.

use std::collections::HashMap;

use falco_event_schema::ffi;

use crate::damage::Damage;
use crate::event::Event;
use crate::parser::{Item, Parser, Progress};
use crate::schema;
use crate::write;

/// Exits that were given another type, and whether the enter's parameters went into it.
const RENAMED: [(u16, u16, bool); 3] = [
    (ffi::ppm_event_code_PPME_SYSCALL_DUP_X as u16, ffi::ppm_event_code_PPME_SYSCALL_DUP_1_X as u16, true),
    (ffi::ppm_event_code_PPME_SOCKET_ACCEPT4_5_X as u16, ffi::ppm_event_code_PPME_SOCKET_ACCEPT4_6_X as u16, true),
    (ffi::ppm_event_code_PPME_SYSCALL_UMOUNT_X as u16, ffi::ppm_event_code_PPME_SYSCALL_UMOUNT_1_X as u16, false),
];
/// Events in pairs that are no system calls: their first half stays.
const NO_CALLS: [&str; 2] = ["drop", "tracer"];

/// Why a capture could not be rewritten.
#[derive(Debug, thiserror::Error)]
pub enum ModernizeError {
    /// It is damaged.
    #[error("{0}")]
    Damaged(Damage),
    /// An event contradicts itself, or is too large with the parameters of both its halves.
    #[error("event {number}: {what}")]
    Event {
        /// Its number in the capture.
        number: u64,
        /// What is wrong with it.
        what: String,
    },
}

/// The capture `bytes`, not compressed, with its enter events folded into their exits.
///
/// Everything that is not an event stays byte for byte. An exit event has its own parameters, then those
/// that the event table has beyond them (from its enter, or empty), then what else its enter has. An
/// enter without an exit is left out.
///
/// # Errors
/// [`ModernizeError`]: the capture is damaged, or an event of it is.
pub fn modernize(bytes: &[u8]) -> Result<Vec<u8>, ModernizeError> {
    let mut parser = Parser::default();
    let mut out = Vec::with_capacity(bytes.len());
    let mut enters = HashMap::new();
    let mut rest = bytes;
    loop {
        let consumed = match parser.next(rest, true).map_err(ModernizeError::Damaged)? {
            Progress::Item { item: Item::Event(event), consumed } => {
                rewrite(&event, &mut enters, &mut out)?;
                rest = &rest[consumed..];
                continue;
            }
            Progress::Item { consumed, .. } | Progress::Consumed(consumed) => consumed,
            Progress::NeedMore | Progress::End => return Ok(out),
        };
        out.extend(&rest[..consumed]);
        rest = &rest[consumed..];
    }
}

/// Whether events of this type are the first half of a system call.
fn is_enter(event_type: u16) -> bool {
    let name = schema::name(event_type);
    event_type.is_multiple_of(2) && schema::name(event_type + 1) == name && !NO_CALLS.contains(&name)
}

/// The last enter event of each thread: its type and parameters.
type Enters<'a> = HashMap<i64, (u16, Vec<&'a [u8]>)>;

fn rewrite<'a>(event: &Event<'a>, enters: &mut Enters<'a>, out: &mut Vec<u8>) -> Result<(), ModernizeError> {
    let failed = |what: String| ModernizeError::Event { number: event.number, what };
    let params = event.params().map_err(|error| failed(error.to_string()))?;
    let mut params: Vec<&[u8]> = (0..event.param_count() as usize).filter_map(|index| params.get(index)).collect();
    let mut event_type = event.event_type;
    if is_enter(event_type) {
        enters.insert(event.tid, (event_type, params));
        return Ok(());
    }
    if event.is_exit() && is_enter(event_type - 1) {
        let enter = enters.remove(&event.tid).filter(|(enter, _)| *enter == event_type - 1);
        let (_, new, folded) =
            RENAMED.iter().copied().find(|(old, ..)| *old == event_type).unwrap_or((event_type, event_type, true));
        if folded {
            append(event_type, &mut params, enter.map(|(_, params)| params).as_deref());
        }
        event_type = new;
    }
    let Event { cpu, timestamp_ns, tid, .. } = *event;
    write::event(out, &write::Event { cpu, timestamp_ns, tid, event_type, params: &params })
        .map_err(|error| failed(error.to_string()))
}

/// Appends to the parameters of an exit what the table has beyond them, then what else its enter has.
fn append<'a>(event_type: u16, params: &mut Vec<&'a [u8]>, enter: Option<&[&'a [u8]]>) {
    let (names, enter_names) = (schema::params(event_type), schema::params(event_type - 1));
    let of_enter = |name: &str| {
        let index = enter_names.iter().position(|of_enter| of_enter == name)?;
        enter?.get(index).copied()
    };
    let beyond = enter_names.iter().filter(|name| enter.is_some() && !names.contains(name));
    for name in names.iter().chain(beyond).skip(params.len()) {
        params.push(of_enter(name).unwrap_or_default());
    }
}
