/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PFN map test driver itself: each bad argument is refused, a map stays a
 * map through fork, mremap and partial munmap, the levels it tells are right,
 * and its memory comes back.
 */
#include "pfnmap.h"

static const size_t K = 1024;
static uint64_t memory;

static void test_node(void)
{
	int fd = open(PFNMAP_TEST_NODE, O_RDWR | O_CLOEXEC);
	struct pfnmap_test_info info = { 0 };

	is_i(ioctl(fd, PFNMAP_TEST_INFO, &info), 0, "INFO");
	memory = info.memory_bytes;
	ok(memory >= 4 * pmd && !(memory % page), "four PMDs can be mapped");
	is_i(ioctl(fd, PFNMAP_TEST_INFO, NULL) ? errno : 0, EFAULT,
	     "INFO to nowhere");
	is_i(ioctl(fd, _IO('N', 0xbf), NULL) ? errno : 0, ENOTTY,
	     "an ioctl that there is not");
	is_i(map_at(fd, place(pmd, 0), pmd) ? 0 : errno, EINVAL,
	     "a map without a setup");
	close(fd);
}

static void test_setup(void)
{
	const struct {
		struct pfnmap_test_setup s;
		const char *what;
	} bad[] = {
		{ { .how = 3, .level_bytes = page }, "how: one too many" },
		{ { .how = ~0u, .level_bytes = page }, "how: -1" },
		{ { .reserved = 1, .level_bytes = page }, "reserved: 1" },
		{ { .level_bytes = 0 }, "no level" },
		{ { .level_bytes = 1 }, "a level of a byte" },
		{ { .level_bytes = 64 * K }, "a level of 64 kB" },
		{ { .level_bytes = pmd / 2 }, "half a PMD" },
		{ { .level_bytes = ~0ull }, "a level of all" },
		{ { .level_bytes = page | 1ull << 32 }, "a level beyond 32 bits" },
	};
	int fd = open(PFNMAP_TEST_NODE, O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is_i(ioctl(fd, PFNMAP_TEST_SETUP, &bad[i].s) ? errno : 0, EINVAL,
		     bad[i].what);
	is_i(ioctl(fd, PFNMAP_TEST_SETUP, NULL) ? errno : 0, EFAULT,
	     "SETUP from nowhere");
	ok(!map_at(fd, place(pmd, 0), pmd), "none of these is a setup");
	is_i(setup(fd, PFNMAP_TEST_REMAP, pmd), 0, "a setup");
	is_i(setup(fd, PFNMAP_TEST_FAULT, page), 0, "another, before a map");
	close(fd);
}

static void refused(int fd, size_t len, int flags, off_t at, int want,
		    const char *what)
{
	void *p = mmap(NULL, len, RW, flags, fd, at);

	is_i(p == MAP_FAILED ? errno : 0, want, what);
	if (p != MAP_FAILED)
		munmap(p, len);
}

static void test_mmap(void)
{
	int fd = open_as(PFNMAP_TEST_REMAP, pmd), ro;

	refused(fd, pmd, MAP_PRIVATE, 0, EINVAL, "a private map");
	refused(fd, pmd, MAP_SHARED, (off_t)page, EINVAL, "an offset");
	refused(fd, memory + page, MAP_SHARED, 0, EINVAL, "more than there is");
	refused(fd, memory, MAP_SHARED, 0, 0, "all there is");
	refused(fd, page, MAP_SHARED, 0, 0, "a page");
	refused(fd, 1, MAP_SHARED, 0, 0, "a byte, which is a page");
	is_i(setup(fd, PFNMAP_TEST_REMAP, page), 0,
	     "a map that failed, or is gone, is not counted");
	refused(fd, memory, MAP_SHARED, 0, 0, "all there is, one page on");
	ro = open(PFNMAP_TEST_NODE, O_RDONLY | O_CLOEXEC);
	setup(ro, PFNMAP_TEST_REMAP, pmd);
	refused(ro, pmd, MAP_SHARED, 0, EACCES, "writing where one may read");
	close(ro);
	close(fd);
}

static void test_levels_refused(void)
{
	int fd = open_as(PFNMAP_TEST_REMAP, pmd);
	int other = open_as(PFNMAP_TEST_REMAP, pmd);
	unsigned char *at = map_at(fd, place(4 * pmd, 0), 2 * pmd);
	const struct {
		uint64_t addr, len;
		const char *what;
	} bad[] = {
		{ (uintptr_t)at + 1, page, "an address within a page" },
		{ (uintptr_t)at, page + 1, "a part of a page" },
		{ (uintptr_t)at, 0, "nothing" },
		{ (uintptr_t)at, 2 * pmd + page, "beyond the end" },
		{ (uintptr_t)at - page, page, "before the start" },
		{ (uintptr_t)at + 2 * pmd, page, "what is not mapped" },
		{ 0, page, "page 0" },
		{ (uintptr_t)at, -(uintptr_t)at, "to the end of all" },
		{ (uintptr_t)at, -page, "around" },
		{ -(uint64_t)page, page, "the kernel's last page" },
		{ 1ull << 63, page, "the kernel's" },
		{ (uintptr_t)&memory & -page, page, "memory of another kind" },
	};
	struct pfnmap_test_levels l;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is_i(levels(fd, (void *)(uintptr_t)bad[i].addr, bad[i].len, &l),
		     EINVAL, bad[i].what);
	is_i(ioctl(fd, PFNMAP_TEST_LEVELS, NULL) ? errno : 0, EFAULT,
	     "LEVELS of nowhere");
	is_i(levels(other, at, page, &l), EINVAL, "a map of another file");
	munmap(at + pmd, page);
	is_i(levels(fd, at, 2 * pmd, &l), EINVAL, "a map with a hole");
	is_i(mapped(fd, at, pmd), (long long)pmd, "and what is before it");
	is_i(mapped(fd, at + pmd + page, pmd - page), (long long)(pmd - page),
	     "and after it");
	munmap(at, 2 * pmd);
	close(other);
	close(fd);
}

/* What each way of mapping comes to. */
static void test_levels(void)
{
	const struct {
		enum pfnmap_test_how how;
		uint64_t level;
		const char *name;
		size_t at_once, after_one;	/* bytes of PTEs, or of PMDs */
		bool pmds;
	} ways[] = {
		{ PFNMAP_TEST_REMAP, page, "remap, base", 4 * pmd, 4 * pmd, false },
		{ PFNMAP_TEST_FAULT, page, "fault, base", 0, page, false },
		{ PFNMAP_TEST_FAULT, pmd, "fault, PMD", 0, page, false },
		{ PFNMAP_TEST_HUGE_FAULT, page, "huge fault, base", 0, page, false },
		{ PFNMAP_TEST_HUGE_FAULT, pmd, "huge fault, PMD", 0, pmd, true },
	};
	struct pfnmap_test_levels l;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		int fd = open_as(ways[i].how, ways[i].level);
		unsigned char *at = map_at(fd, place(4 * pmd, 0), 4 * pmd);

		levels(fd, at, 4 * pmd, &l);
		ok(l.pte_bytes == ways[i].at_once && !l.pmd_bytes,
		   "%s: as mapped", ways[i].name);
		touch(at + pmd + page, true);
		levels(fd, at, 4 * pmd, &l);
		ok((ways[i].pmds ? l.pmd_bytes : l.pte_bytes) == ways[i].after_one &&
		   !(ways[i].pmds ? l.pte_bytes : l.pmd_bytes),
		   "%s: after one access", ways[i].name);
		levels(fd, at + pmd + page, page, &l);
		is_i((long long)(l.pte_bytes + l.pmd_bytes), (long long)page,
		     "and that page alone");
		munmap(at, 4 * pmd);
		close(fd);
	}
}

