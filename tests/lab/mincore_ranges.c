/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mincore() over folios of each size, from and to any page of one, with pages
 * missing: each byte of the vector is right, and none beside it is touched. A
 * walk that takes the pages of a folio together can be wrong in both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tap.h"

#define THP "/sys/kernel/mm/transparent_hugepage"
#define UNTOUCHED 0xa5u
#define PAGES 1024u		/* 4 MB of 4 kB: two PMDs */

static size_t page;
static unsigned char want[PAGES];

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return done;
}

static void allow(unsigned long kb, const char *what)
{
	char path[128];

	snprintf(path, sizeof(path), THP "/hugepages-%lukB/enabled", kb);
	put(path, what);
}

static long long allocs(unsigned long kb)
{
	char path[160], text[32] = "";
	int fd;

	snprintf(path, sizeof(path),
		 THP "/hugepages-%lukB/stats/anon_fault_alloc", kb);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtoll(text, NULL, 10);
}

/* Aligned as the largest folio; the last of each @missing pages is gone. */
static unsigned char *populate(unsigned missing)
{
	size_t len = PAGES * page;
	unsigned char *p = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				-1, 0);
	unsigned char *at = p + (len - (uintptr_t)p % len) % len;

	madvise(at, len, MADV_HUGEPAGE);
	for (size_t i = 0; i < PAGES; i++) {
		at[i * page] = 1;
		want[i] = 1;
	}
	for (size_t i = 0; missing && i < PAGES; i++)
		if (i % missing == missing - 1) {
			madvise(at + i * page, page, MADV_DONTNEED);
			want[i] = 0;
		}
	return at;
}

/* Wrong bytes of the vector, or beside it, for pages [from, from + n). */
static size_t wrong(unsigned char *at, size_t from, size_t n)
{
	static unsigned char vec[PAGES + 64];
	size_t bad = 0;

	memset(vec, UNTOUCHED, sizeof(vec));
	if (mincore(at + from * page, n * page, vec + 32))
		return PAGES;
	for (size_t i = 0; i < sizeof(vec); i++)
		if (i < 32 || i >= 32 + n)
			bad += vec[i] != UNTOUCHED;
		else
			bad += vec[i] != want[from + i - 32];
	return bad;
}

static void test_ranges(unsigned long kb)
{
	static const unsigned missing[] = { 0, 2, 7, 16, 33, 512 };
	long long before = allocs(kb);

	for (size_t m = 0; m < sizeof(missing) / sizeof(*missing); m++) {
		unsigned char *at = populate(missing[m]);
		size_t bad = 0;

		for (size_t from = 0; from < 40; from++)
			for (size_t n = 1; n < 40; n++)
				bad += wrong(at, from, n) +
				       wrong(at, 512 - 20 + from, n);
		bad += wrong(at, 0, PAGES) + wrong(at, 1, PAGES - 2) +
		       wrong(at, 5, 600);
		ok(!bad, "%lu kB: each range, one page of %u missing", kb,
		   missing[m]);
		munmap(at, PAGES * page);
	}
	ok(kb * 1024 == page || allocs(kb) > before,
	   "%lu kB: there were such folios", kb);
}

int main(void)
{
	unsigned long kb;

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (!put(THP "/enabled", "madvise") || page != 4096) {
		printf("1..0 # SKIP needs root, 4 kB pages, "
		       "CONFIG_TRANSPARENT_HUGEPAGE\n");
		return 77;
	}
	for (kb = 16; kb <= 2048; kb *= 2)
		allow(kb, "never");
	test_ranges(page / 1024);
	for (kb = 16; kb <= 2048; kb *= 2) {
		allow(kb, "always");
		test_ranges(kb);
		allow(kb, "never");
	}
	allow(2048, "inherit");		/* as it was */
	return tap_done();
}
