/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The database file's life: open, one writer thread, a pool of readers, close.
 *
 * SQLite 3.40.1 can corrupt a WAL when two connections write or checkpoint at
 * the same instant, so only the writer's connection ever does either. Nothing
 * here opens the file by hand: closing it would drop SQLite's own locks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "migrate.h"
#include "store.h"
#include "store_priv.h"

#define WAL_PAGES	4000	/* checkpoint from here, past no reader */
#define WAL_PAGES_MAX	16000	/* from here wait for the readers */
#define BUSY_MS		5000

/* --- small helpers of all store files ------------------------------------ */

void store_bind(sqlite3_stmt *st, const char *format, va_list ap)
{
	int n = sqlite3_bind_parameter_count(st);

	for (int i = 1; i <= n && *format; format++, i++) {
		if (*format == 'i') {
			int64_t v = va_arg(ap, int64_t);

			if (v == RECORD_NULL)
				sqlite3_bind_null(st, i);
			else
				sqlite3_bind_int64(st, i, v);
		} else if (*format == 't') {
			sqlite3_bind_text(st, i, va_arg(ap, const char *), -1,
					  SQLITE_STATIC);
		} else {
			const void *data = va_arg(ap, const void *);

			sqlite3_bind_blob64(st, i, data, va_arg(ap, size_t),
					    SQLITE_STATIC);
		}
	}
}

sqlite3_stmt *store_query(sqlite3 *db, const char *sql, const char *format, ...)
{
	sqlite3_stmt *st = NULL;
	va_list ap;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return NULL;
	va_start(ap, format);
	store_bind(st, format, ap);
	va_end(ap);
	return st;
}

int store_text(sqlite3_stmt *st, int col, char **to)
{
	const char *text = (const char *)sqlite3_column_text(st, col);

	*to = text ? strdup(text) : NULL;
	return text && !*to ? -1 : 0;
}

int store_failed(sqlite3 *db, struct err *e)
{
	return err_set(e, "database: %s (%d)", sqlite3_errmsg(db),
		       sqlite3_extended_errcode(db));
}

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* --- generations --------------------------------------------------------- */

/* The one that a host counts by. Two hosts of one only share a cache miss. */
static uint64_t *generation_of(struct store *s, const char *host)
{
	uint32_t hash = 2166136261u;

	for (; *host; host++)
		hash = (hash ^ (unsigned char)*host) * 16777619u;
	return &s->generation[hash % STORE_GENERATIONS];
}

/* Caller holds the lock. */
static void raise_generations(struct store *s, const struct job *j)
{
	if (j->host) {
		++*generation_of(s, j->host);
		s->generation_sum++;
	}
	for (size_t i = 0; j->all_hosts && i < STORE_GENERATIONS; i++)
		if (s->generation[i]) {
			s->generation[i]++;
			s->generation_sum++;
		}
}

uint64_t store_generation(struct store *s, const char *host)
{
	uint64_t value;

	pthread_mutex_lock(&s->lock);
	value = host ? *generation_of(s, host) : s->generation_sum;
	pthread_mutex_unlock(&s->lock);
	return value;
}

static int load_generations(struct store *s, struct err *e)
{
	sqlite3_stmt *st = store_query(s->db,
		"SELECT label, generation FROM host"
		" UNION ALL SELECT name, generation FROM tree", "");
	int rc = SQLITE_ERROR;

	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t by = (uint64_t)sqlite3_column_int64(st, 1);

		*generation_of(s, (const char *)sqlite3_column_text(st, 0)) +=
			by;
		s->generation_sum += by;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : store_failed(s->db, e);
}

/* --- the writer ---------------------------------------------------------- */

/* Up to STORE_BATCH jobs; NULL when closing and the queue is empty. */
static struct job *take_batch(struct store *s)
{
	struct job *first, **end = &first;

	pthread_mutex_lock(&s->lock);
	while (!s->head && !s->closing)
		pthread_cond_wait(&s->work, &s->lock);
	first = s->head;
	for (size_t n = 0; n < STORE_BATCH && *end; n++) {
		end = &(*end)->next;
		s->queued--;
	}
	s->head = *end;
	if (!s->head)
		s->tail = &s->head;
	*end = NULL;
	pthread_mutex_unlock(&s->lock);
	return first;
}

