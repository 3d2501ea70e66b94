//! Captures that are cut off, contradict themselves or announce what they do not hold: what came
//! before is delivered, the damage is named, and nothing is believed.

mod common;

use std::io::{self, Read};
use std::ops::ControlFlow;

use common::*;
use scapfile::{Capture, Damage, DamageKind, Item, OpenError};

fn damage_of(bytes: &[u8]) -> Damage {
    read(bytes).damage.expect("damage")
}

#[test]
fn cut_anywhere_everything_before_is_delivered_and_the_cut_is_named() {
    let whole = small_capture(12);
    let starts = block_starts(&whole);
    let complete = read(&whole);
    assert_eq!((complete.damage.as_ref(), complete.events), (None, 12));
    for cut in 1..whole.len() {
        let reading = read_capture(&whole[..cut]).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        // Everything delivered is what the whole capture has at that place.
        assert_eq!(reading.items, complete.items[..reading.items.len()], "cut at {cut}");
        let blocks = starts.iter().filter(|start| **start <= cut).count() - 1;
        assert_eq!(reading.events as usize, blocks.saturating_sub(6), "cut at {cut}");
        let last = starts[blocks];
        if cut == last {
            assert_eq!(reading.damage, None, "cut at {cut}, where a block ends");
            continue;
        }
        let damage = reading.damage.unwrap_or_else(|| panic!("cut at {cut}: taken for a proper end"));
        assert_eq!(damage.kind, DamageKind::CutOff, "cut at {cut}: {damage}");
        // The damaged piece is the block that was cut, or in a list the entry.
        assert!((last as u64..=cut as u64).contains(&damage.offset), "cut at {cut}: {damage}");
        assert!(damage.offset == reading.offset || damage.offset == last as u64, "cut at {cut}: {damage}");
        if blocks >= 6 {
            assert_eq!(damage.offset, last as u64);
            let (expected, found) = if cut - last < 8 {
                ("a block header (8 bytes)".to_owned(), format!("{} bytes", cut - last))
            } else {
                let found = format!("the end of the file after {} of them", cut - last);
                ("a block of type 0x216 (event V2) of 68 bytes".to_owned(), found)
            };
            assert_eq!((damage.expected, damage.found), (expected, found), "cut at {cut}");
        }
    }
}

#[test]
fn a_gzip_stream_cut_anywhere_yields_what_can_be_decompressed() {
    let plain = small_capture(12);
    let complete = read(&plain);
    let whole = gzip(&plain);
    let mut most = 0;
    for cut in 0..whole.len() {
        match read_capture(&whole[..cut]) {
            Err(OpenError::Foreign(what)) => assert!(cut < 2, "cut at {cut}: not a capture but {what}"),
            Err(OpenError::Gzip(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut at {cut}: {error}")
            }
            Err(error) => panic!("cut at {cut}: {error}"),
            Ok(reading) => {
                assert_eq!(reading.items, complete.items[..reading.items.len()], "cut at {cut}");
                let damage = reading.damage.unwrap_or_else(|| panic!("cut at {cut}: taken for a proper end"));
                assert_eq!(damage.kind, DamageKind::CutOff, "cut at {cut}: {damage}");
                assert_eq!(
                    damage.to_string(),
                    format!("cut off at byte {}: expected more gzip data, found the end of the file", damage.offset)
                );
                // The uncompressed bytes end there: within what was read no further than a block.
                assert!(
                    damage.offset >= reading.offset && damage.offset < reading.offset + 500,
                    "cut at {cut}: {damage}"
                );
                assert!(reading.items.len() >= most, "cut at {cut}: less than at {}", cut - 1);
                most = reading.items.len();
            }
        }
    }
    assert_eq!(most, complete.items.len(), "cut within the checksum, all the content is there");
}

#[test]
fn a_gzip_stream_with_a_wrong_checksum_or_length_is_corrupt_after_its_events() {
    let plain = small_capture(12);
    let whole = gzip(&plain);
    for at in whole.len() - 8..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let reading = read_capture(&bytes).unwrap();
        let damage = reading.damage.unwrap();
        assert_eq!((reading.events, damage.kind, damage.offset), (12, DamageKind::Corrupt, plain.len() as u64));
        assert!(damage.expected == "sound gzip data" && damage.found.starts_with("incorrect "), "{damage}");
    }
}

