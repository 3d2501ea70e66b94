//! Turns the items of a capture into tallies of its system calls: how often, how long and how often in
//! vain ([`CostTable`]), by whom ([`Callers`]) and when ([`Rates`]).
//!
//! No I/O and no wording. The way through: [`Calls`] follows the capture and gives the calls that were
//! asked for, each with its caller; a tally notes them; at the end it is put together by process, thread,
//! container or stack. Memory is bounded whatever the capture holds: what finds no place is counted
//! under callers that are told apart no more ([`Callers::OTHERS`]).

mod asked;
mod callers;
mod calls;
mod costs;
mod picture;
mod rates;
mod stacks;
mod table;

pub use asked::Asked;
pub use callers::{Caller, CallerId, Callers, MAX_CALLERS, Program};
pub use calls::{Calls, Made, Underway};
pub use costs::{CostTable, Costs, MAX_ROWS, Row};
pub use picture::{Picture, draw};
pub use rates::{Cell, MAX_CELLS, Rates, Rest, Series};
pub use stacks::{Frame, Node, Stacks};
pub use table::{By, Group, Line, Order, Who};
