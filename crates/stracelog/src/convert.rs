//! Turns the lines of a log into the events of a capture, one after the other.
//!
//! A call whose duration or end is in the log becomes an enter and an exit event, at the times that strace
//! gives; one without (a log recorded without `-T`) becomes an exit event alone, so that nobody takes the
//! time between two lines for a duration. What strace shows and events have no place for goes behind
//! their last parameter: the result of a generic call, the clock that counts the processor's time of a
//! `clock_gettime`, `si_code` and `si_addr` of a signal.

use std::borrow::Cow;

use falco_event_schema::ffi;
use scapfile::ProcessEntry;
use scapfile::write::{self, Event};

use crate::calls::{self, Events, Kind};
use crate::clock::Clock;
use crate::line::{self, Call, Line, Note, Outcome, Parsed, What};
use crate::log::Tally;
use crate::symbols;
use crate::table;
use crate::text;
use crate::threads::{self, Appeared, Threads};

const GENERIC_ENTER: u16 = ffi::ppm_event_code_PPME_GENERIC_E as u16;
const SIGNALDELIVER: u16 = ffi::ppm_event_code_PPME_SIGNALDELIVER_E as u16;
const PROCEXIT: u16 = ffi::ppm_event_code_PPME_PROCEXIT_1_E as u16;
/// Lines that may interrupt one (what the program itself wrote to the same terminal).
const MAX_INTERRUPTIONS: u32 = 16;
/// Bytes of a line that was interrupted.
const MAX_TORN: usize = 64 << 10;

/// Turns lines into events.
#[derive(Debug)]
pub(crate) struct Converter {
    clock: Clock,
    threads: Threads,
    torn: Option<Torn>,
    /// Within the table that `-C` puts behind a log.
    in_table: bool,
    /// The log so far.
    pub tally: Tally,
    /// Bytes of the capture that nobody has taken yet.
    pub out: Vec<u8>,
}

/// A line that breaks off.
#[derive(Debug)]
struct Torn {
    text: Vec<u8>,
    line: u64,
    interruptions: u32,
}

/// A call in a line, or joined from two.
#[derive(Debug, Clone, Copy)]
struct Made<'a> {
    tid: i64,
    name: &'a [u8],
    arguments: &'a [u8],
    native_id: Option<u16>,
}

impl Converter {
    /// Begins a capture. `main`: the thread of lines that name none, if it is known.
    pub(crate) fn new(main: Option<i64>) -> Self {
        let mut out = Vec::new();
        write::section(&mut out);
        Self {
            clock: Clock::default(),
            threads: Threads::new(main),
            torn: None,
            in_table: false,
            tally: Tally::default(),
            out,
        }
    }

    /// Takes the next line, without its line feed.
    pub(crate) fn line(&mut self, text: &[u8]) {
        self.tally.lines += 1;
        match line::parse(text) {
            Parsed::Line(Line { what: What::Note(note), .. }) => self.note(note),
            Parsed::Line(Line { what: What::Torn, .. }) => self.tear(text),
            Parsed::Line(line) => {
                self.give_up_torn();
                self.in_table = false;
                self.understood(&line);
            }
            Parsed::Foreign if self.in_table => self.in_table = !table::is_sum(text),
            Parsed::Foreign if table::is_header(text) => {
                self.give_up_torn();
                self.in_table = true;
            }
            Parsed::Untimed | Parsed::Foreign => self.rest_of_torn(text),
        }
    }

    /// A line was too long to be held.
    pub(crate) fn overlong_line(&mut self) {
        self.tally.lines += 1;
        self.tally.damaged(self.tally.lines);
    }

    /// The log ends.
    pub(crate) fn end(&mut self) {
        self.give_up_torn();
    }

    fn note(&mut self, note: Note) {
        if let Note::Attached(tid) = note {
            self.threads.attached(tid);
        }
    }

    /// A call breaks off: strace itself or the program wrote something, and the rest is in a later line.
    fn tear(&mut self, text: &[u8]) {
        self.give_up_torn();
        let mut text = text;
        if let Some((at, note)) = line::note(text) {
            self.note(note);
            text = &text[..at];
        }
        if text.len() > MAX_TORN {
            self.tally.damaged(self.tally.lines);
        } else {
            self.torn = Some(Torn { text: text.to_vec(), line: self.tally.lines, interruptions: 0 });
        }
    }

    fn rest_of_torn(&mut self, text: &[u8]) {
        let Some(mut torn) = self.torn.take() else {
            // The program's own output has empty lines too.
            if !text.trim_ascii().is_empty() {
                self.tally.damaged(self.tally.lines);
            }
            return;
        };
        torn.text.extend(text);
        torn.interruptions += 1;
        match line::parse(&torn.text) {
            Parsed::Line(line) if line.what != What::Torn => self.understood(&line),
            _ if torn.interruptions < MAX_INTERRUPTIONS && torn.text.len() <= MAX_TORN => self.torn = Some(torn),
            _ => self.tally.damaged(torn.line),
        }
    }

