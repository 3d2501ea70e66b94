//! Numbers the names that events can have, so that a column of names is a column of small numbers.

use std::collections::HashMap;
use std::sync::LazyLock;

use scapfile::{Event, schema, syscalls};

/// The name of an event type that is newer than this program.
const UNKNOWN: &str = "unknown";

/// All names of events, each once.
pub(crate) static TYPES: LazyLock<Types> = LazyLock::new(Types::read);

/// Position of a name in [`Types::names`].
pub(crate) type TypeKey = i16;

/// The names of events: those of the event table, and those of system calls without a type of their own.
pub(crate) struct Types {
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
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The key of the event's name.
    #[inline]
    pub(crate) fn key(&self, event: &Event<'_>) -> TypeKey {
        let of_type = self.of_type.get(usize::from(event.event_type)).copied().unwrap_or_default();
        if !event.is_generic() {
            return of_type;
        }
        let code = event.params().ok().and_then(|params| params.unsigned(0));
        code.and_then(|code| self.of_call.get(usize::try_from(code).ok()?)).copied().unwrap_or(of_type)
    }

    /// The name that a key stands for.
    pub(crate) fn name(&self, key: TypeKey) -> &'static str {
        usize::try_from(key).ok().and_then(|key| self.names.get(key)).copied().unwrap_or(UNKNOWN)
    }

    /// The key of a name, if any event has it.
    pub(crate) fn find(&self, name: &str) -> Option<TypeKey> {
        self.names.iter().position(|known| *known == name).and_then(|key| TypeKey::try_from(key).ok())
    }
}
