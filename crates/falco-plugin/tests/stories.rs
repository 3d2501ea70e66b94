//! The plugin on events written by hand: what no capture has, and what only looks like it.

mod rig;

use rig::written::{ABSENT, PRESENT, TIME, execve, exit, other, page_fault, signal, system_call};
use rig::{EPISODES, Fed, Fields, Rig};

const SECOND: u64 = 1_000_000_000;
const SIGSEGV: u8 = 11;
const SIGABRT: u8 = 6;

/// The episodes of a story: at which event, and which.
fn told_with(config: &str, events: Vec<Fed>) -> Vec<(u64, &'static str)> {
    let episodes = Rig::new(config, events.into_iter()).expect("the plugin loads").episodes();
    let names = |fields: &Fields| EPISODES.into_iter().find(|name| fields.get(name).is_some_and(|on| on == "true"));
    episodes.iter().map(|(number, fields)| (*number, names(fields).expect("one"))).collect()
}

fn told(events: Vec<Fed>) -> Vec<(u64, &'static str)> {
    told_with("{}", events)
}

#[test]
fn fault_signal_and_death_of_one_thread_are_a_crash() {
    let crash = vec![page_fault(1, 7, TIME, ABSENT), other(2, 8), signal(3, 7, 0, SIGSEGV), exit(4, 7, 11)];
    assert_eq!(told(crash), [(4, "vsyscall.crash")]);
    let dumped = vec![page_fault(1, 7, TIME, ABSENT), signal(3, 7, 0, SIGSEGV), exit(9 * SECOND, 7, 0x8b)];
    assert_eq!(told(dumped), [(3, "vsyscall.crash")], "a core dump takes its time");
}

#[test]
fn what_only_looks_like_a_crash_is_none() {
    let fault = || page_fault(1, 7, TIME, ABSENT);
    let stories = [
        ("another thread's signal", vec![fault(), signal(2, 8, 0, SIGSEGV), exit(3, 8, 11)]),
        ("a signal that somebody sent", vec![fault(), signal(2, 7, 99, SIGSEGV), exit(3, 7, 11)]),
        ("a fault long ago", vec![fault(), signal(2 * SECOND, 7, 0, SIGSEGV), exit(2 * SECOND, 7, 11)]),
        ("a fault elsewhere since", vec![fault(), page_fault(2, 7, 0, 22), signal(3, 7, 0, SIGSEGV), exit(4, 7, 11)]),
        ("a program that caught it", vec![fault(), signal(2, 7, 0, SIGSEGV), exit(3, 7, 42 << 8)]),
        ("a death by something else", vec![fault(), signal(2, 7, 0, SIGSEGV), exit(3, 7, 9)]),
        (
            "a death long after",
            vec![fault(), signal(2, 7, 0, SIGSEGV), system_call(3, 7, "getpid"), exit(2 * SECOND, 7, 11)],
        ),
        ("a page that is there", vec![page_fault(1, 7, TIME, PRESENT), signal(2, 7, 0, SIGSEGV), exit(3, 7, 11)]),
        (
            "a kernel that has emulated a call before",
            vec![
                page_fault(1, 8, TIME, ABSENT),
                system_call(2, 8, "getpid"),
                page_fault(3, 7, TIME, ABSENT),
                signal(4, 7, 0, SIGSEGV),
                exit(5, 7, 11),
            ],
        ),
        ("the page below", vec![page_fault(1, 7, TIME - 0x1000, ABSENT), signal(2, 7, 0, SIGSEGV), exit(3, 7, 11)]),
        ("another program in between", vec![fault(), signal(2, 7, 0, SIGSEGV), execve(3, 7), exit(4, 7, 11)]),
    ];
    for (what, events) in stories {
        assert_eq!(told(events), [], "{what}");
    }
}

#[test]
fn a_handler_that_ends_the_process_is_part_of_the_crash() {
    for number in [SIGSEGV, SIGABRT] {
        let events = vec![
            page_fault(1, 7, TIME, ABSENT),
            signal(2, 7, 0, SIGSEGV),
            page_fault(3, 7, 0x7f00_0000_0000, 22),
            signal(4, 7, 7, number),
            exit(5, 7, i64::from(number)),
        ];
        assert_eq!(told(events), [(5, "vsyscall.crash")], "signal {number}");
    }
}

