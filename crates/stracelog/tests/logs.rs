//! Real logs (`logs/`), and lines as strace has them, become the events that they tell of.

mod common;

use std::collections::BTreeMap;

use common::{Told, read, read_in_pieces};
use stracelog::table;

const THREADS: &[u8] = include_bytes!("logs/threads.log");
const CRASH: &[u8] = include_bytes!("logs/crash.log");
const GAPS: &[u8] = include_bytes!("logs/gaps.log");
const TABLE: &str = include_str!("logs/table.txt");

fn lines(lines: &[&str]) -> Told {
    read(lines.join("\n").as_bytes())
}

#[test]
fn every_line_of_the_real_logs_is_understood() {
    for (log, lines) in [(THREADS, 119), (CRASH, 138), (GAPS, 16)] {
        let told = read(log);
        assert_eq!((told.tally.lines, told.tally.damaged_lines), (lines, 0), "{:?}", told.tally);
        assert!(told.events.is_sorted_by_key(|event| event.timestamp_ns / 1_000_000), "out of order by milliseconds");
    }
}

/// The table was made in another run: what waits for a lock is made more or less often.
#[test]
fn calls_and_errors_are_those_that_strace_counts_itself() {
    let table = table::parse(TABLE).unwrap();
    let told = read(THREADS);
    let calls = told.calls();
    let errors = |name: &str| {
        let failed = told.of(name).into_iter().filter(|event| event.exit);
        // The result of a call without an event type of its own is behind the parameters that it has.
        let result = |event: &common::Read| {
            event
                .number("res")
                .or_else(|| event.number("fd"))
                .unwrap_or_else(|| i64::from_le_bytes(event.all.last().unwrap().as_slice().try_into().unwrap()))
        };
        failed.filter(|event| (-4095..0).contains(&result(event))).count() as u64
    };
    for row in table.rows.iter().filter(|row| row.name != "futex") {
        // libscap's name for it.
        let name = if row.name == "prlimit64" { "prlimit" } else { row.name.as_str() };
        assert_eq!((calls.get(name).copied(), errors(name)), (Some(row.calls as usize), row.errors), "{name}");
    }
    assert_eq!(calls.len(), table.rows.len());
}

#[test]
fn a_call_has_the_times_that_strace_gives() {
    let told = lines(&[
        "7 16:30:05.000100 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3 <0.000036>",
        "7 16:30:05.000200 read(3,  <unfinished ...>",
        "8 16:30:05.000250 getpid() = 8",
        "7 16:30:05.000300 <... read resumed>\"root\", 4096) = 4 <0.000090>",
        "7 16:30:05.000400 read(3,  <unfinished ...>",
        "7 16:30:05.000500 <... read resumed>\"\", 4096) = 0",
        "7 16:30:05.000600 exit_group(0) = ?",
    ]);
    let midnight = told.events[0].timestamp_ns - 100_000;
    let times: Vec<(&str, bool, u64)> =
        told.events.iter().map(|event| (event.name, event.exit, (event.timestamp_ns - midnight) / 1000)).collect();
    let expected = [
        ("openat", false, 100),
        ("openat", true, 136),
        ("read", false, 200),
        // Without a duration the call has only the time of its line, and no enter event to measure by.
        ("getpid", true, 250),
        ("read", true, 290),
        ("read", false, 400),
        ("read", true, 500),
        ("exit_group", false, 600),
    ];
    assert_eq!(times, expected);
    assert_eq!(midnight, (16 * 3600 + 30 * 60 + 5) * 1_000_000_000);
    assert!(!told.tally.dated);
    assert_eq!(told.events[4].params["data"], b"root");
    assert_eq!((told.events[4].number("fd"), told.events[4].number("size")), (Some(3), Some(4096)));
}

