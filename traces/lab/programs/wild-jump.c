/*
 * wild-jump [ADDR]: calls ADDR (0x123456789000), where nothing is.
 *
 * A capture shows an instruction fetch there, SIGSEGV and death. 0xffffffffff5ff400 lies one page below the vsyscall page; an
 * address that is not canonical (0x800000000000) gives a general protection fault: SIGSEGV without a page fault.
 */
#include "bare.h"

int main(int argc, char **argv)
{
	if (argc > 2)
		usage("wild-jump [ADDR]");
	unsigned long address = argc == 2 ? number(argv[1]) : 0x123456789000ul;

	((void (*)(void))address)();
	return 0;
}
