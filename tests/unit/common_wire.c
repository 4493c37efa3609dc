/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every document of tests/wire: valid ones parse and survive a round trip,
 * invalid ones are refused with exactly the message beside them. Then each cap
 * by one element too many, made here since such documents are large.
 */
#include <glob.h>
#include <stdlib.h>

#include "../../common/record.h"
#include "../tap.h"

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static void read_file(const char *path, struct buf *b)
{
	char part[4096];
	size_t n;
	FILE *f = fopen(path, "rb");

	buf_add(b, "", 0);
	while (f && (n = fread(part, 1, sizeof(part), f)))
		buf_add(b, part, n);
	if (!ok(f, "%s can be read", base_name(path)))
		return;
	fclose(f);
}

/* Reads as itself once written: write -> read -> write, byte for byte. */
static bool survives(const struct record *r)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct err e = { "" };
	struct record *again = NULL;
	bool same = false;

	if (!record_write(r, &once, &e))
		again = record_parse(once.s, once.len, &e);
	if (again && !record_write(again, &twice, &e))
		same = once.len == twice.len && !strcmp(once.s, twice.s);
	if (!same)
		printf("# %s\n", e.msg);
	record_free(again);
	buf_free(&once);
	buf_free(&twice);
	return same;
}

static void valid(const char *path)
{
	struct err e = { "" };
	struct buf json = BUF_INIT;
	struct record *r;

	read_file(path, &json);
	r = record_parse(json.s, json.len, &e);
	ok(r != NULL, "valid/%s is accepted", base_name(path));
	if (r)
		ok(survives(r), "valid/%s survives a round trip",
		   base_name(path));
	else
		printf("# %s\n", e.msg);
	record_free(r);
	buf_free(&json);
}

static void invalid(const char *path)
{
	struct buf json = BUF_INIT, want = BUF_INIT;
	struct err e = { "" };
	struct record *r;
	char err_path[4096];

	snprintf(err_path, sizeof(err_path), "%.*s.err", (int)strlen(path) - 5,
		 path);
	read_file(path, &json);
	read_file(err_path, &want);
	if (want.len)
		buf_reset(&want, want.len - 1);		/* its newline */
	r = record_parse(json.s, json.len, &e);
	ok(!r, "invalid/%s is refused", base_name(path));
	is(e.msg, want.s, "  and the reason names what is wrong");
	record_free(r);
	buf_free(&json);
	buf_free(&want);
}

static void each(const char *pattern, size_t least, void check(const char *))
{
	const char *src = getenv("SRC");
	char full[4096];
	glob_t g = { 0 };

	snprintf(full, sizeof(full), "%s/tests/wire/%s", src ? src : ".",
		 pattern);
	glob(full, 0, NULL, &g);
	ok(g.gl_pathc >= least, "%s: found by $SRC", pattern);
	for (size_t i = 0; i < g.gl_pathc; i++)
		check(g.gl_pathv[i]);
	globfree(&g);
}

/* --- caps ----------------------------------------------------------------- */

#define HEAD "{\"schema\":\"mmtrend.run/1\"," \
	"\"id\":\"01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a11\"," \
	"\"host\":{\"label\":\"a\"},\"kernel\":{\"release\":\"6\"},"
#define METRIC(n) \
	"{\"name\":\"m" n "_ns\",\"unit\":\"ns\",\"better\":\"lower\"," \
	"\"quantum\":1,\"ops\":1,\"reduce\":\"min\"}"
#define BENCH(n) "{\"name\":\"b" n "\",\"rev\":1,\"metrics\":[" METRIC("") "]}"
#define EMPTY HEAD "\"benches\":[],\"cells\":[],"
#define ONE_BENCH HEAD "\"cells\":[],\"benches\":[{\"name\":\"b\",\"rev\":1,"
#define ONE_CELL HEAD "\"benches\":[" BENCH("") "],\"cells\":[" \
	"{\"bench\":\"b\",\"folio_bytes\":1,\"status\":\"ok\",\"launches\":["

