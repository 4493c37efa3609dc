/* SPDX-License-Identifier: GPL-2.0-only */
/* Lays a run out for a terminal: figures, proofs, facts and what is unknown. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "../common/size.h"
#include "../common/stats.h"
#include "facts.h"
#include "show.h"

static const char *text(const char *s)
{
	return s ? s : "-";
}

static int by_size(const void *a, const void *b)
{
	const struct record_cell *x = a, *y = b;

	return (x->folio_bytes > y->folio_bytes) -
	       (x->folio_bytes < y->folio_bytes);
}

/* The cells of a bench by size; free() the array alone. */
static struct record_cell *cells_of(const struct record *r, const char *bench,
				    size_t *n)
{
	struct record_cell *v = calloc(r->ncells + 1, sizeof(*v));

	if (!v)
		abort();
	*n = 0;
	for (size_t i = 0; i < r->ncells; i++)
		if (!strcmp(r->cells[i].bench, bench))
			v[(*n)++] = r->cells[i];
	qsort(v, *n, sizeof(*v), by_size);
	return v;
}

const char *show_size(const struct record *r, int64_t bytes,
		      char out[SIZE_TEXT])
{
	const struct record_epoch *ep = &r->host.epoch;

	return size_label((uint64_t)bytes,
			  ep->base_page_bytes > 0 ? (uint64_t)ep->base_page_bytes : 0,
			  ep->pmd_bytes > 0 ? (uint64_t)ep->pmd_bytes : 0, out);
}

/* "4096 counter+pagemap", of the launch that came off worst. */
static void add_proof(struct buf *g, const struct record_cell *c)
{
	const struct record_launch *worst = c->launches;

	for (size_t i = 1; i < c->nlaunches; i++) {
		const struct record_launch *l = &c->launches[i];

		if (worst->proved && (!l->proved || l->folios < worst->folios ||
				      l->other_folios > worst->other_folios))
			worst = l;
	}
	if (!c->nlaunches || !worst->proved)
		report_cell(g, "-");
	else if (worst->folios == RECORD_NULL)
		report_cell(g, "%s", worst->proved);
	else if (worst->other_folios > 0)
		report_cell(g, "%" PRId64 ", %" PRId64 " other", worst->folios,
		     worst->other_folios);
	else
		report_cell(g, "%" PRId64 " %s", worst->folios, worst->proved);
}

/* Reasons of a bench, each once, in the order of their first row; rows refer to
 * them by number. */
struct notes {
	const char *reason[RECORD_MAX_CELLS];
	size_t n;
};

static size_t note(struct notes *notes, const char *reason)
{
	size_t i;

	for (i = 0; i < notes->n; i++)
		if (!strcmp(notes->reason[i], reason))
			return i + 1;
	if (i < RECORD_MAX_CELLS)
		notes->reason[notes->n++] = reason;
	return notes->n;
}

static void add_status(struct buf *g, const struct record_cell *c,
		       struct notes *notes)
{
	buf_str(g, record_status_name(c->status));
	for (size_t i = 0; i < c->reasons.n; i++)
		buf_printf(g, " [%zu]", note(notes, c->reasons.v[i]));
	buf_char(g, '\0');
}

static struct report_unit unit_of(const struct record_metric *m,
				  const struct record_cell *cells, size_t n)
{
	struct stats_summary s;
	int64_t largest = 0;

	for (size_t i = 0; i < n; i++) {
		stats_summarise(&cells[i], m, &s);
		if (s.n && s.value > largest)
			largest = s.value;
	}
	return report_unit(largest, m->unit);
}

/* "get, us" of get_ns: the name without its unit, in the unit shown. */
static void head_of(const struct record_metric *m, struct report_unit unit,
		    const char *what, char *out, size_t cap)
{
	size_t n = strlen(m->name), u = strlen(m->unit);

	if (n > u + 1 && m->name[n - u - 1] == '_' &&
	    !strcmp(m->name + n - u, m->unit))
		n -= u + 1;
	snprintf(out, cap, "%.*s%s, %s", n < 32 ? (int)n : 32, m->name, what,
		 unit.name);
}

