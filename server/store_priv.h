/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_STORE_PRIV_H
#define SERVER_STORE_PRIV_H
/* What the store's own files share; nobody else includes this. */
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>

#include "store.h"

#define STORE_QUEUE	256	/* jobs waiting; more: STORE_BUSY */
#define STORE_BATCH	64	/* jobs in one transaction */
#define STORE_READERS	4
#define STORE_PACKERS	4	/* bodies in packing at once: 256 kB each */

struct job;
/*
 * Does the job's statements inside its savepoint, on the writer's thread. An
 * answer other than STORE_NEW and STORE_SAME takes back what it did.
 */
typedef enum store_answer job_fn(struct store *s, struct job *j);

/* Lives on the stack of the thread that waits for it. */
struct job {
	job_fn *apply;
	void *arg;
	struct err *e;
	enum store_answer answer;
	const char *host;	/* set by apply: raise its generation */
	bool all_hosts;		/* set by apply: and that of every host */
	bool lost;		/* set by apply: the transaction may be gone */
	bool done;
	pthread_cond_t wake;
	struct job *next;
};

struct generation {
	struct generation *next;
	uint64_t value;
	char host[];
};
#define STORE_GENERATIONS 256	/* hash buckets */

struct store {
	int lock_fd;

	/* the writer's alone */
	sqlite3 *db;
	sqlite3_stmt **stmt;	/* by enum in store_write.c */
	int wal_pages;
	pthread_t writer;
	bool writer_runs;

	pthread_mutex_t lock;	/* guards the queue and the counters */
	pthread_cond_t work;
	struct job *head, *tail;
	size_t queued;
	bool closing;
	uint64_t committed, batches, retried;

	pthread_mutex_t reader_lock;
	pthread_cond_t reader_back;
	sqlite3 *reader[STORE_READERS];
	size_t readers;		/* free ones, reader[0..] */

	pthread_mutex_t generation_lock;
	struct generation *generation[STORE_GENERATIONS];
	uint64_t generation_sum;

	sem_t packers;
};

/* --- store.c ------------------------------------------------------------- */

/* Queue, wait, answer. */
enum store_answer store_submit(struct store *s, struct job *j);

/* A read-only connection inside a read transaction: one moment's data. */
sqlite3 *store_reader(struct store *s);
void store_reader_back(struct store *s, sqlite3 *db);

/*
 * Bind by format, from parameter 1: i int64_t (RECORD_NULL: null), t const
 * char * (NULL: null), b const void * and size_t. The data must live until
 * the statement is reset.
 */
void store_bind(sqlite3_stmt *st, const char *format, ...);
/* Prepare on @db and bind; NULL on failure. */
sqlite3_stmt *store_query(sqlite3 *db, const char *sql, const char *format,
			  ...);
/* A copy of a text column; NULL if it is null or memory ran out. */
char *store_text(sqlite3_stmt *st, int col);
int64_t store_int(sqlite3_stmt *st, int col);	/* null: RECORD_NULL */
/* What SQLite says, for the log. Always -1. */
int store_failed(sqlite3 *db, struct err *e);

/* --- store_write.c ------------------------------------------------------- */

/* The writer's statements, prepared once. */
int store_write_open(struct store *s, struct err *e);
void store_write_close(struct store *s);
/* Control of the transaction. SQLite's code. */
int store_begin(struct store *s);
int store_commit(struct store *s);
void store_rollback(struct store *s);
int store_savepoint(struct store *s);
int store_release(struct store *s, bool keep);

/* --- varints: how launch values are packed ------------------------------- */

#define VARINT_MAX 10	/* bytes */

static inline size_t varint_put(unsigned char *to, int64_t value)
{
	uint64_t v = (uint64_t)value;
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (unsigned char)(v | 0x80);
	to[n++] = (unsigned char)v;
	return n;
}

/* Advances @p; 0 where the bytes end early. */
static inline int64_t varint_get(const unsigned char **p,
				 const unsigned char *end)
{
	uint64_t v = 0;
	unsigned shift;

	for (shift = 0; *p < end && shift < 64; shift += 7) {
		unsigned char c = *(*p)++;

		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return (int64_t)v;
	}
	return 0;
}

#endif
