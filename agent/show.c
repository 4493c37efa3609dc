/* SPDX-License-Identifier: GPL-2.0-only */
/* Lays a run out for a terminal: figures, proofs, facts and what is unknown. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "../common/size.h"
#include "../common/stats.h"
#include "show.h"

/* The cells of a table, row by row; each owned here. */
struct grid {
	char **cell;
	size_t n, cap;
};

__attribute__((format(printf, 2, 3)))
static void grid_add(struct grid *g, const char *fmt, ...)
{
	va_list ap;

	if (g->n == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 64;
		char **more = realloc(g->cell, cap * sizeof(*more));

		if (!more)
			abort();	/* a report with a hole would lie */
		g->cell = more;
		g->cap = cap;
	}
	va_start(ap, fmt);
	if (vasprintf(&g->cell[g->n++], fmt, ap) < 0)
		abort();
	va_end(ap);
}

/* Print it under @cols and forget its rows. */
static void grid_end(struct grid *g, struct buf *out,
		     const struct report_col *cols, size_t ncols)
{
	if (g->n)
		report_table(out, cols, ncols, (const char *const *)g->cell,
			     g->n / ncols);
	while (g->n)
		free(g->cell[--g->n]);
	free(g->cell);
	*g = (struct grid){ 0 };
}

__attribute__((format(printf, 2, 3)))
static void paragraph(struct buf *out, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	report_text(out, text);
	free(text);
}

/* A number or "-", for a fact whose reason stands under "not read". */
static const char *number(int64_t v, char out[24])
{
	if (v == RECORD_NULL)
		return "-";
	snprintf(out, 24, "%" PRId64, v);
	return out;
}

static const char *size(int64_t v, char out[SIZE_TEXT])
{
	return v == RECORD_NULL || v < 0 ? "-" : size_text((uint64_t)v, out);
}

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

static const char *folio_label(const struct record *r, int64_t bytes,
			       char out[SIZE_TEXT])
{
	const struct record_epoch *ep = &r->host.epoch;

	return size_label((uint64_t)bytes,
			  ep->base_page_bytes > 0 ? (uint64_t)ep->base_page_bytes : 0,
			  ep->pmd_bytes > 0 ? (uint64_t)ep->pmd_bytes : 0, out);
}