    fn give_up_torn(&mut self) {
        if let Some(torn) = self.torn.take() {
            self.tally.damaged(torn.line);
        }
    }

    fn understood(&mut self, line: &Line<'_>) {
        let Some(time) = line.time else { return };
        let now = self.clock.read(time);
        (self.tally.dated, self.tally.relative) = (self.clock.dated(), self.clock.relative());
        let tid = self.threads.whose(line.tid);
        if let Some(appeared) = self.threads.appears(tid) {
            self.describe(&appeared);
        }
        let native_id = line.native_id;
        match line.what {
            What::Call(Call { name, arguments, outcome }) => {
                let made = Made { tid, name, arguments, native_id };
                let end = outcome.duration_ns.map(|duration| now.saturating_add(duration));
                if end.is_some() || outcome.result.is_none() {
                    self.enter(made, now);
                }
                self.exit(made, end.unwrap_or(now), outcome);
            }
            What::Unfinished { name, arguments } => {
                self.enter(Made { tid, name, arguments, native_id }, now);
                self.threads.enters(tid, name, arguments, now);
            }
            What::Resumed { name, text } => self.resume(tid, name, text, native_id, now),
            What::Signal { name, info } => self.signal(tid, now, name, info),
            What::Exited(status) => {
                self.end_of_thread(tid, now, [i64::from(status) << 8, status.into()], [0, 0]);
            }
            What::Killed { name, core_dumped } => {
                let signal = symbols::signal(name).unwrap_or(0);
                let core: u8 = core_dumped.into();
                self.end_of_thread(tid, now, [i64::from(signal | core << 7), 0], [signal, core]);
            }
            What::Superseded { by } => self.threads.supersede(by, tid),
            What::Torn | What::Note(_) => {}
        }
    }

    fn resume(&mut self, tid: i64, name: &[u8], text: &[u8], native_id: Option<u16>, now: u64) {
        let pending = self.threads.back(tid).filter(|pending| pending.name == name);
        let entered_ns = pending.as_ref().map(|pending| pending.entered_ns);
        let joined = pending.map(|pending| [&pending.arguments, text].concat()).unwrap_or_default();
        // What was kept of the arguments may break off in a string.
        let whole = text::arguments(&joined).map(|whole| (whole.inside, whole.behind));
        let rest = || text::arguments(text).map(|rest| (&b""[..], rest.behind));
        let read = |(arguments, behind)| Some((arguments, line::outcome(behind)?));
        match whole.and_then(read).or_else(|| rest().and_then(read)) {
            Some((arguments, outcome)) => {
                let made = Made { tid, name, arguments, native_id };
                let end =
                    entered_ns.zip(outcome.duration_ns).map(|(entered, duration)| entered.saturating_add(duration));
                self.exit(made, end.unwrap_or(now), outcome);
            }
            None => self.tally.damaged(self.tally.lines),
        }
    }

    fn enter(&mut self, made: Made<'_>, at: u64) {
        let arguments: Vec<&[u8]> = text::split(made.arguments).collect();
        match calls::kind(made.name) {
            Kind::Own(events) => {
                let params = Events::values(&events.enter_parameters, &arguments, None, |_| None);
                self.write(made.tid, at, events.enter, &params);
            }
            Kind::Generic(code) => {
                self.write(made.tid, at, GENERIC_ENTER, &generic(*code, made));
            }
        }
    }

    fn exit(&mut self, made: Made<'_>, at: u64, outcome: Outcome) {
        let Some(result) = outcome.result else { return };
        let arguments: Vec<&[u8]> = text::split(made.arguments).collect();
        if made.name == b"execve" && result == 0 {
            let filename = arguments.first().and_then(|path| calls::string(path)).unwrap_or_default();
            self.threads.became(made.tid, comm_of(&filename));
        }
        match calls::kind(made.name) {
            Kind::Own(events) => {
                let params = Events::values(&events.exit_parameters, &arguments, Some(result), |name| {
                    self.of_process(made, &arguments, name)
                });
                self.write(made.tid, at, events.exit, &params);
            }
            Kind::Generic(code) => {
                let mut params = generic(*code, made);
                params.push(result.to_le_bytes().to_vec());
                if made.name == b"clock_gettime" {
                    params.extend(arguments.first().and_then(|clock| cpu_clock(clock)));
                }
                self.write(made.tid, at, GENERIC_ENTER + 1, &params);
            }
        }
        if threads::makes_threads(made.name)
            && result > 0
            && let Some(appeared) = self.threads.born(made.tid, result, threads::is_thread(made.arguments))
        {
            self.describe(&appeared);
        }
    }

