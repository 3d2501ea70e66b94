//! Enter and exit events in all the ways in which captures hold them, and the calls they make.

use std::io::Cursor;
use std::ops::ControlFlow;

use diagnosis::{OpenCall, State};
use scapfile::{Capture, Item, schema, write};

const GENERIC: u16 = 0;
const READ: u16 = 6;
const STAT: u16 = 66;
const CLONE: u16 = 222;
const NANOSLEEP: u16 = 134;
const DROP: u16 = 148;
const PROCEXIT: u16 = 186;
const PAGE_FAULT: u16 = 290;
const MMAP: u16 = 160;
const OPENAT: u16 = 306;

/// A capture in the making; each event is given its time.
struct Story(Vec<u8>);

/// A call as the tests compare it.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    tid: i64,
    name: &'static str,
    took: Option<u64>,
    result: Option<i64>,
    errno: Option<u16>,
    fd: Option<i32>,
    path: Option<String>,
}

fn plain(tid: i64, name: &'static str, took: Option<u64>) -> Seen {
    Seen { tid, name, took, result: None, errno: None, fd: None, path: None }
}

impl Story {
    fn begin() -> Self {
        let mut bytes = Vec::new();
        write::section(&mut bytes);
        Self(bytes)
    }

    fn at(mut self, timestamp_ns: u64, tid: i64, event_type: u16, params: &[&[u8]]) -> Self {
        let event = write::Event { cpu: 3, timestamp_ns, tid, event_type, params };
        write::event(&mut self.0, &event).expect("room for it");
        self
    }

    fn enter(self, timestamp_ns: u64, tid: i64, call: u16) -> Self {
        self.at(timestamp_ns, tid, call, &[])
    }

    fn exit(self, timestamp_ns: u64, tid: i64, call: u16) -> Self {
        self.at(timestamp_ns, tid, call + 1, &[])
    }

    /// The enter event has the kernel's number too, the exit event has not, as sysdig 0.29 writes them.
    fn generic(self, from_ns: u64, to_ns: u64, entered: u16, left: u16) -> Self {
        self.at(from_ns, 1, GENERIC, &[&entered.to_le_bytes(), &201u16.to_le_bytes()]).at(
            to_ns,
            1,
            GENERIC + 1,
            &[&left.to_le_bytes()],
        )
    }

    fn calls(self) -> Vec<Seen> {
        self.read().0
    }

    fn open(self) -> Vec<OpenCall> {
        self.read().1
    }

    fn read(self) -> (Vec<Seen>, Vec<OpenCall>) {
        let mut capture = Capture::read(Cursor::new(self.0), None).expect("a capture");
        let (mut state, mut calls) = (State::default(), Vec::new());
        capture.visit(|item| {
            if let Item::Event(event) = item
                && let Some(call) = state.event(&event)
            {
                calls.push(Seen {
                    tid: call.tid(),
                    name: call.name(),
                    took: call.duration_ns(),
                    result: call.result(),
                    errno: call.errno(),
                    fd: call.fd(),
                    path: call.path().map(|path| String::from_utf8_lossy(path).into_owned()),
                });
            }
            ControlFlow::Continue(())
        });
        assert_eq!(capture.damage(), None);
        (calls, state.open_calls())
    }
}

#[test]
fn the_numbers_here_are_those_of_the_event_table() {
    for (event_type, name) in
        [(READ, "read"), (STAT, "stat"), (CLONE, "clone"), (NANOSLEEP, "nanosleep"), (MMAP, "mmap")]
    {
        assert_eq!((schema::name(event_type), schema::name(event_type + 1)), (name, name));
    }
}

#[test]
fn a_call_lasts_from_its_enter_to_its_exit() {
    let calls = Story::begin().enter(100, 1, NANOSLEEP).exit(350, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "nanosleep", Some(250))]);
}

#[test]
fn threads_are_paired_each_for_itself() {
    let calls = Story::begin()
        .enter(1, 1, NANOSLEEP)
        .enter(2, 2, NANOSLEEP)
        .exit(12, 2, NANOSLEEP)
        .exit(21, 1, NANOSLEEP)
        .calls();
    assert_eq!(calls, [plain(2, "nanosleep", Some(10)), plain(1, "nanosleep", Some(20))]);
}

#[test]
fn exit_events_alone_are_calls_of_unknown_duration() {
    let calls = Story::begin().exit(1, 1, NANOSLEEP).exit(2, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "nanosleep", None), plain(1, "nanosleep", None)]);
}

#[test]
fn an_exit_is_not_paired_with_an_enter_that_has_had_its_exit() {
    let calls = Story::begin().enter(1, 1, NANOSLEEP).exit(3, 1, NANOSLEEP).exit(9, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "nanosleep", Some(2)), plain(1, "nanosleep", None)]);
}

#[test]
fn an_exit_is_not_paired_with_the_enter_of_another_call() {
    let calls = Story::begin().enter(1, 1, NANOSLEEP).exit(2, 1, STAT).exit(3, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "stat", None), plain(1, "nanosleep", None)]);
}

#[test]
fn an_enter_whose_exit_is_missing_makes_way_for_the_next() {
    let calls = Story::begin().enter(1, 1, NANOSLEEP).enter(5, 1, NANOSLEEP).exit(6, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "nanosleep", Some(1))]);
}

#[test]
fn a_clock_that_went_backwards_tells_no_duration() {
    let calls = Story::begin().enter(9, 1, NANOSLEEP).exit(7, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "nanosleep", None)]);
}

