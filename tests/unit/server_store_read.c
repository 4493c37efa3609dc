/* SPDX-License-Identifier: GPL-2.0-only */
/* The store's reading side: pooling, charts, pairs, kernels, hosts. */
#include "tests/unit/store_doc.h"

#define SHA_A "aaaaaaaa00000000000000000000000000000001"
#define SHA_B "aaaaaaaa00000000000000000000000000000002"
#define SIZE_64K 65536
#define SIZE_32K 32768

static struct err e;
static struct store *s;
static unsigned next_id;

static void put(struct doc d)
{
	d.id = ++next_id;
	if (doc_put(s, &d, NULL, &e) != STORE_NEW)
		ok(false, "the test's run %u is kept: %s", d.id, e.msg);
}

static struct store_trend trend(struct store_trend_query q)
{
	struct store_trend t;

	q.host = q.host ? q.host : "h1";
	q.bench = q.bench ? q.bench : "mincore";
	if (store_trend(s, &q, &t, &e) != STORE_SAME)
		printf("# trend: %s\n", e.msg);
	return t;
}

static const struct store_point *point(const struct store_trend *t,
				       int64_t folio, size_t kernel)
{
	static const struct store_point none = { .reason = NULL };
	size_t i;

	for (i = 0; i < t->nseries; i++)
		if (t->series[i].folio_bytes == folio && kernel < t->nkernels)
			return &t->points[i * t->nkernels + kernel];
	return &none;
}

/* Kernels 1 to 5 of h1, in this order. */
static void fill(void)
{
	/* 1: boot a pools two runs (median 120), boot b has one (480) */
	put((struct doc){ .build_id = BUILD_ID(1), .commit = SHA_A,
			  .release = "6.1.0-gaaaaaaa",
			  .launch = { 100, 110, 120 } });
	put((struct doc){ .build_id = BUILD_ID(1), .launch = { 130, 140 } });
	put((struct doc){ .build_id = BUILD_ID(1), .boot = "boot-b",
			  .launch = { 480 } });
	put((struct doc){ .build_id = BUILD_ID(1), .boot = "boot-c",
			  .status = "invalid", .reason = "steal 2 %",
			  .launch = { 1 } });
	/* 2: invalid only, once by its cell and once by the whole run */
	put((struct doc){ .build_id = BUILD_ID(2), .commit = SHA_B,
			  .release = "6.1.0-gbbbbbbb",
			  .invalid = "KASAN", .launch = { 70, 80, 84 } });
	/* 3: a skip */
	put((struct doc){ .build_id = BUILD_ID(3), .status = "skip",
			  .reason = "no device" });
	/* 4: another size only */
	put((struct doc){ .build_id = BUILD_ID(4), .folio = SIZE_32K,
			  .launch = { 55 } });
	/* 5: failed, and then skipped: the skip is the better one */
	put((struct doc){ .build_id = BUILD_ID(5), .status = "failed",
			  .reason = "it broke" });
	put((struct doc){ .build_id = BUILD_ID(5), .status = "skip",
			  .reason = "not root" });
}

static void pooling(void)
{
	struct store_trend t = trend((struct store_trend_query){ 0 });
	const struct store_point *p = point(&t, SIZE_64K, 0);

	is_i((long long)t.nkernels, 5, "a trend has every kernel with a row");
	is_i((long long)t.nseries, 2, "and every size");
	is_i(t.series ? t.series[0].folio_bytes : 0, SIZE_32K, "smallest first");
	is_i(p->value, 240, "boots of 120 and 480 average to 240, in logs");
	is_i(p->spread, 22, "the spread is 1.4826 MAD of all launches");
	is_i(p->n, 6, "which are counted");
	is_i(p->boots, 2, "as are boots, not runs");
	is_i(p->status, RECORD_OK, "an invalid run beside ok ones changes nothing");

	p = point(&t, SIZE_64K, 1);
	is_i(p->status, RECORD_INVALID, "a run that is invalid as a whole gives no ok point");
	is_i(p->value, 80, "but its figure is kept");
	is(p->reason, "KASAN", "with the reason");

	p = point(&t, SIZE_64K, 2);
	is_i(p->status, RECORD_SKIP, "a skip is shown as one");
	is(p->reason, "no device", "with its reason");
	ok(p->value == RECORD_NULL && p->n == 0, "and without a figure");

	p = point(&t, SIZE_64K, 3);
	ok(p->value == RECORD_NULL && p->n == 0 && p->status == RECORD_OK &&
	   !p->reason, "a size without a run is a gap");
	is_i(point(&t, SIZE_32K, 3)->value, 55, "where another has its figure");
	is(point(&t, SIZE_64K, 4)->reason, "not root",
	   "the best status of several is shown");
	store_trend_free(&t);
}