static void metric_table(const struct record *r, const struct record_metric *m,
			 const struct record_cell *cells, size_t n,
			 struct notes *notes, struct buf *out)
{
	struct report_unit unit = unit_of(m, cells, n);
	char head[48], v[REPORT_VALUE], label[SIZE_TEXT];
	const struct report_col cols[] = {
		{ "folio", false }, { head, true }, { "spread", true },
		{ "n", true }, { "folios, proved by", false }, { "status", false },
	};
	struct stats_summary s;
	struct buf g = BUF_INIT;

	head_of(m, unit, "", head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		stats_summarise(&cells[i], m, &s);
		report_cell(&g, "%s", show_size(r, cells[i].folio_bytes, label));
		report_cell(&g, "%s", report_number(s.n ? s.value : RECORD_NULL,
						 unit, v));
		if (s.n > 1 && s.value > 0)
			report_cell(&g, "%.1f%%",
				 100.0 * (double)s.spread / (double)s.value);
		else
			report_cell(&g, "-");
		report_cell(&g, "%zu", s.n);
		add_proof(&g, &cells[i]);
		add_status(&g, &cells[i], notes);
	}
	report_cells(out, cols, sizeof(cols) / sizeof(cols[0]), &g);
}

void show_bench(const struct record_bench *b, const char *what, struct buf *out)
{
	struct buf h = BUF_INIT;
	char s[SIZE_TEXT];

	buf_printf(&h, "%s (rev %" PRId64 ")", b->name, b->rev);
	for (size_t i = 0; i < b->nparams; i++) {
		const struct record_param *p = &b->params[i];

		buf_printf(&h, "%s %s", i ? "," : ":", p->name);
		if (p->kind == RECORD_PARAM_TEXT)
			buf_printf(&h, "=%s", p->text);
		else if (strstr(p->name, "_bytes") && p->i >= 0)
			buf_printf(&h, "=%s", size_text((uint64_t)p->i, s));
		else
			buf_printf(&h, "=%" PRId64, p->i);
	}
	report_take(out, &h);
	if (what)
		report_text(out, what);
	if (b->same_as)
		report_printf(out, "same as: %s", b->same_as);
}

bool show_pages(const struct record *r, const struct record_bench *b,
		const struct record_metric *m)
{
	int64_t page = r->host.epoch.base_page_bytes;

	for (size_t i = 0; i < b->nparams; i++)
		if (!strcmp(b->params[i].name, "memory_bytes"))
			return page > 0 && m->ops == b->params[i].i / page;
	return false;
}

static void show_metrics(const struct record *r, const struct record_bench *b,
			 struct buf *out)
{
	for (size_t i = 0; i < b->nmetrics; i++) {
		const struct record_metric *m = &b->metrics[i];

		report_printf(out, "%s: one pass, %" PRId64 " %s; %s is better", m->name,
			  m->ops, show_pages(r, b, m) ? "pages" : "operations",
			  m->better == RECORD_LOWER ? "lower" : "higher");
	}
}

void show_table(const struct record *r, struct buf *out)
{
	for (size_t i = 0; i < r->nbenches; i++) {
		const struct record_bench *b = &r->benches[i];
		struct notes notes = { .n = 0 };
		struct record_cell *cells;
		bool measured = false;
		size_t n;

		cells = cells_of(r, b->name, &n);
		for (size_t j = 0; j < n; j++) {
			measured |= cells[j].nlaunches > 0;
			for (size_t k = 0; k < cells[j].reasons.n; k++)
				note(&notes, cells[j].reasons.v[k]);
		}
		show_bench(b, NULL, out);
		show_metrics(r, b, out);
		for (size_t j = 0; j < b->nmetrics && measured; j++) {
			buf_char(out, '\n');
			metric_table(r, &b->metrics[j], cells, n, &notes, out);
		}
		if (!measured)
			report_printf(out, "not measured: %s",
				  n ? record_status_name(cells[0].status) : "");
		for (size_t j = 0; j < notes.n; j++)
			report_printf(out, "[%zu] %s", j + 1, notes.reason[j]);
		buf_char(out, '\n');
		free(cells);
	}
	for (size_t i = 0; i < r->invalid.n; i++)
		report_printf(out, "%s%s", i ? "also: " :
			  "No verdict can come from this run: ", r->invalid.v[i]);
}

