/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run document as its makers use it: built, refused when wrong, written,
 * and without memory. tests/wire holds what a stranger may send.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../common/record.h"
#include "../tap.h"

/* --- an allocator that fails on demand ------------------------------------ */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0		/* the sanitizer's own must stay */
#endif
#ifndef OWN_ALLOCATOR
#define OWN_ALLOCATOR 1
#endif

#if OWN_ALLOCATOR
static long fail_at = -1;	/* this allocation and all after it; -1: none */
static long live;		/* not yet freed */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static bool failing(void)
{
	if (fail_at > 0)
		fail_at--;
	if (!fail_at)
		errno = ENOMEM;
	return !fail_at;
}

void *malloc(size_t n)
{
	void *p = failing() ? NULL : __libc_malloc(n);

	live += p != NULL;
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p = failing() ? NULL : __libc_calloc(n, size);

	live += p != NULL;
	return p;
}

void *realloc(void *old, size_t n)
{
	void *p = failing() ? NULL : __libc_realloc(old, n);

	live += p && !old;
	return p;
}

void free(void *p)
{
	live -= p != NULL;
	__libc_free(p);
}
#endif

/* --- a document that is right --------------------------------------------- */

static char *lit(const char *s)
{
	return (char *)(uintptr_t)s;	/* the record never writes to it */
}

static struct record *make(void)
{
	static int64_t ns[] = { 160211, 114020, 114377 };
	struct record *r = record_new();
	struct record_bench *b = record_alloc(r, sizeof(*b));
	struct record_metric *m = record_alloc(r, sizeof(*m));
	struct record_cell *c = record_alloc(r, 2 * sizeof(*c));
	struct record_launch *l = record_alloc(r, sizeof(*l));
	struct record_samples *s = record_alloc(r, sizeof(*s));
	struct record_param *p = record_alloc(r, 3 * sizeof(*p));

	r->schema = lit("mmtrend.run/1");
	r->id = lit("01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a11");
	r->host.label = record_printf(r, "lab%d", 1);
	r->kernel.release = lit("6.18.44");
	*m = (struct record_metric){ lit("time_ns"), lit("ns"), RECORD_LOWER,
				     RECORD_MEDIAN, 1, 65536 };
	p[0] = (struct record_param){ lit("write"), RECORD_PARAM_BOOL, 0,
				      NULL };
	p[1] = (struct record_param){ lit("text"), RECORD_PARAM_TEXT, 0,
				      lit("a&b=c") };
	p[2] = (struct record_param){ lit("memory_bytes"), RECORD_PARAM_INT,
				      268435456, NULL };
	*b = (struct record_bench){ lit("mincore"), 1, NULL, p, 3, m, 1 };
	*s = (struct record_samples){ lit("time_ns"), { ns, 3 } };
	*l = (struct record_launch){ 4096, 0, lit("counter"), RECORD_NULL, s,
				     1 };
	c[0] = (struct record_cell){ .bench = b->name, .folio_bytes = 65536,
				     .launches = l, .nlaunches = 1 };
	c[1] = (struct record_cell){ .bench = b->name, .folio_bytes = 4096,
				     .status = RECORD_SKIP };
	record_strings_add(r, &c[1].reasons, "not root");
	r->benches = b;
	r->nbenches = 1;
	r->cells = c;
	r->ncells = 2;
	return r;
}

static void refused(struct record *r, const char *why, const char *what)
{
	struct buf b = BUF_INIT;
	struct err e = { "" };

	buf_str(&b, "before");
	is_i(record_write(r, &b, &e), -1, what);
	is(e.msg, why, "  and the reason names the field");
	is(b.s, "before", "  and nothing was written");
	buf_free(&b);
	record_free(r);
}

#define REFUSED(change, why, what) do { \
	struct record *r = make(); \
	change; \
	refused(r, why, what); \
} while (0)

