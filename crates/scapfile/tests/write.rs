//! What is written is read back as it was, by this reader and by sysdig.

mod common;

use std::io::Cursor;
use std::ops::ControlFlow;
use std::process::Command;

use common::{counted, read};
use proptest::collection::vec;
use proptest::prelude::*;
use scapfile::write::{self, Event, TooLarge};
use scapfile::{Capture, Item, MachineInfo, ProcessEntry, schema};

/// A thread alive at the beginning, with values of its own.
#[derive(Debug, Clone, PartialEq)]
struct Thread {
    ids: [i64; 4],
    strings: [Vec<u8>; 6],
}

impl Thread {
    fn entry(&self) -> ProcessEntry<'_> {
        let ([tid, pid, ppid, vpid], [comm, exe, exepath, args, cwd, cgroups]) = (self.ids, &self.strings);
        ProcessEntry { tid, pid, ppid, comm, exe, exepath: Some(exepath), args, cwd, vpid: Some(vpid), cgroups }
    }

    fn read(entry: &ProcessEntry<'_>) -> Self {
        let ProcessEntry { tid, pid, ppid, comm, exe, exepath, args, cwd, vpid, cgroups } = *entry;
        let strings = [comm, exe, exepath.unwrap(), args, cwd, cgroups].map(<[u8]>::to_vec);
        Self { ids: [tid, pid, ppid, vpid.unwrap()], strings }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Happening {
    cpu: u16,
    timestamp_ns: u64,
    tid: i64,
    event_type: u16,
    params: Vec<Vec<u8>>,
}

impl Happening {
    fn event(&self) -> Event<'_, Vec<u8>> {
        let Self { cpu, timestamp_ns, tid, event_type, ref params } = *self;
        Event { cpu, timestamp_ns, tid, event_type, params }
    }
}

fn machine() -> impl Strategy<Value = MachineInfo> {
    (any::<u32>(), any::<u64>(), "[a-z.-]{0,128}", any::<u64>()).prop_map(|(cpus, memory_bytes, hostname, boot)| {
        let boot_timestamp_ns = Some(boot).filter(|boot| *boot != 0);
        MachineInfo { cpus, memory_bytes, hostname, boot_timestamp_ns }
    })
}

fn thread() -> impl Strategy<Value = Thread> {
    let string = prop_oneof![400 => vec(any::<u8>(), 0..40), 1 => Just(vec![7; 65_535])];
    (any::<[i64; 4]>(), proptest::array::uniform6(string)).prop_map(|(ids, strings)| Thread { ids, strings })
}