/* @before, the item for each number, @after: right with @most items. */
static const struct cap {
	const char *what, *before, *item[2], *after;
	int most;
	const char *refused;	/* what is said with one more */
} caps[] = {
	{ "benches",
	  HEAD "\"cells\":[],\"benches\":[",
	  { "{\"name\":\"b", "\",\"rev\":1,\"metrics\":[" METRIC("") "]}" },
	  "]}",
	  RECORD_MAX_BENCHES,
	  "/benches: expected an array of 0 to 64 values, got 65" },
	{ "metrics",
	  ONE_BENCH "\"metrics\":[",
	  { "{\"unit\":\"ns\",\"better\":\"lower\",\"quantum\":1,\"ops\":1,"
	    "\"reduce\":\"min\",\"name\":\"m",
	    "_ns\"}" },
	  "]}]}",
	  RECORD_MAX_METRICS,
	  "/benches/0/metrics: expected an array of 1 to 16 values, got 17" },
	{ "params",
	  ONE_BENCH "\"metrics\":[" METRIC("") "],\"params\":{",
	  { "\"p", "\":1" },
	  "}}]}",
	  RECORD_MAX_PARAMS,
	  "/benches/0/params: expected an object of 0 to 16 values or null, "
	  "got 17" },
	{ "reasons",
	  EMPTY "\"invalid\":[",
	  { "\"r", "\"" },
	  "]}",
	  RECORD_MAX_REASONS,
	  "/invalid: expected an array of 0 to 32 values or null, got 33" },
	{ "unread facts",
	  EMPTY "\"unread\":{",
	  { "\"/u", "\":\"r\"" },
	  "}}",
	  RECORD_MAX_UNREAD,
	  "/unread: expected an object of 0 to 128 values or null, got 129" },
	{ "words of argv",
	  EMPTY "\"agent\":{\"argv\":[",
	  { "\"", "\"" },
	  "]}}",
	  64,
	  "/agent/argv: expected an array of 0 to 64 values or null, got 65" },
	{ "launches",
	  ONE_CELL,
	  { "{\"samples\":{\"m_ns\":[", "]}}" },
	  "]}]}",
	  RECORD_MAX_LAUNCHES,
	  "/cells/0/launches: expected an array of 0 to 256 values or null, "
	  "got 257" },
	{ "iterations",
	  ONE_CELL "{\"samples\":{\"m_ns\":[",
	  { "", "" },
	  "]}}]}]}",
	  RECORD_MAX_ITERATIONS,
	  "/cells/0/launches/0/samples/m_ns: expected an array of 1 to 4096 "
	  "values, "
	  "got 4097" },
};

static void is_accepted(const struct buf *json, const char *what)
{
	struct err e = { "" };
	struct record *r = record_parse(json->s, json->len, &e);

	if (!ok(r && survives(r), "%s: as many as the cap are accepted", what))
		printf("# %s\n", e.msg);
	record_free(r);
}

static void is_refused(const struct buf *json, const char *what,
		       const char *why)
{
	struct err e = { "" };
	struct record *r = record_parse(json->s, json->len, &e);

	ok(!r, "%s: one more is refused", what);
	is(e.msg, why, "  and the reason names the cap");
	record_free(r);
}

static void make_cap(const struct cap *c, int n, struct buf *b)
{
	buf_str(b, c->before);
	for (int i = 0; i < n; i++)
		buf_printf(b, "%s%s%d%s", i ? "," : "", c->item[0], i,
			   c->item[1]);
	buf_str(b, c->after);
}

static void cap(const struct cap *c)
{
	struct buf b = BUF_INIT;

	make_cap(c, c->most, &b);
	is_accepted(&b, c->what);
	buf_reset(&b, 0);
	make_cap(c, c->most + 1, &b);
	is_refused(&b, c->what, c->refused);
	buf_free(&b);
}

/* Each of 32 benches at each of 32 sizes is 1,024 cells. */
static void cap_cells(void)
{
	struct buf b = BUF_INIT;

	buf_str(&b, HEAD "\"benches\":[");
	for (int i = 0; i < 33; i++)
		buf_printf(&b, "%s{\"name\":\"b%d\",\"rev\":1,\"metrics\":["
			   METRIC("") "]}", i ? "," : "", i);
	buf_str(&b, "],\"cells\":[");
	for (int i = 0; i < RECORD_MAX_CELLS; i++)
		buf_printf(&b,
			   "%s{\"bench\":\"b%d\",\"folio_bytes\":%lld,"
			   "\"status\":\"skip\",\"reasons\":[\"r\"]}",
			   i ? "," : "", i / 32, 1LL << i % 32);
	buf_str(&b, "]}");
	is_accepted(&b, "cells");
	buf_reset(&b, b.len - 2);
	buf_str(&b, ",{\"bench\":\"b32\",\"folio_bytes\":1,\"status\":\"skip\","
		"\"reasons\":[\"r\"]}]}");
	is_refused(&b, "cells",
		   "/cells: expected an array of 0 to 1024 values, got 1025");
	buf_free(&b);
}

static void cap_body(void)
{
	struct buf b = BUF_INIT;

	buf_str(&b, HEAD "\"benches\":[],\"cells\":[]}");
	while (b.len < RECORD_MAX_BODY)
		buf_char(&b, ' ');
	is_accepted(&b, "bytes");
	buf_char(&b, ' ');
	is_refused(&b, "bytes", "expected at most 2097152 bytes, got 2097153");
	buf_free(&b);
}

int main(void)
{
	each("valid/*.json", 5, valid);
	each("invalid/*.json", 80, invalid);
	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++)
		cap(&caps[i]);
	cap_cells();
	cap_body();
	return tap_done();
}