/* A huge fault where no whole PMD fits: a small map, an odd address. */
static void test_huge_fault_falls_back(void)
{
	int fd = open_as(PFNMAP_TEST_HUGE_FAULT, pmd);
	struct pfnmap_test_levels l;
	unsigned char *at;

	at = map_at(fd, place(pmd, 0), pmd - page);
	touch(at, true);
	levels(fd, at, pmd - page, &l);
	ok(l.pte_bytes == page && !l.pmd_bytes, "less than a PMD: a PTE");
	munmap(at, pmd - page);
	at = map_at(fd, place(2 * pmd, page), 2 * pmd);
	touch(at + pmd, true);
	levels(fd, at, 2 * pmd, &l);
	ok(l.pte_bytes == page && !l.pmd_bytes,
	   "memory that is not aligned as the address: a PTE");
	munmap(at, 2 * pmd);
	close(fd);
}

/* All maps are of one memory; a base map begins a page later. */
static void test_contents(void)
{
	static const char *const names[] = { "remap", "fault", "huge fault" };
	int first = open_as(PFNMAP_TEST_REMAP, pmd), fd;
	unsigned char *all = map_at(first, place(memory, 0), memory), *at;
	size_t dirty = 0;

	for (size_t i = 0; i < memory; i += sizeof(uint64_t))
		dirty += *(uint64_t *)(all + i) != 0;
	is_i((long long)dirty, 0, "the memory comes zeroed");
	mark(all, memory, 7);
	for (unsigned how = 0; how < 3; how++)
		for (int base = 0; base < 2; base++) {
			fd = open_as(how, base ? page : pmd);
			at = map_at(fd, place(memory, 0), memory);
			ok(!unmarked(at, memory - page, 7u + (unsigned)base),
			   "%s, %s: the same memory", names[how],
			   base ? "one page on" : "from its start");
			touch(at + memory - 1, true);
			munmap(at, memory);
			close(fd);
		}
	munmap(all, memory);
	close(first);
}

