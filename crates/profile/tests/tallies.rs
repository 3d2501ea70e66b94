//! Small captures, and what is counted in them: by whom, when, and in which stack.

use std::io::Cursor;
use std::ops::ControlFlow;

use profile::{
    Asked, By, Calls, CostTable, Frame, Group, MAX_CALLERS, Order, Picture, Rates, Rest, Series, Stacks, Underway,
    Within,
};
use scapfile::types::TYPES;
use scapfile::{Capture, schema, write};

const READ: u16 = 6;
const NANOSLEEP: u16 = 134;
const GENERIC: u16 = 0;
const CLONE: u16 = 222;
const EXECVE: u16 = 292;
const EXIT_GROUP: u16 = 156;
const PR_SET_NAME: u32 = 15;
const SECOND: u64 = 1_000_000_000;
const ID: &str = "7272f37ebc5c56208fff78f04e126973b694d5b91158b6fbd7383fe6ae2e3dd5";

/// A capture in the making.
struct Story(Vec<u8>);

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

    /// A read from `from_ns` to `to_ns`.
    fn read(self, tid: i64, from_ns: u64, to_ns: u64, result: i64) -> Self {
        self.at(from_ns, tid, READ, &[&3i64.to_le_bytes(), &9u32.to_le_bytes()]).at(
            to_ns,
            tid,
            READ + 1,
            &[&result.to_le_bytes(), b"data"],
        )
    }

    /// The exit of a nanosleep of unknown begin.
    fn slept(self, tid: i64, timestamp_ns: u64) -> Self {
        self.at(timestamp_ns, tid, NANOSLEEP + 1, &[&0i64.to_le_bytes()])
    }

    /// Parameters as EXECVE_19_X and CLONE_20_X have them up to the control groups; `ids`: process and parent.
    fn born(self, event_type: u16, tid: i64, ids: (i64, i64), comm: &str, cgroups: &str) -> Self {
        let number = |value: i64| value.to_le_bytes();
        let (comm, cgroups) = ([comm.as_bytes(), b"\0"].concat(), [cgroups.as_bytes(), b"\0"].concat());
        let (zero, tid_bytes, pid, ppid) = (number(0), number(tid), number(ids.0), number(ids.1));
        let mut params: Vec<&[u8]> =
            vec![&zero, b"/bin/x\0", b"\0", &tid_bytes, &pid, &ppid, b"/\0", &zero, &zero, &zero];
        params.extend([&[0; 4][..], &[0; 4], &[0; 4], &comm, &cgroups]);
        self.at(1, tid, event_type, &params)
    }

    fn exec(self, tid: i64, ppid: i64, comm: &str, container: bool) -> Self {
        let cgroups = if container { format!("cpuset=/docker/{ID}") } else { String::new() };
        self.born(EXECVE + 1, tid, (tid, ppid), comm, &cgroups)
    }

    fn calls(self, asked: Asked, anonymous: bool) -> (Calls, CostTable, Vec<Underway>) {
        let (mut calls, mut costs) = (Calls::new(asked, anonymous), CostTable::default());
        let mut capture = Capture::read(Cursor::new(self.0), None).expect("a capture");
        capture.visit(|item| {
            if let Some(made) = calls.item(&item) {
                costs.note(&made);
            }
            ControlFlow::Continue(())
        });
        let underway = calls.finish();
        (calls, costs, underway)
    }

    fn groups(self, by: By) -> Vec<Group> {
        self.asked(Asked::default(), by)
    }

    fn asked(self, asked: Asked, by: By) -> Vec<Group> {
        let (calls, costs, _) = self.calls(asked, by == By::Capture);
        costs.by(by, Order::Time, &calls)
    }

    fn stacks(self) -> Stacks {
        let (calls, costs, _) = self.calls(Asked::default(), false);
        costs.stacks(&calls)
    }

    fn rates(self, every_ns: u64, by: By, by_name: bool) -> (Vec<Series>, u64) {
        let (mut calls, mut rates) = (Calls::new(Asked::default(), false), Rates::new(every_ns, by_name));
        let mut capture = Capture::read(Cursor::new(self.0), None).expect("a capture");
        capture.visit(|item| {
            if let Some(made) = calls.item(&item) {
                rates.note(&made);
            }
            ControlFlow::Continue(())
        });
        calls.finish();
        (rates.by(by, &calls), rates.every_ns())
    }
}

