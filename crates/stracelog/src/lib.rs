//! Turns what strace writes into what the rest of this program reads.
//!
//! A log (`strace -f -tt -T`) becomes a stream of `.scap` bytes, line by line, while it is read:
//! [`Reader`]. So there is one way through the house for captures and logs. The table of `strace -c`
//! has no events, only sums: [`table`].
//!
//! What becomes of which line is described in `docs/strace.md`.

mod calls;
mod clock;
mod convert;
mod errno;
mod line;
mod log;
mod sniff;
mod symbols;
pub mod table;
mod text;
mod threads;

pub use log::{Log, Reader, Tally};
pub use sniff::{Kept, SNIFF_LENGTH, recognise};