/* --- what is known of machine, kernel and quietness --------------------- */

/* Null is "-": its reason stands under "not read". */
static void add_fact(struct buf *g, const struct record *r, const struct fact *f)
{
	size_t before;

	report_cell(g, "%s", f->name);
	before = g->len;
	fact_text(f, r, g);
	buf_str(g, g->len > before ? "" : "-");
	buf_char(g, '\0');
}

static void show_facts(const struct record *r, struct buf *out)
{
	for (size_t i = 0; i < facts_count; ) {
		const struct report_col cols[] = {
			{ facts[i].name, false }, { "", false },
		};
		struct buf g = BUF_INIT;

		for (i++; i < facts_count && facts[i].kind != FACT_HEAD; i++)
			add_fact(&g, r, &facts[i]);
		report_cells(out, cols, 2, &g);
		buf_char(out, '\n');
	}
}

/* Every launch's value and the first iterations that it leaves out. */
static void show_launches(const struct record *r, const struct record_bench *b,
			  const struct record_metric *m, struct buf *out)
{
	char head[64], v[REPORT_VALUE], label[SIZE_TEXT];
	const struct report_col cols[] = {
		{ "folio", false }, { "first", true }, { head, false },
	};
	struct stats_summary s;
	struct buf g = BUF_INIT;
	struct report_unit unit;
	struct record_cell *cells;
	size_t n;

	cells = cells_of(r, b->name, &n);
	unit = unit_of(m, cells, n);
	head_of(m, unit, " of each launch", head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		struct buf list = BUF_INIT;

		stats_summarise(&cells[i], m, &s);
		for (size_t j = 0; j < s.n; j++)
			buf_printf(&list, "%s%s", j ? " " : "",
				   report_number(s.launch[j], unit, v));
		if (s.n) {
			report_cell(&g, "%s", show_size(r, cells[i].folio_bytes, label));
			report_cell(&g, "%s", report_number(s.first, unit, v));
			report_cell(&g, "%s", text(list.s));
		}
		buf_free(&list);
	}
	if (g.len) {
		report_printf(out, "%s", b->name);
		report_cells(out, cols, 3, &g);
		buf_char(out, '\n');
	}
	free(cells);
}

void show_record(const struct record *r, struct buf *out)
{
	const struct report_col cols[] = { { "not read", false }, { "why", false } };
	struct buf g = BUF_INIT;
	char elapsed[32] = "-";

	if (r->elapsed_ns != RECORD_NULL)
		snprintf(elapsed, sizeof(elapsed), "%.1f s",
			 (double)r->elapsed_ns / 1e9);
	report_printf(out, "mmtrend run %s of %s, took %s, clock %s", text(r->id),
		  text(r->started_at), elapsed, text(r->clock));
	report_printf(out, "mmtrend %s, %s", text(r->agent.version),
		  text(r->agent.compiler));
	buf_char(out, '\n');
	show_table(r, out);
	if (r->invalid.n)
		buf_char(out, '\n');
	for (size_t i = 0; i < r->nbenches; i++)
		for (size_t j = 0; j < r->benches[i].nmetrics; j++)
			show_launches(r, &r->benches[i],
				      &r->benches[i].metrics[j], out);
	show_facts(r, out);
	for (size_t i = 0; i < r->nunread; i++) {
		report_cell(&g, "%s", r->unread[i].path);
		report_cell(&g, "%s", r->unread[i].reason);
	}
	report_cells(out, cols, 2, &g);
}