/// Command names and the number of calls.
fn who(groups: &[Group]) -> Vec<(&str, u64)> {
    groups.iter().map(|group| (group.who.comm.as_deref().unwrap_or("?"), group.total.calls)).collect()
}

fn intervals(series: &Series) -> Vec<(u64, u64)> {
    series.intervals.iter().map(|cell| (cell.interval, cell.calls)).collect()
}

#[test]
fn the_numbers_here_are_those_of_the_event_table() {
    for (number, name) in [(CLONE, "clone"), (EXECVE, "execve"), (READ, "read")] {
        assert_eq!(TYPES.name(TYPES.key_of(number, None)), name);
    }
}

#[test]
fn what_is_known_of_a_call_is_summed_and_what_is_not_is_counted() {
    let story = Story::begin().read(1, 10, 30, 4).read(1, 40, 45, -11).slept(1, 50);
    let story = story.at(60, 1, GENERIC, &[&[11, 0], &[201, 0]]).at(61, 1, GENERIC + 1, &[&[11, 0]]);
    let groups = story.groups(By::Capture);
    let [group] = &groups[..] else { panic!("{groups:?}") };
    let shown: Vec<_> = group
        .syscalls
        .iter()
        .map(|line| (line.syscall, line.costs.calls, line.costs.with_result, line.costs.errors, line.costs.timed))
        .collect();
    assert_eq!(shown, [("read", 2, 2, 1, 2), ("time", 1, 0, 0, 1), ("nanosleep", 1, 1, 0, 0)]);
    assert_eq!((group.total.calls, group.total.time_ns, group.total.timed), (4, 26, 3));
}

#[test]
fn an_order_sorts_calls_and_groups() {
    let story = || {
        let slow = Story::begin().exec(1, 0, "slow", false).read(1, 10, 100, 4);
        slow.exec(2, 0, "busy", false).read(2, 200, 201, -1).read(2, 202, 203, -1).slept(2, 204).slept(2, 205)
    };
    let sorted = |order| {
        let (calls, costs, _) = story().calls(Asked::default(), false);
        let groups = costs.by(By::Process, order, &calls);
        let names: Vec<_> = groups.iter().map(|group| group.who.comm.clone().expect("a name")).collect();
        let busy = groups.iter().find(|group| group.who.pid == Some(2)).expect("a group");
        (names.join(" "), busy.syscalls.iter().map(|line| line.syscall).collect::<Vec<_>>().join(" "))
    };
    let of = |names: &str, calls: &str| (names.to_owned(), calls.to_owned());
    assert_eq!(sorted(Order::Time), of("slow busy", "read nanosleep execve"));
    assert_eq!(sorted(Order::Calls), of("busy slow", "read nanosleep execve"));
    assert_eq!(sorted(Order::Errors), of("busy slow", "read nanosleep execve"));
    assert_eq!(sorted(Order::Mean), of("slow busy", "read nanosleep execve"));
    assert_eq!(sorted(Order::Name), of("busy slow", "execve nanosleep read"));
}

#[test]
fn an_execve_begins_a_program_that_is_counted_for_itself() {
    let story = Story::begin().exec(5, 1, "runc", false).read(5, 10, 25, 1).exec(5, 1, "redis", true);
    let groups = story.read(5, 30, 35, 1).read(5, 40, 45, 1).groups(By::Process);
    assert_eq!(who(&groups), [("runc", 2), ("redis", 3)], "each with the execve that began it");
    assert_eq!(groups[1].who.container.as_ref().map(|container| container.id.as_str()), Some("7272f37ebc5c"));
    assert_eq!(groups[0].who.container, None);
}

