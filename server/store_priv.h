/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_STORE_PRIV_H
#define SERVER_STORE_PRIV_H
/* What the store's own files share; nobody else includes this. */
#include <pthread.h>
#include <sqlite3.h>

#include "store.h"

#define STORE_QUEUE	256	/* jobs waiting; more: STORE_BUSY */
#define STORE_BATCH	64	/* jobs in one transaction */
#define STORE_READERS	4
#define STORE_STATEMENTS 24	/* room for those of store_write.c */
#define STORE_GENERATIONS 1024	/* hosts share one by hash */

/* Lives on the stack of the thread that waits for it. */
struct job {
	/*
	 * Does the job's statements inside its savepoint, on the writer's
	 * thread. An answer other than STORE_NEW and STORE_SAME takes back
	 * what it did; STORE_BUSY does so for the whole batch.
	 */
	enum store_answer (*apply)(struct store *s, struct job *j);
	struct err *e;
	enum store_answer answer;
	const char *host;	/* set by apply: raise its generation */
	bool all_hosts;		/* set by apply: raise that of every host */
	bool done;
	pthread_cond_t wake;
	struct job *next;
};

struct store {
	int lock_fd;

	/* the writer's alone */
	sqlite3 *db;
	sqlite3_stmt *stmt[STORE_STATEMENTS];
	int wal_pages;
	pthread_t writer;
	bool writer_runs;

	pthread_mutex_t lock;	/* guards all below */
	pthread_cond_t work, reader_back;
	struct job *head, **tail;
	size_t queued;
	bool closing;
	uint64_t committed, batches, retried;
	sqlite3 *reader[STORE_READERS];
	size_t readers;		/* free ones, reader[0..] */
	uint64_t generation[STORE_GENERATIONS], generation_sum;
};

/* --- store.c ----------------------------------------------------------- */

/* Queue, wait, answer. */
enum store_answer store_submit(struct store *s, struct job *j);
/* A read-only connection inside a read transaction: one moment's data. */
sqlite3 *store_reader(struct store *s);
void store_reader_back(struct store *s, sqlite3 *db);
/*
 * Bind by format, from parameter 1, as many as @st has: i int64_t (RECORD_NULL:
 * null), t const char * (NULL: null), b const void * and size_t. The data must
 * live until the last step.
 */
void store_bind(sqlite3_stmt *st, const char *format, va_list ap);
/* Prepare on @db and bind; NULL on failure. */
sqlite3_stmt *store_query(sqlite3 *db, const char *sql, const char *format,
			  ...);
/* A copy of a text column, NULL for null. -1: no memory. */
int store_text(sqlite3_stmt *st, int col, char **to);
/* What SQLite says, for the log. Always -1. */
int store_failed(sqlite3 *db, struct err *e);

/* --- store_write.c ----------------------------------------------------- */

/* Prepare the writer's statements. */
int store_write_open(struct store *s, struct err *e);

/* An error from SQLite inside a job. Some have ended the whole transaction. */
enum store_answer store_broke(struct store *s, struct job *j);

/* --- store_history.c --------------------------------------------------- */

/* The end of @st, whose last step gave @rc: 0, or -1 with @e; SQLITE_ROW: the
 * row found no memory. */
int store_ended(sqlite3 *db, sqlite3_stmt *st, int rc, struct err *e);
/* A row at the end of an array with its count behind it; NULL: no memory. */
#define ADD_ROW(list, size) rows_add((struct rows *)(void *)(list), size)

/* Runs of rising ids, unpacked one by one. */
struct runs {
	const unsigned char *at, *end;
	int64_t first, n;	/* the run at hand */
	int64_t next;
};
struct runs runs_of(const struct store_push *p);
bool runs_next(struct runs *r);
/* 0 at the end. */
uint64_t varint_next(const unsigned char **at, const unsigned char *end);

