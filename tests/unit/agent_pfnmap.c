/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PFN map benchmarks over a fake driver and a fake perf ring: what they
 * need, what they prove, and what a driver that lies comes to.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../agent/bench.h"
#include "../../agent/bench/pfnmap_test.h"
#include "../../agent/run.h"
#include "../../common/record.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define MB (1ull << 20)
#define LEN (8 * MB)
#define BASE 4096
#define PMD (2 * MB)

static char root[64];
static struct err e;
static uint64_t stride = 64;

/* A kernel whose driver has this much memory; 0: a node that is not ours. */
static void tree(size_t driver_bytes)
{
	char path[128];

	fake_tree(root, BASE);
	fake_file(PFNMAP_TEST_NODE, "");
	fake_file("/proc/sys/kernel/osrelease", "6.12.0");
	snprintf(path, sizeof(path), "%s" PFNMAP_TEST_NODE, root);
	if (truncate(path, (off_t)driver_bytes))
		abort();
}

static const char *why_not(const char *name, uint64_t memory)
{
	const struct bench_params p = { .memory_bytes = memory,
					.stride_bytes = stride };
	const struct bench *b = bench_match(name, 0);

	return b && b->can_run(&p, &e) ? e.msg : "";
}

static void test_needs(void)
{
	tree(LEN);
	is(why_not("pfnmap.remap", LEN), "", "the driver is there");
	is(why_not("pfnmap.remap", 2 * LEN),
	   "/dev/pfnmap_test has 8m of memory, 16m asked", "its memory is counted");
	tree(0);
	is(why_not("pfnmap.fault", LEN), "/dev/pfnmap_test: Inappropriate ioctl "
	   "for device: not the driver of this mmtrend's kernel patches",
	   "another driver is refused");
	fake_lie("readonly");
	ok(strstr(why_not("pfnmap.fault", LEN), "; run as root") != NULL,
	   "a node that may not be opened is named");
	fake_tree(root, BASE);
	is(why_not("pfnmap.huge_fault", LEN), "no /dev/pfnmap_test: needs "
	   "CONFIG_PFNMAP_TEST (mmtrend's kernel patches)", "no driver");
}

static void test_stride(void)
{
	static const char wrong[] =
		"stride: expected a power of two from 16 to 64k, got 63";

	tree(LEN);
	stride = 63;
	is(why_not("pfnmap.remap", LEN), wrong, "a stride that no load has");
	is(why_not("pfnmap.perf", LEN), wrong, "in a ring too");
	stride = 64;
}

static void test_perf_needs(void)
{
	tree(0);
	is(why_not("pfnmap.perf", LEN), "", "perf events are there");
	is(why_not("pfnmap.perf", 6 * MB),
	   "a perf ring is a power of two in size, not 6m", "a size that no ring has");
	fake_lie("noperf");
	is(why_not("pfnmap.perf", LEN), "perf_event_open: No such file or directory: "
	   "needs CONFIG_PERF_EVENTS and leave to use it; run as root",
	   "no perf events");
	fake_lie("oldperf");
	is(why_not("pfnmap.perf", LEN), "kernel 6.12.0: a perf ring is no PFN map, "
	   "but mapped page by page by fault; needs Linux 6.14 or newer",
	   "an old kernel");
}

static int64_t samples[BENCH_MAX_METRICS];	/* of the last pass */

/* A launch as launch.c makes it. Returns what setup() did; 2: a pass failed. */
static int launched(const char *name, uint64_t level, const char *lies,
		    struct launch *l)
{
	static struct bench_params p;
	static struct mthp m;
	const struct bench *b = bench_match(name, 0);
	int ret, ready;

	tree(LEN);
	fake_lie(lies);
	if (!b || mthp_probe(&m, &e))
		return 2;
	p = b->defaults;
	p.memory_bytes = LEN;
	*l = (struct launch){ .bench = b, .params = &p, .mthp = &m,
			      .folio_bytes = level };
	ready = !(ret = b->setup(l, &e));
	for (int i = 0; !ret && i < 2; i++) {
		ret = b->iterate(l, samples, &e) ? 2 : 0;
		for (size_t j = 0; j < bench_nmetrics(b, &p); j++)
			ret = samples[j] > 0 ? ret : 2;
	}
	if (ready)
		b->teardown(l);
	return ret;
}

