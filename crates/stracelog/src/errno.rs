//! Numbers of the errors that strace names.

/// The number of an error; `None` for a word that names none.
pub(crate) fn number(name: &[u8]) -> Option<i64> {
    let at = NAMES.iter().position(|known| known.as_bytes() == name && !known.is_empty());
    let alias = || ALIASES.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, number)| *number);
    at.and_then(|at| i64::try_from(at).ok()).or_else(alias)
}

/// Within the kernel only (include/linux/errno.h), and a second name.
const ALIASES: [(&str, i64); 6] = [
    ("ERESTARTSYS", 512),
    ("ERESTARTNOINTR", 513),
    ("ERESTARTNOHAND", 514),
    ("ENOIOCTLCMD", 515),
    ("ERESTART_RESTARTBLOCK", 516),
    ("EOPNOTSUPP", 95),
];

/// By number, of all architectures but alpha, mips, parisc and sparc (include/uapi/asm-generic/errno-base.h and
/// errno.h).
#[rustfmt::skip]
const NAMES: [&str; 134] = [
    "", "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN", "ENOMEM",
    "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE",
    "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE",
    "EDEADLK", "ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP", "", "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC",
    "EL3HLT", "EL3RST", "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT", "EBADE", "EBADR", "EXFULL", "ENOANO", "EBADRQC",
    "EBADSLT", "", "EBFONT", "ENOSTR", "ENODATA", "ETIME", "ENOSR", "ENONET", "ENOPKG", "EREMOTE", "ENOLINK", "EADV",
    "ESRMNT", "ECOMM", "EPROTO", "EMULTIHOP", "EDOTDOT", "EBADMSG", "EOVERFLOW", "ENOTUNIQ", "EBADFD", "EREMCHG",
    "ELIBACC", "ELIBBAD", "ELIBSCN", "ELIBMAX", "ELIBEXEC", "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK",
    "EDESTADDRREQ", "EMSGSIZE", "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ENOTSUP",
    "EPFNOSUPPORT", "EAFNOSUPPORT", "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENETRESET",
    "ECONNABORTED", "ECONNRESET", "ENOBUFS", "EISCONN", "ENOTCONN", "ESHUTDOWN", "ETOOMANYREFS", "ETIMEDOUT",
    "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "EALREADY", "EINPROGRESS", "ESTALE", "EUCLEAN", "ENOTNAM", "ENAVAIL",
    "EISNAM", "EREMOTEIO", "EDQUOT", "ENOMEDIUM", "EMEDIUMTYPE", "ECANCELED", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED",
    "EKEYREJECTED", "EOWNERDEAD", "ENOTRECOVERABLE", "ERFKILL", "EHWPOISON",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_numbers_that_the_kernel_gives_them() {
        for (name, expected) in [
            ("EPERM", 1),
            ("ENOENT", 2),
            ("EAGAIN", 11),
            ("EDEADLK", 35),
            ("ENOSYS", 38),
            ("ELOOP", 40),
            ("ENOMSG", 42),
            ("EBFONT", 59),
            ("EILSEQ", 84),
            ("EOPNOTSUPP", 95),
            ("ETIMEDOUT", 110),
            ("EINPROGRESS", 115),
            ("EHWPOISON", 133),
            ("ERESTARTSYS", 512),
        ] {
            assert_eq!(number(name.as_bytes()), Some(expected), "{name}");
        }
        assert_eq!((number(b""), number(b"E"), number(b"(Timeout)")), (None, None, None));
    }
}
