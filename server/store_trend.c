/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures out: one chart, all folio sizes of a metric over kernels. */
#include <stdlib.h>
#include <string.h>

#include "store_priv.h"
#include "store_read.h"

struct founds { struct series_row *v; size_t n; };

/* --- which series make the chart ----------------------------------------- */

static int find_series(sqlite3 *db, const struct store_trend_query *q,
		       struct founds *out, struct err *e)
{
	sqlite3_stmt *st = store_query(db,
		"SELECT" SERIES_COLUMNS " FROM host h"
		" JOIN epoch e ON e.host = h.id"
		" CROSS JOIN series s ON s.epoch = e.id AND s.bench = ?2"
		" WHERE h.label = ?1 ORDER BY e.id, s.folio_bytes, s.id",
		"tt", q->host, q->bench);
	int rc = SQLITE_ERROR;

	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct series_row *f = grow_rows((void **)&out->v, &out->n,
					    sizeof(*out->v));

		if (!f)
			break;
		if (series_row_read(st, f))
			break;
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_ROW)
		return err_set(e, "out of memory");
	return rc == SQLITE_DONE ? 0 : store_failed(db, e);
}

static enum store_answer missing_host(sqlite3 *db, const char *host,
				      const char *bench, struct err *e)
{
	sqlite3_stmt *st = store_query(db,
		"SELECT 1 FROM host WHERE label = ?1", "t", host);
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;

	sqlite3_finalize(st);
	if (rc == SQLITE_ROW)
		err_set(e, "bench: host \"%s\" has no \"%s\"", host, bench);
	else if (rc == SQLITE_DONE)
		err_set(e, "host: no host \"%s\"", host);
	else
		return STORE_ERROR;
	return STORE_MISSING;
}

/* Keep only those that pass; the others are freed. */
static void keep_if(struct founds *f, bool (*pass)(const struct series_row *f,
						   const void *arg),
		    const void *arg)
{
	size_t i, n = 0;

	for (i = 0; i < f->n; i++)
		if (pass(&f->v[i], arg))
			f->v[n++] = f->v[i];
		else
			series_row_free(&f->v[i]);
	f->n = n;
}

static bool of_metric(const struct series_row *f, const void *metric)
{
	return !strcmp(f->metric, metric);
}

static bool of_params(const struct series_row *f, const void *params)
{
	return !strcmp(f->params, params);
}

static bool of_size(const struct series_row *f, const void *bytes)
{
	return f->folio_bytes == *(const int64_t *)bytes;
}

/* What one axis can hold: the same revision and unit. */
static bool comparable(const struct series_row *f, const void *with)
{
	const struct series_row *w = with;

	return f->rev == w->rev && !strcmp(f->unit, w->unit) &&
	       !strcmp(f->params, w->params);
}

static const struct series_row *first_seen(const struct founds *f)
{
	size_t i, best = 0;

	for (i = 1; i < f->n; i++)
		if (f->v[i].id < f->v[best].id)
			best = i;
	return &f->v[best];
}

static const struct series_row *last_run(const struct founds *f)
{
	size_t i, best = 0;

	for (i = 1; i < f->n; i++)
		if (f->v[i].last_run >= f->v[best].last_run)
			best = i;
	return &f->v[best];
}

/* The chart's facts come from its newest run. -1: no memory. */
static int take_facts(struct founds *f, const struct store_trend_query *q,
		      struct store_trend *out)
{
	const struct series_row *newest = last_run(f);
	struct series_row model = *newest;

	out->host = strdup(q->host);
	out->bench = strdup(model.bench);
	out->metric = strdup(model.metric);
	out->unit = model.unit = strdup(model.unit);
	out->params = model.params = strdup(model.params);
	out->same_as = model.same_as ? strdup(model.same_as) : NULL;
	out->rev = model.rev;
	out->quantum = model.quantum;
	out->ops = model.ops;
	out->better = model.better;
	if (!out->host || !out->bench || !out->metric || !out->unit ||
	    !out->params)
		return -1;
	keep_if(f, comparable, &model);
	return 0;
}

static enum store_answer choose(sqlite3 *db, const struct store_trend_query *q,
				struct founds *f, struct store_trend *out,
				struct err *e)
{
	char *metric;

