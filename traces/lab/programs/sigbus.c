/*
 * sigbus: maps two pages of a file that has one, and reads the second.
 *
 * A capture shows memfd_create, mmap, a read fault in the mapping and SIGBUS: the address is mapped, the file ends before it.
 */
#include "bare.h"

#include <sys/mman.h>

int main(void)
{
	long fd = kernel(__NR_memfd_create, "one page", 0);

	kernel(__NR_ftruncate, fd, 4096);
	volatile char *file = (volatile char *)kernel(__NR_mmap, 0, 8192, PROT_READ, MAP_SHARED, fd, 0);
	return file[4096];
}