#[test]
fn a_gzip_stream_damaged_in_its_middle_is_corrupt_there() {
    // Stored, not compressed, so that the damage is where it is put.
    let plain = small_capture(12);
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for half in [&plain[..1000], &plain[1000..]] {
        let length = u16::try_from(half.len()).unwrap();
        bytes.push(0);
        bytes.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
        bytes.extend(half);
    }
    let second_block = 10 + 5 + 1000;
    bytes[second_block] = 7; // a block type that deflate does not have
    let reading = read_capture(&bytes).unwrap();
    let damage = reading.damage.unwrap();
    assert_eq!((damage.kind, damage.offset), (DamageKind::Corrupt, 1000), "{damage}");
    assert_eq!(reading.items, read(&plain[..1000]).items);
}

#[test]
fn what_follows_a_gzip_stream_is_padding_or_named() {
    let plain = small_capture(3);
    let padded = read_capture(&[gzip(&plain), vec![0; 70_000]].concat()).unwrap();
    assert_eq!((padded.events, padded.damage), (3, None));

    let tailed = read_capture(&[gzip(&plain), b"tail".to_vec()].concat()).unwrap();
    let damage = tailed.damage.unwrap();
    assert_eq!((tailed.events, damage.kind, damage.offset), (3, DamageKind::Corrupt, plain.len() as u64));
    assert!(damage.found.contains("other bytes after the end of a gzip member"), "{damage}");
}

#[test]
fn a_contradiction_within_a_failing_stream_is_named_before_the_failure() {
    // The capture is corrupt in its middle and its gzip stream is cut: the first one ends the reading.
    let mut plain = small_capture(12);
    let starts = block_starts(&plain);
    plain[starts[16] - 1] ^= 1;
    let whole = gzip(&plain);
    let damage = read_capture(&whole[..whole.len() - 4]).unwrap().damage.unwrap();
    assert_eq!((damage.kind, damage.offset), (DamageKind::Corrupt, starts[15] as u64), "{damage}");
}

#[test]
fn a_stream_that_fails_is_named_with_what_was_read_of_it() {
    struct Failing(io::Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.0.read(into)? {
                0 => Err(io::Error::other("the disk is gone")),
                count => Ok(count),
            }
        }
    }
    let plain = small_capture(3);
    for cut in [plain.len(), plain.len() - 9] {
        let mut capture = Capture::read(Failing(io::Cursor::new(plain[..cut].to_vec())), None).unwrap();
        capture.visit(|_| ControlFlow::Continue(()));
        let damage = capture.damage().unwrap();
        assert_eq!(damage.to_string(), format!("corrupt at byte {cut}: expected more data, found the disk is gone"));
    }
    assert!(matches!(Capture::read(Failing(io::Cursor::default()), None), Err(OpenError::Io(_))));
}

#[test]
fn a_wrong_length_at_the_end_of_a_block_is_corrupt() {
    let whole = small_capture(3);
    let starts = block_starts(&whole);
    let complete = read(&whole);
    for (index, start) in starts[..starts.len() - 1].iter().enumerate() {
        let mut bytes = whole.clone();
        let end = starts[index + 1];
        bytes[end - 1] ^= 0x80;
        let reading = read(&bytes);
        let damage = reading.damage.unwrap();
        assert_eq!((damage.kind, damage.offset), (DamageKind::Corrupt, *start as u64), "block {index}");
        let length = end - start;
        assert_eq!(damage.expected, format!("the block's length, {length}, again at its end"));
        assert_eq!(damage.found, (length as u32 ^ 0x8000_0000).to_string());
        assert_eq!(reading.items, complete.items[..reading.items.len()]);
        assert_eq!(reading.events, (index as u64).saturating_sub(6));
    }
}

