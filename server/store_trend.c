/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures out: one chart over kernels; two kernels side by side. */
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "store_priv.h"

#define EPOCH_COLUMNS \
	" e.facts->>'base_page_bytes', e.facts->>'pmd_bytes'," \
	" substr(e.sha256, 1, 12)"

/* --- which series make the chart ----------------------------------------- */

/* Its facts come from the newest run that fits. */
static const struct column trend_columns[] = {
	TEXT_(store_trend, host), TEXT_(store_trend, bench),
	TEXT_(store_trend, metric), TEXT_(store_trend, params),
	TEXT_(store_trend, unit), TEXT_(store_trend, same_as),
	INT_(store_trend, rev), INT_(store_trend, quantum),
	INT_(store_trend, ops), WORD_(store_trend, better), COL_END
};

/* Parameters: 1 host, 2 bench, 3 metric or null, 4 params or null. */
#define OF_HOST \
	" FROM host h JOIN epoch e ON e.host = h.id" \
	" CROSS JOIN metric m ON m.epoch = e.id"
#define FIND_CHART \
	"SELECT h.label, m.bench, m.name, m.params, m.unit, m.same_as, m.rev," \
	" m.quantum, m.ops, m.better = 'higher'" OF_HOST \
	" WHERE h.label = ?1 AND m.bench = ?2" \
	" AND m.name = coalesce(?3, (SELECT m.name" OF_HOST \
	" WHERE h.label = ?1 AND m.bench = ?2 ORDER BY m.id LIMIT 1))" \
	" AND m.params = coalesce(?4, m.params)" \
	" ORDER BY m.last_run DESC, m.id DESC LIMIT 1"
#define COUNT_MATCHES \
	"SELECT count(*), sum(m.bench = ?2), sum(m.bench = ?2 AND" \
	" m.name = coalesce(?3, m.name)) FROM host h" \
	" LEFT JOIN epoch e ON e.host = h.id LEFT JOIN metric m" \
	" ON m.epoch = e.id WHERE h.label = ?1"

/* The first field that matches nothing. */
static enum store_answer missing(sqlite3 *db, const struct store_trend_query *q,
				 struct err *e)
{
	sqlite3_stmt *st = store_query(db, COUNT_MATCHES, "ttt", q->host,
				       q->bench, q->metric);
	enum store_answer a = STORE_MISSING;

	if (!st || sqlite3_step(st) != SQLITE_ROW) {
		store_failed(db, e);
		a = STORE_ERROR;
	} else if (!sqlite3_column_int(st, 0)) {
		err_set(e, "host: no host \"%s\"", q->host);
	} else if (!sqlite3_column_int(st, 1)) {
		err_set(e, "bench: host \"%s\" has no \"%s\"", q->host,
			q->bench);
	} else if (!sqlite3_column_int(st, 2)) {
		err_set(e, "metric: \"%s\" has no \"%s\"", q->bench, q->metric);
	} else {
		err_set(e, "params: never measured with \"%s\"", q->params);
	}
	sqlite3_finalize(st);
	return a;
}

static enum store_answer find_chart(sqlite3 *db,
				    const struct store_trend_query *q,
				    struct store_trend *out, struct err *e)
{
	sqlite3_stmt *st = store_query(db, FIND_CHART, "tttt", q->host,
				       q->bench, q->metric, q->params);
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;
	enum store_answer a = STORE_ERROR;

	if (rc == SQLITE_DONE)
		a = missing(db, q, e);
	else if (rc != SQLITE_ROW)
		store_failed(db, e);
	else if (row_read(st, 0, trend_columns, out))
		err_set(e, "out of memory");
	else
		a = STORE_SAME;
	sqlite3_finalize(st);
	return a;
}

/* A query over the series that one axis can hold: of one revision and unit. */
#define OF_CHART \
	OF_HOST " CROSS JOIN series s ON s.metric = m.id" \
	" WHERE h.label = ?1 AND m.bench = ?2 AND m.name = ?3" \
	" AND m.params = ?4 AND m.unit = ?5 AND m.rev = ?6" \
	" AND (?7 = 0 OR s.folio_bytes = ?7)"

static sqlite3_stmt *chart_query(sqlite3 *db, const char *sql,
				 const struct store_trend *t, int64_t folio)
{
	return store_query(db, sql, "tttttii", t->host, t->bench, t->metric,
			   t->params, t->unit, t->rev, folio);
}

static const struct column series_columns[] = {
	INT_(store_series, metric), INT_(store_series, id),
	INT_(store_series, folio_bytes),
	INT_(store_series, base_page_bytes), INT_(store_series, pmd_bytes),
	NAME_(store_series, epoch), COL_END
};

/* --- its kernels and points ---------------------------------------------- */

#define THEIR_KERNELS \
	"SELECT DISTINCT r.pool FROM result r" \
	" WHERE r.metric IN (SELECT m.id" OF_CHART ")" \
	" AND (?7 = 0 OR r.series IN (SELECT s.id" OF_CHART "))"

