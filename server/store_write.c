/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows in: what the writer does for one run or one file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store_priv.h"

/* X_ADD follows X_FIND and takes the same parameters, and more. */
#define STATEMENTS(S) \
/* 1: with this body; 2: with another. */ \
S(RUN_FIND,	"SELECT 1 + (body_sha256 <> ?2) FROM run WHERE uuid = ?1") \
S(RUN_ADD,	"INSERT INTO run(uuid, body_sha256, epoch, kernel, boot," \
		" started_at, posted_at, invalid)" \
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)") \
S(BODY_ADD,	"INSERT INTO body(run, len, deflated) VALUES(?1, ?2, ?3)") \
S(HOST_RAISE,	"INSERT INTO host(label, generation) VALUES(?1, 1)" \
		" ON CONFLICT(label) DO UPDATE" \
		" SET generation = generation + 1 RETURNING id") \
S(HOSTS_RAISE,	"UPDATE host SET generation = generation + 1") \
S(EPOCH_FIND,	"SELECT id FROM epoch WHERE host = ?1 AND sha256 = ?2") \
S(EPOCH_ADD,	"INSERT INTO epoch(host, sha256, facts, first_posted)" \
		" VALUES(?1, ?2, ?3, ?4)") \
S(BOOT_FIND,	"SELECT id FROM boot WHERE epoch = ?1 AND text = ?2") \
S(BOOT_ADD,	"INSERT INTO boot(epoch, text) VALUES(?1, ?2)") \
S(KERNEL_FIND,	"SELECT id FROM kernel WHERE key = ?1") \
S(KERNEL_ADD,	"INSERT INTO kernel(id, pool, key, tree_hash," \
		" config_sha256, compiler, release, version, commit_sha," \
		" commit_proven, tree, build_id, first_posted, changed," \
		" patches)" \
		" SELECT n, coalesce((SELECT pool FROM kernel" \
		" WHERE tree_hash = ?2 AND config_sha256 = ?3" \
		" AND compiler = ?4), n)," \
		" ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12," \
		" ?13 FROM (SELECT coalesce(max(id), 0) + 1 AS n FROM kernel)") \
S(KERNEL_POOL,	"SELECT pool FROM kernel WHERE id = ?1") \
/* A commit is learned late, or from a build that proves it. */ \
S(KERNEL_LEARN,	"UPDATE kernel SET commit_sha = ?2, commit_proven = ?3," \
		" tree = coalesce(?4, tree) WHERE id = ?1 AND ?2 IS NOT NULL" \
		" AND (commit_sha IS NULL OR commit_proven < ?3)") \
S(METRIC_FIND,	"SELECT id FROM metric WHERE epoch = ?1 AND bench = ?2" \
		" AND name = ?3 AND params = ?4 AND rev = ?5") \
S(METRIC_ADD,	"INSERT INTO metric(epoch, bench, name, params, rev, unit," \
		" better, quantum, ops, reduce, same_as)" \
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)") \
S(METRIC_AGREES, "SELECT id FROM metric WHERE id = ?1 AND unit = ?2" \
		" AND better = ?3 AND quantum = ?4 AND ops = ?5" \
		" AND reduce = ?6") \
/* Before the run's rows: is this kernel's figure its first? */ \
S(METRIC_RAISE,	"UPDATE metric SET last_run = ?2, last_started =" \
		" max(last_started, coalesce(?6, '')), valid = valid +" \
		" (?4 AND NOT EXISTS (SELECT 1 FROM result" \
		" WHERE metric = ?1 AND pool = ?3 AND status = 0))," \
		" measured = measured + (?5 AND NOT EXISTS (SELECT 1" \
		" FROM result WHERE metric = ?1 AND pool = ?3 AND n > 0))" \
		" WHERE id = ?1") \
S(SERIES_ADD,	"INSERT INTO series(metric, folio_bytes, exact)" \
		" VALUES(?1, ?2, ?3)") \
