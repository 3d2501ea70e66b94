//! Turns one line of a log into what it says, without knowing the lines around it.

use crate::errno;
use crate::text::{self, Arguments};

/// A time as it stands in front of a line, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// Since the epoch (`-ttt`).
    Epoch(u64),
    /// Since midnight (`-t`, `-tt`).
    Day(u64),
    /// Since the line before (`-r`).
    Gap(u64),
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// The thread, where the line names one.
    pub tid: Option<i64>,
    /// When, where the line says.
    pub time: Option<Time>,
    /// The kernel's number of the call (`-n`).
    pub native_id: Option<u16>,
    /// What happened.
    pub what: What<'a>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What<'a> {
    /// A call, from beginning to end.
    Call(Call<'a>),
    /// A call that other lines interrupt; `arguments` so far.
    Unfinished { name: &'a [u8], arguments: &'a [u8] },
    /// The rest of such a call; `text` is the rest of its arguments and what follows.
    Resumed { name: &'a [u8], text: &'a [u8] },
    /// The beginning of a call that the line breaks off.
    Torn,
    /// A signal is delivered; `info` is what strace prints of it, if anything.
    Signal { name: &'a [u8], info: &'a [u8] },
    /// The thread ended by itself.
    Exited(u8),
    /// A signal ended the thread.
    Killed { name: &'a [u8], core_dumped: bool },
    /// The thread's place was taken by `by`, which called execve.
    Superseded { by: i64 },
    /// strace says something of itself.
    Note(Note),
}

/// What strace says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// It follows this thread from now on.
    Attached(i64),
    /// Anything else.
    Other,
}

/// A call with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    pub name: &'a [u8],
    pub arguments: &'a [u8],
    pub outcome: Outcome,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// What the kernel returned, errors as negative numbers; `None`: the call did not come back.
    pub result: Option<i64>,
    /// How long it took (`-T`), in nanoseconds.
    pub duration_ns: Option<u64>,
}

/// What [`parse`] made of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    /// A line of a log with times.
    Line(Line<'a>),
    /// A line that would be one, had it a time.
    Untimed,
    /// Something else.
    Foreign,
}

/// Reads a line, without its line feed.
pub(crate) fn parse(line: &[u8]) -> Parsed<'_> {
    if let Some((0, note)) = note(line) {
        return Parsed::Line(Line { tid: None, time: None, native_id: None, what: What::Note(note) });
    }
    let (tid, rest) = thread(line);
    let (time, rest) = times(rest);
    let (native_id, rest) = call_number(rest.trim_ascii_start());
    let rest = instruction_pointer(rest.trim_ascii_start()).trim_ascii_start();
    match (what(rest), time) {
        (None, _) => Parsed::Foreign,
        // A thread and no time is enough to recognise a log that is of no use; a bare word is not.
        (Some(_), None) => Parsed::Untimed,
        (Some(what), time) => Parsed::Line(Line { tid, time, native_id, what }),
    }
}

/// `[pid   123] `, `123 `, and with `-Y` `123<comm> `.
fn thread(line: &[u8]) -> (Option<i64>, &[u8]) {
    let bracketed = line.strip_prefix(b"[pid ").map(<[u8]>::trim_ascii_start);
    let digits = bracketed.unwrap_or(line.trim_ascii_start());
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, mut rest) = digits.split_at(length);
    // PID_MAX_LIMIT has seven digits; a time of -ttt or -r goes on with a point, one of -tt with a colon.
    if !(1..=7).contains(&length) {
        return (None, line);
    }
    if rest.starts_with(b"<") {
        let Some(end) = text::find(rest, b">") else { return (None, line) };
        rest = &rest[end + 1..];
    }
    let end: &[u8] = if bracketed.is_some() { b"] " } else { b" " };
    match (rest.strip_prefix(end), text::number(number)) {
        (Some(rest), Some(tid)) => (Some(tid), rest),
        _ => (None, line),
    }
}

/// One time, or a time and the gap to the line before in parentheses, of which the time is taken.
fn times(text: &[u8]) -> (Option<Time>, &[u8]) {
    let text = text.trim_ascii_start();
    let length = text.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b':' | b'.')).count();
    let (word, rest) = text.split_at(length);
    let Some(time) = read_time(word).filter(|_| rest.starts_with(b" ")) else { return (None, text) };
    let rest = rest.trim_ascii_start();
    match rest.strip_prefix(b"(+").and_then(|gap| Some(&gap[text::find(gap, b") ")? + 2..])) {
        Some(behind) => (Some(time), behind),
        None => (Some(time), rest),
    }
}

