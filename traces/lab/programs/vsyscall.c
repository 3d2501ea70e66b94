/*
 * vsyscall CALL [COUNT [POINTER]]: calls time, gettimeofday or getcpu in the vsyscall page, COUNT times (1).
 *
 * A capture with page faults shows COUNT instruction fetches at the entry point and no system call; under vsyscall=none
 * the first is followed by SIGSEGV. POINTER is handed over instead of a good buffer: the kernel refuses one that cannot
 * be written (0x1000) with SIGSEGV also where it emulates the call.
 */
#include "bare.h"
#include "page.h"

int main(int argc, char **argv)
{
	long buffer[2], second[2];
	unsigned long entry = argc > 1 ? page_entry(argv[1]) : 0;

	if (!entry || argc > 4)
		usage("vsyscall time|gettimeofday|getcpu [COUNT [POINTER]]");
	unsigned long count = argc > 2 ? number(argv[2]) : 1;
	void *first = argc > 3 ? (void *)number(argv[3]) : buffer;

	for (unsigned long done = 0; done < count; done++)
		call_page(entry, first, second);
	return 0;
}
