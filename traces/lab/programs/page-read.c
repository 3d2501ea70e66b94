/*
 * page-read [ADDR [die|catch]]: reads eight bytes of the vsyscall page (0xffffffffff600400), as data.
 *
 * Under emulate the page can be read, and the program prints what is there; under xonly and none the read faults (a read,
 * not a fetch): death by SIGSEGV, or with `catch` a handler that ends the program with 42.
 */
#include "bare.h"
#include "page.h"

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	leave(42);
}

int main(int argc, char **argv)
{
	unsigned long address = argc > 1 ? number(argv[1]) : PAGE_TIME;

	if (argc > 3 || (argc == 3 && strcmp(argv[2], "catch") && strcmp(argv[2], "die")))
		usage("page-read [ADDR [die|catch]]");
	if (argc == 3 && !strcmp(argv[2], "catch"))
		catch_signal(SIGSEGV, on_fault);
	print(1, "%x\n", *(const volatile unsigned long *)address);
	return 0;
}