    /// The parameters of an execve or a clone that describe the process.
    fn of_process(&self, made: Made<'_>, arguments: &[&[u8]], name: &str) -> Option<Vec<u8>> {
        let is_clone = threads::makes_threads(made.name);
        if !is_clone && made.name != b"execve" {
            return None;
        }
        let thread = self.threads.get(made.tid)?;
        let id = |id: Option<i64>| id.map(|id| id.to_le_bytes().to_vec());
        match name {
            "tid" => id(Some(made.tid)),
            "pid" => id(thread.pid),
            "ptid" => id(thread.ppid),
            "comm" => Some(&thread.comm).filter(|comm| !comm.is_empty()).map(|comm| calls::c_string(comm)),
            "flags" if is_clone => {
                let at = text::find(made.arguments, b"flags=")? + "flags=".len();
                let flags = text::split(made.arguments.get(at..)?).next()?;
                let flags = &flags[..flags.iter().position(|byte| *byte == b'}').unwrap_or(flags.len())];
                Some(symbols::number(flags)?.to_le_bytes()[..4].to_vec())
            }
            "exe" if !is_clone => Some(calls::c_string(&words(arguments.get(1)?).next()?)),
            "args" if !is_clone => Some(calls::c_strings(words(arguments.get(1)?).skip(1))),
            _ => None,
        }
    }

    /// A thread whose process is not told by any event so far.
    fn describe(&mut self, appeared: &Appeared) {
        let Appeared { tid, pid, ppid, ref comm } = *appeared;
        let process = ProcessEntry { tid, pid, ppid: ppid.unwrap_or(0), comm, ..ProcessEntry::default() };
        if write::processes(&mut self.out, &[process]).is_err() {
            self.tally.damaged(self.tally.lines);
        }
    }

    fn signal(&mut self, tid: i64, now: u64, name: &[u8], info: &[u8]) {
        let Some(signal) = symbols::signal(name) else { return self.tally.damaged(self.tally.lines) };
        let number = |field: &str| text::field(info, field).and_then(text::number);
        let code = text::field(info, "si_code").and_then(signal_code);
        let sender = number("si_pid").filter(|_| signal_has_sender(info)).unwrap_or(0);
        let mut params = vec![sender.to_le_bytes().to_vec(), tid.to_le_bytes().to_vec(), vec![signal]];
        if let (Some(code), Some(address)) = (code, number("si_addr")) {
            params.extend([code.to_le_bytes().to_vec(), address.to_le_bytes().to_vec()]);
        }
        self.write(tid, now, SIGNALDELIVER, &params);
    }

    fn end_of_thread(&mut self, tid: i64, now: u64, [status, exit]: [i64; 2], [signal, core]: [u8; 2]) {
        let params = [status.to_le_bytes().to_vec(), exit.to_le_bytes().to_vec(), vec![signal], vec![core]];
        self.write(tid, now, PROCEXIT, &params);
        self.threads.ended(tid);
    }

    fn write(&mut self, tid: i64, timestamp_ns: u64, event_type: u16, params: &[Vec<u8>]) {
        // strace does not say on which processor.
        let event = Event { cpu: 0, timestamp_ns, tid, event_type, params };
        if write::event(&mut self.out, &event).is_err() {
            self.tally.damaged(self.tally.lines);
        }
    }
}

/// Code and, where the log has it, the kernel's number.
fn generic(code: u16, made: Made<'_>) -> Vec<Vec<u8>> {
    let numbered = || {
        let digits = made.name.strip_prefix(b"syscall_0x")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let native_id = made.native_id.or_else(numbered);
    vec![code.to_le_bytes().to_vec(), native_id.map(|id| id.to_le_bytes().to_vec()).unwrap_or_default()]
}

/// The number of a clock that counts what the processor spent (include/uapi/linux/time.h).
fn cpu_clock(name: &[u8]) -> Option<Vec<u8>> {
    let number: i64 = match name {
        b"CLOCK_PROCESS_CPUTIME_ID" => 2,
        b"CLOCK_THREAD_CPUTIME_ID" => 3,
        _ => return None,
    };
    Some(number.to_le_bytes().to_vec())
}

/// The strings of a list, `["ls", "/"]`; what strace left out shows as three points.
fn words(list: &[u8]) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let inside = list.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or_default();
    text::split(inside).map(|word| calls::string(word).map_or(Cow::Borrowed(word), Cow::Owned))
}

/// The name that the kernel gives a program: the last part of its path, at most 15 bytes (`TASK_COMM_LEN`).
fn comm_of(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    &name[..name.len().min(15)]
}

/// Numbers of the codes that come with an address (include/uapi/asm-generic/siginfo.h).
fn signal_code(name: &[u8]) -> Option<i64> {
    Some(match name {
        b"SEGV_MAPERR" | b"BUS_ADRALN" => 1,
        b"SEGV_ACCERR" | b"BUS_ADRERR" => 2,
        b"SEGV_BNDERR" | b"BUS_OBJERR" => 3,
        b"SEGV_PKUERR" => 4,
        b"SI_KERNEL" => 0x80,
        _ => return None,
    })
}

/// Whether a process sent the signal: other signals have a `si_pid` too, such as that of a child that ended.
fn signal_has_sender(info: &[u8]) -> bool {
    let code = text::field(info, "si_code").unwrap_or_default();
    matches!(code, b"SI_USER" | b"SI_TKILL" | b"SI_QUEUE") || code.starts_with(b"CLD_")
}
