/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows out: bodies, kernels, hosts, charts, counters. */
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "store_priv.h"

/* --- rows into structs --------------------------------------------------- */

void *rows_add(struct rows *rows, size_t size)
{
	/* Doubles at each power of two; 16 to begin with. */
	if (!rows->v || (rows->n >= 16 && !(rows->n & (rows->n - 1)))) {
		char *more = realloc(rows->v, (rows->n ? 2 * rows->n : 16) *
					      size);

		if (!more)
			return NULL;
		rows->v = more;
	}
	return memset(rows->v + rows->n++ * size, 0, size);
}

void row_free(const struct column *c, void *row)
{
	for (; c->kind != END; c++)
		if (c->kind == TEXT)
			free(*(char **)(void *)((char *)row + c->offset));
}

void rows_free(void *all, const struct column *c, size_t size)
{
	struct rows *rows = all;

	for (size_t i = 0; i < rows->n; i++)
		row_free(c, rows->v + i * size);
	free(rows->v);
	*rows = (struct rows){ NULL, 0 };
}

int row_read(sqlite3_stmt *st, int at, const struct column *c, void *row)
{
	for (; c->kind != END; c++, at++) {
		bool null = sqlite3_column_type(st, at) == SQLITE_NULL;
		void *to = (char *)row + c->offset;

		if (c->kind == INT)
			*(int64_t *)to = null ? RECORD_NULL :
					 sqlite3_column_int64(st, at);
		else if (c->kind == WORD)
			*(unsigned *)to = (unsigned)sqlite3_column_int(st, at);
		else if (c->kind == NAME)
			snprintf(to, c->size, "%s",
				 (const char *)sqlite3_column_text(st, at));
		else if (store_text(st, at, to))
			return -1;
	}
	return 0;
}

int rows_read(sqlite3 *db, sqlite3_stmt *st, const struct column *c,
	      size_t size, void *all, struct err *e)
{
	struct rows *rows = all;
	int rc = SQLITE_ERROR;

	*rows = (struct rows){ NULL, 0 };
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		void *row = rows_add(rows, size);

		if (!row || row_read(st, 0, c, row))
			break;
	}
	if (rc == SQLITE_ROW)
		err_set(e, "out of memory");
	else if (rc != SQLITE_DONE)
		store_failed(db, e);
	sqlite3_finalize(st);
	if (rc == SQLITE_DONE)
		return 0;
	rows_free(rows, c, size);
	return -1;
}

/* The same on a connection of its own; @arg is parameter 1. */
static int read_all(struct store *s, const char *sql, const char *arg,
		    const struct column *c, size_t size, void *rows,
		    struct err *e)
{
	sqlite3 *db = store_reader(s);
	int ret = rows_read(db, store_query(db, sql, "t", arg), c, size, rows,
			    e);

	store_reader_back(s, db);
	return ret;
}

/* --- bodies -------------------------------------------------------------- */

/* One row, by a text key, that holds a length and deflated bytes. */
static enum store_answer get_body(struct store *s, const char *sql,
				  const char *what, const char *key,
				  struct buf *body, struct err *e)
{
	sqlite3 *db = store_reader(s);
	sqlite3_stmt *st = store_query(db, sql, "t", key);
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;
	enum store_answer a = STORE_ERROR;

	if (rc == SQLITE_DONE) {
		err_set(e, "%s \"%s\"", what, key);
		a = STORE_MISSING;
	} else if (rc != SQLITE_ROW) {
		store_failed(db, e);
	} else if (pack_inflate(sqlite3_column_blob(st, 1),
				(size_t)sqlite3_column_bytes(st, 1),
				(size_t)sqlite3_column_int64(st, 0), body)) {
		err_set(e, "the stored body of %s does not unpack", key);
	} else {
		a = STORE_SAME;
	}
	sqlite3_finalize(st);
	store_reader_back(s, db);
	return a;
}

enum store_answer store_get_run(struct store *s, const char *uuid,
				struct buf *body, struct err *e)
{
	return get_body(s, "SELECT b.len, b.deflated FROM run r"
			" JOIN body b ON b.run = r.id WHERE r.uuid = ?1",
			"id: no run", uuid, body, e);
}

enum store_answer store_get_file(struct store *s, const char *sha256,
				 struct buf *body, struct err *e)
{
	return get_body(s, "SELECT len, deflated FROM file WHERE sha256 = ?1",
			"sha256: no file", sha256, body, e);
}

