/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_LAB_GUP_H
#define TESTS_LAB_GUP_H
/*
 * What the gup_*.c tests share: memory in folios of a wanted size, gup_test's
 * ioctls, and what the kernel shows of pages. In-guest, as root, one process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tap.h"

#define PAGE		4096UL
#define FOLIO_PAGES	16UL		/* 64 kB */
#define TABLE		(2UL << 20)	/* what one page table maps */
#define MAX_FOLIO	512UL

/* include/linux/mm_types.h */
enum { FOLL_WRITE = 1, FOLL_FORCE = 8, FOLL_NOFAULT = 32 };

/* mm/gup_test.h: the numbers of its ioctls, in their order. */
enum gup_mode { GET_FAST = 1, PIN_FAST, PIN_LONGTERM, GET, PIN, DUMP, HOLD,
		RELEASE, READ };
enum { DUMP_USE_PIN = 1, DUMPED = 8 };
struct gup_test {
	uint64_t get_us, put_us, addr, size;
	uint32_t nr_pages_per_call, gup_flags, test_flags, which_pages[DUMPED];
};
struct gup_hold { uint64_t addr, size; uint32_t flags; };

enum { KPF_DIRTY = 4, KPF_COMPOUND_HEAD = 15, KPF_COMPOUND_TAIL = 16 };

static int gup_fd = -1, gup_pagemap_fd = -1, gup_kpageflags_fd = -1;

/* The end of a test that cannot be made: for a reason to skip, or broken. */
__attribute__((noreturn, format(printf, 2, 3)))
static inline void gup_stop(bool skip_all, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs(skip_all ? "1..0 # SKIP " : "Bail out! ", stdout);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(skip_all ? 77 : 1);
}

static inline void gup_open(void)
{
	gup_fd = open("/sys/kernel/debug/gup_test", O_RDWR);
	if (gup_fd < 0)
		gup_stop(true, "gup_test: %s: needs root, debugfs, "
			 "CONFIG_GUP_TEST", strerror(errno));
	if ((unsigned long)sysconf(_SC_PAGESIZE) != PAGE)
		gup_stop(true, "base pages are not of 4 kB");
	gup_pagemap_fd = open("/proc/self/pagemap", O_RDONLY);
	gup_kpageflags_fd = open("/proc/kpageflags", O_RDONLY);
	if (gup_pagemap_fd < 0 || gup_kpageflags_fd < 0)
		gup_stop(true, "pagemap, kpageflags: %s: needs root, "
			 "CONFIG_PROC_PAGE_MONITOR", strerror(errno));
}

/* --- settings, put back at exit ------------------------------------------ */

#define MAX_SAVED	64
static struct { char path[128], text[32]; } gup_saved[MAX_SAVED];
static unsigned int gup_nsaved;

static inline bool gup_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return done;
}

static inline void gup_put_back(void)
{
	for (unsigned int i = 0; i < gup_nsaved; i++)
		gup_write(gup_saved[i].path, gup_saved[i].text);
}

/* The value of @path, the one in brackets where there is a choice, is kept. */
static inline void gup_save(const char *path)
{
	char text[128], *at = text, *end;
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	if (n < 0 || gup_nsaved == MAX_SAVED)
		gup_stop(errno == EBADF, "%s: cannot be read", path);
	text[n] = 0;
	if (strchr(text, '['))
		at = strchr(text, '[') + 1;
	end = at + strcspn(at, "]\n");
	snprintf(gup_saved[gup_nsaved].path, sizeof(gup_saved->path), "%s",
		 path);
	snprintf(gup_saved[gup_nsaved].text, sizeof(gup_saved->text), "%.*s",
		 (int)(end - at), at);
	if (!gup_nsaved++)
		atexit(gup_put_back);
}

static inline void gup_set(const char *path, const char *text)
{
	unsigned int i = 0;

	while (i < gup_nsaved && strcmp(gup_saved[i].path, path))
		i++;
	if (i == gup_nsaved)
		gup_save(path);
	if (!gup_write(path, text))
		gup_stop(false, "%s: %s: %s", path, text, strerror(errno));
}

/* Sets @file (enabled, shmem_enabled) to "never" for every size but @kb. */
static inline void gup_only_size(const char *file, unsigned int kb)
{
	static const char top[] = "/sys/kernel/mm/transparent_hugepage";
	DIR *dir = opendir(top);
	struct dirent *d;
	char path[128];
	unsigned int size;

	if (!dir)
		gup_stop(true, "%s: %s: needs CONFIG_TRANSPARENT_HUGEPAGE", top,
			 strerror(errno));
	while ((d = readdir(dir))) {
		if (sscanf(d->d_name, "hugepages-%ukB", &size) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/hugepages-%ukB/%s", top, size,
			 file);
		if (size == kb || !access(path, F_OK))
			gup_set(path, size == kb ? "always" : "never");
	}
	closedir(dir);
}

/* --- memory --------------------------------------------------------------- */

