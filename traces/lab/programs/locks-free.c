/*
 * locks-free [JOBS]: workers that wait on a condition variable for JOBS (50) jobs, one every 10 milliseconds.
 *
 * Most of their time is in futex here too, as it is of any pool of threads with little to do; but they wait for work, not for
 * each other, and next to nothing fails. No finding. glibc, static.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long waiting_jobs, done_jobs;
static bool closed;

static void *worker(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!waiting_jobs && !closed)
			pthread_cond_wait(&changed, &lock);
		if (!waiting_jobs)
			break;
		waiting_jobs--;
		pthread_mutex_unlock(&lock);
		getppid(); /* the job */
		pthread_mutex_lock(&lock);
		done_jobs++;
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

static void announce(long jobs, bool last)
{
	pthread_mutex_lock(&lock);
	waiting_jobs += jobs;
	closed = last;
	pthread_mutex_unlock(&lock);
	if (last)
		pthread_cond_broadcast(&changed);
	else
		pthread_cond_signal(&changed);
}

int main(int argc, char **argv)
{
	const struct timespec pause = {0, 10000000};
	pthread_t workers[WORKERS];
	long jobs = argc > 1 ? atol(argv[1]) : 50;

	if (argc > 2 || jobs < 1) {
		fputs("usage: locks-free [JOBS]\n", stderr);
		return 2;
	}
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, worker, NULL))
			return 1;
	for (long job = 0; job < jobs; job++) {
		nanosleep(&pause, NULL);
		announce(1, false);
	}
	announce(0, true);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("jobs=%ld\n", done_jobs);
	return done_jobs == jobs ? 0 : 1;
}