	if (!f->n)
		return missing_host(db, q->host, q->bench, e);
	metric = strdup(q->metric ? q->metric : first_seen(f)->metric);
	if (!metric)
		goto nomem;
	keep_if(f, of_metric, metric);
	free(metric);
	if (!f->n) {
		err_set(e, "metric: \"%s\" has no \"%s\"", q->bench, q->metric);
		return STORE_MISSING;
	}
	if (q->params)
		keep_if(f, of_params, q->params);
	if (!f->n) {
		err_set(e, "params: never measured with \"%s\"", q->params);
		return STORE_MISSING;
	}
	if (take_facts(f, q, out))
		goto nomem;
	if (q->folio_bytes)
		keep_if(f, of_size, &q->folio_bytes);
	if (!f->n) {
		err_set(e, "size: no figures at %lld bytes",
			(long long)q->folio_bytes);
		return STORE_MISSING;
	}
	return STORE_SAME;
nomem:
	err_set(e, "out of memory");
	return STORE_ERROR;
}

/* --- the points ---------------------------------------------------------- */

/* As read: by series, then kernel id; sorted into the grid afterwards. */
struct raw { int64_t kernel; size_t series; struct store_point p; };
struct raws { struct raw *v; size_t n; };

static int end_point(struct pool *pool, struct raws *raws, size_t series,
		     int64_t kernel, struct err *e)
{
	struct raw *raw;

	if (!pool->nruns)
		return 0;
	raw = grow_rows((void **)&raws->v, &raws->n, sizeof(*raw));
	if (!raw)
		return err_set(e, "out of memory");
	raw->kernel = kernel;
	raw->series = series;
	return pool_point(pool, &raw->p, e);
}

static int read_series(struct pool *pool, sqlite3_stmt *st, size_t series,
		       struct raws *raws, struct err *e)
{
	int64_t kernel = 0;
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t k = sqlite3_column_int64(st, 0);

		if (k != kernel && end_point(pool, raws, series, kernel, e))
			return -1;
		kernel = k;
		if (pool_add(pool, st, 1))
			return err_set(e, "out of memory");
	}
	if (rc != SQLITE_DONE)
		return store_failed(pool->db, e);
	return end_point(pool, raws, series, kernel, e);
}

/* One range of the primary key for each series: no look-up, no sort. */
static int read_points(struct pool *pool, const struct founds *f,
		       struct raws *raws, struct err *e)
{
	sqlite3_stmt *st = store_query(pool->db,
		"SELECT r.kernel," POOL_COLUMNS " FROM result r"
		" WHERE r.series = ?1 ORDER BY r.kernel, r.run", "");
	int ret = st ? 0 : store_failed(pool->db, e);
	size_t i;

	for (i = 0; !ret && i < f->n; i++) {
		store_bind(st, "i", f->v[i].id);
		ret = read_series(pool, st, i, raws, e);
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return ret;
}

/*
 * Kernel id -> place on the x axis, counted from 1; 0: not there. Ids are dense
 * and the table small, so this is an array: no sort, no search per point.
 */
struct places { uint32_t *at; int64_t max; };

/* Their kernels, each once, as a JSON array of ids. -1: no memory. */
static int list_kernels(const struct raws *raws, struct places *places,
			struct buf *json, size_t *count)
{
	int64_t id;
	size_t i, n = 0;

	for (i = 0; i < raws->n; i++)
		if (raws->v[i].kernel > places->max)
			places->max = raws->v[i].kernel;
	places->at = calloc((size_t)places->max + 1, sizeof(*places->at));
	if (!places->at)
		return -1;
	for (i = 0; i < raws->n; i++)
		places->at[raws->v[i].kernel] = 1;
	buf_char(json, '[');
	for (id = 0; id <= places->max; id++)
		if (places->at[id]) {
			buf_str(json, n++ ? "," : "");
			buf_i64(json, id);
		}
	buf_char(json, ']');
	*count = n;
	return buf_ok(json) ? 0 : -1;
}

static int read_trend_kernels(sqlite3 *db, const struct raws *raws, size_t last,
			      struct places *places, struct store_trend *out,
			      struct err *e)
{
	struct store_kernels kernels = { NULL, 0 };
	struct buf json = BUF_INIT;
	size_t i, n = 0;
	int ret = -1;