S(RESULT_ADD,	"INSERT INTO result(metric, series, pool, boot, run, status," \
		" n, value, spread, first, launches, reason) SELECT ?1, id," \
		" ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13 FROM series" \
		" WHERE metric = ?1 AND folio_bytes = ?2 AND exact = ?3") \
S(FILE_FIND,	"SELECT 1 FROM file WHERE sha256 = ?1") \
S(FILE_ADD,	"INSERT INTO file(sha256, len, deflated) VALUES(?1, ?2, ?3)")

#define S_NAME(name, sql) name,
#define S_TEXT(name, sql) sql,
enum statement { STATEMENTS(S_NAME) NSTATEMENTS };
static const char *const text[] = { STATEMENTS(S_TEXT) };
_Static_assert(NSTATEMENTS <= STORE_STATEMENTS, "store_priv.h");

int store_write_open(struct store *s, struct err *e)
{
	for (size_t i = 0; i < NSTATEMENTS; i++)
		if (sqlite3_prepare_v3(s->db, text[i], -1,
				       SQLITE_PREPARE_PERSISTENT, &s->stmt[i],
				       NULL) != SQLITE_OK)
			return store_failed(s->db, e);
	return 0;
}

/* --- inside a job -------------------------------------------------------- */

enum store_answer store_broke(struct store *s, struct job *j)
{
	int rc = sqlite3_errcode(s->db) & 0xff;

	store_failed(s->db, j->e);
	return rc == SQLITE_FULL || rc == SQLITE_IOERR ||
	       rc == SQLITE_NOMEM || rc == SQLITE_BUSY ? STORE_BUSY :
							 STORE_ERROR;
}

static int64_t vsql(struct store *s, enum statement which, const char *format,
		    va_list ap)
{
	sqlite3_stmt *st = s->stmt[which];
	int64_t value = 0;

	store_bind(st, format, ap);
	if (sqlite3_step(st) == SQLITE_ROW)
		value = sqlite3_column_int64(st, 0);
	return sqlite3_reset(st) == SQLITE_OK ? value : -1;
}

/* The id that the statement's row holds; 0: no row; -1. */
static int64_t sql(struct store *s, enum statement which, const char *format,
		   ...)
{
	va_list ap;
	int64_t id;

	va_start(ap, format);
	id = vsql(s, which, format, ap);
	va_end(ap);
	return id;
}

/* The same; a row that is not there is added by the statement after it. */
static int64_t keep(struct store *s, enum statement which, const char *format,
		    ...)
{
	va_list ap;
	int64_t id;

	va_start(ap, format);
	id = vsql(s, which, format, ap);
	va_end(ap);
	if (id)
		return id;
	va_start(ap, format);
	id = vsql(s, which + 1, format, ap);
	va_end(ap);
	return id < 0 ? -1 : sqlite3_last_insert_rowid(s->db);
}

/* --- a run --------------------------------------------------------------- */

struct run_job {
	struct job job;
	struct pack pack;
	int64_t epoch, kernel, pool, boot, run;		/* ids found */
	bool want_config;
};

static int keep_kernel(struct store *s, struct run_job *k)
{
	const struct record_kernel *f = &k->pack.r->kernel;
	const struct pack *p = &k->pack;
	struct buf patches = BUF_INIT;

	record_patches(f, &patches);
	/* A dirty tree is not its hash. */
	k->kernel = keep(s, KERNEL_FIND, "tttttttitttit", p->kernel_key,
			 f->dirty == 1 ? NULL : f->tree_hash, f->config_sha256,
			 f->compiler, f->release, f->version, f->commit,
			 p->commit_proven, f->tree, f->build_id, p->posted_at,
			 (int64_t)(f->dirty == 1 || f->patches.n), patches.s);
	buf_free(&patches);
	if (k->kernel < 0 ||
	    (k->pool = sql(s, KERNEL_POOL, "i", k->kernel)) < 0 ||
	    sql(s, KERNEL_LEARN, "itit", k->kernel, f->commit,
		p->commit_proven, f->tree) < 0)
		return -1;
	/* Other hosts' pages name this kernel too. */
	k->job.all_hosts = sqlite3_changes(s->db) > 0;
	return k->job.all_hosts && sql(s, HOSTS_RAISE, "") < 0 ? -1 : 0;
}

