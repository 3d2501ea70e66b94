/*
 * stack-overflow [KIB]: calls itself until a stack of KIB (256) is full.
 *
 * The small limit keeps the capture small: one write fault per page of the stack, the last of them followed by SIGSEGV.
 */
#include "bare.h"

#include <sys/resource.h>

#define FRAME 2048

static int deeper(volatile char *above, unsigned long levels)
{
	volatile char frame[FRAME];

	frame[0] = above[0];
	/* The sum keeps the compiler from making a loop of it. */
	return levels ? deeper(frame, levels - 1) + frame[0] : 0;
}

int main(int argc, char **argv)
{
	char first = 0;

	if (argc > 2)
		usage("stack-overflow [KIB]");
	unsigned long bytes = (argc == 2 ? number(argv[1]) : 256) * 1024;
	const struct rlimit limit = {bytes, bytes};
	kernel(__NR_setrlimit, RLIMIT_STACK, &limit);
	return deeper(&first, 2 * bytes / FRAME);
}
