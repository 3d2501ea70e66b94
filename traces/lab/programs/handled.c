/*
 * handled CALL|ADDR [exit|work|raise|fault|abort]: calls the vsyscall page with a handler for SIGSEGV in place.
 *
 *   exit   the handler ends the program with status 42 (the default)
 *   work   the handler returns from the call in the page's stead; the program goes on for a while and ends with 0
 *   raise  the handler puts the default back and returns: the same fault again, and death by SIGSEGV (crash reporters)
 *   fault  the handler faults itself, while SIGSEGV is blocked: death by SIGSEGV
 *   abort  the handler sends SIGABRT (the Java virtual machine): death by another signal than the one delivered first
 *
 * A capture shows the fetch, SIGSEGV and what became of the thread. Where the kernel emulates the call there is no signal,
 * and the program ends with 0. An ADDR that no entry point has faults under every mode.
 */
#define _GNU_SOURCE
#include "bare.h"
#include "page.h"

#include <fcntl.h>
#include <time.h>
#include <ucontext.h>

static void work(void)
{
	const struct timespec pause = {0, 1000000};

	for (int round = 0; round < 20; round++) {
		char byte;
		long fd = kernel(__NR_open, "/proc/self/stat", O_RDONLY);
		kernel(__NR_read, fd, &byte, 1);
		kernel(__NR_close, fd);
		kernel(__NR_nanosleep, &pause, 0);
	}
}

static void on_exit(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	leave(42);
}

static void on_work(int number, siginfo_t *info, void *context)
{
	ucontext_t *thread = context;
	greg_t *stack = (greg_t *)thread->uc_mcontext.gregs[REG_RSP];

	(void)number, (void)info;
	thread->uc_mcontext.gregs[REG_RAX] = -1;
	thread->uc_mcontext.gregs[REG_RIP] = *stack;
	thread->uc_mcontext.gregs[REG_RSP] += sizeof *stack;
}

static void on_raise(int number, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	catch_signal(number, NULL);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	*(volatile int *volatile)NULL;
}

static void on_abort(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	kernel(__NR_tgkill, kernel(__NR_getpid), kernel(__NR_gettid), SIGABRT);
}

static const struct {
	const char *name;
	void (*handler)(int, siginfo_t *, void *);
} manners[] = {{"exit", on_exit}, {"work", on_work}, {"raise", on_raise}, {"fault", on_fault}, {"abort", on_abort}};

int main(int argc, char **argv)
{
	const char *manner = argc == 3 ? argv[2] : "exit";
	void (*handler)(int, siginfo_t *, void *) = NULL;
	long buffer[2], second[2];

	for (size_t i = 0; i < sizeof manners / sizeof *manners; i++)
		if (!strcmp(manners[i].name, manner))
			handler = manners[i].handler;
	if (argc < 2 || argc > 3 || !handler)
		usage("handled time|gettimeofday|getcpu|ADDR [exit|work|raise|fault|abort]");
	unsigned long entry = page_entry(argv[1]);
	if (!entry)
		entry = number(argv[1]);

	catch_signal(SIGSEGV, handler);
	call_page(entry, buffer, second);
	work();
	return 0;
}
