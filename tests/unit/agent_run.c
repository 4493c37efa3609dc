/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole runs over the fake kernel: every lie ends in a status and a reason. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../agent/bench.h"
#include "../../agent/settings.h"
#include "../../agent/dev.h"
#include "../../agent/run.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define THP "/sys/kernel/mm/transparent_hugepage"

static char root[64];
static struct err e;
static bool usage;

static const struct run_opts SMALL = {
	.launches = 2, .iterations = 2, .params.memory_bytes = 8 << 20, .seed = 7,
	.host.label = "unit",
};

static bool as_found(void)
{
	char a[128] = "", b[128] = "";

	dev_read(THP "/hugepages-64kB/enabled", a, sizeof(a));
	dev_read(THP "/hugepages-2048kB/enabled", b, sizeof(b));
	return !strcmp(a, "always inherit madvise [never]") &&
	       !strcmp(b, "always [inherit] madvise never") &&
	       !dev_exists("/run/mmtrend/journal");
}

static struct record *run(const char *bench, const char *size, const char *lies)
{
	struct run_opts o = SMALL;

	o.bench = bench;
	o.size = size;
	o.launch_s = 3;
	fake_lie(lies);
	e.msg[0] = '\0';
	return run_measure(&o, &usage, &e);
}

static const struct record_cell *cell(const struct record *r, const char *bench,
				      int64_t folio)
{
	for (size_t i = 0; i < r->ncells; i++)
		if (!strcmp(r->cells[i].bench, bench) &&
		    r->cells[i].folio_bytes == folio)
			return &r->cells[i];
	return NULL;
}

static void test_all(void)
{
	struct record *r = run("null,mincore,populate,pvm", NULL, ""), *back = NULL;
	struct buf text = BUF_INIT;
	const struct record_cell *c;
	size_t good = 0;

	if (!ok(r != NULL, "everything runs"))
		return;
	for (size_t i = 0; i < r->ncells; i++) {
		c = &r->cells[i];
		good += c->status == RECORD_OK && c->nlaunches == 2 &&
			c->launches[0].samples[0].values.n == 2;
	}
	is_i((long long)r->ncells, 1 + 4 * 9, "one cell of null, nine of each other");
	is_i((long long)good, (long long)r->ncells, "all ok, with 2 launches of 2 samples");
	c = cell(r, "pvm", 65536);
	ok(c && c->launches[1].folios == 128 && c->launches[1].pinned == 2048,
	   "folios and pins are counted in each launch");
	is(c ? c->launches[1].proved : "", "counter+pagemap", "and say what proves them");
	c = cell(r, "null", 4096);
	ok(c && c->launches[0].folios == RECORD_NULL && !c->launches[0].proved,
	   "a benchmark without memory proves nothing");
	is_i(r->quiet.order_seed, 7, "the seed is recorded");
	is_i(record_bench(r, "mincore")->metrics[0].ops, (8 << 20) / 4096,
	     "ops counts the pages of one pass");
	is_i(record_bench(r, "mincore")->params[0].i, 8 << 20, "memory is a parameter");
	is_i((long long)record_bench(r, "null")->nparams, 0, "but not of null");
	ok(!record_write(r, &text, &e) &&
	   (back = record_parse(text.s, text.len, &e)) != NULL,
	   "the document is valid: %s", e.msg);
	ok(as_found(), "settings are as found");
	record_free(back);
	record_free(r);
	buf_free(&text);
}