/* One job in its savepoint; false loses the whole batch. */
static bool do_job(struct store *s, struct job *j)
{
	bool keep;

	if (run(s->db, "SAVEPOINT job"))
		return false;
	j->answer = j->apply(s, j);
	keep = j->answer == STORE_NEW || j->answer == STORE_SAME;
	return j->answer != STORE_BUSY && !sqlite3_get_autocommit(s->db) &&
	       !run(s->db, keep ? "RELEASE job" :
		    "ROLLBACK TO job; RELEASE job");
}

static bool do_batch(struct store *s, struct job *first)
{
	bool well = !run(s->db, "BEGIN IMMEDIATE");

	for (struct job *j = first; well && j; j = j->next)
		well = do_job(s, j);
	if (well && !run(s->db, "COMMIT"))
		return true;
	/* A full disk may have rolled back already: then this is a no-op. */
	run(s->db, "ROLLBACK");
	return false;
}

static void answer_batch(struct store *s, struct job *first, bool kept)
{
	struct job *next;

	pthread_mutex_lock(&s->lock);
	s->batches++;
	for (struct job *j = first; j; j = next) {
		next = j->next;
		if (!kept) {
			j->answer = STORE_BUSY;
			err_set(j->e, "the store cannot write now (is its "
				"disk full?)");
			s->retried++;
		} else if (j->answer == STORE_NEW) {
			raise_generations(s, j);
			s->committed++;
		}
		j->done = true;
		pthread_cond_signal(&j->wake);
	}
	pthread_mutex_unlock(&s->lock);
}

static int wal_grew(void *arg, sqlite3 *db, const char *schema, int pages)
{
	struct store *s = arg;

	(void)db;
	(void)schema;
	s->wal_pages = pages;
	return SQLITE_OK;
}

/* After the answers, so that no client waits for it. */
static void checkpoint(struct store *s)
{
	if (s->wal_pages < WAL_PAGES)
		return;
	sqlite3_wal_checkpoint_v2(s->db, NULL,
				  s->wal_pages < WAL_PAGES_MAX ?
				  SQLITE_CHECKPOINT_PASSIVE :
				  SQLITE_CHECKPOINT_RESTART, NULL, NULL);
}

static void *writer_main(void *arg)
{
	struct store *s = arg;
	struct job *batch;

	while ((batch = take_batch(s))) {
		answer_batch(s, batch, do_batch(s, batch));
		checkpoint(s);
	}
	return NULL;
}

enum store_answer store_submit(struct store *s, struct job *j)
{
	pthread_cond_init(&j->wake, NULL);
	pthread_mutex_lock(&s->lock);
	if (s->closing || s->queued >= STORE_QUEUE) {
		s->retried++;
		j->answer = STORE_BUSY;
		j->done = true;
		err_set(j->e, "too many posts are waiting (%d)", STORE_QUEUE);
	} else {
		*s->tail = j;
		s->tail = &j->next;
		s->queued++;
		pthread_cond_signal(&s->work);
	}
	while (!j->done)
		pthread_cond_wait(&j->wake, &s->lock);
	pthread_mutex_unlock(&s->lock);
	pthread_cond_destroy(&j->wake);
	return j->answer;
}

/* --- readers ------------------------------------------------------------- */

sqlite3 *store_reader(struct store *s)
{
	sqlite3 *db;

	pthread_mutex_lock(&s->lock);
	while (!s->readers)
		pthread_cond_wait(&s->reader_back, &s->lock);
	db = s->reader[--s->readers];
	pthread_mutex_unlock(&s->lock);
	run(db, "BEGIN");
	return db;
}

void store_reader_back(struct store *s, sqlite3 *db)
{
	run(db, "COMMIT");
	pthread_mutex_lock(&s->lock);
	s->reader[s->readers++] = db;
	pthread_cond_signal(&s->reader_back);
	pthread_mutex_unlock(&s->lock);
}

