//! Says, for every system call, which events stand for it and where its arguments go in them.
//!
//! Events get the parameters that strace shows; what it does not show (inodes, devices) stays empty.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use scapfile::{schema, syscalls};

use crate::symbols;
use crate::text;

/// The longest parameter an event can have.
const MOST_BYTES: usize = u16::MAX as usize;

/// Calls with parameters: strace's name, the event's where it is another one, and the parameter that each
/// argument goes to, `_` for none.
#[rustfmt::skip]
const CALLS: &[(&str, &str, &str)] = &[
    ("open", "", "name flags mode"), ("openat", "", "dirfd name flags mode"), ("openat2", "", "dirfd name"),
    ("creat", "", "name mode"), ("close", "", "fd"),
    ("read", "", "fd data size"), ("write", "", "fd data size"),
    ("pread64", "pread", "fd data size pos"), ("pwrite64", "pwrite", "fd data size pos"),
    ("readv", "", "fd"), ("writev", "", "fd"), ("preadv", "", "fd _ _ pos"), ("pwritev", "", "fd _ _ pos"),
    ("lseek", "", "fd offset whence"), ("_llseek", "llseek", "fd offset _ whence"),
    ("stat", "", "path"), ("lstat", "", "path"), ("stat64", "", "path"), ("lstat64", "", "path"),
    ("fstat", "", "fd"), ("fstat64", "", "fd"), ("newfstatat", "", "dirfd path _ flags"),
    ("access", "", "name mode"), ("chdir", "", "path"), ("fchdir", "", "fd"), ("chroot", "", "path"),
    ("getcwd", "", "path"), ("getdents", "", "fd"), ("getdents64", "", "fd"),
    ("mkdir", "", "path mode"), ("mkdirat", "", "dirfd path mode"), ("rmdir", "", "path"),
    ("unlink", "", "path"), ("unlinkat", "", "dirfd name flags"),
    ("rename", "", "oldpath newpath"), ("renameat", "", "olddirfd oldpath newdirfd newpath"),
    ("renameat2", "", "olddirfd oldpath newdirfd newpath"),
    ("link", "", "oldpath newpath"), ("linkat", "", "olddir oldpath newdir newpath flags"),
    ("symlink", "", "target linkpath"), ("symlinkat", "", "target linkdirfd linkpath"),
    ("chmod", "", "filename mode"), ("fchmod", "", "fd mode"), ("fchmodat", "", "dirfd filename mode"),
    ("chown", "", "path uid gid"), ("lchown", "", "path uid gid"), ("fchown", "", "fd uid gid"),
    ("fchownat", "", "dirfd pathname uid gid flags"),
    ("mount", "", "dev dir type"), ("umount", "", "name"), ("umount2", "", "name"),
    ("mmap", "", "addr length prot flags fd offset"), ("mmap2", "", "addr length prot flags fd pgoffset"),
    ("munmap", "", "addr length"), ("mprotect", "", "addr length prot"), ("brk", "", "addr"),
    ("futex", "", "addr op val"), ("ioctl", "", "fd"), ("fcntl", "", "fd"), ("flock", "", "fd"),
    ("dup", "", "oldfd"), ("dup2", "", "oldfd newfd"), ("dup3", "", "oldfd newfd flags"),
    ("memfd_create", "", "name"), ("prctl", "", "option arg2_str"), ("prlimit64", "prlimit", "pid"),
    ("kill", "", "pid sig"), ("tkill", "", "tid sig"), ("tgkill", "", "pid tid sig"),
    ("bind", "", "fd"), ("connect", "", "fd"), ("listen", "", "fd backlog"),
    ("sendto", "", "fd data size"), ("recvfrom", "", "fd data size"), ("sendmsg", "", "fd"), ("recvmsg", "", "fd"),
    ("sendmmsg", "", "fd"), ("recvmmsg", "", "fd"), ("shutdown", "", "fd"),
    ("setsockopt", "", "fd"), ("getsockopt", "", "fd"), ("setns", "", "fd"),
    ("sendfile", "", "out_fd in_fd _ size"), ("splice", "", "fd_in _ fd_out _ size"),
    ("copy_file_range", "", "fdin _ fdout _ len"),
    ("execve", "", "filename"), ("execveat", "", "dirfd pathname"),
];

/// Where a parameter's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// What the call returned.
    Result,
    /// The argument at this place.
    Argument(usize),
    /// strace does not show it, or it belongs to the process: see [`Events::parameters`].
    Elsewhere,
}

