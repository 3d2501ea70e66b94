//! Programs that are slow, programs that only look it, and ordinary ones.

mod story;

use diagnosis::{Confidence, Finding, Severity};
use story::*;

const TIME_CALL: (u16, u16) = (11, 201);
const GETTIMEOFDAY: (u16, u16) = (47, 96);
const CLOCK_GETTIME: (u16, u16) = (176, 228);
const CLOCK_GETTIME_32: (u16, u16) = (176, 265);
const NOT_THERE: i64 = -2;

fn begin() -> Story {
    Story::begin().fault(1, 0x7000_0000, ABSENT_READ)
}

/// Programs that wait often and never ask for the time, as those of a host whose clocksource is tsc do.
fn silent_host(mut story: Story, programs: i64) -> Story {
    for tid in 500..500 + programs {
        story = story.exec(tid, &format!("daemon{tid}")).waits(tid, 200);
    }
    story
}

/// Programs that ask for the time as often as they wait, as under hpet.
fn asking_host(mut story: Story, programs: i64) -> Story {
    for tid in 600..600 + programs {
        story =
            story.exec(tid, &format!("asker{tid}")).waits(tid, 50).time_calls(tid, CLOCK_GETTIME, 100, 900_000, 2000);
    }
    story
}

fn of<'a>(findings: &'a [Finding], id: &str) -> &'a Finding {
    findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("{id} is not among {:?}", ids(findings)))
}

#[test]
fn the_calls_of_the_tests_are_those_of_the_table() {
    for ((code, _), name) in [(TIME_CALL, "time"), (GETTIMEOFDAY, "gettimeofday"), (CLOCK_GETTIME, "clock_gettime")] {
        assert_eq!(scapfile::syscalls::name(code.into()), name);
    }
}

#[test]
fn a_program_that_asks_a_thousand_times_a_second_is_hot_and_one_that_does_not_is_not() {
    let hot = |count, gap| ids_of(begin().exec(10, "app").time_calls(10, CLOCK_GETTIME, count, gap, 200));
    assert_eq!(hot(1000, 800), ["time-syscalls-hot"]);
    assert_eq!(hot(999, 800), [""; 0]);
    assert_eq!(hot(5000, 10_000_000), [""; 0], "a hundred a second for 50 seconds");
}

fn ids_of(story: Story) -> Vec<&'static str> {
    story.findings().iter().map(|finding| finding.id).collect()
}

#[test]
fn what_hot_calls_cost_is_told_as_far_as_the_capture_shows_it() {
    let story = begin().exec(10, "app").call(10).time_calls(10, GETTIMEOFDAY, 2000, 300_000, 700_000);
    let findings = story.thread(12, 10).time_calls(12, GETTIMEOFDAY, 500, 300_000, 700_000).findings();
    let hot = of(&findings, "time-syscalls-hot");
    assert_eq!((fact(hot, "count"), fact(hot, "call")), (&2500.into(), &"gettimeofday".into()));
    assert_eq!(fact(hot, "calls"), &serde_json::json!({ "gettimeofday": 2500 }));
    assert_eq!(fact(hot, "peak_per_second"), 1000);
    assert_eq!(fact(hot, "busiest_thread"), &serde_json::json!({ "tid": 10, "count": 2000 }));
    let about = |name, right: u64| {
        let told = fact(hot, name).as_u64().expect("a number");
        assert!(told.abs_diff(right) * 8 <= right, "{name}: {told}, not {right}");
    };
    about("rate_per_second", 1000);
    about("cost_ns", 700_000);
    about("cost_tail_ns", 700_000);
    about("cost_per_second_ns", 700_000_000);
    about("share_percent", 100);
    assert_eq!((hot.confidence, fact(hot, "cause")), (Confidence::Certain, &serde_json::Value::Null));
}