#[test]
fn threads_are_put_together_by_process_and_told_apart_by_thread() {
    let story = || {
        let leader = Story::begin().exec(5, 1, "java", false).read(5, 10, 20, 1);
        leader.born(CLONE + 1, 6, (5, 1), "java", "").read(6, 30, 90, 1)
    };
    assert_eq!(who(&story().groups(By::Process)), [("java", 3)]);
    let threads: Vec<_> = story().groups(By::Thread).iter().map(|group| (group.who.tid, group.who.pid)).collect();
    assert_eq!(threads, [(Some(6), Some(5)), (Some(5), Some(5))]);
}

#[test]
fn a_process_that_renames_itself_has_its_last_name() {
    let story = Story::begin().exec(5, 1, "worker", false).read(5, 10, 20, 1);
    let set = [&0i64.to_le_bytes()[..], &PR_SET_NAME.to_le_bytes()[..], b"nginx: worker\0"];
    let prctl = schema::types_named("prctl").find(|number| number % 2 == 1).expect("in the event table");
    let groups = story.at(25, 5, prctl, &set).groups(By::Process);
    assert_eq!(who(&groups), [("nginx: worker", 3)]);
}

#[test]
fn a_thread_of_which_the_capture_says_nothing_is_a_process_of_unknown_name() {
    let groups = Story::begin().read(7, 1, 2, 1).groups(By::Process);
    assert_eq!((who(&groups), groups[0].who.pid), (vec![("?", 1)], Some(7)));
}

#[test]
fn only_what_was_asked_for_is_counted() {
    let story = || {
        let host = Story::begin().exec(5, 1, "bash", false).read(5, SECOND, SECOND + 5, 1);
        host.exec(6, 5, "redis", true).read(6, 2 * SECOND, 2 * SECOND + 7, 1).slept(6, 3 * SECOND)
    };
    let count = |asked: Asked| story().asked(asked, By::Capture).iter().map(|group| group.total.calls).sum::<u64>();
    let read = TYPES.find("read").expect("a name");
    let only_read = (0..TYPES.names().len()).map(|key| key == read as usize).collect();
    assert_eq!(count(Asked::default()), 5);
    assert_eq!(count(Asked { calls: Some(only_read), ..Asked::default() }), 2);
    assert_eq!(count(Asked { pids: Some(vec![6]), ..Asked::default() }), 3);
    assert_eq!(count(Asked { tids: Some(vec![5, 6]), ..Asked::default() }), 5);
    assert_eq!(count(Asked { comms: Some(vec!["bash".into()]), ..Asked::default() }), 2);
    assert_eq!(count(Asked { containers: Some(vec!["7272".into()]), ..Asked::default() }), 3);
    assert_eq!(count(Asked { containers: Some(vec!["redis".into()]), ..Asked::default() }), 0);
    let (second, two_seconds) = (Some(SECOND as i64), Some(2 * SECOND as i64 + 6));
    assert_eq!(count(Asked { within: Within { since_ns: second, until_ns: two_seconds }, ..Asked::default() }), 2);
    let end = Within { since_ns: Some(2 * SECOND as i64), until_ns: None };
    assert_eq!(count(Asked { within: end, ..Asked::default() }), 2);
}

#[test]
fn calls_under_way_at_the_end_are_told_but_for_those_that_never_come_back() {
    let story = Story::begin().exec(5, 1, "a", false).at(10, 5, READ, &[]).exec(6, 1, "b", false);
    let story = story.at(20, 6, NANOSLEEP, &[]).exec(7, 1, "c", false).at(25, 7, EXIT_GROUP, &[]).slept(8, 100);
    let generic_exit = [&[152u8, 0][..], &[231, 0]];
    let story = story.at(30, 9, GENERIC, &generic_exit);
    let (_, _, underway) = story.calls(Asked::default(), true);
    let told: Vec<_> = underway.iter().map(|call| (TYPES.name(call.name), call.for_ns)).collect();
    assert!(told.contains(&("read", 90)) && told.contains(&("nanosleep", 80)), "{told:?}");
    assert!(!told.iter().any(|(name, _)| name.starts_with("exit")), "{told:?}");
}

