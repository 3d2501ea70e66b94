/*
 * locks [ROUNDS [THREADS]]: THREADS (12) threads that want one lock, ROUNDS (60) times each, and sleep while they hold it.
 *
 * A thread that finds the lock taken is busy elsewhere for a moment, and then waits for the number of releases to change from
 * what it was when it looked (as monitors and condition variables do). Every fourth time the moment is longer than the lock
 * is held: the number has changed, and the kernel says EAGAIN. A capture shows futex calls with most of the threads' time
 * in system calls, and failures among them. Sleeping, not computing, makes that so on any machine. glibc, static. It prints:
 *
 *     waits=1065 eagain=373 threads=12 rounds=60
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define HOLD_US 200
#define SHORT_US 50
#define LONG_US 600

static atomic_int taken, releases;
static atomic_long waits, eagain;
static pthread_barrier_t everyone_runs;
static long rounds = 60, threads = 12;

static void rest(long microseconds)
{
	const struct timespec pause = {0, microseconds * 1000};

	nanosleep(&pause, NULL);
}

static void take(void)
{
	for (;;) {
		int seen = releases;
		if (!atomic_exchange(&taken, 1))
			return;
		rest(++waits % 4 ? SHORT_US : LONG_US);
		if (syscall(SYS_futex, &releases, FUTEX_WAIT_PRIVATE, seen, NULL) && errno == EAGAIN)
			eagain++;
	}
}

static void give_back(void)
{
	taken = 0;
	releases++;
	syscall(SYS_futex, &releases, FUTEX_WAKE_PRIVATE, 1);
}

static void *contend(void *unused)
{
	pthread_barrier_wait(&everyone_runs);
	for (long round = 0; round < rounds; round++) {
		take();
		rest(HOLD_US);
		give_back();
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t running[MAX_THREADS];

	if (argc > 1)
		rounds = atol(argv[1]);
	if (argc > 2)
		threads = atol(argv[2]);
	if (argc > 3 || rounds < 1 || threads < 2 || threads > MAX_THREADS) {
		fputs("usage: locks [ROUNDS [THREADS]] (2 to 64 threads)\n", stderr);
		return 2;
	}

	pthread_barrier_init(&everyone_runs, NULL, (unsigned)threads);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&running[i], NULL, contend, NULL))
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(running[i], NULL);
	printf("waits=%ld eagain=%ld threads=%ld rounds=%ld\n", waits, eagain, threads, rounds);
	return 0;
}
