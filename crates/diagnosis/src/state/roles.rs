//! Says, for every event type, what the diagnosis does with it; most are system calls like any other.

use scapfile::schema;

use crate::calls;

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

/// What has to be done at an event, told apart by bits: a test of each is predicted better than the
/// jump table that a match on roles becomes, and this is asked of every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Duty(u8);

impl Duty {
    const CALL: u8 = 1;
    const FAULT: u8 = 2;
    const MORE: u8 = 4;
    const GIVEN: u8 = 8;

    fn of(role: Role, event_type: u16) -> Self {
        let given = if calls::keeps_given(event_type) { Self::GIVEN } else { 0 };
        Self(
            given
                | match role {
                    Role::Silent => 0,
                    Role::Call | Role::Generic => Self::CALL,
                    Role::PageFault => Self::FAULT,
                    Role::ThreadExit
                    | Role::Signal
                    | Role::ContainerJson
                    | Role::ContainerPlain
                    | Role::Async
                    | Role::Drop => Self::MORE,
                    _ => Self::CALL | Self::MORE,
                },
        )
    }

    /// A system call.
    #[inline]
    pub fn is_call(self) -> bool {
        self.0 & Self::CALL != 0
    }

    /// A page fault.
    #[inline]
    pub fn is_fault(self) -> bool {
        self.0 & Self::FAULT != 0
    }

    /// The enter event of a system call that was given what its exit event does not repeat.
    #[inline]
    pub fn keeps_given(self) -> bool {
        self.0 & Self::GIVEN != 0
    }

    /// Something that the role tells.
    #[inline]
    pub fn is_more(self) -> bool {
        self.0 & Self::MORE != 0
    }
}

/// The roles of all event types.
#[derive(Debug)]
pub struct Roles {
    roles: Box<[Role; TYPES]>,
    duties: Box<[Duty; TYPES]>,
}

/// Event types from here on are passed over; the event table ends at 430 (2026).
const TYPES: usize = 1024;

impl Default for Roles {
    fn default() -> Self {
        let mut roles = Box::new([Role::Silent; TYPES]);
        let mut duties = Box::new([Duty::default(); TYPES]);
        for (event_type, place) in (0..schema::known_types()).zip(roles.iter_mut().zip(duties.iter_mut())) {
            let role = role(event_type);
            *place.0 = role;
            *place.1 = Duty::of(role, event_type);
        }
        Self { roles, duties }
    }
}

impl Roles {
    /// What has to be done at an event of this type.
    #[inline]
    pub fn duty(&self, event_type: u16) -> Duty {
        self.duties[usize::from(event_type).min(TYPES - 1)]
    }

    /// The role of an event type; types newer than this program are passed over.
    pub fn of(&self, event_type: u16) -> Role {
        self.roles[usize::from(event_type).min(TYPES - 1)]
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