/* --- kernels ------------------------------------------------------------- */

const struct column store_kernel_columns[] = {
	INT_(store_kernel, id), NAME_(store_kernel, key),
	INT_(store_kernel, pool), TEXT_(store_kernel, release),
	TEXT_(store_kernel, version), TEXT_(store_kernel, commit),
	INT_(store_kernel, commit_proven), TEXT_(store_kernel, tree),
	TEXT_(store_kernel, tree_hash), TEXT_(store_kernel, build_id),
	TEXT_(store_kernel, config_sha256), TEXT_(store_kernel, compiler),
	TEXT_(store_kernel, first_posted), TEXT_(store_kernel, patches),
	INT_(store_kernel, runs), INT_(store_kernel, hosts), COL_END
};

void store_kernel_free(struct store_kernel *k)
{
	row_free(store_kernel_columns, k);
	memset(k, 0, sizeof(*k));
}

void store_kernels_free(struct store_kernels *k)
{
	rows_free(k, store_kernel_columns, sizeof(*k->v));
}

int store_kernels(struct store *s, const char *host, size_t limit,
		  struct store_kernels *out, struct err *e)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "SELECT * FROM (SELECT" KERNEL_COLUMNS ", count(*),"
		 " count(DISTINCT e.host), %s AS place"
		 " FROM kernel k CROSS JOIN run r ON r.kernel = k.id"
		 " CROSS JOIN epoch e ON e.id = r.epoch"
		 " JOIN host h ON h.id = e.host"
		 " WHERE ?1 IS NULL OR h.label = ?1"
		 " GROUP BY k.id ORDER BY place DESC LIMIT %lld)"
		 " ORDER BY place", history_order_sql(),
		 limit ? (long long)limit : -1LL);
	return read_all(s, sql, host, store_kernel_columns, sizeof(*out->v),
			out, e);
}

/* An exact key comes first and settles it. */
enum store_answer store_kernel(sqlite3 *db, const char *key,
			       struct store_kernel *out, struct err *e)
{
	static const char sql[] =
		"SELECT" KERNEL_COLUMNS ", 0, 0 FROM kernel k WHERE k.id IN"
		" (SELECT id FROM kernel WHERE key BETWEEN ?1 AND ?2"
		" UNION SELECT id FROM kernel WHERE commit_sha IS NOT NULL"
		" AND commit_sha BETWEEN ?1 AND ?2)"
		" ORDER BY k.key = ?1 DESC, k.id LIMIT 2";
	struct store_kernels found;
	enum store_answer a = STORE_SAME;
	size_t len = strlen(key);
	char end[STORE_KEY + 1];

	/* '~' ends what a key may hold; an exact match needs no prefix. */
	snprintf(end, sizeof(end), "%s%s", key,
		 len >= 8 && len < STORE_KEY ? "~" : "");
	if (rows_read(db, store_query(db, sql, "tt", key, end),
		      store_kernel_columns, sizeof(*out), &found, e))
		return STORE_ERROR;
	if (!found.n) {
		err_set(e, "no kernel \"%s\" (expected a key or a commit, or "
			"at least 8 characters of one)", key);
		a = STORE_MISSING;
	} else if (found.n > 1 && strcmp(found.v[0].key, key) != 0) {
		err_set(e, "\"%s\" fits more than one kernel, such as %s and "
			"%s", key, found.v[0].key, found.v[1].key);
		a = STORE_CONFLICT;
	} else {
		*out = found.v[0];
		memset(&found.v[0], 0, sizeof(found.v[0]));
	}
	store_kernels_free(&found);
	return a;
}

/* --- hosts --------------------------------------------------------------- */

static const struct column host_columns[] = {
	TEXT_(store_host, label), TEXT_(store_host, cpu),
	TEXT_(store_host, arch), TEXT_(store_host, hypervisor),
	TEXT_(store_host, epoch), INT_(store_host, epochs),
	INT_(store_host, cpus), INT_(store_host, ram_bytes),
	INT_(store_host, base_page_bytes), INT_(store_host, pmd_bytes),
	INT_(store_host, runs), INT_(store_host, kernels),
	TEXT_(store_host, first_posted), TEXT_(store_host, last_posted),
	TEXT_(store_host, last_kernel), COL_END
};

