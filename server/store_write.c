/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows in: what the writer's thread does for a run and for a file. */
#include <stdlib.h>
#include <string.h>

#include "store_pack.h"
#include "store_priv.h"

/* Prepared once, on the writer's connection. */
#define STATEMENTS(S) \
S(BEGIN,	"BEGIN IMMEDIATE") \
S(COMMIT,	"COMMIT") \
S(ROLLBACK,	"ROLLBACK") \
S(SAVEPOINT,	"SAVEPOINT job") \
S(UNDO,		"ROLLBACK TO job") \
S(RELEASE,	"RELEASE job") \
S(RUN_FIND,	"SELECT body_sha256 FROM run WHERE uuid = ?1") \
S(RUN_ADD,	"INSERT INTO run(uuid, body_sha256, epoch, kernel, boot," \
		" started_at, posted_at, invalid)" \
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)") \
S(BODY_ADD,	"INSERT INTO body(run, len, deflated) VALUES(?1, ?2, ?3)") \
S(HOST_FIND,	"SELECT id FROM host WHERE label = ?1") \
S(HOST_ADD,	"INSERT INTO host(label) VALUES(?1)") \
S(HOST_RAISE,	"UPDATE host SET generation = generation + 1 WHERE id = ?1") \
S(HOSTS_RAISE,	"UPDATE host SET generation = generation + 1") \
S(EPOCH_FIND,	"SELECT id FROM epoch WHERE host = ?1 AND sha256 = ?2") \
S(EPOCH_ADD,	"INSERT INTO epoch(host, sha256, facts, first_posted)" \
		" VALUES(?1, ?2, ?3, ?4)") \
S(KERNEL_FIND,	"SELECT id FROM kernel WHERE key = ?1") \
S(KERNEL_ADD,	"INSERT INTO kernel(key, release, version, commit_sha," \
		" commit_proven, tree, tree_hash, build_id, config_sha256," \
		" compiler, first_posted)" \
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)") \
/* A commit is learned late, or from a build that proves it. */ \
S(KERNEL_LEARN,	"UPDATE kernel SET commit_sha = ?2, commit_proven = ?3," \
		" tree = coalesce(?4, tree) WHERE id = ?1 AND ?2 IS NOT NULL" \
		" AND (commit_sha IS NULL OR commit_proven < ?3)") \
S(SERIES_FIND,	"SELECT id, unit, better, quantum, ops, reduce FROM series" \
		" WHERE epoch = ?1 AND bench = ?2 AND metric = ?3" \
		" AND params = ?4 AND folio_bytes = ?5 AND rev = ?6" \
		" AND exact = ?7") \
/* Any size of it: a new size must not contradict the others either. */ \
S(SERIES_KIN,	"SELECT id, unit, better, quantum, ops, reduce FROM series" \
		" WHERE epoch = ?1 AND bench = ?2 AND metric = ?3" \
		" AND params = ?4 AND rev = ?5 LIMIT 1") \
S(SERIES_ADD,	"INSERT INTO series(epoch, bench, metric, params," \
		" folio_bytes, rev, exact, unit, better, quantum, ops," \
		" reduce, same_as, last_run)" \
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12," \
		" ?13, ?14)") \
S(SERIES_MARK,	"UPDATE series SET last_run = ?2, figures = figures + ?3" \
		" WHERE id = ?1") \
S(FIGURE_FIND,	"SELECT 1 FROM result WHERE series = ?1 AND kernel = ?2" \
		" AND status = 0 LIMIT 1") \
S(RESULT_ADD,	"INSERT INTO result(series, kernel, run, status, n, value," \
		" spread, first, launches, reason)" \
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)") \
S(FILE_FIND,	"SELECT 1 FROM file WHERE sha256 = ?1") \
S(FILE_ADD,	"INSERT INTO file(sha256, len, deflated) VALUES(?1, ?2, ?3)")