#[test]
fn calls_without_enter_events_are_counted_and_their_cost_is_not_told() {
    let mut story = begin().exec(10, "app").each(1000);
    for _ in 0..1500 {
        story = story.event(10, GENERIC + 1, &[&CLOCK_GETTIME.0.to_le_bytes(), &CLOCK_GETTIME.1.to_le_bytes()]);
    }
    let findings = story.findings();
    let hot = of(&findings, "time-syscalls-hot");
    assert_eq!((fact(hot, "count"), fact(hot, "cost_ns")), (&1500.into(), &serde_json::Value::Null));
}

#[test]
fn calls_of_a_thread_that_nothing_else_is_known_of_are_hot_too() {
    assert_eq!(ids_of(begin().time_calls(77, CLOCK_GETTIME, 1500, 800, 200)), ["time-syscalls-hot"]);
}

#[test]
fn many_unrelated_programs_that_ask_are_the_clocksource() {
    let story = asking_host(begin(), 4).exec_in_container(10, "app", ID).time_calls(10, CLOCK_GETTIME, 2000, 800, 200);
    let findings = story.findings();
    assert_eq!(ids(&findings), ["clocksource-not-vdso", "time-syscalls-hot"]);
    let host = of(&findings, "clocksource-not-vdso");
    assert_eq!((host.confidence, &host.process, &host.container), (Confidence::Likely, &None, &None));
    assert_eq!((fact(host, "asking_programs"), fact(host, "silent_programs")), (&5.into(), &0.into()));
    assert_eq!((fact(host, "count"), fact(host, "spread")), (&2400.into(), &"host-and-containers".into()));
    assert_eq!(fact(host, "programs")[0]["comm"], "app");
    assert_eq!(fact(of(&findings, "time-syscalls-hot"), "cause"), "clocksource-not-vdso");
}

#[test]
fn low_rates_of_many_programs_are_the_clocksource_too() {
    assert_eq!(ids_of(asking_host(begin(), 4)), ["clocksource-not-vdso"]);
    assert_eq!(ids_of(asking_host(begin(), 3)), [""; 0], "three may ask for the processor time used");
    let of_the_day = |programs| {
        let story = asking_host(begin(), programs).exec(10, "app").waits(10, 50);
        ids_of(story.time_calls(10, GETTIMEOFDAY, 100, 900_000, 2000))
    };
    assert_eq!(of_the_day(2), ["clocksource-not-vdso"], "gettimeofday() is never asked for that");
    assert_eq!(of_the_day(1), [""; 0], "two may share a library");
}

#[test]
fn what_goes_by_the_same_file_or_the_same_name_is_one_program() {
    let asks = |story: Story, tid, exe: &str, comm: &str| {
        story.exec_of(tid, exe, comm).time_calls(tid, CLOCK_GETTIME, 100, 900_000, 2000)
    };
    let three = asks(asks(asking_host(begin(), 3), 10, "/usr/bin/python3", "python3"), 11, "/usr/bin/python3.11", "x");
    let all = asks(three, 12, "/usr/bin/python3.11", "python3");
    let findings = all.findings();
    let host = of(&findings, "clocksource-not-vdso");
    assert_eq!(fact(host, "asking_programs"), 4);
    let programs = fact(host, "programs").as_array().expect("a list");
    assert_eq!((programs.len(), &programs[0]["count"]), (4, &300.into()));
    let itself = |programs| {
        let runc = asks(asking_host(begin(), programs), 10, "/usr/bin/runc", "exe");
        ids_of(asks(runc, 11, "/usr/bin/dockerd", "exe"))
    };
    assert_eq!(itself(2), ["clocksource-not-vdso"], "what runs itself is not the same program");
    assert_eq!(itself(1), [""; 0]);
}

#[test]
fn programs_that_are_not_listed_are_counted() {
    let told = |programs| {
        let findings = asking_host(begin(), programs).findings();
        let host = of(&findings, "clocksource-not-vdso");
        (fact(host, "programs").as_array().map(Vec::len), fact(host, "more_programs").clone())
    };
    assert_eq!(told(6), (Some(6), serde_json::Value::Null));
    assert_eq!(told(9), (Some(6), 3.into()));
}