void store_push_free(struct store_push *p);
/* Pushes of @tree (NULL: all). @list: "p.revisions" or "p.patches": what
 * runs_of() shall yield of them; "NULL": nothing. */
int store_pushes(sqlite3 *db, const char *tree, const char *list,
		 struct store_pushes *out, struct err *e);

/* A SHA of hex digits, all 40 or, if cut, with @pad behind them. */
void store_sha(const char *hex, char pad, unsigned char out[20]);

/* --- store_push.c: all lists and keys, what lineage is made of --------- */

struct lists {
	struct store_pushes pushes;	/* with patches */
	struct history_list *v;		/* of each push */
	uint32_t *ids;			/* of all lists */
	struct history_keys *keys; size_t nkeys;	/* by patch id */
	uint32_t *lineage;
	uint32_t *landed;		/* by lineage: 1 + the first linear
					 * push that has it */
};
int lists_read(sqlite3 *db, struct lists *out, struct err *e);
void lists_free(struct lists *l);

/* The SHAs of what is the source that @p led to, as a JSON array: its tip, its
 * tree hash, and the tips of @all (NULL: none) that have the same. NULL: no
 * memory, or no @p. */
char *sources(const struct store_pushes *all, const struct store_push *p);
#define OF_SOURCE(array) \
	"(k.commit_sha IN (SELECT value FROM json_each(" array "))" \
	" OR k.tree_hash IN (SELECT value FROM json_each(" array ")))"
/* Who ran what @before (NULL: nothing) and @after led to, or its source. */
int read_sides(sqlite3 *db, const struct store_pushes *all,
	       const struct store_push *before, const struct store_push *after,
	       struct store_sides *out, struct err *e);
void sides_free(struct store_sides *s);
/* The revisions of push @id, @n at most, in list order. NULL with @e. */
int64_t *read_revisions(sqlite3 *db, int64_t id, size_t n, struct err *e);
/* A statement that read_commit() steps. */
#define COMMIT \
	"SELECT lower(hex(v.sha)), p.subject, p.author, p.authored_at," \
	" p.patch_id, p.link, p.quilt, p.files FROM revision v" \
	" JOIN patch p ON p.id = v.patch WHERE v.id = ?1"
int read_commit(sqlite3_stmt *st, int64_t revision, struct store_commit *out);
void commit_free(struct store_commit *c);

/* Why @host did not measure those that have no kernel. */
int store_skips(sqlite3 *db, const char *host, struct store_pushes *p,
		struct err *e);

/* Where a commit stands in the pushes of a tree: at the first whose tip it is,
 * else in the first whose list it is in. */
struct spot {
	const char *sha;
	int64_t revision;	/* 0: no list has it */
	size_t push;		/* NO_PUSH: it does not */
	int64_t pos;		/* in the list; INT64_MAX: the tip */
};
/* By SHA; then place them in pushes (with revisions) of one tree, as often as
 * there are trees. */
void spots_sort(struct spot **spots, size_t n);
int spots_place(const struct store_push *v, size_t n, struct spot **spots,
		size_t nspots);

/* --- store_read.c: rows of a query into structs ------------------------ */

/* Where a column goes in a struct. */
struct column {
	enum { END, INT, WORD, TEXT, NAME } kind;
	size_t offset, size;
};
#define COL_END		{ END, 0, 0 }
#define INT_(s, m)	{ INT, offsetof(struct s, m), 0 }	/* int64_t */
#define WORD_(s, m)	{ WORD, offsetof(struct s, m), 0 }	/* enum */
#define TEXT_(s, m)	{ TEXT, offsetof(struct s, m), 0 }	/* owned */
#define NAME_(s, m)	{ NAME, offsetof(struct s, m), \
			  sizeof(((struct s *)NULL)->m) }	/* in place */

/* An array in a struct is a pointer and, right behind it, a count. */
struct rows { char *v; size_t n; } __attribute__((may_alias));

