//! Every block and every layout, written by hand and read back value by value.

mod common;

use std::ops::ControlFlow;

use common::*;
use scapfile::{BlockKind, Capture, Item, ListKind, Parser, Progress, SkipReason};

/// Reads `blocks` behind a section header and hands every further item to `look`.
fn each(blocks: &[u8], mut look: impl FnMut(Item<'_>)) {
    let bytes = [section(&[]), blocks.to_vec()].concat();
    let mut parser = Parser::default();
    let mut at = 0;
    let mut first = true;
    loop {
        match parser.next(&bytes[at..], true).unwrap() {
            Progress::Item { item, consumed } => {
                at += consumed;
                if !std::mem::take(&mut first) {
                    look(item);
                }
            }
            Progress::Consumed(consumed) => at += consumed,
            Progress::NeedMore => unreachable!(),
            Progress::End => return,
        }
    }
}

/// The only item that `blocks` hold, as `look` sees it.
fn only<T>(blocks: &[u8], look: impl Fn(&Item<'_>) -> Option<T>) -> T {
    let mut found = Vec::new();
    each(blocks, |item| found.push(look(&item).unwrap_or_else(|| panic!("{item:?}"))));
    assert_eq!(found.len(), 1);
    found.pop().unwrap()
}

#[test]
fn a_section_header_may_have_options() {
    for options in [vec![], comment("a"), comment(&"long ".repeat(10_000))] {
        let reading = read(&section(&options));
        assert_eq!(reading.items, ["Section(SectionHeader { major: 1, minor: 2 })"]);
        assert_eq!(reading.damage, None);
    }
}

#[test]
fn every_version_up_to_the_first_major_one_is_read() {
    for (major, minor) in [(0, 9), (1, 0), (1, 1), (1, 2), (1, 3), (1, u16::MAX)] {
        let reading = read(&section_of(0x1A2B_3C4D, major, minor, &[]));
        assert_eq!(reading.items, [format!("Section(SectionHeader {{ major: {major}, minor: {minor} }})")]);
    }
    let damage = read(&section_of(0x1A2B_3C4D, 2, 0, &[])).damage.unwrap();
    assert!(damage.found.contains("version 2.0"), "{damage}");
}

#[test]
fn a_section_may_begin_anew_and_events_count_on() {
    let bytes = [small_capture(2), small_capture(3)].concat();
    let reading = read(&bytes);
    assert_eq!((reading.damage.as_ref(), reading.count("Section"), reading.events), (None, 2, 5));
    assert!(reading.items.last().unwrap().starts_with("Event(Event { number: 5,"));
}

#[test]
fn machine_info_is_read_in_both_its_ages() {
    for number in [MACHINE_INFO, 0x8002_ABCD] {
        only(&block(number, &machine("db-7", 1_700_000_000_000_000_000)), |item| {
            let Item::Machine(machine) = item else { return None };
            assert_eq!((machine.cpus, machine.memory_bytes), (4, 8 << 30));
            assert_eq!(
                (machine.hostname.as_str(), machine.boot_timestamp_ns),
                ("db-7", Some(1_700_000_000_000_000_000))
            );
            Some(())
        });
    }
    // The boot time once was reserved: zero, or missing altogether.
    for body in [machine("db-7", 0), machine("db-7", 1)[..148].to_vec()] {
        let boot = only(&block(MACHINE_INFO, &body), |item| match item {
            Item::Machine(machine) => Some(machine.boot_timestamp_ns),
            _ => None,
        });
        assert_eq!(boot, None);
    }
}

#[test]
fn a_hostname_of_128_bytes_or_of_no_unicode_is_read() {
    let mut body = machine(&"h".repeat(128), 1);
    let read = |body: &[u8]| {
        only(&block(MACHINE_INFO, body), |item| match item {
            Item::Machine(machine) => Some(machine.hostname.clone()),
            _ => None,
        })
    };
    assert_eq!(read(&body), "h".repeat(128));
    body[20] = 0xFF;
    assert!(read(&body).starts_with("\u{FFFD}h"));
}

#[test]
fn process_lists_of_all_layouts_are_read() {
    let numbers = [
        (1, 0x202),
        (1, 0x8000_ABCD),
        (2, 0x207),
        (2, 0x8013_ABCD),
        (3, 0x209),
        (3, 0x8014_ABCD),
        (4, 0x210),
        (5, 0x211),
        (6, 0x212),
        (7, 0x213),
        (8, 0x214),
        (9, 0x215),
    ];
    for (version, number) in numbers {
        assert_eq!(BlockKind::of(number), BlockKind::List(ListKind::Processes(version)));
        let entry = |tid, comm| {
            let fields = process_fields(version, tid, comm);
            if version == 9 { sized(&fields) } else { fields }
        };
        // Names of several lengths: the end of the list is padded in every way there is.
        for comm in ["", "a", "ab", "abc"] {
            let mut tids = Vec::new();
            each(&block(number, &[entry(41, "bash"), entry(51, comm)].concat()), |item| {
                let Item::Process(process) = item else { panic!("V{version}: {item:?}") };
                assert_eq!((process.pid, process.ppid), (process.tid - 1, 1), "V{version}");
                let expected = if process.tid == 41 { "bash" } else { comm };
                assert_eq!(process.comm, expected.as_bytes(), "V{version}");
                assert_eq!(process.exe, format!("./{expected}").as_bytes(), "V{version}");
                let path = format!("/usr/bin/{expected}");
                assert_eq!(process.exepath, (version >= 7).then_some(path.as_bytes()), "V{version}");
                assert_eq!((process.args, process.cwd), (&b"-c\0sleep 1\0"[..], &b"/srv/"[..]), "V{version}");
                assert_eq!(process.vpid, (version >= 4).then_some(6), "V{version}");
                let cgroups: &[u8] = if version >= 4 { b"cpuset=/docker/0123456789ab\0" } else { b"" };
                assert_eq!(process.cgroups, cgroups, "V{version}");
                tids.push(process.tid);
            });
            assert_eq!(tids, [41, 51], "V{version}");
        }
    }
}

#[test]
fn fields_appended_to_sized_entries_are_passed_over() {
    let appended = [0xEE; 77];
    let processes =
        [sized(&[&process_fields(9, 41, "bash")[..], &appended].concat()), sized(&process_fields(9, 51, "sh"))];
    let mut comms = Vec::new();
    each(&block(PROCESSES_V9, &processes.concat()), |item| {
        let Item::Process(process) = item else { panic!("{item:?}") };
        comms.push(process.comm.to_vec());
    });
    assert_eq!(comms, [b"bash".to_vec(), b"sh".to_vec()]);

    let file =
        [fd_fields(3, 16), vec![1, 2, 3, 4], counted(b"/etc/passwd"), vec![5, 6, 7, 8], appended.to_vec()].concat();
    let user = [&[0][..], &[7, 0, 0, 0, 8, 0, 0, 0], &counted(b"me"), &counted(b"/"), &counted(b"/bin/sh"), &appended]
        .concat();
    let group = [&[1][..], &[9, 0, 0, 0], &counted(b"us"), &appended].concat();
    let interface = [&[4, 0, 4, 0][..], &[0; 48], b"eth0", &appended].concat();
    let blocks = [
        block(FDS_SIZED, &[&41i64.to_le_bytes()[..], &sized(&file), &sized(&file)].concat()),
        block(0x220, &[sized(&user), sized(&group), sized(&user)].concat()),
        block(0x219, &[sized_without_itself(&interface), sized_without_itself(&interface)].concat()),
    ];
    let mut kinds = String::new();
    each(&blocks.concat(), |item| {
        kinds.push_str(match item {
            Item::Fd(fd) if fd.name == b"/etc/passwd" && fd.tid == 41 => "F",
            Item::User(user) if user.uid == 7 && user.name == b"me" => "U",
            Item::Group(group) if group.gid == 9 && group.name == b"us" => "G",
            Item::Interface(interface) if interface.ipv6 && interface.name == b"eth0" => "I",
            other => panic!("{other:?}"),
        });
    });
    assert_eq!(kinds, "FFUGUII");
}

#[test]
fn descriptors_of_all_kinds_are_read_with_and_without_lengths() {
    let named = |kind: u8| [fd_fields(i64::from(kind), kind), counted(b"name")].concat();
    let mut entries = Vec::new();
    entries.push((0, fd_fields(0, 0), &b""[..]));
    for (kind, size) in [(3, 13), (4, 37), (5, 7), (6, 19)] {
        entries.push((kind, [fd_fields(kind.into(), kind), vec![1; size]].concat(), &b""[..]));
    }
    entries.push((8, [fd_fields(8, 8), vec![1; 16], counted(b"name")].concat(), &b"name"[..]));
    entries.push((16, [fd_fields(16, 16), vec![1; 4], counted(b"name")].concat(), &b"name"[..]));
    for kind in [1, 2, 7].into_iter().chain(9..=15).chain(17..=21) {
        entries.push((kind, named(kind), &b"name"[..]));
    }
    assert_eq!(entries.len(), 22, "all kinds from 0 to 21");
    for number in [0x203, 0x8001_ABCD, FDS_SIZED] {
        let mut body = (-5i64).to_le_bytes().to_vec();
        for (_, entry, _) in &entries {
            body.extend(if number == FDS_SIZED { sized(entry) } else { entry.clone() });
        }
        let mut expected = entries.iter();
        each(&block(number, &body), |item| {
            let Item::Fd(fd) = item else { panic!("{number:X}: {item:?}") };
            let (kind, _, name) = expected.next().unwrap();
            assert_eq!((fd.tid, fd.fd, fd.fd_type, fd.name), (-5, i64::from(*kind), *kind, *name), "{number:X}");
        });
        assert_eq!(expected.len(), 0, "{number:X}");
    }
}

#[test]
fn a_descriptor_of_an_unknown_kind_is_passed_over_where_its_length_is_known() {
    let unknown = [fd_fields(7, 200), vec![0xEE; 33]].concat();
    let known = [fd_fields(8, 1), counted(b"/dev/null")].concat();
    let tid = 41i64.to_le_bytes().to_vec();

    let mut fds = Vec::new();
    each(&block(FDS_SIZED, &[tid.clone(), sized(&unknown), sized(&known)].concat()), |item| {
        let Item::Fd(fd) = item else { panic!("{item:?}") };
        fds.push((fd.fd, fd.fd_type, fd.name.to_vec()));
    });
    assert_eq!(fds, [(7, 200, b"".to_vec()), (8, 1, b"/dev/null".to_vec())]);

    // Without a length the rest of the block cannot be read; what follows the block can.
    let blocks = [block(0x203, &[tid, known.clone(), unknown, known].concat()), page_fault(1)].concat();
    let mut seen = Vec::new();
    each(&blocks, |item| match item {
        Item::Fd(fd) => seen.push(format!("fd {}", fd.fd)),
        Item::Skipped(0x203, SkipReason::MalformedList) => seen.push("skipped".into()),
        Item::Event(event) => seen.push(format!("event {}", event.number)),
        other => panic!("{other:?}"),
    });
    assert_eq!(seen, ["fd 8", "skipped", "event 1"]);
}

#[test]
fn an_fd_list_may_be_empty() {
    each(&block(FDS_SIZED, &41i64.to_le_bytes()), |item| panic!("{item:?}"));
    each(&block(FDS_SIZED, &[]), |item| panic!("{item:?}"));
}

#[test]
fn interface_lists_are_read_with_and_without_lengths() {
    for number in [0x205, 0x8011_ABCD, 0x219] {
        let sized = |entry: Vec<u8>| if number == 0x219 { sized_without_itself(&entry) } else { entry };
        let mut body = Vec::new();
        // With a link speed, then without: IPv4, IPv6.
        for (kind, addresses) in [(1, 20), (2, 56), (3, 12), (4, 48)] {
            body.extend(sized(
                [&[kind, 0, 4, 0][..], &vec![0xAA; addresses], format!("eth{kind}").as_bytes()].concat(),
            ));
        }
        let mut seen = Vec::new();
        each(&block(number, &body), |item| {
            let Item::Interface(interface) = item else { panic!("{number:X}: {item:?}") };
            seen.push((String::from_utf8(interface.name.to_vec()).unwrap(), interface.ipv6));
        });
        let expected = [("eth1", false), ("eth2", true), ("eth3", false), ("eth4", true)];
        assert_eq!(seen, expected.map(|(name, ipv6)| (name.to_owned(), ipv6)), "{number:X}");
    }
}

#[test]
fn user_lists_are_read_with_and_without_lengths() {
    for number in [0x206, 0x8012_ABCD, 0x220] {
        let user =
            [&[0][..], &[1, 0, 0, 0, 2, 0, 0, 0], &counted(b"daemon"), &counted(b"/"), &counted(b"/sbin/nologin")]
                .concat();
        let group = [&[1][..], &[2, 0, 0, 0], &counted(b"bin")].concat();
        let body = if number == 0x220 { [sized(&user), sized(&group)].concat() } else { [user, group].concat() };
        let mut seen = Vec::new();
        each(&block(number, &body), |item| match item {
            Item::User(user) => seen.push(format!("user {} {}", user.uid, user.name.escape_ascii())),
            Item::Group(group) => seen.push(format!("group {} {}", group.gid, group.name.escape_ascii())),
            other => panic!("{number:X}: {other:?}"),
        });
        assert_eq!(seen, ["user 1 daemon", "group 2 bin"], "{number:X}");
    }
}

#[test]
fn events_of_every_block_type_are_read() {
    let address = 0xFFFF_FFFF_FF60_0400u64.to_le_bytes();
    for number in [EVENT_V1, 0x8010_ABCD, EVENT_V1_FLAGS, EVENT_V2, EVENT_V2_FLAGS, EVENT_LARGE, EVENT_LARGE_FLAGS] {
        let writer = EventWriter::new(number, 290, &[&address, &7u64.to_le_bytes(), &154u32.to_le_bytes()]);
        let flagged = matches!(number, EVENT_V1_FLAGS | EVENT_V2_FLAGS | EVENT_LARGE_FLAGS);
        only(&writer.block(), |item| {
            let Item::Event(event) = item else { return None };
            assert_eq!((event.number, event.cpu, event.tid), (1, 3, 308), "{number:X}");
            assert_eq!(event.timestamp_ns, 1_795_176_952_775_580_364, "{number:X}");
            assert_eq!(event.flags, if flagged { 0xABCD_0001 } else { 0 }, "{number:X}");
            assert_eq!((event.event_type, event.is_exit(), event.param_count()), (290, false, 3), "{number:X}");
            let params = event.params().unwrap();
            assert_eq!(params.unsigned(0), Some(0xFFFF_FFFF_FF60_0400), "{number:X}");
            assert_eq!((params.unsigned(1), params.unsigned(2)), (Some(7), Some(154)), "{number:X}");
            assert_eq!((params.get(3), event.param(2)), (None, Some(&154u32.to_le_bytes()[..])), "{number:X}");
            Some(())
        });
    }
}

/// Reads the one event of `blocks` and returns its parameters, copied.
fn params(blocks: &[u8]) -> Vec<Vec<u8>> {
    only(blocks, |item| {
        let Item::Event(event) = item else { return None };
        let params = event.params().ok()?;
        Some((0..event.param_count() as usize).map(|index| params.get(index).unwrap().to_vec()).collect())
    })
}

#[test]
fn version_1_events_have_as_many_parameters_as_fill_them() {
    // 12 is the age of `open` exit events with four parameters; the table of today has six.
    for values in [
        vec![],
        vec![&b"\x03\0\0\0\0\0\0\0"[..]],
        vec![b"\x03\0\0\0\0\0\0\0", b"/etc/passwd\0"],
        vec![b"\x03\0\0\0\0\0\0\0", b"/etc/passwd\0", b"\x01\0\0\0", b"\0\0\0\0"],
        vec![b"\x03\0\0\0\0\0\0\0", b"/etc/passwd\0", b"\x01\0\0\0", b"\0\0\0\0", b"\0\0\0\0", b"\x07\0\0\0\0\0\0\0"],
    ] {
        let writer = EventWriter::new(EVENT_V1, 3, &values);
        assert_eq!(params(&writer.block()), values);
    }
    // An event type that the table does not have.
    let unknown = EventWriter::new(EVENT_V1, 60_000, &[b"one", b"", b"three"]);
    assert_eq!(params(&unknown.block()), [&b"one"[..], b"", b"three"]);
}

#[test]
fn old_notifications_say_three_bytes_too_many() {
    let notification = scapfile::schema::types_named("notification").next().unwrap();
    // Two parameters, a length that is 3 too large, and the bytes to fill it.
    let mut body = EventWriter::new(EVENT_V1, notification, &[b"id\0", b"text\0"]).body();
    let length = u32::from_le_bytes(body[18..22].try_into().unwrap()) + 3;
    body[18..22].copy_from_slice(&length.to_le_bytes());
    body.extend([0; 3]);
    assert_eq!(params(&block(EVENT_V1, &body)), [b"id\0".to_vec(), b"text\0".to_vec()]);
}

#[test]
fn large_events_hold_more_than_64_kib() {
    let json = vec![b'x'; 300_000];
    for number in [EVENT_LARGE, EVENT_LARGE_FLAGS] {
        let writer = EventWriter::new(number, 402, &[&1u32.to_le_bytes(), b"container\0", &json]);
        assert_eq!(params(&writer.block())[2], json);
    }
    // 16-bit lengths: 20 parameters of nearly 64 KiB are beyond what sysdig reads.
    let values = [&json[..65_535]; 20];
    assert_eq!(params(&EventWriter::new(EVENT_V2, 402, &values).block()), values);
}

#[test]
fn what_follows_an_event_in_its_block_is_no_part_of_it() {
    // pcapng options behind the event, such as the comments that Stratoshark adds.
    let mut body = EventWriter::new(EVENT_V2, 290, &[b"\x01", b"\x02"]).body();
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(comment("look here"));
    assert_eq!(params(&block(EVENT_V2, &body)), [b"\x01".to_vec(), b"\x02".to_vec()]);
}

#[test]
fn events_have_the_parameters_that_stand_there() {
    // None, more than the schema has, none but empty ones, and as many as there can be.
    for values in [vec![], vec![&b"abc"[..]; 32], vec![&b""[..]; 3], vec![&b"a"[..]; 64]] {
        let writer = EventWriter::new(EVENT_V2, 290, &values);
        assert_eq!(params(&writer.block()), values);
    }
}

#[test]
fn parameters_are_read_as_numbers_and_strings() {
    let values: [&[u8]; 8] =
        [b"\xFE", b"\xFE\xFF", b"\xFE\xFF\xFF\xFF", &(-2i64).to_le_bytes(), b"text\0", b"text", b"", b"\x01\x02\x03"];
    only(&EventWriter::new(EVENT_V2, 5, &values).block(), |item| {
        let Item::Event(event) = item else { return None };
        let params = event.params().unwrap();
        let unsigned =
            [Some(0xFE), Some(0xFFFE), Some(0xFFFF_FFFE), Some(-2i64 as u64), None, Some(0x7478_6574), None, None];
        for (index, expected) in unsigned.into_iter().enumerate() {
            assert_eq!(params.unsigned(index), expected, "parameter {index}");
        }
        assert_eq!((params.signed(3), params.signed(2), params.signed(9)), (Some(-2), None, None));
        assert_eq!(
            (params.string(4), params.string(5), params.string(6)),
            (Some(&b"text"[..]), Some(&b"text"[..]), Some(&b""[..]))
        );
        Some(())
    });
}

#[test]
fn unknown_blocks_are_passed_over_and_named() {
    let blocks =
        [block(0x7777, &[1; 100_001]), page_fault(1), block(0x0BAD, &[]), block(1, &[0; 8]), page_fault(2)].concat();
    let mut seen = Vec::new();
    each(&blocks, |item| match item {
        Item::Skipped(number, SkipReason::UnknownBlock) => seen.push(number),
        Item::Event(event) => seen.push(u32::try_from(event.number).unwrap()),
        other => panic!("{other:?}"),
    });
    assert_eq!(seen, [0x7777, 1, 0x0BAD, 1, 2]);
}

#[test]
fn a_gzip_stream_of_several_members_is_one_capture() {
    let plain = small_capture(50);
    let expected = read(&plain);
    for cuts in [vec![], vec![0], vec![7], vec![28, 29, 2000], (1..60).collect()] {
        let mut stream = Vec::new();
        let mut from = 0;
        for to in cuts.iter().copied().chain([plain.len()]) {
            stream.extend(gzip(&plain[from..to]));
            from = to;
        }
        assert_eq!(read_capture(&stream).unwrap(), expected, "cut at {cuts:?}");
    }
    assert_eq!(read_capture(&plain).unwrap(), expected);
    // Two whole captures, one after the other, as `cat` makes them.
    let twice = read_capture(&[gzip(&plain), gzip(&plain)].concat()).unwrap();
    assert_eq!((twice.events, twice.damage), (100, None));
}

#[test]
fn a_visit_can_be_paused_and_goes_on_where_it_was() {
    let bytes = small_capture(20);
    let mut capture = Capture::read(std::io::Cursor::new(bytes.clone()), Some(bytes.len() as u64)).unwrap();
    let mut items = Vec::new();
    while capture.visit(|item| {
        items.push(format!("{item:?}"));
        ControlFlow::Break(())
    }) == scapfile::Visit::Paused
    {}
    assert_eq!(items, read(&bytes).items);
    assert_eq!(
        (capture.size(), capture.compressed(), capture.offset()),
        (Some(bytes.len() as u64), false, bytes.len() as u64)
    );
    // There is nothing more, however often one asks.
    assert_eq!(capture.visit(|item| panic!("{item:?}")), scapfile::Visit::Ended);
}

/// `docs/scap-format.md` lists the numbers that the reader knows, and only these.
#[test]
fn the_documented_block_numbers_are_those_that_are_read() {
    let page = include_str!("../../../docs/scap-format.md");
    let table = page.split("### The numbers").nth(1).unwrap().split("\n### ").next().unwrap();
    let mut documented = Vec::new();
    for row in table.lines().filter(|row| row.starts_with("| ") && row.contains("`0x")) {
        let hex = row.split('`').filter_map(|word| word.strip_prefix("0x"));
        let mut numbers: Vec<u32> = hex.map(|word| u32::from_str_radix(word, 16).unwrap()).collect();
        if row.contains("` to `") {
            numbers = (numbers[0]..=numbers[1]).collect();
        }
        let what = row.split('|').nth(1).unwrap().split(" V4 to").next().unwrap().trim();
        for number in numbers {
            let name = BlockKind::of(number).name();
            let list = matches!(BlockKind::of(number), BlockKind::List(_));
            let alike = name == what || list && (name.starts_with(what) || what.starts_with(&name));
            assert!(alike, "{number:X} is {name}, documented as {what}");
            documented.push(number);
        }
    }
    let known = (0..0x1000).chain((0..0x100).map(|high| 0x8000_ABCD | high << 16)).chain([SECTION_HEADER]);
    let mut known: Vec<u32> = known.filter(|number| BlockKind::of(*number) != BlockKind::Unknown).collect();
    known.sort_unstable();
    documented.sort_unstable();
    assert_eq!(documented, known);
}
