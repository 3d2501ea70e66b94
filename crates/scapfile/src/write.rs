//! Turns values into the blocks of a capture, in the layouts of today: the other way round of the parser.
//!
//! Like the parser it does no I/O: every function appends whole blocks to a buffer, or leaves the
//! buffer as it was. A capture begins with [`section`] and [`machine`]; [`processes`] comes before the
//! events.

use crate::block::{EVENT_LARGE, EVENT_V2, MACHINE_INFO, PROCESSES_V9, SECTION_HEADER};
use crate::event::{HEADER, MAX_PARAMS};
use crate::lists::{HOSTNAME, MAX_ENTRY, MachineInfo, ProcessEntry};
use crate::parser::{MAGIC, MAX_EVENT, MAX_WIDE_EVENT};
use crate::schema;

/// A value for which the format, or this reader, has no room.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {size}, of which there may be {most}")]
pub struct TooLarge {
    /// What is too large.
    pub what: String,
    /// Its size.
    pub size: usize,
    /// The largest there may be.
    pub most: usize,
}

/// An event to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a, P> {
    /// The CPU it was recorded on.
    pub cpu: u16,
    /// Nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// The thread it belongs to (host namespace), or -1.
    pub tid: i64,
    /// Number in the event table.
    pub event_type: u16,
    /// Parameters, each as its bytes stand in the file (`docs/scap-format.md`, "Events").
    pub params: &'a [P],
}

/// Appends a section header of version 1.2 without options.
pub fn section(out: &mut Vec<u8>) {
    let (major, minor, unknown_length) = (1u16, 2u16, u64::MAX);
    block(out, SECTION_HEADER, |body| {
        body.extend(MAGIC.to_le_bytes());
        body.extend(major.to_le_bytes());
        body.extend(minor.to_le_bytes());
        body.extend(unknown_length.to_le_bytes());
    });
}

/// Appends machine info. What [`MachineInfo`] does not hold is written as zeros, the largest pid as Linux
/// has it (`PID_MAX_LIMIT`).
///
/// # Errors
/// [`TooLarge`]: a host name of more than 128 bytes.
pub fn machine(out: &mut Vec<u8>, machine: &MachineInfo) -> Result<(), TooLarge> {
    const LARGEST_PID: u64 = 1 << 22;
    let hostname = machine.hostname.as_bytes();
    limit("bytes of a host name", hostname.len(), HOSTNAME)?;
    block(out, MACHINE_INFO, |body| {
        body.extend(machine.cpus.to_le_bytes());
        body.extend(machine.memory_bytes.to_le_bytes());
        body.extend(LARGEST_PID.to_le_bytes());
        body.extend(hostname);
        body.extend(std::iter::repeat_n(0, HOSTNAME - hostname.len()));
        body.extend(machine.boot_timestamp_ns.unwrap_or(0).to_le_bytes());
        body.extend([0; 24]);
    });
    Ok(())
}

/// Appends a process list in layout 9. What [`ProcessEntry`] does not hold is written as zeros and empty
/// strings, and so is what is `None`.
///
/// # Errors
/// [`TooLarge`]: a string of more than 65 535 bytes, or more processes than a block can hold.
pub fn processes(out: &mut Vec<u8>, processes: &[ProcessEntry<'_>]) -> Result<(), TooLarge> {
    let mut entries = Vec::new();
    for process in processes {
        let strings = [process.comm, process.exe, process.exepath.unwrap_or_default(), process.args, process.cwd];
        for string in strings.into_iter().chain([process.cgroups]) {
            limit("bytes of a process's string", string.len(), u16::MAX.into())?;
        }
        let start = entries.len();
        entries.extend([0; 4]);
        let (session, process_group) = (0i64, 0i64);
        for id in [process.tid, process.pid, process.ppid, session, process_group] {
            entries.extend(id.to_le_bytes());
        }
        strings.into_iter().for_each(|string| counted(&mut entries, string));
        let file_limit_flags_user_memory_faults = [0; 8 + 12 + 12 + 16];
        entries.extend(file_limit_flags_user_memory_faults);
        counted(&mut entries, b"");
        let thread_in_namespace = 0i64;
        for id in [thread_in_namespace, process.vpid.unwrap_or(0)] {
            entries.extend(id.to_le_bytes());
        }
        counted(&mut entries, process.cgroups);
        counted(&mut entries, b"");
        let length = u32_of(entries.len() - start).to_le_bytes();
        entries[start..start + 4].copy_from_slice(&length);
    }
    limit("bytes of processes", entries.len(), u32::MAX as usize - MAX_ENTRY)?;
    block(out, PROCESSES_V9, |body| body.extend(entries));
    Ok(())
}

/// Appends an event: in a large block, with 32-bit parameter lengths, if the event table says so of its
/// type.
///
/// # Errors
/// [`TooLarge`]: more than 64 parameters; a parameter of more than 65 535 bytes in an event that is not
/// large; an event of more than 4 MiB, or 16 MiB if large, which this reader would not read.
pub fn event<P: AsRef<[u8]>>(out: &mut Vec<u8>, event: &Event<'_, P>) -> Result<(), TooLarge> {
    let wide = schema::wide(event.event_type);
    let values = || event.params.iter().map(AsRef::as_ref);
    limit("parameters of an event", event.params.len(), MAX_PARAMS as usize)?;
    let width = if wide { 4 } else { 2 };
    if !wide {
        values().try_for_each(|value| limit("bytes of a parameter", value.len(), u16::MAX.into()))?;
    }
    let length = HEADER as usize + values().map(|value| width + value.len()).sum::<usize>();
    // Framed: the block's frame, the processor and padding are counted too.
    limit("bytes of an event", length, if wide { MAX_WIDE_EVENT } else { MAX_EVENT } - 64)?;
    block(out, if wide { EVENT_LARGE } else { EVENT_V2 }, |body| {
        body.extend(event.cpu.to_le_bytes());
        body.extend(event.timestamp_ns.to_le_bytes());
        body.extend(event.tid.to_le_bytes());
        body.extend(u32_of(length).to_le_bytes());
        body.extend(event.event_type.to_le_bytes());
        body.extend(u32_of(event.params.len()).to_le_bytes());
        values().for_each(|value| body.extend(&u32_of(value.len()).to_le_bytes()[..width]));
        values().for_each(|value| body.extend(value));
    });
    Ok(())
}

/// Appends what is known of a container, as the recorder's JSON has it.
///
/// # Errors
/// [`TooLarge`]: more than 16 MiB.
pub fn container(out: &mut Vec<u8>, timestamp_ns: u64, json: &str) -> Result<(), TooLarge> {
    let value = [json.as_bytes(), b"\0"].concat();
    event(out, &Event { cpu: 0, timestamp_ns, tid: -1, event_type: schema::CONTAINER_JSON, params: &[value] })
}

/// Type, length, a body padded to four bytes, and the length again.
fn block(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(number.to_le_bytes());
    out.extend([0; 4]);
    write(out);
    let padded = start + (out.len() - start).next_multiple_of(4);
    out.resize(padded, 0);
    let length = u32_of(out.len() - start + 4).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend(length);
}

fn counted(out: &mut Vec<u8>, string: &[u8]) {
    out.extend(&u32_of(string.len()).to_le_bytes()[..2]);
    out.extend(string);
}

fn limit(what: &str, size: usize, most: usize) -> Result<(), TooLarge> {
    if size <= most { Ok(()) } else { Err(TooLarge { what: what.into(), size, most }) }
}

/// A length that was held to its limit before.
fn u32_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
