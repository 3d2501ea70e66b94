//! Turns the bytes of a `.scap` capture into blocks, events and process tables, and back ([`mod@write`]).
//!
//! The parser ([`Parser`]) does no I/O: it is handed a window of bytes and says what stands at its
//! start, or how much more it needs. [`Capture`] puts a file, a gzip stream or standard input under
//! it. Nothing a capture says is believed before it is checked; damage ends the reading with a
//! [`Damage`] that names the offset, and all that came before it has been delivered.
//!
//! The format is described in `docs/scap-format.md`.

mod block;
mod capture;
mod cursor;
mod damage;
mod event;
mod gzip;
mod lists;
pub mod modernize;
mod parser;
pub mod schema;
mod sniff;
mod source;
pub mod syscalls;
pub mod types;
pub mod write;

pub use block::{BlockKind, ListKind};
pub use capture::{Capture, OpenError, Visit};
pub use damage::{Damage, DamageKind};
pub use event::{Event, MalformedEvent, Params};
pub use lists::{FdEntry, GroupEntry, InterfaceEntry, MachineInfo, ProcessEntry, UserEntry};
pub use parser::{Item, Parser, Progress, SectionHeader, SkipReason};