static const struct {
	const char *lie, *bench, *size;
	int64_t folio;
	enum record_status status;
	const char *reason;
	bool figures;
} lies[] = {
	{ "fallback", "mincore", "64k", 65536, RECORD_INVALID,
	  "125 of 128 folios of 64k, and 48 of other sizes", true },
	{ "inherit", "mincore", "64k", 65536, RECORD_INVALID,
	  "0 of 128 folios of 64k, and 4 of other sizes", true },
	{ "stuck", "mincore", "64k", 65536, RECORD_FAILED,
	  "it reads \"never\"", false },
	{ "readonly", "mincore", "64k", 65536, RECORD_SKIP,
	  "Read-only file system", false },
	{ "readonly", "pvm", "base", 4096, RECORD_SKIP,
	  "stat_refresh: Read-only file system: pins cannot be counted exactly", false },
	{ "notroot", "mincore", "64k", 65536, RECORD_SKIP,
	  "not root: cannot set folio sizes", false },
	{ "notroot", "mincore", "base", 4096, RECORD_OK, NULL, true },
	{ "notroot", "mincore", "pmd", 2097152, RECORD_OK, NULL, true },
	{ "other", "mincore", "64k", 65536, RECORD_OK, NULL, true },
	{ "shortpin", "pvm", "base", 4096, RECORD_INVALID,
	  "1024 pages pinned, 2048 asked", true },
	{ "shortmincore", "mincore", "base", 4096, RECORD_INVALID,
	  "mincore: 2047 of 2048 pages resident", false },
	{ "einval", "populate.read", "base", 4096, RECORD_SKIP,
	  "no MADV_POPULATE_READ (Invalid argument): needs Linux 5.14", false },
	{ "einval", "populate.write", "64k", 65536, RECORD_SKIP,
	  "no MADV_POPULATE_WRITE", false },
	{ "crash", "mincore", "base", 4096, RECORD_FAILED,
	  "a launch was killed by signal 9", false },
	{ "hang", "mincore", "base", 4096, RECORD_FAILED,
	  "a launch did not end within 3 s", false },
	{ "", "mincore", "8k", 8192, RECORD_SKIP,
	  "this kernel has no anonymous folios of 8k", false },
};

static void test_lies(void)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		const struct record_cell *c;
		struct buf text = BUF_INIT;
		struct record *r;
		const char *why;

		fake_tree(root, 4096);
		r = run(lies[i].bench, lies[i].size, lies[i].lie);
		c = r ? cell(r, lies[i].bench, lies[i].folio) : NULL;
		if (!ok(c != NULL, "%s: a record, whatever happened", lies[i].lie))
			continue;
		is(record_status_name(c->status), record_status_name(lies[i].status),
		   "its status");
		why = c->reasons.n ? c->reasons.v[0] : "";
		if (!ok(lies[i].reason ? strstr(why, lies[i].reason) != NULL : !*why,
			"the reason"))
			printf("# %s\n", why);
		is_i((long long)c->reasons.n, lies[i].reason != NULL, "once");
		ok((c->nlaunches > 0) == lies[i].figures, "figures kept where there are any");
		ok(!record_write(r, &text, &e), "the document is valid: %s", e.msg);
		fake_lie("");
		ok(as_found(), "settings are as found");
		buf_free(&text);
		record_free(r);
	}
}

