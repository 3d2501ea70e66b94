//! Whatever the bytes are and however they come: no panic, no circle, the same items.

mod common;

use std::io;
use std::ops::ControlFlow;

use common::*;
use proptest::collection::vec;
use proptest::prelude::*;
use scapfile::{Capture, Item, schema};

/// Numbers of all blocks this reader knows, and two that it does not.
const NUMBERS: [u32; 34] = [
    SECTION_HEADER,
    0x201,
    0x8002_ABCD,
    0x202,
    0x8000_ABCD,
    0x207,
    0x8013_ABCD,
    0x209,
    0x8014_ABCD,
    0x210,
    0x211,
    0x212,
    0x213,
    0x214,
    0x215,
    0x203,
    0x8001_ABCD,
    0x218,
    0x205,
    0x8011_ABCD,
    0x219,
    0x206,
    0x8012_ABCD,
    0x220,
    0x204,
    0x8010_ABCD,
    0x208,
    0x216,
    0x217,
    0x221,
    0x222,
    0x7777,
    1,
    0,
];

/// A capture with blocks of all kinds, some of them sound, some of arbitrary bytes in a sound frame.
fn blocks() -> impl Strategy<Value = Vec<u8>> {
    let block = prop_oneof![
        (proptest::sample::select(&NUMBERS[..]), vec(any::<u8>(), 0..200))
            .prop_map(|(number, body)| block(number, &body)),
        (1..=9u8, vec(any::<i64>(), 0..4), vec(any::<u8>(), 0..6)).prop_map(|(version, tids, tail)| {
            let numbers = [0x202, 0x207, 0x209, 0x210, 0x211, 0x212, 0x213, 0x214, 0x215];
            let entry = |tid: &i64| {
                let fields = process_fields(version, *tid >> 1, "comm");
                if version == 9 { sized(&fields) } else { fields }
            };
            block(numbers[usize::from(version) - 1], &[tids.iter().flat_map(entry).collect(), tail].concat())
        }),
        (any::<i64>(), vec((any::<u8>(), vec(any::<u8>(), 0..60)), 0..4)).prop_map(|(tid, fds)| {
            let entry = |(kind, rest): &(u8, Vec<u8>)| sized(&[fd_fields(1, *kind), rest.clone()].concat());
            block(FDS_SIZED, &[tid.to_le_bytes().to_vec(), fds.iter().flat_map(entry).collect()].concat())
        }),
        event().prop_map(|event| event.block()),
        any::<u64>().prop_map(page_fault),
    ];
    vec(block, 0..12).prop_map(|blocks| [section(&[]), blocks.concat()].concat())
}

/// An event of arbitrary type and parameters, in a block of any event type.
fn event() -> impl Strategy<Value = EventWriter> {
    let numbers = vec![EVENT_V1, 0x8010_ABCD, EVENT_V1_FLAGS, EVENT_V2, EVENT_V2_FLAGS, EVENT_LARGE, EVENT_LARGE_FLAGS];
    let event_type = prop_oneof![9 => 0..schema::known_types() + 5, 1 => any::<u16>()];
    // Most parameters are numbers of 1 to 8 bytes, or text.
    let param = prop_oneof![
        proptest::sample::select(vec![1usize, 2, 4, 8]).prop_flat_map(|size| vec(any::<u8>(), size)),
        proptest::sample::select(vec![1usize, 2, 4, 8]).prop_map(|size| vec![0xFF; size]),
        vec(any::<u8>(), 0..40),
        "[a-z/.]{0,20}\0".prop_map(String::into_bytes),
    ];
    (proptest::sample::select(numbers), event_type, any::<u64>(), any::<i64>(), vec(param, 0..34)).prop_map(
        |(number, event_type, timestamp_ns, tid, params)| {
            let params: Vec<&[u8]> = params.iter().map(Vec::as_slice).collect();
            EventWriter { timestamp_ns, tid, ..EventWriter::new(number, event_type, &params) }
        },
    )
}

/// Bytes of `blocks()` of which some are changed, taken out or put in.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..4u8, any::<[u8; 4]>());
    (blocks(), vec(change, 1..6)).prop_map(|(mut bytes, changes)| {
        for (place, how, with) in changes {
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = with[0],
                1 => bytes[at] ^= 1 << (with[0] % 8),
                2 => drop(bytes.splice(at..at, with)),
                _ => drop(bytes.splice(at..(at + 1 + usize::from(with[0] % 40)).min(bytes.len()), [])),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        bytes
    })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => vec(any::<u8>(), 0..300),
        2 => vec(any::<u8>(), 0..300).prop_map(|bytes| [section(&[]), bytes].concat()),
        4 => blocks(),
        6 => mutated(),
    ]
}