#define S_NAME(name, sql) name,
#define S_TEXT(name, sql) sql,
enum statement { STATEMENTS(S_NAME) NSTATEMENTS };
static const char *const text[] = { STATEMENTS(S_TEXT) };

int store_write_open(struct store *s, struct err *e)
{
	size_t i;

	s->stmt = calloc(NSTATEMENTS, sizeof(sqlite3_stmt *));
	if (!s->stmt)
		return err_set(e, "out of memory");
	for (i = 0; i < NSTATEMENTS; i++)
		if (sqlite3_prepare_v3(s->db, text[i], -1,
				       SQLITE_PREPARE_PERSISTENT, &s->stmt[i],
				       NULL) != SQLITE_OK)
			return store_failed(s->db, e);
	return 0;
}

void store_write_close(struct store *s)
{
	size_t i;

	for (i = 0; s->stmt && i < NSTATEMENTS; i++)
		sqlite3_finalize(s->stmt[i]);
	free(s->stmt);
	s->stmt = NULL;
}

/* Step a statement that gives no row. SQLite's code, SQLITE_OK for done. */
static int run(struct store *s, enum statement which)
{
	sqlite3_step(s->stmt[which]);
	return sqlite3_reset(s->stmt[which]);
}

int store_begin(struct store *s) { return run(s, BEGIN); }
int store_commit(struct store *s) { return run(s, COMMIT); }
int store_savepoint(struct store *s) { return run(s, SAVEPOINT); }
void store_rollback(struct store *s) { run(s, ROLLBACK); }

int store_release(struct store *s, bool keep)
{
	int rc = keep ? SQLITE_OK : run(s, UNDO);

	return rc == SQLITE_OK ? run(s, RELEASE) : rc;
}

/* --- inside a job -------------------------------------------------------- */

/* What is being kept, and the ids found so far. */
struct keep {
	struct store *s;
	struct job *j;
	const struct pack *p;
	int64_t host, epoch, kernel, run;
	bool new_kernel;
};

/* An error from SQLite: lost where the whole transaction may be gone. */
static enum store_answer broke(struct store *s, struct job *j)
{
	int rc = sqlite3_errcode(s->db) & 0xff;

	store_failed(s->db, j->e);
	j->lost = rc == SQLITE_FULL || rc == SQLITE_IOERR ||
		  rc == SQLITE_NOMEM || rc == SQLITE_BUSY;
	return j->lost ? STORE_BUSY : STORE_ERROR;
}

/* Reset after use; nothing bound outlives the job. */
static void done(sqlite3_stmt *st)
{
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
}

/* An insert; @id, if wanted: its row's. */
static int add(struct store *s, enum statement which, int64_t *id)
{
	int rc = run(s, which);

	sqlite3_clear_bindings(s->stmt[which]);
	if (id)
		*id = sqlite3_last_insert_rowid(s->db);
	return rc == SQLITE_OK ? 0 : -1;
}

/* The first column of the first row: 1; no row: 0; -1. */
static int find(struct store *s, enum statement which, int64_t *id)
{
	sqlite3_stmt *st = s->stmt[which];
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		*id = sqlite3_column_int64(st, 0);
	done(st);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -1;
}

static int keep_host(struct keep *k)
{
	sqlite3_stmt **st = k->s->stmt;
	const char *label = k->p->r->host.label;
	int found;

	store_bind(st[HOST_FIND], "t", label);
	found = find(k->s, HOST_FIND, &k->host);
	if (!found) {
		store_bind(st[HOST_ADD], "t", label);
		found = add(k->s, HOST_ADD, &k->host);
	}
	return found < 0 ? -1 : 0;
}

static int keep_epoch(struct keep *k)
{
	sqlite3_stmt **st = k->s->stmt;
	const struct pack *p = k->p;
	int found;

	store_bind(st[EPOCH_FIND], "it", k->host, p->epoch_sha256);
	found = find(k->s, EPOCH_FIND, &k->epoch);
	if (!found) {
		store_bind(st[EPOCH_ADD], "ittt", k->host, p->epoch_sha256,
			   p->facts.s, p->posted_at);
		found = add(k->s, EPOCH_ADD, &k->epoch);
	}
	return found < 0 ? -1 : 0;
}