#[test]
fn more_callers_than_can_be_told_apart_are_counted_together() {
    let mut story = Story::begin();
    let callers = MAX_CALLERS as i64 + 50;
    for tid in 1..=callers {
        story = story.slept(tid, 10);
    }
    let groups = story.groups(By::Process);
    let others: u64 = groups.iter().filter(|group| group.who.others).map(|group| group.total.calls).sum();
    assert_eq!(groups.iter().map(|group| group.total.calls).sum::<u64>(), callers.unsigned_abs());
    assert_eq!((groups.len(), others), (MAX_CALLERS + 1, 50));
}

#[test]
fn those_asked_for_find_a_place_however_many_there_were_before_them() {
    let story = || {
        let mut story = Story::begin();
        for tid in 1..=MAX_CALLERS as i64 + 50 {
            story = story.slept(tid, 10);
        }
        story.exec(99_999, 1, "redis", true).slept(99_999, 20)
    };
    let late = |asked| who(&story().asked(asked, By::Process)).iter().map(|(_, calls)| *calls).collect::<Vec<_>>();
    assert_eq!(late(Asked { containers: Some(vec!["7272".into()]), ..Asked::default() }), [2]);
    assert_eq!(late(Asked { pids: Some(vec![99_999]), ..Asked::default() }), [2]);
    assert_eq!(late(Asked { tids: Some(vec![99_999]), ..Asked::default() }), [2]);
}

#[test]
fn a_section_from_another_machine_has_processes_of_its_own() {
    let mut story = Story::begin().exec(5, 1, "first", false).read(5, 10, 20, 1);
    write::section(&mut story.0);
    let groups = story.slept(5, 30).groups(By::Process);
    assert_eq!(who(&groups), [("first", 2), ("?", 1)]);
}

#[test]
fn calls_count_in_the_interval_in_which_they_end() {
    let at = |tenths: u64| SECOND / 10 * tenths;
    let story = Story::begin().exec(5, 1, "a", false).exec(6, 1, "b", false);
    let story = story.slept(5, at(2)).slept(5, at(9)).slept(5, at(11)).slept(6, at(35)).slept(5, at(12));
    let (series, every_ns) = story.rates(SECOND, By::Process, false);
    assert_eq!(every_ns, SECOND);
    assert_eq!(intervals(&series[0]), [(0, 3), (1, 2)], "with the execve");
    assert_eq!(intervals(&series[1]), [(0, 1), (3, 1)]);
}

#[test]
fn rates_are_told_by_name_and_a_clock_that_goes_backwards_loses_no_call() {
    let story = || Story::begin().slept(1, 5 * SECOND).slept(2, 9 * SECOND).slept(1, 6 * SECOND).read(1, 1, 2, 0);
    let (series, _) = story().rates(SECOND, By::Capture, true);
    assert_eq!(series.iter().map(|series| series.syscall).collect::<Vec<_>>(), [Some("nanosleep"), Some("read")]);
    assert_eq!(intervals(&series[0]), [(0, 1), (1, 1), (4, 1)]);
    assert_eq!(intervals(&series[1]), [(0, 1)], "what is before the first event is in the first interval");
    let (mut series, _) = story().rates(SECOND, By::Thread, false);
    let rest = Rest::of(&mut series, 1);
    assert_eq!((series[0].calls, rest.series, rest.calls), (3, 1, 1));
    assert_eq!(rest.intervals.iter().map(|cell| (cell.interval, cell.calls)).collect::<Vec<_>>(), [(4, 1)]);
}

