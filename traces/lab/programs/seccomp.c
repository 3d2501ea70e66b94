/*
 * seccomp [--uncached] PROG [ARG...]: executes PROG under a seccomp filter like that of Docker's default profile.
 * seccomp --size: prints how many comparisons the filter holds.
 *
 * The filter allows every x86-64 call of Linux 6.1 but those that Docker refuses a container without added capabilities,
 * one comparison per call in the order of their numbers: so libseccomp emits Docker's (measured with libseccomp 2.5.4). The
 * arguments are not looked at (Docker's filter does for personality, clone and socket). 32-bit calls are allowed.
 *
 * Since Linux 5.11 the kernel remembers the calls that a filter allows whatever their arguments, and no longer runs it for
 * them (kernel/seccomp.c, seccomp_cache_check_allow). --uncached loads an argument before all else: the filter runs for
 * every call, as on older kernels. Its cost lies before the enter event: between one call's exit and the next one's enter.
 */
#include "bare.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>

/* What Docker's default profile refuses: https://docs.docker.com/engine/security/seccomp/, and calls without a use. */
static const unsigned refused[] = {
	__NR__sysctl, __NR_acct, __NR_add_key, __NR_afs_syscall, __NR_bpf, __NR_clock_settime, __NR_create_module,
	__NR_delete_module, __NR_fanotify_init, __NR_finit_module, __NR_fsconfig, __NR_fsmount, __NR_fsopen, __NR_fspick,
	__NR_get_kernel_syms, __NR_get_mempolicy, __NR_getpmsg, __NR_init_module, __NR_ioperm, __NR_iopl, __NR_kcmp,
	__NR_kexec_file_load, __NR_kexec_load, __NR_keyctl, __NR_lookup_dcookie, __NR_mbind, __NR_migrate_pages, __NR_mount,
	__NR_mount_setattr, __NR_move_mount, __NR_move_pages, __NR_nfsservctl, __NR_open_by_handle_at, __NR_open_tree,
	__NR_perf_event_open, __NR_pidfd_getfd, __NR_pivot_root, __NR_process_madvise, __NR_putpmsg, __NR_query_module,
	__NR_quotactl, __NR_quotactl_fd, __NR_reboot, __NR_request_key, __NR_security, __NR_set_mempolicy,
	__NR_set_mempolicy_home_node, __NR_setdomainname, __NR_sethostname, __NR_setns, __NR_settimeofday, __NR_swapoff,
	__NR_swapon, __NR_sysfs, __NR_syslog, __NR_tuxcall, __NR_umount2, __NR_unshare, __NR_uselib, __NR_userfaultfd,
	__NR_ustat, __NR_vhangup, __NR_vserver,
};

/* x86-64 numbers its calls 0 to 334, and goes on at 424 (arch/x86/entry/syscalls/syscall_64.tbl). */
#define LAST_OLD __NR_rseq
#define FIRST_NEW __NR_pidfd_send_signal
#define LAST_NEW __NR_set_mempolicy_home_node
#define X32 0x40000000

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS_EQUAL_SKIP_NEXT(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define UNLESS_ABOVE_SKIP_NEXT(value) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), 0, 1)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)

static struct sock_filter filter[1024];
static unsigned short length;
static unsigned long comparisons;

static void add(struct sock_filter instruction)
{
	filter[length++] = instruction;
}

static bool is_refused(unsigned call)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (refused[i] == call)
			return true;
	return false;
}

static void add_calls(unsigned first, unsigned last)
{
	for (unsigned call = first; call <= last; call++) {
		if (is_refused(call))
			continue;
		add((struct sock_filter)UNLESS_EQUAL_SKIP_NEXT(call));
		/* A libc goes on without clone3 only where it seems not to exist. */
		if (call == __NR_clone3)
			add((struct sock_filter)RETURN(SECCOMP_RET_ERRNO | ENOSYS));
		else
			add((struct sock_filter)ALLOW);
		comparisons++;
	}
}

static void build(bool uncached)
{
	if (uncached)
		add((struct sock_filter)LOAD(args[0]));
	add((struct sock_filter)LOAD(arch));
	add((struct sock_filter)UNLESS_EQUAL_SKIP_NEXT(AUDIT_ARCH_I386));
	add((struct sock_filter)ALLOW);
	add((struct sock_filter)LOAD(nr));
	add((struct sock_filter)UNLESS_ABOVE_SKIP_NEXT(X32));
	add((struct sock_filter)REFUSE);
	add_calls(0, LAST_OLD);
	add_calls(FIRST_NEW, LAST_NEW);
	add((struct sock_filter)REFUSE);
}

int main(int argc, char **argv)
{
	bool uncached = argc > 1 && !strcmp(argv[1], "--uncached");
	char **program = argv + (uncached ? 2 : 1);

	if (argc < (uncached ? 3 : 2))
		usage("seccomp [--uncached] PROG [ARG...] | seccomp --size");
	build(uncached);
	if (!strcmp(program[0], "--size")) {
		print(1, "comparisons=%u\n", comparisons);
		return 0;
	}

	struct sock_fprog loaded = {length, filter};
	long error = kernel(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1);
	if (!error)
		error = kernel(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded);
	if (error) {
		print(2, "seccomp: the kernel refuses the filter (errno %u)\n", -error);
		return 1;
	}
	execute(program[0], program);
	print(2, "%s: cannot be executed\n", program[0]);
	return 127;
}
