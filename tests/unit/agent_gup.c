/* SPDX-License-Identifier: GPL-2.0-only */
/* Whatever gup_test says, pages that were not pinned are never a figure. */
#include <stdlib.h>
#include <unistd.h>

#include "../../agent/bench.h"
#include "../../agent/run.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define GUP_TEST "/sys/kernel/debug/gup_test"
#define FREE_2M "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"

static char root[64];

static struct record *run(const char *bench, const char *size, const char *lies,
			  const struct bench_params *params)
{
	struct run_opts o = { .bench = bench, .size = size, .launches = 1,
			      .iterations = 3, .seed = 7, .launch_s = 10,
			      .host.label = "unit", .params = *params };
	struct record *r;
	struct err e;
	bool usage;

	if (!o.params.memory_bytes)
		o.params.memory_bytes = 8 << 20;
	fake_lie(lies);
	r = run_measure(&o, &usage, &e);
	if (!ok(r && r->ncells == 1, "%s %s: one cell", bench, lies))
		exit(1);
	return r;
}

static void status(const struct record *r, enum record_status want, const char *says)
{
	const struct record_cell *c = &r->cells[0];
	const char *why = c->reasons.n ? c->reasons.v[0] : "";

	is(record_status_name(c->status), record_status_name(want), "its status");
	if (!ok(says ? strstr(why, says) != NULL : !*why, "the reason"))
		printf("# got:  %s\n# want: %s\n", why, says ? says : "");
}

/* --- a kernel that tells the truth --------------------------------------- */

static void test_truth(void)
{
	static const char *const names[] = {
		"gup.pin_longterm", "gup.pin_fast", "gup.get_fast",
		"gup.get_basic", "gup.pin_basic",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct record *r = run(names[i], "64k", "", &(struct bench_params){ 0 });
		const struct record_launch *l = &r->cells[0].launches[0];
		const struct record_samples *s = l->samples;

		status(r, RECORD_OK, NULL);
		is_i(l->pinned, 2048, "its pages are counted");
		is(l->proved, "counter+pagemap", "and so are their folios");
		is(s[0].metric, "get_ns", "get_ns");
		is_i(s[0].values.v[2], 128000, "is what the ioctl says, of one pass");
		is(s[1].metric, "put_ns", "put_ns");
		is_i(s[1].values.v[2], 32000, "likewise");
		is(s[2].metric, "call_ns", "call_ns");
		ok(s[2].values.v[2] > 0, "is the ioctl from outside");
		is_i(r->benches[0].metrics[0].quantum, 1000, "get_ns has whole us");
		is_i(r->benches[0].metrics[0].ops, 2048, "ops are base pages");
		record_free(r);
	}
}

/* FOLL_WRITE unless asked not to, and the document tells. */
static void test_read(void)
{
	struct record *r = run("gup.pin_fast", "base", "gupwrite",
			       &(struct bench_params){ .read = 1 });
	struct buf text = BUF_INIT;

	status(r, RECORD_OK, NULL);
	record_params_text(&r->benches[0], &text);
	is(text.s, "memory_bytes=8388608&pages_per_call=2048&read=1",
	   "reading only is a parameter: another series");
	buf_free(&text);
	record_free(r);
	r = run("gup.pin_fast", "base", "gupwrite", &(struct bench_params){ 0 });
	status(r, RECORD_INVALID, "0 of 8388608 bytes");
	record_free(r);
}

/* --- kernels that lie ---------------------------------------------------- */

static const struct {
	const char *lie, *bench;
	enum record_status status;
	const char *says;
} lies[] = {
	{ "gupfew", "gup.pin_fast", RECORD_INVALID, "2047 pages pinned, 2048 asked" },
	{ "gupfew", "gup.pin_longterm", RECORD_INVALID, "2047 pages pinned" },
	{ "guphalf", "gup.pin_longterm", RECORD_INVALID, "1024 pages pinned, 2048 asked" },
	{ "guphalf", "gup.pin_basic", RECORD_INVALID, "1024 pages pinned, 2048 asked" },
	{ "guphalf", "gup.get_fast", RECORD_INVALID, "1024 pages pinned, 2048 asked" },
	{ "guphalf", "gup.get_basic", RECORD_INVALID, "1024 pages pinned, 2048 asked" },
	{ "guptrunc", "gup.pin_fast", RECORD_INVALID,
	  "truncated: 4194304 of 8388608 bytes, at 2048 pages a call" },
	{ "guptrunc", "gup.get_fast", RECORD_INVALID, "truncated: 4194304 of" },
	{ "gupzero", "gup.pin_longterm", RECORD_INVALID, "0 us for 2048 pages" },
	{ "gupzero", "gup.get_fast", RECORD_INVALID, "0 us for 2048 pages" },
	{ "gupeinval", "gup.pin_longterm", RECORD_INVALID,
	  "Invalid argument: this kernel's struct gup_test is another" },
	{ "gupother", "gup.pin_basic", RECORD_INVALID,
	  "2053 pages pinned, 2048 asked: another process pins as well" },
	{ "gupmigrate", "gup.pin_longterm", RECORD_OK, NULL },
	{ "gupmigrate", "gup.pin_fast", RECORD_INVALID, "4096 pages pinned, 2048" },
};

static void test_lies(void)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct record *r = run(lies[i].bench, "base", lies[i].lie,
				       &(struct bench_params){ 0 });

		status(r, lies[i].status, lies[i].says);
		ok((r->cells[0].nlaunches > 0) == (lies[i].status == RECORD_OK),
		   "figures only from pages that were pinned");
		record_free(r);
	}
}

