//! What a program looks up and reads while it starts.

use super::frequent::Frequent;
use crate::calls::CompletedCall;
use crate::finding::Moment;

/// For how long after its execve a program counts as starting. The slowest start-up in the sources took
/// 33 s (the AWS command line tools, Sysdig 2014); what comes after a minute is work.
const LONGEST_NS: u64 = 60_000_000_000;
/// Paths are cut to this; what a person needs of one is in front.
const MAX_PATH: usize = 96;
/// File name endings longer than this are no kind of file.
const MAX_ENDING: usize = 8;

/// Directories, endings and open files that are told apart.
const DIRECTORIES: usize = 12;
const ENDINGS: usize = 4;
const OPEN_FILES: usize = 12;

/// Where an empty entry of a Java class path stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyEntry {
    /// In an argument: `-cp`, `-classpath` or `--class-path`.
    Argument,
    /// In the environment variable `CLASSPATH`.
    Environment,
}

impl EmptyEntry {
    /// Looks through a program's arguments and environment, both NUL-separated. An empty entry stands for the
    /// working directory (java(1)).
    #[must_use]
    pub fn find(args: &[u8], env: &[u8]) -> Option<Self> {
        let mut args = args.split(|byte| *byte == 0);
        while let Some(arg) = args.next() {
            let path = match arg {
                b"-cp" | b"-classpath" | b"--class-path" => args.next(),
                _ => arg.strip_prefix(b"--class-path="),
            };
            if let Some(path) = path {
                // An argument overrides the environment.
                return has_empty_entry(path).then_some(Self::Argument);
            }
        }
        let path = env.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"CLASSPATH="))?;
        has_empty_entry(path).then_some(Self::Environment)
    }
}

fn has_empty_entry(class_path: &[u8]) -> bool {
    !class_path.is_empty() && class_path.split(|byte| *byte == b':').any(<[u8]>::is_empty)
}

/// Lookups of files with one ending that found nothing.
#[derive(Debug, Clone)]
pub struct Ending {
    /// What follows the last dot of the file name, with the dot; empty if there is none.
    pub ending: Box<[u8]>,
    /// The directory that all of them are below, with a slash at its end; empty for relative paths.
    pub below: Box<[u8]>,
    /// The first such path.
    pub example: Box<[u8]>,
}

