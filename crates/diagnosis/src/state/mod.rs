//! Follows threads, processes and containers through a capture, and says what happens to them.

mod containers;
mod kills;
mod mappings;
mod processes;
mod roles;
mod threads;

use std::mem;

use scapfile::{Event, Params, ProcessEntry, schema};

pub use containers::{ContainerId, Containers};
pub use processes::{MAX_PROCESSES, Process, ProcessKey, ProgramKey};
pub use roles::Role;
pub use threads::{MAX_THREADS, RecentCall, Threads, Touched};

use crate::activity::{Account, Activity, EmptyEntry, Kind, Kinds, Rooms, Startup};
use crate::calls::{CompletedCall, OpenCall};
use crate::episodes::{Death, Delivery, MappingCheck, Outcome, PageUse, Told};
use crate::fault::Fault;
use crate::finding::{Evidence, Moment, ProcessRef, Relative};
use crate::mode::ModeEvidence;
use crate::signal::{self, SIGABRT, SIGBUS, SIGKILL, SIGSEGV, WaitStatus};
use kills::{Kill, Kills, Victim};
use mappings::Mappings;
use processes::{Named, Processes};
use roles::Roles;
use threads::Pending;

/// `CLONE_THREAD` among the flags of a clone event (`PPM_CL_CLONE_THREAD`).
const CLONE_THREAD: u64 = 1 << 13;
/// `PR_SET_NAME` (prctl(2)).
const PR_SET_NAME: u64 = 15;
/// A death by a signal the process sent itself counts as caused by a fault whose signal it caught
/// this shortly before: handlers that print a backtrace and raise the signal again need no longer.
const HANDLER_NS: u64 = 1_000_000_000;

/// Bytes from a capture as text; what is not UTF-8 is replaced.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Something to be told about a process.
#[derive(Debug)]
pub enum Happening {
    /// It was ended by a signal.
    Death(Box<Death>),
    /// It is gone, or has become another program, after it used the vsyscall page and lived.
    PageUse(Box<PageUse>, Box<ProcessRef>, Option<ContainerId>),
    /// The same, after its system calls amounted to something.
    Activity(Box<Account>, Box<ProcessRef>, Option<ContainerId>),
}

/// Everything alive, at the present event.
#[derive(Debug, Default)]
pub struct State {
    roles: Roles,
    threads: Threads,
    processes: Processes,
    containers: Containers,
    kills: Kills,
    modes: ModeEvidence,
    happenings: Vec<Happening>,
    kinds: Kinds,
    rooms: Rooms,
    /// Number of the last event that says that events were lost.
    drop: u64,
}

impl State {
    /// The command name of thread `tid`, as far as it is known now.
    #[must_use]
    pub fn comm(&self, tid: i64) -> Option<String> {
        self.processes.of(&self.threads, tid)?.comm()
    }

    /// The container of thread `tid`, as far as it is known now.
    #[must_use]
    pub fn container(&self, tid: i64) -> Option<ContainerId> {
        self.processes.of(&self.threads, tid)?.container
    }

    /// What the process `key` runs now: a name for it that an execve changes. `None`: it is gone.
    #[inline]
    #[must_use]
    pub fn program(&self, key: ProcessKey) -> Option<ProgramKey> {
        self.processes.program(key)
    }

    /// The process of thread `tid`, as far as it is known now.
    #[must_use]
    pub fn process_of(&self, tid: i64) -> Option<(ProcessKey, &Process)> {
        let key = self.threads.get(tid)?.process?;
        Some((key, self.processes.peek(key)?))
    }

    /// The containers seen so far.
    #[must_use]
    pub fn containers(&self) -> &Containers {
        &self.containers
    }

    /// What is known of how the kernel treats the vsyscall page.
    #[must_use]
    pub fn modes(&self) -> &ModeEvidence {
        &self.modes
    }

    /// Threads that were forgotten because too many were alive.
    #[must_use]
    pub fn threads_forgotten(&self) -> u64 {
        self.threads.forgotten()
    }

    /// Processes of which something was not followed, for lack of room.
    #[must_use]
    pub fn unwatched(&self) -> u64 {
        self.rooms.missed
    }