static int keep_kernel(struct keep *k)
{
	const struct record_kernel *f = &k->p->r->kernel;
	sqlite3_stmt **st = k->s->stmt;
	const struct pack *p = k->p;
	int found;

	store_bind(st[KERNEL_FIND], "t", p->kernel_key);
	found = find(k->s, KERNEL_FIND, &k->kernel);
	if (!found) {
		k->new_kernel = true;
		store_bind(st[KERNEL_ADD], "ttttitttttt", p->kernel_key,
			   f->release, f->version, f->commit,
			   p->commit_proven, f->tree, f->tree_hash,
			   f->build_id, f->config_sha256, f->compiler,
			   p->posted_at);
		return add(k->s, KERNEL_ADD, &k->kernel);
	}
	if (found < 0)
		return -1;
	store_bind(st[KERNEL_LEARN], "itit", k->kernel, f->commit,
		   p->commit_proven, f->tree);
	if (add(k->s, KERNEL_LEARN, NULL))
		return -1;
	/* Other hosts' pages name this kernel too. */
	k->j->all_hosts = sqlite3_changes(k->s->db) > 0;
	return 0;
}

static int keep_run(struct keep *k)
{
	sqlite3_stmt **st = k->s->stmt;
	const struct pack *p = k->p;
	const struct record *r = p->r;

	/* Runs that do not know their boot pool as one: never too sure. */
	store_bind(st[RUN_ADD], "tbiitttt", r->id, (const void *)p->body_sha256,
		   sizeof(p->body_sha256), k->epoch, k->kernel,
		   r->boot.id ? r->boot.id : "", r->started_at, p->posted_at,
		   r->invalid.n ? r->invalid.v[0] : NULL);
	if (add(k->s, RUN_ADD, &k->run))
		return -1;
	store_bind(st[BODY_ADD], "iib", k->run, (int64_t)p->len,
		   (const void *)p->deflated, p->deflated_len);
	return add(k->s, BODY_ADD, NULL);
}

static const char *column(sqlite3_stmt *st, int col)
{
	const unsigned char *value = sqlite3_column_text(st, col);

	return value ? (const char *)value : "";
}

static const char *const better_text[] = { "lower", "higher" };
static const char *const reduce_text[] = { "median", "min" };

/* Both sides of a fact: texts, or numbers where the texts are NULL. */
struct claim { const char *field, *is, *was; int64_t n_is, n_was; };

static enum store_answer contradicts(struct keep *k, const struct pack_row *row,
				     const struct claim *c)
{
	if (c->is)
		err_set(k->j->e, "/benches/%zu/metrics/%zu/%s: \"%s\" "
			"contradicts the series' \"%s\"", row->bench_index,
			row->metric_index, c->field, c->is, c->was);
	else
		err_set(k->j->e, "/benches/%zu/metrics/%zu/%s: %lld "
			"contradicts the series' %lld", row->bench_index,
			row->metric_index, c->field, (long long)c->n_is,
			(long long)c->n_was);
	return STORE_CONFLICT;
}