/// Reads all that can be asked of a capture's items.
fn visit_everything(bytes: Vec<u8>) -> Option<u64> {
    let mut capture = Capture::read(io::Cursor::new(bytes), None).ok()?;
    capture.visit(|item| {
        if let Item::Event(event) = item {
            let described = schema::describe(&event);
            assert!(!described.contains(['\n', '\u{1b}']), "{described:?}");
            if let Ok(params) = event.params() {
                for index in 0..=event.param_count() as usize {
                    let value = params.get(index);
                    assert_eq!(value.is_some(), index < event.param_count() as usize);
                    _ = (params.unsigned(index), params.signed(index), params.string(index));
                }
            }
            _ = (event.name(), event.param(3), event.is_generic());
        }
        ControlFlow::Continue(())
    });
    Some(capture.events())
}

// PROPTEST_CASES sets how many cases each of these tries: 256 by default.
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The parser is not led by the windows that it is shown; [`read_in_windows`] holds it to
    /// progress at every call.
    #[test]
    fn any_windows_give_the_same_items(bytes in bytes(), sizes in vec(prop_oneof![1..4usize, 1..100usize, 0..5000usize], 1..30), end_in_sight: bool) {
        let (windows, whole) = (read_in_windows(&bytes, &sizes, end_in_sight), read(&bytes));
        // How far into a damaged block the parser has gone is of no account.
        prop_assert!(windows.offset == whole.offset || whole.damage.is_some());
        prop_assert_eq!((windows.items, windows.events, windows.damage), (whole.items, whole.events, whole.damage));
    }

    #[test]
    fn any_bytes_are_read_to_an_end(bytes in bytes()) {
        visit_everything(bytes);
    }

    #[test]
    fn any_bytes_are_read_to_an_end_out_of_gzip(bytes in bytes(), cut in any::<prop::sample::Index>(), flip in any::<prop::sample::Index>(), bit in 0..8u8) {
        let plain = visit_everything(bytes.clone());
        let mut stream = gzip(&bytes);
        prop_assert_eq!(visit_everything(stream.clone()), plain);
        visit_everything(stream[..cut.index(stream.len())].to_vec());
        let at = flip.index(stream.len());
        stream[at] ^= 1 << bit;
        visit_everything(stream);
    }

    #[test]
    fn bytes_that_only_begin_like_gzip_are_read_to_an_end(bytes in vec(any::<u8>(), 0..200)) {
        visit_everything([&[0x1f, 0x8b][..], &bytes].concat());
        visit_everything([&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255][..], &bytes].concat());
    }

    /// What stands before the damage is not touched by it.
    #[test]
    fn a_change_leaves_the_items_before_it(bytes in blocks(), place in any::<prop::sample::Index>(), with: u8) {
        let whole = read(&bytes);
        let at = place.index(bytes.len());
        let mut changed = bytes.clone();
        changed[at] = with;
        let reading = read(&changed);
        let before = read(&bytes[..at]);
        // All but the item that the change is in, and a list that it is in.
        let untouched = before.items.len().saturating_sub(1);
        prop_assert!(reading.items.len() >= untouched);
        prop_assert_eq!(&reading.items[..untouched], &whole.items[..untouched]);
    }

    #[test]
    fn a_described_event_is_one_line(event in event()) {
        visit_everything([section(&[]), event.block()].concat());
    }

    #[test]
    fn parameters_come_back_as_they_were_written(event in event()) {
        let bytes = [section(&[]), event.block()].concat();
        let mut capture = Capture::read(io::Cursor::new(bytes), None).unwrap();
        capture.visit(|item| {
            if let Item::Event(read) = item {
                assert_eq!((read.event_type, read.timestamp_ns, read.tid), (event.event_type, event.timestamp_ns, event.tid));
                let counted = !matches!(event.number, EVENT_V1 | EVENT_V1_FLAGS | 0x8010_ABCD);
                if counted {
                    let params = read.params().unwrap();
                    assert_eq!(read.param_count() as usize, event.params.len());
                    for (index, value) in event.params.iter().enumerate() {
                        assert_eq!(params.get(index), Some(value.as_slice()));
                    }
                }
            }
            ControlFlow::Continue(())
        });
        // A version 1 event whose values happen to fit another parameter count is read as that, or not at all.
        assert_eq!((capture.events(), capture.damage()), (1, None));
    }
}

#[test]
fn real_captures_are_read_alike_in_any_windows() {
    for size in [1, 2, 3, 5, 7, 11, 13, 64, 1000, 4096] {
        let bytes = small_capture(30);
        assert_eq!(read_in_windows(&bytes, &[size], false), read(&bytes), "windows of {size}");
        assert_eq!(read_in_windows(&bytes, &[size], true), read(&bytes), "windows of {size}");
    }
}
