//! Names of events and parameters, and an event put into one line, from the Falco project's own
//! event table (crate `falco_event_schema`).
//!
//! The crate has names in the printed form of its typed events only, so the tables here are read
//! off an event of each type without parameters, once.

use std::fmt::Write;
use std::sync::OnceLock;

use falco_event::events::{EventMetadata, PayloadFromBytesError, RawEvent};
use falco_event_schema::events::AnyEvent;
use falco_event_schema::ffi;
use falco_event_schema::fields::event_flags::PT_FLAGS32_pf_flags;

use crate::event::{Event, Params};

/// Event types above this are not asked for; the crate's table ends at 429 (2026).
const TABLE_END: u16 = 1024;

/// The type of `page_fault` events.
const PAGE_FAULT: u16 = ffi::ppm_event_code_PPME_PAGE_FAULT_E as u16;
/// The type of `container` events that hold JSON, and the one that current recorders write.
pub(crate) const CONTAINER_JSON: u16 = ffi::ppm_event_code_PPME_CONTAINER_JSON_2_E as u16;
/// Room for most events' line, so that it need not grow.
const TYPICAL_LINE: usize = 128;

struct Entry {
    name: String,
    params: Vec<String>,
    /// Whether parameter lengths are 32 bits wide (`EF_LARGE_PAYLOAD`).
    wide: bool,
}

fn table() -> &'static [Entry] {
    static TABLE: OnceLock<Vec<Entry>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: Vec<Entry> = (0..TABLE_END).map(entry).collect();
        let known = table.iter().rposition(|entry| !entry.name.is_empty()).map_or(0, |last| last + 1);
        table.truncate(known);
        table
    })
}

fn entry(event_type: u16) -> Entry {
    let empty = raw(event_type, 0, &[], 0, 0);
    // Printed as `> name first=NULL second=NULL`.
    let printed = empty.load::<AnyEvent>().map(|event| format!("{:?}", event.params)).unwrap_or_default();
    let mut words = printed.split_whitespace().skip(1);
    // One parameter of no bytes: too little where the length takes 4 bytes.
    let one = raw(event_type, 1, &[0, 0], 0, 0);
    Entry {
        wide: matches!(one.load::<AnyEvent>(), Err(PayloadFromBytesError::TruncatedEvent { .. })),
        name: words.next().unwrap_or_default().into(),
        params: words.filter_map(|word| word.split_once('=')).map(|(name, _)| name.into()).collect(),
    }
}

fn raw(event_type: u16, nparams: u32, payload: &[u8], ts: u64, tid: i64) -> RawEvent<'_> {
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX).saturating_add(26);
    RawEvent { metadata: EventMetadata { ts, tid }, len, event_type, nparams, payload }
}

/// How many event types the table knows; types from here on are newer than this program.
#[must_use]
pub fn known_types() -> u16 {
    u16::try_from(table().len()).unwrap_or(u16::MAX)
}

/// The event's name, such as `page_fault`; empty for a type the table does not have.
#[must_use]
pub fn name(event_type: u16) -> &'static str {
    table().get(usize::from(event_type)).map_or("", |entry| &entry.name)
}

/// The names of the event's parameters, in order; empty for a type the table does not have.
#[must_use]
pub fn params(event_type: u16) -> &'static [String] {
    table().get(usize::from(event_type)).map_or(&[], |entry| &entry.params)
}

/// Whether events of this type have 32-bit parameter lengths.
pub(crate) fn wide(event_type: u16) -> bool {
    table().get(usize::from(event_type)).is_some_and(|entry| entry.wide)
}

/// How many bytes a number has as parameter `index` of such an event; `None` for a parameter that is no number.
///
/// Found by trying, as everything here: to be asked once, not at every event.
#[must_use]
pub fn width(event_type: u16, index: usize) -> Option<usize> {
    // No string: they end in NUL. Bytes are told from numbers by a length that no number has.
    let loads = |size: usize| {
        let lengths = (0..=index).flat_map(|at| (if at == index { size } else { 0 } as u16).to_le_bytes());
        let payload: Vec<u8> = lengths.chain(std::iter::repeat_n(1, size)).collect();
        raw(event_type, index as u32 + 1, &payload, 0, 0).load::<AnyEvent>().is_ok()
    };
    if index >= params(event_type).len() || wide(event_type) || loads(3) {
        return None;
    }
    [1, 2, 4, 8].into_iter().find(|size| loads(*size))
}

/// The position of a parameter in events of this type.
#[must_use]
pub fn param_index(event_type: u16, name: &str) -> Option<usize> {
    params(event_type).iter().position(|param| param == name)
}

/// All event types of that name, enter and exit, of all ages.
pub fn types_named(name: &str) -> impl Iterator<Item = u16> + '_ {
    (0..known_types()).filter(move |event_type| self::name(*event_type) == name)
}

/// The event's parameters in one printable line, `addr=7f00 ip=0 error=92`.
///
/// As the typed event of `falco_event_schema` prints them, and page faults as sysdig does; where an
/// event does not fit the current schema, its parameters are given in hexadecimal. Control characters
/// become dots.
#[must_use]
pub fn describe(event: &Event<'_>) -> String {
    let Ok(values) = event.params() else { return "(malformed)".into() };
    if table().get(usize::from(event.event_type)).is_none_or(|entry| entry.wide != event.wide()) {
        return in_hexadecimal(event, &values);
    }
    if event.event_type == PAGE_FAULT
        && let Some(line) = page_fault(event)
    {
        return line;
    }
    let typed = raw(event.event_type, event.param_count(), event.payload(), event.timestamp_ns, event.tid);
    let mut line = String::with_capacity(TYPICAL_LINE);
    match typed.load::<AnyEvent>() {
        Ok(loaded) => _ = write!(line, "{:?}", loaded.params),
        Err(_) => return in_hexadecimal(event, &values),
    }
    // Drop the direction and the name in front of the first parameter.
    let params = line.match_indices(' ').nth(1).map_or(line.len(), |(space, _)| space + 1);
    line.drain(..params);
    if line.contains(char::is_control) {
        line = line.chars().map(|c| if c.is_control() { '.' } else { c }).collect();
    }
    line
}

