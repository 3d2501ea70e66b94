/*
 * time32 [COUNT]: a 32-bit program that calls time() COUNT times (3000) through int 0x80. Built with -m32, without a libc.
 *
 * A 32-bit program without a vDSO enters the kernel for the time on every host. A capture shows COUNT time calls of this
 * program, and none of the others around it. Status 2 if COUNT is not a number.
 */

/* arch/x86/entry/syscalls/syscall_32.tbl; <asm/unistd.h> would give this machine's 64-bit numbers. */
#define NR_EXIT 1
#define NR_TIME 13

static long kernel(long number, long argument)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(argument) : "memory");
	return result;
}

/* A decimal number; -1 for anything else. */
static long count_from(const char *text)
{
	long count = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || count > 100000000)
			return -1;
		count = count * 10 + (*text - '0');
	}
	return count;
}

__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %esp, %eax\n"
	"	and $-16, %esp\n"
	"	sub $12, %esp\n"
	"	push %eax\n"
	"	call start\n");

__attribute__((noreturn, used)) static void start(long *stack) __asm__("start");
static void start(long *stack)
{
	long argc = stack[0];
	char **argv = (char **)(stack + 1);
	long count = argc == 1 ? 3000 : argc == 2 ? count_from(argv[1]) : -1;
	long status = count < 0 ? 2 : 0;

	for (; count > 0; count--)
		kernel(NR_TIME, 0);
	for (;;)
		kernel(NR_EXIT, status);
}