#[test]
fn page_faults_within_a_call_do_not_end_it() {
    let calls = Story::begin().enter(1, 1, NANOSLEEP).at(2, 1, PAGE_FAULT, &[]).exit(4, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "nanosleep", Some(3))]);
}

#[test]
fn behind_lost_events_a_pair_may_be_none() {
    let calls = Story::begin()
        .enter(1, 1, NANOSLEEP)
        .at(2, -1, DROP, &[])
        .exit(9, 1, NANOSLEEP)
        .enter(10, 1, NANOSLEEP)
        .exit(11, 1, NANOSLEEP);
    assert_eq!(calls.calls(), [plain(1, "nanosleep", None), plain(1, "nanosleep", Some(1))]);
}

#[test]
fn the_next_thread_of_an_id_does_not_end_the_call_of_the_one_before() {
    let calls = Story::begin().enter(1, 1, NANOSLEEP).at(2, 1, PROCEXIT, &[&[0; 8]]).exit(9, 1, NANOSLEEP).calls();
    assert_eq!(calls, [plain(1, "nanosleep", None)]);
}

#[test]
fn generic_calls_are_told_apart_by_their_code_and_have_no_result() {
    let story = Story::begin().generic(1, 4, 11, 11).generic(5, 6, 47, 11);
    assert_eq!(story.calls(), [plain(1, "time", Some(3)), plain(1, "time", None)]);
}

#[test]
fn a_generic_call_has_the_kernels_number_of_whichever_event_has_it() {
    let bytes = Story::begin().generic(1, 4, 11, 11).0;
    let mut capture = Capture::read(Cursor::new(bytes), None).expect("a capture");
    let (mut state, mut native) = (State::default(), None);
    capture.visit(|item| {
        if let Item::Event(event) = item
            && let Some(call) = state.event(&event)
        {
            native = call.generic.and_then(|generic| generic.native_id);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(native, Some(201));
}

#[test]
fn results_are_errors_from_minus_4095_on() {
    let result = |value: i64| {
        let calls = Story::begin().at(1, 1, STAT + 1, &[&value.to_le_bytes(), b"/etc/x\0"]).calls();
        calls.into_iter().map(|call| (call.result, call.errno, call.path)).next().expect("a call")
    };
    let path = Some("/etc/x".to_owned());
    assert_eq!(result(0), (Some(0), None, path.clone()));
    assert_eq!(result(-2), (Some(-2), Some(2), path.clone()));
    assert_eq!(result(-4095), (Some(-4095), Some(4095), path.clone()));
    assert_eq!(result(-4096), (Some(-4096), None, path.clone()));
    assert_eq!(result(i64::MIN), (Some(i64::MIN), None, path));
}

#[test]
fn the_descriptor_is_in_the_enter_event_or_in_newer_exit_events() {
    let (fd, result, size) = (7i64.to_le_bytes(), 512i64.to_le_bytes(), 512u32.to_le_bytes());
    let expected = |took| Seen { result: Some(512), fd: Some(7), ..plain(1, "read", took) };
    let old = Story::begin().at(1, 1, READ, &[&fd, &size]).at(2, 1, READ + 1, &[&result, b"data"]);
    assert_eq!(old.calls(), [expected(Some(1))]);
    let new = Story::begin().at(2, 1, READ + 1, &[&result, b"data", &fd, &size]);
    assert_eq!(new.calls(), [expected(None)]);
}

#[test]
fn a_descriptor_that_a_call_makes_is_its_result() {
    let at = (-100i64).to_le_bytes();
    let opened = |fd: i64| {
        let calls = Story::begin().at(1, 1, OPENAT + 1, &[&fd.to_le_bytes(), &at, b"/lib/libc.so.6\0"]).calls();
        calls.into_iter().map(|call| (call.result, call.errno, call.fd, call.path)).next().expect("a call")
    };
    let path = Some("/lib/libc.so.6".to_owned());
    assert_eq!(opened(3), (Some(3), None, None, path.clone()));
    assert_eq!(opened(-2), (Some(-2), Some(2), None, path));
}

#[test]
fn the_childs_side_of_a_clone_is_no_call() {
    let (child, parent) = (0i64.to_le_bytes(), 9i64.to_le_bytes());
    let calls = Story::begin().enter(1, 1, CLONE).at(3, 9, CLONE + 1, &[&child]).at(4, 1, CLONE + 1, &[&parent]);
    assert_eq!(calls.calls(), [Seen { result: Some(9), ..plain(1, "clone", Some(3)) }]);
}

#[test]
fn calls_that_are_not_back_at_the_end_are_open() {
    let story = Story::begin().enter(5, 2, NANOSLEEP).enter(6, 1, READ).exit(7, 1, READ).enter(8, 3, STAT);
    let open: Vec<_> = story.open().iter().map(|call| (call.tid, call.name(), call.entered.timestamp_ns)).collect();
    assert_eq!(open, [(2, "nanosleep", 5), (3, "stat", 8)]);
}

#[test]
fn parameters_that_are_missing_or_of_another_size_are_none() {
    let calls = Story::begin().at(1, 1, READ, &[b"odd"]).at(2, 1, READ + 1, &[]).at(3, 1, READ + 1, &[b"odd"]).calls();
    assert_eq!(calls, [plain(1, "read", Some(1)), plain(1, "read", None)]);
}