/* Its one row, and those that this one names. */
static int keep_run(struct store *s, struct run_job *k)
{
	const struct pack *p = &k->pack;
	const struct record *r = p->r;
	const char *boot = r->boot.id ? r->boot.id : "";
	int64_t host = sql(s, HOST_RAISE, "t", r->host.label);

	k->job.host = r->host.label;
	if (host < 0 ||
	    (k->epoch = keep(s, EPOCH_FIND, "ittt", host, p->epoch_sha256,
			     p->facts.s, p->posted_at)) < 0 ||
	    (k->boot = keep(s, BOOT_FIND, "it", k->epoch, boot)) < 0 ||
	    keep_kernel(s, k) ||
	    sql(s, RUN_ADD, "ttiiittt", r->id, p->sha256, k->epoch, k->kernel,
		k->boot, r->started_at, p->posted_at,
		r->invalid.n ? r->invalid.v[0] : NULL) < 0)
		return -1;
	k->run = sqlite3_last_insert_rowid(s->db);
	return sql(s, BODY_ADD, "iib", k->run, (int64_t)p->len, p->deflated,
		   p->deflated_len) < 0 ? -1 : 0;
}

static const char *const better[] = { "lower", "higher" };
static const char *const reduce[] = { "median", "min" };

/* The first fact in which the document, which METRIC_AGREES denied, differs. */
#define METRIC_DIFFERS \
	"WITH m AS (SELECT * FROM metric WHERE id = ?1)," \
	" fact(name, says, was) AS (" \
	"SELECT 'unit', json_quote(?2), json_quote(unit) FROM m UNION ALL " \
	"SELECT 'better', json_quote(?3), json_quote(better) FROM m UNION ALL" \
	" SELECT 'quantum', ?4, quantum FROM m UNION ALL" \
	" SELECT 'ops', ?5, ops FROM m UNION ALL " \
	"SELECT 'reduce', json_quote(?6), json_quote(reduce) FROM m)" \
	"SELECT name || ': ' || says || ' contradicts the series'' ' || was" \
	" FROM fact WHERE says <> was"
