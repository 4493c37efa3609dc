/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a PFN map of remap_pfn_range() must keep whatever its level. It has no
 * fault handler: what is lost once is lost. So each test takes a part away
 * (unmapped, protected, moved, mapped over, forked) and looks at all the rest:
 * is it mapped, is it the same memory, can it be read and written exactly as
 * was asked, and do the page tables come back.
 *
 * The results are the same at both levels; the comments tell which it was.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "pfnmap.h"

#define PMDS 4u
#define SALT 0x5a0000u

static size_t len;		/* of most maps: PMDS PMDs */

struct map {
	int fd;
	unsigned char *at;
};

static struct map map_new(size_t bytes, size_t past)
{
	struct map m = { .fd = open_as(PFNMAP_TEST_REMAP, pmd) };

	m.at = map_at(m.fd, place(bytes, past), bytes);
	if (!m.at) {
		printf("Bail out! mmap: %s\n", strerror(errno));
		exit(1);
	}
	mark(m.at, bytes, SALT);
	return m;
}

static void map_end(struct map *m, size_t bytes)
{
	munmap(m->at, bytes);
	close(m->fd);
}

static void tell_levels(const struct map *m, const unsigned char *at,
			size_t bytes, const char *what)
{
	struct pfnmap_test_levels l;

	if (!levels(m->fd, at, bytes, &l))
		printf("# %s: %llu kB in PTEs, %llu kB in PMDs\n", what,
		       l.pte_bytes >> 10, l.pmd_bytes >> 10);
}

/* [at, at + bytes) is mapped, it is the memory from byte @from on, and may be
 * read, or read and written, or neither (PROT_NONE). */
static bool whole(const struct map *m, unsigned char *at, size_t bytes,
		  size_t from, int prot)
{
	size_t pages = bytes / page;

	if (!bytes)
		return true;
	return mapped(m->fd, at, bytes) == (long long)bytes &&
	       pages_ok(at, bytes, false) == (prot & PROT_READ ? pages : 0) &&
	       pages_ok(at, bytes, true) == (prot & PROT_WRITE ? pages : 0) &&
	       (!(prot & PROT_READ) || !unmarked(at, bytes, SALT + from / page));
}

/* --- parts of a map ------------------------------------------------------- */

/* In pages from the map's start; a negative one counts from a PMD's end. */
static const struct part {
	int from_pmd, from_page, to_pmd, to_page;
	const char *name;
} parts[] = {
	{ 1, 0, 1, -1, "the first half of a PMD" },
	{ 1, -1, 2, 0, "the second half of a PMD" },
	{ 1, 0, 1, 1, "the first page of a PMD" },
	{ 1, 7, 1, 8, "a page of a PMD" },
	{ 2, -2, 2, 0, "the last page of a PMD" },
	{ 1, 0, 2, 0, "a whole PMD" },
	{ 1, -1, 2, -1, "two halves of two PMDs" },
	{ 0, 0, 0, 1, "the first page of all" },
	{ 4, -2, 4, 0, "the last page of all" },
	{ 0, -1, 3, 16, "all but the ends" },
};
#define NPARTS (sizeof(parts) / sizeof(*parts))

/* -1: half of the PMD; -2: one page less than the PMD before. */
static size_t offset(int n, int p)
{
	size_t at = (size_t)n * pmd;

	return p == -1 ? at + pmd / 2 : p == -2 ? at - page : at + (size_t)p * page;
}

static void part_of(const struct part *p, size_t *from, size_t *to)
{
	*from = offset(p->from_pmd, p->from_page);
	*to = offset(p->to_pmd, p->to_page);
}

/* All of a map but [from, to) is as it was. */
static bool rest_is_whole(const struct map *m, size_t from, size_t to)
{
	return whole(m, m->at, from, 0, RW) &&
	       whole(m, m->at + to, len - to, to, RW);
}

