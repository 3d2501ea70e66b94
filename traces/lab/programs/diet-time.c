/*
 * diet-time time|gettimeofday [COUNT]: asks dietlibc for the time, COUNT times (1). Built with `diet gcc`.
 *
 * A real libc of today that uses the vsyscall page. Where the kernel gave a vDSO, both calls go through that. Where it gave
 * none (vdso=0), dietlibc 0.34 takes the page for the vDSO's ELF image, and dies at its first call: under none and xonly
 * by a read of 0xffffffffff60003c (e_shnum), under emulate by an address made of what it reads there, which is not
 * canonical: SIGSEGV without a page fault. It never calls an entry point.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

int main(int argc, char **argv)
{
	const char *call = argc == 2 || argc == 3 ? argv[1] : "";
	long count = argc == 3 ? atol(argv[2]) : 1;
	struct timeval now;

	if (!strcmp(call, "time"))
		for (; count > 0; count--)
			time(&now.tv_sec);
	else if (!strcmp(call, "gettimeofday"))
		for (; count > 0; count--)
			gettimeofday(&now, NULL);
	else
		return 2;
	return 0;
}
