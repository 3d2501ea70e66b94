//! Captures written event by event, for what no capture at hand holds; and what is found in them.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::Cursor;
use std::ops::ControlFlow;

use diagnosis::{Diagnosis, Finding, PAGE, Report};
use scapfile::{Capture, schema, write};

pub const PAGE_FAULT: u16 = 290;
pub const SIGNALDELIVER: u16 = 232;
pub const PROCEXIT: u16 = 186;
pub const PROCEXIT_OLD: u16 = 16;
pub const EXECVE_EXIT: u16 = 293;
pub const CLONE_EXIT: u16 = 223;
pub const CONTAINER_JSON: u16 = 324;
pub const TGKILL_ENTER: u16 = 132;
pub const MMAP_EXIT: u16 = 161;
pub const MPROTECT_ENTER: u16 = 284;
pub const DROP: u16 = 148;
pub const ABSENT_FETCH: u32 = 154;
pub const PRESENT_FETCH: u32 = 153;
pub const ABSENT_READ: u32 = 26;
pub const TIME: u64 = PAGE + 0x400;
pub const ID: &str = "7272f37ebc5c56208fff78f04e126973b694d5b91158b6fbd7383fe6ae2e3dd5";

pub const GENERIC: u16 = 0;
pub const READ: u16 = 6;
pub const FUTEX: u16 = 64;
pub const STAT: u16 = 66;
pub const LSEEK: u16 = 86;
pub const SEEK_SET: u8 = 0;
pub const SEEK_CUR: u8 = 1;
pub const OPENAT: u16 = 306;

/// A capture in the making; each event comes a millisecond after the one before.
pub struct Story {
    pub bytes: Vec<u8>,
    now_ns: u64,
    step_ns: u64,
    args: &'static [u8],
    directory: &'static [u8],
}

impl Story {
    pub fn begin() -> Self {
        let mut bytes = Vec::new();
        write::section(&mut bytes);
        Self { bytes, now_ns: 1_000_000_000, step_ns: 1_000_000, args: b"--serve\0", directory: b"/\0" }
    }

    /// As current Falco writes it: 32-bit parameter lengths.
    pub fn async_event(self, name: &[u8], data: &[u8]) -> Self {
        let asyncevent = schema::types_named("asyncevent").next().expect("in the event table");
        self.event(-1, asyncevent, &[&[0; 4], name, data])
    }

    pub fn event(mut self, tid: i64, event_type: u16, params: &[&[u8]]) -> Self {
        self.now_ns = self.now_ns.wrapping_add(self.step_ns);
        let cpu = u16::try_from(tid.rem_euclid(4)).expect("small");
        let event = write::Event { cpu, timestamp_ns: self.now_ns, tid, event_type, params };
        write::event(&mut self.bytes, &event).expect("room for it");
        self
    }

    pub fn wait(mut self, seconds: u64) -> Self {
        self.now_ns += seconds * 1_000_000_000;
        self
    }

    /// Parameters as EXECVE_19_X and CLONE_20_X have them up to the control groups; `ids`: process and parent.
    pub fn born(self, event_type: u16, tid: i64, ids: (i64, i64), comm: &str, cgroups: &str, last: &[&[u8]]) -> Self {
        self.born_of(event_type, tid, ids, (&format!("/bin/{comm}"), comm), cgroups, last)
    }

    fn born_of(
        self,
        event_type: u16,
        tid: i64,
        ids: (i64, i64),
        (exe, comm): (&str, &str),
        cgroups: &str,
        last: &[&[u8]],
    ) -> Self {
        let number = |value: i64| value.to_le_bytes();
        let text = |value: &str| [value.as_bytes(), b"\0"].concat();
        let (exe, comm, cgroups) = (text(exe), text(comm), text(cgroups));
        let (zero, tid_bytes, pid, ppid) = (number(0), number(tid), number(ids.0), number(ids.1));
        let mut params: Vec<&[u8]> =
            vec![&zero, &exe, self.args, &tid_bytes, &pid, &ppid, self.directory, &zero, &zero, &zero];
        params.extend([&[0; 4][..], &[0; 4], &[0; 4], &comm, &cgroups]);
        params.extend(last);
        self.event(tid, event_type, &params)
    }

    pub fn exec(self, tid: i64, comm: &str) -> Self {
        self.born(EXECVE_EXIT, tid, (tid, 1), comm, "", &[])
    }

    pub fn exec_of(self, tid: i64, exe: &str, comm: &str) -> Self {
        self.born_of(EXECVE_EXIT, tid, (tid, 1), (exe, comm), "", &[])
    }

    pub fn exec_in_container(self, tid: i64, comm: &str, id: &str) -> Self {
        self.born(EXECVE_EXIT, tid, (tid, 1), comm, &format!("cpuset=/docker/{id}"), &[])
    }

    pub fn thread(self, tid: i64, pid: i64) -> Self {
        let clone_thread = (1u32 << 13).to_le_bytes();
        self.born(CLONE_EXIT, tid, (pid, 1), "worker", "", &[&clone_thread])
    }

    pub fn child(self, tid: i64, ppid: i64, comm: &str) -> Self {
        self.born(CLONE_EXIT, tid, (tid, ppid), comm, "", &[&[0; 4]])
    }

    pub fn fault(self, tid: i64, address: u64, error: u32) -> Self {
        let address = address.to_le_bytes();
        self.event(tid, PAGE_FAULT, &[&address, &address, &error.to_le_bytes()])
    }

