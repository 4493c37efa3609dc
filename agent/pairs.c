/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds what belongs together in documents of two kernels. */
#include <stdlib.h>
#include <string.h>

#include "../common/stats.h"
#include "pairs.h"
#include "show.h"

/* --- one figure ---------------------------------------------------------- */

static bool has_param(const struct record_bench *b,
		      const struct record_param *like)
{
	for (size_t i = 0; i < b->nparams; i++) {
		const struct record_param *p = &b->params[i];

		if (!strcmp(p->name, like->name))
			return p->i == like->i && sides_same(p->text, like->text);
	}
	return false;
}

static bool is_same_bench(const struct record_bench *a,
			  const struct record_bench *b)
{
	bool same = !strcmp(a->name, b->name) && a->rev == b->rev &&
		    a->nparams == b->nparams;

	for (size_t i = 0; same && i < a->nparams; i++)
		same = has_param(b, &a->params[i]);
	return same;
}

/* NULL: the document has no such cell. */
static const struct record_cell *find_cell(const struct record *r,
					   const struct record_bench *like,
					   int64_t folio)
{
	const struct record_bench *b = record_bench(r, like->name);

	for (size_t i = 0; b && i < r->ncells; i++)
		if (r->cells[i].folio_bytes == folio &&
		    !strcmp(r->cells[i].bench, b->name))
			return is_same_bench(b, like) ? &r->cells[i] : NULL;
	return NULL;
}

/* Launch values as they come, boot by boot. */
struct pool {
	int64_t *launch, *boot;
	size_t n, from, boots;
};

static void end_boot(struct pool *p)
{
	if (p->n > p->from)
		p->boot[p->boots++] = stats_median(p->launch + p->from,
						   p->n - p->from);
	p->from = p->n;
}

static void add_launches(struct pool *p, struct figure *f,
			 const struct record_cell *cell,
			 const struct record_metric *m)
{
	struct stats_summary sum;

	stats_summarise(cell, m, &sum);
	memcpy(p->launch + p->n, sum.launch, sum.n * sizeof(*p->launch));
	p->n += sum.n;
	for (size_t i = 0; i < cell->nlaunches; i++) {
		const struct record_launch *l = &cell->launches[i];
		const char *by = l->proved ? l->proved : "";

		f->counter &= strstr(by, "counter") != NULL;
		f->pagemap &= strstr(by, "pagemap") != NULL;
		f->pins &= l->pinned != RECORD_NULL;
		if (!strncmp(by, "driver", 6))
			f->driver = by;
		if (l->nsamples && l->samples->values.n < f->iterations)
			f->iterations = l->samples->values.n;
	}
}

static void pool_docs(const struct record *const *docs, size_t n,
		      const struct table *t, int64_t folio, struct pool *p,
		      struct figure *f)
{
	const struct figure none = { .status = RECORD_SKIP,
				     .reason = "not in the document" };

	*f = none;
	for (size_t i = 0; i < n; i++) {
		const struct record *r = docs[i];
		const struct record_cell *cell = find_cell(r, t->bench, folio);
		bool bad = cell && cell->status == RECORD_OK && r->invalid.n;
		enum record_status status;

		if (i && !sides_same(r->boot.id, docs[i - 1]->boot.id))
			end_boot(p);
		if (!cell)
			continue;
		status = bad ? RECORD_INVALID : cell->status;
		if (f->reason == none.reason || status < f->status) {
			p->n = p->from = p->boots = 0;
			*f = (struct figure){
				.status = status, .iterations = SIZE_MAX,
				.counter = true, .pagemap = true, .pins = true,
				.reason = bad ? r->invalid.v[0] :
					  cell->reasons.n ? cell->reasons.v[0] :
					  NULL };
		}
		if (status == f->status)
			add_launches(p, f, cell, t->metric);
	}
	end_boot(p);
}

