/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows out: bodies, kernels, hosts, charts, counters. */
#include <stdlib.h>
#include <string.h>

#include "store_pack.h"
#include "store_priv.h"
#include "store_read.h"

/* One row, by a text key, that holds a length and deflated bytes. */
static enum store_answer get_body(struct store *s, const char *sql,
				  const char *key, struct buf *body,
				  struct err *e)
{
	sqlite3 *db = store_reader(s);
	sqlite3_stmt *st = store_query(db, sql, "t", key);
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;
	enum store_answer a = STORE_ERROR;

	if (rc == SQLITE_DONE)
		a = STORE_MISSING;
	else if (rc != SQLITE_ROW)
		store_failed(db, e);
	else if (pack_inflate(sqlite3_column_blob(st, 1),
			      (size_t)sqlite3_column_bytes(st, 1),
			      (size_t)sqlite3_column_int64(st, 0), body))
		err_set(e, "the stored body of %s does not unpack", key);
	else
		a = STORE_SAME;
	sqlite3_finalize(st);
	store_reader_back(s, db);
	return a;
}

enum store_answer store_get_run(struct store *s, const char *uuid,
				struct buf *body, struct err *e)
{
	enum store_answer a = get_body(s,
		"SELECT b.len, b.deflated FROM run r"
		" JOIN body b ON b.run = r.id WHERE r.uuid = ?1",
		uuid, body, e);

	if (a == STORE_MISSING)
		err_set(e, "id: no run \"%s\"", uuid);
	return a;
}

enum store_answer store_get_file(struct store *s, const char *sha256,
				 struct buf *body, struct err *e)
{
	enum store_answer a = get_body(s,
		"SELECT len, deflated FROM file WHERE sha256 = ?1", sha256,
		body, e);

	if (a == STORE_MISSING)
		err_set(e, "sha256: no file \"%s\"", sha256);
	return a;
}

/* --- a growing array of results ------------------------------------------ */

void *grow_rows(void **v, size_t *n, size_t size)
{
	/* Doubles at each power of two; 16 to begin with. */
	if (!*v || (*n >= 16 && !(*n & (*n - 1)))) {
		void *more = realloc(*v, (*n ? 2 * *n : 16) * size);

		if (!more)
			return NULL;
		*v = more;
	}
	return memset((char *)*v + (*n)++ * size, 0, size);
}

/*
 * Run a query and let @each fill a new element of @v from each row. Ends the
 * statement. -1 with @e.
 */
static int read_rows(sqlite3 *db, sqlite3_stmt *st, void **v, size_t *n,
		     size_t size, void (*each)(sqlite3_stmt *st, void *row),
		     struct err *e)
{
	int rc = SQLITE_ERROR;
	void *row;

	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		row = grow_rows(v, n, size);
		if (!row) {
			rc = SQLITE_NOMEM;
			break;
		}
		each(st, row);
	}
	if (rc == SQLITE_NOMEM)
		err_set(e, "out of memory");
	else if (rc != SQLITE_DONE)
		store_failed(db, e);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* --- kernels ------------------------------------------------------------- */

static void copy(char *to, size_t cap, sqlite3_stmt *st, int col)
{
	const unsigned char *text = sqlite3_column_text(st, col);

	snprintf(to, cap, "%s", text ? (const char *)text : "");
}

static void kernel_row(sqlite3_stmt *st, void *row)
{
	struct store_kernel *k = row;

	k->id = sqlite3_column_int64(st, 0);
	copy(k->key, sizeof(k->key), st, 1);
	k->release = store_text(st, 2);
	k->version = store_text(st, 3);
	k->commit = store_text(st, 4);
	k->commit_proven = sqlite3_column_int64(st, 5);
	k->tree = store_text(st, 6);
	k->build_id = store_text(st, 7);
	k->config_sha256 = store_text(st, 8);
	k->compiler = store_text(st, 9);
	k->first_posted = store_text(st, 10);
	k->runs = sqlite3_column_int64(st, 11);
	k->hosts = sqlite3_column_int64(st, 12);
}

#define KERNEL_COLUMNS \
	" k.id, k.key, k.release, k.version, k.commit_sha, k.commit_proven," \
	" k.tree, k.build_id, k.config_sha256, k.compiler, k.first_posted"

void store_kernel_free(struct store_kernel *k)
{
	free(k->release);
	free(k->version);
	free(k->commit);
	free(k->tree);
	free(k->build_id);
	free(k->config_sha256);
	free(k->compiler);
	free(k->first_posted);
	memset(k, 0, sizeof(*k));
}

void store_kernels_free(struct store_kernels *k)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		store_kernel_free(&k->v[i]);
	free(k->v);
	memset(k, 0, sizeof(*k));
}

