//! The plugin on real captures: what traces/manifest.yaml says of each, live.

mod rig;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rig::{Fed, Fields, Rig};
use scapfile::{schema, syscalls};
use yaml_rust2::{Yaml, YamlLoader};

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces")
}

fn manifest() -> Vec<Yaml> {
    let text = fs::read_to_string(traces().join("manifest.yaml")).expect("the manifest is there");
    let documents = YamlLoader::load_from_str(&text).expect("the manifest is YAML");
    documents[0]["captures"].as_vec().expect("captures").clone()
}

fn replay(file: &str) -> (Vec<(u64, Fields)>, BTreeMap<String, u64>) {
    let mut rig = Rig::new("{}", rig::events(&traces().join(file)).into_iter()).expect("the plugin loads");
    (rig.episodes(), rig.metrics())
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).map_or("", String::as_str)
}

/// How often the findings of a capture with this id say that it happened.
fn expected(capture: &Yaml, id: &str) -> i64 {
    let findings =
        capture["expect"].as_vec().into_iter().flatten().filter(|finding| finding["id"].as_str() == Some(id));
    findings.map(|finding| finding["facts"]["count"].as_i64().unwrap_or(1)).sum()
}

/// What a finding's fact must be, if the manifest has it.
fn agree(capture: &Yaml, id: &str, fact: &str, fields: &Fields, field: &str) {
    let findings =
        capture["expect"].as_vec().into_iter().flatten().filter(|finding| finding["id"].as_str() == Some(id));
    for finding in findings {
        if let Some(value) = finding["facts"][fact].as_str() {
            assert_eq!(text(fields, field), value, "{} {field}", capture["file"].as_str().expect("a name"));
        }
    }
}

#[test]
fn every_capture_gives_the_episodes_of_the_manifest_and_no_others() {
    for capture in manifest() {
        let file = capture["file"].as_str().expect("a name");
        let (episodes, metrics) = replay(file);
        assert!(metrics.values().all(|count| *count == 0), "{file}: {metrics:?}");
        let of = |name| episodes.iter().filter(move |(_, fields)| text(fields, name) == "true");
        let count = |name| i64::try_from(of(name).count()).expect("a few");

        assert_eq!(count("vsyscall.crash"), expected(&capture, "vsyscall-none-crash"), "{file}");
        for (_, fields) in of("vsyscall.crash") {
            agree(&capture, "vsyscall-none-crash", "call", fields, "vsyscall.call");
            agree(&capture, "vsyscall-none-crash", "fault_address", fields, "vsyscall.fault.addr");
            assert_eq!(text(fields, "vsyscall.mode"), "none", "{file}");
        }
        let hot = "vsyscall-emulated-hot";
        assert_eq!(count("vsyscall.storm"), i64::from(expected(&capture, hot) > 0), "{file}");
        for (_, fields) in of("vsyscall.storm") {
            agree(&capture, hot, "call", fields, "vsyscall.call");
            agree(&capture, hot, "vsyscall_mode", fields, "vsyscall.mode");
        }
        let jump = "vsyscall-misaligned-jump";
        assert_eq!(count("vsyscall.misaligned"), expected(&capture, jump), "{file}");
        for (_, fields) in of("vsyscall.misaligned") {
            agree(&capture, jump, "fault_address", fields, "vsyscall.fault.addr");
        }
        // Not as many: on a host with clocksource hpet dockerd and containerd ask often enough for a storm, too.
        let asked = expected(&capture, "time-syscalls-hot") > 0;
        assert_eq!(count("timecalls.storm") > 0, asked, "{file}");
    }
}

