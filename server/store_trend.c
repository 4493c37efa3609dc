/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures out: one chart over kernels; two kernels side by side. */
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "store_priv.h"

#define EPOCH_COLUMNS \
	" e.facts->>'base_page_bytes', e.facts->>'pmd_bytes'," \
	" substr(e.sha256, 1, 12)"

/* --- which series make the chart --------------------------------------- */

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
	" ORDER BY m.last_started DESC," \
	" iif(m.last_started = '', m.last_run, 0) DESC, m.rev DESC, m.params, e.sha256 LIMIT 1"
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

/* --- its kernels, on their axis ---------------------------------------- */

/* A build of one of its pools that ran on this host. */
struct build {
	struct store_kernel k;
	int64_t pool;		/* k's; of builds of one source, one of theirs */
	char *started_at;
	int64_t changed;	/* its commit is not what was built */
	struct spot spot;	/* in the tree shown */
	bool anywhere;		/* in some tree */
	enum { ON_AXIS, UNPLACED, GONE } rank;
};
struct builds { struct build *v; size_t n; };

static const struct column build_columns[] = {
	TEXT_(build, started_at), INT_(build, changed), COL_END
};
#define BUILD_KERNEL 2	/* the column behind them */

#define THEIR_KERNELS \
	"SELECT DISTINCT r.pool FROM result r" \
	" WHERE r.metric IN (SELECT m.id" OF_CHART ")" \
	" AND (?7 = 0 OR r.series IN (SELECT s.id" OF_CHART "))"
#define THEIR_BUILDS \
	"SELECT coalesce(min(u.started_at), ''), k.changed," KERNEL_COLUMNS \
	", 0, 0 FROM kernel k CROSS JOIN run u ON u.kernel = k.id" \
	" CROSS JOIN epoch x ON x.id = u.epoch" \
	" WHERE k.pool IN (" THEIR_KERNELS ") AND x.host = (SELECT id" \
	" FROM host WHERE label = ?1) GROUP BY k.id"

static void build_free(struct build *b)
{
	row_free(build_columns, b);
	store_kernel_free(&b->k);
}

static int read_builds(sqlite3 *db, const struct store_trend *t, int64_t folio,
		       struct builds *out, struct err *e)
{
	sqlite3_stmt *st = chart_query(db, THEIR_BUILDS, t, folio);
	int rc = SQLITE_ERROR;

	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct build *b = ADD_ROW(out, sizeof(*b));

		if (!b || row_read(st, 0, build_columns, b) ||
		    row_read(st, BUILD_KERNEL, store_kernel_columns, &b->k))
			break;
		b->spot.push = NO_PUSH;
	}
	return store_ended(db, st, rc, e);
}

/* NULL is first. */
static int text_cmp(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !!a - !!b;
}

/* Along the axis. What stands at one place is told apart by what was measured
 * first, not by what arrived first. */
static int by_place(const void *a, const void *b)
{
	const struct build *x = a, *y = b;
	int c;

	if (x->spot.push != y->spot.push)
		return x->spot.push < y->spot.push ? -1 : 1;
	if (x->spot.pos != y->spot.pos)
		return x->spot.pos < y->spot.pos ? -1 : 1;
	c = strcmp(x->started_at, y->started_at);
	return c ? c : strcmp(x->k.key, y->k.key);
}

static int by_pool(const void *a, const void *b)
{
	const struct build *x = a, *y = b;

	return (x->pool > y->pool) - (x->pool < y->pool);
}

static int by_source(const void *a, const void *b)
{
	const struct store_kernel *x = &((const struct build *)a)->k;
	const struct store_kernel *y = &((const struct build *)b)->k;
	int c = text_cmp(x->tree_hash, y->tree_hash);

	if (!c)
		c = text_cmp(x->config_sha256, y->config_sha256);
	return c ? c : text_cmp(x->compiler, y->compiler);
}

/* Where the builds stand, tree by tree. */
struct axis {
	struct builds builds;	/* those of a pool stand together */
	struct store_pushes all;
	struct spot **spots; size_t nspots;	/* builds that are a commit */
	size_t from, to;	/* of all: the tree that is shown */
};

