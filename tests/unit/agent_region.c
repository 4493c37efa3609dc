/* SPDX-License-Identifier: GPL-2.0-only */
/* The proof of a region's folio size, over a fake kernel that lies. */
#include <stdlib.h>
#include <unistd.h>

#include "../../agent/region.h"
#include "../../agent/settings.h"
#include "../../common/record.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define LEN (8u << 20)
#define K64 65536
#define STATS "/sys/kernel/mm/transparent_hugepage/hugepages-%llukB/stats/anon_fault_alloc"

enum { COUNTERS = 1, PAGEMAP = 2 };

static char root[64];

static const struct {
	const char *lie;
	int has;		/* which proofs can be read */
	uint64_t folio;
	int64_t folios, other;
	const char *proved, *wrong;
} cases[] = {
	{ "", 3, K64, 128, 0, "counter+pagemap", "" },
	{ "", 3, 4096, 2048, 0, "counter+pagemap", "" },
	{ "", 3, 16384, 512, 0, "counter+pagemap", "" },
	{ "", 3, 2097152, 4, 0, "counter+pagemap", "" },
	{ "", PAGEMAP, K64, 128, 0, "pagemap", "" },
	{ "", PAGEMAP, 4096, 2048, 0, "pagemap", "" },
	{ "", COUNTERS, K64, 128, 0, "counter", "" },
	{ "", COUNTERS, 4096, RECORD_NULL, 0, "counter", "" },
	{ "", 0, K64, RECORD_NULL, RECORD_NULL, NULL,
	  "folio size not proven: no anon_fault_alloc counters, and /proc/kpageflags not readable" },
	{ "fallback", 3, K64, 125, 48, NULL,
	  "125 of 128 folios of 64k, and 48 of other sizes" },
	{ "fallback", COUNTERS, K64, 125, 0, NULL,
	  "125 of 128 folios of 64k, and 0 of other sizes" },
	{ "inherit", 3, K64, 0, 4, NULL,
	  "0 of 128 folios of 64k, and 4 of other sizes" },
	{ "inherit", COUNTERS, K64, 0, 4, NULL,
	  "0 of 128 folios of 64k, and 4 of other sizes" },
	/* The counters are the whole system's, the pagemap is ours. */
	{ "other", 3, K64, 128, 0, "pagemap", "" },
	{ "other", 3, 4096, 2048, 0, "pagemap", "" },
	{ "other", COUNTERS, K64, 133, 7, NULL,
	  "133 of 128 folios of 64k, and 7 of other sizes" },
	{ "other", COUNTERS, 4096, RECORD_NULL, 12, NULL,
	  "12 folios larger than a base page were allocated meanwhile" },
};

static void tree(int has)
{
	char path[128];

	fake_tree(root, 4096);
	for (unsigned long long kb = 16; kb <= 2048; kb *= 2) {
		snprintf(path, sizeof(path), STATS, kb);
		if (!(has & COUNTERS))
			fake_file(path, NULL);
	}
	if (!(has & PAGEMAP))
		fake_file("/proc/kpageflags", NULL);
}

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct region r = { .map = NULL };
		struct mthp m;
		struct err e;
		bool done;

		tree(cases[i].has);
		done = !mthp_probe(&m, &e) && !settings_lock(&e) &&
		       !mthp_set(&m, cases[i].folio, &e);
		fake_lie(cases[i].lie);
		done = done && !region_map(&r, &m, cases[i].folio, LEN, &e);
		ok(done && !((size_t)r.addr % m.pmd_bytes),
		   "case %zu: mapped, aligned to the PMD", i);
		is_i(r.folios, cases[i].folios, "folios of the wanted size");
		is_i(r.other_folios, cases[i].other, "folios of other sizes");
		is(r.proved, cases[i].proved, "what proves them");
		is(r.wrong, cases[i].wrong, "what is wrong with them");
		region_unmap(&r);
		settings_restore(&e);
	}
}

static void test_no_thp(void)
{
	struct region r;
	struct mthp m;
	struct err e;

	tree(COUNTERS);
	fake_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", NULL);
	ok(!mthp_probe(&m, &e) && !region_map(&r, &m, 4096, LEN, &e) &&
	   !r.wrong[0], "a kernel without THP has base pages for sure");
	region_unmap(&r);
	region_unmap(&r);
	ok(!r.map, "a region can be unmapped twice");
	ok(region_map(&r, &m, 4096, (size_t)1 << 60, &e) == -1 &&
	   strstr(e.msg, "mmap of "), "more memory than there is, is an error");
}

int main(void)
{
	char cmd[96];

	snprintf(root, sizeof(root), "/tmp/mmtrend-unit-region.%d", (int)getpid());
	test_cases();
	test_no_thp();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd) || tap_done();
}
