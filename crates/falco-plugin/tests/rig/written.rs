//! Events written by hand, with the parameters that Falco's drivers give them.

use scapfile::syscalls;

use super::Fed;

const GENERIC: u16 = scapscope::EVENT_TYPES[0];
const EXIT: u16 = scapscope::EVENT_TYPES[1];
const SIGNAL: u16 = scapscope::EVENT_TYPES[2];
const PAGE_FAULT: u16 = scapscope::EVENT_TYPES[3];
const EXECVE: u16 = scapscope::EVENT_TYPES[4];

/// Where time() is in the page.
pub const TIME: u64 = 0xffff_ffff_ff60_0400;
/// The error of a call where the page is not there; that where it is.
pub const ABSENT: u32 = 154;
pub const PRESENT: u32 = 153;

fn fed(timestamp_ns: u64, tid: i64, event_type: u16, params: Vec<Vec<u8>>) -> Fed {
    Fed { timestamp_ns, tid, event_type, params }
}

pub fn page_fault(timestamp_ns: u64, tid: i64, address: u64, error: u32) -> Fed {
    let params = vec![address.to_le_bytes().to_vec(), vec![0; 8], error.to_le_bytes().to_vec()];
    fed(timestamp_ns, tid, PAGE_FAULT, params)
}

pub fn signal(timestamp_ns: u64, tid: i64, sender: i64, number: u8) -> Fed {
    let params = vec![sender.to_le_bytes().to_vec(), tid.to_le_bytes().to_vec(), vec![number]];
    fed(timestamp_ns, tid, SIGNAL, params)
}

pub fn exit(timestamp_ns: u64, tid: i64, status: i64) -> Fed {
    fed(timestamp_ns, tid, EXIT, vec![status.to_le_bytes().to_vec()])
}

pub fn execve(timestamp_ns: u64, tid: i64) -> Fed {
    fed(timestamp_ns, tid, EXECVE, vec![vec![0; 8]])
}

pub fn system_call(timestamp_ns: u64, tid: i64, name: &str) -> Fed {
    let (code, _) = syscalls::names().find(|(_, known)| *known == name).expect("a system call");
    fed(timestamp_ns, tid, GENERIC, vec![code.to_le_bytes().to_vec(), vec![0; 2]])
}

/// An event that the plugin does not ask for.
pub fn other(timestamp_ns: u64, tid: i64) -> Fed {
    fed(timestamp_ns, tid, 5, Vec::new())
}