/// `addr=FFFFFFFFFF600400 ip=FFFFFFFFFF600400 error=154(PAGE_NOT_PRESENT|…)`: the addresses as they are
/// to be written in a sysdig filter.
fn page_fault(event: &Event<'_>) -> Option<String> {
    let params = event.params().ok().filter(|_| event.param_count() == 3)?;
    let (address, ip, error) = (params.unsigned(0)?, params.unsigned(1)?, params.unsigned(2)?);
    let mut line = String::with_capacity(TYPICAL_LINE);
    _ = write!(line, "addr={address:X} ip={ip:X} error={error}");
    let flags = PT_FLAGS32_pf_flags::from_bits_retain(u32::try_from(error).ok()?);
    for (index, (name, _)) in flags.iter_names().enumerate() {
        line.push(if index == 0 { '(' } else { '|' });
        line.push_str(name);
    }
    if line.ends_with(|last: char| last.is_ascii_uppercase()) {
        line.push(')');
    }
    Some(line)
}

fn in_hexadecimal(event: &Event<'_>, values: &Params<'_>) -> String {
    const SHOWN: usize = 32;
    let names = params(event.event_type);
    let mut line = String::new();
    for index in 0..event.param_count() as usize {
        let Some(value) = values.get(index) else { break };
        if index > 0 {
            line.push(' ');
        }
        match names.get(index) {
            Some(name) => line.push_str(name),
            None => _ = write!(line, "param{index}"),
        }
        line.push_str("=0x");
        for byte in value.iter().take(SHOWN) {
            _ = write!(line, "{byte:02x}");
        }
        if value.len() > SHOWN {
            line.push('…');
        }
    }
    line
}

/// The part of a version 1 event's payload that holds parameters.
///
/// Old writers gave `notification` and `infra` events a length that is 3 too large (noted in
/// libscap's reader).
pub(crate) fn v1_payload(event_type: u16, payload: &[u8]) -> Option<&[u8]> {
    if matches!(name(event_type), "notification" | "infra") {
        return payload.get(..payload.len().checked_sub(3)?);
    }
    Some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Layout;

    #[test]
    fn names_are_those_of_the_event_table() {
        assert_eq!((name(290), params(290)), ("page_fault", &["addr", "ip", "error"].map(String::from)[..]));
        assert_eq!((name(0), name(1)), ("syscall", "syscall"));
        assert_eq!(name(u16::MAX), "");
        assert_eq!(param_index(293, "comm"), Some(13));
    }

    #[test]
    fn a_page_fault_is_printed_as_sysdig_prints_it() {
        let mut body = vec![0u8; 18];
        body.extend(52u32.to_le_bytes());
        body.extend(PAGE_FAULT.to_le_bytes());
        body.extend(3u32.to_le_bytes());
        body.extend([8, 0, 8, 0, 4, 0]);
        body.extend(0xffff_ffff_ff60_0400u64.to_le_bytes());
        body.extend(0x7f7cu64.to_le_bytes());
        let error = body.len();
        let described = |body: &[u8]| {
            let layout = Layout { counted: true, flagged: false, wide: false };
            describe(&Event::read(body, layout, 1).unwrap())
        };
        body.extend(154u32.to_le_bytes());
        let flags = "PAGE_NOT_PRESENT|READ_ACCESS|USER_FAULT|INSTRUCTION_FETCH";
        assert_eq!(described(&body), format!("addr=FFFFFFFFFF600400 ip=7F7C error=154({flags})"));
        body[error..].copy_from_slice(&0u32.to_le_bytes());
        assert_eq!(described(&body), "addr=FFFFFFFFFF600400 ip=7F7C error=0");
    }

    #[test]
    fn large_events_are_those_of_the_event_table() {
        let large = (0..known_types()).filter(|event_type| table()[usize::from(*event_type)].wide);
        let names: std::collections::BTreeSet<&str> = large.map(name).collect();
        // `EF_LARGE_PAYLOAD` in event_table.c.
        assert_eq!(names, ["asyncevent", "container", "pluginevent"].into());
    }

    #[test]
    fn numbers_have_the_width_of_the_event_table() {
        let widths = |event_type| (0..params(event_type).len()).map(|at| width(event_type, at)).collect::<Vec<_>>();
        // openat: descriptor, directory, path, flags, mode, device, inode.
        assert_eq!(widths(307), [Some(8), Some(8), None, Some(4), Some(4), Some(4), Some(8)]);
        // read: result, bytes, descriptor, size. futex: address, operation, value. procexit: signal, core.
        assert_eq!(widths(7), [Some(8), None, Some(8), Some(4)]);
        assert_eq!(widths(64), [Some(8), Some(2), Some(8)]);
        assert_eq!(widths(186)[2..4], [Some(1), Some(1)]);
        assert_eq!((width(0, 0), width(0, 1), width(307, 7), width(324, 0)), (Some(2), Some(2), None, None));
    }

    #[test]
    fn several_ages_of_an_event_share_a_name() {
        let execve: Vec<u16> = types_named("execve").collect();
        assert!(execve.len() >= 10, "{execve:?}");
        assert!(execve.contains(&292) && execve.contains(&293));
    }
}
