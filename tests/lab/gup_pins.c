/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a GUP walk pins may not depend on how many pages it follows at once.
 * Memory is laid out in each way that could mislead a walk over more than one
 * PTE; then counted, in calls of 1, of 7 and of all pages, against what is
 * mapped there, and read back through the pins.
 */
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "gup.h"

#define PAGES	(3 * TABLE / PAGE)	/* of the region */
#define IN_TABLE (TABLE / PAGE)
#define HUGE_64K (16 << 26)		/* MAP_HUGE_SHIFT */
#define HUGETLB	"/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages"

static char *m;				/* the region of the layout at hand */
static int uffd = -1, child_pipe = -1;
static pid_t child;

static char *page(unsigned long i) { return m + i * PAGE; }

static void need(bool done, const char *what)
{
	if (!done)
		gup_stop(false, "%s: %s", what, strerror(errno));
}

/* --- the layouts --------------------------------------------------------- */

static void stamp(unsigned long first, unsigned long pages, uint32_t base)
{
	for (unsigned long i = first; i < first + pages; i++)
		*(volatile uint32_t *)page(i) = base + (uint32_t)i;
}

static bool as_stamped(const char *at, unsigned long first,
		       unsigned long pages, uint32_t base)
{
	for (unsigned long i = 0; i < pages; i++) {
		uint32_t got = *(const volatile uint32_t *)(at + i * PAGE);

		if (got == base + (uint32_t)(first + i))
			continue;
		printf("# page %lu: got %u\n", first + i, got);
		return false;
	}
	return true;
}

static void hole(void)
{
	need(!munmap(page(100), PAGE), "munmap");
}

static void read_only(void)
{
	need(!mprotect(page(100), PAGE, PROT_READ), "mprotect");
}

static void no_access(void)
{
	need(!mprotect(page(100), PAGE, PROT_NONE), "mprotect");
}

static void all_read_only(void)
{
	need(!mprotect(m, PAGES * PAGE, PROT_READ), "mprotect");
}

static void other_vma(void)
{
	need(!madvise(page(100), IN_TABLE * PAGE, MADV_DONTDUMP), "madvise");
}

static void zapped(void)
{
	need(!madvise(page(100), 3 * PAGE, MADV_DONTNEED), "madvise");
	stamp(101, 1, 1);
}

static void zapped_table(void)
{
	need(!madvise(page(IN_TABLE), TABLE, MADV_DONTNEED), "madvise");
}

