/* sigill: executes an instruction that does not exist (ud2). A capture shows SIGILL and death, without a page fault. */
#include "bare.h"

int main(void)
{
	__asm__ volatile("ud2");
	return 0;
}