static void test_migrated_twice(void)
{
	struct record *r = run("gup.pin_longterm", "base", "guptwice",
			       &(struct bench_params){ 0 });

	status(r, RECORD_INVALID, "4096 pages pinned, 2048 asked");
	is_i((long long)r->cells[0].launches[0].samples[0].values.n, 1,
	     "only iteration 0 may migrate");
	is_i(r->cells[0].launches[0].pinned, 2048, "and its pages count once");
	record_free(r);
}

/* --- kernels that cannot ------------------------------------------------- */

static void no_gup_test(void)
{
	fake_file(GUP_TEST, NULL);
}

static void no_debugfs(void)
{
	no_gup_test();
	fake_file("/proc/mounts", "sysfs /sys sysfs rw 0 0");
}

static void no_mounts(void)
{
	no_gup_test();
	fake_file("/proc/mounts", NULL);
}

static void no_counter(void)
{
	fake_file("/proc/vmstat", "nr_free_pages 1");
}

static void no_refresh(void)
{
	fake_file("/proc/sys/vm/stat_refresh", NULL);
}

static const struct {
	void (*take)(void);
	const char *lie, *says;
} needs[] = {
	{ no_debugfs, "notroot", "not root: only root opens /sys/kernel/debug/gup_test" },
	{ no_gup_test, "", "no CONFIG_GUP_TEST: /sys/kernel/debug/gup_test is not there" },
	{ no_debugfs, "", "debugfs is not mounted: no /sys/kernel/debug/gup_test; "
	  "mount -t debugfs none /sys/kernel/debug" },
	{ no_mounts, "", "no /sys/kernel/debug/gup_test, and /proc/mounts: No such file" },
	{ NULL, "readonly", "/sys/kernel/debug/gup_test: Read-only file system" },
	{ no_refresh, "", "stat_refresh: No such file or directory: pins cannot be" },
	{ no_counter, "", "no nr_foll_pin_acquired in /proc/vmstat: pins cannot be" },
};

static void test_needs(void)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		struct record *r;

		fake_tree(root, 4096);
		if (needs[i].take)
			needs[i].take();
		r = run("gup.pin_longterm", "base", needs[i].lie,
			&(struct bench_params){ 0 });
		status(r, RECORD_SKIP, needs[i].says);
		is_i((long long)r->cells[0].nlaunches, 0, "without a figure");
		record_free(r);
	}
	fake_tree(root, 4096);
}

/* --- other memory -------------------------------------------------------- */

static void test_shared(void)
{
	const struct bench_params shared = { .shared = 1 };
	struct record *r = run("gup.pin_fast", "base", "", &shared);

	status(r, RECORD_OK, NULL);
	is(r->cells[0].launches[0].proved, "counter", "it has a proof of its own");
	is_i(r->cells[0].launches[0].folios, RECORD_NULL,
	     "not the anonymous region's");
	record_free(r);
	r = run("gup.pin_fast", "base", "shmemhuge", &shared);
	status(r, RECORD_INVALID, "1 large folios were taken, expected 0");
	record_free(r);
}

static const struct {
	struct bench_params params;
	uint64_t folio;
	const char *says;
} lacking[] = {
	{ { .shared = 1 }, 65536, "shared memory is measured in base pages only" },
	{ { .hugetlb = 1 }, 4096, "this kernel has no hugetlb pages of 4k" },
	{ { .hugetlb = 1 }, 2 << 20, "3 of 4 hugetlb pages of 2m are free: raise "
	  "nr_hugepages in /sys/kernel/mm/hugepages" },
};

static void test_lacking(void)
{
	const struct bench *b = bench_match("gup.pin_fast", 0);
	struct mthp m;
	struct err e;

	fake_file(FREE_2M, "3");
	fake_lie("");
	if (!ok(!mthp_probe(&m, &e), "folio sizes are known"))
		return;
	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
		struct launch l = { .bench = b, .params = &lacking[i].params,
				    .mthp = &m, .folio_bytes = lacking[i].folio,
				    .region.len = 8 << 20 };

		is_i(b->setup(&l, &e), 1, "what a kernel lacks is a skip");
		is(e.msg, lacking[i].says, "with its reason");
	}
}

/* --- parameters ---------------------------------------------------------- */

static void test_large_pages(void)
{
	struct record *r;

	fake_tree(root, 16384);
	r = run("gup.pin_fast", "base", "",
		&(struct bench_params){ .memory_bytes = 128 << 20 });
	status(r, RECORD_OK, NULL);
	is_i(r->cells[0].launches[0].pinned, 8192, "16 kB pages: one call, all pages");
	record_free(r);
	fake_tree(root, 4096);
}

static void test_same_as(void)
{
	const struct bench *b = bench_match("gup.pin_longterm", 0);

	is(b->same_as, "gup_test -L -m 256 -n 65536 -r 16 -t",
	   "the command of the mails");
	is_i((long long)b->defaults.pages_per_call * 4096,
	     (long long)b->defaults.memory_bytes, "and its figures are our defaults");
	ok(!bench_match("gup.pin_basic", 0)->same_as &&
	   !bench_match("gup.get_basic", 0)->same_as,
	   "the tool prints no time of its basic modes");
}

int main(void)
{
	char cmd[96];

	if (!freopen("/dev/null", "w", stderr))
		return 1;
	snprintf(root, sizeof(root), "/tmp/mmtrend-unit-gup.%d", (int)getpid());
	fake_tree(root, 4096);
	test_truth();
	test_read();
	test_lies();
	test_migrated_twice();
	test_needs();
	test_shared();
	test_lacking();
	test_large_pages();
	test_same_as();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd) || tap_done();
}