/* Without kpageflags, and with counters that are absent or not ours alone. */
static void test_unproven(void)
{
	static const struct { bool counters; const char *says; } rows[] = {
		{ false, "folio size not proven: no anon_fault_alloc counters, "
			 "and /proc/kpageflags not readable" },
		{ true, "133 of 128 folios of 64k, and 7 of other sizes" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct record_cell *c;
		struct record *r;

		fake_tree(root, 4096);
		fake_file("/proc/kpageflags", NULL);
		if (!rows[i].counters)
			fake_file(THP "/hugepages-64kB/stats/anon_fault_alloc", NULL);
		r = run("mincore", "64k", "other");
		c = r ? cell(r, "mincore", 65536) : NULL;
		ok(c && c->status == RECORD_INVALID && c->nlaunches == 2,
		   "what is not proven is invalid, its figures kept");
		is(c && c->reasons.n ? c->reasons.v[0] : "", rows[i].says, "and why");
		ok(c && !c->launches[0].proved, "nothing is named as its proof");
		record_free(r);
	}
	fake_lie("");
}

/* An option changes the benchmarks that have its parameter, no other. */
static void test_params(void)
{
	struct run_opts o = SMALL;
	const struct record_bench *b;
	struct buf text = BUF_INIT;
	struct record *r;

	fake_tree(root, 4096);
	o.bench = "mincore,gup.pin_longterm";
	o.size = "base";
	o.params.pages_per_call = 512;
	o.params.read = 1;
	o.params.stride_bytes = 64;
	r = run_measure(&o, &usage, &e);
	if (!ok(r != NULL, "parameters are taken: %s", e.msg))
		return;
	b = record_bench(r, "gup.pin_longterm");
	record_params_text(b, &text);
	is(text.s, "memory_bytes=8388608&pages_per_call=512&read=1",
	   "gup takes its own");
	ok(!b->same_as, "and is no longer the same as the known command");
	buf_reset(&text, 0);
	record_params_text(record_bench(r, "mincore"), &text);
	is(text.s, "memory_bytes=8388608", "mincore has none of them");
	buf_free(&text);
	record_free(r);
}

/* What a document says is measured again, where it still can be. */
static void test_more(void)
{
	struct run_opts o = SMALL, again = { .host.label = "unit" };
	struct record *r, *more;

	fake_tree(root, 4096);
	o.bench = "null,mincore,pvm";
	o.size = "base,64k";
	o.iterations = 3;
	more = run_measure(&o, &usage, &e);
	again.more = more;
	more->benches[0].rev = 9;
	more->benches[2].params[0].name = record_dup(more, "depth");
	r = run_measure(&again, &usage, &e);
	if (!ok(r != NULL, "--more measures: %s", e.msg))
		return;
	is_i((long long)r->ncells, 5, "the cells of the document");
	is(r->cells[0].reasons.v[0], "null: this agent has revision 1, not 9",
	   "another revision is a skip");
	ok(r->cells[2].folio_bytes == 65536 && r->cells[2].nlaunches == 2 &&
	   r->cells[2].launches->samples->values.n == 3, "with its counts");
	is_i(r->benches[1].params[0].i, 8 << 20, "and its parameters");
	is(r->cells[4].reasons.v[0], "pvm: this agent has no parameter depth",
	   "an unknown parameter is a skip");
	record_free(r);
	again.launches = 2;
	ok(!run_measure(&again, &usage, &e) && usage &&
	   strstr(e.msg, "come from its document"), "options beside it are refused");
	record_free(more);
}

static void test_regions(void)
{
	struct run_opts o = SMALL;
	struct record *r;

	fake_tree(root, 4096);
	o.bench = "mincore";
	o.params.memory_bytes = 4 << 20;
	r = run_measure(&o, &usage, &e);
	ok(r && r->cells[0].status == RECORD_NOT_APPLICABLE,
	   "a region under 4 PMDs is not applicable");
	is(r ? r->cells[0].reasons.v[0] : NULL,
	   "region of 4m is smaller than 4 PMDs (8m)", "and says so");
	record_free(r);
	fake_tree(root, 16384);
	o.params.memory_bytes = 0;
	o.size = "base,pmd";
	r = run_measure(&o, &usage, &e);
	ok(r && r->cells[1].status == RECORD_OK &&
	   r->cells[1].folio_bytes == 32 << 20 && r->cells[1].launches[0].folios == 8,
	   "16 kB pages: the PMD of 32m is measured by the same code");
	record_free(r);
}

static void test_usage(void)
{
	static const struct { struct run_opts o; const char *says; } bad[] = {
		{ { .bench = "nonesuch" }, "--bench: expected names" },
		{ { .bench = "min" }, "--bench: expected names" },
		{ { .size = "foo" }, "--size: expected base, pmd, all" },
		{ { .size = "12k" }, "--size: expected base, pmd, all" },
		{ { .size = "2k" }, "--size: expected base, pmd, all" },
		{ { .size = "" }, "--size: expected at least one" },
		{ { .params.memory_bytes = 9 << 20 }, "--memory: expected a multiple of 2m" },
		{ { .params.memory_bytes = 32ull << 30 }, "at most 16g" },
		{ { .clock = "sundial" }, "--clock: expected monotonic or insns" },
		{ { .clock = "insns" }, "--clock insns: expected --emulator" },
		{ { .host.tree_hash = "12ab" }, "/kernel/tree_hash: " },
		{ { .host.patches = "gup-batch," }, "/kernel/patches/1: " },
		{ { .id = "1" }, "/id: " },
		{ { .host.label = "two words" }, "/host/label: " },
		{ { .host.boot_id = "a b" }, "/boot/id: " },
		{ { .started_at = "noon" }, "/started_at: " },
		{ { .launches = 256, .iterations = 4096 }, "the document would have" },
	};

	fake_tree(root, 4096);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct run_opts o = bad[i].o;

		o.host.label = o.host.label ? o.host.label : "unit";
		usage = false;
		ok(!run_measure(&o, &usage, &e) && usage && strstr(e.msg, bad[i].says),
		   "refused before measuring: %s", e.msg);
	}
}

