/*
 * self-kill SIG: sends itself signal number SIG by kill(); 0 if it outlives that.
 *
 * `self-kill 11` is the SIGSEGV that no fault caused: a capture shows kill, and SIGSEGV with the process as its sender.
 */
#include "bare.h"

int main(int argc, char **argv)
{
	if (argc != 2)
		usage("self-kill SIG");
	if (kernel(__NR_kill, kernel(__NR_getpid), number(argv[1]))) {
		print(2, "self-kill: there is no signal %s\n", argv[1]);
		return 2;
	}
	return 0;
}
