//! Memory over many events and many threads that come and go. What is remembered goes with the thread.
//!
//! The long run: `cargo test --release -p falco-plugin --test soak -- --ignored --nocapture`

mod rig;

use rig::written::{ABSENT, PRESENT, TIME, execve, exit, page_fault, signal, system_call};
use rig::{Fed, Rig};

/// Events in the life of one thread.
const LIFE: u64 = 10;
/// What the allocator may keep for itself from one measurement to the next.
const SLACK_KB: u64 = 2048;

/// A thread that does a little of everything and ends; every third dies of a call into the page.
fn life(tid: u64) -> [Fed; LIFE as usize] {
    let at = tid * 10_000;
    let id = 1 + i64::try_from(tid).expect("a thread id");
    let crash = tid.is_multiple_of(3);
    [
        execve(at, id),
        page_fault(at + 1, id, 0x5555_0000_0000, 22),
        system_call(at + 2, id, "clock_gettime"),
        system_call(at + 3, id, "getpid"),
        page_fault(at + 4, id, TIME, PRESENT),
        system_call(at + 5, id, "time"),
        page_fault(at + 6, id, TIME + 1, ABSENT),
        page_fault(at + 7, id, TIME, ABSENT),
        signal(at + 8, id, 0, 11),
        exit(at + 9, id, if crash { 11 } else { 0 }),
    ]
}

/// Memory of this process that is in use, in kB.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

fn soak(threads: u64) {
    let mut rig = Rig::new("{}", (0..threads).flat_map(life)).expect("the plugin loads");
    let mut seen = Vec::new();
    let mut events = 0;
    while rig.next(&["vsyscall.crash"]).is_some() {
        events += 1;
        // After a tenth, everything that lasts is there.
        if events % (threads * LIFE / 10) == 0 {
            seen.push(resident_kb());
            assert!(rig::table_size() <= 1, "{} threads are left", rig::table_size());
        }
    }
    assert_eq!(events, threads * LIFE);
    println!("{events} events, {threads} threads: kB resident {seen:?}");
    assert!(seen.iter().all(|now| *now <= seen[0] + SLACK_KB), "kB resident: {seen:?}");
    let metrics = rig.metrics();
    assert!(metrics.values().all(|count| *count == 0), "{metrics:?}");
}

#[test]
fn memory_does_not_grow() {
    soak(10_000);
}

#[test]
#[ignore = "takes a minute: ten million events of a million threads"]
fn memory_does_not_grow_over_ten_million_events() {
    soak(1_000_000);
}