static void test_munmap_part(void)
{
	for (size_t i = 0; i < NPARTS; i++) {
		struct map m = map_new(len, 0);
		size_t from, to;

		part_of(&parts[i], &from, &to);
		is_i(munmap(m.at + from, to - from), 0, parts[i].name);
		ok(rest_is_whole(&m, from, to), "unmapped: the rest stays");
		ok(!pages_ok(m.at + from, to - from, false),
		   "and nothing of the part does");
		if (!i)
			tell_levels(&m, m.at + pmd / 2 * 3, pmd / 2,
				    "the other half");
		map_end(&m, len);
	}
}

static void test_mprotect_part(void)
{
	static const struct {
		int prot;
		const char *name;
	} prots[] = { { PROT_READ, "read only" }, { PROT_NONE, "no access" } };

	for (size_t i = 0; i < NPARTS; i++)
		for (size_t j = 0; j < 2; j++) {
			struct map m = map_new(len, 0);
			size_t from, to;

			part_of(&parts[i], &from, &to);
			is_i(mprotect(m.at + from, to - from, prots[j].prot), 0,
			     parts[i].name);
			ok(whole(&m, m.at + from, to - from, from,
				 prots[j].prot), "%s: it", prots[j].name);
			ok(rest_is_whole(&m, from, to), "and nothing else");
			is_i(mprotect(m.at + from, to - from, RW), 0, "back");
			ok(whole(&m, m.at + from, to - from, from, RW) &&
			   rest_is_whole(&m, from, to), "all is as it was");
			map_end(&m, len);
		}
}

/* First all, then a part: permissions are those of the VMA, not of the map. */
static void test_mprotect_all_first(void)
{
	struct map m = map_new(len, 0);

	mprotect(m.at, len, PROT_NONE);
	ok(whole(&m, m.at, len, 0, PROT_NONE), "no access to all");
	mprotect(m.at + pmd, pmd / 2, PROT_READ);
	ok(whole(&m, m.at + pmd, pmd / 2, pmd, PROT_READ),
	   "then a half may be read");
	ok(whole(&m, m.at + pmd / 2 * 3, pmd / 2, pmd / 2 * 3, PROT_NONE) &&
	   whole(&m, m.at, pmd, 0, PROT_NONE), "and no more");
	munmap(m.at + pmd * 2, page);
	mprotect(m.at + pmd * 2 + page, pmd - page, RW);
	ok(whole(&m, m.at + pmd * 2 + page, pmd - page, pmd * 2 + page, RW),
	   "what could not be accessed when it was split can be later");
	map_end(&m, len);
}

static void test_map_over(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	for (size_t i = 0; i < NPARTS; i++) {
		struct map m = map_new(len, 0);
		size_t from, to, dirty = 0;
		unsigned char *p;

		part_of(&parts[i], &from, &to);
		p = mmap(m.at + from, to - from, RW, flags, -1, 0);
		ok(p == m.at + from, "%s: mapped over", parts[i].name);
		for (size_t j = 0; p != MAP_FAILED && j < to - from; j += page)
			dirty += *(uint64_t *)(p + j) != 0;
		ok(!dirty && rest_is_whole(&m, from, to),
		   "by other memory, and only there");
		map_end(&m, len);
	}
}

/* --- moves ---------------------------------------------------------------- */

static void test_mremap(void)
{
	const size_t far = (size_t)3 << 30;
	static const struct {
		int from_pmd, from_page, to_pmd, to_page;
		size_t past_pages;
		const char *name;
	} moves[] = {
		{ 0, 0, 4, 0, 0, "all, aligned as before" },
		{ 0, 0, 4, 0, 1, "all, by a page more" },
		{ 1, 0, 2, 0, 0, "a PMD of it" },
		{ 1, 0, 1, -1, 0, "the first half of a PMD" },
		{ 1, -1, 2, 0, 0, "the second half of a PMD" },
		{ 1, -1, 3, 16, 3, "from one half to somewhere" },
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		struct map m = map_new(len, 0);
		size_t from = offset(moves[i].from_pmd, moves[i].from_page);
		size_t to = offset(moves[i].to_pmd, moves[i].to_page), n = to - from;
		/* In another page of PMDs than where it was. */
		unsigned char *space = place(far + len, moves[i].past_pages * page);
		unsigned char *p = mremap(m.at + from, n, n, MREMAP_MAYMOVE |
					  MREMAP_FIXED, space + far);

		ok(p == space + far, "%s: moved", moves[i].name);
		ok(whole(&m, space + far, n, from, RW), "it is what it was");
		ok(rest_is_whole(&m, from, to), "and so is the rest");
		if (!i)
			tell_levels(&m, p, n, "moved");
		munmap(p + n / 2, page);
		ok(whole(&m, p, n / 2, from, RW) &&
		   whole(&m, p + n / 2 + page, n / 2 - page,
			 from + n / 2 + page, RW), "then split, it is too");
		munmap(p, n);
		map_end(&m, len);
	}
}