    /// What has happened since this was last asked.
    pub fn happenings(&mut self) -> Vec<Happening> {
        mem::take(&mut self.happenings)
    }

    /// Whether [`State::happenings`] has something to tell.
    #[inline]
    #[must_use]
    pub fn has_happenings(&self) -> bool {
        !self.happenings.is_empty()
    }

    /// Takes over a thread that was alive when the capture began.
    pub fn process(&mut self, entry: &ProcessEntry<'_>) {
        let key = self.processes.bind(&mut self.threads, entry.tid, entry.pid);
        if entry.tid != entry.pid {
            return;
        }
        let container = ContainerId::from_cgroups(entry.cgroups);
        if let Some(process) = self.processes.at(key) {
            process.ppid = entry.ppid;
            process.vpid = entry.vpid;
            process.container = container;
            let exepath = entry.exepath;
            process.names.update(Named {
                comm: Some(entry.comm),
                exe: Some(entry.exe),
                exepath,
                filename: None,
                args: Some(entry.args),
            });
        }
        self.note_container(key);
    }

    /// The system calls that threads are in, in the order in which they entered them.
    #[must_use]
    pub fn open_calls(&self) -> Vec<OpenCall> {
        let mut open: Vec<OpenCall> = self.threads.iter().filter_map(threads::Thread::open_call).collect();
        open.retain(|call| call.entered.event > self.drop);
        open.sort_unstable_by_key(|call| call.entered.event);
        open
    }

    /// Moves on to `event`. Gives the system call that ends with it, if one does.
    #[inline]
    pub fn event<'a>(&mut self, event: &'a Event<'a>) -> Option<CompletedCall<'a>> {
        let duty = self.roles.duty(event.event_type);
        let call = if duty.is_call() { self.call(event, duty.keeps_given()) } else { None };
        if duty.is_fault() {
            self.page_fault(event);
        }
        if duty.is_more() {
            self.more(event);
            return call.filter(|call| !self.is_childs_side(call)).map(|call| self.settled(call));
        }
        call
    }

    #[inline]
    fn call<'a>(&mut self, event: &'a Event<'a>, keeps_given: bool) -> Option<CompletedCall<'a>> {
        let drop = self.drop;
        let thread = self.threads.on_cpu(event.tid, event.cpu);
        let mut call = thread.note_call(event, keeps_given);
        let mut of_nobody = None;
        if let Some(call) = &mut call {
            // Behind lost events, this may be the end of a later call of the same kind.
            if call.entered.is_some_and(|entered| entered.event <= drop) {
                call.entered = None;
            }
            let kind = self.kinds.of(call);
            let before_ns = match kind {
                Kind::Time(_) => thread.note_time_call(event.timestamp_ns),
                _ => None,
            };
            match thread.process.and_then(|key| self.processes.activity(key)) {
                Some(activity) => activity.note(kind, call, before_ns, &mut self.rooms),
                None => of_nobody = Some(kind).filter(|kind| *kind != Kind::Other),
            }
        }
        // Most faults are of memory used for the first time, and nothing has to be made of them.
        if thread.dying || thread.fault.is_some_and(|fault| fault.in_vsyscall_page()) {
            self.went_on(event.tid);
        } else {
            thread.fault_was_resolved();
        }
        if let Some((kind, call)) = of_nobody.zip(call.as_mut()) {
            call.process = Some(self.call_of_nobody(kind, call));
        }
        call
    }

    /// A call of a thread whose process is not known: it gets one of its own if the call tells something.
    #[cold]
    fn call_of_nobody(&mut self, kind: Kind, call: &CompletedCall<'_>) -> ProcessKey {
        let key = self.known_process(call.tid());
        if let Some(activity) = self.processes.activity(key) {
            activity.note(kind, call, None, &mut self.rooms);
        }
        key
    }