static void test_lab_clock(void)
{
	struct run_opts o = SMALL;
	struct record *r;

	fake_tree(root, 4096);
	o.bench = "null";
	o.clock = "insns";
	o.id = "01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a11";
	o.started_at = "2026-11-30T11:04:56Z";
	o.host.boot_id = "lab-1";
	o.host.emulator = "QEMU-7.2.22";
	o.host.patches = "gup-batch,mincore-batch";
	o.host.tree_hash = "0123456789abcdef0123456789abcdef01234567";
	usage = false;
	ok(!run_measure(&o, &usage, &e) && usage &&
	   strstr(e.msg, "/kernel/compiler: missing"),
	   "instructions of an unknown compiler are refused before measuring");
	fake_file("/proc/version", "Linux version 6 (a@b) (gcc 12, ld 2.40) #1");
	ok(!run_measure(&o, &usage, &e) && usage &&
	   strstr(e.msg, "/kernel/config_sha256: missing"),
	   "so are those of an unknown config");
	fake_file("/proc/config.gz", "CONFIG_HZ=100\n");
	r = run_measure(&o, &usage, &e);
	if (!ok(r != NULL, "the lab's identity is accepted: %s", e.msg))
		return;
	is(r->id, o.id, "its id");
	is(r->host.vol.emulator, o.host.emulator, "what counted");
	is(r->kernel.tree_hash, o.host.tree_hash, "what was built");
	ok(r->kernel.patches.n == 2 &&
	   !strcmp(r->kernel.patches.v[1], "mincore-batch"), "its patch groups");
	is(r->benches[0].metrics[0].name, "time_insns", "instructions are another metric");
	is(r->benches[0].metrics[0].unit, "insns", "with its own unit");
	ok(r->benches[0].metrics[0].reduce == RECORD_MIN, "and exact");
	record_free(r);
}

static void test_order(void)
{
	struct run_opts o = SMALL;
	struct record *r;

	fake_tree(root, 4096);
	o.bench = "null";
	o.seed = RECORD_NULL;
	r = run_measure(&o, &usage, &e);
	ok(r && r->quiet.order_seed >= 0, "a random seed is recorded too");
	record_free(r);
	ok(bench_match("populate", 1) && !bench_match("populate", 2),
	   "a family name means its variants");
}

/* The test is the agent's parent: it interrupts, kills, and looks after. */
static pid_t hanging_run(void)
{
	struct run_opts o = SMALL;
	char text[128] = "";
	pid_t pid;

	fake_tree(root, 4096);
	fake_lie("hang");
	pid = fork();
	if (!pid) {
		o.bench = "mincore";
		o.size = "64k";
		o.launch_s = 30;
		run_measure(&o, &usage, &e);
		_exit(0);
	}
	for (int i = 0; i < 100 && !strstr(text, "[madvise]"); i++) {
		usleep(20000);
		dev_read(THP "/hugepages-64kB/enabled", text, sizeof(text));
	}
	usleep(100000);
	fake_lie("");
	return pid;
}

static void test_signals(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };
	struct record *r;
	size_t count = 0;
	int status;
	pid_t pid;

	for (size_t i = 0; i < 3; i++) {
		pid = hanging_run();
		ok(!as_found(), "a run is under way");
		kill(pid, sigs[i]);
		waitpid(pid, &status, 0);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == sigs[i],
		   "%s ends it", strsignal(sigs[i]));
		ok(as_found(), "after it has put everything back");
	}
	pid = hanging_run();
	r = run("mincore", "64k", "");
	ok(!r && !usage && strstr(e.msg, "holds the lock"), "a second run is refused");
	record_free(r);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(!as_found(), "SIGKILL leaves the settings");
	for (int i = 0; i < 100 && settings_undo(&count, &e); i++)
		usleep(20000);
	ok(count == 2 && as_found(), "undo puts them back: its launch died with it");
}

int main(void)
{
	char cmd[96];

	if (!freopen("/dev/null", "w", stderr))
		return 1;
	signal(SIGINT, SIG_DFL);	/* a job in the background has it ignored */
	snprintf(root, sizeof(root), "/tmp/mmtrend-unit-run.%d", (int)getpid());
	fake_tree(root, 4096);
	test_all();
	test_lies();
	test_unproven();
	test_params();
	test_more();
	test_regions();
	test_usage();
	test_lab_clock();
	test_order();
	test_signals();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd) || tap_done();
}
