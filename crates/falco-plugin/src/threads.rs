//! Keeps what is remembered of a thread in Falco's own thread table, where it goes when the thread goes.
//!
//! Table fields are numbers. One that was never written is 0 in Falco, and cannot be read in other tables: both stand
//! for "nothing".

use std::sync::Arc;

use anyhow::Error;
use diagnosis::Window;
use falco_plugin::tables::import::{Entry, Field, Table, TableMetadata};
use falco_plugin::tables::{TableReader, TableWriter};

use crate::clock::ClockState;
use crate::page::{LastFault, PageState, Stage};
use crate::storm::Storm;

/// The name of Falco's thread table; its keys are thread ids.
pub const TABLE: &std::ffi::CStr = c"threads";

/// The table.
pub type Threads = Table<i64, Thread>;
/// A thread's entry.
pub type Thread = Entry<Arc<ThreadFields>>;

/// The fields that the plugin adds.
#[derive(TableMetadata)]
#[entry_type(Thread)]
pub struct ThreadFields {
    #[custom]
    scapscope_page_last: Field<u64, Thread>,
    #[custom]
    scapscope_page_last_ns: Field<u64, Thread>,
    #[custom]
    scapscope_page_faults: Field<u64, Thread>,
    #[custom]
    scapscope_page_window: Field<u64, Thread>,
    #[custom]
    scapscope_page_window_ns: Field<u64, Thread>,
    #[custom]
    scapscope_time_calls: Field<u64, Thread>,
    #[custom]
    scapscope_time_window: Field<u64, Thread>,
    #[custom]
    scapscope_time_window_ns: Field<u64, Thread>,
    #[custom]
    scapscope_time_first_event: Field<u64, Thread>,
}

/// In the last fault: 12 bits of offset, 8 of error, 2 of stage, and whether a jump was told.
const ERROR: u32 = 12;
const STAGE: u32 = 20;
const JUMP_TOLD: u64 = 1 << 22;

fn pack_last(state: &PageState) -> u64 {
    let last = state.last.map_or(0, |last| {
        let stage = match last.stage {
            Stage::Faulted => 1,
            Stage::Signalled => 2,
            Stage::Caught => 3,
        };
        u64::from(last.offset) | u64::from(last.error) << ERROR | stage << STAGE
    });
    if state.jump_told { last | JUMP_TOLD } else { last }
}

fn unpack_last(packed: u64) -> Option<LastFault> {
    let stage = match packed >> STAGE & 3 {
        1 => Stage::Faulted,
        2 => Stage::Signalled,
        3 => Stage::Caught,
        _ => return None,
    };
    let [low, middle, high, ..] = packed.to_le_bytes();
    let offset = u16::from_le_bytes([low, middle & 0xf]);
    Some(LastFault { offset, error: middle >> 4 | high << 4, stage })
}

/// The calls of a window, and in the lowest bit whether a storm is on.
fn pack_storm(storm: &Storm) -> u64 {
    storm.window.count << 1 | u64::from(storm.on)
}

fn unpack_storm(packed: u64, start_ns: u64) -> Storm {
    Storm { window: Window { start_ns, count: packed >> 1 }, on: packed & 1 == 1 }
}

/// What the thread has done in the page.
pub fn page(thread: &Thread, reader: &impl TableReader) -> PageState {
    let faults = thread.get_scapscope_page_faults(reader).unwrap_or(0);
    if faults == 0 {
        return PageState::default();
    }
    let packed = thread.get_scapscope_page_last(reader).unwrap_or(0);
    let last_ns = thread.get_scapscope_page_last_ns(reader).unwrap_or(0);
    let start_ns = thread.get_scapscope_page_window_ns(reader).unwrap_or(0);
    let storm = unpack_storm(thread.get_scapscope_page_window(reader).unwrap_or(0), start_ns);
    PageState { last: unpack_last(packed), last_ns, faults, jump_told: packed & JUMP_TOLD != 0, storm }
}

/// Keeps what has changed from `before` to `after`.
pub fn keep_page(
    thread: &Thread,
    writer: &impl TableWriter,
    before: &PageState,
    after: &PageState,
) -> Result<(), Error> {
    if before.faults != after.faults {
        thread.set_scapscope_page_faults(writer, &after.faults)?;
    }
    if pack_last(before) != pack_last(after) {
        thread.set_scapscope_page_last(writer, &pack_last(after))?;
    }
    if before.last_ns != after.last_ns {
        thread.set_scapscope_page_last_ns(writer, &after.last_ns)?;
    }
    if before.storm != after.storm {
        thread.set_scapscope_page_window(writer, &pack_storm(&after.storm))?;
    }
    if before.storm.window.start_ns != after.storm.window.start_ns {
        thread.set_scapscope_page_window_ns(writer, &after.storm.window.start_ns)?;
    }
    Ok(())
}

/// How often the thread has asked for the time.
pub fn clock(thread: &Thread, reader: &impl TableReader) -> ClockState {
    let calls = thread.get_scapscope_time_calls(reader).unwrap_or(0);
    if calls == 0 {
        return ClockState::default();
    }
    let start_ns = thread.get_scapscope_time_window_ns(reader).unwrap_or(0);
    let storm = unpack_storm(thread.get_scapscope_time_window(reader).unwrap_or(0), start_ns);
    ClockState { calls, storm, first_event: thread.get_scapscope_time_first_event(reader).unwrap_or(0) }
}

/// Keeps what has changed from `before` to `after`.
pub fn keep_clock(
    thread: &Thread,
    writer: &impl TableWriter,
    before: &ClockState,
    after: &ClockState,
) -> Result<(), Error> {
    if before.calls != after.calls {
        thread.set_scapscope_time_calls(writer, &after.calls)?;
    }
    if before.storm != after.storm {
        thread.set_scapscope_time_window(writer, &pack_storm(&after.storm))?;
    }
    if before.storm.window.start_ns != after.storm.window.start_ns {
        thread.set_scapscope_time_window_ns(writer, &after.storm.window.start_ns)?;
    }
    if before.first_event != after.first_event {
        thread.set_scapscope_time_first_event(writer, &after.first_event)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        for stage in [Stage::Faulted, Stage::Signalled, Stage::Caught] {
            for (offset, error) in [(0, 0), (0xfff, 0xff), (0x400, 154), (0x809, 153)] {
                let last = Some(LastFault { offset, error, stage });
                for jump_told in [false, true] {
                    let packed = pack_last(&PageState { last, jump_told, ..PageState::default() });
                    assert_eq!((unpack_last(packed), packed & JUMP_TOLD != 0), (last, jump_told));
                }
            }
        }
        let none = pack_last(&PageState { jump_told: true, ..PageState::default() });
        assert_eq!((unpack_last(none), unpack_last(0)), (None, None));
        let storm = Storm { window: Window { start_ns: 7, count: 1 << 40 }, on: true };
        assert_eq!(unpack_storm(pack_storm(&storm), 7), storm);
    }
}