/* --- open and close ------------------------------------------------------ */

static int take_lock(struct store *s, const char *path, struct err *e)
{
	char name[4096];

	if (snprintf(name, sizeof(name), "%s.lock", path) >= (int)sizeof(name))
		return err_set(e, "the database's path is too long");
	s->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return err_set(e, "%s: %s", name, strerror(errno));
	if (!flock(s->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return err_set(e, "%s: another mmtrendd uses this database",
			       path);
	return err_set(e, "%s: %s", name, strerror(errno));
}

/* What a strange or damaged file must not be able to use. */
static int harden(sqlite3 *db)
{
	static const struct { int what, to; } config[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FKEY, 1 },
		{ SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1 },
	}, limit[] = {
		{ SQLITE_LIMIT_LENGTH, 4 << 20 },
		{ SQLITE_LIMIT_SQL_LENGTH, 64 << 10 },
		{ SQLITE_LIMIT_COLUMN, 64 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(config) / sizeof(config[0]); i++)
		rc |= sqlite3_db_config(db, config[i].what, config[i].to, NULL);
	for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++)
		sqlite3_limit(db, limit[i].what, limit[i].to);
	sqlite3_busy_timeout(db, BUSY_MS);
	return rc;
}

static int connect_db(const char *path, int flags, const char *pragmas,
		      sqlite3 **db, struct err *e)
{
	if (sqlite3_open_v2(path, db, flags | SQLITE_OPEN_NOMUTEX |
			    SQLITE_OPEN_EXRESCODE, NULL) == SQLITE_OK &&
	    harden(*db) == SQLITE_OK && run(*db, pragmas) == SQLITE_OK)
		return 0;
	return err_set(e, "%s: %s", path, *db ? sqlite3_errmsg(*db) :
		       "out of memory");
}

static int open_writer(struct store *s, const char *path, struct err *e)
{
	struct err why;

	if (connect_db(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
		       "PRAGMA cache_size = -16384; PRAGMA synchronous = FULL;"
		       "PRAGMA temp_store = MEMORY", &s->db, e))
		return -1;
	/* Look before the first write: a foreign file stays as it is. */
	if (migrate(s->db, &why))
		return err_set(e, "%s: %s", path, why.msg);
	if (run(s->db, "PRAGMA journal_mode = WAL;"
		"PRAGMA journal_size_limit = 67108864"))
		return err_set(e, "%s: %s", path, sqlite3_errmsg(s->db));
	sqlite3_wal_hook(s->db, wal_grew, s);	/* ends auto-checkpoints */
	if (store_write_open(s, e) || load_generations(s, e))
		return -1;
	if (pthread_create(&s->writer, NULL, writer_main, s))
		return err_set(e, "no thread for the writer");
	s->writer_runs = true;
	return 0;
}

struct store *store_open(const char *path, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(e, "out of memory");
		return NULL;
	}
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);	/* a lock a malloc */
	s->lock_fd = -1;
	s->tail = &s->head;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->reader_back, NULL);
	if (take_lock(s, path, e) || open_writer(s, path, e))
		goto fail;
	while (s->readers < STORE_READERS)	/* a half open one too */
		if (connect_db(path, SQLITE_OPEN_READONLY,
			       "PRAGMA cache_size = -1024;"
			       "PRAGMA wal_autocheckpoint = 0;"
			       "PRAGMA temp_store = MEMORY",
			       &s->reader[s->readers++], e))
			goto fail;
	return s;
fail:
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->writer_runs) {
		pthread_mutex_lock(&s->lock);
		s->closing = true;
		pthread_cond_signal(&s->work);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->writer, NULL);
	}
	while (s->readers)
		sqlite3_close(s->reader[--s->readers]);
	for (size_t i = 0; i < STORE_STATEMENTS; i++)
		sqlite3_finalize(s->stmt[i]);
	if (s->writer_runs)
		sqlite3_wal_checkpoint_v2(s->db, NULL,
					  SQLITE_CHECKPOINT_TRUNCATE, NULL,
					  NULL);
	sqlite3_close(s->db);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_cond_destroy(&s->reader_back);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