static void what_a_trend_shows(void)
{
	struct store_trend t = trend((struct store_trend_query){ .last = 2 });

	is_i((long long)t.nkernels, 2, "the last two kernels");
	is_i((long long)t.older, 3, "and how many were left out");
	is(t.nkernels ? t.kernels[1].key : NULL, BUILD_ID(5), "newest last");
	is(t.metric, "time_ns", "the bench's first metric");
	is(t.params, "memory_bytes=4096", "with its parameters");
	is(t.unit, "ns", "and its unit");
	store_trend_free(&t);

	t = trend((struct store_trend_query){ .folio_bytes = SIZE_32K });
	is_i((long long)t.nkernels, 1, "one size shows the kernels that have it");
	store_trend_free(&t);

	put((struct doc){ .build_id = BUILD_ID(6), .memory = 8192,
			  .launch = { 33 } });
	t = trend((struct store_trend_query){ 0 });
	is(t.params, "memory_bytes=8192", "without params: those of the newest run");
	store_trend_free(&t);
	t = trend((struct store_trend_query){ .params = "memory_bytes=4096" });
	is_i((long long)t.nkernels, 5, "the others are still there by name");
	store_trend_free(&t);
	put((struct doc){ .build_id = BUILD_ID(1), .launch = { 120 } });
	t = trend((struct store_trend_query){ 0 });
	is(t.params, "memory_bytes=4096", "a re-test of an old kernel is the newest run");
	store_trend_free(&t);
}

static void epochs(void)
{
	struct store_trend t;

	put((struct doc){ .host = "h2", .build_id = BUILD_ID(1), .launch = { 10 } });
	put((struct doc){ .host = "h2", .build_id = BUILD_ID(2), .cpus = 4,
			  .launch = { 20 } });
	t = trend((struct store_trend_query){ .host = "h2" });
	is_i((long long)t.nseries, 2, "another number of CPUs starts another series");
	ok(t.nseries == 2 && strcmp(t.series[0].epoch, t.series[1].epoch),
	   "in another epoch");
	is_i(t.nseries == 2 ? t.points[0 * 2 + 0].value : 0, 10, "old figures there");
	is_i(t.nseries == 2 ? t.points[1 * 2 + 1].value : 0, 20, "new ones here");
	is_i(t.nseries == 2 ? t.series[0].base_page_bytes : 0, 4096, "its base page is known");
	store_trend_free(&t);
}

/* An unknown name is missing, and the reason begins with the field. */
static void missing(void)
{
	static const struct { struct store_trend_query q; const char *field; } row[] = {
		{ { .host = "h9", .bench = "mincore" }, "host: " },
		{ { .host = "h1", .bench = "nothing" }, "bench: " },
		{ { .host = "h1", .bench = "mincore", .metric = "x" }, "metric: " },
		{ { .host = "h1", .bench = "mincore", .params = "x" }, "params: " },
		{ { .host = "h1", .bench = "mincore", .folio_bytes = 3 }, "size: " },
	};
	struct store_trend t;
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		ok(store_trend(s, &row[i].q, &t, &e) == STORE_MISSING &&
		   !strncmp(e.msg, row[i].field, strlen(row[i].field)),
		   "an unknown %sis named: %s", row[i].field, e.msg);
		store_trend_free(&t);
	}
}