/* The newest @last, 0: all, and how many are older. */
static int read_kernels(sqlite3 *db, size_t last, int64_t folio,
			struct store_trend *out, struct err *e)
{
	struct store_kernels kernels;
	sqlite3_stmt *st;
	char sql[2048];

	snprintf(sql, sizeof(sql),
		 "SELECT * FROM (SELECT" KERNEL_COLUMNS ", 0, 0, %s AS place"
		 " FROM kernel k WHERE k.id IN (" THEIR_KERNELS ")"
		 " ORDER BY place DESC LIMIT %lld) ORDER BY place",
		 history_order_sql(), last ? (long long)last : -1LL);
	if (rows_read(db, chart_query(db, sql, out, folio),
		      store_kernel_columns, sizeof(*kernels.v), &kernels, e))
		return -1;
	out->kernels = kernels.v;
	out->nkernels = kernels.n;
	if (!last || kernels.n < last)
		return 0;
	st = chart_query(db, "SELECT count(*) FROM (" THEIR_KERNELS ")", out,
			 folio);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		out->older = (size_t)sqlite3_column_int64(st, 0) - kernels.n;
	sqlite3_finalize(st);
	return 0;
}

/*
 * Kernel id -> place on the x axis, counted from 1; 0: not there. Ids are dense
 * and the table small, so this is an array: no search per point.
 */
struct places { size_t *at; int64_t max; };

static int make_places(const struct store_trend *t, struct places *out)
{
	for (size_t i = 0; i < t->nkernels; i++)
		if (t->kernels[i].id > out->max)
			out->max = t->kernels[i].id;
	out->at = calloc((size_t)out->max + 1, sizeof(*out->at));
	for (size_t i = 0; out->at && i < t->nkernels; i++)
		out->at[t->kernels[i].id] = i + 1;
	return out->at ? 0 : -1;
}

/* The points of one metric: its series are those from @first on. SQLite's
 * code. */
static int read_lines(sqlite3_stmt *st, const struct places *places,
		      struct pool *pool, struct store_trend *t, size_t first)
{
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, 0);
		int64_t kernel = sqlite3_column_int64(st, 1);
		size_t at = kernel <= places->max ? places->at[kernel] : 0;
		size_t s = first;

		while (s < t->nseries && t->series[s].id != id)
			s++;
		if (at && s < t->nseries &&
		    pool_add(pool, &t->points[s * t->nkernels + at - 1], st, 2))
			return SQLITE_NOMEM;
	}
	pool_end(pool);
	return rc;
}

/* One range of the primary key for each metric: no look-up, no sort. */
static int read_points(sqlite3 *db, struct store_trend *t, struct err *e)
{
	sqlite3_stmt *st = store_query(db, "SELECT r.series, r.pool,"
				       POOL_COLUMNS " FROM result r"
				       " WHERE r.metric = ?1 ORDER BY r.pool,"
				       " r.series, r.boot, r.run", "");
	size_t n = t->nkernels * t->nseries;
	struct places places = { NULL, 0 };
	struct pool pool = { .to = NULL };
	int rc = st ? SQLITE_DONE : SQLITE_ERROR;

	t->points = calloc(n + 1, sizeof(*t->points));
	if (!t->points || make_places(t, &places))
		rc = SQLITE_NOMEM;
	for (size_t i = 0; t->points && i < n; i++)
		t->points[i] = NO_POINT;
	for (size_t i = 0; i < t->nseries && rc == SQLITE_DONE; i++) {
		if (i && t->series[i].metric == t->series[i - 1].metric)
			continue;
		sqlite3_bind_int64(st, 1, t->series[i].metric);
		rc = read_lines(st, &places, &pool, t, i);
		sqlite3_reset(st);
	}
	if (rc == SQLITE_NOMEM)
		err_set(e, "out of memory");
	else if (rc != SQLITE_DONE)
		store_failed(db, e);
	sqlite3_finalize(st);
	free(places.at);
	pool_free(&pool);
	return rc == SQLITE_DONE ? 0 : -1;
}

static enum store_answer read_trend(sqlite3 *db,
				    const struct store_trend_query *q,
				    struct store_trend *out, struct err *e)
{
	enum store_answer a = find_chart(db, q, out, e);
	struct { struct store_series *v; size_t n; } series;

	if (a != STORE_SAME)
		return a;
	if (rows_read(db, chart_query(db, "SELECT m.id, s.id, s.folio_bytes,"
				      EPOCH_COLUMNS OF_CHART
				      " ORDER BY e.id, s.folio_bytes, s.id",
				      out, q->folio_bytes),
		      series_columns, sizeof(*series.v), &series, e))
		return STORE_ERROR;
	out->series = series.v;
	out->nseries = series.n;
	if (!series.n) {
		err_set(e, "size: no figures at %lld bytes",
			(long long)q->folio_bytes);
		return STORE_MISSING;
	}
	return read_kernels(db, q->last, q->folio_bytes, out, e) ||
	       read_points(db, out, e) ? STORE_ERROR : STORE_SAME;
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
	for (size_t i = 0; t->points && i < t->nkernels * t->nseries; i++)
		free(t->points[i].reason);
	for (size_t i = 0; i < t->nkernels; i++)
		store_kernel_free(&t->kernels[i]);
	free(t->points);
	free(t->kernels);
	free(t->series);
	row_free(trend_columns, t);
	memset(t, 0, sizeof(*t));
}