/// A parameter of an event.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub name: &'static str,
    source: Source,
    /// Bytes, if it is a number.
    width: Option<usize>,
}

/// The events of a call.
#[derive(Debug)]
pub(crate) struct Events {
    pub enter: u16,
    pub exit: u16,
    pub enter_parameters: Vec<Parameter>,
    pub exit_parameters: Vec<Parameter>,
}

/// A call, as events have it.
#[derive(Debug)]
pub(crate) enum Kind {
    /// It has event types of its own.
    Own(Events),
    /// The generic event, with libscap's code; 0 for a call that libscap does not know.
    Generic(u16),
}

/// The events that stand for the system call `name`.
pub(crate) fn kind(name: &[u8]) -> &'static Kind {
    static KINDS: LazyLock<HashMap<&'static [u8], Kind>> = LazyLock::new(kinds);
    KINDS.get(name).unwrap_or(&Kind::Generic(0))
}

fn kinds() -> HashMap<&'static [u8], Kind> {
    let generic = syscalls::names().map(|(code, name)| (name, Kind::Generic(code)));
    let mut kinds: HashMap<&str, Kind> = generic.collect();
    let all: Vec<&'static str> = kinds.keys().copied().collect();
    let described = CALLS.iter().map(|(name, event, arguments)| (*name, *event, *arguments));
    for (name, event, arguments) in all.into_iter().map(|name| (name, "", "")).chain(described) {
        let event = if event.is_empty() { name } else { event };
        // Types have only been added: the last is the newest.
        let newest = schema::types_named(event).filter(|event_type| event_type.is_multiple_of(2)).last();
        if let Some(enter) = newest.filter(|enter| schema::name(enter + 1) == event) {
            kinds.insert(name, Kind::Own(Events::new(enter, arguments)));
        }
    }
    kinds.into_iter().map(|(name, kind)| (name.as_bytes(), kind)).collect()
}

impl Events {
    fn new(enter: u16, arguments: &'static str) -> Self {
        let exit = enter + 1;
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let parameter = |event_type: u16, at: usize, name: &'static str| {
            // `dup` calls its only argument by two names.
            let argument =
                arguments.iter().position(|argument| *argument == name || (name == "fd" && *argument == "oldfd"));
            let result = event_type == exit && at == 0;
            let source = if result { Source::Result } else { argument.map_or(Source::Elsewhere, Source::Argument) };
            Parameter { name, source, width: schema::width(event_type, at) }
        };
        let of = |event_type: u16| -> Vec<Parameter> {
            schema::params(event_type).iter().enumerate().map(|(at, name)| parameter(event_type, at, name)).collect()
        };
        let enter_parameters = of(enter);
        let mut exit_parameters = of(exit);
        // Exits of today end with what their enters have beyond them (docs/scap-format.md, "Writing").
        let beyond =
            enter_parameters.iter().filter(|enter| !exit_parameters.iter().any(|exit| exit.name == enter.name));
        let beyond: Vec<Parameter> =
            beyond.filter(|parameter| !(parameter.name == "fd" && arguments.contains(&"oldfd"))).cloned().collect();
        if !exit_parameters.is_empty() {
            exit_parameters.extend(beyond);
        }
        Self { enter, exit, enter_parameters, exit_parameters }
    }

    /// The values of `parameters` for a call with these arguments; `more` gives what does not come from them.
    pub(crate) fn values(
        parameters: &[Parameter],
        arguments: &[&[u8]],
        result: Option<i64>,
        more: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        let value = |parameter: &Parameter| match parameter.source {
            Source::Result => result.map(|result| narrow(result, parameter.width.unwrap_or(8))),
            Source::Argument(at) => arguments.get(at).and_then(|text| encode(text, parameter)),
            Source::Elsewhere => None,
        };
        parameters
            .iter()
            .map(|parameter| more(parameter.name).or_else(|| value(parameter)).unwrap_or_default())
            .collect()
    }
}

fn narrow(value: i64, width: usize) -> Vec<u8> {
    value.to_le_bytes()[..width].to_vec()
}

fn encode(text: &[u8], parameter: &Parameter) -> Option<Vec<u8>> {
    if let Some(width) = parameter.width {
        let number = if parameter.name == "sig" { symbols::signal(text).map(i64::from) } else { symbols::number(text) };
        return number.map(|number| narrow(number, width));
    }
    if parameter.name == "data" {
        let mut bytes = text::quoted(text)?.bytes;
        bytes.truncate(MOST_BYTES);
        return Some(bytes);
    }
    Some(c_string(&string(text)?))
}

