/* sigfpe: divides by zero, in integers. A capture shows SIGFPE from the kernel and death, without a page fault. */
#include "bare.h"

int main(int argc, char **argv)
{
	volatile int zero = 0;

	(void)argv;
	return argc / zero;
}