/* "4096 counter+pagemap", of the launch that came off worst. */
static void add_proof(struct grid *g, const struct record_cell *c)
{
	const struct record_launch *worst = NULL;

	for (size_t i = 0; i < c->nlaunches; i++) {
		const struct record_launch *l = &c->launches[i];

		if (!worst || !l->proved ||
		    (worst->proved && (l->folios < worst->folios ||
				       l->other_folios > worst->other_folios)))
			worst = l;
	}
	if (!worst || !worst->proved)
		grid_add(g, "-");
	else if (worst->folios == RECORD_NULL)
		grid_add(g, "%s", worst->proved);
	else if (worst->other_folios > 0)
		grid_add(g, "%" PRId64 ", %" PRId64 " other", worst->folios,
			 worst->other_folios);
	else
		grid_add(g, "%" PRId64 " %s", worst->folios, worst->proved);
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

static void add_status(struct grid *g, const struct record_cell *c,
		       struct notes *notes)
{
	char refs[64] = "";
	size_t len = 0;

	for (size_t i = 0; i < c->reasons.n && len < sizeof(refs) - 8; i++)
		len += (size_t)snprintf(refs + len, sizeof(refs) - len, " [%zu]",
					note(notes, c->reasons.v[i]));
	grid_add(g, "%s%s", record_status_name(c->status), refs);
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
	struct grid g = { 0 };

	head_of(m, unit, "", head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		stats_summarise(&cells[i], m, &s);
		grid_add(&g, "%s", folio_label(r, cells[i].folio_bytes, label));
		grid_add(&g, "%s", report_number(s.n ? s.value : RECORD_NULL,
						 unit, v));
		if (s.n > 1 && s.value > 0)
			grid_add(&g, "%.1f%%",
				 100.0 * (double)s.spread / (double)s.value);
		else
			grid_add(&g, "-");
		grid_add(&g, "%zu", s.n);
		add_proof(&g, &cells[i]);
		add_status(&g, &cells[i], notes);
	}
	grid_end(&g, out, cols, sizeof(cols) / sizeof(cols[0]));
}

/* "mincore (rev 1): memory_bytes=256m" */
static void bench_heading(const struct record_bench *b, struct buf *out)
{
	struct buf h = BUF_INIT;
	char s[SIZE_TEXT];

	buf_printf(&h, "%s (rev %" PRId64 ")", b->name, b->rev);
	for (size_t i = 0; i < b->nparams; i++) {
		const struct record_param *p = &b->params[i];
		size_t n = strlen(p->name);

		buf_printf(&h, "%s %s=", i ? "," : ":", p->name);
		if (p->kind == RECORD_PARAM_TEXT)
			buf_str(&h, p->text);
		else if (n > 6 && !strcmp(p->name + n - 6, "_bytes"))
			buf_str(&h, size(p->i, s));
		else
			buf_i64(&h, p->i);
	}
	report_text(out, h.s);
	buf_free(&h);
	if (b->same_as)
		paragraph(out, "same as: %s", b->same_as);
	for (size_t i = 0; i < b->nmetrics; i++)
		paragraph(out, "%s: %s is better, %" PRId64 " operations a sample",
			  b->metrics[i].name, b->metrics[i].better == RECORD_LOWER ?
			  "lower" : "higher", b->metrics[i].ops);
}

/* No figure at any size: one line a reason in place of an empty table. */
static void not_measured(const struct record_cell *cells, size_t n,
			 struct buf *out)
{
	struct notes notes = { .n = 0 };

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < cells[i].reasons.n; j++) {
			size_t seen = notes.n;

			if (note(&notes, cells[i].reasons.v[j]) > seen)
				paragraph(out, "%s: %s",
					  record_status_name(cells[i].status),
					  cells[i].reasons.v[j]);
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
		for (size_t j = 0; j < n; j++)
			measured |= cells[j].nlaunches > 0;
		bench_heading(b, out);
		if (!measured)
			not_measured(cells, n, out);
		for (size_t j = 0; j < b->nmetrics && measured; j++) {
			buf_char(out, '\n');
			metric_table(r, &b->metrics[j], cells, n, &notes, out);
		}
		for (size_t j = 0; j < notes.n; j++)
			paragraph(out, "[%zu] %s", j + 1, notes.reason[j]);
		buf_char(out, '\n');
		free(cells);
	}
	for (size_t i = 0; i < r->invalid.n; i++)
		paragraph(out, "%s%s", i ? "also: " :
			  "No verdict can come from this run: ", r->invalid.v[i]);
}

static void pair(struct grid *g, const char *name, const struct record_ints *l,
		 double divide, int decimals)
{
	grid_add(g, "%s", name);
	if (l->n == 2)
		grid_add(g, "%.*f before, %.*f after",
			 decimals, (double)l->v[0] / divide,
			 decimals, (double)l->v[1] / divide);
	else
		grid_add(g, "-");
}

/* Two columns: a fact and its value. */
#define FACT(g, name, ...) (grid_add(g, "%s", name), grid_add(g, __VA_ARGS__))

static void facts_end(struct grid *g, struct buf *out, const char *head)
{
	const struct report_col cols[] = { { head, false }, { "", false } };

	grid_end(g, out, cols, 2);
	buf_char(out, '\n');
}

static void show_host(const struct record *r, struct buf *out)
{
	const struct record_epoch *ep = &r->host.epoch;
	const struct record_volatile *v = &r->host.vol;
	char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT];
	struct grid g = { 0 };

	FACT(&g, "label", "%s", text(r->host.label));
	FACT(&g, "cpu", "%s (%s)", text(ep->cpu), text(ep->arch));
	FACT(&g, "family/model/stepping", "%s/%s/%s", number(ep->family, a),
	     number(ep->model, b), number(ep->stepping, c));
	FACT(&g, "cpus, nodes", "%s, %s", number(ep->cpus, a), number(ep->nodes, b));
	FACT(&g, "ram, swap", "%s, %s", size(ep->ram_bytes, a), size(v->swap_bytes, b));
	FACT(&g, "base page, pmd", "%s, %s", size(ep->base_page_bytes, a),
	     size(ep->pmd_bytes, b));
	FACT(&g, "hypervisor", "%s", text(ep->hypervisor));
	FACT(&g, "microcode", "%s", text(v->microcode));
	FACT(&g, "mitigations", "%s", text(v->mitigations));
	FACT(&g, "governor, turbo, smt", "%s, %s, %s", text(v->governor),
	     text(v->turbo), text(v->smt));
	FACT(&g, "clocksource", "%s", text(v->clocksource));
	FACT(&g, "cmdline sha256", "%s", text(v->cmdline_sha256));
	facts_end(&g, out, "machine");
}

