/*
 * forked-crash CALL|ADDR [report|go-on]: a child calls the vsyscall page, the parent waits for it.
 *
 * Where the call kills, it is the child that dies, and with `report` (the default) the parent ends with status 139 by an
 * ordinary exit, as a shell does; with `go-on` it works on and ends with 0. A capture shows one crash, in the child.
 */
#include "bare.h"
#include "page.h"

int main(int argc, char **argv)
{
	long buffer[2], second[2];
	const char *manner = argc == 3 ? argv[2] : "report";

	if (argc < 2 || argc > 3 || (strcmp(manner, "report") && strcmp(manner, "go-on")))
		usage("forked-crash time|gettimeofday|getcpu|ADDR [report|go-on]");
	unsigned long entry = page_entry(argv[1]);
	if (!entry)
		entry = number(argv[1]);

	long child = fork_process();
	if (child == 0) {
		call_page(entry, buffer, second);
		leave(0);
	}
	int status = wait_for(child);
	print(1, "child %u ended with status %u\n", child, (unsigned long)status);
	return strcmp(manner, "go-on") ? status : 0;
}
