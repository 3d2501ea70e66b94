/*
 * bad-access read-only|no-execute|unmapped|noncanonical: touches memory in a way it may not.
 *
 *   read-only     writes to a page it may only read: a write fault, PROTECTION_VIOLATION
 *   no-execute    calls a page that holds data: an instruction fetch, PROTECTION_VIOLATION, far from the vsyscall page
 *   unmapped      reads 0x123456789000, where nothing is: a read fault, PAGE_NOT_PRESENT
 *   noncanonical  reads 0x8000000000000000: a general protection fault, hence no page fault at all
 *
 * A capture of each ends with SIGSEGV and death.
 */
#include "bare.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
	const char *access = argc == 2 ? argv[1] : "";
	unsigned long page = (unsigned long)kernel(__NR_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Read once: the fault to come is of protection, not of a page that is not there yet. */
	*(volatile char *)page;
	if (!strcmp(access, "read-only"))
		*(volatile char *)page = 1;
	else if (!strcmp(access, "no-execute"))
		((void (*)(void))page)();
	else if (!strcmp(access, "unmapped"))
		*(volatile char *)0x123456789000ul;
	else if (!strcmp(access, "noncanonical"))
		*(volatile char *)0x8000000000000000ul;
	else
		usage("bad-access read-only|no-execute|unmapped|noncanonical");
	return 0;
}