#[test]
fn calls_that_hardly_cost_are_no_warning() {
    let severities = |count, gap, took| {
        let findings = begin().exec(10, "app").time_calls(10, TIME_CALL, count, gap, took).findings();
        findings.iter().map(|finding| finding.severity).collect::<Vec<_>>()
    };
    assert_eq!(severities(3000, 800, 1400), [Severity::Info; 2], "a burst of some milliseconds");
    assert_eq!(severities(2500, 700_000, 1000), [Severity::Info; 2], "0.1 percent of a processor");
    assert_eq!(severities(2500, 700_000, 20_000), [Severity::Warning; 2], "3 percent");
}

#[test]
fn a_burst_has_no_rate() {
    let findings = begin().exec(10, "app").time_calls(10, GETTIMEOFDAY, 2000, 800, 200).findings();
    let hot = of(&findings, "time-syscalls-hot");
    assert_eq!((fact(hot, "burst_ns"), fact(hot, "took_ns")), (&1_999_000.into(), &400_000.into()));
    let none = serde_json::Value::Null;
    assert_eq!((fact(hot, "rate_per_second"), fact(hot, "cost_per_second_ns")), (&none, &none));
}

#[test]
fn a_program_that_does_as_much_as_any_on_such_a_host_is_not_told_by_itself() {
    let story = asking_host(begin(), 4).exec(10, "app").waits(10, 1500).time_calls(10, CLOCK_GETTIME, 2000, 800, 200);
    assert_eq!(ids_of(story), ["clocksource-not-vdso"]);
}

#[test]
fn a_few_programs_that_measure_processor_time_are_not_the_clocksource() {
    assert_eq!(ids_of(silent_host(asking_host(begin(), 3), 3)), [""; 0], "as many do not ask");
    let mut story = begin();
    for tid in 600..605 {
        story = story.exec(tid, &format!("jvm{tid}")).waits(tid, 100).time_calls(tid, CLOCK_GETTIME, 30, 900_000, 500);
    }
    assert_eq!(ids_of(story), [""; 0], "each asks less often than it waits");
}

#[test]
fn the_same_program_many_times_is_one_program() {
    let mut story = begin();
    for tid in 600..606 {
        let id = format!("{tid:012}{}", &ID[12..]);
        story = story.exec_in_container(tid, "app", &id).time_calls(tid, CLOCK_GETTIME, 100, 800, 200);
    }
    assert_eq!(ids_of(story), [""; 0]);
}

#[test]
fn one_program_that_asks_where_others_do_not_is_without_the_vdso() {
    let findings = silent_host(begin(), 2).exec(10, "app").time_calls(10, GETTIMEOFDAY, 2000, 800, 200).findings();
    assert_eq!(ids(&findings), ["time-syscalls-hot", "userspace-without-vdso"]);
    let now_and_then = silent_host(begin(), 2).time_calls(500, CLOCK_GETTIME, 3, 800, 200).exec(10, "app");
    let same = now_and_then.time_calls(10, GETTIMEOFDAY, 2000, 800, 200).findings();
    assert_eq!(fact(of(&same, "userspace-without-vdso"), "silent_programs"), 2, "3 calls in 200 waits");
    let alone = of(&findings, "userspace-without-vdso");
    assert_eq!((alone.confidence, fact(alone, "silent_programs")), (Confidence::Likely, &2.into()));
    assert_eq!((fact(alone, "needs_clocksource"), fact(alone, "bits")), (&true.into(), &serde_json::Value::Null));
}

#[test]
fn one_program_that_asks_and_nobody_to_compare_it_with_is_not_explained() {
    let story = silent_host(begin(), 1).exec(10, "app").time_calls(10, CLOCK_GETTIME, 2000, 800, 200);
    assert_eq!(ids_of(story), ["time-syscalls-hot"]);
}