static void writing(void)
{
	struct record *r = make(), *again;
	struct err e = { "" };
	struct buf b = BUF_INIT, t = BUF_INIT;

	is_i(record_write(r, &b, &e), 0, "a document made by hand is written");
	ok(b.len && b.s[b.len - 1] == '\n', "it ends in a newline");
	ok(strstr(b.s, "\n      \"time_ns\": [160211, 114020, 114377]\n"),
	   "samples stand on one line");
	ok(strstr(b.s, "\n  \"commit\": null,\n"),
	   "an unknown fact is written as null");
	ok(!strstr(b.s, "same_as"), "what is optional is left out");
	again = record_parse(b.s, b.len, &e);
	if (ok(again, "what was written is read")) {
		is_i(again->kernel.hz, RECORD_NULL,
		     "a null integer is RECORD_NULL");
		is_i(again->cells[0].launches[0].pinned, RECORD_NULL,
		     "in lists too");
		is_i((long long)again->quiet.taint.n, 0,
		     "a null list is empty");
		ok(again->kernel.commit == NULL, "a null string is NULL");
		is(again->cells[1].reasons.v[0], "not root",
		   "reasons came through");
		is(record_status_name(again->cells[1].status), "skip",
		   "status too");
	}
	record_params_text(r->benches, &t);
	is(t.s, "memory_bytes=268435456&text=a%26b%3Dc&write=0",
	   "parameters in canonical form: sorted, unambiguous");
	ok(!record_bench(r, "x"), "a look-up of nothing is NULL");
	record_free(again);
	record_free(r);
	record_free(NULL);
	buf_free(&b);
	buf_free(&t);
}

static void refusals(void)
{
	int64_t null_sample[3] = { RECORD_NULL }, sample[] = { 1 };
	struct record_param many[17] = { { .kind = RECORD_PARAM_INT } };
	struct record_samples doubled[] = {
		{ lit("time_ns"), { sample, 1 } },
		{ lit("time_ns"), { sample, 1 } },
	};
	char names[17][2] = { { 0 } };

	for (int i = 0; i < 17; i++) {
		names[i][0] = (char)('a' + i);
		many[i].name = names[i];
	}
	REFUSED(r->host.label = NULL,
		"/host/label: expected a string of 1 to 64 characters from "
		"A-Z a-z 0-9 . _ -, got null",
		"a writer cannot forget the label");
	REFUSED(r->cells[0].folio_bytes = RECORD_NULL,
		"/cells/0/folio_bytes: expected a power of two >= 1, got null",
		"nor a required integer");
	REFUSED(r->kernel.version = lit("a\xff"),
		"line 41, column 15: unable to decode byte 0xff near '\"a'",
		"text that no reader would take");
	REFUSED(r->kernel.version = lit(""),
		"/kernel/version: expected a string of 1 to 512 bytes or null, "
		"got \"\"",
		"an empty fact: null is for that");
	REFUSED(r->cells[0].status = (enum record_status)7,
		"/cells/0/status: expected one of ok invalid skip "
		"not_applicable failed, got null",
		"a status that does not exist");
	REFUSED(r->cells[0].launches[0].samples[0].values.v = null_sample,
		"/cells/0/launches/0/samples/time_ns/0: expected an integer "
		">= 0, got null",
		"a null sample");
	REFUSED(r->cells[0].launches[0].samples[0].values.n = 0,
		"/cells/0/launches/0/samples/time_ns: expected an array of 1 "
		"to 4096 values, got null",
		"no samples");
	REFUSED((r->cells[0].launches[0].samples = doubled,
		 r->cells[0].launches[0].nsamples = 2),
		"line 110, column 15: duplicate object key near '\"time_ns\"'",
		"a metric twice");
	REFUSED(r->benches[0].params[1].name = NULL,
		"line 78, column 8: string or '}' expected near 'null'",
		"a parameter without a name");
	REFUSED((r->benches[0].params = many, r->benches[0].nparams = 17),
		"/benches/0/params: expected an object of 0 to 16 values or "
		"null, got 17",
		"more parameters than the cap");
	REFUSED(r->cells[1].reasons.n = 0,
		"/cells/1/reasons: missing, expected why the "
		"cell is \"skip\"",
		"a skip without its reason");
	REFUSED(r->started_at = lit("2026-13-01T00:00:00Z"),
		"/started_at: expected a string of 20 bytes, a time that "
		"exists, like \"2026-11-30T11:04:56Z\" or null, got "
		"\"2026-13-01T00:00:00Z\"",
		"month 13");
}