static void test_mremap_shrink(void)
{
	struct map m = map_new(len, 0);
	void *p = mremap(m.at, len, pmd + pmd / 2, 0);

	ok(p == m.at && whole(&m, m.at, pmd + pmd / 2, 0, RW), "half a PMD less");
	ok(!pages_ok(m.at + pmd + pmd / 2, pmd / 2, false), "and it is gone");
	is_i(mremap(m.at, pmd, 2 * pmd, MREMAP_MAYMOVE) == MAP_FAILED ? errno : 0,
	     EFAULT, "more than there is: no");
	ok(whole(&m, m.at, pmd + pmd / 2, 0, RW), "and nothing happened");
	map_end(&m, len);
}

/* --- fork ----------------------------------------------------------------- */

/* In the child; what is wrong, in bits. */
static int child_looks(const struct map *m, int go, int ready)
{
	int wrong = !whole(m, m->at, len, 0, RW);
	char c = 0;

	*(volatile uint64_t *)(m->at + pmd + 8) = 1234;	/* as a shared map */
	munmap(m->at + pmd / 2, page);			/* and its own split */
	wrong |= (!whole(m, m->at, pmd / 2, 0, RW) ||
		  !whole(m, m->at + pmd / 2 + page, len - pmd / 2 - page,
			 pmd / 2 + page, RW)) << 1;
	if (write(ready, &c, 1) != 1 || read(go, &c, 1) != 1)
		return 4;
	wrong |= (!whole(m, m->at + pmd, len - pmd, pmd, RW)) << 3;
	return wrong;
}

static void test_fork(bool split_before)
{
	struct map m = map_new(len, 0);
	int go[2], ready[2];
	char c = 0;
	pid_t pid;

	if (split_before) {
		mprotect(m.at + pmd, page, PROT_READ);
		mprotect(m.at + pmd, page, RW);
	}
	if (pipe(go) || pipe(ready) || (pid = fork()) < 0) {
		ok(false, "fork: %s", strerror(errno));
		return;
	}
	if (!pid)
		_exit(child_looks(&m, go[0], ready[1]));
	ok(read(ready[0], &c, 1) == 1, "fork of a map%s",
	   split_before ? ", a part of it split" : "");
	is_i(*(volatile long long *)(m.at + pmd + 8), 1234,
	     "what the child wrote is seen");
	*(volatile uint64_t *)(m.at + pmd + 8) = 0;
	ok(whole(&m, m.at, len, 0, RW), "what the child unmapped is still here");
	tell_levels(&m, m.at, len, "the parent's");
	munmap(m.at, len);
	ok(write(go[1], &c, 1) == 1, "unmapped here");
	is_i(end_of(pid), 0, "the child has it whole, split, and after that");
	close(m.fd);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(ready[i]);
	}
}

/* Without a word: a child that ends with all of it, many times. */
static void test_fork_and_exit(void)
{
	struct map m = map_new(len, 0);
	int wrong = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(unmarked(m.at, len, SALT) != 0);
		wrong += end_of(pid);
	}
	is_i(wrong, 0, "twenty children");
	ok(whole(&m, m.at, len, 0, RW), "leave the map as it was");
	map_end(&m, len);
}