#[test]
fn lengths_that_no_block_can_have_are_corrupt() {
    let before = small_capture(2);
    for number in [EVENT_V2, EVENT_V1, EVENT_LARGE, FDS_SIZED, PROCESSES_V9, MACHINE_INFO, SECTION_HEADER, 0x7777] {
        for length in [0u32, 3, 11] {
            let bytes = [&before[..], &number.to_le_bytes(), &length.to_le_bytes(), &[0; 100]].concat();
            let reading = read(&bytes);
            let damage = reading.damage.unwrap();
            assert_eq!((reading.events, damage.kind, damage.offset), (2, DamageKind::Corrupt, before.len() as u64));
            assert_eq!(damage.expected, "a block length of at least 12");
            assert!(
                damage.found.contains(&format!("{number:X}")) && damage.found.contains(&length.to_string()),
                "{damage}"
            );
        }
    }
}

#[test]
fn lengths_beyond_reason_are_not_believed() {
    let before = small_capture(2);
    for length in [0x8000_0000u32, u32::MAX, u32::MAX - 3] {
        for number in [EVENT_V2, EVENT_V1_FLAGS, MACHINE_INFO, SECTION_HEADER] {
            let bytes = [&before[..], &number.to_le_bytes(), &length.to_le_bytes(), &[0; 100]].concat();
            let reading = read(&bytes);
            let damage = reading.damage.clone().unwrap();
            assert_eq!((damage.kind, damage.offset), (DamageKind::Corrupt, before.len() as u64), "{number:X}");
            assert_eq!(damage.found, format!("a length of {length}"));
            assert_eq!((reading.events, reading.count("Skipped")), (2, 0));
        }
        // These may be of any length; that the bytes end is what is wrong.
        for (number, kind) in [(EVENT_LARGE, DamageKind::CutOff), (0x7777, DamageKind::Corrupt)] {
            let bytes = [&before[..], &number.to_le_bytes(), &length.to_le_bytes(), &[0; 100]].concat();
            let reading = read(&bytes);
            let damage = reading.damage.clone().unwrap();
            assert_eq!((reading.events, reading.count("Skipped"), damage.kind), (2, 1, kind), "{number:X}");
            assert_eq!(damage.offset, before.len() as u64);
            assert!(damage.expected.contains(&format!("{length} bytes")), "{damage}");
            assert_eq!(damage.found, "the end of the file after 108 of them");
        }
    }
}

#[test]
fn an_event_whose_length_contradicts_its_block_is_passed_over() {
    let mut bytes = small_capture(1);
    // Shorter than its own header, longer than the block, and as long as can be said.
    for length in [0u32, 25, 1000, u32::MAX] {
        let mut body = EventWriter::new(EVENT_V2, 290, &[b"abcd"]).body();
        body[18..22].copy_from_slice(&length.to_le_bytes());
        bytes.extend(block(EVENT_V2, &body));
    }
    // A block too short for any event, and a version 1 event that no parameter count fits.
    bytes.extend(block(EVENT_V2, &[0; 8]));
    bytes.extend(block(
        EVENT_V1,
        &[&EventWriter::new(EVENT_V1, 290, &[]).body()[..18], &[25, 0, 0, 0, 34, 1, 9, 9, 9]].concat(),
    ));
    bytes.extend(page_fault(9));
    let reading = read(&bytes);
    assert_eq!((reading.damage.as_ref(), reading.count("Skipped")), (None, 6));
    assert_eq!(reading.items.iter().filter(|item| item.contains("MalformedEvent")).count(), 6);
    // They count, so that the numbers of the others stay those of the blocks.
    assert!(reading.items.last().unwrap().starts_with("Event(Event { number: 8,"));
}

