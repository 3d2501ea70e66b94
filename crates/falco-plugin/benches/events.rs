//! What the plugin costs at events of each type: `cargo bench -p falco-plugin`.
//!
//! The shared library is driven with and without the plugin, over the same events; the difference is the plugin's, its
//! calls into the thread table included. That table is the stand-in's, which takes a lock and a search for each thread;
//! Falco's is another.

#[path = "../tests/rig/mod.rs"]
mod rig;

use std::time::Instant;

use rig::written::{PRESENT, TIME, execve, exit, other, page_fault, signal, system_call};
use rig::{Fed, Rig};

const EVENTS: u64 = 200_000;
const ROUNDS: usize = 7;
/// Threads that take turns.
const THREADS: u64 = 100;

/// An event by its time and its thread.
type Written = fn(u64, i64) -> Fed;

const LOADS: [(&str, Written); 9] = [
    ("an event of another type", other),
    ("page fault elsewhere", |at, tid| page_fault(at, tid, 0x5555_0000_0000, 22)),
    ("page fault in the vsyscall page", |at, tid| page_fault(at, tid, TIME, PRESENT)),
    ("system call of another kind", |at, tid| system_call(at, tid, "getpid")),
    ("system call for the time", |at, tid| system_call(at, tid, "clock_gettime")),
    ("SIGSEGV", |at, tid| signal(at, tid, 0, 11)),
    ("another signal", |at, tid| signal(at, tid, 0, 17)),
    ("execve", execve),
    ("end of a thread", |at, tid| exit(at, tid, 0)),
];

/// Nanoseconds an event takes, in the fastest of some rounds.
fn measured(written: Written, load: impl Fn(Box<dyn Iterator<Item = Fed>>) -> Rig) -> f64 {
    let round = || {
        // Written beforehand; what is left is the same with the plugin and without.
        let events: Vec<Fed> = (0..EVENTS).map(|at| written(at * 1000, 1 + (at % THREADS) as i64)).collect();
        let mut rig = load(Box::new(events.into_iter()));
        let start = Instant::now();
        while rig.next(&[]).is_some() {}
        start.elapsed().as_secs_f64() * 1e9 / EVENTS as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!("{:32} {:>12} {:>12}", "ns per event", "stand-in", "plugin");
    for (name, written) in LOADS {
        let alone = measured(written, Rig::without_plugin);
        let both = measured(written, |events| Rig::new("{}", events).expect("the plugin loads"));
        println!("{name:32} {alone:12.0} {:12.0}", both - alone);
    }
}