/* --- shapes that do not fit ----------------------------------------------- */

static void test_shapes(void)
{
	const struct {
		size_t bytes, past;
		const char *name;
	} shapes[] = {
		{ page, 0, "a page" },
		{ pmd - page, 0, "a page less than a PMD" },
		{ pmd, page, "a PMD, at another address" },
		{ pmd + page, 0, "a page more than a PMD" },
		{ 2 * pmd, pmd - page, "two, from the last page of a PMD" },
		{ 2 * pmd + pmd / 2, 0, "two and a half" },
	};
	struct pfnmap_test_levels l;
	int fd;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct map m = map_new(shapes[i].bytes, shapes[i].past);

		ok(whole(&m, m.at, shapes[i].bytes, 0, RW), "%s",
		   shapes[i].name);
		levels(m.fd, m.at, shapes[i].bytes, &l);
		ok(!shapes[i].past || !l.pmd_bytes,
		   "an address that is not aligned as the memory: PTEs");
		ok(l.pmd_bytes <= shapes[i].bytes / pmd * pmd,
		   "and never more PMDs than fit");
		map_end(&m, shapes[i].bytes);
	}
	fd = open_as(PFNMAP_TEST_REMAP, page);
	{
		unsigned char *at = map_at(fd, place(len, 0), len);

		levels(fd, at, len, &l);
		ok(l.pte_bytes == len && !l.pmd_bytes,
		   "memory that is not aligned as the address: PTEs");
		munmap(at, len);
	}
	close(fd);
}

/* A process that wants no huge pages gets none. */
static void test_opt_out(void)
{
	struct pfnmap_test_levels l;
	struct map m;

	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	m = map_new(len, 0);
	levels(m.fd, m.at, len, &l);
	ok(l.pte_bytes == len && !l.pmd_bytes, "PR_SET_THP_DISABLE: PTEs");
	map_end(&m, len);
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

/* --- what looks at a map -------------------------------------------------- */

static bool read_all(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT;
	do
		n = read(fd, text, sizeof(text));
	while (n > 0);
	close(fd);
	return !n;
}

static void test_seen_by_others(void)
{
	static const struct { int advice, want; } advice[] = {
		{ MADV_DONTNEED, EINVAL }, { MADV_FREE, EINVAL },
		{ MADV_COLD, EINVAL }, { MADV_PAGEOUT, EINVAL },
		{ MADV_HUGEPAGE, 0 }, { MADV_NOHUGEPAGE, 0 },
	};
	struct map m = map_new(len, 0);
	static unsigned char vec[1 << 16];
	static uint64_t entries[1 << 12];
	struct iovec to = { vec, page }, from = { m.at, page };
	unsigned long node = 1;		/* the first one */
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	ok(read_all("/proc/self/smaps") && read_all("/proc/self/maps") &&
	   read_all("/proc/self/numa_maps") &&
	   read_all("/proc/self/smaps_rollup"), "/proc/self/smaps and the like");
	ok(fd < 0 || pread(fd, entries, sizeof(entries), (off_t)((uintptr_t)m.at /
			   page * sizeof(*entries))) == sizeof(entries),
	   "/proc/self/pagemap");
	close(fd);
	fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	ok(fd < 0 || write(fd, "1", 1) == 1, "/proc/self/clear_refs");
	close(fd);
	is_i(mincore(m.at, len, vec), 0, "mincore()");
	is_i(mlock(m.at, len), 0, "mlock()");
	is_i(munlock(m.at, len), 0, "munlock()");
	for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++)
		is_i(madvise(m.at, len, advice[i].advice) ? errno : 0,
		     advice[i].want, "advice, for PFN maps or not");
	is_i(process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 ? errno : 0,
	     EFAULT, "it has no pages to get");
	ok(!syscall(SYS_mbind, m.at, len, 2 /* BIND */, &node, 8, 1 /* STRICT */) ||
	   errno == ENOSYS, "mbind()");
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	is_i(write(fd, m.at + pmd - page, 2 * page), (long long)(2 * page),
	     "but system calls read it");
	close(fd);
	ok(whole(&m, m.at, len, 0, RW), "all of it is as it was");
	map_end(&m, len);
}