/// Lookups of paths that are not there.
#[derive(Debug, Clone, Default)]
pub struct Lookups {
    /// Lookups whose result was recorded.
    pub made: u64,
    /// Those that found nothing.
    pub failed: u64,
    /// How long these took, where that was recorded.
    pub failed_ns: u64,
    /// The first that found nothing.
    pub first: Option<(Moment, &'static str)>,
    /// The last.
    pub last: Option<(Moment, &'static str)>,
    /// The directories they were in.
    pub directories: Frequent<Box<[u8]>, DIRECTORIES>,
    /// The kinds of files.
    pub endings: Frequent<Ending, ENDINGS>,
}

/// A file that is or was open.
#[derive(Debug, Clone)]
struct OpenFile {
    /// What it was last opened as; -1 when that has become another file.
    fd: i32,
    path: Box<[u8]>,
    pairs: u64,
}

/// Reads right behind a seek in the same file.
#[derive(Debug, Clone, Default)]
pub struct SeekReads {
    /// How many.
    pub pairs: u64,
    /// How long both took together, where that was recorded.
    pub took_ns: u64,
    /// What was read.
    pub bytes: u64,
    /// The first.
    pub first: Option<Moment>,
    /// The last.
    pub last: Option<Moment>,
    /// Thread, descriptor and length of the seek before.
    seek: Option<(i64, i32, u64)>,
    files: Vec<OpenFile>,
}

impl SeekReads {
    /// The file in which most of them are, and how many.
    #[must_use]
    pub fn busiest_file(&self) -> Option<(&[u8], u64)> {
        let busiest = self.files.iter().max_by_key(|file| file.pairs)?;
        Some((&*busiest.path, busiest.pairs)).filter(|(_, pairs)| *pairs > 0)
    }

    fn opened(&mut self, fd: i32, path: &[u8]) {
        self.files.iter_mut().filter(|file| file.fd == fd).for_each(|file| file.fd = -1);
        let file = OpenFile { fd, path: cut(path), pairs: 0 };
        if let Some(known) = self.files.iter_mut().find(|known| known.path == file.path) {
            known.fd = fd;
        } else if self.files.len() < OPEN_FILES {
            self.files.push(file);
        } else if let Some(least) = (0..OPEN_FILES).min_by_key(|at| self.files[*at].pairs) {
            self.files.remove(least);
            self.files.push(file);
        }
    }

    fn note_seek(&mut self, call: &CompletedCall<'_>) {
        let fd = call.fd().filter(|_| call.failed() != Some(true) && call.moves() == Some(true));
        self.seek = fd.map(|fd| (call.tid(), fd, call.duration_ns().unwrap_or(0)));
    }

    fn note_read(&mut self, call: &CompletedCall<'_>) {
        let Some((tid, fd, seek_ns)) = self.seek.take() else { return };
        if tid != call.tid() || Some(fd) != call.fd() {
            return;
        }
        let at = Moment::of(call.exit);
        self.pairs += 1;
        let read = call.result().and_then(|result| u64::try_from(result).ok()).unwrap_or(0);
        self.took_ns = self.took_ns.saturating_add(seek_ns).saturating_add(call.duration_ns().unwrap_or(0));
        self.bytes = self.bytes.saturating_add(read);
        self.first.get_or_insert(at);
        self.last = Some(at);
        if let Some(file) = self.files.iter_mut().find(|file| file.fd == fd) {
            file.pairs += 1;
        }
    }
}

/// A program that starts.
#[derive(Debug, Clone)]
pub struct Startup {
    /// Its execve.
    pub began: Moment,
    /// Its working directory, if known, with a slash at its end.
    pub directory: Option<Box<[u8]>>,
    /// An empty entry of its class path, if it has one.
    pub empty_entry: Option<EmptyEntry>,
    /// What it looked for and did not find.
    pub lookups: Lookups,
    /// What it read piece by piece.
    pub reads: SeekReads,
}

#[cfg(test)]
impl Startup {
    /// What it takes with all that belongs to it, each path at its longest.
    pub const MOST_BYTES: usize = size_of::<Self>()
        + MAX_PATH
        + Frequent::<Box<[u8]>, DIRECTORIES>::MOST_BYTES
        + DIRECTORIES * MAX_PATH
        + Frequent::<Ending, ENDINGS>::MOST_BYTES
        + ENDINGS * (MAX_ENDING + 2 * MAX_PATH)
        + OPEN_FILES * (size_of::<OpenFile>() + MAX_PATH);
}

impl Startup {
    /// A program starts at `began`, in the working directory `directory`.
    #[must_use]
    pub fn begin(began: Moment, directory: Option<&[u8]>, empty_entry: Option<EmptyEntry>) -> Self {
        let (lookups, reads) = (Lookups::default(), SeekReads::default());
        Self { began, directory: directory.map(with_slash), empty_entry, lookups, reads }
    }

    /// Whether `now_ns` still belongs to it.
    #[must_use]
    pub fn holds(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.began.timestamp_ns) <= LONGEST_NS
    }

    /// Whether there is something to tell of it.
    #[must_use]
    pub fn is_remarkable(&self) -> bool {
        self.lookups.failed >= 32 || self.reads.pairs >= 32
    }

    /// How far out of the ordinary it is, to be compared with others.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.lookups.failed + self.reads.pairs
    }

    /// A path was looked up.
    pub fn note_lookup(&mut self, call: &CompletedCall<'_>) {
        /// ENOENT and ENOTDIR (errno(3)).
        const NOT_THERE: [u16; 2] = [2, 20];
        let Some(result) = call.result() else { return };
        self.lookups.made += 1;
        let path = call.path();
        if call.errno().is_some_and(|errno| NOT_THERE.contains(&errno)) {
            self.note_failed(call, path);
        } else if let (Ok(fd), Some(path)) = (i32::try_from(result), path)
            && call.name().starts_with("open")
            && result >= 0
        {
            self.reads.opened(fd, path);
        }
    }

