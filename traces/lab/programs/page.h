/*
 * Calls of the vsyscall page, made as glibc 2.13 made them: the entry point's address in rax, then `call *%rax`.
 *
 * The addresses: arch/x86/include/uapi/asm/vsyscall.h.
 */
#ifndef PAGE_H
#define PAGE_H

#include <string.h>

#define PAGE_GETTIMEOFDAY 0xffffffffff600000ul
#define PAGE_TIME 0xffffffffff600400ul
#define PAGE_GETCPU 0xffffffffff600800ul

/* The entry point of that name; 0 for any other name. */
static inline unsigned long page_entry(const char *call)
{
	if (!strcmp(call, "gettimeofday"))
		return PAGE_GETTIMEOFDAY;
	if (!strcmp(call, "time"))
		return PAGE_TIME;
	if (!strcmp(call, "getcpu"))
		return PAGE_GETCPU;
	return 0;
}

/* Calls `entry` and gives what it returns. Needs -mno-red-zone: the call pushes its return address. */
static inline long call_page(unsigned long entry, void *first, void *second)
{
	void *third = NULL;

	__asm__ volatile("call *%%rax"
			 : "+a"(entry), "+D"(first), "+S"(second), "+d"(third)
			 :
			 : "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
	return (long)entry;
}

#endif