static void pairs(void)
{
	struct store_pairs p;

	is_i(store_compare(s, "h1", BUILD_ID(1), BUILD_ID(4), NULL, &p, &e),
	     STORE_SAME, "two kernels of one host compare");
	is_i((long long)p.n, 2, "over each series that either has");
	ok(p.n == 2 && p.v[0].folio_bytes == SIZE_32K && p.v[0].a.n == 0 &&
	   p.v[0].b.value == 55, "one side may be missing");
	ok(p.n == 2 && p.v[1].a.boots == 2 && p.v[1].b.n == 0, "or the other");
	store_pairs_free(&p);

	is_i(store_compare(s, "h1", BUILD_ID(1), BUILD_ID(1), NULL, &p, &e),
	     STORE_SAME, "a kernel compares to itself");
	ok(p.n && p.v[0].a.value == p.v[0].b.value, "with equal figures");
	store_pairs_free(&p);

	is_i(store_compare(s, "h2", BUILD_ID(1), BUILD_ID(2), NULL, &p, &e),
	     STORE_SAME, "over a change of epoch");
	ok(p.n == 2 && p.v[0].b.n == 0 && p.v[1].a.n == 0,
	   "figures of two epochs are never paired");
	store_pairs_free(&p);

	is_i(store_compare(s, "h2", BUILD_ID(3), BUILD_ID(4), NULL, &p, &e),
	     STORE_MISSING, "kernels that another host ran are missing");
	is(e.msg, "host: neither kernel was measured on \"h2\"", "and it says where");
	is_i(store_compare(s, "h1", BUILD_ID(1), "ffffffffff", NULL, &p, &e),
	     STORE_MISSING, "an unknown kernel is missing");
	ok(!strncmp(e.msg, "b: ", 3), "and the side is named: %s", e.msg);
	is_i(store_compare(s, "h1", BUILD_ID(1), BUILD_ID(2), "x", &p, &e),
	     STORE_MISSING, "an unknown bench is missing");
}

static void find(const char *key, enum store_answer want, const char *is_key,
		 const char *what)
{
	struct store_pairs p;

	is_i(store_compare(s, "h1", key, key, NULL, &p, &e), want, what);
	if (is_key)
		is(p.a.key, is_key, "and it is the right one");
	store_pairs_free(&p);
}

static void kernels(void)
{
	struct store_kernels k;

	find(BUILD_ID(3), STORE_SAME, BUILD_ID(3), "a kernel is found by its key");
	find(SHA_A, STORE_SAME, BUILD_ID(1), "by its commit");
	find("aaaaaaaa0", STORE_CONFLICT, NULL, "a prefix of two commits is ambiguous");
	ok(strstr(e.msg, BUILD_ID(1)) && strstr(e.msg, BUILD_ID(2)),
	   "and both are named");
	find("b0b0b0b0", STORE_CONFLICT, NULL, "as is one of several keys");
	find("b0b0b0b", STORE_MISSING, NULL, "7 characters are no prefix");
	find("c0c0c0c0c0", STORE_MISSING, NULL, "an unknown one is missing");
	/* A key that is the prefix of another one is itself. */
	put((struct doc){ .host = "h3", .build_id = BUILD_ID(3) "77", .launch = { 1 } });
	find(BUILD_ID(3), STORE_SAME, BUILD_ID(3), "an exact key is never ambiguous");

	store_kernels(s, NULL, 0, &k, &e);
	is_i((long long)k.n, 7, "all kernels");
	is(k.n ? k.v[0].key : NULL, BUILD_ID(1), "oldest first");
	is_i(k.n ? k.v[0].runs : 0, 6, "its runs are counted");
	is_i(k.n ? k.v[0].hosts : 0, 2, "and its hosts");
	is_i(k.n ? k.v[0].commit_proven : 0, 1,
	     "-gSHA in the release proves the commit");
	is_i(k.n > 1 ? k.v[1].commit_proven : 1, 0,
	     "a release with another SHA does not");
	store_kernels_free(&k);
	store_kernels(s, NULL, 2, &k, &e);
	is(k.n == 2 ? k.v[1].key : NULL, BUILD_ID(3) "77", "a limit keeps the newest, last");
	store_kernels_free(&k);
	store_kernels(s, "h2", 0, &k, &e);
	is_i((long long)k.n, 2, "of one host only its own");
	is_i(k.n ? k.v[0].runs : 0, 1, "with its runs there");
	store_kernels_free(&k);
}