static void show_kernel(const struct record *r, struct buf *out)
{
	const struct record_kernel *k = &r->kernel;
	struct buf sizes = BUF_INIT;
	char a[SIZE_TEXT];
	struct grid g = { 0 };

	for (size_t i = 0; i < k->folio_bytes.n; i++)
		buf_printf(&sizes, "%s%s", i ? " " : "", size(k->folio_bytes.v[i], a));
	FACT(&g, "release", "%s", text(k->release));
	FACT(&g, "version", "%s", text(k->version));
	FACT(&g, "commit", "%s%s", text(k->commit), k->dirty == 1 ? " dirty" : "");
	FACT(&g, "tree, push", "%s, %s", text(k->tree), text(k->push));
	FACT(&g, "build id", "%s", text(k->build_id));
	FACT(&g, "tree hash", "%s", text(k->tree_hash));
	FACT(&g, "config sha256", "%s", text(k->config_sha256));
	FACT(&g, "compiler", "%s", text(k->compiler));
	FACT(&g, "linker", "%s", text(k->linker));
	FACT(&g, "hz, preempt", "%s, %s", number(k->hz, a), text(k->preempt));
	FACT(&g, "folio sizes", "%s", text(sizes.s));
	FACT(&g, "boot", "%s", text(r->boot.id));
	buf_free(&sizes);
	facts_end(&g, out, "kernel");
}

static void show_quiet(const struct record *r, struct buf *out)
{
	const struct record_quiet *q = &r->quiet;
	struct grid g = { 0 };
	char a[24], b[24];

	FACT(&g, "cpu, scheduler", "%s, %s", number(q->cpu, a), text(q->sched));
	FACT(&g, "order seed", "%s", number(q->order_seed, a));
	pair(&g, "load", &q->load_1m_milli, 1e3, 2);
	FACT(&g, "steal ppm", "%s", number(q->steal_ppm, a));
	FACT(&g, "involuntary switches", "%s", number(q->involuntary_switches, a));
	FACT(&g, "rt throttled", "%s", number(q->rt_throttled, b));
	pair(&g, "temperature C", &q->temperature_mc, 1e3, 1);
	pair(&g, "taint", &q->taint, 1, 0);
	facts_end(&g, out, "quietness");
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
	struct grid g = { 0 };
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
			grid_add(&g, "%s", folio_label(r, cells[i].folio_bytes, label));
			grid_add(&g, "%s", report_number(s.first, unit, v));
			grid_add(&g, "%s", text(list.s));
		}
		buf_free(&list);
	}
	if (g.n) {
		paragraph(out, "%s", b->name);
		grid_end(&g, out, cols, 3);
		buf_char(out, '\n');
	}
	free(cells);
}

void show_record(const struct record *r, struct buf *out)
{
	const struct report_col cols[] = { { "not read", false }, { "why", false } };
	struct grid g = { 0 };
	char launches[24], iterations[24], elapsed[32] = "-";

	if (r->elapsed_ns != RECORD_NULL)
		snprintf(elapsed, sizeof(elapsed), "%.1f s",
			 (double)r->elapsed_ns / 1e9);
	paragraph(out, "mmtrend run %s of %s, took %s, clock %s", text(r->id),
		  text(r->started_at), elapsed, text(r->clock));
	paragraph(out, "mmtrend %s, %s; %s launches of %s iterations",
		  text(r->agent.version), text(r->agent.compiler),
		  number(r->design.launches, launches),
		  number(r->design.iterations, iterations));
	buf_char(out, '\n');
	show_table(r, out);
	if (r->invalid.n)
		buf_char(out, '\n');
	for (size_t i = 0; i < r->nbenches; i++)
		for (size_t j = 0; j < r->benches[i].nmetrics; j++)
			show_launches(r, &r->benches[i],
				      &r->benches[i].metrics[j], out);
	show_host(r, out);
	show_kernel(r, out);
	show_quiet(r, out);
	for (size_t i = 0; i < r->nunread; i++) {
		grid_add(&g, "%s", r->unread[i].path);
		grid_add(&g, "%s", r->unread[i].reason);
	}
	grid_end(&g, out, cols, 2);
}