/* One folio, half of it in one page table and half in the next. */
static void straddling(void)
{
	char *from = page(IN_TABLE - FOLIO_PAGES), *to = from + 8 * PAGE;
	size_t len = FOLIO_PAGES * PAGE;
	char *aside = gup_map(len, MAP_PRIVATE);

	need(mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, aside) ==
	     aside, "mremap");
	need(mremap(aside, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
	     "mremap");
	need(mmap(from, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED |
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == from, "mmap");
	need(gup_is_folio(to, FOLIO_PAGES), "a folio in two tables");
	stamp(0, PAGES, 1);
}

/* The child holds all pages of each folio but the first @withheld. */
static void fork_sharing(unsigned long withheld)
{
	int fds[2];
	char byte;

	need(!pipe(fds), "pipe");
	child = fork();
	need(child >= 0, "fork");
	if (!child) {
		close(fds[1]);
		if (read(fds[0], &byte, 1) < 0)
			_exit(1);
		for (unsigned long i = withheld; i < PAGES; i += FOLIO_PAGES) {
			if (!as_stamped(page(i), i, FOLIO_PAGES - withheld, 1))
				_exit(1);
		}
		_exit(0);
	}
	close(fds[0]);
	child_pipe = fds[1];
}

static void forked(void)
{
	fork_sharing(0);
}

/* In each folio, in one VMA, writable PTEs before read-only ones: exclusive
 * pages before shared ones. */
static void forked_in_part(void)
{
	for (unsigned long i = 0; i < PAGES; i += FOLIO_PAGES)
		need(!madvise(page(i), 6 * PAGE, MADV_DONTFORK), "madvise");
	fork_sharing(6);
	need(!madvise(m, PAGES * PAGE, MADV_DOFORK), "madvise");
}

/* The same, all PTEs read-only. */
static void forked_in_part_read_only(void)
{
	forked_in_part();
	all_read_only();
}

static void rewrite(void)
{
	for (unsigned long i = 3; i < PAGES; i += 5)
		stamp(i, 1, 1);
}

static void forked_rewritten(void)
{
	forked();
	rewrite();
}

static void forked_left(void)
{
	forked_rewritten();
	close(child_pipe);
	need(waitpid(child, NULL, 0) == child, "waitpid");
	child = 0;
}

static void forked_read_only(void)
{
	forked_rewritten();
	all_read_only();
}

/* Writable and read-only PTEs of one folio, in one VMA, all exclusive. */
static void write_protected(void)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register r = {
		.range = { (uintptr_t)m, PAGES * PAGE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect wp = {
		.range = { 0, PAGE }, .mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	need(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api) &&
	     !ioctl(uffd, UFFDIO_REGISTER, &r), "userfaultfd");
	for (unsigned long i = 7; i < PAGES; i += 10) {
		wp.range.start = (uintptr_t)page(i);
		need(!ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), "write-protect");
	}
}

static void poisoned(void)
{
	need(!madvise(page(100), PAGE, MADV_HWPOISON), "poison");
}

static void hugetlb(void)
{
	gup_set(HUGETLB, "96");
	need(mmap(m, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED |
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | HUGE_64K, -1, 0)
	     == m, "mmap, hugetlb");
	stamp(0, PAGES, 1);
}

static void shared(void)
{
	need(mmap(m, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED |
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0) == m, "mmap, shared");
	stamp(0, PAGES, 1);
}

/* Pages of a file, not yet copied: a longterm pin has to copy them first. */
static void private_file(void)
{
	int fd = (int)syscall(SYS_memfd_create, "gup", 0U);

	need(fd >= 0 && !ftruncate(fd, PAGES * PAGE), "memfd");
	need(mmap(m, PAGES * PAGE, PROT_READ | PROT_WRITE,
		  MAP_FIXED | MAP_PRIVATE, fd, 0) == m, "mmap, memfd");
	close(fd);
	need(!madvise(m, PAGES * PAGE, MADV_POPULATE_READ), "populate");
	for (unsigned long i = 3; i < PAGES; i += 5)
		*page(i) = 1;
}

/* PTEs that map a folio of 2 MB, once one of its pages had another VMA. */
static void split_pmd(void)
{
	for (unsigned long i = 0; i < PAGES; i += IN_TABLE) {
		need(!mprotect(page(i + 7), PAGE, PROT_READ), "mprotect");
		need(!mprotect(page(i + 7), PAGE, PROT_READ | PROT_WRITE),
		     "mprotect");
	}
	need(gup_is_folio(m, IN_TABLE), "a folio of 2 MB");
}

struct layout {
	const char *what;
	void (*make)(void);		/* NULL: folios as they are */
	unsigned int kb;		/* of a folio; 0: 64 */
	unsigned long first, pages;	/* what is pinned */
	/* How many of them can be, before EFAULT; 0: all. */
	unsigned long write, read;
	/* For how many a pin to read, if not longterm, gives the zero page,
	 * which is not pinned and not counted. */
	unsigned long zeros;
	unsigned int flags;		/* to write; beside FOLL_WRITE */
};
#define ALL	.first = 0, .pages = PAGES
#define INSIDE	.first = 3, .pages = PAGES - 4
static const struct layout LAYOUTS[] = {
	{ .what = "whole folios", ALL },
	{ .what = "a range that begins and ends inside a folio", INSIDE },
	{ .what = "one page of a folio", .first = 17, .pages = 1 },
	{ .what = "the last page of a table and the first of the next",
	  .first = IN_TABLE - 1, .pages = 2 },
	{ .what = "base pages", .kb = 4, INSIDE },
	{ .what = "folios of 2 MB, mapped by PMD", .kb = 2048, INSIDE },
	{ .what = "folios of 2 MB, mapped by PTE", split_pmd, .kb = 2048,
	  INSIDE },
	{ .what = "a folio in two page tables", straddling, ALL },
	{ .what = "a hole in a folio", hole, ALL, .write = 100, .read = 100 },
	{ .what = "a page that may not be written", read_only, ALL,
	  .write = 100 },
	{ .what = "a page without access", no_access, ALL,
	  .write = 100, .read = 100 },
	{ .what = "read-only memory, written by force", all_read_only, ALL,
	  .flags = FOLL_FORCE },
	{ .what = "folios in two VMAs", other_vma, ALL },
	{ .what = "pages that were zapped", zapped, ALL, .zeros = 2 },
	{ .what = "a page table that was zapped", zapped_table, ALL,
	  .zeros = IN_TABLE },
	{ .what = "pages shared with a child", forked, ALL },
	{ .what = "pages shared with a child, some rewritten",
	  forked_rewritten, ALL },
	{ .what = "pages shared with a child that left, some rewritten",
	  forked_left, ALL },
	{ .what = "base pages shared with a child, some rewritten",
	  forked_rewritten, .kb = 4, ALL },
	{ .what = "shared pages in read-only memory, written by force",
	  forked_read_only, ALL, .flags = FOLL_FORCE },
	{ .what = "folios of which a child shares a part", forked_in_part,
	  ALL },
	{ .what = "read-only folios of which a child shares a part",
	  forked_in_part_read_only, ALL, .flags = FOLL_FORCE },
	{ .what = "write-protected pages of a folio, no fault allowed",
	  write_protected, ALL, .write = 7, .flags = FOLL_NOFAULT },
	{ .what = "a poisoned page", poisoned, ALL, .write = 100, .read = 100 },
	{ .what = "hugetlb of 64 kB", hugetlb, INSIDE },
	{ .what = "shared memory", shared, INSIDE },
	{ .what = "a private file mapping", private_file, ALL },
};

/* Why a layout cannot be made in this kernel; NULL: it can. */
static const char *lacking(const struct layout *l)
{
	if (l->make == write_protected &&
	    syscall(SYS_userfaultfd, -1) < 0 && errno == ENOSYS)
		return "no CONFIG_USERFAULTFD";
	if (l->make == poisoned && madvise(NULL, 0, MADV_HWPOISON))
		return "no CONFIG_MEMORY_FAILURE";
	if (l->make == hugetlb && access(HUGETLB, F_OK))
		return "no hugetlb pages of 64 kB";
	return NULL;
}

static void make(const struct layout *l)
{
	static unsigned int made_kb;
	unsigned int kb = l->kb ? l->kb : 64;

	if (kb != made_kb)
		gup_only_size("enabled", kb);
	made_kb = kb;
	m = gup_map(PAGES * PAGE, MAP_PRIVATE);
	stamp(0, PAGES, 1);
	for (unsigned long i = 0; kb > 4 && i < PAGES; i += kb / 4) {
		if (!gup_is_folio(page(i), kb / 4))
			gup_stop(false, "no folio of %u kB at %lu", kb, i);
	}
	if (l->make)
		l->make();
}

/* False: the child, which shared the memory, saw it change. */
static bool unmake(void)
{
	int status = 0;

	if (child) {
		close(child_pipe);
		need(waitpid(child, &status, 0) == child, "waitpid");
		child = 0;
	}
	if (uffd >= 0)
		close(uffd);
	uffd = -1;
	munmap(m, PAGES * PAGE);
	return !status;
}

/* --- the checks ---------------------------------------------------------- */

static void check_counts(const struct layout *l, enum gup_mode mode, bool write)
{
	const unsigned long per_call[] = { 1, 7, PAGES };
	const char *how = mode == PIN ? "" : " longterm";
	unsigned long stop = write ? l->write : l->read;
	long want = (long)(stop ? stop : l->pages), got[3];

	if (!write && mode == PIN)
		want -= (long)l->zeros;
	for (size_t i = 0; i < 3; i++) {
		make(l);
		got[i] = gup_call(mode, write ? l->flags | FOLL_WRITE : 0,
				  page(l->first), l->pages, per_call[i]);
		unmake();
	}
	if (!ok(got[0] == want && got[1] == want && got[2] == want,
		"%s:%s pins to %s: %ld of %lu", l->what, how,
		write ? "write" : "read", want, l->pages))
		printf("# by 1: %ld, by 7: %ld, at once: %ld\n", got[0], got[1],
		       got[2]);
}

/* Longterm pins see what is written through the mapping later; no other does. */
static void check_contents(const struct layout *l, bool write)
{
	char *through = gup_map(l->pages * PAGE, MAP_PRIVATE);
	int error, expected = (write ? l->write : l->read) ? EFAULT : 0;
	bool same = true, apart;

	make(l);
	error = gup_hold(write, page(l->first), l->pages);
	if (!error) {
		if (!l->write) {
			need(!mprotect(m, PAGES * PAGE, PROT_READ | PROT_WRITE),
			     "mprotect");
			stamp(l->first, l->pages, 1000000);
		}
		gup_held(through);
		same = !memcmp(through, page(l->first), l->pages * PAGE);
		gup_release();
	}
	apart = unmake();
	munmap(through, l->pages * PAGE);
	if (!ok(error == expected && same && apart, "%s: held to %s: %s",
		l->what, write ? "write" : "read", expected ? "EFAULT" :
		"the pages that are mapped, and no other process's"))
		printf("# errno %d, %s contents, the child's %s\n", error,
		       same ? "same" : "other", apart ? "kept" : "changed");
}

static void check(const struct layout *l)
{
	const char *why = lacking(l);

	if (why) {
		skip(l->what, why);
		return;
	}
	check_counts(l, PIN_LONGTERM, true);
	check_counts(l, PIN_LONGTERM, false);
	check_counts(l, PIN, true);
	check_counts(l, PIN, false);
	if (!l->flags)		/* gup_test holds without other flags */
		check_contents(l, true);
	check_contents(l, false);
}

/* The counts of a folio while @pages from @first are pinned. */
static void check_refs(const struct layout *l, unsigned long first,
		       unsigned long pages, unsigned long which, int pins)
{
	struct gup_counts one, all;

	make(l);
	one = gup_dump(FOLL_WRITE, page(first), pages, 1, which - first);
	all = gup_dump(FOLL_WRITE, page(first), pages, pages, which - first);
	unmake();
	if (!ok(all.pins == pins && one.pins == pins && all.refs == one.refs,
		"%s: pages %lu to %lu pinned: page %lu's folio has %d pins",
		l->what, first, first + pages - 1, which, pins))
		printf("# by 1: %d refs, %d pins; at once: %d refs, %d pins\n",
		       one.refs, one.pins, all.refs, all.pins);
}

int main(void)
{
	gup_open();
	for (size_t i = 0; i < sizeof(LAYOUTS) / sizeof(LAYOUTS[0]); i++)
		check(&LAYOUTS[i]);
	check_refs(&LAYOUTS[0], 0, PAGES, 40, 16);
	check_refs(&LAYOUTS[0], 5, 8, 6, 8);
	check_refs(&LAYOUTS[0], 5, 40, 6, 11);
	check_refs(&LAYOUTS[0], 5, 40, 44, 13);
	check_refs(&LAYOUTS[4], 5, 40, 44, -1);
	check_refs(&LAYOUTS[5], 5, 40, 44, 40);
	check_refs(&LAYOUTS[6], 5, 40, 44, 40);
	return tap_done();
}