/// A string argument. One that strace cut ends in three points, so that nobody takes it for the whole.
pub(crate) fn string(text: &[u8]) -> Option<Vec<u8>> {
    let text::Quoted { mut bytes, cut } = text::quoted(text)?;
    if cut {
        bytes.extend(b"...");
    }
    Some(bytes)
}

/// Bytes as a parameter that ends in NUL.
pub(crate) fn c_string(bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()).min(MOST_BYTES - 1)];
    [bytes, b"\0"].concat()
}

/// Strings of a list, each with its NUL, as arguments of a program stand in an event.
pub(crate) fn c_strings<'a>(strings: impl Iterator<Item = Cow<'a, [u8]>>) -> Vec<u8> {
    let mut all = Vec::new();
    for string in strings {
        let string = c_string(&string);
        if all.len() + string.len() > MOST_BYTES {
            break;
        }
        all.extend(string);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(name: &str) -> &'static Events {
        match kind(name.as_bytes()) {
            Kind::Own(events) => events,
            Kind::Generic(code) => panic!("{name} is generic, {code}"),
        }
    }

    fn exit(name: &str, arguments: &[&str], result: i64) -> Vec<Vec<u8>> {
        let arguments: Vec<&[u8]> = arguments.iter().map(|argument| argument.as_bytes()).collect();
        Events::values(&own(name).exit_parameters, &arguments, Some(result), |_| None)
    }

    #[test]
    fn calls_have_their_newest_event_types_or_the_generic_one() {
        let types = ["openat", "pread64", "newfstatat", "dup", "execve", "clone3", "futex"].map(|name| own(name).exit);
        assert_eq!(types, [307, 113, 419, 367, 293, 335, 65]);
        assert!(
            matches!(kind(b"clock_gettime"), Kind::Generic(code) if syscalls::name((*code).into()) == "clock_gettime")
        );
        // Events that are no system calls are nobody's, whatever a log says.
        for name in ["switch", "container", "drop", "tracer", "page_fault", "no_such_call", ""] {
            assert!(matches!(kind(name.as_bytes()), Kind::Generic(0)), "{name}");
        }
    }

    /// A parameter that no event has would silently go nowhere.
    #[test]
    fn every_argument_goes_somewhere() {
        for (name, _, arguments) in CALLS {
            let events = own(name);
            for argument in arguments.split_whitespace().filter(|argument| *argument != "_") {
                let known = |parameters: &[Parameter]| parameters.iter().any(|parameter| parameter.name == argument);
                assert!(known(&events.enter_parameters) || known(&events.exit_parameters), "{name}: {argument}");
            }
        }
    }

    #[test]
    fn arguments_stand_where_the_event_table_has_them() {
        let number = |value: i64, width: usize| narrow(value, width);
        let none: Vec<u8> = vec![];
        assert_eq!(
            exit("openat", &["AT_FDCWD", "\"/etc/passwd\"", "O_RDONLY|O_CLOEXEC"], 3),
            [
                number(3, 8),
                number(-100, 8),
                b"/etc/passwd\0".to_vec(),
                number(4097, 4),
                none.clone(),
                none.clone(),
                none.clone()
            ]
        );
        assert_eq!(
            exit("read", &["3</a>", "\"\\177ELF\"...", "832"], 832),
            [number(832, 8), b"\x7fELF".to_vec(), number(3, 8), number(832, 4)]
        );
        assert_eq!(exit("close", &["3"], 0), [number(0, 8), number(3, 8)]);
        assert_eq!(exit("stat", &["\"a\\0b\"...", "0x7f"], -2), [number(-2, 8), b"a\0".to_vec()]);
        assert_eq!(exit("dup", &["3"], 4), [number(4, 8), number(3, 8)]);
        assert_eq!(exit("tgkill", &["1", "2", "SIGABRT"], 0), [number(0, 8), number(1, 8), number(2, 8), vec![6]]);
        let enter = Events::values(&own("dup").enter_parameters, &[b"3"], None, |_| None);
        assert_eq!(enter, [number(3, 8)]);
    }

    #[test]
    fn parameters_have_at_most_the_bytes_that_an_event_holds() {
        let long = format!("\"{}\"", "x".repeat(100_000));
        assert_eq!(exit("write", &["1", &long, "100000"], 100_000)[1].len(), 65_535);
        assert_eq!(exit("stat", &[&long], 0)[1].len(), 65_535);
        assert_eq!(c_strings((0..40_000).map(|_| Cow::from(&b"a"[..]))).len(), 65_534);
    }
}