/* @len bytes, aligned to a page table, not yet touched. */
static inline char *gup_map(size_t len, int flags)
{
	uintptr_t p = (uintptr_t)mmap(NULL, len + TABLE, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *addr = (char *)((p + TABLE - 1) & ~(TABLE - 1));

	if (p == (uintptr_t)MAP_FAILED ||
	    mmap(addr, len, PROT_READ | PROT_WRITE,
		 MAP_FIXED | MAP_ANONYMOUS | flags, -1, 0) == MAP_FAILED)
		gup_stop(false, "mmap, %zu bytes: %s", len, strerror(errno));
	return addr;
}

/* --- what the kernel shows ----------------------------------------------- */

/* @n words from word @index on. */
static inline void gup_words(int fd, uint64_t index, uint64_t *words, size_t n)
{
	if (pread(fd, words, 8 * n, (off_t)(8 * index)) != (ssize_t)(8 * n))
		gup_stop(false, "pagemap, kpageflags: %s", strerror(errno));
}

/* The PFN in a word of pagemap; 0: nothing is mapped. */
static inline uint64_t gup_word_pfn(uint64_t word)
{
	return word >> 63 ? word & ((1ULL << 55) - 1) : 0;
}

static inline uint64_t gup_pfn(const void *addr)
{
	uint64_t word;

	gup_words(gup_pagemap_fd, (uintptr_t)addr / PAGE, &word, 1);
	return gup_word_pfn(word);
}

static inline bool gup_dirty(uint64_t pfn)
{
	uint64_t flags;

	gup_words(gup_kpageflags_fd, pfn, &flags, 1);
	return flags >> KPF_DIRTY & 1;
}

/* Is there one folio of @pages pages at @addr, all of it mapped in order? */
static inline bool gup_is_folio(const char *addr, unsigned long pages)
{
	uint64_t map[MAX_FOLIO], flags[MAX_FOLIO + 1], pfn;

	gup_words(gup_pagemap_fd, (uintptr_t)addr / PAGE, map, pages);
	pfn = gup_word_pfn(map[0]);
	if (!pfn)
		return false;
	gup_words(gup_kpageflags_fd, pfn, flags, pages + 1);
	for (unsigned long i = 1; i < pages; i++) {
		if (gup_word_pfn(map[i]) != pfn + i ||
		    !(flags[i] >> KPF_COMPOUND_TAIL & 1))
			return false;
	}
	return flags[0] >> KPF_COMPOUND_HEAD & 1 &&
	       !(flags[pages] >> KPF_COMPOUND_TAIL & 1);
}

static inline long long gup_vmstat(const char *name)
{
	static char text[32 << 10];
	size_t len = strlen(name);
	char *line = text;
	ssize_t n;
	int fd;

	if (!gup_write("/proc/sys/vm/stat_refresh", "1"))
		gup_stop(false, "stat_refresh: %s", strerror(errno));
	fd = open("/proc/vmstat", O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = 0;
	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ')
			return strtoll(line + len, NULL, 10);
	}
	gup_stop(false, "/proc/vmstat has no %s", name);
}

/* --- gup_test ------------------------------------------------------------ */

/* A call as @mode, @per_call pages at once. How many pins it took; -1 if it
 * did not release as many. */
static inline long gup_call(enum gup_mode mode, unsigned int flags,
			    const char *addr, unsigned long pages,
			    unsigned long per_call)
{
	struct gup_test t = {
		.addr = (uintptr_t)addr, .size = pages * PAGE,
		.nr_pages_per_call = (uint32_t)per_call, .gup_flags = flags,
	};
	long long got = gup_vmstat("nr_foll_pin_acquired");
	long long put = gup_vmstat("nr_foll_pin_released");

	if (ioctl(gup_fd, _IOWR('g', mode, struct gup_test), &t))
		gup_stop(false, "gup_test: mode %d: %s", mode, strerror(errno));
	got = gup_vmstat("nr_foll_pin_acquired") - got;
	put = gup_vmstat("nr_foll_pin_released") - put;
	return got == put ? (long)got : -1;
}

/* Takes longterm pins and keeps them. 0, or the errno it failed with. */
static inline int gup_hold(bool write, const char *addr, unsigned long pages)
{
	struct gup_hold h = {
		.addr = (uintptr_t)addr, .size = pages * PAGE, .flags = write,
	};

	return ioctl(gup_fd, _IOW('g', HOLD, struct gup_hold), &h) ? errno : 0;
}

/* The contents of the held pages, through the pins, into @to. */
static inline void gup_held(char *to)
{
	uint64_t addr = (uintptr_t)to;

	if (ioctl(gup_fd, _IOW('g', READ, uint64_t), &addr))
		gup_stop(false, "gup_test: read: %s", strerror(errno));
}

static inline void gup_release(void)
{
	if (ioctl(gup_fd, _IO('g', RELEASE)))
		gup_stop(false, "gup_test: release: %s", strerror(errno));
}

struct gup_counts { int refs, pins; };	/* pins: -1 if the folio is small */

/* Pins @pages, @per_call at once; has the kernel dump page @which (from 0)
 * into its log while all are pinned; and finds there the counts of its folio. */
static inline struct gup_counts gup_dump(unsigned int flags, const char *addr,
					 unsigned long pages,
					 unsigned long per_call,
					 unsigned long which)
{
	struct gup_test t = {
		.addr = (uintptr_t)addr, .size = pages * PAGE,
		.nr_pages_per_call = (uint32_t)per_call, .gup_flags = flags,
		.test_flags = DUMP_USE_PIN,
		.which_pages = { (uint32_t)which + 1 },
	};
	struct gup_counts c = { -1, -1 };
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	char line[1024], *at;
	ssize_t n;

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0 ||
	    ioctl(gup_fd, _IOWR('g', DUMP, struct gup_test), &t))
		gup_stop(false, "gup_test: dump: %s", strerror(errno));
	while ((n = read(fd, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		at = strstr(line, "page: refcount:");
		if (at)
			c.refs = atoi(at + 15);
		at = strstr(line, "pincount:");
		if (at)
			c.pins = atoi(at + 9);
	}
	close(fd);
	return c;
}

#endif
