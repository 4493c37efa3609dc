/* SPDX-License-Identifier: GPL-2.0-only */
/* show.c: a run on a terminal says what it is, and what it is not. */
#include <stdlib.h>

#include "../../agent/show.h"
#include "../tap.h"

static struct record *run;

static int64_t *numbers(size_t n, const int64_t *from)
{
	int64_t *v = record_alloc(run, n * sizeof(*v));

	memcpy(v, from, n * sizeof(*v));
	return v;
}

/* Launches of three iterations of one value each. */
static void measure(struct record_cell *c, const int64_t *values, size_t n)
{
	c->launches = record_alloc(run, n * sizeof(*c->launches));
	c->nlaunches = n;
	for (size_t i = 0; i < n; i++) {
		struct record_launch *l = &c->launches[i];
		int64_t v[3] = { values[i] * 2, values[i], values[i] };

		l->folios = 4096;
		l->other_folios = 0;
		l->proved = record_dup(run, "counter+pagemap");
		l->pinned = RECORD_NULL;
		l->samples = record_alloc(run, sizeof(*l->samples));
		l->nsamples = 1;
		l->samples->metric = record_dup(run, "get_ns");
		l->samples->values.v = numbers(3, v);
		l->samples->values.n = 3;
	}
}

static void a_run(void)
{
	static const int64_t fast[] = { 231000, 232000, 233000 }, slow[] = { 3105123 };
	struct record_metric *m;
	struct record_cell *c;
	struct record_bench *b;

	run = record_new();
	run->id = record_dup(run, "01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a11");
	run->host.label = record_dup(run, "lab");
	run->host.epoch.base_page_bytes = 4096;
	run->host.epoch.pmd_bytes = 2097152;
	b = run->benches = record_alloc(run, 2 * sizeof(*b));
	run->nbenches = 2;
	m = record_alloc(run, sizeof(*m));
	*m = (struct record_metric){ record_dup(run, "get_ns"), record_dup(run, "ns"),
				     RECORD_LOWER, RECORD_MEDIAN, 1000, 65536 };
	for (int i = 0; i < 2; i++) {
		b[i].name = record_dup(run, i ? "pfnmap.remap" : "gup.pin_longterm");
		b[i].rev = 1;
		b[i].metrics = m;
		b[i].nmetrics = 1;
	}
	b[0].params = record_alloc(run, 2 * sizeof(*b->params));
	b[0].nparams = 2;
	b[0].params[0] = (struct record_param){ record_dup(run, "memory_bytes"),
						RECORD_PARAM_INT, 256 << 20, NULL };
	b[0].params[1] = (struct record_param){ record_dup(run, "pages_per_call"),
						RECORD_PARAM_INT, 65536, NULL };
	b[0].same_as = record_dup(run, "gup_test -L -m 256 -n 65536");
	c = run->cells = record_alloc(run, 5 * sizeof(*c));
	run->ncells = 5;
	for (int i = 0; i < 5; i++)
		c[i].bench = b[i > 2].name;
	c[0].folio_bytes = 65536;
	measure(&c[0], fast, 3);
	c[1].folio_bytes = 4096;
	measure(&c[1], slow, 1);
	c[1].status = RECORD_INVALID;
	record_strings_add(run, &c[1].reasons, "pages pinned: 12 of 65536");
	c[2].folio_bytes = 2097152;
	c[2].status = RECORD_NOT_APPLICABLE;
	record_strings_add(run, &c[2].reasons, "region under 4 PMDs");
	for (int i = 3; i < 5; i++) {
		c[i].folio_bytes = i == 3 ? 4096 : 65536;
		c[i].status = RECORD_SKIP;
		record_strings_add(run, &c[i].reasons, "no /dev/pfnmap_test");
	}
	record_strings_add(run, &run->invalid, "debug kernel: CONFIG_KASAN=y");
	record_unread(run, "/kernel/commit", "not given");
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

static void test_table(void)
{
	struct buf b = BUF_INIT;
	const char *base, *middle, *pmd;

	show_table(run, &b);
	base = strstr(b.s, "base 4k");
	middle = strstr(b.s, "64k ");
	pmd = strstr(b.s, "2m pmd");
	ok(base && middle && pmd && base < middle && middle < pmd,
	   "rows stand by folio size, whatever the order of the document");
	ok(strstr(b.s, "same as: gup_test -L -m 256 -n 65536") != NULL,
	   "the well-known command is named");
	ok(strstr(b.s, "memory_bytes=256m, pages_per_call=65536") != NULL,
	   "a size is shown as one, a count of pages as a number");
	ok(strstr(b.s, "get, us") && strstr(b.s, "3105") && strstr(b.s, "232"),
	   "figures share the unit in their head");
	ok(strstr(b.s, "0.6%") != NULL, "spread is 1.4826 MAD in percent");
	ok(strstr(b.s, "4096 counter+pagemap") != NULL, "the proof is shown");
	ok(strstr(b.s, "invalid [1]") && strstr(b.s, "[1] pages pinned: 12 of 65536"),
	   "a reason is numbered and told below");
	ok(strstr(b.s, "not_applicable [2]") != NULL, "the next reason has the next number");
	is_i((long long)count(b.s, "no /dev/pfnmap_test"), 1,
	     "a bench that ran nowhere says why once");
	ok(strstr(b.s, "No verdict can come from this run: debug kernel") != NULL,
	   "what holds against the whole run is told");
	printf("%s", getenv("SHOW") ? b.s : "");
	buf_free(&b);
}

static void test_record(void)
{
	struct buf b = BUF_INIT;
	size_t wide = 0, odd = 0;

	show_record(run, &b);
	ok(strstr(b.s, "took -") != NULL, "an unknown duration is no 0.0 s");
	ok(strstr(b.s, "231 232 233") != NULL, "every launch's value is there");
	ok(strstr(b.s, "/kernel/commit") && strstr(b.s, "not given"),
	   "what could not be read has its reason");
	for (const char *p = b.s; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		wide += strcspn(p, "\n") > 72;
		odd += *p != '\n' && strncmp(p, "  ", 2);
	}
	is_i((long long)wide, 0, "no line is wider than 72 columns");
	is_i((long long)odd, 0, "every line is indented: safe in a mail");
	buf_free(&b);
}

static void test_bare(void)
{
	struct record *all = run;
	struct buf b = BUF_INIT;

	run = record_new();
	show_record(run, &b);
	ok(buf_ok(&b) && strstr(b.s, "machine") && !strstr(b.s, "(null)"),
	   "a run that knows nothing can be shown");
	record_free(run);
	buf_free(&b);
	run = all;
}

int main(void)
{
	a_run();
	test_table();
	test_record();
	test_bare();
	record_free(run);
	return tap_done();
}
