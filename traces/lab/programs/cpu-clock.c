/*
 * cpu-clock process|thread [COUNT]: asks the vDSO COUNT times (3000) for the processor time used so far.
 *
 * The vDSO does not serve these clocks: each call enters the kernel, on a healthy host with clocksource tsc too. A capture
 * shows COUNT clock_gettime calls, and cannot tell which clock they asked for.
 */
#include "bare.h"
#include "vdso.h"

#include <time.h>

int main(int argc, char **argv)
{
	const char *of = argc == 2 || argc == 3 ? argv[1] : "";
	clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
	struct timespec used;

	if (!strcmp(of, "thread"))
		clock = CLOCK_THREAD_CPUTIME_ID;
	else if (strcmp(of, "process"))
		usage("cpu-clock process|thread [COUNT]");
	unsigned long count = argc == 3 ? number(argv[2]) : 3000;
	int (*ask_vdso)(clockid_t, struct timespec *) = vdso_function("__vdso_clock_gettime");

	for (; count; count--)
		if (ask_vdso)
			ask_vdso(clock, &used);
		else
			kernel(__NR_clock_gettime, clock, &used);
	return 0;
}