/* Which revision each build is; what no run said of its source, that does. */
static int find_revisions(sqlite3 *db, struct builds *b, struct err *e)
{
	sqlite3_stmt *st = store_query(db, "SELECT id, lower(hex(tree_hash))"
				       " FROM revision WHERE sha = ?1", "");
	int ret = st ? 0 : store_failed(db, e);
	unsigned char sha[20];

	for (size_t i = 0; i < b->n && !ret; i++) {
		struct build *v = &b->v[i];

		if (!v->k.commit || v->changed)
			continue;
		store_sha(v->k.commit, '0', sha);
		sqlite3_bind_blob(st, 1, sha, sizeof(sha), SQLITE_STATIC);
		if (sqlite3_step(st) == SQLITE_ROW) {
			v->spot.revision = sqlite3_column_int64(st, 0);
			if (!v->k.tree_hash &&
			    store_text(st, 1, &v->k.tree_hash))
				ret = err_set(e, "out of memory");
		}
		if (sqlite3_reset(st) != SQLITE_OK)
			ret = store_failed(db, e);
	}
	sqlite3_finalize(st);
	return ret;
}

/* Builds of one source, config and compiler are one; a pool knows of it only
 * where runs said so. */
static void join_pools(struct builds *b)
{
	struct build *v = b->v;

	qsort(v, b->n, sizeof(*v), by_source);
	for (size_t i = 0; i < b->n; i++) {
		const struct store_kernel *k = &v[i].k;

		v[i].pool = k->pool;
		if (i && k->tree_hash && k->config_sha256 && k->compiler &&
		    !by_source(&v[i - 1], &v[i]))
			v[i].pool = v[i - 1].pool;
	}
	qsort(v, b->n, sizeof(*v), by_pool);
}

static int make_spots(struct axis *x)
{
	struct builds *b = &x->builds;

	x->spots = calloc(b->n + 1, sizeof(struct spot *));
	for (size_t i = 0; x->spots && i < b->n; i++)
		if (b->v[i].k.commit && !b->v[i].changed) {
			b->v[i].spot.sha = b->v[i].k.commit;
			x->spots[x->nspots++] = &b->v[i].spot;
		}
	if (x->spots)
		spots_sort(x->spots, x->nspots);
	return x->spots ? 0 : -1;
}

/* Place the builds in the pushes [from, to). How many pools have a place; -1:
 * no memory. */
static int64_t use_tree(struct axis *x, size_t from, size_t to)
{
	const struct build *last = NULL;
	int64_t pools = 0;

	if (spots_place(&x->all.v[from], to - from, x->spots, x->nspots))
		return -1;
	for (size_t i = 0; i < x->builds.n; i++) {
		struct build *b = &x->builds.v[i];

		if (b->spot.push == NO_PUSH)
			continue;
		b->anywhere = true;
		pools += !last || b->pool != last->pool;
		last = b;
	}
	return pools;
}

static int add_use(struct store_trend *out, const char *tree, int64_t kernels)
{
	struct store_tree_use *use = ADD_ROW(&out->trees, sizeof(*use));

	if (use) {
		use->kernels = kernels;
		use->name = strdup(tree);
	}
	return use && use->name ? 0 : -1;
}

/* Which trees hold kernels of the chart, and which one is shown: that which was
 * asked for, else that which holds most. */
static enum store_answer choose_tree(struct axis *x, const char *asked,
				     struct store_trend *out, struct err *e)
{
	int64_t most = 0, pools = 0;
	size_t to;

