/*
 * oom [MIB]: takes memory, a MiB at a time, until it is killed or has MIB (256): then it ends with status 1.
 *
 * For a memory cgroup with a lower limit than that. The kernel fills the pages in mmap (MAP_POPULATE), so a capture holds one
 * call per MiB and not a page fault per page; then SIGKILL, with no sender among the processes.
 */
#include "bare.h"

#include <sys/mman.h>

#define MIB (1024 * 1024)

int main(int argc, char **argv)
{
	if (argc > 2)
		usage("oom [MIB]");
	unsigned long wanted = argc == 2 ? number(argv[1]) : 256;

	for (unsigned long taken = 0; taken < wanted; taken++) {
		long chunk = kernel(__NR_mmap, 0, MIB, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (chunk < 0 && chunk > -4096) {
			print(2, "oom: the kernel gives no more after %u MiB\n", taken);
			return 1;
		}
	}
	print(2, "oom: not killed with %u MiB\n", wanted);
	return 1;
}