fn read_time(word: &[u8]) -> Option<Time> {
    // A time of -ttt of the year 1973 or later; gaps are shorter.
    const LEAST_EPOCH_NS: u64 = 100_000_000_000_000_000;
    if let [h1, h2, b':', m1, m2, b':', s1, s2, fraction @ ..] = word {
        let two = |tens: &u8, ones: &u8| {
            (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| u64::from((tens - b'0') * 10 + ones - b'0'))
        };
        let (hours, minutes, seconds) = (two(h1, h2)?, two(m1, m2)?, two(s1, s2)?);
        let fraction = match fraction.split_first() {
            None => 0,
            Some((b'.', digits)) => nanoseconds(digits)?,
            Some(_) => return None,
        };
        // A leap second has the number 60.
        let valid = hours < 24 && minutes < 60 && seconds <= 60;
        return valid.then_some(Time::Day(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + fraction));
    }
    let ns = decimal_seconds(word)?;
    Some(if ns >= LEAST_EPOCH_NS { Time::Epoch(ns) } else { Time::Gap(ns) })
}

/// `12.000345` seconds, in nanoseconds.
fn decimal_seconds(word: &[u8]) -> Option<u64> {
    let point = text::find(word, b".")?;
    let (seconds, fraction) = (&word[..point], &word[point + 1..]);
    if seconds.is_empty() || !seconds.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let seconds: u64 = std::str::from_utf8(seconds).ok()?.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds(fraction)?)
}

/// The digits behind a decimal point, as nanoseconds.
fn nanoseconds(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    Some((digits.len()..9).fold(value, |value, _| value * 10))
}

/// `[ 257] `, the number of the call.
fn call_number(text: &[u8]) -> (Option<u16>, &[u8]) {
    let read = || {
        let inside = text.strip_prefix(b"[")?;
        let end = text::find(inside, b"]")?;
        let digits = inside[..end].trim_ascii();
        // With -i the same place has an address, which is longer.
        let number = (digits.len() <= 5).then(|| std::str::from_utf8(digits).ok()?.parse().ok())??;
        Some((Some(number), inside[end + 1..].strip_prefix(b" ")?))
    };
    read().unwrap_or((None, text))
}

/// `[00007f113b5f8b1d] `, which is passed over.
fn instruction_pointer(text: &[u8]) -> &[u8] {
    let read = || {
        let inside = text.strip_prefix(b"[")?;
        let end = text::find(inside, b"]")?;
        let address = inside[..end].iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'?');
        inside[end + 1..].strip_prefix(b" ").filter(|_| address && end >= 8)
    };
    read().unwrap_or(text)
}

fn what(text: &[u8]) -> Option<What<'_>> {
    if let Some(inside) = text.strip_prefix(b"--- ").and_then(|rest| rest.strip_suffix(b" ---")) {
        return signal(inside);
    }
    if let Some(inside) = text.strip_prefix(b"+++ ").and_then(|rest| rest.strip_suffix(b" +++")) {
        return end(inside);
    }
    if let Some(rest) = text.strip_prefix(b"<... ") {
        let end = text::find(rest, b" resumed>")?;
        return Some(What::Resumed { name: call_name(&rest[..end])?, text: &rest[end + " resumed>".len()..] });
    }
    let open = text::find(text, b"(")?;
    let name = call_name(&text[..open])?;
    let inside = &text[open + 1..];
    if let Some(arguments) = inside.strip_suffix(b"<unfinished ...>") {
        return Some(What::Unfinished { name, arguments });
    }
    match text::arguments(inside) {
        Some(Arguments { inside, behind }) => match outcome(behind) {
            Some(outcome) => Some(What::Call(Call { name, arguments: inside, outcome })),
            None => Some(What::Torn),
        },
        None => Some(What::Torn),
    }
}

/// The name of a system call: `openat`, `syscall_0x1b4`.
fn call_name(text: &[u8]) -> Option<&[u8]> {
    const LONGEST: usize = 40;
    let begins = text.first().is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    let word = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    (begins && text.len() <= LONGEST && text.iter().all(word)).then_some(text)
}

/// What follows the arguments: ` = -1 ENOENT (No such file or directory) <0.000048>`.
pub(crate) fn outcome(text: &[u8]) -> Option<Outcome> {
    let rest = text.trim_ascii().strip_prefix(b"=")?;
    let mut rest = rest.strip_prefix(b" ")?;
    let mut duration_ns = None;
    if let Some((before, seconds)) = rest.strip_suffix(b">").and_then(|rest| split_last(rest, b" <"))
        && let Some(ns) = decimal_seconds(seconds)
    {
        (rest, duration_ns) = (before, Some(ns));
    }
    let (value, behind) = rest.split_at(rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len()));
    let word = behind.trim_ascii_start();
    let word = &word[..word.iter().position(|byte| *byte == b' ').unwrap_or(word.len())];
    let error = errno::number(word).or_else(|| {
        // An error without a name: `-1 (errno 524)`.
        text::number(behind.trim_ascii_start().strip_prefix(b"(errno ")?)
    });
    let result = match (value, error) {
        (b"-1" | b"?", Some(error)) => Some(-error),
        (b"?", None) => None,
        (value, _) => Some(text::number(value)?),
    };
    Some(Outcome { result, duration_ns })
}

