/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_LAB_PFNMAP_H
#define TESTS_LAB_PFNMAP_H
/*
 * What the tests of PFN maps share: the driver's node, maps of it, what an
 * access comes to, what the kernel counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../agent/bench/pfnmap_test.h"
#include "../tap.h"

#define RW (PROT_READ | PROT_WRITE)

static size_t page, pmd;	/* bytes; set by lab_begin() */

/* 77: nothing can be tested here, and it was said. */
static inline int lab_begin(void)
{
	char text[32] = "";
	int fd = open(PFNMAP_TEST_NODE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		printf("1..0 # SKIP " PFNMAP_TEST_NODE ": %s: needs "
		       "CONFIG_PFNMAP_TEST\n", strerror(errno));
		return 77;
	}
	close(fd);
	page = (size_t)sysconf(_SC_PAGESIZE);
	fd = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
		  O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		pmd = strtoul(text, NULL, 10);
	close(fd);
	if (pmd)
		return 0;
	printf("1..0 # SKIP no hpage_pmd_size: needs "
	       "CONFIG_TRANSPARENT_HUGEPAGE\n");
	return 77;
}

/* --- the driver ----------------------------------------------------------- */

static inline int setup(int fd, unsigned how, uint64_t level)
{
	struct pfnmap_test_setup s = { .how = how, .level_bytes = level };

	return ioctl(fd, PFNMAP_TEST_SETUP, &s) ? errno : 0;
}

/* Set up, or the test ends: nothing after it would mean anything. */
static inline int open_as(enum pfnmap_test_how how, uint64_t level)
{
	int fd = open(PFNMAP_TEST_NODE, O_RDWR | O_CLOEXEC);

	if (fd < 0 || setup(fd, how, level)) {
		printf("Bail out! " PFNMAP_TEST_NODE ": %s\n", strerror(errno));
		exit(1);
	}
	return fd;
}

static inline int levels(int fd, const void *at, size_t len,
			 struct pfnmap_test_levels *l)
{
	*l = (struct pfnmap_test_levels){ .addr = (uintptr_t)at, .len = len,
					  .pte_bytes = 1, .pmd_bytes = 1 };
	return ioctl(fd, PFNMAP_TEST_LEVELS, l) ? errno : 0;
}

/* Bytes mapped, at whatever level; -1: some of the range is no map of @fd. It
 * may be in several parts, as mprotect() leaves them. */
static inline long long mapped(int fd, const void *at, size_t len)
{
	struct pfnmap_test_levels l;
	long long sum = 0;

	if (!levels(fd, at, len, &l))
		return (long long)(l.pte_bytes + l.pmd_bytes);
	for (size_t i = 0; i < len; i += page) {
		if (levels(fd, (const char *)at + i, page, &l))
			return -1;
		sum += (long long)(l.pte_bytes + l.pmd_bytes);
	}
	return sum;
}

/* --- maps ----------------------------------------------------------------- */

/* @len bytes of address space, free, @past a PMD boundary. */
static inline unsigned char *place(size_t len, size_t past)
{
	unsigned char *p = mmap(NULL, len + 2 * pmd, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				-1, 0);

	munmap(p, len + 2 * pmd);
	return p + (pmd - (uintptr_t)p % pmd) % pmd + past;
}

/* NULL with errno: it cannot be. */
static inline unsigned char *map_at(int fd, void *at, size_t len)
{
	void *p = mmap(at, len, RW, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* --- accesses ------------------------------------------------------------- */

static sigjmp_buf access_end;

static void access_signal(int sig)
{
	siglongjmp(access_end, sig);
}

static inline void access_handler(void (*handler)(int))
{
	/* Not blocked in the handler: a jump out of it need not restore it. */
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
}

/* How many of the pages of [p, p + len) can be read; or written. */
static inline size_t pages_ok(unsigned char *p, size_t len, bool write)
{
	volatile size_t n = 0, i;

	access_handler(access_signal);
	for (i = 0; i < len; i += page) {
		volatile unsigned char *at = p + i;

		if (sigsetjmp(access_end, 0))
			continue;
		if (write)
			*at = *at;
		else
			(void)*at;
		n++;
	}
	access_handler(SIG_DFL);
	return n;
}

/* The signal that a read (write) of the byte at @p comes to, or 0. */
static inline int touch(volatile unsigned char *p, bool write)
{
	int sig;

	access_handler(access_signal);
	sig = sigsetjmp(access_end, 0);
	if (!sig && write)
		*p = *p;
	else if (!sig)
		(void)*p;
	access_handler(SIG_DFL);
	return sig;
}

/* Each page of the memory bears its own number, plus @salt: what is wrong
 * anywhere shows. */
static inline void mark(unsigned char *p, size_t len, uint64_t salt)
{
	for (size_t i = 0; i < len; i += page)
		*(volatile uint64_t *)(p + i) = salt + i / page;
}

/* Pages of [p, p + len) that do not bear the marks from number @first on. */
static inline size_t unmarked(const unsigned char *p, size_t len,
			      uint64_t first)
{
	size_t wrong = 0;

	for (size_t i = 0; i < len; i += page)
		wrong += *(const volatile uint64_t *)(p + i) != first + i / page;
	return wrong;
}

/* --- what the kernel counts ----------------------------------------------- */

/* The number after @key in @path, or -1. */
static inline long long number_in(const char *path, const char *key)
{
	long long n = -1;
	char line[256];
	FILE *f = fopen(path, "re");

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			n = strtoll(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* Page tables of this process, in bytes. */
static inline long long table_bytes(void)
{
	return number_in("/proc/self/status", "VmPTE:") << 10;
}

/* Wait for a child that ends with _exit(). */
static inline int end_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