	if (list_kernels(raws, places, &json, &n))
		err_set(e, "out of memory");
	else
		ret = kernels_by_id(db, json.s, last, &kernels, e);
	buf_free(&json);
	if (ret)
		return -1;
	out->kernels = kernels.v;
	out->nkernels = kernels.n;
	out->older = n - kernels.n;
	memset(places->at, 0, ((size_t)places->max + 1) * sizeof(*places->at));
	for (i = 0; i < kernels.n; i++)
		places->at[kernels.v[i].id] = (uint32_t)i + 1;
	return 0;
}

/* Each raw point to its place; those of older kernels are left behind. */
static int fill_grid(struct raws *raws, const struct places *places,
		     struct store_trend *out)
{
	size_t i, n = out->nkernels * out->nseries;

	out->points = calloc(n + 1, sizeof(*out->points));
	if (!out->points)
		return -1;
	for (i = 0; i < n; i++)
		out->points[i].value = out->points[i].spread = RECORD_NULL;
	for (i = 0; i < raws->n; i++) {
		struct raw *raw = &raws->v[i];
		uint32_t at = places->at[raw->kernel];

		if (!at)
			continue;
		out->points[raw->series * out->nkernels + at - 1] = raw->p;
		raw->p.reason = NULL;
	}
	return 0;
}

static int take_series(const struct founds *f, struct store_trend *out)
{
	size_t i;

	out->series = calloc(f->n, sizeof(*out->series));
	if (!out->series)
		return -1;
	out->nseries = f->n;
	for (i = 0; i < f->n; i++) {
		struct store_series *s = &out->series[i];

		s->folio_bytes = f->v[i].folio_bytes;
		s->base_page_bytes = f->v[i].base_page_bytes;
		s->pmd_bytes = f->v[i].pmd_bytes;
		memcpy(s->epoch, f->v[i].epoch, sizeof(s->epoch));
	}
	return 0;
}

static enum store_answer read_trend(sqlite3 *db,
				    const struct store_trend_query *q,
				    struct store_trend *out, struct err *e)
{
	struct pool pool = { .db = db, .host = q->host };
	struct founds f = { NULL, 0 };
	struct raws raws = { NULL, 0 };
	struct places places = { NULL, 0 };
	enum store_answer a = STORE_ERROR;
	size_t i;

	if (find_series(db, q, &f, e))
		goto out;
	a = choose(db, q, &f, out, e);
	if (a != STORE_SAME)
		goto out;
	a = STORE_ERROR;
	if (read_points(&pool, &f, &raws, e) ||
	    read_trend_kernels(db, &raws, q->last, &places, out, e))
		goto out;
	if (take_series(&f, out) || fill_grid(&raws, &places, out))
		err_set(e, "out of memory");
	else
		a = STORE_SAME;
out:
	for (i = 0; i < raws.n; i++)
		free(raws.v[i].p.reason);
	free(raws.v);
	free(places.at);
	for (i = 0; i < f.n; i++)
		series_row_free(&f.v[i]);
	free(f.v);
	pool_free(&pool);
	return a;
}

enum store_answer store_trend(struct store *s,
			      const struct store_trend_query *q,
			      struct store_trend *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	enum store_answer a;

	memset(out, 0, sizeof(*out));
	a = read_trend(db, q, out, e);
	store_reader_back(s, db);
	if (a != STORE_SAME)
		store_trend_free(out);
	return a;
}

void store_trend_free(struct store_trend *t)
{
	size_t i;

	for (i = 0; t->points && i < t->nkernels * t->nseries; i++)
		free(t->points[i].reason);
	for (i = 0; i < t->nkernels; i++)
		store_kernel_free(&t->kernels[i]);
	free(t->points);
	free(t->kernels);
	free(t->series);
	free(t->host);
	free(t->bench);
	free(t->metric);
	free(t->unit);
	free(t->params);
	free(t->same_as);
	memset(t, 0, sizeof(*t));
}
