/*
 * threads-crash CALL|ADDR [thread|main]: four threads at ordinary work; then one of them, or the main thread, calls the
 * vsyscall page.
 *
 * glibc, static: threads as programs have them. A capture shows the fetch and SIGSEGV in one thread only, then the
 * death of all: SIGKILL takes the others with it. Where the call is emulated, all finish their work and the status is 0.
 */
#include "page.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 300
#define ROUND_OF_THE_CALL 30

static unsigned long entry;
static pthread_barrier_t everyone_runs;

static void work(int rounds)
{
	const struct timespec pause = {0, 1000000};
	char byte;

	for (; rounds > 0; rounds--) {
		int fd = open("/proc/self/stat", O_RDONLY);
		if (fd < 0 || read(fd, &byte, 1) != 1)
			exit(1);
		close(fd);
		nanosleep(&pause, NULL);
	}
}

static void run(bool calls_the_page)
{
	long buffer[2], second[2];

	pthread_barrier_wait(&everyone_runs);
	work(ROUND_OF_THE_CALL);
	if (calls_the_page)
		call_page(entry, buffer, second);
	work(ROUNDS - ROUND_OF_THE_CALL);
}

static void *worker(void *calls_the_page)
{
	run(calls_the_page != NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	const char *where = argc == 3 ? argv[2] : "thread";
	bool in_main = !strcmp(where, "main");
	char *end = "";

	if (argc == 2 || argc == 3) {
		entry = page_entry(argv[1]);
		if (!entry)
			entry = strtoul(argv[1], &end, 0);
	}
	if (!entry || *end || (!in_main && strcmp(where, "thread"))) {
		fputs("usage: threads-crash time|gettimeofday|getcpu|ADDR [thread|main]\n", stderr);
		return 2;
	}

	pthread_barrier_init(&everyone_runs, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, worker, i == 1 && !in_main ? &entry : NULL))
			return 1;
	run(in_main);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