	for (size_t i = 0; i < x->all.n && pools >= 0; i = to) {
		const char *name = x->all.v[i].tree;

		for (to = i + 1; to < x->all.n &&
		     !strcmp(x->all.v[to].tree, name); to++)
			;
		pools = use_tree(x, i, to);
		if (asked ? !strcmp(asked, name) : pools > most) {
			most = pools;
			x->from = i;
			x->to = to;
		}
		if (pools > 0 && add_use(out, name, pools))
			pools = -1;
	}
	if (asked && strcmp(asked, "-") != 0 && !x->to) {
		err_set(e, "tree: no push of \"%s\" is known", asked);
		return STORE_MISSING;
	}
	if (pools >= 0 && x->to) {
		pools = use_tree(x, x->from, x->to);
		out->tree = strdup(x->all.v[x->from].tree);
	}
	if (pools >= 0 && (out->tree || !x->to))
		return STORE_SAME;
	err_set(e, "out of memory");
	return STORE_ERROR;
}

/* One build of each pool is its kernel: that which stands first. */
static void rank_builds(struct axis *x, struct store_trend *out)
{
	struct build *v = x->builds.v;

	for (size_t i = 0, to; i < x->builds.n; i = to) {
		size_t head = i;
		bool anywhere = false;

		for (to = i; to < x->builds.n && v[to].pool == v[i].pool;
		     to++) {
			v[to].rank = GONE;
			anywhere |= v[to].anywhere;
			if (by_place(&v[to], &v[head]) < 0)
				head = to;
		}
		if (x->to ? v[head].spot.push != NO_PUSH : !anywhere)
			v[head].rank = ON_AXIS;
		else if (!anywhere)
			v[head].rank = UNPLACED;
		else
			out->elsewhere++;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct build *x = a, *y = b;

	return x->rank != y->rank ? (int)x->rank - (int)y->rank :
				    by_place(a, b);
}

/* Hand builds [from, from + n) over. */
static int take_kernels(struct axis *x, size_t from, size_t n,
			struct store_kernel **kernels,
			struct store_spot **spots)
{
	*kernels = calloc(n + 1, sizeof(**kernels));
	if (spots)
		*spots = calloc(n + 1, sizeof(**spots));
	if (!*kernels || (spots && !*spots))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct build *b = &x->builds.v[from + i];

		(*kernels)[i] = b->k;
		b->k = (struct store_kernel){ 0 };
		if (!spots)
			continue;
		(*spots)[i] = (struct store_spot){
			b->started_at, b->spot.push,
			b->spot.pos == INT64_MAX };
		b->started_at = NULL;
	}
	return 0;
}

/* The pushes from the first kernel's on; what measured each. */
static int take_pushes(struct axis *x, struct store_trend *out)
{
	size_t from = out->nkernels ? x->from + out->spots[0].push : x->to;
	struct store_pushes *p = &out->pushes;

	if (from >= x->to)
		return 0;
	p->v = calloc(x->to - from, sizeof(*p->v));
	if (!p->v)
		return -1;
	for (; from + p->n < x->to; p->n++) {
		struct store_push *to = &p->v[p->n];

		*to = x->all.v[from + p->n];
		x->all.v[from + p->n] = (struct store_push){ 0 };
	}
	for (size_t k = 0; k < out->nkernels; k++) {
		struct store_spot *spot = &out->spots[k];

		spot->push -= from - x->from;
		if (spot->tip && p->v[spot->push].kernel == NO_PUSH)
			p->v[spot->push].kernel = k;
	}
	return 0;
}

/* A push that only rewords, or goes back, has a source that is on the axis. */
static void find_same(struct store_trend *t)
{
	for (size_t i = 0; i < t->pushes.n; i++) {
		struct store_push *p = &t->pushes.v[i];

		for (size_t k = 0; p->kernel == NO_PUSH && k < t->nkernels; k++)
			if (t->spots[k].push != NO_PUSH &&
			    (!strcmp(p->new, t->kernels[k].commit) ||
			     (t->kernels[k].tree_hash &&
			      !strcmp(p->tree_hash, t->kernels[k].tree_hash))))
				p->kernel = k;
	}
}

/*
 * Pool -> place on the x axis, counted from 1; 0: not there. Ids are dense
 * and the table small, so this is an array: no search per point.
 */
struct places { size_t *at; int64_t max; };

/* The kernels on the axis are builds [from, from + n). */
static int make_places(const struct axis *x, size_t from, size_t n,
		       struct places *out)
{
	const struct build *v = x->builds.v;