static const struct {
	const char *name;
	uint64_t level;
	const char *lie;
	int ret;
	long long folios, other;
	const char *proved, *wrong;	/* wrong: or the reason that @ret has */
} cases[] = {
	{ "pfnmap.remap", BASE, "", 0, 2048, 0, "driver", "" },
	{ "pfnmap.remap", PMD, "", 0, 4, 0, "driver", "" },
	{ "pfnmap.fault", BASE, "", 0, 2048, 0, "driver", "" },
	{ "pfnmap.huge_fault", PMD, "", 0, 4, 0, "driver", "" },
	{ "pfnmap.remap", BASE, "smallmap", 0, 2048, 0, "driver", "" },
	{ "pfnmap.remap", PMD, "smallmap", 0, 0, 2048, "driver: base pages", "" },
	{ "pfnmap.huge_fault", PMD, "smallmap", 0, 0, 2048, NULL,
	  "0 of 8m mapped at the 2m level" },
	{ "pfnmap.remap", PMD, "notables", 2, 0, 0, NULL,
	  "page tables of /dev/pfnmap_test: Inappropriate ioctl for device" },
	{ "pfnmap.remap", 65536, "", 1, 0, 0, NULL,
	  "PFN maps are of base pages or PMDs" },
	{ "pfnmap.fault", PMD, "", 1, 0, 0, NULL,
	  "vmf_insert_pfn() maps base pages" },
	{ "pfnmap.huge_fault", BASE, "", 1, 0, 0, NULL,
	  "vmf_insert_pfn_pmd() maps PMDs" },
};

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct launch l = { .wrong = "" };
		int ret = launched(cases[i].name, cases[i].level, cases[i].lie, &l);

		is_i(ret, cases[i].ret, cases[i].name);
		is_i(l.region.folios, cases[i].folios, "entries of the level");
		is_i(l.region.other_folios, cases[i].other, "entries of another");
		is(l.region.proved, cases[i].proved, "what proves them");
		is(ret ? e.msg : l.wrong, cases[i].wrong, "what is wrong");
	}
}

/* The fake's process has five page tables more after the map than before. */
static void test_tables(void)
{
	const struct bench *b = bench_match("pfnmap.remap", 0);
	struct launch l;

	is_i(launched("pfnmap.remap", PMD, "", &l), 0, "a pass");
	for (size_t i = 0; i < b->nmetrics; i++) {
		if (!strcmp(b->metrics[i].name, "tables_alloc_ns"))
			is_i(samples[i], 500, "allocation of the map's tables");
		if (!strcmp(b->metrics[i].name, "tables_free_ns"))
			is_i(samples[i], 50, "free of the map's tables");
	}
}

static void test_perf(void)
{
	struct launch l;

	is_i(launched("pfnmap.perf", BASE, "", &l), 0, "pfnmap.perf has figures");
	is_i(launched("pfnmap.perf", BASE, "oldperf", &l), -1,
	     "and none where the ring is no PFN map");
}

/* --- whole runs ---------------------------------------------------------- */

static const struct {
	const char *bench, *size, *lie;
	enum record_status status;
	size_t launches;
	const char *says;
} runs[] = {
	{ "pfnmap.remap", "pmd", "", RECORD_OK, 1, "" },
	{ "pfnmap.remap", "pmd", "smallmap", RECORD_OK, 1, "" },
	{ "pfnmap.huge_fault", "pmd", "smallmap", RECORD_INVALID, 1,
	  "0 of 8m mapped at the 2m level" },
	{ "pfnmap.remap", "64k", "", RECORD_SKIP, 0,
	  "PFN maps are of base pages or PMDs" },
	{ "pfnmap.fault", "pmd", "", RECORD_SKIP, 0,
	  "vmf_insert_pfn() maps base pages" },
	{ "pfnmap.perf", "base", "oldperf", RECORD_SKIP, 0,
	  "kernel 6.12.0: a perf ring is no PFN map, but mapped page by page by "
	  "fault; needs Linux 6.14 or newer" },
};

static void test_runs(void)
{
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct run_opts o = { .bench = runs[i].bench, .size = runs[i].size,
				      .launches = 1, .iterations = 1, .seed = 1,
				      .params.memory_bytes = LEN,
				      .host.label = "unit" };
		const struct record_cell *c;
		struct record *r;
		bool usage;

		tree(LEN);
		fake_lie(runs[i].lie);
		r = run_measure(&o, &usage, &e);
		if (!ok(r && r->ncells == 1, "%s %s: one cell", o.bench, o.size))
			continue;
		c = &r->cells[0];
		is(record_status_name(c->status),
		   record_status_name(runs[i].status), "its status");
		is(c->reasons.n ? c->reasons.v[0] : "", runs[i].says, "its reason");
		is_i((long long)c->nlaunches, (long long)runs[i].launches,
		     "figures where there are any");
		record_free(r);
	}
}

int main(void)
{
	char cmd[96];

	if (!freopen("/dev/null", "w", stderr))
		return 1;
	snprintf(root, sizeof(root), "/tmp/mmtrend-unit-pfnmap.%d", (int)getpid());
	test_needs();
	test_stride();
	test_perf_needs();
	test_cases();
	test_tables();
	test_perf();
	test_runs();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd) || tap_done();
}
