/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures out: two kernels side by side, over every series of one host. */
#include <stdlib.h>
#include <string.h>

#include "store_read.h"

/* Takes the texts of the series under @st. */
static int new_pair(sqlite3_stmt *st, struct store_pairs *out)
{
	struct store_pair *p = grow_rows((void **)&out->v, &out->n, sizeof(*p));
	struct series_row f;
	int ret;

	if (!p)
		return -1;
	ret = series_row_read(st, &f);
	free(f.same_as);
	p->bench = f.bench;
	p->metric = f.metric;
	p->unit = f.unit;
	p->params = f.params;
	p->better = f.better;
	p->rev = f.rev;
	p->quantum = f.quantum;
	p->ops = f.ops;
	p->folio_bytes = f.folio_bytes;
	p->base_page_bytes = f.base_page_bytes;
	p->pmd_bytes = f.pmd_bytes;
	memcpy(p->epoch, f.epoch, sizeof(p->epoch));
	return ret;
}

/* The pair at hand gets its two points. */
static int end_pair(struct pool *a, struct pool *b, struct store_pairs *out,
		    struct err *e)
{
	struct store_pair *p;

	if (!out->n)
		return 0;
	p = &out->v[out->n - 1];
	return pool_point(a, &p->a, e) || pool_point(b, &p->b, e) ? -1 : 0;
}

/* Rows come by series, both kernels of one together. */
static int read_pairs(sqlite3_stmt *st, struct pool *a, struct pool *b,
		      struct store_pairs *out, struct err *e)
{
	const int at = SERIES_NCOLUMNS + 1;	/* of POOL_COLUMNS */
	int64_t series = 0;
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t s = sqlite3_column_int64(st, 0);
		int64_t kernel = sqlite3_column_int64(st, SERIES_NCOLUMNS);

		if (s != series) {
			if (end_pair(a, b, out, e))
				return -1;
			if (new_pair(st, out))
				return err_set(e, "out of memory");
		}
		series = s;
		if ((kernel == out->a.id && pool_add(a, st, at)) ||
		    (kernel == out->b.id && pool_add(b, st, at)))
			return err_set(e, "out of memory");
	}
	if (rc != SQLITE_DONE)
		return store_failed(a->db, e);
	return end_pair(a, b, out, e);
}

static enum store_answer find_side(sqlite3 *db, const char *side,
				   const char *key, struct store_kernel *out,
				   struct err *e)
{
	struct err why;
	enum store_answer a = kernel_find(db, key, out, &why);

	if (a != STORE_SAME)
		err_set(e, "%s: %s", side, why.msg);
	return a;
}

static enum store_answer compare(sqlite3 *db, const char *host, const char *a,
				 const char *b, const char *bench,
				 struct store_pairs *out, struct err *e)
{
	struct pool pa = { .db = db, .host = host }, pb = pa;
	enum store_answer found = find_side(db, "a", a, &out->a, e);
	sqlite3_stmt *st;
	int ret;

	if (found == STORE_SAME)
		found = find_side(db, "b", b, &out->b, e);
	if (found != STORE_SAME)
		return found;
	st = store_query(db,
		"SELECT" SERIES_COLUMNS ", r.kernel," POOL_COLUMNS
		" FROM host h JOIN epoch e ON e.host = h.id"
		" CROSS JOIN series s ON s.epoch = e.id"
		" CROSS JOIN result r ON r.series = s.id"
		" AND r.kernel IN (?2, ?3)"
		" WHERE h.label = ?1 AND (?4 IS NULL OR s.bench = ?4)"
		" ORDER BY e.id, s.bench, s.metric, s.params, s.rev,"
		" s.folio_bytes, s.id, r.kernel, r.run",
		"tiit", host, out->a.id, out->b.id, bench);
	ret = st ? read_pairs(st, &pa, &pb, out, e) : store_failed(db, e);
	sqlite3_finalize(st);
	pool_free(&pa);
	pool_free(&pb);
	if (ret)
		return STORE_ERROR;
	if (out->n)
		return STORE_SAME;
	if (bench)
		err_set(e, "bench: neither kernel has \"%s\" on host \"%s\"",
			bench, host);
	else
		err_set(e, "host: neither kernel was measured on \"%s\"", host);
	return STORE_MISSING;
}

enum store_answer store_compare(struct store *s, const char *host,
				const char *a, const char *b, const char *bench,
				struct store_pairs *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	enum store_answer found;

	memset(out, 0, sizeof(*out));
	found = compare(db, host, a, b, bench, out, e);
	store_reader_back(s, db);
	if (found != STORE_SAME)
		store_pairs_free(out);
	return found;
}

void store_pairs_free(struct store_pairs *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->v[i].bench);
		free(p->v[i].metric);
		free(p->v[i].unit);
		free(p->v[i].params);
		free(p->v[i].a.reason);
		free(p->v[i].b.reason);
	}
	free(p->v);
	store_kernel_free(&p->a);
	store_kernel_free(&p->b);
	memset(p, 0, sizeof(*p));
}
