/*
 * old-libc-shell SCRIPT [ARG...], or -c TEXT [NAME [ARG...]]: a shell that calls time() as glibc 2.13 did, and then runs
 * the script. To be installed as /bin/bash, for entry points that begin with #!/bin/bash.
 *
 * Under vsyscall=none it dies by SIGSEGV before it opens the script, and a container of it ends with status 139;
 * elsewhere the kernel emulates the one call, and the script runs.
 *
 * A line is a simple command (or several with `;` between): words in plain, 'single' or "double" quotes, of which "$@" as
 * a word of its own stands for the script's arguments and $1 ... $9 for one of them. `echo`, `exit [N]`, `exec`, `set -e`
 * and `:` are its own; all else is looked up in PATH. No other part of a shell's language.
 */
#include "bare.h"

#include <fcntl.h>
#include <stdbool.h>

#define SCRIPT_LIMIT 65536
#define WORD_LIMIT 64

static char script[SCRIPT_LIMIT];
static char *positional[WORD_LIMIT];
static int positionals;
static bool end_on_failure;
static int status;

/* time() of glibc 2.13 for x86-64, instruction by instruction. */
long old_time(long *now);
__asm__("old_time:\n"
	"	sub $8, %rsp\n"
	"	mov $0xffffffffff600400, %rax\n"
	"	call *%rax\n"
	"	add $8, %rsp\n"
	"	ret\n");

static void read_script(const char *name)
{
	long fd = kernel(__NR_open, name, O_RDONLY);
	long length = 0, more;

	if (fd < 0) {
		print(2, "%s: cannot be opened\n", name);
		leave(127);
	}
	while ((more = kernel(__NR_read, fd, script + length, SCRIPT_LIMIT - 1 - length)) > 0)
		length += more;
	kernel(__NR_close, fd);
	script[length] = '\0';
}

/* Appends a word of the script, or what $@ or $N stand for. */
static int append(char **argv, int argc, char *word)
{
	if (!strcmp(word, "$@")) {
		for (int i = 0; i < positionals && argc < WORD_LIMIT - 1; i++)
			argv[argc++] = positional[i];
	} else if (word[0] == '$' && word[1] >= '1' && word[1] <= '9' && !word[2]) {
		int wanted = word[1] - '1';
		if (wanted < positionals && argc < WORD_LIMIT - 1)
			argv[argc++] = positional[wanted];
	} else if (argc < WORD_LIMIT - 1) {
		argv[argc++] = word;
	}
	return argc;
}

/* Cuts the next command off *text into argv, written over the text without its quotes: the number of its words. */
static int cut_command(char **text, char **argv)
{
	char *from = *text;
	int argc = 0;
	char end;

	do {
		from += strspn(from, " \t");
		if (*from == '#')
			from += strcspn(from, "\n");
		char *word = from, *to = from;
		char quote = 0;
		for (; *from && (quote || !strchr(" \t\n;", *from)); from++) {
			if (quote ? *from == quote : *from == '\'' || *from == '"')
				quote = quote ? 0 : *from;
			else
				*to++ = *from;
		}
		/* The word's terminator may overwrite the byte that ended it. */
		end = *from;
		if (from > word) {
			*to = '\0';
			argc = append(argv, argc, word);
		}
		if (end)
			from++;
	} while (end == ' ' || end == '\t');
	argv[argc] = NULL;
	*text = from;
	return argc;
}

static void execute_or_leave(char **argv)
{
	execute(argv[0], argv);
	print(2, "%s: cannot be executed\n", argv[0]);
	leave(127);
}

static int run_program(char **argv)
{
	long pid = fork_process();

	if (pid == 0)
		execute_or_leave(argv);
	return pid < 0 ? 126 : wait_for(pid);
}

static void echo(char **words)
{
	static char line[SCRIPT_LIMIT];
	size_t length = 0;

	for (; *words && length + strlen(*words) + 2 < sizeof line; words++) {
		memcpy(line + length, *words, strlen(*words));
		length += strlen(*words);
		line[length++] = words[1] ? ' ' : '\n';
	}
	if (!length)
		line[length++] = '\n';
	kernel(__NR_write, 1, line, length);
}

static void run(int argc, char **argv)
{
	if (!strcmp(argv[0], "exit"))
		leave(argc > 1 ? (int)number(argv[1]) : status);
	if (!strcmp(argv[0], "exec") && argc > 1)
		execute_or_leave(argv + 1);

	status = 0;
	if (!strcmp(argv[0], "echo"))
		echo(argv + 1);
	else if (!strcmp(argv[0], "set") && argc == 2 && !strcmp(argv[1], "-e"))
		end_on_failure = true;
	else if (strcmp(argv[0], ":") && strcmp(argv[0], "exec"))
		status = run_program(argv);
	if (status && end_on_failure)
		leave(status);
}

static void run_script(char *text)
{
	char *argv[WORD_LIMIT];

	while (*text) {
		int argc = cut_command(&text, argv);
		if (argc)
			run(argc, argv);
	}
}

int main(int argc, char **argv)
{
	old_time(NULL);

	if (argc < 2)
		usage("old-libc-shell SCRIPT [ARG...] | -c TEXT [NAME [ARG...]]");
	char *text = script;
	int first = 2;
	if (!strcmp(argv[1], "-c") && argc > 2) {
		text = argv[2];
		first = 4;
	} else {
		read_script(argv[1]);
	}
	for (int i = first; i < argc && positionals < WORD_LIMIT; i++)
		positional[positionals++] = argv[i];
	run_script(text);
	return status;
}