    /// With the process that the thread is of after this call, which may be what bound it to that.
    fn settled<'a>(&self, call: CompletedCall<'a>) -> CompletedCall<'a> {
        CompletedCall { process: self.threads.get(call.tid()).and_then(|thread| thread.process), ..call }
    }

    /// A new thread begins with the exit of the call that its parent makes.
    fn is_childs_side(&self, call: &CompletedCall<'_>) -> bool {
        self.roles.of(call.exit.event_type) == Role::Clone && call.result() == Some(0)
    }

    #[inline]
    fn page_fault(&mut self, event: &Event<'_>) {
        let Some(fault) = Fault::read(event) else { return };
        let thread = self.threads.on_cpu(event.tid, event.cpu);
        if thread.dying || thread.fault.is_some_and(|before| before.in_vsyscall_page()) {
            let before = thread.fault.replace(fault);
            let (dying, process) = (mem::take(&mut thread.dying), thread.process);
            self.lived(event.tid, process, before, dying);
        } else {
            thread.fault_was_resolved();
            thread.fault = Some(fault);
        }
    }

    /// The thread did something after its last fault, and after a signal that might have ended it.
    fn went_on(&mut self, tid: i64) {
        let Some(thread) = self.threads.get_mut(tid) else { return };
        let fault = thread.fault.take();
        let (dying, process) = (mem::take(&mut thread.dying), thread.process);
        if dying || fault.is_some_and(|fault| fault.in_vsyscall_page()) {
            self.lived(tid, process, fault, dying);
        }
    }

    /// The thread `tid` of the process `key` lived on after a fault, and after a signal if it was `dying`.
    fn lived(&mut self, tid: i64, key: Option<ProcessKey>, fault: Option<Fault>, dying: bool) {
        if let Some(fault) = fault.filter(Fault::in_vsyscall_page) {
            self.modes.note(&fault, None);
            let known = key.filter(|key| self.processes.peek(*key).is_some());
            let key = known.unwrap_or_else(|| self.known_process(tid));
            if let Some(process) = self.processes.at(key) {
                process.page_use.get_or_insert_default().note(fault, None, &self.rooms.emulated);
            }
        }
        if !dying {
            return;
        }
        let Some(process) = self.processes.of_mut(&self.threads, tid) else { return };
        let Some(caught) = process.dying.take_if(|dying| dying.at.tid == tid) else { return };
        if let Some(fault) = caught.fault {
            process.caught = Some(caught);
            if fault.in_vsyscall_page() {
                process.page_use.get_or_insert_default().note(fault, Some(caught), &self.rooms.emulated);
            }
        }
    }

    /// The process of `tid`; one of its own if the capture has not said which.
    fn known_process(&mut self, tid: i64) -> ProcessKey {
        match self.threads.get(tid).and_then(|thread| thread.process).filter(|key| self.processes.peek(*key).is_some())
        {
            Some(key) => key,
            None => {
                let key = self.processes.bind(&mut self.threads, tid, tid);
                self.tell_evicted();
                key
            }
        }
    }

    #[inline(never)]
    fn more(&mut self, event: &Event<'_>) {
        let role = self.roles.of(event.event_type);
        match role {
            Role::Signal => return self.signal(event),
            Role::ThreadExit => return self.thread_exit(event),
            Role::ContainerJson => return self.container_json(event.param(0)),
            Role::ContainerPlain => return self.container_plain(event),
            Role::Async => return self.async_event(event),
            Role::Drop => {
                self.drop = event.number;
                return;
            }
            _ => {}
        }
        let Ok(params) = event.params() else { return };
        match role {
            Role::Mmap | Role::Munmap => self.mapping(role, event, params),
            Role::Brk if event.is_exit() => {
                let end = params.unsigned(0);
                self.change_mappings(event.tid, |mappings| mappings.set_heap_end(end.unwrap_or(0)));
            }
            Role::Exec => self.exec(event, params),
            Role::Clone => self.clone(event, params),
            Role::Open(path) => self.open(event, params, path.into()),
            Role::Kill(target, signal) => self.kill(event, params, target.into(), signal.into()),
            Role::Prctl => self.prctl(event, params),
            _ => {}
        }
    }

    /// Address and length stand in the enter event, or behind the result in newer exit events.
    fn mapping(&mut self, role: Role, event: &Event<'_>, params: Params<'_>) {
        let given = |at: usize| Some((params.unsigned(at)?, params.unsigned(at + 1)?));
        if !event.is_exit() {
            let mapping = given(0).map(|(address, length)| Pending::Mapping(address, length));
            self.threads.get_or_new(event.tid).pending = mapping.unwrap_or_default();
            return;
        }
        let entered = match mem::take(&mut self.threads.get_or_new(event.tid).pending) {
            Pending::Mapping(address, length) => Some((address, length)),
            _ => None,
        };
        let (Some(result), Some((address, length))) = (params.signed(0), given(4).or(entered)) else { return };
        // An errno is between -4095 and -1.
        if (-4095..0).contains(&result) {
            return;
        }
        self.change_mappings(event.tid, |mappings| match role {
            Role::Munmap => mappings.unmap(address, length),
            _ => mappings.map(result.cast_unsigned(), length),
        });
    }

    fn change_mappings(&mut self, tid: i64, change: impl FnOnce(&mut Mappings)) {
        if let Some(process) = self.processes.of_mut(&self.threads, tid) {
            change(&mut process.mappings);
        }
    }

    fn open(&mut self, event: &Event<'_>, params: Params<'_>, path: usize) {
        if params.signed(0).is_some_and(|fd| fd >= 0)
            && let Some(path) = params.string(path)
            && let Some(process) = self.processes.of_mut(&self.threads, event.tid)
        {
            process.note_open(path);
        }
    }

    fn exec(&mut self, event: &Event<'_>, params: Params<'_>) {
        let field = |name| schema::param_index(event.event_type, name);
        let string = |name| params.string(field(name)?).filter(|value| !value.is_empty());
        if !event.is_exit() {
            let filename = string("filename").or(string("pathname")).map(|path| Pending::Exec(path.into()));
            self.threads.get_or_new(event.tid).pending = filename.unwrap_or_default();
            return;
        }
        let filename = match mem::take(&mut self.threads.get_or_new(event.tid).pending) {
            Pending::Exec(filename) => Some(filename),
            _ => None,
        };
        if params.signed(0) != Some(0) {
            return;
        }
        let number = |name| params.signed(field(name)?);
        let pid = number("pid").unwrap_or(event.tid);
        self.tell_uses(event.tid, Outcome::Gone);
        self.threads.get_or_new(event.tid).touched = Touched::default();
        let key = self.processes.bind(&mut self.threads, event.tid, pid);
        if let Some(process) = self.processes.at(key) {
            let bytes = |name| string(name).unwrap_or_default();
            let empty_entry = EmptyEntry::find(bytes("args"), bytes("env"));
            let startup = Startup::begin(Moment::of(event), string("cwd"), empty_entry);
            process.exec(Moment::of(event));
            process.activity = Activity::exec(&mut self.rooms, startup);
            process.ppid = number("ptid").unwrap_or(process.ppid);
            let exe = string("exe");
            let filename = string("filename").or(filename.as_deref());
            let comm = string("comm").or_else(|| filename.map(base_name)).or_else(|| exe.map(base_name));
            let args = Some(string("args").unwrap_or_default());
            let exepath = Some(string("trusted_exepath").unwrap_or_default());
            process.names.update(Named { comm, exe, exepath, filename: Some(filename.unwrap_or_default()), args });
            if let Some(cgroups) = string("cgroups") {
                process.container = ContainerId::from_cgroups(cgroups);
            }
        }
        self.note_container(key);
        self.tell_evicted();
    }

    fn clone(&mut self, event: &Event<'_>, params: Params<'_>) {
        let field = |name| schema::param_index(event.event_type, name);
        let number = |name| params.signed(field(name)?);
        let is_thread =
            field("flags").and_then(|at| params.unsigned(at)).is_some_and(|flags| flags & CLONE_THREAD != 0);
        match params.signed(0) {
            Some(child) if child > 0 => {
                // The parent's side. It tells of the child only where the child has not done so.
                let namespaced = number("vpid").zip(number("pid")).is_some_and(|(vpid, pid)| vpid != pid);
                if namespaced || self.threads.get(child).is_some() {
                    return;
                }
                let parent = self.known_process(event.tid);
                self.begin(event, child, is_thread, parent, None);
            }
            Some(0) => {
                // The child's own side, which knows its ids in the host's namespace.
                let pid = number("pid").unwrap_or(event.tid);
                let parent = number("ptid").and_then(|ppid| self.threads.get(ppid)?.process);
                let is_thread = is_thread || pid != event.tid;
                if is_thread {
                    self.processes.bind(&mut self.threads, event.tid, pid);
                } else if let Some(parent) = parent {
                    self.begin(event, event.tid, false, parent, number("ptid"));
                } else {
                    self.processes.bind(&mut self.threads, event.tid, pid);
                }
                self.describe_child(event, params);
            }
            _ => {}
        }
        self.tell_evicted();
    }

    /// A thread begins: of its parent's process, or as a new one.
    fn begin(&mut self, event: &Event<'_>, child: i64, is_thread: bool, parent: ProcessKey, ppid: Option<i64>) {
        let Some(parent) = self.processes.peek(parent) else { return };
        if is_thread {
            let pid = parent.pid;
            self.processes.bind(&mut self.threads, child, pid);
            return;
        }
        let inherited = parent.child();
        let known = self.threads.get(child).and_then(|thread| thread.process).is_some();
        let key = self.processes.bind(&mut self.threads, child, child);
        if let Some(process) = self.processes.at(key) {
            // What the parent's side told is as good; what an earlier process of that id left is not.
            if !(known && process.exec.is_none() && process.born.is_some()) {
                process.begin(Moment::of(event), inherited);
            }
            process.ppid = ppid.unwrap_or(process.ppid);
        }
    }

    fn describe_child(&mut self, event: &Event<'_>, params: Params<'_>) {
        let field = |name| schema::param_index(event.event_type, name);
        let string = |name| params.string(field(name)?).filter(|value| !value.is_empty());
        let number = |name| params.signed(field(name)?);
        let Some(key) = self.threads.get(event.tid).and_then(|thread| thread.process) else { return };
        if let Some(process) = self.processes.at(key)
            && process.pid == event.tid
        {
            process.names.update(Named {
                comm: string("comm"),
                exe: string("exe"),
                args: string("args"),
                ..Named::default()
            });
            process.ppid = number("ptid").unwrap_or(process.ppid);
            process.vpid = number("vpid").or(process.vpid);
            if let Some(cgroups) = string("cgroups") {
                process.container = ContainerId::from_cgroups(cgroups);
            }
        }
        self.note_container(key);
    }

    fn note_container(&mut self, key: ProcessKey) {
        let Some(process) = self.processes.peek(key) else { return };
        let Some(container) = process.container else { return };
        self.containers.note(container);
        if process.vpid == Some(1) {
            self.containers.set_entry_point(container, process.relative());
        }
    }

    fn prctl(&mut self, event: &Event<'_>, params: Params<'_>) {
        if params.signed(0) == Some(0)
            && params.unsigned(1) == Some(PR_SET_NAME)
            && let Some(name) = params.string(2).filter(|name| !name.is_empty())
            && let Some(process) = self.processes.of_mut(&self.threads, event.tid)
            && process.pid == event.tid
        {
            process.names.update(Named { comm: Some(name), ..Named::default() });
        }
    }

    fn kill(&mut self, event: &Event<'_>, params: Params<'_>, target: usize, signal: usize) {
        // In exit events the result stands in front of the parameters, where they are there at all.
        let shift = usize::from(event.is_exit());
        if event.is_exit() && params.signed(0).is_some_and(|result| result < 0) {
            self.kills.failed(event.tid);
        } else if let (Some(target), Some(signal)) = (params.signed(target + shift), params.unsigned(signal + shift))
            && let Ok(signal) = u8::try_from(signal)
            && signal::crash_name(signal).is_some()
        {
            let container = self.container(event.tid);
            let timestamp_ns = event.timestamp_ns;
            self.kills.note(Kill { target, signal, sender: event.tid, container, timestamp_ns });
        }
    }

    fn container_json(&mut self, json: Option<&[u8]>) {
        if let Some(json) = json {
            self.containers.describe_json(json);
        }
    }

    fn container_plain(&mut self, event: &Event<'_>) {
        let Ok(params) = event.params() else { return };
        let string = |index| params.string(index).map(text);
        if let Some(id) = params.string(0) {
            let runtime = params.unsigned(1).and_then(|number| u32::try_from(number).ok());
            self.containers.describe(id, string(2), string(3), runtime);
        }
    }

    /// Current Falco's container plugin announces containers in async events of that name.
    fn async_event(&mut self, event: &Event<'_>) {
        let Ok(params) = event.params() else { return };
        if params.string(1) == Some(b"container") {
            self.container_json(params.get(2));
        }
    }

    fn signal(&mut self, event: &Event<'_>) {
        let Ok(params) = event.params() else { return };
        let Some(signal) = params.unsigned(2).and_then(|signal| u8::try_from(signal).ok()) else { return };
        if signal::crash_name(signal).is_none() {
            return;
        }
        let key = self.known_process(event.tid);
        // A sender in another pid namespace shows as 0, as the kernel does: its call may be on record.
        let sender = params.signed(0).filter(|sender| *sender > 0).or_else(|| {
            let process = self.processes.peek(key)?;
            self.kills.sender_of(victim(process, event.tid), signal, event.timestamp_ns)
        });
        let thread = self.threads.on_cpu(event.tid, event.cpu);
        let from_fault = sender.is_none() && matches!(signal, SIGSEGV | SIGBUS);
        let fault = if from_fault { thread.fault.take() } else { None };
        thread.dying = true;
        if let Some(fault) = fault.as_ref().filter(|_| signal == SIGSEGV) {
            self.modes
                .note(fault, Some(Evidence::new(Moment::of(event), "signaldeliver", "sig=SIGSEGV from=the kernel")));
        }
        let Some(process) = self.processes.at(key) else { return };
        // When a process ends, the kernel sends SIGKILL to its other threads: that is not the cause.
        let is_aftermath = signal == SIGKILL && process.dying.is_some_and(|dying| dying.at.tid != event.tid);
        if !is_aftermath {
            let told = Told::read(&params).filter(|_| signal == SIGSEGV && sender.is_none());
            process.dying = Some(Delivery { at: Moment::of(event), signal, sender, fault, told });
        }
    }

    fn thread_exit(&mut self, event: &Event<'_>) {
        let tid = event.tid;
        let status = event.params().ok().and_then(exit_status);
        let signal = status.map_or_else(|| self.open_signal(tid), |status| Some(status.signal()));
        if let Some(signal) = signal.filter(|signal| signal::crash_name(*signal).is_some()) {
            let key = self.known_process(tid);
            self.die(key, tid, signal, status, Some(Moment::of(event)));
        } else {
            self.went_on(tid);
        }
        let is_leader = self.processes.of(&self.threads, tid).is_some_and(|process| process.pid == tid);
        if is_leader {
            let exited = status.filter(|status| status.signal() == 0).map(WaitStatus::shown);
            self.tell_uses(tid, exited.map_or(Outcome::Gone, Outcome::Exited));
        }
        if let Some(key) = self.threads.remove(tid) {
            self.processes.left(key);
        }
        self.tell_evicted();
    }

    /// The signal that may have ended the thread `tid`, where no status tells: what it was last seen in. SIGKILL
    /// tells only with its sender, since the kernel delivers it to the other threads of every process that exits.
    fn open_signal(&self, tid: i64) -> Option<u8> {
        let thread = self.threads.get(tid)?;
        let process = thread.process.and_then(|key| self.processes.peek(key));
        if thread.dying {
            let delivery = process?.dying.filter(|dying| dying.at.tid == tid)?;
            return (delivery.signal != SIGKILL || delivery.sender.is_some()).then_some(delivery.signal);
        }
        let has_lived = process.is_some_and(|process| process.page_use.is_some());
        (!has_lived && thread.fault.as_ref().is_some_and(is_open_call)).then_some(SIGSEGV)
    }

    /// The process `key` dies of `signal`; `tid` is the thread in which that shows first.
    fn die(&mut self, key: ProcessKey, tid: i64, signal: u8, status: Option<WaitStatus>, exit: Option<Moment>) {
        let Some(process) = self.processes.at(key).filter(|process| !process.dead) else { return };
        process.dead = true;
        let delivery = process.dying.take().filter(|dying| dying.signal == signal);
        let caught = process.caught;
        let tid = delivery.map_or(tid, |delivery| delivery.at.tid);
        let thread = self.threads.get_mut(tid);
        let touched = thread.as_ref().map(|thread| thread.touched).unwrap_or_default();
        let left_over = thread.and_then(|thread| thread.fault.take()).filter(|_| matches!(signal, SIGSEGV | SIGBUS));
        let own_fault = match delivery {
            Some(delivery) => delivery.fault,
            // The delivery was not recorded: the fault still may have been.
            None => left_over,
        };
        let ended = exit.or(delivery.map(|delivery| delivery.at));
        let Some(process) = self.processes.peek(key) else { return };
        let by_itself = delivery.is_none_or(|delivery| delivery.sender.is_none_or(|sender| sender == process.pid));
        let from_handler = caught.filter(|caught| {
            let recent = ended.is_some_and(|ended| ended.since(&caught.at) <= HANDLER_NS);
            let of_page = caught.fault.is_some_and(|fault| fault.in_vsyscall_page());
            own_fault.is_none() && by_itself && recent && (signal == caught.signal || (signal == SIGABRT && of_page))
        });
        let fault = own_fault.or(from_handler.and_then(|caught| caught.fault));
        let sender = delivery.and_then(|delivery| delivery.sender).or_else(|| {
            let unseen = delivery.is_none() && signal == SIGKILL;
            ended.filter(|_| unseen).and_then(|at| self.kills.sender_of(victim(process, tid), signal, at.timestamp_ns))
        });
        let sender = sender.map(|pid| self.relative(pid));
        // Without the signal's own event, fault and death on the same thread show the mode.
        if delivery.is_none()
            && signal == SIGSEGV
            && let (Some(fault), Some(exit), Some(status)) = (&own_fault, exit, status)
        {
            self.modes.note(fault, Some(Evidence::new(exit, "procexit", format!("status={}", status.0))));
        }
        let told = delivery.and_then(|delivery| delivery.told).map(|told| told.address);
        let mapping = fault.map(|fault| fault.address).or(told).map(|address| MappingCheck {
            seen: process.mappings.count(),
            holds: process.mappings.holds(address),
            near_used: touched.is_near(address),
            nearest: process.mappings.nearest(address),
        });
        let death = Death {
            process: self.show(process, tid),
            container: process.container,
            signal,
            status,
            exit,
            delivery: delivery.or(from_handler.filter(|caught| caught.signal == signal)),
            fault,
            handler_ran: from_handler.is_some(),
            sender,
            exec: process.exec,
            born: process.born,
            last_calls: self.threads.get(tid).map(threads::Thread::last_calls).unwrap_or_default(),
            libraries: process.libraries(),
            mapping,
        };
        self.happenings.push(Happening::Death(Box::new(death)));
    }

    fn show(&self, process: &Process, tid: i64) -> ProcessRef {
        let mut shown = process.show(tid);
        shown.parent = Some(process.ppid).filter(|ppid| *ppid > 0).map(|ppid| self.relative(ppid));
        shown.entry_point = process.container.and_then(|container| self.containers.entry_point(container));
        shown
    }

    /// The process of thread `tid` as a relative; all that is known may be its id.
    fn relative(&self, tid: i64) -> Relative {
        self.processes
            .of(&self.threads, tid)
            .map_or(Relative { comm: None, pid: tid, args: Vec::new() }, Process::relative)
    }

    /// Tells what the process of `tid` did in the vsyscall page, and what its system calls amount to, since it
    /// ends being what it is.
    fn tell_uses(&mut self, tid: i64, outcome: Outcome) {
        let Some(process) = self.processes.of_mut(&self.threads, tid) else { return };
        let (page_use, activity) = (process.page_use.take(), process.activity.tell());
        if let Some(process) = self.processes.of(&self.threads, tid) {
            let page_use = page_use.map(|page_use| Box::new(PageUse { outcome, ..*page_use }));
            let told = self.told(process, tid, page_use, activity);
            self.happenings.extend(told);
        }
    }

    fn told(
        &self,
        process: &Process,
        tid: i64,
        page_use: Option<Box<PageUse>>,
        activity: Option<Box<Account>>,
    ) -> Vec<Happening> {
        let shown = || Box::new(self.show(process, tid));
        let page_use = page_use.map(|page_use| Happening::PageUse(page_use, shown(), process.container));
        let activity = activity.map(|activity| Happening::Activity(activity, shown(), process.container));
        page_use.into_iter().chain(activity).collect()
    }

    fn tell_evicted(&mut self) {
        while let Some(mut process) = self.processes.evicted.pop() {
            let (page_use, activity) = (process.page_use.take(), process.activity.tell());
            let told = self.told(&process, process.pid, page_use, activity);
            self.happenings.extend(told);
        }
    }

    /// The capture ends: what is still open is told as it stands.
    pub fn end(&mut self) {
        let mut open: Vec<(i64, ProcessKey)> =
            self.threads.iter().filter_map(|thread| Some((thread.tid, thread.process?))).collect();
        open.sort_unstable_by_key(|(tid, _)| *tid);
        for (tid, key) in &open {
            let Some(process) = self.processes.peek(*key) else { continue };
            if let Some(dying) = process.dying.filter(|dying| dying.at.tid == *tid && !process.dead) {
                self.die(*key, *tid, dying.signal, None, None);
            }
        }
        self.end_within_calls();
        for (tid, _) in open {
            self.tell_uses(tid, Outcome::Alive);
        }
    }

    /// In a capture that ends right behind a fetch in the vsyscall page, the signal that may have
    /// followed is missing.
    fn end_within_calls(&mut self) {
        let mut last: Vec<i64> =
            self.threads.iter().filter(|t| t.fault.as_ref().is_some_and(is_open_call)).map(|t| t.tid).collect();
        last.sort_unstable();
        for tid in last {
            let key = self.known_process(tid);
            let has_lived = self.processes.peek(key).is_some_and(|process| process.page_use.is_some());
            if !has_lived {
                self.die(key, tid, SIGSEGV, None, None);
            }
        }
    }
}