    pub fn signal(self, tid: i64, signal: u8, sender: i64) -> Self {
        self.event(tid, SIGNALDELIVER, &[&sender.to_le_bytes(), &tid.to_le_bytes(), &[signal]])
    }

    pub fn exit(self, tid: i64, status: i64) -> Self {
        self.event(tid, PROCEXIT, &[&status.to_le_bytes()])
    }

    pub fn call(self, tid: i64) -> Self {
        self.event(tid, MPROTECT_ENTER, &[])
    }

    pub fn tgkill(self, tid: i64, pid: i64, target: i64, signal: u8) -> Self {
        self.event(tid, TGKILL_ENTER, &[&pid.to_le_bytes(), &target.to_le_bytes(), &[signal]])
    }

    pub fn crash(self, tid: i64, address: u64, error: u32) -> Self {
        self.fault(tid, address, error).signal(tid, 11, 0).exit(tid, 11)
    }

    /// From now on, each event comes this long after the one before.
    pub fn each(mut self, step_ns: u64) -> Self {
        self.step_ns = step_ns;
        self
    }

    /// From now on, programs are run with these arguments in this directory, both closed by a NUL.
    pub fn run_with(mut self, args: &'static [u8], directory: &'static [u8]) -> Self {
        (self.args, self.directory) = (args, directory);
        self
    }

    /// A program whose environment is this, NUL-separated.
    pub fn exec_in(self, tid: i64, comm: &str, env: &[u8]) -> Self {
        self.born(EXECVE_EXIT, tid, (tid, 1), comm, "", &[env])
    }

    /// A call from its enter event to its exit event `took_ns` later; `enter` is the type of the enter event.
    pub fn took(self, took_ns: u64, tid: i64, enter: u16, given: &[&[u8]], told: &[&[u8]]) -> Self {
        let step_ns = self.step_ns;
        self.event(tid, enter, given).each(took_ns).event(tid, enter + 1, told).each(step_ns)
    }

    /// Calls of time and its kin (libscap's code and the kernel's number) in a loop that takes `gap_ns` from one to the
    /// next; each takes `took_ns`.
    pub fn time_calls(mut self, tid: i64, call: (u16, u16), count: u64, gap_ns: u64, took_ns: u64) -> Self {
        let (code, number) = (call.0.to_le_bytes(), call.1.to_le_bytes());
        let step_ns = self.step_ns;
        self = self.each(gap_ns);
        for _ in 0..count {
            self = self.took(took_ns, tid, GENERIC, &[&code, &number], &[&code]);
        }
        self.each(step_ns)
    }

    /// Waits that are answered.
    pub fn waits(mut self, tid: i64, count: u64) -> Self {
        for _ in 0..count {
            self = self.futex(tid, 0x5000, 0, 0);
        }
        self
    }

    /// FUTEX_WAIT_PRIVATE at an address, for as long as it holds `value`: a microsecond.
    pub fn futex(self, tid: i64, address: u64, value: u64, result: i64) -> Self {
        self.futex_for(1000, tid, address, value, result)
    }

    /// The same, for `took_ns`.
    pub fn futex_for(self, took_ns: u64, tid: i64, address: u64, value: u64, result: i64) -> Self {
        let given: [&[u8]; 3] = [&address.to_le_bytes(), &128u16.to_le_bytes(), &value.to_le_bytes()];
        self.took(took_ns, tid, FUTEX, &given, &[&result.to_le_bytes()])
    }

    /// stat of a path, with this result.
    pub fn stat(self, tid: i64, path: &str, result: i64) -> Self {
        let path = [path.as_bytes(), b"\0"].concat();
        self.took(10_000, tid, STAT, &[], &[&result.to_le_bytes(), &path])
    }

    /// openat of a path, with this result.
    pub fn openat(self, tid: i64, path: &str, result: i64) -> Self {
        let path = [path.as_bytes(), b"\0"].concat();
        self.event(tid, OPENAT + 1, &[&result.to_le_bytes(), &[0; 8], &path, &[0; 4], &[0; 4]])
    }

    /// lseek and read of a descriptor.
    pub fn seek_read(self, tid: i64, fd: i64, bytes: i64) -> Self {
        self.seek(tid, fd, SEEK_SET).read(tid, fd, bytes)
    }

    /// lseek of a descriptor to 0 from `whence`.
    pub fn seek(self, tid: i64, fd: i64, whence: u8) -> Self {
        self.took(1000, tid, LSEEK, &[&fd.to_le_bytes(), &[0; 8], &[whence]], &[&[0; 8]])
    }

    /// read of a descriptor.
    pub fn read(self, tid: i64, fd: i64, bytes: i64) -> Self {
        let fd = fd.to_le_bytes();
        self.took(3000, tid, READ, &[&fd, &[0; 4]], &[&bytes.to_le_bytes(), b"data"])
    }

    pub fn report(&self) -> Report {
        report(&self.bytes)
    }

    pub fn findings(&self) -> Vec<Finding> {
        self.report().findings
    }
}

pub fn report(bytes: &[u8]) -> Report {
    let mut capture = Capture::read(Cursor::new(bytes.to_vec()), None).expect("a capture");
    let mut diagnosis = Diagnosis::default();
    capture.visit(|item| {
        diagnosis.item(&item);
        ControlFlow::Continue(())
    });
    diagnosis.finish(capture.damage())
}

pub fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id).collect()
}

pub fn fact<'a>(finding: &'a Finding, name: &str) -> &'a serde_json::Value {
    finding.facts.get(name).unwrap_or(&serde_json::Value::Null)
}
