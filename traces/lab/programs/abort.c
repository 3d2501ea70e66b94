/*
 * abort: dies by the libc's abort(), as after a failed assertion.
 *
 * glibc, static: the calls around the SIGABRT are the real ones. A capture shows tgkill to itself, SIGABRT with the
 * process as its own sender, and death: no page fault explains it.
 */
#include <stdlib.h>

int main(void)
{
	abort();
}
