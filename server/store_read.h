/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_STORE_READ_H
#define SERVER_STORE_READ_H
/* What the reading files of the store share. */
#include "history.h"
#include "store_priv.h"

/* A new zeroed element at the end of an array that starts as NULL and 0 (and
 * may be emptied by setting n to 0); NULL: no memory. */
void *grow_rows(void **v, size_t *n, size_t size);

/* As store_find_kernel(), on this connection. */
enum store_answer kernel_find(sqlite3 *db, const char *key,
			      struct store_kernel *out, struct err *e);

/* The newest @last (0: all) of a JSON array of kernel ids, in order, newest
 * last; runs and hosts are not counted. */
int kernels_by_id(sqlite3 *db, const char *ids, size_t last,
		  struct store_kernels *out, struct err *e);

/* A series and what its epoch says: SERIES_COLUMNS of tables s and e. */
struct series_row {
	int64_t id, rev, quantum, ops, folio_bytes, last_run;
	int64_t base_page_bytes, pmd_bytes;
	enum record_better better;
	char *bench, *metric, *params, *unit, *same_as;
	char epoch[13];
};
#define SERIES_COLUMNS \
	" s.id, s.bench, s.metric, s.params, s.rev, s.unit, s.better," \
	" s.quantum, s.ops, s.same_as, s.folio_bytes, s.last_run," \
	" substr(e.sha256, 1, 12), e.facts->>'base_page_bytes'," \
	" e.facts->>'pmd_bytes'"
#define SERIES_NCOLUMNS 15	/* of them; what a query adds comes after */

/* -1: no memory; series_row_free() either way. */
int series_row_read(sqlite3_stmt *st, struct series_row *f);
void series_row_free(struct series_row *f);

/* --- store_pool.c: several runs of one kernel -> one point --------------- */

struct pool_run {		/* a row of table result */
	int64_t run;
	uint64_t boot;		/* set once several runs meet */
	enum record_status status;
	int64_t n, value, spread;
	size_t launches, launches_len;	/* where in pool.bytes */
	char *reason;
};

struct pool_boot { int64_t run; uint64_t boot; };	/* boot: hashed id */

struct pool {
	sqlite3 *db;
	const char *host;
	struct pool_run *runs;		/* of the kernel and series at hand */
	size_t nruns;
	struct buf bytes;
	struct pool_boot *boots;	/* the host's, by run; read late */
	size_t nboots;
	bool boots_read;
};

/* Take columns @col...: run, status, n, value, spread, launches, reason. */
int pool_add(struct pool *p, sqlite3_stmt *st, int col);
#define POOL_COLUMNS \
	" r.run, r.status, r.n, r.value, r.spread, r.launches, r.reason"
/* Make the point of all that was added, and start the next one. */
int pool_point(struct pool *p, struct store_point *out, struct err *e);
void pool_free(struct pool *p);

#endif