/* What is mapped, by whomever, is not set up anew. */
static void test_busy(void)
{
	int fd = open_as(PFNMAP_TEST_REMAP, pmd), go[2];
	unsigned char *at = map_at(fd, place(4 * pmd, 0), 2 * pmd);
	struct pfnmap_test_levels l;
	char c = 0;
	pid_t pid;

	is_i(setup(fd, PFNMAP_TEST_FAULT, page), EBUSY, "mapped");
	munmap(at, pmd / 2);
	is_i(setup(fd, PFNMAP_TEST_FAULT, page), EBUSY, "a part of it is");
	munmap(at + pmd, page);
	is_i(setup(fd, PFNMAP_TEST_FAULT, page), EBUSY, "two parts are");
	if (pipe(go) || (pid = fork()) < 0)
		return;
	if (!pid) {
		close(go[1]);
		_exit(read(go[0], &c, 1) || levels(fd, at + pmd / 2, pmd / 2, &l));
	}
	munmap(at, 2 * pmd);
	is_i(setup(fd, PFNMAP_TEST_FAULT, page), EBUSY, "a child has it");
	close(go[1]);
	is_i(end_of(pid), 0, "and can ask for its levels");
	close(go[0]);
	is_i(setup(fd, PFNMAP_TEST_FAULT, page), 0, "nobody has it");
	at = map_at(fd, place(pmd, 0), pmd);
	close(fd);
	is_i(touch(at, true), 0, "a map outlives the descriptor");
	munmap(at, pmd);
}