/* Read newest first, so that a limit keeps the newest; then turn round. */
static int read_kernels(sqlite3 *db, sqlite3_stmt *st,
			struct store_kernels *out, struct err *e)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	if (read_rows(db, st, (void **)&out->v, &out->n, sizeof(*out->v),
		      kernel_row, e)) {
		store_kernels_free(out);
		return -1;
	}
	for (i = 0; i < out->n / 2; i++) {
		struct store_kernel swap = out->v[i];

		out->v[i] = out->v[out->n - 1 - i];
		out->v[out->n - 1 - i] = swap;
	}
	return 0;
}

int store_kernels(struct store *s, const char *host, size_t limit,
		  struct store_kernels *out, struct err *e)
{
	static const char counted[] =
		"SELECT" KERNEL_COLUMNS ", count(*), count(DISTINCT e.host)"
		" FROM kernel k CROSS JOIN run r ON r.kernel = k.id"
		" CROSS JOIN epoch e ON e.id = r.epoch"
		" JOIN host h ON h.id = e.host"
		" WHERE ?1 IS NULL OR h.label = ?1"
		" GROUP BY k.id ORDER BY %s DESC LIMIT %lld";
	sqlite3 *db = store_reader(s);
	char sql[sizeof(counted) + 64];
	int ret;

	snprintf(sql, sizeof(sql), counted, history_order_sql(),
		 limit ? (long long)limit : -1LL);
	ret = read_kernels(db, store_query(db, sql, "t", host), out, e);
	store_reader_back(s, db);
	return ret;
}

int kernels_by_id(sqlite3 *db, const char *ids, size_t last,
		  struct store_kernels *out, struct err *e)
{
	static const char listed[] =
		"SELECT" KERNEL_COLUMNS " FROM json_each(?1) j"
		" CROSS JOIN kernel k ON k.id = j.value"
		" ORDER BY %s DESC LIMIT %lld";
	char sql[sizeof(listed) + 64];

	snprintf(sql, sizeof(sql), listed, history_order_sql(),
		 last ? (long long)last : -1LL);
	return read_kernels(db, store_query(db, sql, "t", ids), out, e);
}

/* An exact key comes first (last, once turned round) and settles it. */
#define KERNEL_FIND \
	"SELECT" KERNEL_COLUMNS ", (SELECT count(*) FROM run r" \
	" WHERE r.kernel = k.id), (SELECT count(DISTINCT e.host) FROM run r" \
	" JOIN epoch e ON e.id = r.epoch WHERE r.kernel = k.id) FROM kernel k" \
	" WHERE k.id IN (SELECT id FROM kernel WHERE key BETWEEN ?1 AND ?2" \
	" UNION SELECT id FROM kernel" \
	" WHERE commit_sha BETWEEN ?1 AND ?2 AND commit_sha IS NOT NULL)" \
	" ORDER BY k.key = ?1 DESC, k.id DESC LIMIT 3"

enum store_answer kernel_find(sqlite3 *db, const char *key,
			      struct store_kernel *out, struct err *e)
{
	struct store_kernels found = { NULL, 0 };
	enum store_answer a = STORE_ERROR;
	size_t len = strlen(key);
	char end[STORE_KEY + 1];

	memset(out, 0, sizeof(*out));
	/* '~' ends what a key may hold; an exact match needs no prefix. */
	snprintf(end, sizeof(end), "%s%s", key,
		 len >= 8 && len < STORE_KEY ? "~" : "");
	if (read_kernels(db, store_query(db, KERNEL_FIND, "tt", key, end),
			 &found, e))
		return STORE_ERROR;
	if (found.n == 0) {
		err_set(e, "no kernel \"%s\" (expected a key or a commit, or "
			"at least 8 characters of one)", key);
		a = STORE_MISSING;
	} else if (found.n > 1 && strcmp(found.v[found.n - 1].key, key) != 0) {
		err_set(e, "\"%s\" fits more than one kernel, such as %s and "
			"%s", key, found.v[0].key, found.v[1].key);
		a = STORE_CONFLICT;
	} else {
		*out = found.v[--found.n];
		a = STORE_SAME;
	}
	store_kernels_free(&found);
	return a;
}

enum store_answer store_find_kernel(struct store *s, const char *key,
				    struct store_kernel *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	enum store_answer a = kernel_find(db, key, out, e);

	store_reader_back(s, db);
	return a;
}

/* --- series -------------------------------------------------------------- */