/// Whether `fault` is a call into the vsyscall page that ends in SIGSEGV if the kernel does not have the page.
fn is_open_call(fault: &Fault) -> bool {
    fault.vsyscall().is_some() && !fault.is_protection_violation()
}

/// The wait status of a `procexit` event. The oldest have no parameters, and -1 stands for a status that was
/// not known; newer ones give the signal by itself too, behind the status and the exit code.
fn exit_status(params: Params<'_>) -> Option<WaitStatus> {
    let [signal, core] = [2, 3].map(|at| params.unsigned(at).unwrap_or(0));
    let by_signal = (1..0x7f).contains(&signal).then(|| signal.cast_signed() | i64::from(core > 0) << 7);
    params.signed(0).filter(|status| *status >= 0).or(by_signal).map(WaitStatus)
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn victim(process: &Process, tid: i64) -> Victim {
    Victim { pid: process.pid, vpid: process.vpid, tid, container: process.container }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the 64 MB that a whole run may take, Python and the reader have 18.
    const MOST_BYTES: usize = 46 << 20;
    /// What a process keeps beside itself: names, library paths, address ranges.
    const PROCESS_DETAILS: usize = 64 + 3 * 160 + 256 + 1024 + 40 * 16;

    #[test]
    fn full_tables_stay_within_the_memory_they_may_take() {
        let threads = MAX_THREADS * (size_of::<threads::Thread>() + 2 * size_of::<(i64, u32)>());
        let processes = MAX_PROCESSES * (size_of::<Process>() + PROCESS_DETAILS);
        let records = Rooms::most_bytes();
        assert!(threads + processes + records <= MOST_BYTES, "{threads} + {processes} + {records} bytes");
    }
}