/* --- two kernels --------------------------------------------------------- */

static const struct column pair_columns[] = {
	TEXT_(store_pair, bench), TEXT_(store_pair, metric),
	TEXT_(store_pair, unit), TEXT_(store_pair, params),
	TEXT_(store_pair, same_as), WORD_(store_pair, better),
	INT_(store_pair, rev), INT_(store_pair, quantum),
	INT_(store_pair, ops), INT_(store_pair, folio_bytes),
	INT_(store_pair, base_page_bytes), INT_(store_pair, pmd_bytes),
	NAME_(store_pair, epoch), COL_END
};
#define AT_PAIR	(int)(sizeof(pair_columns) / sizeof(pair_columns[0]) - 1)
/* Each series of the host that has rows of one of both, these together. */
#define FIND_PAIRS \
	"SELECT m.bench, m.name, m.unit, m.params, m.same_as," \
	" m.better = 'higher', m.rev, m.quantum, m.ops, s.folio_bytes," \
	EPOCH_COLUMNS ", s.id, r.pool," POOL_COLUMNS OF_HOST \
	" CROSS JOIN result r ON r.metric = m.id AND r.pool IN (?2, ?3)" \
	" CROSS JOIN series s ON s.id = r.series" \
	" WHERE h.label = ?1 AND (?4 IS NULL OR m.bench = ?4)" \
	" ORDER BY e.id, m.bench, m.name, m.params, m.rev, s.folio_bytes," \
	" s.id, r.pool, r.boot, r.run"

static int new_pair(sqlite3_stmt *st, struct store_pairs *out)
{
	struct store_pair *p = rows_add((struct rows *)(void *)&out->v,
					sizeof(*p));

	if (!p)
		return -1;
	p->a = p->b = NO_POINT;
	return row_read(st, 0, pair_columns, p);
}

static int read_pairs(sqlite3 *db, sqlite3_stmt *st, struct store_pairs *out,
		      struct err *e)
{
	struct pool a = { .to = NULL }, b = { .to = NULL };
	int64_t series = 0;
	int rc, ret = -1;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, AT_PAIR);
		int64_t pool = sqlite3_column_int64(st, AT_PAIR + 1);
		struct store_pair *p;

		if (id != series) {
			pool_end(&a);	/* before the array moves */
			pool_end(&b);
			if (new_pair(st, out))
				goto out;
		}
		series = id;
		p = &out->v[out->n - 1];
		if ((pool == out->a.pool &&
		     pool_add(&a, &p->a, st, AT_PAIR + 2)) ||
		    (pool == out->b.pool &&
		     pool_add(&b, &p->b, st, AT_PAIR + 2)))
			goto out;
	}
	pool_end(&a);
	pool_end(&b);
	if (rc == SQLITE_DONE)
		ret = 0;
out:
	if (rc == SQLITE_ROW)
		err_set(e, "out of memory");
	else if (ret)
		store_failed(db, e);
	pool_free(&a);
	pool_free(&b);
	return ret;
}

static enum store_answer find_side(sqlite3 *db, const char *side,
				   const char *key, struct store_kernel *out,
				   struct err *e)
{
	struct err why;
	enum store_answer a = store_kernel(db, key, out, &why);

	if (a != STORE_SAME)
		err_set(e, "%s: %s", side, why.msg);
	return a;
}

static enum store_answer compare(sqlite3 *db, const char *host, const char *a,
				 const char *b, const char *bench,
				 struct store_pairs *out, struct err *e)
{
	enum store_answer found = find_side(db, "a", a, &out->a, e);
	sqlite3_stmt *st;
	int ret;

	if (found == STORE_SAME)
		found = find_side(db, "b", b, &out->b, e);
	if (found != STORE_SAME)
		return found;
	st = store_query(db, FIND_PAIRS, "tiit", host, out->a.pool,
			 out->b.pool, bench);
	ret = st ? read_pairs(db, st, out, e) : store_failed(db, e);
	sqlite3_finalize(st);
	if (ret)
		return STORE_ERROR;
	if (out->n)
		return STORE_SAME;
	err_set(e, bench ? "bench: neither kernel has it on host \"%s\"" :
		"host: neither kernel was measured on \"%s\"", host);
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
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].a.reason);
		free(p->v[i].b.reason);
	}
	rows_free(&p->v, pair_columns, sizeof(*p->v));
	store_kernel_free(&p->a);
	store_kernel_free(&p->b);
}