/* Another thread works in one half while the other is taken away. */
static volatile int stop;
static volatile long accesses;

static void *work(void *half)
{
	while (!stop) {
		for (size_t i = 0; i < pmd / 2; i += page)
			*(volatile uint64_t *)((unsigned char *)half + i) += 0;
		accesses++;
	}
	return NULL;
}

static void test_thread(void)
{
	struct map m = map_new(len, 0);
	pthread_t thread;
	int wrong = 0;

	stop = 0;
	if (pthread_create(&thread, NULL, work, m.at + pmd)) {
		ok(false, "a thread");
		return;
	}
	for (int i = 0; i < 50; i++) {
		long before = accesses;

		wrong += mprotect(m.at + pmd, pmd, PROT_READ | PROT_WRITE |
				  (i % 2 ? PROT_EXEC : 0));
		wrong += mprotect(m.at + pmd + pmd / 2, pmd / 2,
				  i % 2 ? PROT_READ : RW);
		while (accesses == before)
			usleep(1000);
	}
	munmap(m.at + pmd + pmd / 2, pmd / 2);
	stop = 1;
	pthread_join(thread, NULL);
	is_i(wrong, 0, "a thread works in one half while the other is protected");
	ok(whole(&m, m.at + pmd, pmd / 2, pmd, RW) && whole(&m, m.at, pmd, 0, RW),
	   "and unmapped");
	map_end(&m, len);
}

/* --- accounts ------------------------------------------------------------- */

/* Lines that the kernel's log, open since we began, got of a bug in it. */
static int kernel_bugs(int fd)
{
	static const char *const words[] = {
		"BUG:", "WARNING:", "Bad page", "bad pmd", "Oops",
		"non-zero pgtables_bytes",
	};
	char line[8192];
	ssize_t got;
	int n = 0;

	if (fd < 0)
		return -1;
	while ((got = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[got > 0 ? got : 0] = '\0';
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (strstr(line, words[i])) {
				printf("# %s", line);
				n++;
			}
		errno = 0;
	}
	close(fd);
	return n;
}

static void test_tables_come_back(void)
{
	long long before = table_bytes(), with;
	struct map m = map_new(len, 0);

	with = table_bytes();
	ok(with >= before + (long long)(PMDS * page),
	   "each PMD has a page table, used or kept");
	munmap(m.at + pmd / 2, pmd);
	is_i(table_bytes(), with, "which it still has when it is split");
	munmap(m.at, len);
	ok(table_bytes() <= before + (long long)page, "and they come back");
	close(m.fd);
}

int main(void)
{
	long long tables, now = 0;
	struct map m;
	int ret = lab_begin();
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (ret)
		return ret;
	lseek(kmsg, 0, SEEK_END);
	len = PMDS * pmd;
	tables = number_in("/proc/vmstat", "nr_page_table_pages ");
	m = map_new(len, 0);
	tell_levels(&m, m.at, len, "a new map");
	ok(whole(&m, m.at, len, 0, RW), "a new map is all there");
	map_end(&m, len);
	test_munmap_part();
	test_mprotect_part();
	test_mprotect_all_first();
	test_map_over();
	test_mremap();
	test_mremap_shrink();
	test_fork(false);
	test_fork(true);
	test_fork_and_exit();
	test_shapes();
	test_opt_out();
	test_seen_by_others();
	test_thread();
	test_tables_come_back();
	/* Some are freed after a grace period. */
	for (int i = 0; i < 100 && (!i || now > tables + 8); i++) {
		usleep(20000);
		now = number_in("/proc/vmstat", "nr_page_table_pages ");
	}
	ok(now <= tables + 8, "the machine has no more page tables than before");
	is_i(kernel_bugs(kmsg), 0, "the kernel's log tells of no bug");
	return tap_done();
}