#[test]
fn a_jump_is_told_once_for_each_program() {
    let jump = |at| page_fault(at, 7, TIME + 1, ABSENT);
    let events = vec![jump(1), jump(2), page_fault(3, 7, TIME, ABSENT), execve(4, 7), jump(5)];
    assert_eq!(told(events), [(1, "vsyscall.misaligned"), (5, "vsyscall.misaligned")]);
    assert_eq!(told(vec![page_fault(1, 7, TIME + 1, 26)]), [], "a read");
}

#[test]
fn a_thread_of_the_same_id_begins_anew() {
    let calls = |from: u64| (from..from + 600).map(|at| page_fault(at, 7, TIME, PRESENT));
    let events: Vec<Fed> = calls(0).chain([exit(600, 7, 0)]).chain(calls(601)).collect();
    assert_eq!(told(events), []);
}

#[test]
fn thresholds_and_system_calls_are_configured() {
    let asks = |name: &'static str, count: u64| (0..count).map(move |at| system_call(at * 1_000_000, 7, name));
    let time = "timecalls.storm";
    assert_eq!(told(asks("getcpu", 999).collect()), []);
    assert_eq!(told(asks("getcpu", 1000).collect()), [(1000, time)]);
    assert_eq!(told(asks("getpid", 5000).collect()), []);
    assert_eq!(told_with(r#"{"time_calls": 10}"#, asks("time", 12).collect()), [(10, time)]);
    assert_eq!(told_with(r#"{"time_calls": 10, "window_ms": 5}"#, asks("time", 50).collect()), []);
    assert_eq!(told_with(r#"{"time_syscalls": ["time"]}"#, asks("getcpu", 5000).collect()), []);
    let faults = || (0..30).map(|at| page_fault(at, 7, TIME, PRESENT)).collect();
    assert_eq!(told_with(r#"{"emulated_calls": 20}"#, faults()), [(20, "vsyscall.storm")]);
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    for wrong in [
        r#"{"window": 5}"#,
        r#"{"window_ms": 0}"#,
        r#"{"time_calls": 0}"#,
        r#"{"emulated_calls": -1}"#,
        r#"{"time_syscalls": ["read"]}"#,
        "",
    ] {
        let refused = Rig::new(wrong, std::iter::empty()).err().expect(wrong);
        assert!(refused.contains("Plugin initialization failed"), "{wrong}: {refused}");
    }
}

#[test]
fn the_schema_tells_what_can_be_configured() {
    let schema: serde_json::Value = serde_json::from_str(&rig::config_schema()).expect("the schema is JSON");
    let properties = schema["properties"].as_object().expect("properties");
    assert_eq!(
        properties.keys().collect::<Vec<_>>(),
        ["emulated_calls", "time_calls", "time_syscalls", "window_ms"],
        "{schema:#}"
    );
    assert!(properties.values().all(|property| property["description"].is_string()), "{schema:#}");
    assert_eq!((&schema["type"], &schema["additionalProperties"]), (&"object".into(), &false.into()));
    assert_eq!(properties["window_ms"]["minimum"], 1);
}

#[test]
fn malformed_events_are_counted_and_harm_nothing() {
    let cut = |mut fed: Fed, params: usize| {
        fed.params.truncate(params);
        fed
    };
    let short = |mut fed: Fed| {
        fed.params.iter_mut().for_each(|param| param.truncate(1));
        fed
    };
    let whole = || [page_fault(1, 7, TIME, ABSENT), signal(2, 7, 0, 11), exit(3, 7, 11), system_call(4, 7, "time")];
    let bad: Vec<Fed> = whole().into_iter().flat_map(|fed| [cut(fed.clone(), 0), short(fed)]).collect();
    let count = bad.len() as u64;
    let mut rig = Rig::new("{}", bad.into_iter().chain(whole())).expect("the plugin loads");
    assert_eq!(rig.episodes().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [count + 3]);
    let metrics = rig.metrics();
    assert_eq!(metrics["scapscope.events_malformed"], count, "{metrics:?}");
    assert_eq!(metrics["scapscope.events_failed"], 0);
}

#[test]
fn threads_that_falco_does_not_know_are_counted() {
    let mut rig = Rig::new("{}", vec![page_fault(1, -1, TIME, ABSENT), exit(2, -1, 0)].into_iter()).expect("it loads");
    assert_eq!(rig.episodes(), []);
    assert_eq!(rig.metrics()["scapscope.events_of_unknown_threads"], 2);
}
