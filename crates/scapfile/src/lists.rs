//! Turns entries of the list blocks and the machine block into values.
//!
//! Layouts: `scap_savefile.c` of falcosecurity/libs. In sized entries (process list V9, the second
//! fd, interface and user lists) fields have been appended over the years, so a reader goes by the
//! entry's length; fields it does not know are passed over.

use crate::block::ListKind;
use crate::cursor::Cursor;

/// Bytes of the host name's field.
pub(crate) const HOSTNAME: usize = 128;

/// The machine a capture was made on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineInfo {
    /// Number of processors.
    pub cpus: u32,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Host name, lossily decoded.
    pub hostname: String,
    /// Boot time in nanoseconds since the epoch; `None` in captures older than that field.
    pub boot_timestamp_ns: Option<u64>,
}

impl MachineInfo {
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut body = Cursor::new(body);
        let cpus = body.u32()?;
        let memory_bytes = body.u64()?;
        let _max_pid = body.u64()?;
        let hostname = body.bytes(HOSTNAME)?;
        let length = hostname.iter().position(|byte| *byte == 0).unwrap_or(hostname.len());
        let hostname = String::from_utf8_lossy(&hostname[..length]).into_owned();
        let boot_timestamp_ns = body.u64().filter(|ns| *ns != 0);
        Some(Self { cpus, memory_bytes, hostname, boot_timestamp_ns })
    }
}

/// A thread that was alive when the capture began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessEntry<'a> {
    /// Thread id, host namespace.
    pub tid: i64,
    /// Process id, host namespace.
    pub pid: i64,
    /// Parent's process id.
    pub ppid: i64,
    /// Command name (at most 15 bytes on Linux).
    pub comm: &'a [u8],
    /// `argv[0]`.
    pub exe: &'a [u8],
    /// Full path of the executable; `None` before layout 7.
    pub exepath: Option<&'a [u8]>,
    /// Arguments after `argv[0]`, NUL-separated.
    pub args: &'a [u8],
    /// Working directory.
    pub cwd: &'a [u8],
    /// Process id in its own namespace; `None` before layout 4.
    pub vpid: Option<i64>,
    /// Control groups, NUL-separated `subsystem=path`; empty before layout 4.
    pub cgroups: &'a [u8],
}

/// An open file descriptor. Only what identifies it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FdEntry<'a> {
    /// The thread that holds it.
    pub tid: i64,
    /// Descriptor number.
    pub fd: i64,
    /// `scap_fd_type`.
    pub fd_type: u8,
    /// Path or name; empty for sockets without one.
    pub name: &'a [u8],
}

/// A network interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceEntry<'a> {
    /// Its name, such as `eth0`.
    pub name: &'a [u8],
    /// IPv6 rather than IPv4.
    pub ipv6: bool,
}

/// A user account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserEntry<'a> {
    /// User id.
    pub uid: u32,
    /// Account name.
    pub name: &'a [u8],
}

/// A group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEntry<'a> {
    /// Group id.
    pub gid: u32,
    /// Group name.
    pub name: &'a [u8],
}

/// An entry of a list block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    Process(ProcessEntry<'a>),
    Fd(FdEntry<'a>),
    Interface(InterfaceEntry<'a>),
    User(UserEntry<'a>),
    Group(GroupEntry<'a>),
}

/// Why an entry could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryError {
    /// The bytes at hand end within the entry.
    TooShort,
    /// The bytes contradict the layout.
    Contradiction,
}

/// No entry is longer. The longest there can be, a process with eight strings of a 16-bit length,
/// has 524 400 bytes; this leaves room for fields that are appended in the future.
pub(crate) const MAX_ENTRY: usize = 1 << 20;

/// Reads the entry at the start of `bytes` and says how many bytes, at least one, it takes.
///
/// `owner`: the thread of an fd list.
pub(crate) fn read_entry(kind: ListKind, owner: i64, bytes: &[u8]) -> Result<(usize, Entry<'_>), EntryError> {
    let sized = match kind {
        ListKind::Processes(version) => version >= 9,
        ListKind::Fds { sized } | ListKind::Interfaces { sized } | ListKind::Users { sized } => sized,
    };
    if !sized {
        let mut rest = Cursor::new(bytes);
        let entry = read_fields(kind, owner, sized, &mut rest)?;
        return Ok((bytes.len() - rest.left(), entry));
    }
    let mut rest = Cursor::new(bytes);
    let length = rest.u32().ok_or(EntryError::TooShort)? as usize;
    // The length counts itself, except in interface lists.
    let total = if matches!(kind, ListKind::Interfaces { .. }) { length + 4 } else { length };
    if !(4..=MAX_ENTRY).contains(&total) {
        return Err(EntryError::Contradiction);
    }
    let mut fields = Cursor::new(rest.bytes(total - 4).ok_or(EntryError::TooShort)?);
    match read_fields(kind, owner, sized, &mut fields) {
        Ok(entry) => Ok((total, entry)),
        // All of the entry is at hand: it is shorter than its fields.
        Err(_) => Err(EntryError::Contradiction),
    }
}

fn read_fields<'a>(kind: ListKind, owner: i64, sized: bool, entry: &mut Cursor<'a>) -> Result<Entry<'a>, EntryError> {
    match kind {
        ListKind::Processes(version) => process(entry, version).map(Entry::Process).ok_or(EntryError::TooShort),
        ListKind::Fds { .. } => fd(entry, owner, sized).map(Entry::Fd),
        ListKind::Interfaces { .. } => interface(entry).map(Entry::Interface),
        ListKind::Users { .. } => user(entry).ok_or(EntryError::TooShort),
    }
}