#[test]
fn programs_threads_and_children_are_told() {
    let told = read(THREADS);
    let execs: Vec<_> = told.of("execve").into_iter().filter(|event| event.exit).collect();
    let described: Vec<_> =
        execs.iter().map(|exec| (exec.tid, exec.text("comm"), exec.text("exe"), exec.number("ptid"))).collect();
    assert_eq!(
        described,
        [(21615, Some("worker"), Some("/srv/app/worker"), None), (21618, Some("worker"), Some("worker"), Some(21615))]
    );
    assert_eq!(execs[1].params["args"], b"child\0");
    let made: Vec<_> = told
        .events
        .iter()
        .filter(|event| event.exit && event.name.starts_with("clone"))
        .map(|event| {
            (event.tid, event.number("res"), event.number("pid"), event.number("flags").map(|flags| flags >> 13 & 1))
        })
        .collect();
    let (parent, thread, process) = (Some(21615), Some(1), Some(0));
    assert_eq!(
        made,
        [
            (21615, Some(21616), parent, thread),
            (21615, Some(21617), parent, thread),
            (21615, Some(21618), parent, process)
        ]
    );
    let ends: Vec<_> =
        told.of("procexit").iter().map(|end| (end.tid, end.number("status"), end.number("ret"))).collect();
    assert_eq!(
        ends,
        [
            (21617, Some(0), Some(0)),
            (21616, Some(0), Some(0)),
            (21618, Some(3 << 8), Some(3)),
            (21615, Some(0), Some(0))
        ]
    );
    assert_eq!(told.threads, [], "every thread was made before its first line");
}

#[test]
fn a_crash_brings_its_address_and_its_end() {
    let told = read(CRASH);
    let signals: Vec<_> = told
        .of("signaldeliver")
        .iter()
        .map(|signal| (signal.tid, signal.number("spid"), signal.number("sig"), signal.all.len()))
        .collect();
    assert_eq!(signals, [(21622, Some(21627), Some(17), 3), (21628, Some(0), Some(11), 5)]);
    let segfault = told.of("signaldeliver")[1];
    assert_eq!(
        (segfault.all[3].as_slice(), segfault.all[4].as_slice()),
        (&1i64.to_le_bytes()[..], &0x18u64.to_le_bytes()[..])
    );
    let end = told.events.last().unwrap();
    assert_eq!((end.name, end.tid, end.number("status"), end.number("sig")), ("procexit", 21622, Some(11), Some(11)));
    assert!(told.tally.dated);
    // Lines that strace and the program itself broke off are whole again.
    assert_eq!(told.of("clone3").iter().filter(|event| event.exit).count(), 3);
    let hello = told.of("write").into_iter().rfind(|event| event.exit).unwrap();
    assert_eq!((hello.number("res"), hello.params["data"].as_slice()), (Some(6), &b"hello\n"[..]));
}

#[test]
fn a_log_that_never_names_its_thread_takes_the_number_that_the_thread_was_told() {
    let told = read(GAPS);
    assert!(told.events.iter().all(|event| event.tid == 21632), "{:?}", told.events[0]);
    // Recorded without -T: no durations, so no enter events but that of the call that did not come back.
    let entered: Vec<&str> = told.events.iter().filter(|e| !e.exit && e.name != "procexit").map(|e| e.name).collect();
    assert_eq!(entered, ["exit_group"]);
}

#[test]
fn a_child_that_is_faster_than_its_parent_is_told_of_first() {
    let told = lines(&[
        "7 16:30:05.000100 execve(\"/bin/sh\", [\"sh\"], 0x7ffe /* 1 var */) = 0 <0.000100>",
        "7 16:30:05.000300 vfork( <unfinished ...>",
        "8 16:30:05.000400 execve(\"/bin/a-program-with-a-long-name\", [\"a\", \"b c\"...], 0x7ffe /* 1 var */) = 0 <0.000100>",
        "7 16:30:05.000600 <... vfork resumed>) = 8 <0.000300>",
        "8 16:30:05.000700 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} <unfinished ...>",
        "9 16:30:05.000800 gettid() = 9 <0.000001>",
        "8 16:30:05.000900 <... clone3 resumed> => {parent_tid=[9]}, 88) = 9 <0.000200>",
    ]);
    assert_eq!(told.threads, [(8, 8, 7, "sh".into()), (9, 8, 7, "a-program-with-".into())]);
    let exec = told.of("execve").into_iter().rfind(|event| event.exit).unwrap();
    assert_eq!(
        (exec.number("pid"), exec.number("ptid"), exec.params["args"].as_slice()),
        (Some(8), Some(7), &b"b c...\0"[..])
    );
}