/* A new zeroed row at the end; NULL: no memory. */
void *rows_add(struct rows *rows, size_t size);
void rows_free(void *rows, const struct column *c, size_t size);
/* The row under @st into a struct, from column @at on. -1: no memory. */
int row_read(sqlite3_stmt *st, int at, const struct column *c, void *row);
void row_free(const struct column *c, void *row);
/* All rows of @st, which ends here, into an array; on failure that is empty. */
int rows_read(sqlite3 *db, sqlite3_stmt *st, const struct column *c,
	      size_t size, void *rows, struct err *e);

extern const struct column store_kernel_columns[];
#define KERNEL_COLUMNS \
	" k.id, k.key, k.pool, k.release, k.version, k.commit_sha," \
	" k.commit_proven, k.tree, k.tree_hash, k.build_id, k.config_sha256," \
	" k.compiler, k.first_posted, k.patches"

/* By key, commit or a prefix of either, as store_compare() takes it. */
enum store_answer store_kernel(sqlite3 *db, const char *key,
			       struct store_kernel *out, struct err *e);

/* --- store_pool.c: several runs of one kernel -> one point ------------- */

#define NO_POINT ((struct store_point){ .value = RECORD_NULL, \
					.spread = RECORD_NULL })

/* Starts zeroed. */
struct pool {
	struct store_point *to;	/* in the making */
	int64_t boot;		/* the one at hand */
	int64_t *launch;	/* values, of all boots */
	size_t n, cap, boot_from;
	double sum, logs;	/* over boots */
	bool zero;		/* one of them has no logarithm */
	int64_t first;		/* boot's value */
};

/*
 * Add a row to @to, whose rows come together and by boot. Columns @at...: boot,
 * status, launches, reason. -1: no memory.
 */
int pool_add(struct pool *p, struct store_point *to, sqlite3_stmt *st, int at);
#define POOL_COLUMNS " r.boot, r.status, r.launches, r.reason"
/* Finish the last point. */
void pool_end(struct pool *p);
void pool_free(struct pool *p);

/* --- store_pack.c: a run as the writer wants it ------------------------ */

#define PACK_HEX	65	/* SHA-256 in hex, and its NUL */

struct pack_metric {
	const struct record_bench *bench;
	const struct record_metric *metric;
	struct buf params;
	const char *exact;
	size_t rows;			/* pack.rows, those of this one */
	bool valid, measured;		/* has a valid figure, any figure */
};

struct pack_row {		/* one metric of one cell */
	int64_t folio_bytes;
	enum record_status status;
	const char *reason;			/* NULL if ok */
	int64_t n, value, spread, first;
	size_t launches, launches_len;		/* where in pack.launches */
};

/* All hashing, compressing and reducing is done here, on the caller's thread:
 * the one writing thread only binds and steps. */
struct pack {
	const struct record *r;
	char sha256[PACK_HEX];
	void *deflated;
	size_t len, deflated_len;
	char posted_at[24];
	struct buf facts;		/* of the host epoch, canonical JSON */
	char epoch_sha256[PACK_HEX];
	char kernel_key[STORE_KEY];
	int64_t commit_proven;
	struct buf exact;
	struct buf launches;		/* varints, row after row */
	struct pack_metric *metrics;
	size_t nmetrics;
	struct pack_row *rows;		/* by metric */
	size_t nrows;
};

/* -1: no memory. pack_free() either way. */
int pack_run(struct pack *p, const struct record *r, const void *body,
	     size_t len);
void pack_free(struct pack *p);

void pack_sha256(const void *data, size_t len, char hex[PACK_HEX]);
/* The owner frees; NULL: no memory. @data of any length, empty but not NULL. */
void *pack_deflate(const void *data, size_t len, size_t *out_len);
/* Append @len bytes to @out. -1: damaged. */
int pack_inflate(const void *data, size_t data_len, size_t len,
		 struct buf *out);

#endif