/* Without a build id the key comes from what else there is. */
static void keys(void)
{
	struct store_kernels k;

	put((struct doc){ .host = "h4", .release = "6.2.0", .launch = { 1 } });
	put((struct doc){ .host = "h4", .release = "6.2.0", .launch = { 1 } });
	put((struct doc){ .host = "h4", .release = "6.2.1", .launch = { 1 } });
	store_kernels(s, "h4", 0, &k, &e);
	ok(k.n == 2 && k.v[0].runs == 2, "one release is one kernel");
	ok(k.n == 2 && !strncmp(k.v[0].key, "v-", 2) && strlen(k.v[0].key) == 18,
	   "its key is v- and 16 digits");
	store_kernels_free(&k);
}

/* Builds of one source, config and compiler are one kernel to figures. */
static void builds(void)
{
	struct doc d = {
		.host = "h5", .build_id = BUILD_ID(7), .tree_hash = SHA_A,
		.config = SHA_A "000000000000000000000000", .compiler = "gcc",
		.launch = { 100 },
	};
	struct store_kernels k;
	struct store_trend t;
	struct store_pairs p;

	put(d);
	put((struct doc){ .host = "h5", .build_id = BUILD_ID(8),
			  .launch = { 1 } });
	d.build_id = BUILD_ID(7) "a";
	d.boot = "boot-b";
	d.launch[0] = 400;
	put(d);
	d.build_id = BUILD_ID(7) "b";
	d.compiler = "clang";
	put(d);
	d.build_id = BUILD_ID(7) "c";
	d.compiler = "gcc";
	d.dirty = 1;
	put(d);
	t = trend((struct store_trend_query){ .host = "h5" });
	is_i((long long)t.nkernels, 4, "two builds of one source stand as one");
	is_i(t.nkernels ? t.points[0].value : 0, 200, "with the figures of both");
	is_i(t.nkernels ? t.points[0].boots : 0, 2, "from two boots");
	is(t.nkernels ? t.kernels[0].key : NULL, BUILD_ID(7), "as the first");
	is(t.nkernels ? t.kernels[0].tree_hash : NULL, SHA_A, "with its tree");
	is_i(t.nkernels == 4 ? t.points[1].value : 0, 400,
	     "another compiler makes another kernel");
	is_i(t.nkernels == 4 ? t.points[2].value : 0, 400,
	     "and so does a tree that is not its hash");
	store_trend_free(&t);
	store_kernels(s, "h5", 0, &k, &e);
	is_i((long long)k.n, 5, "each build is still listed");
	store_kernels_free(&k);
	store_compare(s, "h5", BUILD_ID(7), BUILD_ID(7) "a", NULL, &p, &e);
	ok(p.n == 1 && p.v[0].a.value == 200 && p.v[0].b.value == 200 &&
	   p.a.pool == p.b.pool, "two builds of one source compare as equal");
	store_pairs_free(&p);
}

static void overviews(void)
{
	struct store_hosts h;
	struct store_charts c;

	store_hosts(s, &h, &e);
	is_i((long long)h.n, 5, "all hosts");
	ok(h.n == 5 && h.v[1].epochs == 2 && h.v[1].cpus == 4 &&
	   h.v[1].runs == 2 && h.v[1].kernels == 2,
	   "with the facts of the newest epoch and counts of all");
	ok(h.n == 5 && h.v[1].ram_bytes == RECORD_NULL, "an unknown fact is null");
	is(h.n == 5 ? h.v[1].last_kernel : NULL, BUILD_ID(2), "and the last kernel");
	store_hosts_free(&h);

	store_charts(s, "h1", &c, &e);
	is_i((long long)c.n, 2, "a chart for each set of parameters");
	ok(c.n == 2 && c.v[0].sizes == 2 && c.v[0].points == 2 &&
	   c.v[0].measured == 3,
	   "with its sizes and the kernels that have a valid figure, and any");
	store_charts_free(&c);
	store_charts(s, NULL, &c, &e);
	is_i((long long)c.n, 6, "and those of all hosts");
	store_charts_free(&c);
}

int main(void)
{
	dir_start();
	s = store_open(db_path, &e);
	if (!ok(s != NULL, "a new database opens"))
		return tap_done();
	fill();
	pooling();
	what_a_trend_shows();
	epochs();
	missing();
	pairs();
	kernels();
	keys();
	builds();
	overviews();
	store_close(s);
	dir_end();
	return tap_done();
}