    fn note_failed(&mut self, call: &CompletedCall<'_>, path: Option<&[u8]>) {
        let lookups = &mut self.lookups;
        let at = (Moment::of(call.exit), call.name());
        lookups.failed += 1;
        lookups.failed_ns = lookups.failed_ns.saturating_add(call.duration_ns().unwrap_or(0));
        lookups.first.get_or_insert(at);
        lookups.last = Some(at);
        let Some(path) = path else { return };
        let (directory, name) = split(path);
        lookups.directories.note(|known| **known == *cut(directory), || cut(directory));
        let ending = ending(name);
        // Relative paths and others have no directory in common.
        let is_absolute = directory.starts_with(b"/");
        let known = lookups.endings.note(
            |known| *known.ending == *ending && known.below.starts_with(b"/") == is_absolute,
            || Ending { ending: ending.into(), below: cut(directory), example: cut(path) },
        );
        let common = common_directory(&known.below, directory);
        if common < known.below.len() {
            known.below = known.below[..common].into();
        }
    }

    /// A file was read, or is about to be, from somewhere else than where it was read before.
    pub fn note_seek(&mut self, call: &CompletedCall<'_>) {
        self.reads.note_seek(call);
    }

    /// A file was read.
    pub fn note_read(&mut self, call: &CompletedCall<'_>) {
        self.reads.note_read(call);
    }

    /// The working directory changes.
    pub fn note_chdir(&mut self, call: &CompletedCall<'_>) {
        if call.failed() == Some(false) {
            let path = call.path().filter(|path| path.starts_with(b"/"));
            self.directory = path.map(with_slash);
        }
    }
}

fn cut(path: &[u8]) -> Box<[u8]> {
    path[..path.len().min(MAX_PATH)].into()
}

fn with_slash(path: &[u8]) -> Box<[u8]> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    [&path[..path.len().min(MAX_PATH - 1)], b"/"].concat().into()
}

/// The directory, with the slash at its end, and the name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    path.split_at(slash.map_or(0, |slash| slash + 1))
}

/// `.class` of `Main.class`; empty where there is none.
fn ending(name: &[u8]) -> &[u8] {
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0);
    dot.map(|dot| &name[dot..]).filter(|ending| ending.len() <= MAX_ENDING).unwrap_or_default()
}

/// How long the directory is that both are in or are.
fn common_directory(one: &[u8], other: &[u8]) -> usize {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    if same == one.len() { same } else { split(&one[..same]).0.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_entry_is_found_wherever_it_stands() {
        for path in [":a.jar", "a.jar:", "a.jar::b.jar"] {
            let args = format!("-Xmx1g\0-cp\0{path}\0Main\0");
            assert_eq!(EmptyEntry::find(args.as_bytes(), b""), Some(EmptyEntry::Argument), "{path}");
            let env = format!("HOME=/\0CLASSPATH={path}\0");
            assert_eq!(EmptyEntry::find(b"Main\0", env.as_bytes()), Some(EmptyEntry::Environment), "{path}");
        }
        assert_eq!(EmptyEntry::find(b"--class-path=:a.jar\0Main", b""), Some(EmptyEntry::Argument));
        assert_eq!(EmptyEntry::find(b"-cp\0a.jar:b.jar\0Main", b"CLASSPATH=:"), None, "the argument counts");
        assert_eq!(EmptyEntry::find(b"Main\0:x", b"CLASSPATH="), None, "an empty variable is none");
        assert_eq!(EmptyEntry::find(b"-cp", b""), None);
    }

    #[test]
    fn paths_fall_into_directory_and_ending() {
        assert_eq!(split(b"/a/b/C.class"), (&b"/a/b/"[..], &b"C.class"[..]));
        assert_eq!(split(b"C.class"), (&b""[..], &b"C.class"[..]));
        assert_eq!((ending(b"C.class"), ending(b".bashrc"), ending(b"x")), (&b".class"[..], &b""[..], &b""[..]));
        assert_eq!(common_directory(b"/a/b/c/", b"/a/b/d/"), 5);
        assert_eq!(common_directory(b"/a/b/", b"/a/b/d/"), 5);
        assert_eq!(common_directory(b"/a/bc/", b"/a/b/"), 3);
        assert_eq!(common_directory(b"com/", b"org/"), 0);
    }
}