static enum store_answer agree(struct store *s, struct run_job *k,
			       const struct pack_metric *m, int64_t id)
{
	const struct record_metric *f = m->metric;
	sqlite3_stmt *st;
	int64_t found = sql(s, METRIC_AGREES, "ittiit", id, f->unit,
			    better[f->better], f->quantum, f->ops,
			    reduce[f->reduce]);

	if (found)
		return found > 0 ? STORE_NEW : store_broke(s, &k->job);
	st = store_query(s->db, METRIC_DIFFERS, "ittiit", id, f->unit,
			 better[f->better], f->quantum, f->ops,
			 reduce[f->reduce]);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		err_set(k->job.e, "/benches/%zu/metrics/%zu/%s",
			(size_t)(m->bench - k->pack.r->benches),
			(size_t)(f - m->bench->metrics),
			(const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return STORE_CONFLICT;
}

static int keep_row(struct store *s, const struct run_job *k, int64_t metric,
		    const char *exact, const struct pack_row *row)
{
	/* Its series may appear with it. */
	for (int i = 0; i < 2; i++) {
		if (sql(s, RESULT_ADD, "iitiiiiiiiibt", metric,
			row->folio_bytes, exact, k->pool, k->boot, k->run,
			(int64_t)row->status, row->n, row->value, row->spread,
			row->first, k->pack.launches.s + row->launches,
			row->launches_len, row->reason) < 0)
			return -1;
		if (sqlite3_changes(s->db))
			return 0;
		if (sql(s, SERIES_ADD, "iit", metric, row->folio_bytes,
			exact) < 0)
			return -1;
	}
	return -1;
}

static enum store_answer keep_metric(struct store *s, struct run_job *k,
				     const struct pack_metric *m,
				     const struct pack_row *row)
{
	const struct record_metric *f = m->metric;
	enum store_answer a;
	int64_t id;

	if (!m->rows)
		return STORE_NEW;
	id = keep(s, METRIC_FIND, "itttittiitt", k->epoch, m->bench->name,
		  f->name, m->params.s, m->bench->rev, f->unit,
		  better[f->better], f->quantum, f->ops, reduce[f->reduce],
		  m->bench->same_as);
	if (id < 0)
		return store_broke(s, &k->job);
	a = agree(s, k, m, id);
	if (a != STORE_NEW)
		return a;
	if (sql(s, METRIC_RAISE, "iiiiit", id, k->run, k->pool,
		(int64_t)m->valid, (int64_t)m->measured,
		k->pack.r->started_at) < 0)
		return store_broke(s, &k->job);
	for (size_t i = 0; i < m->rows; i++)
		if (keep_row(s, k, id, m->exact, &row[i]))
			return store_broke(s, &k->job);
	return STORE_NEW;
}

static enum store_answer keep_all(struct store *s, struct run_job *k)
{
	const struct pack_row *row = k->pack.rows;
	const struct pack *p = &k->pack;
	enum store_answer a = STORE_NEW;
	int64_t found = sql(s, RUN_FIND, "tt", p->r->id, p->sha256);

	if (found == 1)
		return STORE_SAME;
	if (found > 1) {
		err_set(k->job.e, "/id: \"%s\" is here already with another "
			"body", p->r->id);
		return STORE_CONFLICT;
	}
	if (found < 0 || keep_run(s, k))
		return store_broke(s, &k->job);
	for (size_t i = 0; a == STORE_NEW && i < p->nmetrics; i++) {
		a = keep_metric(s, k, &p->metrics[i], row);
		row += p->metrics[i].rows;
	}
	return a;
}

static enum store_answer apply_run(struct store *s, struct job *j)
{
	struct run_job *k = (struct run_job *)j;	/* its first member */
	const char *config = k->pack.r->kernel.config_sha256;
	enum store_answer a = keep_all(s, k);
	int64_t found;

	if (!config || (a != STORE_NEW && a != STORE_SAME))
		return a;
	found = sql(s, FILE_FIND, "t", config);
	k->want_config = !found;
	return found < 0 ? store_broke(s, j) : a;
}

enum store_answer store_put_run(struct store *s, const struct record *r,
				const void *body, size_t len,
				bool *want_config, struct err *e)
{
	struct run_job k = { .job = { .apply = apply_run, .e = e } };
	enum store_answer a = STORE_BUSY;

	if (pack_run(&k.pack, r, body, len))
		err_set(e, "out of memory");
	else
		a = store_submit(s, &k.job);
	*want_config = k.want_config;
	pack_free(&k.pack);
	return a;
}

/* --- a file -------------------------------------------------------------- */

struct file_job {
	struct job job;
	const char *sha256;
	void *deflated;
	size_t len, deflated_len;
};

static enum store_answer apply_file(struct store *s, struct job *j)
{
	const struct file_job *f = (const struct file_job *)j;
	int64_t found = sql(s, FILE_FIND, "t", f->sha256);

	if (found > 0)
		return STORE_SAME;
	if (found < 0 || sql(s, FILE_ADD, "tib", f->sha256, (int64_t)f->len,
			     f->deflated, f->deflated_len) < 0)
		return store_broke(s, j);
	return STORE_NEW;
}

enum store_answer store_put_file(struct store *s, const char *sha256,
				 const void *body, size_t len, struct err *e)
{
	struct file_job f = { .job = { .apply = apply_file, .e = e },
			      .sha256 = sha256, .len = len };
	enum store_answer a = STORE_BUSY;
	char hex[PACK_HEX];

	if (!body)
		body = "";
	pack_sha256(body, len, hex);
	if (strcmp(hex, sha256) != 0) {
		err_set(e, "sha256: the body's is %s", hex);
		return STORE_CONFLICT;
	}
	f.deflated = pack_deflate(body, len, &f.deflated_len);
	if (f.deflated)
		a = store_submit(s, &f.job);
	else
		err_set(e, "out of memory");
	free(f.deflated);
	return a;
}
