/*
 * stress HOW -n COUNT | -s SECONDS: asks for the time in a loop, and prints how often it got it.
 *
 * HOW says by which way: vdso-time, vdso-gettimeofday, vdso-clock_gettime, vdso-getcpu (no event at all, as long as the
 * clocksource can be read in user space); syscall-time, syscall-gettimeofday, syscall-clock_gettime, syscall-getcpu (one
 * system call each: the stand-in for the native vsyscall of old kernels, too); vsyscall-time, vsyscall-gettimeofday,
 * vsyscall-getcpu (one page fault each, or death). The line it prints:
 *
 *     calls=3000 seconds=0.001234567 per_second=2430134 how=vsyscall-time
 *
 * The clock is read through the vDSO where there is one, else by two system calls (SECONDS: some dozens).
 */
#include "bare.h"
#include "page.h"
#include "vdso.h"

#include <time.h>

typedef int clock_function(clockid_t, struct timespec *);
typedef long two_pointers(void *, void *);

static void *vdso_call; /* what the loops through the vDSO call */
static long first[2], second[2];

/* The vDSO's functions take a pointer or two; clock_gettime takes the clock first. */
static void through_vdso(unsigned long count)
{
	two_pointers *call = vdso_call;

	for (; count; count--)
		call(first, second);
}

static void through_vdso_clock(unsigned long count)
{
	clock_function *clock = vdso_call;

	for (; count; count--)
		clock(CLOCK_MONOTONIC, (struct timespec *)first);
}

#define LOOP(name, call)                     \
	static void name(unsigned long count) \
	{                                     \
		for (; count; count--)         \
			call;                  \
	}

LOOP(syscall_time, kernel(__NR_time, first))
LOOP(syscall_gettimeofday, kernel(__NR_gettimeofday, first, second))
LOOP(syscall_clock_gettime, kernel(__NR_clock_gettime, CLOCK_MONOTONIC, first))
LOOP(syscall_getcpu, kernel(__NR_getcpu, first, second))
LOOP(page_time, call_page(PAGE_TIME, first, NULL))
LOOP(page_gettimeofday, call_page(PAGE_GETTIMEOFDAY, first, second))
LOOP(page_getcpu, call_page(PAGE_GETCPU, first, second))

static const struct way {
	const char *name;
	void (*loop)(unsigned long count);
	const char *vdso_name;
} ways[] = {
	{"vdso-time", through_vdso, "__vdso_time"},
	{"vdso-gettimeofday", through_vdso, "__vdso_gettimeofday"},
	{"vdso-clock_gettime", through_vdso_clock, "__vdso_clock_gettime"},
	{"vdso-getcpu", through_vdso, "__vdso_getcpu"},
	{"syscall-time", syscall_time, NULL},
	{"syscall-gettimeofday", syscall_gettimeofday, NULL},
	{"syscall-clock_gettime", syscall_clock_gettime, NULL},
	{"syscall-getcpu", syscall_getcpu, NULL},
	{"vsyscall-time", page_time, NULL},
	{"vsyscall-gettimeofday", page_gettimeofday, NULL},
	{"vsyscall-getcpu", page_getcpu, NULL},
};

static clock_function *vdso_clock;

static unsigned long now_ns(void)
{
	struct timespec now;

	if (vdso_clock)
		vdso_clock(CLOCK_MONOTONIC, &now);
	else
		kernel(__NR_clock_gettime, CLOCK_MONOTONIC, &now);
	return (unsigned long)now.tv_sec * 1000000000ul + (unsigned long)now.tv_nsec;
}

static void report(const struct way *way, unsigned long calls, unsigned long ns)
{
	ns = ns ? ns : 1;
	unsigned long per_second = (unsigned long)((double)calls * 1e9 / (double)ns);

	print(1, "calls=%u seconds=%u.%09u per_second=%u how=%s\n", calls, ns / 1000000000ul, ns % 1000000000ul,
	      per_second, way->name);
}

static void stress_count(const struct way *way, unsigned long count)
{
	unsigned long start = now_ns();

	way->loop(count);
	report(way, count, now_ns() - start);
}

/* The clock is read between batches, which double until one takes a 32nd of the time: its reading weighs nothing. */
static void stress_seconds(const struct way *way, unsigned long seconds)
{
	unsigned long wanted = seconds * 1000000000ul;
	unsigned long batch = 64, calls = 0;
	unsigned long start = now_ns(), end = start;

	while (end - start < wanted) {
		unsigned long before = end;
		way->loop(batch);
		calls += batch;
		end = now_ns();
		if (end - before < wanted / 64)
			batch *= 2;
	}
	report(way, calls, end - start);
}

static const struct way *find(const char *name)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	usage("stress vdso-CALL|syscall-CALL|vsyscall-CALL -n COUNT|-s SECONDS (time, gettimeofday, clock_gettime, getcpu)");
}

int main(int argc, char **argv)
{
	const struct way *way = find(argc == 4 ? argv[1] : "");
	unsigned long bound = number(argv[3]);

	vdso_clock = vdso_function("__vdso_clock_gettime");
	if (way->vdso_name && !(vdso_call = vdso_function(way->vdso_name))) {
		print(2, "stress: this kernel has no vDSO with %s\n", way->vdso_name);
		return 2;
	}
	if (!strcmp(argv[2], "-n"))
		stress_count(way, bound);
	else if (!strcmp(argv[2], "-s"))
		stress_seconds(way, bound);
	else
		find("");
	return 0;
}