int store_hosts(struct store *s, struct store_hosts *out, struct err *e)
{
	static const char sql[] =
		"WITH seen AS (SELECT e.host, count(DISTINCT e.id) AS epochs,"
		" count(*) AS runs, count(DISTINCT r.kernel) AS kernels,"
		" min(r.id) AS first, max(r.id) AS last"
		" FROM epoch e CROSS JOIN run r ON r.epoch = e.id"
		" GROUP BY e.host)"
		"SELECT h.label, e.facts->>'cpu', e.facts->>'arch',"
		" e.facts->>'hypervisor', substr(e.sha256, 1, 12), seen.epochs,"
		" e.facts->>'cpus', e.facts->>'ram_bytes',"
		" e.facts->>'base_page_bytes', e.facts->>'pmd_bytes',"
		" seen.runs, seen.kernels, f.posted_at, l.posted_at, k.key"
		" FROM seen JOIN host h ON h.id = seen.host"
		" JOIN run f ON f.id = seen.first"
		" JOIN run l ON l.id = seen.last"
		" JOIN epoch e ON e.id = l.epoch"
		" JOIN kernel k ON k.id = l.kernel ORDER BY h.label";

	return read_all(s, sql, NULL, host_columns, sizeof(*out->v), out, e);
}

void store_hosts_free(struct store_hosts *h)
{
	rows_free(h, host_columns, sizeof(*h->v));
}

/* --- charts -------------------------------------------------------------- */

static const struct column chart_columns[] = {
	TEXT_(store_chart, host), TEXT_(store_chart, bench),
	TEXT_(store_chart, metric), TEXT_(store_chart, unit),
	TEXT_(store_chart, params), INT_(store_chart, sizes),
	INT_(store_chart, points), INT_(store_chart, measured),
	INT_(store_chart, last_run), TEXT_(store_chart, last_posted), COL_END
};

int store_charts(struct store *s, const char *host, struct store_charts *out,
		 struct err *e)
{
	static const char sql[] =
		"SELECT c.*, r.posted_at FROM (SELECT h.label, m.bench,"
		" m.name, m.unit, m.params, count(DISTINCT s.folio_bytes),"
		" max(m.valid), max(m.measured), max(m.last_run) AS last"
		" FROM host h CROSS JOIN epoch e ON e.host = h.id"
		" CROSS JOIN metric m ON m.epoch = e.id"
		" CROSS JOIN series s ON s.metric = m.id"
		" WHERE ?1 IS NULL OR h.label = ?1"
		" GROUP BY h.label, m.bench, m.name, m.params, m.unit) c"
		" JOIN run r ON r.id = c.last"
		" ORDER BY label, bench, name, params, unit";

	return read_all(s, sql, host, chart_columns, sizeof(*out->v), out, e);
}

void store_charts_free(struct store_charts *c)
{
	rows_free(c, chart_columns, sizeof(*c->v));
}

/* --- counters ------------------------------------------------------------ */

int store_stats(struct store *s, struct store_stats *out, struct err *e)
{
	/* Nothing is ever deleted: the highest id is the count. */
	static const char sql[] =
		"SELECT (SELECT max(id) FROM run), (SELECT max(id) FROM host),"
		" (SELECT max(id) FROM kernel), (SELECT max(id) FROM series),"
		" page_count * page_size FROM pragma_page_count,"
		" pragma_page_size";
	sqlite3 *db = store_reader(s);
	sqlite3_stmt *st = store_query(db, sql, "");
	int ret = -1;

	memset(out, 0, sizeof(*out));
	if (st && sqlite3_step(st) == SQLITE_ROW) {
		out->runs = sqlite3_column_int64(st, 0);
		out->hosts = sqlite3_column_int64(st, 1);
		out->kernels = sqlite3_column_int64(st, 2);
		out->series = sqlite3_column_int64(st, 3);
		out->bytes = sqlite3_column_int64(st, 4);
		ret = 0;
	} else {
		store_failed(db, e);
	}
	sqlite3_finalize(st);
	store_reader_back(s, db);
	pthread_mutex_lock(&s->lock);
	out->committed = s->committed;
	out->batches = s->batches;
	out->queue = s->queued;
	out->retried = s->retried;
	pthread_mutex_unlock(&s->lock);
	return ret;
}
