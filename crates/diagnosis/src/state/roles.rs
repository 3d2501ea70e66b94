//! Says, for every event type, what the diagnosis does with it; most are system calls like any other.

use scapfile::schema;

/// The part an event type plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Not a system call, and of no concern.
    Silent,
    /// A system call of no further concern.
    Call,
    /// A system call without an event type of its own; its code tells which.
    Generic,
    /// mmap; the exit has the address.
    Mmap,
    /// munmap.
    Munmap,
    /// brk; the exit has the new end of the heap.
    Brk,
    /// execve and its kin.
    Exec,
    /// The exit of clone, fork and vfork.
    Clone,
    /// The exit of open and its kin; the position of the path.
    Open(u8),
    /// kill, tkill and tgkill; position of the target and the signal among the enter parameters.
    Kill(u8, u8),
    /// The exit of prctl.
    Prctl,
    /// The end of a thread.
    ThreadExit,
    /// A page fault.
    PageFault,
    /// A signal is delivered.
    Signal,
    /// A container, in JSON.
    ContainerJson,
    /// A container, in four parameters.
    ContainerPlain,
    /// An event of a plugin; current Falco announces containers so.
    Async,
    /// Events were lost here.
    Drop,
}

/// Events that are not system calls (`EC_TRACEPOINT`, `EC_METAEVENT`, `EC_PLUGIN` in the event table).
const NO_CALLS: [&str; 16] = [
    "switch",
    "procinfo",
    "cpu_hotplug",
    "notification",
    "infra",
    "tracer",
    "k8s",
    "mesos",
    "pluginevent",
    "scapevent",
    "useradded",
    "userdeleted",
    "groupadded",
    "groupdeleted",
    "NA",
    "",
];

/// The roles of all event types.
#[derive(Debug)]
pub struct Roles(Box<[Role; TYPES]>);

/// Event types from here on are passed over; the event table ends at 430 (2026).
const TYPES: usize = 1024;

impl Default for Roles {
    fn default() -> Self {
        let mut roles = Box::new([Role::Silent; TYPES]);
        for (event_type, place) in (0..schema::known_types()).zip(roles.iter_mut()) {
            *place = role(event_type);
        }
        Self(roles)
    }
}

impl Roles {
    /// The role of an event type; types newer than this program are passed over.
    #[inline]
    pub fn of(&self, event_type: u16) -> Role {
        self.0[usize::from(event_type).min(TYPES - 1)]
    }
}

fn role(event_type: u16) -> Role {
    let exit = event_type % 2 == 1;
    let path = || schema::param_index(event_type, "name").and_then(|index| u8::try_from(index).ok());
    match schema::name(event_type) {
        "syscall" => Role::Generic,
        "mmap" | "mmap2" => Role::Mmap,
        "munmap" => Role::Munmap,
        "brk" => Role::Brk,
        "execve" | "execveat" => Role::Exec,
        "clone" | "clone3" | "fork" | "vfork" if exit => Role::Clone,
        "open" | "openat" | "openat2" if exit => path().map_or(Role::Call, Role::Open),
        "kill" | "tkill" => Role::Kill(0, 1),
        "tgkill" => Role::Kill(0, 2),
        "prctl" if exit => Role::Prctl,
        "procexit" => Role::ThreadExit,
        "page_fault" => Role::PageFault,
        "signaldeliver" => Role::Signal,
        "container" if schema::param_index(event_type, "json").is_some() => Role::ContainerJson,
        "container" => Role::ContainerPlain,
        "asyncevent" => Role::Async,
        "drop" => Role::Drop,
        name if NO_CALLS.contains(&name) => Role::Silent,
        _ => Role::Call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_are_no_system_calls() {
        let roles = Roles::default();
        for event_type in 0..schema::known_types() {
            if matches!(schema::name(event_type), "switch" | "procinfo" | "NA" | "") {
                assert_eq!(roles.of(event_type), Role::Silent, "type {event_type}");
            }
        }
        assert_eq!(roles.of(290), Role::PageFault);
        assert_eq!(roles.of(307), Role::Open(2));
        assert_eq!(roles.of(u16::MAX), Role::Silent);
    }
}