#[test]
fn time_never_depends_on_the_clocksource() {
    let findings = begin().exec(10, "app").time_calls(10, TIME_CALL, 2000, 800, 200).findings();
    assert_eq!(ids(&findings), ["time-syscalls-hot", "userspace-without-vdso"]);
    assert_eq!(fact(of(&findings, "userspace-without-vdso"), "needs_clocksource"), false);
    let mut everybody = begin();
    for tid in 600..603 {
        everybody = everybody.exec(tid, &format!("app{tid}")).time_calls(tid, TIME_CALL, 2000, 800, 200);
    }
    assert_eq!(ids_of(everybody), ["time-syscalls-hot"; 3], "a kernel without a vDSO, perhaps");
}

#[test]
fn a_program_of_32_bits_is_told_by_the_number_of_its_call() {
    let story = silent_host(begin(), 2).exec(10, "old").time_calls(10, CLOCK_GETTIME_32, 2000, 800, 200);
    assert_eq!(fact(of(&story.findings(), "userspace-without-vdso"), "bits"), 32);
}

#[test]
fn calls_that_take_longer_to_come_to_inside_a_container_are_the_filter() {
    let both = |inside, outside| {
        let host = begin().exec(10, "app").time_calls(10, TIME_CALL, 300, outside, 200);
        host.exec_in_container(20, "app", ID).time_calls(20, TIME_CALL, 300, inside, 200)
    };
    let findings = both(4000, 1000).findings();
    assert_eq!(ids(&findings), ["seccomp-overhead"]);
    let dear = &findings[0];
    assert_eq!((dear.confidence, dear.process.as_ref().map(|process| process.pid)), (Confidence::Likely, Some(20)));
    let percent = fact(dear, "gap_percent").as_u64().expect("a number");
    assert!((350..=450).contains(&percent), "{percent}");
    assert_eq!(fact(dear, "compared_with"), &serde_json::json!({ "comm": "app", "pid": 10 }));
    assert_eq!(dear.evidence.len(), 3);
    assert_eq!(ids_of(both(1300, 1000)), [""; 0], "no more than between two boots");
    assert_eq!(ids_of(both(1000, 4000)), [""; 0], "the other way round");
}

#[test]
fn without_both_sides_there_is_no_filter_to_be_seen() {
    let inside = || begin().exec_in_container(20, "app", ID).time_calls(20, TIME_CALL, 300, 4000, 200);
    assert_eq!(ids_of(inside()), [""; 0]);
    // A program that does other work between its calls says nothing of the way into the kernel.
    let mut busy = inside().exec(10, "app");
    for gap in [1000, 9000, 2000, 50_000] {
        busy = busy.time_calls(10, TIME_CALL, 100, gap, 200);
    }
    assert_eq!(ids_of(busy), [""; 0]);
    let other_calls =
        (0..300).fold(inside().exec(10, "app"), |story, _| story.time_calls(10, TIME_CALL, 1, 500, 200).call(10));
    assert_eq!(ids_of(other_calls), [""; 0]);
}

#[test]
fn another_program_outside_is_a_weaker_comparison() {
    let host = begin().exec(10, "other").time_calls(10, TIME_CALL, 300, 1000, 200);
    let findings = host.exec_in_container(20, "app", ID).time_calls(20, TIME_CALL, 300, 4000, 200).findings();
    assert_eq!((ids(&findings), findings[0].confidence), (vec!["seccomp-overhead"], Confidence::Possible));
}

/// A JVM that looks for classes below `root` before it finds them in a jar.
fn jvm(story: Story, env: &[u8], root: &str, classes: u64) -> Story {
    let mut story = story.exec_in(10, "java", env).openat(10, "/srv/app/a.jar", 4);
    for class in 0..classes {
        let package = if class % 2 == 0 { "com/example" } else { "org/example" };
        let path = format!("{root}{package}/C{class}.class");
        story = story.stat(10, &path, NOT_THERE).seek_read(10, 4, 500);
    }
    story
}