fn split_last<'a>(text: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let position = text.windows(at.len()).rposition(|window| window == at)?;
    Some((&text[..position], &text[position + at.len()..]))
}

fn signal(inside: &[u8]) -> Option<What<'_>> {
    let end = inside.iter().position(|byte| *byte == b' ').unwrap_or(inside.len());
    let (name, info) = (&inside[..end], inside[end..].trim_ascii());
    if name.starts_with(b"SIG") {
        return Some(What::Signal { name, info });
    }
    // `stopped by SIGSTOP`: nothing is delivered.
    inside.starts_with(b"stopped by ").then_some(What::Note(Note::Other))
}

fn end(inside: &[u8]) -> Option<What<'_>> {
    if let Some(status) = inside.strip_prefix(b"exited with ") {
        return Some(What::Exited(u8::try_from(text::number(status)?).ok()?));
    }
    if let Some(killed) = inside.strip_prefix(b"killed by ") {
        let name = killed.strip_suffix(b" (core dumped)");
        return Some(What::Killed { name: name.unwrap_or(killed), core_dumped: name.is_some() });
    }
    let by = inside.strip_prefix(b"superseded by execve in pid ")?;
    Some(What::Superseded { by: text::number(by)? })
}

/// Where in a line strace says something of itself, and what: it may be in the middle of a call.
///
/// It begins with the name that strace was called by: `strace: ` or `/usr/bin/strace: `.
pub(crate) fn note(line: &[u8]) -> Option<(usize, Note)> {
    const NAME: &[u8] = b"strace: ";
    let at = text::find(line, NAME)?;
    let is_path = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    let path = line[..at].iter().rev().take_while(|byte| is_path(byte)).count();
    let start =
        line[at - path..at].iter().position(|byte| matches!(byte, b'/' | b'.')).map_or(at, |slash| at - path + slash);
    let said = &line[at + NAME.len()..];
    let process = said.strip_prefix(b"Process ").or_else(|| said.strip_prefix(b"[ Process "));
    // In the middle of a line anything may look like a note; strace speaks of processes there.
    if process.is_none() && start > 0 {
        return None;
    }
    let attached = || text::number(said.strip_prefix(b"Process ")?.strip_suffix(b" attached")?);
    Some((start, attached().map_or(Note::Other, Note::Attached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        match parse(text.as_bytes()) {
            Parsed::Line(line) => line,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn call(text: &str) -> (String, String, Option<i64>, Option<u64>) {
        match line(text).what {
            What::Call(Call { name, arguments, outcome }) => (
                String::from_utf8_lossy(name).into(),
                String::from_utf8_lossy(arguments).into(),
                outcome.result,
                outcome.duration_ns,
            ),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn threads_and_times_are_read_in_every_form() {
        let day = Time::Day(((16 * 60 + 30) * 60 + 5) * 1_000_000_000 + 221_805_000);
        let seconds = Time::Day(((16 * 60 + 30) * 60 + 5) * 1_000_000_000);
        let epoch = Time::Epoch(1_795_192_205_661_699_000);
        for (prefix, tid, time) in [
            ("16:30:05.221805 ", None, day),
            ("16:30:05 ", None, seconds),
            ("21143 16:30:05.221805 ", Some(21143), day),
            ("  143 16:30:05.221805 ", Some(143), day),
            ("[pid 21143] 16:30:05.221805 ", Some(21143), day),
            ("[pid    43] 1795192205.661699 ", Some(43), epoch),
            ("21143<java> 1795192205.661699 ", Some(21143), epoch),
            ("[pid 7<a b>] 1795192205.661699000 ", Some(7), epoch),
            ("     0.000401 ", None, Time::Gap(401_000)),
            ("16:30:05.221805 (+     0.000534) ", None, day),
            ("16:30:05.221805 [00007f113b5f8b1d] ", None, day),
            ("16:30:05.221805 [  12] [00007f113b5f8b1d] ", None, day),
        ] {
            let text = format!("{prefix}brk(NULL) = 0x55d140f9f000 <0.000033>");
            let line = line(&text);
            assert_eq!((line.tid, line.time), (tid, Some(time)), "{prefix}");
            assert!(matches!(line.what, What::Call(_)), "{prefix}");
        }
        assert_eq!(line("16:30:06.310610 [ 257] close(3) = 0").native_id, Some(257));
    }

    #[test]
    fn results_are_numbers_errors_or_missing() {
        for (text, result, duration) in [
            ("0", Some(0), None),
            ("0x55d140f9f000 <0.000033>", Some(0x55d1_40f9_f000), Some(33_000)),
            ("-1 ENOENT (No such file or directory) <0.000048>", Some(-2), Some(48_000)),
            ("-1 EAGAIN (Resource temporarily unavailable)", Some(-11), None),
            ("-1 (errno 524) <0.000048>", Some(-524), Some(48_000)),
            ("3</etc/ld.so.cache> <0.000012>", Some(3), Some(12_000)),
            ("3</tmp/a b <1.5> <0.000012>", Some(3), Some(12_000)),
            ("1 ([{fd=3, revents=POLLIN}]) <1.000012>", Some(1), Some(1_000_012_000)),
            ("0 (Timeout) <0.100>", Some(0), Some(100_000_000)),
            ("?", None, None),
            ("? <unavailable>", None, None),
            ("? ERESTARTSYS (To be restarted if SA_RESTART is set) <2.5>", Some(-512), Some(2_500_000_000)),
            ("? ERESTART_RESTARTBLOCK (Interrupted by signal)", Some(-516), None),
            ("0x2 (flags O_RDWR)", Some(2), None),
            ("-1", Some(-1), None),
        ] {
            let text = format!("16:30:05.221805 fcntl(3, F_GETFL)   = {text}");
            let (_, arguments, read, duration_ns) = call(&text);
            assert_eq!((arguments.as_str(), read, duration_ns), ("3, F_GETFL", result, duration), "{text}");
        }
    }

    #[test]
    fn what_is_no_call_is_read() {
        let what = |text: &'static str| line(text).what;
        assert_eq!(
            what("7 16:30:05 rseq(0x7f, 0x20 <unfinished ...>"),
            What::Unfinished { name: b"rseq", arguments: b"0x7f, 0x20 " }
        );
        assert_eq!(
            what("7 16:30:05 <... rseq resumed>) = 0 <0.000029>"),
            What::Resumed { name: b"rseq", text: b") = 0 <0.000029>" }
        );
        let info = b"{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}";
        assert_eq!(
            what("16:30:05 --- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL} ---"),
            What::Signal { name: b"SIGSEGV", info }
        );
        assert_eq!(what("16:30:05 --- stopped by SIGSTOP ---"), What::Note(Note::Other));
        assert_eq!(what("16:30:05 +++ exited with 42 +++"), What::Exited(42));
        assert_eq!(
            what("16:30:05 +++ killed by SIGSEGV (core dumped) +++"),
            What::Killed { name: b"SIGSEGV", core_dumped: true }
        );
        assert_eq!(what("16:30:05 +++ killed by SIGKILL +++"), What::Killed { name: b"SIGKILL", core_dumped: false });
        assert_eq!(what("7 16:30:05 +++ superseded by execve in pid 9 +++"), What::Superseded { by: 9 });
        assert_eq!(what("strace: Process 21172 attached"), What::Note(Note::Attached(21172)));
        assert_eq!(what("/usr/bin/strace: Process 21172 attached"), What::Note(Note::Attached(21172)));
        assert_eq!(note(b"7 16:30:05 wait4(-1, NULL/bin/strace: Process 8 attached"), Some((25, Note::Attached(8))));
        assert_eq!(note(b"7 16:30:05 wait4(-1, strace: Process 8 attached"), Some((21, Note::Attached(8))));
        assert_eq!(note(b"write(2, \"strace: nothing\""), None);
        assert_eq!(what("strace: [ Process PID=7 runs in 32 bit mode. ]"), What::Note(Note::Other));
        assert_eq!(
            what("16:30:05 restart_syscall(<... resuming interrupted nanosleep ...>) = 0 <0.1>"),
            What::Call(Call {
                name: b"restart_syscall",
                arguments: b"<... resuming interrupted nanosleep ...>",
                outcome: Outcome { result: Some(0), duration_ns: Some(100_000_000) }
            })
        );
    }

    #[test]
    fn calls_that_break_off_are_told_from_other_text() {
        assert_eq!(line("16:30:05 write(2, \"caught\\n\", 7caught").what, What::Torn);
        assert_eq!(line("16:30:05 wait4(-1, strace: Process 7 attached").what, What::Torn);
        assert_eq!(parse(b"brk(NULL) = 0x55d140f9f000 <0.000033>"), Parsed::Untimed);
        assert_eq!(parse(b"[pid 7] brk(NULL) = 0x55d140f9f000"), Parsed::Untimed);
        for text in ["", "caught", "16:30:05 INFO started (pid 7)", "16:30:05.1 +++ what +++", "25:00:00 brk(NULL) = 0"]
        {
            assert_eq!(parse(text.as_bytes()), Parsed::Foreign, "{text}");
        }
    }
}
