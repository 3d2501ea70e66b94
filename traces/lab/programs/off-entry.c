/*
 * off-entry ADDR: jumps to ADDR by `ret`, as return-oriented programming does, with a good return address behind it.
 *
 * For addresses in the vsyscall page that are no entry point: 0xffffffffff600009 (the `ret` of the native page, once a gift
 * to exploits), 0xffffffffff600402 (the middle of an entry), 0xffffffffff600c00 (the slot that was never used). A capture
 * shows the fetch off the entry points, and SIGSEGV under every vsyscall mode: no kernel of today emulates it.
 */
#include "bare.h"

int main(int argc, char **argv)
{
	if (argc != 2)
		usage("off-entry ADDR");
	unsigned long target = number(argv[1]);

	__asm__ volatile("lea 1f(%%rip), %%rcx\n"
			 "	push %%rcx\n"
			 "	push %0\n"
			 "	ret\n"
			 "1:\n"
			 :
			 : "r"(target)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	return 0;
}
