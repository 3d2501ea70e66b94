/*
 * wrapper PROG [ARG...]: runs PROG and ends with its status, 128 + the signal if one killed it, as a shell does.
 *
 * A capture of a crash in PROG shows the wrapper end with status 139 (procexit: 35584) by an ordinary exit, without a
 * signal: it reports a crash, it did not crash.
 */
#include "bare.h"

int main(int argc, char **argv)
{
	if (argc < 2)
		usage("wrapper PROG [ARG...]");

	long child = fork_process();
	if (child == 0) {
		execute(argv[1], argv + 1);
		print(2, "%s: cannot be executed\n", argv[1]);
		leave(127);
	}
	int status = wait_for(child);
	if (status > 128)
		print(2, "wrapper: %s was killed by signal %u\n", argv[1], (unsigned long)status - 128);
	return status;
}