static void test_mremap(void)
{
	int fd = open_as(PFNMAP_TEST_FAULT, pmd);
	unsigned char *from = map_at(fd, place(4 * pmd, 0), 2 * pmd);
	unsigned char *to = place(4 * pmd, 0), *got;

	mark(from, 2 * pmd, 100);
	is_i(mremap(from, 2 * pmd, 4 * pmd, MREMAP_MAYMOVE) == MAP_FAILED ?
	     errno : 0, EFAULT, "a PFN map does not grow");
	got = mremap(from, 2 * pmd, 2 * pmd, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ok(got == to && !unmarked(to, 2 * pmd, 100), "it moves");
	is_i(setup(fd, PFNMAP_TEST_FAULT, page), EBUSY, "and is still mapped");
	got = mremap(to, 2 * pmd, pmd, 0);
	ok(got == to && !unmarked(to, pmd, 100) && touch(to + pmd, false) == SIGSEGV,
	   "it shrinks");
	munmap(to, pmd);
	is_i(setup(fd, PFNMAP_TEST_FAULT, page), 0, "and is gone");
	close(fd);
}

static void test_tables(void)
{
	const uint64_t most = memory / pmd;
	struct pfnmap_test_tables t = { .nr = most };
	int fd = open(PFNMAP_TEST_NODE, O_RDWR | O_CLOEXEC);
	long long before = table_bytes();

	is_i(ioctl(fd, PFNMAP_TEST_TABLES, &t), 0, "TABLES of all the memory");
	ok(t.alloc_ns > 0 && t.free_ns > 0, "took their time");
	is_i((long long)(t.held * page), before, "held: as VmPTE says");
	is_i(table_bytes(), before, "none is left");
	t = (struct pfnmap_test_tables){ .nr = 0 };
	is_i(ioctl(fd, PFNMAP_TEST_TABLES, &t), 0, "none is asked");
	for (int i = 0; i < 3; i++) {
		static const uint64_t many[] = { 1000, 1ull << 32, ~0ull };

		t = (struct pfnmap_test_tables){ .nr = many[i] + most };
		is_i(ioctl(fd, PFNMAP_TEST_TABLES, &t) ? errno : 0,
		     many[i] + most < 1000 ? 0 : EINVAL, "too many");
	}
	is_i(ioctl(fd, PFNMAP_TEST_TABLES, NULL) ? errno : 0, EFAULT,
	     "TABLES of nowhere");
	close(fd);
}

/* Several at once: each sets up, maps, touches, forgets. */
static void test_many(void)
{
	enum { PROCESSES = 4, TIMES = 6 };
	pid_t pid[PROCESSES];
	int wrong = 0;

	for (int i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		for (int j = 0; j < TIMES; j++) {
			int fd = open_as((unsigned)(i + j) % 3, j % 2 ? page : pmd);
			unsigned char *at = map_at(fd, place(2 * pmd, 0), 2 * pmd);

			wrong += !at || pages_ok(at, 2 * pmd, true) != 2 * pmd / page;
			munmap(at, (size_t)(j + 1) * page);
			close(fd);
		}
		_exit(wrong);
	}
	for (int i = 0; i < PROCESSES; i++)
		wrong += end_of(pid[i]);
	is_i(wrong, 0, "four processes at once");
}

/* More often than the machine could hold it. (MemFree does not count what lies
 * on the lists of each CPU, which can be an eighth of the memory.) */
static void test_memory_comes_back(void)
{
	long long all = (long long)(memory / K), free_kb;
	long long times = number_in("/proc/meminfo", "MemTotal:") / all + 2;

	free_kb = number_in("/proc/meminfo", "MemFree:");
	while (times--) {
		int fd = open_as(PFNMAP_TEST_REMAP, pmd);

		close(fd);
	}
	ok(number_in("/proc/meminfo", "MemFree:") > free_kb - all / 2,
	   "the memory comes back when the file is closed");
}

int main(void)
{
	int ret = lab_begin();

	if (ret)
		return ret;
	test_node();
	test_setup();
	test_mmap();
	test_levels_refused();
	test_levels();
	test_huge_fault_falls_back();
	test_contents();
	test_busy();
	test_mremap();
	test_tables();
	test_many();
	test_memory_comes_back();
	return tap_done();
}