int series_row_read(sqlite3_stmt *st, struct series_row *f)
{
	const char *better = (const char *)sqlite3_column_text(st, 6);

	f->id = sqlite3_column_int64(st, 0);
	f->bench = store_text(st, 1);
	f->metric = store_text(st, 2);
	f->params = store_text(st, 3);
	f->rev = sqlite3_column_int64(st, 4);
	f->unit = store_text(st, 5);
	f->better = better && !strcmp(better, "higher") ? RECORD_HIGHER :
		    RECORD_LOWER;
	f->quantum = sqlite3_column_int64(st, 7);
	f->ops = sqlite3_column_int64(st, 8);
	f->same_as = store_text(st, 9);
	f->folio_bytes = sqlite3_column_int64(st, 10);
	f->last_run = sqlite3_column_int64(st, 11);
	copy(f->epoch, sizeof(f->epoch), st, 12);
	f->base_page_bytes = store_int(st, 13);
	f->pmd_bytes = store_int(st, 14);
	return f->bench && f->metric && f->params && f->unit ? 0 : -1;
}

void series_row_free(struct series_row *f)
{
	free(f->bench);
	free(f->metric);
	free(f->params);
	free(f->unit);
	free(f->same_as);
}

/* --- hosts --------------------------------------------------------------- */

static void host_row(sqlite3_stmt *st, void *row)
{
	struct store_host *h = row;

	h->label = store_text(st, 0);
	h->cpu = store_text(st, 1);
	h->arch = store_text(st, 2);
	h->hypervisor = store_text(st, 3);
	h->epoch = store_text(st, 4);
	h->epochs = store_int(st, 5);
	h->cpus = store_int(st, 6);
	h->ram_bytes = store_int(st, 7);
	h->base_page_bytes = store_int(st, 8);
	h->pmd_bytes = store_int(st, 9);
	h->runs = store_int(st, 10);
	h->kernels = store_int(st, 11);
	h->first_posted = store_text(st, 12);
	h->last_posted = store_text(st, 13);
	h->last_kernel = store_text(st, 14);
}

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
	sqlite3 *db = store_reader(s);
	int ret;

	memset(out, 0, sizeof(*out));
	ret = read_rows(db, store_query(db, sql, ""), (void **)&out->v, &out->n,
			sizeof(*out->v), host_row, e);
	store_reader_back(s, db);
	if (ret)
		store_hosts_free(out);
	return ret;
}

void store_hosts_free(struct store_hosts *h)
{
	size_t i;

	for (i = 0; i < h->n; i++) {
		free(h->v[i].label);
		free(h->v[i].cpu);
		free(h->v[i].arch);
		free(h->v[i].hypervisor);
		free(h->v[i].epoch);
		free(h->v[i].first_posted);
		free(h->v[i].last_posted);
		free(h->v[i].last_kernel);
	}
	free(h->v);
	memset(h, 0, sizeof(*h));
}

/* --- charts -------------------------------------------------------------- */

static void chart_row(sqlite3_stmt *st, void *row)
{
	struct store_chart *c = row;

	c->host = store_text(st, 0);
	c->bench = store_text(st, 1);
	c->metric = store_text(st, 2);
	c->unit = store_text(st, 3);
	c->params = store_text(st, 4);
	c->sizes = store_int(st, 5);
	c->points = store_int(st, 6);
	c->last_posted = store_text(st, 7);
}

int store_charts(struct store *s, const char *host, struct store_charts *out,
		 struct err *e)
{
	static const char sql[] =
		"SELECT c.label, c.bench, c.metric, c.unit, c.params, c.sizes,"
		" c.points, r.posted_at"
		" FROM (SELECT h.label, s.bench, s.metric, s.unit, s.params,"
		" count(DISTINCT s.folio_bytes) AS sizes,"
		" max(s.figures) AS points, max(s.last_run) AS last"
		" FROM host h CROSS JOIN epoch e ON e.host = h.id"
		" CROSS JOIN series s ON s.epoch = e.id"
		" WHERE ?1 IS NULL OR h.label = ?1"
		" GROUP BY h.label, s.bench, s.metric, s.params, s.unit) c"
		" JOIN run r ON r.id = c.last"
		" ORDER BY c.label, c.bench, c.metric, c.params, c.unit";
	sqlite3 *db = store_reader(s);
	int ret;

	memset(out, 0, sizeof(*out));
	ret = read_rows(db, store_query(db, sql, "t", host), (void **)&out->v,
			&out->n, sizeof(*out->v), chart_row, e);
	store_reader_back(s, db);
	if (ret)
		store_charts_free(out);
	return ret;
}

void store_charts_free(struct store_charts *c)
{
	size_t i;

	for (i = 0; i < c->n; i++) {
		free(c->v[i].host);
		free(c->v[i].bench);
		free(c->v[i].metric);
		free(c->v[i].unit);
		free(c->v[i].params);
		free(c->v[i].last_posted);
	}
	free(c->v);
	memset(c, 0, sizeof(*c));
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
