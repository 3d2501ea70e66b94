/*
 * sigsys kill-process|kill-thread|trap: makes a call (sysinfo) that its own seccomp filter forbids.
 *
 * The filter's verdict is the first argument: the kernel kills the process or the thread with SIGSYS, or (trap) delivers
 * SIGSYS, which kills as no handler is there. A capture shows death by SIGSYS and no page fault.
 */
#include "bare.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

static unsigned verdict(const char *name)
{
	if (!strcmp(name, "kill-process"))
		return SECCOMP_RET_KILL_PROCESS;
	if (!strcmp(name, "kill-thread"))
		return SECCOMP_RET_KILL_THREAD;
	if (!strcmp(name, "trap"))
		return SECCOMP_RET_TRAP;
	usage("sigsys kill-process|kill-thread|trap");
}

int main(int argc, char **argv)
{
	char information[256];
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sysinfo, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict(argc == 2 ? argv[1] : "")),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

	kernel(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1);
	if (kernel(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) {
		print(2, "sigsys: the kernel refuses the filter\n");
		return 1;
	}
	kernel(__NR_sysinfo, information);
	return 0;
}
