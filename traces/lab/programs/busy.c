/*
 * busy [ROUNDS]: what an ordinary program does, ROUNDS (20) times: files, a pipe to a child, memory, the clock, a thread.
 *
 * No finding: failing lookups, page faults, futex calls, a child that ends with status 1 and, where the clocksource is not
 * for user space, time calls are all there, at the rate of a healthy program. glibc, static.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what)                  \
	do {                         \
		if (!(what)) {       \
			perror(#what); \
			exit(1);     \
		}                    \
	} while (0)

static void files(void)
{
	char name[] = "/tmp/busy-XXXXXX";
	char bytes[512];
	struct stat found;

	memset(bytes, 'x', sizeof bytes);
	int fd = mkstemp(name);
	CHECK(fd >= 0);
	for (int i = 0; i < 8; i++)
		CHECK(write(fd, bytes, sizeof bytes) == sizeof bytes);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	while (read(fd, bytes, sizeof bytes) > 0)
		;
	CHECK(fstat(fd, &found) == 0);
	close(fd);
	unlink(name);
	CHECK(stat(name, &found) != 0); /* gone: one failing lookup a round is ordinary */
}

static void child(int round)
{
	int ends[2], status;
	char said[16];

	CHECK(pipe(ends) == 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(write(ends[1], "hello", 5) == 5 ? round % 2 : 9);
	close(ends[1]);
	struct pollfd readable = {.fd = ends[0], .events = POLLIN};
	CHECK(poll(&readable, 1, 10000) == 1);
	CHECK(read(ends[0], said, sizeof said) == 5);
	close(ends[0]);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == round % 2);
}

static void memory(void)
{
	const size_t length = 64 * 1024;
	char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	memset(pages, 1, length);
	munmap(pages, length);
}

static void clocks(void)
{
	struct timespec now;
	struct timeval today;

	for (int i = 0; i < 3; i++) {
		time(NULL);
		gettimeofday(&today, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed_over = PTHREAD_COND_INITIALIZER;
static int result;

static void *compute(void *unused)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += i;
	pthread_mutex_lock(&lock);
	result = sum;
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&handed_over);
	return unused;
}

static void thread(void)
{
	pthread_t other;

	result = 0;
	CHECK(pthread_create(&other, NULL, compute, NULL) == 0);
	pthread_mutex_lock(&lock);
	while (!result)
		pthread_cond_wait(&handed_over, &lock);
	pthread_mutex_unlock(&lock);
	pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	const struct timespec pause = {0, 5000000};
	long rounds = argc > 1 ? atol(argv[1]) : 20;

	if (argc > 2 || rounds < 1) {
		fputs("usage: busy [ROUNDS]\n", stderr);
		return 2;
	}
	for (long round = 0; round < rounds; round++) {
		files();
		child((int)round);
		memory();
		clocks();
		thread();
		nanosleep(&pause, NULL);
	}
	printf("rounds=%ld\n", rounds);
	return 0;
}