fn process<'a>(entry: &mut Cursor<'a>, version: u8) -> Option<ProcessEntry<'a>> {
    let mut process = ProcessEntry { tid: entry.i64()?, pid: entry.i64()?, ppid: entry.i64()?, ..Default::default() };
    if version >= 6 {
        let _session = entry.i64()?;
    }
    if version >= 8 {
        let _vpgid = entry.i64()?;
    }
    process.comm = entry.counted()?;
    process.exe = entry.counted()?;
    if version >= 7 {
        process.exepath = Some(entry.counted()?);
    }
    process.args = entry.counted()?;
    process.cwd = entry.counted()?;
    let _fdlimit = entry.u64()?;
    let _flags_uid_gid = entry.bytes(12)?;
    if version >= 2 {
        let _vm_size_rss_swap = entry.bytes(12)?;
        let _pfmajor_pfminor = entry.bytes(16)?;
    }
    if version >= 3 {
        let _env = entry.counted()?;
    }
    if version >= 4 {
        let _vtid = entry.i64()?;
        process.vpid = Some(entry.i64()?);
        process.cgroups = entry.counted()?;
    }
    if version >= 5 {
        let _root = entry.counted()?;
    }
    Some(process)
}

fn fd<'a>(entry: &mut Cursor<'a>, tid: i64, sized: bool) -> Result<FdEntry<'a>, EntryError> {
    let mut read = || {
        let fd = entry.i64()?;
        let _inode = entry.u64()?;
        let fd_type = entry.u8()?;
        // Numbers of `scap_fd_type` (scap.h of falcosecurity/libs, 2026).
        let name = match fd_type {
            0 => Some(&[][..]),
            // IPv4 and IPv6 sockets and server sockets: addresses, ports, protocol.
            3 => entry.bytes(13).map(|_| &[][..]),
            4 => entry.bytes(37).map(|_| &[][..]),
            5 => entry.bytes(7).map(|_| &[][..]),
            6 => entry.bytes(19).map(|_| &[][..]),
            8 => {
                let _source_and_destination = entry.bytes(16)?;
                entry.counted()
            }
            16 => {
                let _open_flags = entry.u32()?;
                entry.counted()
            }
            1 | 2 | 7 | 9..=15 | 17..=21 => entry.counted(),
            // A descriptor of a newer kind can be passed over only if its entry says how long it is.
            _ if sized => Some(&[][..]),
            _ => return Some(Err(EntryError::Contradiction)),
        };
        Some(Ok(FdEntry { tid, fd, fd_type, name: name? }))
    };
    read().unwrap_or(Err(EntryError::TooShort))
}

fn interface<'a>(entry: &mut Cursor<'a>) -> Result<InterfaceEntry<'a>, EntryError> {
    let kind = entry.u16().ok_or(EntryError::TooShort)?;
    let name_length = entry.u16().ok_or(EntryError::TooShort)?;
    // Address, netmask and broadcast address, then the link speed where there is one.
    let (addresses, ipv6) = match kind {
        1 => (3 * 4 + 8, false),
        2 => (3 * 16 + 8, true),
        3 => (3 * 4, false),
        4 => (3 * 16, true),
        _ => return Err(EntryError::Contradiction),
    };
    let mut read = || {
        entry.bytes(addresses)?;
        entry.bytes(name_length.into())
    };
    Ok(InterfaceEntry { name: read().ok_or(EntryError::TooShort)?, ipv6 })
}

fn user<'a>(entry: &mut Cursor<'a>) -> Option<Entry<'a>> {
    if entry.u8()? == 0 {
        let uid = entry.u32()?;
        let _gid = entry.u32()?;
        let name = entry.counted()?;
        let _homedir = entry.counted()?;
        let _shell = entry.counted()?;
        Some(Entry::User(UserEntry { uid, name }))
    } else {
        Some(Entry::Group(GroupEntry { gid: entry.u32()?, name: entry.counted()? }))
    }
}