static int figure_of(const struct sides *s, int side, const struct table *t,
		     int64_t folio, struct figure *f)
{
	size_t n;
	const struct record **docs = sides_docs(s, side, &n);
	struct pool p = {
		.launch = calloc(n * RECORD_MAX_LAUNCHES, sizeof(*p.launch)),
		.boot = calloc(n, sizeof(*p.boot)),
	};
	int ret = -1;

	if (p.launch && p.boot) {
		pool_docs(docs, n, t, folio, &p, f);
		f->n = p.n;
		f->boots = p.boots;
		f->value = p.n ? stats_mean(p.boot, p.boots) : RECORD_NULL;
		f->spread = p.n ? stats_spread(p.launch, p.n) : RECORD_NULL;
		ret = 0;
	}
	free(p.launch);
	free(p.boot);
	return ret;
}

/* --- rows and tables ----------------------------------------------------- */

static int add_row(struct pairs *p, struct table *t, const struct sides *s,
		   int64_t folio, bool judge)
{
	struct row *row = &p->rows[p->nrows];
	struct figure *f = row->side;
	enum record_status worse;

	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].pair.folio_bytes == folio)
			return 0;
	for (int side = 0; side < 2; side++)
		if (figure_of(s, side, t, folio, &f[side]))
			return -1;
	t->n++;
	p->nrows++;
	worse = f[f[1].status > f[0].status].status;
	row->pair = (struct verdict_pair){
		.before = f[0].value, .after = f[1].value,
		.status = judge || worse != RECORD_OK ? worse : RECORD_INVALID,
		.exact = record_is_exact(t->metric->unit),
		.better = t->metric->better, .quantum = t->metric->quantum,
		.hz = t->r->kernel.hz, .folio_bytes = folio,
		.iterations = f[f[1].iterations < f[0].iterations].iterations,
		.ops = t->metric->ops,
		.pages = show_pages(t->r, t->bench, t->metric),
	};
	return 0;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = ((const struct row *)a)->pair.folio_bytes;
	int64_t y = ((const struct row *)b)->pair.folio_bytes;

	return (x > y) - (x < y);
}

static int add_table(struct pairs *p, const struct sides *s,
		     const struct table *which, bool judge)
{
	struct table *t = &p->tables[p->n++];

	*t = *which;
	t->rows = p->rows + p->nrows;
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->docs[i]->ncells; k++) {
			const struct record_cell *cell = &s->docs[i]->cells[k];
			int64_t folio = cell->folio_bytes;

			if (!strcmp(cell->bench, t->bench->name) &&
			    find_cell(s->docs[i], t->bench, folio) &&
			    add_row(p, t, s, folio, judge))
				return -1;
		}
	qsort(t->rows, t->n, sizeof(*t->rows), by_size);
	return 0;
}

static bool has_table(const struct pairs *p, const struct record_bench *b)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_same_bench(p->tables[i].bench, b))
			return true;
	return false;
}

/* Of the benchmarks that no document before @r had. */
static int add_tables(struct pairs *p, const struct sides *s,
		      const struct record *r, bool judge)
{
	for (size_t b = 0; b < r->nbenches; b++) {
		struct table t = { .r = r, .bench = &r->benches[b] };

		if (has_table(p, t.bench))
			continue;
		for (size_t m = 0; m < t.bench->nmetrics; m++) {
			t.metric = &t.bench->metrics[m];
			if (add_table(p, s, &t, judge))
				return -1;
		}
	}
	return 0;
}

int pairs_make(struct pairs *p, const struct sides *s, bool judge)
{
	size_t metrics = 1, rows = 1;

	for (size_t i = 0; i < s->n; i++) {
		const struct record *r = s->docs[i];

		for (size_t b = 0; b < r->nbenches; b++)
			metrics += r->benches[b].nmetrics;
		for (size_t k = 0; k < r->ncells; k++)
			rows += record_bench(r, r->cells[k].bench)->nmetrics;
	}
	*p = (struct pairs){ .tables = calloc(metrics, sizeof(*p->tables)),
			     .rows = calloc(rows, sizeof(*p->rows)) };
	if (!p->tables || !p->rows)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		if (add_tables(p, s, s->docs[i], judge))
			return -1;
	return 0;
}

void pairs_free(struct pairs *p)
{
	free(p->tables);
	free(p->rows);
}
