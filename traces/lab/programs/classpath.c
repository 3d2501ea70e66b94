/*
 * classpath storm [CLASSES [JAR]] | classpath ordinary: how a Java program with a bad class path starts, and how others do.
 *
 *   storm     for each of CLASSES (500): a stat below the current directory (the empty entry of the class path) and an open
 *             below /opt/tool/classes, both in vain; then lseek, read, lseek, read in JAR (/tmp/tool.jar, made for this and
 *             removed): its entry's header, and its bytes
 *   ordinary  five failing lookups along a PATH, and the program's own file read from end to end: no finding
 *
 * A stand-in for a Java virtual machine, small enough for a capture of few events.
 */
#include "bare.h"

#include <fcntl.h>
#include <sys/stat.h>

#define HEADER 30 /* a local file header of a zip archive */
#define BYTES 512 /* of a class */

static const char *const packages[] = {"com/example/tool", "com/example/tool/cli", "com/example/transport",
				       "org/example/json", "org/example/log"};

static char *append(char *to, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, text, length + 1);
	return to + length;
}

/* FOLDER/com/example/tool/Class17.class */
static void class_file(char *name, const char *folder, unsigned long class)
{
	char digits[20];
	int length = 0;

	name = append(name, folder);
	name = append(name, packages[class % (sizeof packages / sizeof *packages)]);
	name = append(name, "/Class");
	do
		digits[length++] = (char)('0' + class % 10);
	while (class /= 10);
	while (length)
		*name++ = digits[--length];
	append(name, ".class");
}

static void look_up(unsigned long classes)
{
	char name[128];
	struct stat found;

	for (unsigned long class = 0; class < classes; class++) {
		class_file(name, "", class);
		kernel(__NR_stat, name, &found);
		class_file(name, "/opt/tool/classes/", class);
		kernel(__NR_openat, AT_FDCWD, name, O_RDONLY);
	}
}

static void read_jar(const char *jar, unsigned long classes)
{
	char bytes[BYTES];
	long fd = kernel(__NR_openat, AT_FDCWD, jar, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0) {
		print(2, "classpath: %s cannot be written\n", jar);
		leave(1);
	}
	kernel(__NR_ftruncate, fd, classes * (HEADER + BYTES));
	for (unsigned long class = 0; class < classes; class++) {
		/* Not in the order of the file: that is why a reader seeks. */
		unsigned long entry = (class * 7919) % classes * (HEADER + BYTES);
		kernel(__NR_lseek, fd, entry, SEEK_SET);
		kernel(__NR_read, fd, bytes, HEADER);
		kernel(__NR_lseek, fd, entry + HEADER, SEEK_SET);
		kernel(__NR_read, fd, bytes, BYTES);
	}
	kernel(__NR_close, fd);
	kernel(__NR_unlink, jar);
}

static void ordinary(void)
{
	static const char *const path[] = {"/usr/local/sbin/no-such-tool", "/usr/local/bin/no-such-tool",
					   "/usr/sbin/no-such-tool", "/usr/bin/no-such-tool", "/sbin/no-such-tool"};
	struct stat found;
	char bytes[4096];

	for (size_t i = 0; i < sizeof path / sizeof *path; i++)
		kernel(__NR_stat, path[i], &found);
	long fd = kernel(__NR_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY);
	while (kernel(__NR_read, fd, bytes, sizeof bytes) > 0)
		;
	kernel(__NR_close, fd);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "ordinary")) {
		ordinary();
		return 0;
	}
	if (argc < 2 || argc > 4 || strcmp(argv[1], "storm"))
		usage("classpath storm [CLASSES [JAR]] | classpath ordinary");
	unsigned long classes = argc > 2 ? number(argv[2]) : 500;
	look_up(classes);
	read_jar(argc > 3 ? argv[3] : "/tmp/tool.jar", classes);
	return 0;
}