/* Does the row under @st (SERIES_FIND's columns) say what the document says? */
static enum store_answer agree(struct keep *k, const struct pack_row *row,
			       sqlite3_stmt *st)
{
	const struct record_metric *m = row->metric;
	const struct claim claim[] = {
		{ "unit", m->unit, column(st, 1), 0, 0 },
		{ "better", better_text[m->better], column(st, 2), 0, 0 },
		{ "quantum", NULL, NULL, m->quantum,
		  sqlite3_column_int64(st, 3) },
		{ "ops", NULL, NULL, m->ops, sqlite3_column_int64(st, 4) },
		{ "reduce", reduce_text[m->reduce], column(st, 5), 0, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(claim) / sizeof(claim[0]); i++)
		if (claim[i].is ? strcmp(claim[i].is, claim[i].was) != 0 :
		    claim[i].n_is != claim[i].n_was)
			return contradicts(k, row, &claim[i]);
	return STORE_SAME;
}

/* As find(), and a row found must agree: STORE_SAME found, STORE_MISSING. */
static enum store_answer find_series(struct keep *k, const struct pack_row *row,
				     enum statement which, int64_t *series)
{
	sqlite3_stmt *st = k->s->stmt[which];
	enum store_answer a = STORE_MISSING;
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW) {
		*series = sqlite3_column_int64(st, 0);
		a = agree(k, row, st);
	} else if (rc != SQLITE_DONE) {
		a = broke(k->s, k->j);
	}
	done(st);
	return a;
}

static enum store_answer keep_series(struct keep *k, const struct pack_row *row,
				     int64_t *series)
{
	const struct record_metric *m = row->metric;
	const struct record_bench *b = row->bench;
	sqlite3_stmt **st = k->s->stmt;
	enum store_answer a;

	store_bind(st[SERIES_FIND], "itttiit", k->epoch, b->name, m->name,
		   row->params, row->folio_bytes, b->rev, row->exact);
	a = find_series(k, row, SERIES_FIND, series);
	if (a != STORE_MISSING)
		return a;
	store_bind(st[SERIES_KIN], "ittti", k->epoch, b->name, m->name,
		   row->params, b->rev);
	a = find_series(k, row, SERIES_KIN, series);
	if (a != STORE_MISSING && a != STORE_SAME)
		return a;
	store_bind(st[SERIES_ADD], "itttiitttiitti", k->epoch, b->name, m->name,
		   row->params, row->folio_bytes, b->rev, row->exact, m->unit,
		   better_text[m->better], m->quantum, m->ops,
		   reduce_text[m->reduce], b->same_as, k->run);
	return add(k->s, SERIES_ADD, series) ? broke(k->s, k->j) : STORE_SAME;
}

static enum store_answer keep_row(struct keep *k, const struct pack_row *row)
{
	sqlite3_stmt **st = k->s->stmt;
	int64_t series = 0, seen = 0, figure = row->status == RECORD_OK;
	enum store_answer a = keep_series(k, row, &series);

	if (a != STORE_SAME)
		return a;
	if (figure && !k->new_kernel) {
		store_bind(st[FIGURE_FIND], "ii", series, k->kernel);
		if (find(k->s, FIGURE_FIND, &seen) < 0)
			return broke(k->s, k->j);
		figure = !seen;
	}
	store_bind(st[SERIES_MARK], "iii", series, k->run, figure);
	if (add(k->s, SERIES_MARK, NULL))
		return broke(k->s, k->j);
	store_bind(st[RESULT_ADD], "iiiiiiiibt", series, k->kernel, k->run,
		   (int64_t)row->status, row->n, row->value, row->spread,
		   row->first, row->launches_len ?
		   (const void *)(k->p->launches.s + row->launches) : NULL,
		   row->launches_len, row->reason);
	return add(k->s, RESULT_ADD, NULL) ? broke(k->s, k->j) : STORE_NEW;
}

/* STORE_MISSING: this id is new here. */
static enum store_answer seen_before(struct keep *k)
{
	sqlite3_stmt *st = k->s->stmt[RUN_FIND];
	enum store_answer a = STORE_MISSING;
	int rc;

	store_bind(st, "t", k->p->r->id);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite3_column_bytes(st, 0) == 32 &&
	    !memcmp(sqlite3_column_blob(st, 0), k->p->body_sha256, 32)) {
		a = STORE_SAME;
	} else if (rc == SQLITE_ROW) {
		err_set(k->j->e, "/id: \"%s\" is here already with another "
			"body", k->p->r->id);
		a = STORE_CONFLICT;
	} else if (rc != SQLITE_DONE) {
		a = broke(k->s, k->j);
	}
	done(st);
	return a;
}