static void lists(void)
{
	struct record *r = record_new();
	bool right = true;

	for (int i = 0; i < 100; i++)
		right &= !record_strings_add(r, &r->invalid,
					     record_printf(r, "reason %d", i));
	for (int i = 0; i < 100; i++)
		right &= !strcmp(r->invalid.v[i],
				 record_printf(r, "reason %d", i));
	ok(right && r->invalid.n == 100, "a list grows and keeps its order");
	is_i(record_strings_add(r, &r->invalid, NULL), -1, "NULL is no string");
	for (int i = 0; i < 20; i++)
		record_unread(r, record_printf(r, "/kernel/f%d", i % 10),
			      i < 10 ? "first" : "second");
	is_i((long long)r->nunread, 10, "an unread path is listed once");
	is(r->unread[9].reason, "first", "and keeps its first reason");
	ok(!record_dup(r, NULL), "dup of NULL is NULL");
	ok(!record_alloc(r, SIZE_MAX), "more than there can be is NULL");
	ok((uintptr_t)record_alloc(r, 1) % _Alignof(max_align_t) == 0 &&
	   (uintptr_t)record_alloc(r, 100000) % _Alignof(max_align_t) == 0,
	   "memory is aligned for anything");
	record_free(r);
}

static void parse_ends(void)
{
	struct buf b = BUF_INIT;
	struct record *r = make();

	ok(!record_parse("{", 1, NULL), "a reader need not ask why");
	r->id = NULL;
	is_i(record_write(r, &b, NULL), -1, "nor need a writer");
	record_free(r);
	buf_free(&b);
}

/* --- no memory ------------------------------------------------------------ */

#if OWN_ALLOCATOR
/*
 * Fail the first allocation and all after it, then the second and all after
 * it, ... until @work gets through.
 */
static void out_of_memory(int work(const struct buf *, struct err *),
			  const struct buf *json, const char *what)
{
	bool told = true, leaked = false;
	long n = 0;
	int ret;

	do {
		struct err e = { "" };
		long before = live;

		fail_at = ++n;
		ret = work(json, &e);
		fail_at = -1;
		told &= !ret || (errno == ENOMEM &&
				 !strcmp(e.msg, "out of memory"));
		leaked |= live != before;
	} while (ret && n < 100000);
	ok(!ret && n > 3, "%s: each of %ld allocations may fail", what, n - 1);
	ok(told, "%s: each failure is told from a wrong document", what);
	ok(!leaked, "%s: leaks nothing", what);
}

static int parse_it(const struct buf *json, struct err *e)
{
	struct record *r = record_parse(json->s, json->len, e);

	record_free(r);
	return r ? 0 : -1;
}

static int build_it(const struct buf *json, struct err *e)
{
	struct record *r = record_new();
	int ret = -1;

	(void)json;
	if (r && record_printf(r, "%d", 1) && record_dup(r, "x") &&
	    !record_strings_add(r, &r->invalid, "x") &&
	    !record_unread(r, "/a", "b") && record_alloc(r, 100000))
		ret = 0;
	else
		err_set(e, "out of memory");
	record_free(r);
	return ret;
}

static const struct record *to_write;

static int write_it(const struct buf *json, struct err *e)
{
	struct buf b = BUF_INIT;
	int ret = record_write(to_write, &b, e);

	(void)json;
	buf_free(&b);
	return ret;
}
#endif

static void no_memory(void)
{
#if OWN_ALLOCATOR
	struct record *r = make();
	struct buf json = BUF_INIT;

	record_write(r, &json, NULL);
	to_write = r;
	out_of_memory(parse_it, &json, "parse");
	out_of_memory(write_it, NULL, "write");
	out_of_memory(build_it, NULL, "build");
	record_free(r);
	buf_free(&json);
#else
	skip("no memory", "the sanitizer's allocator cannot be made to fail");
#endif
}

int main(void)
{
	writing();
	refusals();
	lists();
	parse_ends();
	no_memory();
	return tap_done();
}
