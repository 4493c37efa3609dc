/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared loops (loads that visit every line once and wait for each other,
 * copies, a fork) and the benchmarks over the region that are made of them.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../agent/bench.h"
#include "../../agent/settings.h"
#include "../../agent/bench/chase.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define MB (1ull << 20)
#define PAGE 4096
#define LEN (8 * MB)
#define NOBODY 65534

static char root[64];
static struct err e;

/* --- loops --------------------------------------------------------------- */

/* Memory that is followed by nothing. */
static unsigned char *fenced(size_t len)
{
	unsigned char *p = mmap(NULL, len + PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + len, PAGE, PROT_NONE))
		abort();
	return p;
}

static const struct {
	size_t bytes, stride, lines;
} shapes[] = {
	{ MB, 64, 16384 },
	{ 2 * MB, 64, 32768 },			/* an odd number of bits */
	{ 3 * MB, 64, 32768 },			/* no power of two */
	{ MB, 128, 8192 },
	{ MB, 16, 65536 },			/* the load is the whole half */
	{ MB, 8192, 128 },			/* lines larger than a page */
	{ PAGE, 64, 64 },
};

static void test_order(void)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		size_t lines = shapes[i].lines, seen = 0, near = 0, last = 0;
		size_t in_page = PAGE / shapes[i].stride, repeats = 0;
		bool many = in_page && lines > in_page;
		unsigned char *p = fenced(shapes[i].bytes);
		bool *visited = calloc(lines, 1);
		size_t *order = calloc(lines, sizeof(*order));
		struct chase c;

		for (size_t off = 0; off < shapes[i].bytes; off += PAGE)
			p[off] = 1;	/* as populating leaves it */
		chase_init(&c, p, shapes[i].bytes, shapes[i].stride);
		for (size_t n = 0; n < lines; n++) {
			size_t line = chase_loads(&c, 1);

			if (line >= lines)
				break;
			order[n] = line;
			seen += !visited[line];
			visited[line] = true;
			near += many && line / in_page == last / in_page;
			repeats += many && n >= in_page && line % in_page ==
				   order[n - in_page] % in_page;
			last = line;
		}
		is_i((long long)seen, (long long)lines,
		     "every line is visited once in as many loads");
		if (many)
			ok(near < lines / 100 && repeats < lines / 4,
			   "pages (%zu near) and lines in them (%zu repeat) are "
			   "at random", near, repeats);
		chase_init(&c, p, shapes[i].bytes, shapes[i].stride);
		chase_loads(&c, 10);
		is_i((long long)chase_loads(&c, 20), (long long)order[29],
		     "a call goes on where the last one ended");
		munmap(p, shapes[i].bytes + PAGE);
		free(visited);
		free(order);
	}
}

static void test_dependent(void)
{
	unsigned char *p = fenced(MB);
	struct chase zero, one;

	chase_init(&zero, p, MB, 64);
	chase_loads(&zero, 1000);
	memset(p, 1, MB);
	chase_init(&one, p, MB, 64);
	chase_loads(&one, 1000);
	ok(zero.at != one.at, "the next address is made of what was loaded");
	munmap(p, MB + PAGE);
}

static void test_copies(void)
{
	unsigned char *p = fenced(MB), to[1000];

	for (size_t i = 0; i < MB; i++)
		p[i] = (unsigned char)(i % 251);
	chase_copy(p, MB);
	ok(!memcmp(p, p + MB / 2, MB / 2) && p[7] == 7,
	   "the lower half is copied over the upper one, and back");
	chase_copy_out(p, MB, to, sizeof(to));
	ok(!memcmp(to, p + MB / 1000 * 1000, MB % 1000),
	   "all is copied out, the last piece too");
	munmap(p, MB + PAGE);
}

static void test_fork(void)
{
	int64_t ns = 0;

	ok(!chase_fork(&ns, &e) && ns > 0, "fork takes time");
	ok(waitpid(-1, NULL, WNOHANG) < 0, "and no child is left");
}

/* --- benchmarks ---------------------------------------------------------- */

static const struct {
	uint64_t memory;
	long long metrics;		/* of latency */
	const char *latency, *memcpy;	/* why not */
} sizes[] = {
	{ 8 * MB, 1, "needs at least 64m of memory, not 8m", "" },
	{ 64 * MB, 1, "", "" },
	{ 192 * MB, 1, "", "" },
	{ 256 * MB, 2, "", "" },
	{ 1024 * MB, 3, "", "" },
	{ 4096 * MB, 4, "", "" },
	{ 8192 * MB, 4, "", "a pass over 8g is too long for one burst: at most 4g" },
	{ 16384 * MB, 5, "", "a pass over 16g is too long for one burst: at most 4g" },
};