	for (size_t i = 0; i < x->builds.n; i++)
		if (v[i].k.pool > out->max)
			out->max = v[i].k.pool;
	out->at = calloc((size_t)out->max + 1, sizeof(*out->at));
	if (!out->at)
		return -1;
	for (size_t i = from; i < from + n; i++)
		out->at[v[i].pool] = i - from + 1;
	for (size_t i = 0; i < x->builds.n; i++)
		out->at[v[i].k.pool] = out->at[v[i].pool];
	return 0;
}

static int read_axis(sqlite3 *db, const struct store_trend_query *q,
		     struct axis *x, struct store_trend *out,
		     struct places *places, struct err *e)
{
	size_t n = 0, m = 0, skip;

	rank_builds(x, out);
	qsort(x->builds.v, x->builds.n, sizeof(*x->builds.v), by_rank);
	while (n < x->builds.n && x->builds.v[n].rank == ON_AXIS)
		n++;
	while (n + m < x->builds.n && x->builds.v[n + m].rank == UNPLACED)
		m++;
	skip = q->last && n > q->last ? n - q->last : 0;
	out->older = skip;
	out->nkernels = n - skip;
	out->unplaced.n = m;
	if (make_places(x, skip, n - skip, places) ||
	    take_kernels(x, skip, n - skip, &out->kernels, &out->spots) ||
	    take_kernels(x, n, m, &out->unplaced.v, NULL) ||
	    take_pushes(x, out))
		return err_set(e, "out of memory");
	find_same(out);
	return store_skips(db, q->host, &out->pushes, e);
}

static enum store_answer read_kernels(sqlite3 *db,
				      const struct store_trend_query *q,
				      struct store_trend *out,
				      struct places *places, struct err *e)
{
	struct axis x = { .nspots = 0 };
	enum store_answer a = STORE_ERROR;

	if (read_builds(db, out, q->folio_bytes, &x.builds, e) ||
	    store_pushes(db, NULL, "p.revisions", &x.all, e) ||
	    find_revisions(db, &x.builds, e))
		goto out;
	join_pools(&x.builds);
	if (make_spots(&x)) {
		err_set(e, "out of memory");
		goto out;
	}
	a = choose_tree(&x, q->tree, out, e);
	if (a == STORE_SAME && read_axis(db, q, &x, out, places, e))
		a = STORE_ERROR;
out:
	for (size_t i = 0; i < x.builds.n; i++)
		build_free(&x.builds.v[i]);
	free(x.builds.v);
	free(x.spots);
	store_pushes_free(&x.all);
	return a;
}

/* --- points ------------------------------------------------------------ */

/* The points of one metric: its series are those from @first on. SQLite's
 * code. */
static int read_lines(sqlite3_stmt *st, const struct places *places,
		      struct pool *pools, struct store_trend *t, size_t first)
{
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, 0);
		int64_t kernel = sqlite3_column_int64(st, 1);
		size_t at = kernel <= places->max ? places->at[kernel] : 0;
		size_t s = first;

		while (s < t->nseries && t->series[s].id != id)
			s++;
		if (!at || s == t->nseries)
			continue;
		at += s * t->nkernels - 1;
		if (pool_add(&pools[at], &t->points[at], st, 2))
			return SQLITE_NOMEM;
	}
	return rc;
}

/* One range of the primary key for each metric: no look-up, no sort. A kernel
 * may be of several pools, so all points are in the making at once. */
static int read_points(sqlite3 *db, const struct places *places,
		       struct store_trend *t, struct err *e)
{
	sqlite3_stmt *st = store_query(db, "SELECT r.series, r.pool,"
				       POOL_COLUMNS " FROM result r"
				       " WHERE r.metric = ?1 ORDER BY r.pool,"
				       " r.series, r.boot, r.run", "");
	size_t n = t->nkernels * t->nseries;
	struct pool *pools = calloc(n + 1, sizeof(*pools));
	int rc = !pools ? SQLITE_NOMEM : st ? SQLITE_DONE : SQLITE_ERROR;