#[test]
fn an_event_whose_parameters_contradict_it_has_none() {
    let event = |number, params: &[&[u8]]| EventWriter::new(number, 290, params);
    let mut malformed = Vec::new();
    // A parameter beyond the event.
    let mut beyond = event(EVENT_V2, &[b"abcd", b"efgh"]).body();
    beyond[28..30].copy_from_slice(&9u16.to_le_bytes());
    malformed.push(block(EVENT_V2, &beyond));
    let mut beyond = event(EVENT_LARGE, &[b"abcd", b"efgh"]).body();
    beyond[28..32].copy_from_slice(&u32::MAX.to_le_bytes());
    malformed.push(block(EVENT_LARGE, &beyond));
    // More parameters than lengths, than there can be, and as many as can be said.
    for number in [EVENT_V2, EVENT_LARGE] {
        for count in [40u32, 65, u32::MAX] {
            let mut body = event(number, &[&[0; 100]]).body();
            body[24..28].copy_from_slice(&count.to_le_bytes());
            malformed.push(block(number, &body));
        }
    }
    // One parameter more than there can be, all of them empty.
    malformed.push(event(EVENT_V2, &[&b""[..]; 65]).block());
    let expected = malformed.len();
    let bytes = [small_capture(0), malformed.concat(), page_fault(1)].concat();
    let mut capture = Capture::read(io::Cursor::new(bytes), None).unwrap();
    let mut found = 0;
    capture.visit(|item| {
        let Item::Event(event) = item else { return ControlFlow::Continue(()) };
        if event.number > expected as u64 {
            assert_eq!(event.params().unwrap().unsigned(2), Some(154));
            return ControlFlow::Continue(());
        }
        let error = event.params().expect_err("parameters that cannot be");
        assert_eq!(error.to_string(), format!("event {} holds parameter lengths that do not fit in it", event.number));
        assert_eq!((event.param(0), event.tid, event.event_type), (None, 308, 290));
        assert_eq!(scapfile::schema::describe(&event), "(malformed)");
        found += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((found, capture.damage()), (expected, None));
}

#[test]
fn an_event_type_that_nobody_knows_is_an_event() {
    let writer = EventWriter::new(EVENT_V2, u16::MAX, &[b"\x01\x02", b"", &[0xAB; 40]]);
    let mut capture = Capture::read(io::Cursor::new([small_capture(0), writer.block()].concat()), None).unwrap();
    capture.visit(|item| {
        let Item::Event(event) = item else { return ControlFlow::Continue(()) };
        assert_eq!((event.event_type, event.is_exit(), event.name()), (u16::MAX, true, ""));
        let described = format!("param0=0x0102 param1=0x param2=0x{}…", "ab".repeat(32));
        assert_eq!(scapfile::schema::describe(&event), described);
        ControlFlow::Continue(())
    });
    assert_eq!(capture.events(), 1);
}

#[test]
fn an_event_in_a_block_of_the_wrong_width_is_shown_as_it_stands() {
    // A page fault has 16-bit lengths; this one comes with 32-bit ones.
    let writer = EventWriter::new(EVENT_LARGE, 290, &[&[1; 8], &[2; 8], &154u32.to_le_bytes()]);
    let mut capture = Capture::read(io::Cursor::new([small_capture(0), writer.block()].concat()), None).unwrap();
    capture.visit(|item| {
        let Item::Event(event) = item else { return ControlFlow::Continue(()) };
        let described = "addr=0x0101010101010101 ip=0x0202020202020202 error=0x9a000000";
        assert_eq!(scapfile::schema::describe(&event), described);
        ControlFlow::Continue(())
    });
}

#[test]
fn a_list_entry_that_contradicts_ends_its_list_and_reading_goes_on() {
    let good = sized(&process_fields(9, 41, "bash"));
    let mut cases = Vec::new();
    // Lengths: too short for themselves, for the fields, beyond the block, beyond reason.
    for length in [0u32, 3, 4, 20, 1000, 0x8000_0000, u32::MAX] {
        cases.push((PROCESSES_V9, [&good[..], &length.to_le_bytes(), &[0; 40]].concat()));
    }
    // A string beyond its entry, and beyond the block.
    let mut long = good.clone();
    long[4 + 40..4 + 42].copy_from_slice(&60_000u16.to_le_bytes());
    cases.push((PROCESSES_V9, [good.clone(), long].concat()));
    let mut long = process_fields(1, 41, "bash");
    long[24..26].copy_from_slice(&u16::MAX.to_le_bytes());
    cases.push((0x202, [process_fields(1, 41, "bash"), long].concat()));
    cases.push((0x205, [&[3, 0, 2, 0][..], &[0; 12], b"lo", &[9, 0, 2, 0], &[0; 40]].concat()));
    cases.push((
        0x219,
        [&sized_without_itself(&[&[3, 0, 2, 0][..], &[0; 12], b"lo"].concat())[..], &[0xFF; 40]].concat(),
    ));
    let user = [&[0][..], &[0; 8], &counted(b"root"), &counted(b"/root"), &counted(b"/bin/sh")].concat();
    cases.push((0x206, [&user[..], &[0; 9], &[0xFF; 8]].concat()));
    cases.push((0x220, [&sized(&user)[..], &[8, 0, 0, 0, 0, 0, 0, 0]].concat()));

    for (number, body) in cases {
        let bytes = [section(&[]), block(number, &body), page_fault(1)].concat();
        let reading = read(&bytes);
        assert_eq!(reading.damage, None, "{number:X}");
        assert_eq!(reading.items.len(), 4, "{number:X}: {:?}", reading.items);
        assert_eq!(reading.items[2], format!("Skipped({number}, MalformedList)"));
        assert!(reading.items[3].starts_with("Event(Event { number: 1,"));
    }
}

#[test]
fn a_list_entry_beyond_1_mib_ends_its_list_however_it_comes() {
    for (length, sound) in [(1usize << 20, true), ((1 << 20) + 1, false)] {
        let mut fields = process_fields(9, 41, "bash");
        fields.resize(length - 4, 0);
        let list = block(PROCESSES_V9, &[sized(&fields), sized(&process_fields(9, 51, "sh"))].concat());
        let bytes = [section(&[]), list, page_fault(1)].concat();
        for windows in [&[usize::MAX][..], &[1 << 18], &[1 << 20, 1, 1 << 16]] {
            let reading = read_in_windows(&bytes, windows, true);
            assert_eq!((reading.damage.as_ref(), reading.events), (None, 1));
            let expected = if sound { (2, 0) } else { (0, 1) };
            assert_eq!((reading.count("Process"), reading.count("Skipped")), expected, "{length} bytes");
        }
    }
}

#[test]
fn machine_info_that_is_too_short_is_corrupt() {
    let bytes = [section(&[]), block(MACHINE_INFO, &[0; 144])].concat();
    let damage = damage_of(&bytes);
    assert_eq!((damage.kind, damage.offset, damage.found.as_str()), (DamageKind::Corrupt, 28, "144 bytes"));
}

#[test]
fn a_section_header_in_the_middle_must_be_sound() {
    let before = small_capture(1);
    for (header, found) in [
        (section_of(0x4D3C_2B1A, 1, 2, &[]), "0x4D3C2B1A"),
        (section_of(0x1A2B_3C4D, 9, 0, &[]), "version 9.0"),
        (block(SECTION_HEADER, &[0; 8]), "a shorter one"),
    ] {
        let damage = damage_of(&[before.clone(), header, page_fault(2)].concat());
        assert_eq!((damage.kind, damage.offset), (DamageKind::Corrupt, before.len() as u64));
        assert!(damage.found.contains(found), "{damage}");
    }
}

#[test]
fn a_capture_begins_with_a_section_header() {
    for start in [page_fault(1), block(0x7777, &[0; 4])] {
        let damage = damage_of(&start);
        assert_eq!(
            (damage.kind, damage.offset, damage.expected.as_str()),
            (DamageKind::Corrupt, 0, "a section header")
        );
    }
    assert_eq!(damage_of(&[]).kind, DamageKind::CutOff);
}

#[test]
fn zeros_behind_a_capture_are_corrupt() {
    // A file whose blocks were allocated but not written when the machine went down.
    let reading = read(&[small_capture(5), vec![0; 4096]].concat());
    assert_eq!((reading.events, reading.damage.unwrap().kind), (5, DamageKind::Corrupt));
}

#[test]
fn a_foreign_file_is_named_for_what_it_is() {
    let network = [section_of(0x1A2B_3C4D, 1, 0, &comment("tshark")), block(1, &[0; 8]), block(6, &[0; 64])].concat();
    // tshark keeps a person's comment in the section header, and that may be long.
    let commented = [section_of(0x1A2B_3C4D, 1, 0, &comment(&"x".repeat(60_000))), block(1, &[0; 8])].concat();
    let cases: [(&[u8], &str); 14] = [
        (b"", "an empty file"),
        (&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0], "a pcap network capture"),
        (&[0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4], "a pcap network capture (big-endian)"),
        (&network, "a pcapng network capture"),
        (&commented, "a pcapng network capture"),
        (&section_of(0x4D3C_2B1A, 1, 2, &[]), "a capture of a big-endian machine"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0", "an ELF program"),
        (b"59363 12:15:52 entrypoint.sh > page_fault\n", "a text file"),
        ("Zusammenfassung: \u{e4}\u{f6}\u{fc}\n".as_bytes(), "a text file"),
        (&[0; 5000], "a file of zeros"),
        (b"\x28\xb5\x2f\xfd\0\0", "a zstd-compressed file"),
        (&[1, 2, 3, 4, 5], "a file of an unknown kind (first bytes 01 02 03 04)"),
        (&[0x1f], "a single byte, with which a gzip stream may begin"),
        (&section_of(0x0102_0304, 1, 2, &[]), "a section header without the capture magic number"),
    ];
    for (bytes, name) in cases {
        for (bytes, inside) in [(bytes.to_vec(), ""), (gzip(bytes), ", inside gzip")] {
            let error = read_capture(&bytes).expect_err(name);
            assert!(matches!(error, OpenError::Foreign(_)), "{name}: {error}");
            let said = error.to_string();
            assert!(said.starts_with(&format!("not a capture but {name}")) && said.ends_with(inside), "{said}");
        }
    }
    let twice = read_capture(&gzip(&gzip(&small_capture(1)))).expect_err("gzip in gzip").to_string();
    assert!(twice.contains("a gzip stream (decompress it first"), "{twice}");
}

#[test]
fn a_gzip_stream_without_content_is_an_error_that_says_so() {
    for cut in 2..18 {
        let error = read_capture(&gzip(&small_capture(1))[..cut]).expect_err("no content");
        assert!(matches!(error, OpenError::Gzip(_)), "cut at {cut}: {error}");
    }
    let error = read_capture(&[0x1f, 0x8b, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0]).expect_err("no gzip header");
    assert!(matches!(error, OpenError::Gzip(_)), "{error}");
}

#[test]
fn a_file_that_is_no_file_is_an_error_of_the_system() {
    assert!(matches!(Capture::open("/nonexistent/capture.scap".as_ref()), Err(OpenError::Io(_))));
    let directory = Capture::open(std::env::temp_dir().as_ref()).err().unwrap();
    assert!(matches!(&directory, OpenError::Io(error) if error.kind() == io::ErrorKind::IsADirectory), "{directory}");
}

#[test]
fn what_was_skipped_says_why() {
    let large = EventWriter::new(EVENT_LARGE, 402, &[&vec![0; 17 << 20]]).block();
    let bytes = [section(&[]), large, page_fault(1)].concat();
    let mut capture = Capture::read(io::Cursor::new(bytes), None).unwrap();
    let mut seen = Vec::new();
    capture.visit(|item| {
        match item {
            Item::Skipped(number, reason) => seen.push(format!("{number:X} {reason:?}")),
            Item::Event(event) => seen.push(event.number.to_string()),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    assert_eq!(seen, ["221 TooLarge", "2"], "it is passed over, and counts");
}
