//! Tells a log of strace from other text by its first lines.

use std::collections::HashSet;

use crate::calls::{self, Kind};
use crate::line::{self, Call, Line, Note, Parsed, What};
use crate::text;
use crate::threads::makes_threads;

/// How many bytes [`recognise`] wants to see, where there are that many.
pub const SNIFF_LENGTH: usize = 64 << 10;
/// Lines looked at: a program may print a few before and between strace's.
const MOST_LINES: usize = 64;

/// A text that strace wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A log with times, which can be read as a capture.
    Log,
    /// A log without times (recorded without `-t`, `-tt`, `-ttt` and `-r`), which cannot.
    Untimed,
    /// The table of `strace -c`: see [`table`](crate::table).
    Table,
}

/// What `start`, the first bytes of a file, is; `None` for what strace did not write.
#[must_use]
pub fn recognise(start: &[u8]) -> Option<Kept> {
    if start.starts_with(b"\x0a\x0d\x0d\x0a") || start.contains(&0) {
        return None;
    }
    let (mut timed, mut untimed, mut foreign, mut table) = (0, 0, 0, false);
    // Of every thread that it is attached to, strace says so first.
    let is_note = |line: &[u8]| line::note(line).is_some_and(|(at, _)| at == 0);
    let lines = whole_lines(start).filter(|line| !line.trim_ascii().is_empty() && !is_note(line));
    for line in lines.take(MOST_LINES) {
        // With -C the table follows the log.
        if crate::table::is_header(line) {
            table = true;
            break;
        }
        match line::parse(line) {
            Parsed::Line(Line { what: What::Call(Call { name, .. }) | What::Unfinished { name, .. }, .. }) => {
                // A call that nobody has heard of is any other text.
                if matches!(calls::kind(name), Kind::Generic(0)) { foreign += 1 } else { timed += 1 }
            }
            Parsed::Line(_) => {}
            Parsed::Untimed => untimed += 1,
            Parsed::Foreign => foreign += 1,
        }
    }
    if timed > untimed + foreign {
        Some(Kept::Log)
    } else if table {
        Some(Kept::Table)
    } else if untimed > timed + foreign && untimed_calls(start) {
        Some(Kept::Untimed)
    } else {
        None
    }
}

/// Lines without times look like much else: the first must be a call with its result.
fn untimed_calls(start: &[u8]) -> bool {
    let known = |line: &[u8]| {
        let open = text::find(line, b"(")?;
        let name = line[..open].rsplit(|byte| *byte == b' ').next()?;
        let behind = text::arguments(&line[open + 1..])?.behind;
        line::outcome(behind).filter(|_| !matches!(calls::kind(name), Kind::Generic(0)))
    };
    whole_lines(start).next().is_some_and(|line| known(line).is_some())
}

/// The lines of `start`; the last one may go on behind it, and counts only alone.
fn whole_lines(start: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = start.iter().rposition(|byte| *byte == b'\n').unwrap_or(start.len());
    start[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// The thread of the lines in `start` that name none, as far as the others tell: the first that is named
/// and was made by none, or what the thread is told of itself.
pub(crate) fn main_thread(start: &[u8]) -> Option<i64> {
    let mut children = HashSet::new();
    let mut told = None;
    for line in whole_lines(start) {
        // Breaks off a line of its own, too.
        let note = line::note(line).map_or(line, |(at, _)| &line[at..]);
        let Parsed::Line(line) = line::parse(note) else { continue };
        match line.what {
            What::Note(Note::Attached(tid)) => _ = children.insert(tid),
            What::Call(Call { name, outcome, .. }) => {
                let result = outcome.result.filter(|result| *result > 0);
                if makes_threads(name) {
                    children.extend(result);
                } else if line.tid.is_none() && matches!(name, b"set_tid_address" | b"gettid") {
                    told = told.or(result);
                }
            }
            _ => {}
        }
        if let Some(tid) = line.tid.filter(|tid| !children.contains(tid)) {
            return Some(tid);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMED: &str = "16:30:05.221805 execve(\"/usr/bin/ls\", [\"ls\"], 0x7fff /* 39 vars */) = 0 <0.000320>\n\
                         16:30:05.222283 set_tid_address(0x7f8b22d2fa10) = 21170 <0.000031>\n";

    #[test]
    fn what_strace_wrote_is_recognised() {
        let untimed = "execve(\"/usr/bin/ls\", [\"ls\"], 0x7fff /* 39 vars */) = 0\nbrk(NULL) = 0x55\n";
        let table = "% time     seconds  usecs/call     calls    errors syscall\n------ -----------\n";
        for (text, kept) in [
            (TIMED.into(), Some(Kept::Log)),
            (format!("strace: Process 7 attached\n{TIMED}"), Some(Kept::Log)),
            (format!("{}{TIMED}", "strace: Process 7 attached\n".repeat(100)), Some(Kept::Log)),
            (format!("hello\n{TIMED}"), Some(Kept::Log)),
            (format!("{TIMED}16:30:05.222 cut off her"), Some(Kept::Log)),
            (untimed.into(), Some(Kept::Untimed)),
            (table.into(), Some(Kept::Table)),
            (format!("hello\n{table}"), Some(Kept::Table)),
            (format!("{TIMED}{table}"), Some(Kept::Log)),
            (format!("{untimed}{table}"), Some(Kept::Table)),
        ] {
            assert_eq!(recognise(text.as_bytes()), kept, "{text}");
        }
    }

    #[test]
    fn other_text_is_not() {
        for text in [
            "",
            "\n\n",
            "hello\n",
            "16:30:05 INFO started (pid 7) = 3\n16:30:06 INFO stopped\n",
            "16:30:05.221805 compute(3, 4) = 7\n16:30:05.221806 compute(3, 4) = 7\n",
            "def f(x):\n    return g(x) = 0\n",
            "open(\"a\")\nclose(f)\n",
            "2026-11-20 16:30:05 read(3) = 4\n",
        ] {
            assert_eq!(recognise(text.as_bytes()), None, "{text}");
        }
        assert_eq!(recognise(&[TIMED.as_bytes(), b"\0"].concat()), None);
        assert_eq!(recognise(b"\x0a\x0d\x0d\x0a\x1c\0\0\0"), None);
    }

    #[test]
    fn the_thread_that_is_not_named_is_found() {
        assert_eq!(main_thread(TIMED.as_bytes()), Some(21170));
        let made = "16:30:05.3 clone(child_stack=NULL, flags=SIGCHLD) = 8\n[pid 8] 16:30:05.4 gettid() = 8\n";
        assert_eq!(main_thread(made.as_bytes()), None);
        assert_eq!(main_thread(format!("{made}[pid 7] 16:30:05.5 gettid() = 7\n").as_bytes()), Some(7));
        let torn =
            "16:30:05.3 wait4(-1, strace: Process 8 attached\n <unfinished ...>\n[pid 8] 16:30:05.4 brk(0) = 0\n";
        assert_eq!(main_thread(torn.as_bytes()), None);
    }
}
