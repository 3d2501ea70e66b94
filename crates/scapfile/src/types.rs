//! Numbers the names that events can have, so that a column of names is a column of small numbers.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::event::Event;
use crate::{schema, syscalls};

/// The name of an event type that is newer than this program.
const UNKNOWN: &str = "unknown";

/// All names of events, each once.
pub static TYPES: LazyLock<Types> = LazyLock::new(Types::read);

/// Position of a name in [`Types::names`].
pub type TypeKey = i16;

/// The names of events: those of the event table, and those of system calls without a type of their own.
#[derive(Debug)]
pub struct Types {
    names: Vec<&'static str>,
    of_type: Vec<TypeKey>,
    of_call: Vec<TypeKey>,
}

impl Types {
    fn read() -> Self {
        let mut names = vec![UNKNOWN];
        let mut keys = HashMap::from([("", 0)]);
        let mut key = |name: &'static str| {
            *keys.entry(name).or_insert_with(|| {
                names.push(name);
                // There are some hundreds.
                TypeKey::try_from(names.len() - 1).unwrap_or_default()
            })
        };
        let of_type: Vec<TypeKey> = (0..schema::known_types()).map(|number| key(schema::name(number))).collect();
        let mut of_call = Vec::new();
        for (code, name) in syscalls::names() {
            of_call.resize(usize::from(code) + 1, of_type[0]);
            of_call[usize::from(code)] = key(name);
        }
        Self { names, of_type, of_call }
    }

    /// All names, in the order of their keys.
    #[must_use]
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The key of the event's name.
    #[inline]
    #[must_use]
    pub fn key(&self, event: &Event<'_>) -> TypeKey {
        let code = || u16::try_from(event.params().ok()?.unsigned(0)?).ok();
        self.key_of(event.event_type, if event.is_generic() { code() } else { None })
    }

    /// The key of the name of events of this type; of a generic event, with the code of its call.
    #[inline]
    #[must_use]
    pub fn key_of(&self, event_type: u16, code: Option<u16>) -> TypeKey {
        let call = code.and_then(|code| self.of_call.get(usize::from(code)));
        call.or_else(|| self.of_type.get(usize::from(event_type))).copied().unwrap_or_default()
    }

    /// The name that a key stands for.
    #[must_use]
    pub fn name(&self, key: TypeKey) -> &'static str {
        usize::try_from(key).ok().and_then(|key| self.names.get(key)).copied().unwrap_or(UNKNOWN)
    }

    /// The key of a name, if any event has it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TypeKey> {
        self.names.iter().position(|known| *known == name).and_then(|key| TypeKey::try_from(key).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generic_event_has_the_key_of_its_call() {
        let name = |event_type, code| TYPES.name(TYPES.key_of(event_type, code));
        assert_eq!((name(1, Some(11)), name(0, Some(47))), ("time", "gettimeofday"));
        assert_eq!((name(1, None), name(1, Some(0)), name(1, Some(u16::MAX))), ("syscall", "syscall", "syscall"));
        assert_eq!((name(307, None), name(103, None), name(u16::MAX, None)), ("openat", "openat", "unknown"));
        assert_eq!(TYPES.find("openat"), Some(TYPES.key_of(307, None)), "all ages of an event share its name");
    }
}
