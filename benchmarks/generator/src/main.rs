//! Writes a large capture for the benchmarks: `capture-generator LOAD BYTES TRACES OUT`.
//!
//! LOAD is `fault-storm` (page faults in the vsyscall page, as of many programs under
//! `vsyscall=emulate`) or `mixed` (containers that start, work and crash among ordinary programs).
//! TRACES is the folder with this repository's captures. The same arguments give the same bytes.

mod lane;
mod source;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use lane::{Ids, Lane};
use scapfile::write;
use source::Source;

/// Which captures are replayed side by side, one per lane.
fn lanes(load: &str) -> Option<Vec<&'static str>> {
    match load {
        "fault-storm" => Some(vec!["emulate-stress-n3000"; 16]),
        // Captures of one kernel, so that they could be of one machine.
        "mixed" => Some(
            [
                vec!["none-docker-redis"; 4],
                vec!["none-docker-normal"; 4],
                vec!["none-bash-entry", "none-neg-null", "none-neg-jump", "none-handled"],
                vec!["none-neg-normal"; 4],
            ]
            .concat(),
        ),
        _ => None,
    }
}

/// What was written.
#[derive(Debug, Default, PartialEq, Eq)]
struct Written {
    bytes: u64,
    events: u64,
    repetitions: u64,
}