#[test]
fn each_step_of_the_redis_crash_names_its_call() {
    let mut rig = Rig::new("{}", rig::events(&traces().join("none-docker-redis.scap")).into_iter()).expect("it loads");
    let all: Vec<Fields> = std::iter::from_fn(|| rig.next(&rig::FIELDS)).collect();
    let at = |number: usize| &all[number - 1];
    let steps = [59363, 59607, 59663];
    assert_eq!(steps.map(|number| text(at(number), "vsyscall.call")), ["time"; 3]);
    assert_eq!(steps.map(|number| text(at(number), "vsyscall.mode")), ["unknown", "none", "none"]);
    assert_eq!(steps.map(|number| text(at(number), "vsyscall.fault.addr")), ["0xffffffffff600400"; 3]);
    assert_eq!(steps.map(|number| text(at(number), "vsyscall.fault.count")), ["1"; 3]);
    assert_eq!(steps.map(|number| text(at(number), "vsyscall.crash")), ["false", "false", "true"]);
    let named = all.iter().filter(|fields| fields.contains_key("vsyscall.call")).count();
    assert_eq!(named, steps.len(), "and no other event does");
}

/// Calls a second from the first to the thousandth of `times`.
fn rate_of_a_thousand(times: impl Iterator<Item = u64>) -> String {
    let times: Vec<u64> = times.take(1000).collect();
    (999 * 1_000_000_000 / (times[999] - times[0])).to_string()
}

/// The times of the events of thread `tid` for which `wanted` holds.
fn times(events: &[Fed], tid: i64, wanted: impl Fn(&Fed) -> bool) -> impl Iterator<Item = u64> {
    events.iter().filter(move |fed| fed.tid == tid && wanted(fed)).map(|fed| fed.timestamp_ns)
}

#[test]
fn a_storm_of_emulated_calls_has_the_rate_of_its_first_thousand() {
    for file in ["emulate-stress-n3000.scap", "xonly-stress-n3000.scap"] {
        let events = rig::events(&traces().join(file));
        let in_page = |fed: &Fed| {
            schema::name(fed.event_type) == "page_fault" && fed.params[0] == 0xffff_ffff_ff60_0400_u64.to_le_bytes()
        };
        let rate = rate_of_a_thousand(times(&events, 370, in_page));
        let mut rig = Rig::new("{}", events.into_iter()).expect("it loads");
        let all: Vec<Fields> = std::iter::from_fn(|| rig.next(&rig::FIELDS)).collect();
        let storms: Vec<&Fields> = all.iter().filter(|fields| text(fields, "vsyscall.storm") == "true").collect();
        assert_eq!(storms.len(), 1, "{file}");
        assert_eq!((text(storms[0], "vsyscall.fault.count"), text(storms[0], "vsyscall.fault.rate")), ("1000", &*rate));
        let last = all.iter().rev().find(|fields| fields.contains_key("vsyscall.fault.count")).expect("a fault");
        assert_eq!(text(last, "vsyscall.fault.count"), "3000", "{file}");
    }
}

#[test]
fn a_storm_of_time_calls_has_the_rate_of_its_first_thousand() {
    let file = "none-native-time-n3000.scap";
    let events = rig::events(&traces().join(file));
    let asks = |fed: &Fed| {
        let code = || u16::from_le_bytes(fed.params[0][..2].try_into().expect("a code"));
        fed.event_type == 1 && syscalls::name(code().into()) == "time"
    };
    let tid = events.iter().find(|fed| asks(fed)).expect("a call").tid;
    let rate = rate_of_a_thousand(times(&events, tid, asks));
    let mut rig = Rig::new("{}", events.into_iter()).expect("it loads");
    let all: Vec<Fields> = std::iter::from_fn(|| rig.next(&rig::FIELDS)).collect();
    let storms: Vec<&Fields> = all.iter().filter(|fields| text(fields, "timecalls.storm") == "true").collect();
    assert_eq!(storms.len(), 1);
    assert_eq!((text(storms[0], "timecalls.count"), text(storms[0], "timecalls.rate")), ("1000", &*rate));
    // An enter and an exit event for each call, and nothing else goes on.
    assert_eq!(text(storms[0], "timecalls.share"), "50");
    let last = all.iter().rev().find(|fields| fields.contains_key("timecalls.count")).expect("a call");
    assert_eq!(text(last, "timecalls.count"), "3000");
}
