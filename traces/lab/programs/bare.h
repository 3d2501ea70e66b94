/*
 * What a program without a libc needs: its start, system calls, text. bare.c holds the rest.
 *
 * Such a program makes no call to the kernel but those its source shows, so that a capture of it holds little else.
 */
#ifndef BARE_H
#define BARE_H

#include <asm/unistd.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

extern char **environment;
/* The value the kernel gave for `type` (AT_...) at the start, 0 where it gave none. */
unsigned long auxiliary(unsigned long type);

/* One system call: the result, or minus errno. */
static inline long kernel_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	register long sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

/* kernel(__NR_close, fd): arguments that are not given are 0. */
#define kernel(...) KERNEL_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define KERNEL_CALL(number, a, b, c, d, e, f, ...) \
	kernel_call((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

__attribute__((noreturn)) void leave(int status);
/* Like fork(): made of clone(SIGCHLD), as libcs do. */
long fork_process(void);
/* Waits for `pid`: its exit status, or 128 + the signal that killed it, as a shell gives. */
int wait_for(long pid);
/* Looks `name` up in PATH as execvp() does, and comes back only where nothing could be executed: minus errno. */
long execute(const char *name, char **argv);
/* A handler for `signal_number`, with SA_SIGINFO; NULL puts the default back. */
void catch_signal(int signal_number, void (*handler)(int, siginfo_t *, void *));

/* %s, %u, %x (both unsigned long), %09u (nine digits) and %%; one write() for the whole text, cut at 512 bytes. */
void print(int fd, const char *format, ...);
/* Ends the program with status 2, as every program here does on arguments it cannot take. */
__attribute__((noreturn)) void usage(const char *text);
/* A decimal or 0x number; anything else ends the program with status 2. */
unsigned long number(const char *text);

#endif