static const char *why_not(const char *name, const struct bench_params *p)
{
	const struct bench *b = bench_match(name, 0);

	return b && b->can_run(p, &e) ? e.msg : "";
}

static void test_sizes(void)
{
	const struct bench *latency = bench_match("latency", 0);

	if (!ok(latency != NULL, "latency is in the registry"))
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bench_params p = { .memory_bytes = sizes[i].memory,
					  .stride_bytes = 64 };

		is_i((long long)bench_nmetrics(latency, &p), sizes[i].metrics,
		     "latency has the sizes that fit");
		is(why_not("latency", &p), sizes[i].latency, "and says if none does");
		is(why_not("memcpy", &p), sizes[i].memcpy,
		   "memcpy refuses what would be throttled");
	}
}

static void test_stride(void)
{
	static const struct { uint64_t stride; const char *wrong; } rows[] = {
		{ 64, "" }, { 16, "" }, { 65536, "" },
		{ 8, "stride: expected a power of two from 16 to 64k, got 8" },
		{ 96, "stride: expected a power of two from 16 to 64k, got 96" },
		{ 131072, "stride: expected a power of two from 16 to 64k, got 128k" },
		{ UINT64_MAX, "stride: expected a power of two from 16 to 64k, "
		  "got 18446744073709551615" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench_params p = { .memory_bytes = 64 * MB,
					  .stride_bytes = rows[i].stride };

		is(why_not("latency", &p), rows[i].wrong, "strides that can be");
	}
}

/* In a process that may lock nothing. */
static void test_mlock_refused(void)
{
	const struct bench_params p = { .memory_bytes = 256 * MB };
	int status;

	if (!fork()) {
		setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 0, 0 });
		if (!geteuid() && setuid(NOBODY))
			_exit(2);
		_exit(!strstr(why_not("mlock", &p), "mlock of 256m: ") ||
		      !strstr(e.msg, "run as root"));
	}
	ok(wait(&status) > 0 && !status, "mlock says what it lacks");
}

/* A launch as launch.c makes it: @passes passes over a proven region. */
static bool launched(const char *name, uint64_t memory, const char *lies,
		     unsigned passes, struct launch *l)
{
	static struct bench_params p;
	static struct mthp m;
	const struct bench *b = bench_match(name, 0);
	int64_t samples[BENCH_MAX_METRICS];
	bool good;

	if (!b)
		return false;
	p = b->defaults;
	p.memory_bytes = memory;
	fake_tree(root, PAGE);
	*l = (struct launch){ .bench = b, .params = &p, .mthp = &m,
			      .folio_bytes = 65536 };
	good = !mthp_probe(&m, &e) && !settings_lock(&e) &&
	       !mthp_set(&m, 65536, &e) &&
	       !region_map(&l->region, &m, 65536, memory, &e) &&
	       (!b->setup || !b->setup(l, &e));
	for (unsigned i = 0; good && i < passes; i++) {
		memset(samples, 0, sizeof(samples));
		good = !b->iterate(l, samples, &e);
		for (size_t j = 0; j < bench_nmetrics(b, &p); j++)
			good = good && samples[j] > 0;
		fake_lie(lies);
	}
	if (good && b->teardown)
		b->teardown(l);
	settings_restore(&e);
	return good;
}

static void test_passes(void)
{
	static const struct { const char *name; uint64_t memory; } rows[] = {
		{ "fork", LEN }, { "munmap", LEN }, { "mprotect", LEN },
		{ "mlock", LEN }, { "memcpy", LEN }, { "latency", 64 * MB },
	};
	struct launch l;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ok(launched(rows[i].name, rows[i].memory, "", 3, &l) &&
		   !l.wrong[0] && !l.region.wrong[0],
		   "%s: three passes, each with a figure", rows[i].name);
		region_unmap(&l.region);
	}
}

/* Memory that is taken anew must be as right as the first. */
static void test_renewed(void)
{
	static const char *const names[] = { "fork", "munmap" };
	struct launch l;

	for (size_t i = 0; i < 2; i++) {
		ok(launched(names[i], LEN, "fallback", 2, &l), "%s runs", names[i]);
		is(l.wrong, "125 of 128 folios of 64k, and 48 of other sizes",
		   "and its second memory is proven as well");
	}
}

int main(void)
{
	char cmd[96];

	snprintf(root, sizeof(root), "/tmp/mmtrend-unit-latency.%d", (int)getpid());
	test_order();
	test_dependent();
	test_copies();
	test_fork();
	test_sizes();
	test_stride();
	test_mlock_refused();
	test_passes();
	test_renewed();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd) || tap_done();
}
