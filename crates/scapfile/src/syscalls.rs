//! Names the system calls that have no event type of their own.
//!
//! Such a call is recorded as the event `syscall` (the "generic" event) with the call's code as its
//! first parameter. The code is not the kernel's number: it is the same on every architecture, and
//! codes have only ever been added.

use crate::event::Event;
use crate::schema;

/// Event types 0 (enter) and 1 (exit) are the generic event.
const GENERIC_EXIT: u16 = 1;

/// The system call of code `code` (`PPM_SC_…` of falcosecurity/libs); empty for one that is unknown.
#[must_use]
pub fn name(code: u64) -> &'static str {
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).copied().unwrap_or_default()
}

/// All names there are, with their codes.
pub fn names() -> impl Iterator<Item = (u16, &'static str)> {
    (0..).zip(NAMES.iter().copied()).filter(|(_, name)| !name.is_empty())
}

impl Event<'_> {
    /// Whether this is a system call without an event type of its own, whose code is its first parameter.
    #[inline]
    #[must_use]
    pub fn is_generic(&self) -> bool {
        self.event_type <= GENERIC_EXIT
    }

    /// The event's name as sysdig has it in `evt.type`: for a generic event, the system call's.
    ///
    /// Empty for an event type that is newer than this program. A generic event whose call is
    /// unknown is named `syscall`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.is_generic()
            && let Some(code) = self.params().ok().and_then(|params| params.unsigned(0))
            && let call = name(code)
            && !call.is_empty()
        {
            return call;
        }
        schema::name(self.event_type)
    }
}

