/*
 * null-deref read|write|call [OFFSET]: goes through a NULL pointer, OFFSET bytes on (0: a member of a structure has more).
 *
 * A capture shows a fault in the first page (a read, a write or an instruction fetch), SIGSEGV and death.
 */
#include "bare.h"

int main(int argc, char **argv)
{
	/* From the arguments, so that the compiler cannot see that it is NULL. */
	unsigned long address = argc == 3 ? number(argv[2]) : 0;
	const char *access = argc == 2 || argc == 3 ? argv[1] : "";
	volatile int *pointer = (volatile int *)address;

	if (!strcmp(access, "read"))
		return *pointer;
	if (!strcmp(access, "write"))
		*pointer = 1;
	else if (!strcmp(access, "call"))
		((void (*)(void))address)();
	else
		usage("null-deref read|write|call [OFFSET]");
	return 0;
}