#[test]
fn a_timestamp_at_the_end_of_time_is_one_interval_more() {
    let story = Story::begin().slept(1, 1).slept(1, u64::MAX).slept(1, 2);
    let (series, every_ns) = story.rates(1, By::Capture, false);
    assert_eq!((intervals(&series[0]), every_ns), (vec![(0, 1), (1, 1), (u64::MAX - 1, 1)], 1));
}

/// The frames of each stack, from the container to the thread.
fn paths(stacks: &Stacks) -> Vec<String> {
    let name = |frame: &Frame| match frame {
        Frame::Host => "host".into(),
        Frame::Container { container } => container.id.clone(),
        Frame::Process { comm, .. } => comm.clone().unwrap_or("?".into()),
        Frame::Thread { tid } => tid.to_string(),
        Frame::Others => "others".into(),
    };
    let path = |node: u32| {
        let mut names = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next {
            names.insert(0, name(&stacks.nodes[node as usize].frame));
            next = stacks.nodes[node as usize].parent;
        }
        names.join(";")
    };
    stacks.node.iter().zip(&stacks.syscall).map(|(node, call)| format!("{};{call}", path(*node))).collect()
}

#[test]
fn a_stack_goes_from_the_container_through_its_processes_to_the_call() {
    let story = Story::begin().exec(2, 1, "dockerd", false).exec(3, 2, "entry.sh", true).exec(4, 3, "redis", true);
    let stacks = story.read(4, 10, 25, 1).slept(2, 30).stacks();
    assert_eq!(
        paths(&stacks),
        [
            "host;dockerd;2;execve",
            "host;dockerd;2;nanosleep",
            "7272f37ebc5c;entry.sh;3;execve",
            "7272f37ebc5c;entry.sh;redis;4;execve",
            "7272f37ebc5c;entry.sh;redis;4;read",
        ]
    );
    assert_eq!((stacks.calls.last(), stacks.time_ns.last(), stacks.timed.last()), (Some(&1), Some(&15), Some(&1)));
}

#[test]
fn processes_that_are_each_others_ancestors_come_to_an_end() {
    let stacks = Story::begin().exec(2, 3, "a", false).exec(3, 2, "b", false).exec(2, 3, "c", false).stacks();
    assert_eq!(paths(&stacks).len(), 3);
    let itself = Story::begin().exec(2, 2, "a", false).slept(2, 5).stacks();
    assert_eq!(paths(&itself), ["host;a;2;execve", "host;a;2;nanosleep"]);
}

#[test]
fn a_line_of_ten_thousand_ancestors_stays_short() {
    let mut story = Story::begin();
    for pid in 2..10_000 {
        story = story.exec(pid, pid - 1, "fork", false);
    }
    let longest = paths(&story.stacks()).iter().map(|path| path.matches(';').count()).max();
    assert!(longest.is_some_and(|longest| longest < 70), "{longest:?}");
}

#[test]
fn a_picture_has_its_stacks_and_nothing_that_could_run() {
    let stacks =
        [("host;<script>alert(1)</script> (pid 1);read".to_owned(), 5), ("host;b (pid 2);write".to_owned(), 7)];
    let picture = Picture { title: "a & b".into(), unit: "ns".into() };
    let svg = String::from_utf8(profile::draw(&stacks, &picture).expect("a picture")).expect("text");
    assert!(svg.contains("b (pid 2) (7 ns, 58.33%)") && svg.contains("a &amp; b"), "{svg}");
    assert!(!svg.contains("<script>alert"));
    assert_eq!(profile::draw(&stacks, &picture).expect("a picture"), svg.as_bytes(), "and is the same each time");
}

#[test]
fn a_picture_of_centuries_is_drawn() {
    let stacks = [("host;a".to_owned(), u64::MAX), ("host;b".to_owned(), u64::MAX)];
    assert!(profile::draw(&stacks, &Picture::default()).is_ok());
    assert!(profile::draw(&[], &Picture::default()).is_err());
}