fn generate(names: &[&str], size: u64, traces: &Path, out: &mut impl Write) -> Result<Written, Box<dyn Error>> {
    let mut sources: Vec<(&str, Source)> = Vec::new();
    for name in names {
        if sources.iter().all(|(known, _)| known != name) {
            sources.push((name, Source::read(&traces.join(format!("{name}.scap")))?));
        }
    }
    let start = sources.iter().map(|(_, source)| source.start).min().ok_or("no captures to replay")?;
    let mut ids = Ids::default();
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for name in names {
        let (_, source) = sources.iter().find(|(known, _)| known == name).ok_or("a lane without a source")?;
        let number = lanes.len();
        // Lanes of the same source are spread over its duration, or they would all peak at once.
        let alike = names.iter().filter(|other| *other == name).count() as u64;
        let before = names[..number].iter().filter(|other| *other == name).count() as u64;
        lanes.push(Lane::new(source, number, start + source.duration * before / alike, &mut ids)?);
    }

    let mut written = Written::default();
    let mut put = |block: &[u8], written: &mut Written| {
        written.bytes += block.len() as u64;
        out.write_all(block)
    };
    let mut header = Vec::new();
    write::section(&mut header);
    put(&header, &mut written)?;
    put(&lanes[0].machine(names.len()), &mut written)?;
    put(&lanes[0].source().accounts, &mut written)?;
    for lane in &lanes {
        put(&lane.tables(), &mut written)?;
    }

    let mut next: BinaryHeap<Reverse<(u64, usize)>> =
        lanes.iter().enumerate().map(|(number, lane)| Reverse((lane.next_timestamp(), number))).collect();
    let mut block = Vec::new();
    while written.bytes < size
        && let Some(Reverse((_, number))) = next.pop()
    {
        let lane = &mut lanes[number];
        if lane.write_next(&mut block, &mut ids) {
            put(&block, &mut written)?;
            written.events += 1;
        }
        next.push(Reverse((lane.next_timestamp(), number)));
    }
    written.repetitions = lanes.iter().map(Lane::repetitions).sum();
    out.flush()?;
    Ok(written)
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [load, size, traces, out] = arguments.as_slice() else {
        return Err("usage: capture-generator fault-storm|mixed BYTES TRACES OUT".into());
    };
    let names = lanes(load).ok_or_else(|| format!("unknown load {load}: fault-storm or mixed"))?;
    let size = size.parse().map_err(|_| format!("not a number of bytes: {size}"))?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(out).map_err(|error| format!("{out}: {error}"))?);
    let Written { bytes, events, repetitions } = generate(&names, size, Path::new(traces), &mut file)?;
    println!("{out}: {bytes} bytes, {events} events, {repetitions} repetitions in {} lanes", names.len());
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("capture-generator: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::io::Cursor;
    use std::ops::ControlFlow;
    use std::path::PathBuf;

    use scapfile::{Capture, Item, schema};

    use super::*;

    fn generated(load: &str, size: u64) -> (Vec<u8>, Written) {
        let traces = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../traces");
        let mut bytes = Vec::new();
        let written = generate(&lanes(load).unwrap(), size, &traces, &mut bytes).unwrap();
        (bytes, written)
    }

    fn each_event(bytes: Vec<u8>, mut look: impl FnMut(&scapfile::Event<'_>)) -> Capture {
        let mut capture = Capture::read(Cursor::new(bytes), None).unwrap();
        capture.visit(|item| {
            match item {
                Item::Event(event) => look(&event),
                Item::Skipped(number, reason) => panic!("block {number:X}: {reason:?}"),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        assert_eq!(capture.damage(), None);
        capture
    }

    #[test]
    fn the_same_arguments_give_the_same_sound_capture() {
        for load in ["fault-storm", "mixed"] {
            let (bytes, written) = generated(load, 6_000_000);
            assert!(bytes.len() >= 6_000_000 && bytes.len() < 6_200_000 && bytes.len() as u64 == written.bytes);
            assert!(generated(load, 6_000_000) == (bytes.clone(), Written { ..written }), "{load}");
            let mut last = 0u64;
            let capture = each_event(bytes, |event| {
                // The captures themselves go back by up to 28 ms where events of two processors meet.
                let back = last.saturating_sub(event.timestamp_ns);
                assert!(back < 50_000_000, "{load}: event {} goes back by {back} ns", event.number);
                last = last.max(event.timestamp_ns);
                assert!(event.params().is_ok() && !event.name().is_empty());
            });
            assert_eq!(capture.events(), written.events);
        }
    }

    #[test]
    fn a_fault_storm_is_made_of_vsyscall_faults_of_many_threads() {
        let (bytes, _) = generated("fault-storm", 20_000_000);
        let (mut faults, mut threads) = (0u64, HashSet::new());
        let capture = each_event(bytes, |event| {
            if event.name() == "page_fault" && event.params().unwrap().unsigned(0).unwrap() >> 12 == 0xF_FFFF_FFFF_F600
            {
                faults += 1;
                threads.insert(event.tid);
            }
        });
        assert!(faults * 10 > capture.events() * 7, "{faults} of {}", capture.events());
        assert!(threads.len() > 50, "{} threads", threads.len());
    }

    /// Every thread that is born is born once before it dies, and its parts agree on who it is.
    #[test]
    fn threads_are_renumbered_alike_in_events_and_parameters() {
        let (bytes, _) = generated("mixed", 40_000_000);
        let mut born: HashMap<i64, i64> = HashMap::new();
        let mut dead = HashSet::new();
        let (mut births, mut deaths, mut signals) = (0, 0, 0);
        each_event(bytes, |event| {
            let params = event.params().unwrap();
            let signed = |name| params.signed(schema::param_index(event.event_type, name)?);
            match (event.name(), event.is_exit()) {
                ("clone" | "clone3" | "fork" | "vfork", true) => {
                    let (result, tid) = (signed("res").unwrap(), signed("tid").unwrap());
                    assert_eq!(tid, event.tid, "event {}", event.number);
                    if result > 0 {
                        assert_ne!(result, tid);
                    } else if result == 0 {
                        births += 1;
                        born.insert(tid, signed("ptid").unwrap());
                    }
                }
                ("execve", true) if signed("res") == Some(0) => {
                    assert_eq!(signed("tid"), Some(event.tid), "event {}", event.number);
                    // A child whose parent is dead has another one.
                    if let Some(parent) = born.get(&event.tid).filter(|parent| !dead.contains(*parent)) {
                        assert_eq!(signed("ptid"), Some(*parent), "event {}", event.number);
                    }
                }
                ("signaldeliver", _) => {
                    signals += 1;
                    let destination = signed("dpid").unwrap();
                    assert_eq!(destination, event.tid, "event {}", event.number);
                }
                ("procexit", _) => {
                    dead.insert(event.tid);
                    deaths += u32::from(born.remove(&event.tid).is_some());
                }
                _ => {}
            }
        });
        assert!(births > 300 && deaths > 300 && signals > 300, "{births} births, {deaths} deaths, {signals} signals");
    }

    #[test]
    fn an_unknown_load_is_none() {
        assert_eq!(lanes("storm"), None);
    }
}