fn happening() -> impl Strategy<Value = Happening> {
    let event_type = prop_oneof![9 => 0..schema::known_types() + 5, 1 => any::<u16>()];
    let param = prop_oneof![400 => vec(any::<u8>(), 0..40), 1 => Just(vec![9; 65_535])];
    (any::<u16>(), any::<u64>(), any::<i64>(), event_type, vec(param, 0..34)).prop_map(
        |(cpu, timestamp_ns, tid, event_type, params)| Happening { cpu, timestamp_ns, tid, event_type, params },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(machine in machine(), threads in vec(thread(), 0..5), happenings in vec(happening(), 0..4)) {
        let mut bytes = Vec::new();
        write::section(&mut bytes);
        write::machine(&mut bytes, &machine).unwrap();
        write::processes(&mut bytes, &threads.iter().map(Thread::entry).collect::<Vec<_>>()).unwrap();
        for happening in &happenings {
            write::event(&mut bytes, &happening.event()).unwrap();
        }
        let (mut machines, mut entries, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let mut capture = Capture::read(Cursor::new(bytes), None).unwrap();
        capture.visit(|item| {
            match item {
                Item::Section(section) => assert_eq!((section.major, section.minor), (1, 2)),
                Item::Machine(machine) => machines.push(machine),
                Item::Process(process) => entries.push(Thread::read(&process)),
                Item::Event(event) => {
                    let params = event.params().unwrap();
                    let count = event.param_count() as usize;
                    events.push(Happening {
                        cpu: event.cpu,
                        timestamp_ns: event.timestamp_ns,
                        tid: event.tid,
                        event_type: event.event_type,
                        params: (0..count).map(|index| params.get(index).unwrap().to_vec()).collect(),
                    });
                }
                other => panic!("{other:?}"),
            }
            ControlFlow::Continue(())
        });
        prop_assert_eq!((capture.damage(), machines), (None, vec![machine]));
        prop_assert_eq!((entries, events), (threads, happenings));
    }
}

#[test]
fn what_there_is_no_room_for_is_refused_and_leaves_no_trace() {
    let mut bytes = Vec::new();
    write::section(&mut bytes);
    let before = bytes.clone();
    let event = |event_type, params| Event { cpu: 0, timestamp_ns: 1, tid: 1, event_type, params };
    let long = vec![0u8; 65_536];
    let comm = ProcessEntry { comm: &long, ..ProcessEntry::default() };
    let hostname = "h".repeat(129);
    let refusals: [Result<(), TooLarge>; 6] = [
        write::event(&mut bytes, &event(5, &[&long])),
        write::event(&mut bytes, &event(5, &[&b""[..]; 65].map(<[u8]>::to_vec).each_ref())),
        write::event(&mut bytes, &event(5, &[&long[1..].to_vec(); 64])),
        write::container(&mut bytes, 1, &"x".repeat(17 << 20)),
        write::processes(&mut bytes, &[comm]),
        write::machine(&mut bytes, &MachineInfo { cpus: 1, memory_bytes: 1, hostname, boot_timestamp_ns: None }),
    ];
    let sizes = refusals.map(|refusal| refusal.unwrap_err().size);
    assert_eq!(sizes, [65_536, 65, 26 + 64 * 65_537, 26 + 4 + (17 << 20) + 1, 65_536, 129]);
    assert_eq!(bytes, before);
}

#[test]
fn the_largest_events_there_may_be_are_read() {
    let mut bytes = Vec::new();
    write::section(&mut bytes);
    let value = vec![1; 65_535];
    write::event(&mut bytes, &Event { cpu: 0, timestamp_ns: 1, tid: 1, event_type: 9, params: &[&value; 63] }).unwrap();
    let json = "x".repeat((16 << 20) - 64 - 26 - 4 - 1);
    write::container(&mut bytes, 2, &json).unwrap();
    let mut lengths = Vec::new();
    let mut capture = Capture::read(Cursor::new(bytes), None).unwrap();
    capture.visit(|item| {
        if let Item::Event(event) = item {
            lengths.push(event.param(event.param_count() as usize - 1).unwrap().len());
        }
        ControlFlow::Continue(())
    });
    assert_eq!((lengths, capture.damage()), (vec![65_535, json.len() + 1], None));
}

/// A shell that a fault in the vsyscall page kills, in a container.
fn crash() -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |value: i64| value.to_le_bytes().to_vec();
    let machine = MachineInfo { cpus: 2, memory_bytes: 1 << 30, hostname: "written".into(), boot_timestamp_ns: None };
    let shell = ProcessEntry {
        tid: 308,
        pid: 308,
        ppid: 1,
        comm: b"entrypoint.sh",
        exe: b"/bin/bash",
        exepath: Some(b"/bin/bash"),
        args: b"-e\0",
        cwd: b"/srv/",
        vpid: Some(1),
        cgroups: b"cpuset=/docker/7272f37ebc5c56208fff78f04e126973b694d5b91158b6fbd7383fe6ae2e3dd5\0",
    };
    let init = ProcessEntry { tid: 1, pid: 1, comm: b"init", ..shell };
    let address = 0xFFFF_FFFF_FF60_0400u64.to_le_bytes().to_vec();
    let events = [
        (308, 8, vec![number(1), 2u32.to_le_bytes().to_vec()]),
        (308, 9, vec![number(2), b"hi".to_vec()]),
        (308, 290, vec![address.clone(), address, 154u32.to_le_bytes().to_vec()]),
        (308, 232, vec![number(0), number(308), vec![11]]),
        (308, 186, vec![number(11), number(139), vec![11], vec![0]]),
    ];
    write::section(&mut bytes);
    write::machine(&mut bytes, &machine).unwrap();
    write::processes(&mut bytes, &[init, shell]).unwrap();
    let json = r#"{"container":{"id":"7272f37ebc5c","name":"redis1","image":"redis:2.8.22","type":0}}"#;
    write::container(&mut bytes, 1_795_176_951_000_000_000, json).unwrap();
    for (index, (tid, event_type, params)) in events.iter().enumerate() {
        let timestamp_ns = 1_795_176_952_000_000_000 + index as u64;
        write::event(&mut bytes, &Event { cpu: 1, timestamp_ns, tid: *tid, event_type: *event_type, params }).unwrap();
    }
    bytes
}

/// The blocks stand as `docs/scap-format.md` has them, byte for byte, not only as the reader takes them.
#[test]
fn blocks_are_those_of_the_documented_format() {
    let mut bytes = Vec::new();
    write::section(&mut bytes);
    let machine = MachineInfo { cpus: 4, memory_bytes: 8 << 30, hostname: "host".into(), boot_timestamp_ns: Some(5) };
    write::machine(&mut bytes, &machine).unwrap();
    let mut fields = [41i64, 40, 1, 0, 0].iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
    for string in [&b"sh"[..], b"./sh", b"/bin/sh", b"-c\0", b"/"] {
        fields.extend(counted(string));
    }
    fields.extend([0; 48]);
    fields.extend(counted(b""));
    fields.extend([0i64, 6].iter().flat_map(|id| id.to_le_bytes()));
    fields.extend([counted(b"cpuset=/a\0"), counted(b"")].concat());
    let process = ProcessEntry {
        tid: 41,
        pid: 40,
        ppid: 1,
        comm: b"sh",
        exe: b"./sh",
        exepath: Some(b"/bin/sh"),
        args: b"-c\0",
        cwd: b"/",
        vpid: Some(6),
        cgroups: b"cpuset=/a\0",
    };
    write::processes(&mut bytes, &[process]).unwrap();
    let mut fault = common::EventWriter::new(common::EVENT_V2, 290, &[&[1; 8], &[2; 8], &[3; 4]]);
    let params = &fault.params;
    let event = Event { cpu: 3, timestamp_ns: fault.timestamp_ns, tid: 308, event_type: 290, params };
    write::event(&mut bytes, &event).unwrap();
    write::container(&mut bytes, 9, "{}").unwrap();
    let expected = [
        common::section(&[]),
        common::block(common::MACHINE_INFO, &common::machine("host", 5)),
        common::block(common::PROCESSES_V9, &common::sized(&fields)),
        fault.block(),
        {
            fault = common::EventWriter::new(common::EVENT_LARGE, 324, &[b"{}\0"]);
            (fault.cpu, fault.timestamp_ns, fault.tid) = (0, 9, -1);
            fault.block()
        },
    ];
    assert_eq!(bytes, expected.concat());
    assert_eq!(read(&bytes).count("Event"), 2);
}

#[test]
fn sysdig_reads_what_is_written() {
    let path = std::env::temp_dir().join(format!("scapfile-written-{}.scap", std::process::id()));
    std::fs::write(&path, crash()).unwrap();
    let format = "%evt.num %evt.cpu %evt.dir %evt.type %proc.name %proc.exepath %proc.args %proc.cwd %proc.vpid \
                  %container.id %container.image %evt.args";
    let sysdig = Command::new("sysdig").arg("-r").arg(&path).args(["-p", &format!("*{format}")]).output();
    std::fs::remove_file(&path).unwrap();
    let output = match sysdig {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("SKIPPED: no sysdig here to read what was written");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let who = "entrypoint.sh /bin/bash -e /srv/ 1 7272f37ebc5c redis:2.8.22";
    let expected = [format!("2 1 > write {who} fd=1 size=2"), format!("3 1 < write {who} res=2 data=hi")];
    assert!(output.status.success() && lines.len() == 5, "{text}{errors}");
    assert_eq!(lines[..2], expected, "{errors}");
    assert!(lines[2].starts_with("4 1 > page_fault") && lines[2].contains("FFFFFFFFFF600400"), "{text}");
    assert!(lines[3].contains("signaldeliver") && lines[4].contains("procexit"), "{text}");
}
