/* What a program without a libc needs: bare.h says what is what. */
#include "bare.h"

#include <errno.h>
#include <linux/wait.h>
#include <stdarg.h>
#include <stdbool.h>

/* The program's; it may leave the arguments out. */
int main(int argc, char **argv);

char **environment;
static unsigned long *auxiliary_vector;

/* The kernel leaves argc, argv, environment and auxiliary vector on the stack. */
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call start\n");

__attribute__((noreturn, used)) static void start(long *stack) __asm__("start");
static void start(long *stack)
{
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1);

	environment = argv + argc + 1;
	char **end = environment;
	while (*end)
		end++;
	auxiliary_vector = (unsigned long *)(end + 1);
	leave(main(argc, argv));
}

unsigned long auxiliary(unsigned long type)
{
	for (unsigned long *entry = auxiliary_vector; entry[0]; entry += 2)
		if (entry[0] == type)
			return entry[1];
	return 0;
}

void leave(int status)
{
	for (;;)
		kernel(__NR_exit_group, status);
}

long fork_process(void)
{
	return kernel(__NR_clone, SIGCHLD);
}

int wait_for(long pid)
{
	int status = 0;

	if (kernel(__NR_wait4, pid, &status, 0, 0) != pid)
		return 127;
	int killed_by = status & 0x7f;
	return killed_by ? 128 + killed_by : (status >> 8) & 0xff;
}

static const char *variable(const char *name)
{
	size_t length = strlen(name);

	for (char **entry = environment; *entry; entry++)
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
			return *entry + length + 1;
	return NULL;
}

long execute(const char *name, char **argv)
{
	if (strchr(name, '/'))
		return kernel(__NR_execve, name, argv, environment);

	const char *path = variable("PATH");
	long error = -ENOENT;
	for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
		char file[512];
		size_t folder = strcspn(path, ":");
		if (folder + 1 + strlen(name) < sizeof file) {
			memcpy(file, path, folder);
			file[folder] = '/';
			memcpy(file + folder + 1, name, strlen(name) + 1);
			long failure = kernel(__NR_execve, file, argv, environment);
			if (failure != -ENOENT)
				error = failure;
		}
		path += folder;
	}
	return error;
}

/* The kernel's own sigaction (arch/x86/include/uapi/asm/signal.h), which differs from the libc's. */
struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};
#define SA_RESTORER 0x04000000

void back_from_handler(void);
__asm__("back_from_handler:\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n");

void catch_signal(int signal_number, void (*handler)(int, siginfo_t *, void *))
{
	struct kernel_sigaction action = {handler, SA_SIGINFO | SA_RESTORER, back_from_handler, 0};

	kernel(__NR_rt_sigaction, signal_number, &action, 0, sizeof action.mask);
}

struct text {
	char bytes[512];
	size_t length;
};

static void put(struct text *text, char byte)
{
	if (text->length < sizeof text->bytes)
		text->bytes[text->length++] = byte;
}

static void put_number(struct text *text, unsigned long value, unsigned base, int digits)
{
	char reversed[20];
	int length = 0;

	do {
		reversed[length++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value || length < digits);
	while (length)
		put(text, reversed[--length]);
}

void print(int fd, const char *format, ...)
{
	struct text text = {.length = 0};
	va_list arguments;

	va_start(arguments, format);
	for (; *format; format++) {
		if (*format != '%') {
			put(&text, *format);
			continue;
		}
		format++;
		int digits = 1;
		if (*format == '0') {
			digits = format[1] - '0';
			format += 2;
		}
		if (*format == 's')
			for (const char *from = va_arg(arguments, const char *); *from; from++)
				put(&text, *from);
		else if (*format == 'u' || *format == 'x')
			put_number(&text, va_arg(arguments, unsigned long), *format == 'u' ? 10 : 16, digits);
		else
			put(&text, *format);
	}
	va_end(arguments);
	kernel(__NR_write, fd, text.bytes, text.length);
}

void usage(const char *text)
{
	print(2, "usage: %s\n", text);
	leave(2);
}

unsigned long number(const char *text)
{
	bool hexadecimal = text[0] == '0' && text[1] == 'x';
	const char *digit = text + (hexadecimal ? 2 : 0);
	unsigned long base = hexadecimal ? 16 : 10;
	unsigned long value = 0;

	if (!*digit)
		goto nonsense;
	for (; *digit; digit++) {
		unsigned long next = *digit >= 'a' ? (unsigned long)(*digit - 'a' + 10) : (unsigned long)(*digit - '0');
		if (next >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, next, &value))
			goto nonsense;
	}
	return value;
nonsense:
	print(2, "not a number: %s\n", text);
	leave(2);
}

/* The few functions of <string.h> that programs and compiler call. */

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
	return start;
}

void *memset(void *to, int byte, size_t length)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(length) : "a"(byte) : "memory");
	return start;
}

size_t strlen(const char *text)
{
	const char *end = text;

	while (*end)
		end++;
	return (size_t)(end - text);
}

int strncmp(const char *one, const char *other, size_t length)
{
	for (; length; length--, one++, other++)
		if (*one != *other || !*one)
			return (unsigned char)*one - (unsigned char)*other;
	return 0;
}

int strcmp(const char *one, const char *other)
{
	return strncmp(one, other, (size_t)-1);
}

char *strchr(const char *text, int byte)
{
	for (;; text++) {
		if (*text == (char)byte)
			return (char *)text;
		if (!*text)
			return NULL;
	}
}

size_t strspn(const char *text, const char *accepted)
{
	size_t length = 0;

	while (text[length] && strchr(accepted, text[length]))
		length++;
	return length;
}

size_t strcspn(const char *text, const char *stop)
{
	size_t length = 0;

	while (text[length] && !strchr(stop, text[length]))
		length++;
	return length;
}