/// Names by code, from the constants `ppm_sc_code_PPM_SC_…` of the crate `falco_event_schema`; `""`
/// where a code is not given out.
#[rustfmt::skip]
const NAMES: [&str; 449] = [
    "", "restart_syscall", "exit", "read", "write", "open", "close", "creat", "link", "unlink", "chdir", "time",
    "mknod", "chmod", "stat", "lseek", "getpid", "mount", "ptrace", "alarm", "fstat", "pause", "utime", "access",
    "sync", "kill", "rename", "mkdir", "rmdir", "dup", "pipe", "times", "brk", "acct", "ioctl", "fcntl", "setpgid",
    "umask", "chroot", "ustat", "dup2", "getppid", "getpgrp", "setsid", "sethostname", "setrlimit", "getrusage",
    "gettimeofday", "settimeofday", "symlink", "lstat", "readlink", "uselib", "swapon", "reboot", "mmap", "munmap",
    "truncate", "ftruncate", "fchmod", "getpriority", "setpriority", "statfs", "fstatfs", "syslog", "setitimer",
    "getitimer", "uname", "vhangup", "wait4", "swapoff", "sysinfo", "fsync", "setdomainname", "adjtimex", "mprotect",
    "init_module", "delete_module", "quotactl", "getpgid", "fchdir", "sysfs", "personality", "getdents", "select",
    "flock", "msync", "readv", "writev", "getsid", "fdatasync", "mlock", "munlock", "mlockall", "munlockall",
    "sched_setparam", "sched_getparam", "sched_setscheduler", "sched_getscheduler", "sched_yield",
    "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval", "nanosleep", "mremap", "poll",
    "prctl", "rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigtimedwait", "rt_sigqueueinfo", "rt_sigsuspend",
    "getcwd", "capget", "capset", "sendfile", "getrlimit", "lchown", "getuid", "getgid", "geteuid", "getegid",
    "setreuid", "setregid", "getgroups", "setgroups", "fchown", "setresuid", "getresuid", "setresgid", "getresgid",
    "chown", "setuid", "setgid", "setfsuid", "setfsgid", "pivot_root", "mincore", "madvise", "gettid", "setxattr",
    "lsetxattr", "fsetxattr", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
    "removexattr", "lremovexattr", "fremovexattr", "tkill", "futex", "sched_setaffinity", "sched_getaffinity",
    "set_thread_area", "get_thread_area", "io_setup", "io_destroy", "io_getevents", "io_submit", "io_cancel",
    "exit_group", "epoll_create", "epoll_ctl", "epoll_wait", "remap_file_pages", "set_tid_address", "timer_create",
    "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete", "clock_settime", "clock_gettime",
    "clock_getres", "clock_nanosleep", "tgkill", "utimes", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive",
    "mq_notify", "mq_getsetattr", "kexec_load", "waitid", "add_key", "request_key", "keyctl", "ioprio_set",
    "ioprio_get", "inotify_init", "inotify_add_watch", "inotify_rm_watch", "openat", "mkdirat", "mknodat", "fchownat",
    "futimesat", "unlinkat", "renameat", "linkat", "symlinkat", "readlinkat", "fchmodat", "faccessat", "pselect6",
    "ppoll", "unshare", "set_robust_list", "get_robust_list", "splice", "tee", "vmsplice", "getcpu", "epoll_pwait",
    "utimensat", "signalfd", "timerfd_create", "eventfd", "timerfd_settime", "timerfd_gettime", "signalfd4",
    "eventfd2", "epoll_create1", "dup3", "pipe2", "inotify_init1", "preadv", "pwritev", "rt_tgsigqueueinfo",
    "perf_event_open", "fanotify_init", "prlimit64", "clock_adjtime", "syncfs", "setns", "getdents64", "socket",
    "bind", "connect", "listen", "accept", "getsockname", "getpeername", "socketpair", "sendto", "recvfrom",
    "shutdown", "setsockopt", "getsockopt", "sendmsg", "sendmmsg", "recvmsg", "recvmmsg", "accept4", "semop",
    "semget", "semctl", "msgsnd", "msgrcv", "msgget", "msgctl", "shmdt", "shmget", "shmctl", "statfs64", "fstatfs64",
    "fstatat64", "sendfile64", "ugetrlimit", "bdflush", "sigprocmask", "ipc", "socketcall", "stat64", "lstat64",
    "fstat64", "fcntl64", "mmap2", "_newselect", "sgetmask", "ssetmask", "sigpending", "olduname", "umount", "signal",
    "nice", "stime", "_llseek", "waitpid", "pread64", "pwrite64", "arch_prctl", "shmat", "rt_sigreturn", "fallocate",
    "newfstatat", "process_vm_readv", "process_vm_writev", "fork", "vfork", "setuid32", "getuid32", "setgid32",
    "geteuid32", "getgid32", "setresuid32", "setresgid32", "getresuid32", "getresgid32", "finit_module", "bpf",
    "seccomp", "sigaltstack", "getrandom", "fadvise64", "renameat2", "userfaultfd", "openat2", "umount2", "execve",
    "execveat", "copy_file_range", "clone", "clone3", "open_by_handle_at", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "mlock2", "getegid32", "fsconfig", "fspick", "fsmount", "fsopen", "open_tree", "move_mount",
    "mount_setattr", "memfd_create", "memfd_secret", "ioperm", "kexec_file_load", "pidfd_getfd", "pidfd_open",
    "pidfd_send_signal", "pkey_alloc", "pkey_mprotect", "pkey_free", "landlock_create_ruleset", "quotactl_fd",
    "landlock_restrict_self", "landlock_add_rule", "epoll_pwait2", "migrate_pages", "move_pages", "preadv2",
    "pwritev2", "kcmp", "sched_setattr", "mbind", "epoll_ctl_old", "lookup_dcookie", "modify_ldt", "statx",
    "set_mempolicy", "io_pgetevents", "set_mempolicy_home_node", "semtimedop", "get_kernel_syms", "readahead",
    "futex_waitv", "getpmsg", "name_to_handle_at", "process_mrelease", "nfsservctl", "epoll_wait_old", "rseq",
    "create_module", "", "sched_getattr", "faccessat2", "_sysctl", "query_module", "get_mempolicy", "sync_file_range",
    "process_madvise", "membarrier", "iopl", "close_range", "fanotify_mark", "recv", "send", "sched_process_exit",
    "sched_switch", "page_fault_user", "page_fault_kernel", "signal_deliver", "timerfd", "s390_pci_mmio_read",
    "sigaction", "s390_pci_mmio_write", "readdir", "s390_sthyi", "sigsuspend", "idle", "s390_runtime_instr",
    "sigreturn", "s390_guarded_storage", "cachestat", "fchmodat2", "map_shadow_stack", "riscv_flush_icache",
    "riscv_hwprobe", "futex_wake", "futex_requeue", "futex_wait", "oldstat", "switch_endian", "multiplexer",
    "oldlstat", "spu_create", "sync_file_range2", "oldfstat", "spu_run", "swapcontext", "pciconfig_write", "rtas",
    "pciconfig_read", "sys_debug_setcontext", "vm86", "oldolduname", "subpage_prot", "pciconfig_iobase", "listmount",
    "statmount", "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal", "uretprobe", "removexattrat",
    "listxattrat", "getxattrat", "setxattrat", "open_tree_attr",
];

#[cfg(test)]
mod tests {
    use falco_event_schema::ffi;

    use super::*;

    #[test]
    fn names_stand_at_the_codes_of_the_event_table() {
        assert_eq!(NAMES.len(), ffi::ppm_sc_code_PPM_SC_MAX as usize);
        let known = [
            (ffi::ppm_sc_code_PPM_SC_EXIT, "exit"),
            (ffi::ppm_sc_code_PPM_SC_TIME, "time"),
            (ffi::ppm_sc_code_PPM_SC_GETTIMEOFDAY, "gettimeofday"),
            (ffi::ppm_sc_code_PPM_SC_CLOCK_GETTIME, "clock_gettime"),
            (ffi::ppm_sc_code_PPM_SC_GETCPU, "getcpu"),
            (ffi::ppm_sc_code_PPM_SC_ARCH_PRCTL, "arch_prctl"),
            (ffi::ppm_sc_code_PPM_SC_CREATE_MODULE, "create_module"),
            (ffi::ppm_sc_code_PPM_SC_SCHED_GETATTR, "sched_getattr"),
            (ffi::ppm_sc_code_PPM_SC_OPEN_TREE_ATTR, "open_tree_attr"),
        ];
        for (code, call) in known {
            assert_eq!(name(code.into()), call);
        }
        assert_eq!((name(0), name(449), name(u64::MAX)), ("", "", ""));
    }
}