	t->points = calloc(n + 1, sizeof(*t->points));
	if (!t->points)
		rc = SQLITE_NOMEM;
	for (size_t i = 0; t->points && i < n; i++)
		t->points[i] = NO_POINT;
	for (size_t i = 0; i < t->nseries && rc == SQLITE_DONE; i++) {
		if (i && t->series[i].metric == t->series[i - 1].metric)
			continue;
		sqlite3_bind_int64(st, 1, t->series[i].metric);
		rc = read_lines(st, places, pools, t, i);
		sqlite3_reset(st);
	}
	for (size_t i = 0; pools && i < n; i++) {
		pool_end(&pools[i]);
		pool_free(&pools[i]);
	}
	free(pools);
	return store_ended(db, st, rc, e);
}

static enum store_answer read_trend(sqlite3 *db,
				    const struct store_trend_query *q,
				    struct store_trend *out, struct err *e)
{
	enum store_answer a = find_chart(db, q, out, e);
	struct { struct store_series *v; size_t n; } series;
	struct places places = { NULL, 0 };

	if (a != STORE_SAME)
		return a;
	if (rows_read(db, chart_query(db, "SELECT m.id, s.id, s.folio_bytes,"
				      EPOCH_COLUMNS OF_CHART
				      " ORDER BY (SELECT min(started_at) FROM"
				      " run WHERE epoch = e.id), e.sha256,"
				      " s.folio_bytes, s.exact",
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
	a = read_kernels(db, q, out, &places, e);
	if (a == STORE_SAME && read_points(db, &places, out, e))
		a = STORE_ERROR;
	free(places.at);
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
	for (size_t i = 0; t->points && i < t->nkernels * t->nseries; i++)
		free(t->points[i].reason);
	for (size_t i = 0; t->kernels && i < t->nkernels; i++)
		store_kernel_free(&t->kernels[i]);
	for (size_t i = 0; t->spots && i < t->nkernels; i++)
		free(t->spots[i].started_at);
	for (size_t i = 0; i < t->ntrees; i++)
		free(t->trees[i].name);
	store_pushes_free(&t->pushes);
	if (t->unplaced.v)
		store_kernels_free(&t->unplaced);
	free(t->trees);
	free(t->spots);
	free(t->points);
	free(t->kernels);
	free(t->series);
	row_free(trend_columns, t);
	memset(t, 0, sizeof(*t));
}

/* --- two kernels ------------------------------------------------------- */

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
	struct store_pair *p = ADD_ROW(&out->v, sizeof(*p));

	if (!p)
		return -1;
	p->a = p->b = NO_POINT;
	return row_read(st, 0, pair_columns, p);
}

/* @st ends here. */
static int read_pairs(sqlite3 *db, sqlite3_stmt *st, struct store_pairs *out,
		      struct err *e)
{
	struct pool a = { .to = NULL }, b = { .to = NULL };
	int64_t series = 0;
	int rc = SQLITE_ERROR;

	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, AT_PAIR);
		int64_t pool = sqlite3_column_int64(st, AT_PAIR + 1);
		struct store_pair *p;

		if (id != series) {
			pool_end(&a);	/* before the array moves */
			pool_end(&b);
			if (new_pair(st, out))
				break;
		}
		series = id;
		p = &out->v[out->n - 1];
		if ((pool == out->a.pool &&
		     pool_add(&a, &p->a, st, AT_PAIR + 2)) ||
		    (pool == out->b.pool &&
		     pool_add(&b, &p->b, st, AT_PAIR + 2)))
			break;
	}
	pool_end(&a);
	pool_end(&b);
	pool_free(&a);
	pool_free(&b);
	return store_ended(db, st, rc, e);
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

	if (found == STORE_SAME)
		found = find_side(db, "b", b, &out->b, e);
	if (found != STORE_SAME)
		return found;
	if (read_pairs(db, store_query(db, FIND_PAIRS, "tiit", host,
				       out->a.pool, out->b.pool, bench), out,
		       e))
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