#[test]
fn classes_looked_for_in_the_working_directory_are_an_empty_entry_of_the_class_path() {
    let told = |args, env: &[u8], root| {
        let findings = jvm(begin().run_with(args, b"/srv/app\0"), env, root, 60).findings();
        assert_eq!(ids(&findings), ["startup-failed-lookups"]);
        fact(&findings[0], "class_path").as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(told(b"-cp\0:a.jar\0Main\0", b"", "/srv/app/"), "empty-argument");
    assert_eq!(told(b"Main\0", b"HOME=/\0CLASSPATH=a.jar:\0", "/srv/app/"), "empty-environment");
    assert_eq!(told(b"-cp\0.:a.jar\0Main\0", b"", "/srv/app/"), "working-directory");
    assert_eq!(told(b"-cp\0a.jar\0Main\0", b"", ""), "working-directory");
    assert_eq!(told(b"-cp\0/old/classes:a.jar\0Main\0", b"", "/old/classes/"), "directory");
    assert_eq!(told(b"-cp\0:/old/classes:a.jar\0Main\0", b"", "/old/classes/"), "directory");
    assert_eq!(told(b"-cp\0classes:a.jar\0Main\0", b"", "/srv/app/classes/"), "directory");
}

#[test]
fn failed_lookups_are_counted_with_where_and_what_and_how_long() {
    let findings = jvm(begin().run_with(b"-cp\0:a.jar\0Main\0", b"/srv/app\0"), b"", "/srv/app/", 70).findings();
    let [found] = &findings[..] else { panic!("{:?}", ids(&findings)) };
    assert_eq!((fact(found, "count"), fact(found, "lookups")), (&70.into(), &71.into()));
    assert_eq!((fact(found, "pattern"), fact(found, "below")), (&"*.class".into(), &"/srv/app/".into()));
    assert_eq!(fact(found, "directories")[0], serde_json::json!({ "path": "/srv/app/com/example/", "count": 35 }));
    assert_eq!(fact(found, "took_ns"), 700_000);
    let startup_ns = fact(found, "startup_ns").as_u64().expect("a number");
    assert_eq!(fact(found, "part_percent"), 700_000 * 100 / startup_ns);
    assert_eq!(found.evidence.iter().map(|event| event.event_type).collect::<Vec<_>>(), ["stat", "stat"]);
}

#[test]
fn of_two_directories_that_lack_the_classes_each_is_told_by_itself() {
    let both = (0..60).fold(begin().exec(10, "java"), |story, class| {
        let path = format!("com/example/C{class}.class");
        story.stat(10, &path, NOT_THERE).stat(10, &format!("/opt/{path}"), NOT_THERE)
    });
    let findings = both.stat(10, "/opt/com/example/D.class", NOT_THERE).findings();
    let told = |name| fact(&findings[0], name).clone();
    assert_eq!(
        (told("class_path"), told("pattern_count"), told("count")),
        ("working-directory".into(), 60.into(), 121.into())
    );
    assert_eq!(told("below"), serde_json::Value::Null);
}

#[test]
fn an_ordinary_start_up_looks_for_some_files_in_vain() {
    let ordinary = |mut story: Story, failed: u64, found: u64| {
        story = story.exec(10, "python");
        for file in 0..failed.max(found) {
            story = if file < failed { story.stat(10, &format!("/usr/lib/m{file}.so"), NOT_THERE) } else { story };
            story = if file < found { story.stat(10, &format!("/usr/lib/m{file}.py"), 0) } else { story };
        }
        story
    };
    assert_eq!(ids_of(ordinary(begin(), 300, 50)), [""; 0], "few");
    assert_eq!(ids_of(ordinary(begin(), 1200, 1300)), [""; 0], "as many are found");
    assert_eq!(ids_of(ordinary(begin(), 1200, 1000)), ["startup-failed-lookups"]);
    assert_eq!(ids_of(jvm(begin(), b"", "/srv/app/", 49)), [""; 0], "few classes");
    assert_eq!(
        ids_of((0..1200).fold(begin().exec(10, "x").wait(61), |story, file| story.stat(
            10,
            &format!("/{file}"),
            NOT_THERE
        ))),
        [""; 0],
        "it has long started"
    );
    let unknown = (0..1200).fold(begin(), |story, file| story.stat(10, &format!("/{file}"), NOT_THERE));
    assert_eq!(ids_of(unknown), [""; 0], "its start is not in the capture");
}

#[test]
fn a_file_read_piece_by_piece_is_named() {
    let pieces = |count| {
        let started = begin().each(1000).exec(10, "java").openat(10, "/usr/lib/rt.jar", 4).openat(10, "/srv/a.jar", 5);
        (0..count).fold(started.seek_read(10, 4, 22), |story, _| story.seek_read(10, 5, 100))
    };
    let findings = pieces(1000).findings();
    assert_eq!(ids(&findings), ["startup-seek-read"]);
    let found = &findings[0];
    assert_eq!((fact(found, "count"), fact(found, "bytes")), (&1001.into(), &100_022.into()));
    assert_eq!((fact(found, "file"), fact(found, "file_count")), (&"/srv/a.jar".into(), &1000.into()));
    assert_eq!(fact(found, "took_ns"), 1001 * 4000);
    assert_eq!(ids_of(pieces(900)), [""; 0]);
}

#[test]
fn who_asks_where_it_is_does_not_seek() {
    // As Python does with each file that it opens.
    let story = begin().each(1000).exec(10, "python3");
    let asked = (0..1200).fold(story, |story, _| story.openat(10, "/a.py", 4).seek(10, 4, SEEK_CUR).read(10, 4, 500));
    assert_eq!(ids_of(asked), [""; 0]);
    let exits = |whence: u8| {
        (0..1200).fold(begin().exec(10, "java"), |story, _| {
            let fd = 4i64.to_le_bytes();
            let sought = story.event(10, LSEEK + 1, &[&[0; 8], &fd, &[0; 8], &[whence]]);
            sought.event(10, READ + 1, &[&9i64.to_le_bytes(), b"", &fd, &[0; 4]])
        })
    };
    assert_eq!(ids_of(exits(SEEK_CUR)), [""; 0], "without enter events too");
    assert_eq!(ids_of(exits(SEEK_SET)), ["startup-seek-read"]);
}

#[test]
fn a_file_is_told_by_its_path_and_named_if_most_reads_are_in_it() {
    let begun = || begin().each(1000).exec(10, "app");
    let opened = |story: Story, path: &str| story.openat(10, path, 4).seek_read(10, 4, 100);
    let again = (0..1200).fold(begun(), |story, _| opened(story, "/a.db")).findings();
    let found = of(&again, "startup-seek-read");
    assert_eq!((fact(found, "file"), fact(found, "file_count")), (&"/a.db".into(), &1200.into()));
    let many = (0..1200).fold(begun(), |story, file| opened(story, &format!("/{}.db", file % 4))).findings();
    assert_eq!(fact(of(&many, "startup-seek-read"), "file"), &serde_json::Value::Null);
}

#[test]
fn what_takes_a_small_part_of_the_start_up_is_not_what_makes_it_slow() {
    let pieces =
        |step_ns| (0..1200).fold(begin().each(step_ns).exec(10, "app"), |story, _| story.seek_read(10, 4, 100));
    assert_eq!(ids_of(pieces(10_000)), ["startup-seek-read"]);
    assert_eq!(ids_of(pieces(100_000)), [""; 0]);
    let lookups = |step_ns| {
        let begun = begin().each(step_ns).exec(10, "app");
        (0..1200).fold(begun, |story, file| story.stat(10, &format!("/{file}"), NOT_THERE)).findings()[0].severity
    };
    assert_eq!((lookups(10_000), lookups(100_000)), (Severity::Warning, Severity::Info));
}

#[test]
fn reads_that_follow_no_seek_in_their_file_are_ordinary() {
    let mut story = begin().exec(10, "java").thread(12, 10);
    let fd = |number: i64| number.to_le_bytes();
    for _ in 0..600 {
        story = story.took(1000, 10, LSEEK, &[&fd(4), &[0; 8], &[0]], &[&[0; 8]]);
        // Another file, and another thread.
        story = story.took(1000, 10, READ, &[&fd(5), &[0; 4]], &[&fd(9), b""]);
        story = story.took(1000, 12, READ, &[&fd(4), &[0; 4]], &[&fd(9), b""]);
    }
    assert_eq!(ids_of(story), [""; 0]);
}

/// Two threads that wait `count` times each for a lock, `took_ns` each time, with a millisecond between two events.
fn contended(count: u64, took_ns: u64) -> Story {
    let wait = |story: Story, tid, result| story.futex_for(took_ns, tid, 0x9000, 2, result);
    let begun = begin().exec(10, "server").thread(12, 10).thread(13, 10);
    (0..count).fold(begun, |story, round| wait(wait(story, 12, if round % 2 == 0 { -11 } else { 0 }), 13, 0))
}

#[test]
fn threads_that_find_a_lock_locked_are_contention() {
    let findings = contended(200, 1_000_000).futex(10, 0x8000, 0, -11).findings();
    assert_eq!(ids(&findings), ["lock-contention"]);
    let found = &findings[0];
    let told = |name| fact(found, name).clone();
    assert_eq!((told("count"), told("again"), told("threads")), (400.into(), 100.into(), 2.into()));
    assert_eq!((told("lock"), told("lock_count")), ("0x0000000000009000".into(), 400.into()));
    assert_eq!((told("waited_ns"), told("futex_percent")), (400_000_000.into(), 100.into()));
}

#[test]
fn contention_is_a_matter_of_how_long_or_how_often() {
    assert_eq!(ids_of(contended(60, 50_000)), [""; 0], "as a JVM that starts: 5 % of the time");
    assert_eq!(ids_of(contended(9, 50_000_000)), [""; 0], "seldom");
    let mut often = begin().exec(10, "server").thread(12, 10).each(100_000);
    for _ in 0..600 {
        often = often.futex(10, 0x9000, 2, -11).futex(12, 0x9000, 2, -11);
    }
    assert_eq!(ids_of(often), ["lock-contention"], "1 % of the time, but 1200 times");
}

#[test]
fn threads_that_race_for_what_stands_at_an_address_may_be_contention() {
    let racing = |took_ns| {
        (0..100).fold(begin().exec(10, "server").thread(12, 10), |story, round| {
            story.futex(10, 0x9000, 100 + round, -11).futex_for(took_ns, 12, 0x9000, 100 + round, 0)
        })
    };
    assert_eq!(ids_of(racing(1000)), [""; 0], "it costs nobody anything");
    let findings = racing(3_000_000).findings();
    assert_eq!((ids(&findings), findings[0].confidence), (vec!["lock-contention"], Confidence::Possible));
    assert_eq!((fact(&findings[0], "again"), fact(&findings[0], "threads")), (&100.into(), &2.into()));
    assert_eq!((fact(&findings[0], "held"), fact(&findings[0], "races")), (&0.into(), &200.into()));
}

#[test]
fn locks_that_were_held_are_told_apart_from_races() {
    let races = (0..100).fold(contended(200, 2_000_000), |story, round| {
        story.futex(12, 0xa000, 100 + round, -11).futex(13, 0xa000, 100 + round, 0)
    });
    let findings = races.findings();
    let told = |name| fact(&findings[0], name).clone();
    assert_eq!((told("count"), told("held"), told("races")), (400.into(), 400.into(), 200.into()));
    assert_eq!((told("again"), findings[0].confidence), (100.into(), Confidence::Likely));
}

#[test]
fn threads_that_wait_for_work_are_not() {
    let mut story = begin().exec(10, "go").thread(12, 10).thread(13, 10);
    for round in 0..1000 {
        let result = if round % 2 == 0 { -11 } else { 0 };
        // Each at an address of its own, as Go's threads do.
        story = story.futex_for(3_000_000, 12, 0x9000, 0, result).futex_for(3_000_000, 13, 0xa000, round % 2, 0);
    }
    assert_eq!(ids_of(story), [""; 0]);
    let begun = begin().exec(10, "stuck");
    // Waits that end at once, now and then.
    let pool = (0..400).fold(begin().exec(10, "pool").thread(12, 10), |story, round| {
        let result = if round % 20 == 0 { -11 } else { 0 };
        story.futex_for(3_000_000, 12, 0x9000, round, result).futex_for(3_000_000, 10, 0x9000, round, 0)
    });
    assert_eq!(ids_of(pool), [""; 0]);
    let alone = (0..500).fold(begun, |story, _| story.futex_for(3_000_000, 10, 0x9000, 2, -11));
    assert_eq!(ids_of(alone), [""; 0], "one thread");
}

#[test]
fn what_emulated_calls_cost_is_measured_between_them() {
    let calls = (0..1600).fold(begin().exec(10, "old").each(2000), |story, _| story.fault(10, TIME, PRESENT_FETCH));
    let findings = calls.call(10).findings();
    let cost = fact(of(&findings, "vsyscall-emulated-hot"), "cost_ns").as_u64().expect("a number");
    assert!(cost.abs_diff(2000) <= 250, "{cost}");
    let pace = fact(&findings[0], "pace_per_second").as_u64().expect("a number");
    assert!((440_000..=570_000).contains(&pace), "{pace}");
    let factor = fact(&findings[0], "vdso_factor").as_u64().expect("a number");
    assert!((460..=600).contains(&factor), "{factor}");
}

#[test]
fn a_program_is_what_it_became_by_execve() {
    let story = begin().exec(10, "sh").time_calls(10, CLOCK_GETTIME, 900, 800, 200).exec(10, "app");
    assert_eq!(ids_of(story.time_calls(10, CLOCK_GETTIME, 900, 800, 200)), [""; 0]);
}

#[test]
fn more_programs_than_are_followed_are_counted() {
    let mut story = begin().each(10);
    for tid in 10..1010 {
        story = story.exec(tid, &format!("p{tid}")).time_calls(tid, TIME_CALL, 2, 10, 10);
    }
    let omitted = story.report().omitted;
    assert_eq!(omitted.processes_unwatched, 1000 - 112);
    assert_eq!(omitted.happenings_omitted, 0);
}

#[test]
fn times_that_no_clock_shows_do_no_harm() {
    let mut story = begin().exec(10, "java").thread(12, 10).openat(10, "/a.jar", 4);
    for round in 0..1000 {
        let wild = if round % 2 == 0 { u64::MAX } else { 1 };
        story = story.each(wild).stat(10, "/none", NOT_THERE).seek_read(10, 4, i64::MAX).each(wild);
        story = story.time_calls(10, CLOCK_GETTIME, 2, wild, wild).futex(12, 0x9000, 2, -11).futex(10, 0x9000, 2, 0);
    }
    let findings = story.findings();
    let slow = ["startup-failed-lookups", "lock-contention", "startup-seek-read", "time-syscalls-hot"];
    assert_eq!(ids(&findings), slow);
    assert!(findings.iter().all(|finding| fact(finding, "count").as_u64() >= Some(1000)));
}