#[test]
fn an_execve_of_another_thread_goes_on_in_the_first() {
    let told = lines(&[
        "7 16:30:05.000100 execve(\"/bin/a\", [\"a\"], 0x7ffe /* 1 var */) = 0 <0.000100>",
        "7 16:30:05.000300 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} => {parent_tid=[8]}, 88) = 8 <0.000100>",
        "8 16:30:05.000500 execve(\"/bin/b\", [\"b\"], 0x7ffe /* 1 var */ <unfinished ...>",
        "7 16:30:05.000600 +++ superseded by execve in pid 8 +++",
        "7 16:30:05.000700 <... execve resumed>) = 0 <0.000200>",
    ]);
    let exec = told.events.last().unwrap();
    assert_eq!((exec.tid, exec.text("comm"), exec.number("res")), (7, Some("b"), Some(0)));
}

#[test]
fn errors_restarts_and_unknown_calls_are_kept() {
    let told = lines(&[
        "7 16:30:05.1 open(\"/a\", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000010>",
        "7 16:30:05.2 nanosleep({tv_sec=1, tv_nsec=0}, 0x7f) = ? ERESTART_RESTARTBLOCK (Interrupted by signal) <0.1>",
        "7 16:30:05.3 restart_syscall(<... resuming interrupted nanosleep ...>) = 0 <0.2>",
        "7 16:30:05.6 [ 334] rseq(0x7f, 0x20, 0, 0x53053053) = 0 <0.000010>",
        "7 16:30:05.7 syscall_0x1f4(0x1, 0x2) = -1 ENOSYS (Function not implemented) <0.000010>",
    ]);
    let exits: Vec<_> = told.events.iter().filter(|event| event.exit).collect();
    assert_eq!((exits[0].number("fd"), exits[0].text("name")), (Some(-2), Some("/a")));
    assert_eq!((exits[1].name, exits[1].number("res")), ("nanosleep", Some(-516)));
    assert_eq!(exits[2].name, "restart_syscall");
    assert_eq!((exits[3].name, exits[3].all[1].as_slice()), ("rseq", &334u16.to_le_bytes()[..]));
    assert_eq!((exits[4].name, exits[4].number("id")), ("syscall", Some(0)));
    assert_eq!(
        (exits[4].all[1].as_slice(), exits[4].all[2].as_slice()),
        (&500u16.to_le_bytes()[..], &(-38i64).to_le_bytes()[..])
    );
}

#[test]
fn damaged_lines_are_counted_by_number_and_the_others_are_read() {
    let mut text: Vec<String> = String::from_utf8(THREADS.to_vec()).unwrap().lines().map(Into::into).collect();
    text[4].truncate(40);
    text[9] = "Killed".into();
    text[21] = text[21].replace(") = 12", ") = twelve");
    text[30] = "\u{1b}[31m16:30:05 error".into();
    text.insert(11, String::new());
    let told = read(text.join("\n").as_bytes());
    assert_eq!((told.tally.damaged_lines, told.tally.first_damaged.as_slice()), (4, &[5, 10, 23, 32][..]));
    let lost: usize = read(THREADS).events.len() - told.events.len();
    assert_eq!(lost, 2 * 4, "an enter and an exit event for each");
}

#[test]
fn however_the_log_comes_it_becomes_the_same() {
    for log in [THREADS, CRASH, GAPS] {
        let whole = read(log);
        for (start, piece) in [(0, 1), (7, 3), (1000, 100), (usize::MAX, 1)] {
            let mut told = read_in_pieces(log, start.max(log.len() / 2), piece);
            assert_eq!(told, whole, "{start} {piece}");
            let windows = String::from_utf8(log.to_vec()).unwrap().replace('\n', "\r\n");
            told = read_in_pieces(windows.as_bytes(), usize::MAX, piece);
            assert_eq!(told, whole, "with carriage returns");
        }
        // An unfinished last line counts like any other.
        assert_eq!(read(log.trim_ascii_end()), whole);
    }
}

#[test]
fn calls_that_strace_counts_have_one_event_each() {
    let unique: BTreeMap<&str, usize> = read(CRASH).calls();
    let enters =
        |told: &Told| told.events.iter().filter(|e| !e.exit && !matches!(e.name, "procexit" | "signaldeliver")).count();
    let told = read(CRASH);
    // exit, exit_group and the futex that the crash ended do not come back.
    assert_eq!(enters(&told) - unique.values().sum::<usize>(), 2 + 1 + 1);
}
