//! An old capture rewritten is held against what Falco made of the same capture.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::ops::ControlFlow;
use std::path::Path;

use scapfile::modernize::modernize;
use scapfile::write::{self, Event};
use scapfile::{Capture, Item, schema};

/// CPU, time, thread, type, then the parameters.
type Recorded = ((u16, u64, i64, u16), Vec<Vec<u8>>);

fn events(bytes: Vec<u8>) -> Vec<Recorded> {
    let mut events = Vec::new();
    let mut capture = Capture::read(Cursor::new(bytes), None).unwrap();
    capture.visit(|item| {
        if let Item::Event(event) = item {
            let params = event.params().unwrap();
            let values = (0..event.param_count() as usize).map(|index| params.get(index).unwrap().to_vec());
            events.push(((event.cpu, event.timestamp_ns, event.tid, event.event_type), values.collect()));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(capture.damage(), None);
    events
}

fn plain(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name);
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// How the parameters of two events of the same call differ; empty: not at all.
fn difference(ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> &'static str {
    let common = ours.len().min(theirs.len());
    let zeros = |params: &[Vec<u8>]| params.iter().flatten().all(|byte| *byte == 0);
    let unlike = |empty: &[Vec<u8>], other: &[Vec<u8>]| {
        (0..common).all(|index| empty[index] == other[index] || empty[index].is_empty())
    };
    if ours == theirs {
        ""
    } else if ours[..common] == theirs[..common] && theirs.len() > common && zeros(&theirs[common..]) {
        "they have empty ones or zeros more"
    } else if ours.len() == theirs.len() && unlike(ours, theirs) {
        "empty here, zero there"
    } else if ours.len() == theirs.len() && unlike(theirs, ours) {
        "kept here, empty there"
    } else {
        "another value"
    }
}

#[test]
fn every_event_is_where_falco_has_it_with_the_parameters_it_has() {
    // fcntl's argument is younger than the recorder. An enter that was not recorded leaves nothing
    // to append, and neither do the flags of seccomp, which the recorder left out. Falco has a protocol
    // of `socket` twice, and drops the address of `connect`.
    let expected = [
        (
            "none-neg-null",
            vec![("fcntl: they have empty ones or zeros more", 4), ("syscall: they have empty ones or zeros more", 2)],
        ),
        (
            "emulate-stress-n3000",
            vec![("fcntl: they have empty ones or zeros more", 4), ("syscall: they have empty ones or zeros more", 2)],
        ),
        (
            "none-docker-redis",
            vec![
                ("connect: kept here, empty there", 13),
                ("execve: they have empty ones or zeros more", 1),
                ("fcntl: they have empty ones or zeros more", 345),
                ("futex: they have empty ones or zeros more", 7),
                ("seccomp: empty here, zero there", 45),
                ("socket: they have empty ones or zeros more", 19),
                ("syscall: they have empty ones or zeros more", 4),
            ],
        ),
    ];
    for (name, expected) in expected {
        let ours = events(modernize(&plain(&format!("{name}.scap"))).unwrap());
        // Falco makes events of the user list's entries.
        let mut theirs = events(plain(&format!("current-format/{name}-modern.scap")));
        theirs.retain(|(head, _)| !matches!(schema::name(head.3), "useradded" | "groupadded"));
        assert!(ours.iter().map(|(head, _)| head).eq(theirs.iter().map(|(head, _)| head)), "{name}");
        let mut differences: BTreeMap<String, usize> = BTreeMap::new();
        for ((head, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            let difference = difference(ours, theirs);
            if !difference.is_empty() {
                *differences.entry(format!("{}: {difference}", schema::name(head.3))).or_default() += 1;
            }
        }
        let differences: Vec<(&str, usize)> = differences.iter().map(|(what, count)| (what.as_str(), *count)).collect();
        assert_eq!(differences, expected, "{name}");
    }
}

#[test]
fn what_is_no_event_stays_byte_for_byte() {
    let old = plain("none-neg-null.scap");
    let new = modernize(&old).unwrap();
    let front = |bytes: &[u8]| {
        let mut at = 0;
        while u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) != 0x216 {
            at += u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        }
        bytes[..at].to_vec()
    };
    assert_eq!(front(&old), front(&new));
    // And a capture that is of today already stays as it is.
    let current = plain("current-format/none-neg-null-modern.scap");
    assert!(modernize(&current).unwrap() == current);
}

/// The enters of one thread are not taken for those of another, nor those of another call.
#[test]
fn an_exit_takes_the_parameters_of_its_own_enter() {
    let (read_enter, read, close) = (6, 7, 5);
    let fd = |fd: i64| fd.to_le_bytes().to_vec();
    let mut bytes = Vec::new();
    write::section(&mut bytes);
    let events_in: [(i64, u16, Vec<Vec<u8>>); 6] = [
        (1, read_enter, vec![fd(3), vec![0; 4]]),
        (2, read_enter, vec![fd(4), vec![1; 4]]),
        (1, read, vec![fd(0), vec![]]),
        (2, close, vec![fd(0)]),
        (2, read, vec![fd(0), vec![]]),
        (3, 148, vec![]),
    ];
    for (tid, event_type, params) in &events_in {
        let event = Event { cpu: 0, timestamp_ns: 1, tid: *tid, event_type: *event_type, params };
        write::event(&mut bytes, &event).unwrap();
    }
    let params: Vec<Vec<Vec<u8>>> = events(modernize(&bytes).unwrap()).into_iter().map(|(_, params)| params).collect();
    let nothing: Vec<u8> = vec![];
    assert_eq!(
        params,
        [
            vec![fd(0), nothing.clone(), fd(3), vec![0; 4]],
            vec![fd(0)],
            vec![fd(0), nothing.clone(), nothing.clone(), nothing],
            vec![],
        ]
    );
}

#[test]
fn a_damaged_capture_is_refused() {
    let bytes = plain("none-neg-null.scap");
    let error = modernize(&bytes[..bytes.len() - 3]).unwrap_err().to_string();
    assert!(error.contains("cut off"), "{error}");
}