static enum store_answer keep_all(struct keep *k)
{
	const char *host = k->p->r->host.label;
	sqlite3_stmt **st = k->s->stmt;
	enum store_answer a;
	size_t i;

	if (keep_host(k) || keep_epoch(k) || keep_kernel(k) || keep_run(k))
		return broke(k->s, k->j);
	for (i = 0; i < k->p->nrows; i++) {
		a = keep_row(k, &k->p->rows[i]);
		if (a != STORE_NEW)
			return a;
	}
	store_bind(st[HOST_RAISE], "i", k->host);
	if (add(k->s, HOST_RAISE, NULL) ||
	    (k->j->all_hosts && add(k->s, HOSTS_RAISE, NULL)))
		return broke(k->s, k->j);
	k->j->host = host;
	return STORE_NEW;
}

struct run_job {
	struct pack pack;
	bool want_config;
};

static enum store_answer apply_run(struct store *s, struct job *j)
{
	struct run_job *rj = j->arg;
	struct keep k = { .s = s, .j = j, .p = &rj->pack };
	const char *config = k.p->r->kernel.config_sha256;
	enum store_answer a = seen_before(&k);
	int64_t one;
	int found;

	if (a == STORE_MISSING)
		a = keep_all(&k);
	if (!config || (a != STORE_NEW && a != STORE_SAME))
		return a;
	store_bind(s->stmt[FILE_FIND], "t", config);
	found = find(s, FILE_FIND, &one);
	rj->want_config = !found;
	return found < 0 ? broke(s, j) : a;
}

enum store_answer store_put_run(struct store *s, const struct record *r,
				const void *body, size_t len,
				bool *want_config, struct err *e)
{
	struct run_job rj = { .want_config = false };
	struct job j = { .apply = apply_run, .arg = &rj, .e = e };
	enum store_answer a = STORE_BUSY;
	int packed;

	while (sem_wait(&s->packers))
		;	/* EINTR */
	packed = pack_run(&rj.pack, r, body, len);
	sem_post(&s->packers);
	if (packed)
		err_set(e, "out of memory");
	else
		a = store_submit(s, &j);
	*want_config = rj.want_config;
	pack_free(&rj.pack);
	return a;
}

struct file_job {
	const char *sha256;
	void *deflated;
	size_t len, deflated_len;
};

static enum store_answer apply_file(struct store *s, struct job *j)
{
	const struct file_job *f = j->arg;
	int64_t one;
	int found;

	store_bind(s->stmt[FILE_FIND], "t", f->sha256);
	found = find(s, FILE_FIND, &one);
	if (found > 0)
		return STORE_SAME;
	store_bind(s->stmt[FILE_ADD], "tib", f->sha256, (int64_t)f->len,
		   (const void *)f->deflated, f->deflated_len);
	if (found < 0 || add(s, FILE_ADD, NULL))
		return broke(s, j);
	return STORE_NEW;
}

enum store_answer store_put_file(struct store *s, const char *sha256,
				 const void *body, size_t len, struct err *e)
{
	struct file_job f = { .sha256 = sha256, .len = len };
	struct job j = { .apply = apply_file, .arg = &f, .e = e };
	enum store_answer a = STORE_BUSY;
	unsigned char sum[32];
	char hex[PACK_HEX];

	pack_sha256(body, len, sum);
	pack_hex(sum, hex);
	if (strcmp(hex, sha256) != 0) {
		err_set(e, "sha256: the body's is %s", hex);
		return STORE_CONFLICT;
	}
	while (sem_wait(&s->packers))
		;	/* EINTR */
	f.deflated = pack_deflate(body, len, &f.deflated_len);
	sem_post(&s->packers);
	if (f.deflated)
		a = store_submit(s, &j);
	else
		err_set(e, "out of memory");
	free(f.deflated);
	return a;
}
