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

pub use asked::{Asked, Within};
pub use callers::{Caller, CallerId, Callers, MAX_CALLERS, Program};
pub use calls::{Calls, Made, Underway};
pub use costs::{CostTable, Costs, MAX_ROWS, Row};
pub use picture::{Picture, draw};
pub use rates::{Cell, MAX_CELLS, Rates, Rest, Series};
pub use stacks::{Frame, Node, Stacks};
pub use table::{By, Group, Line, Order, Who, counted};

#[cfg(test)]
mod tests {
    use super::*;

    /// What the tallies may take, beside what following the capture does.
    const MOST_BYTES: usize = 32 << 20;
    /// A command name.
    const NAME: usize = 64;
    /// The entries of a hash table, which is to be 7/8 full at most, and those of the one it grew from.
    const fn entries(most: usize) -> usize {
        most * 8 / 7 * 3 / 2
    }

    #[test]
    fn full_tables_stay_within_the_memory_they_may_take() {
        let callers = MAX_CALLERS * (size_of::<Program>() + NAME + size_of::<Caller>()) + entries(MAX_CALLERS) * 2 * 48;
        let rows = entries(MAX_ROWS) * (size_of::<Costs>() + 16);
        let cells = (MAX_CELLS + MAX_ROWS) * 24 * 3 / 2 + entries(MAX_ROWS) * 16;
        assert!(callers + rows.max(cells) <= MOST_BYTES, "{callers} + {rows} or {cells} bytes");
    }
}
