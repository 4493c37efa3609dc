/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_STORE_H
#define SERVER_STORE_H
/*
 * Rows in and out: with migrate.c the only code that knows SQLite.
 *
 * One writer thread owns the only writing connection: it takes up to 64 jobs
 * into one transaction, a savepoint each, and answers after COMMIT returned.
 * It alone checkpoints. Readers are a pool of 4 read-only connections, held
 * for the query only. Every function here may be called from any thread and
 * may wait.
 *
 * Results are structs that the caller frees with the function named beside
 * them; freeing a zeroed struct is allowed, and on failure they are zeroed.
 * Where an enum store_answer comes back from a look-up, found is STORE_SAME.
 * Functions that return int: 0, or -1 with @e.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/buf.h"
#include "../common/err.h"
#include "../common/record.h"
#include "history.h"

#define FILE_MAX_BODY	(1u << 20)	/* a kernel config, raw bytes */
#define STORE_KEY	41		/* a kernel's key: build id, or v-<16 hex> */

struct store;

/* Open or create, migrate, start the writer. -> NULL with @e: locked by
 * another process, not ours, newer than this program, unreadable. */
struct store *store_open(const char *path, struct err *e);
/* Answer what is queued, checkpoint, close. */
void store_close(struct store *s);

enum store_answer {
	STORE_NEW,	/* 201 */
	STORE_SAME,	/* 200: this very body is there already; a look-up found it */
	STORE_CONFLICT,	/* 422: this id with another body, or a metric that
			 * contradicts its series; @e says which */
	STORE_BUSY,	/* 503: queue or disk full, I/O error; nothing was kept */
	STORE_MISSING,	/* 404 */
	STORE_ERROR,	/* 500; @e is for the log, not for a client */
};

/*
 * Keep a run, all or nothing. @body is the document as it was posted; it is
 * stored compressed. Packing, hashing and compressing happen on the caller's
 * thread. @want_config: the kernel config of this hash is not here yet.
 */
enum store_answer store_put_run(struct store *s, const struct record *r,
				const void *body, size_t len,
				bool *want_config, struct err *e);
/* The body as posted. */
enum store_answer store_get_run(struct store *s, const char *uuid,
				struct buf *body, struct err *e);

/* Content by its SHA-256 (64 lower-case hex). put checks that it matches. */
enum store_answer store_put_file(struct store *s, const char *sha256,
				 const void *body, size_t len, struct err *e);
enum store_answer store_get_file(struct store *s, const char *sha256,
				 struct buf *body, struct err *e);

/*
 * What CI posts (route/pushdoc.h). @id: the push's. Of a SHA, tree_hash,
 * subject, author, authored_at and, in the same push, parent are for ever:
 * STORE_CONFLICT, and @e says which. Whatever else is posted of the same push or
 * SHA again is STORE_SAME: its tags are added, of the rest the first stands.
 */
struct push;
enum store_answer store_put_push(struct store *s, const struct push *p,
				 char id[HISTORY_ID], struct err *e);
struct skip;
enum store_answer store_put_skip(struct store *s, const struct skip *k,
				 struct err *e);

/* Raised by each commit that touches this host (NULL: any host). Kept in
 * memory and in the file; never goes back. Cheap: no query. */
uint64_t store_generation(struct store *s, const char *host);

/* --- what views read ----------------------------------------------------- */

struct store_kernel {
	int64_t id;
	int64_t pool;		/* id of the first kernel of the same tree hash,
				 * config and compiler: their figures are one */
	char key[STORE_KEY];	/* how URLs name it */
	char *release, *version;
	char *commit, *tree, *tree_hash;	/* NULL: not known */
	char *build_id, *config_sha256, *compiler;
	char *patches;		/* on top: "gup-batch, mincore-batch" */
	int64_t commit_proven;	/* 1: -gSHA in the version string or the build's record */
	char *first_posted;	/* "2026-11-30T11:04:56Z": arrival of its first run */
	int64_t runs, hosts;	/* 0 in a trend and in pairs: not counted there */
};
struct store_kernels { struct store_kernel *v; size_t n; };

/* Kernels in the order of history.h, the newest @limit (0: all), newest last.
 * @host NULL: all hosts; else those that ran on it, with the runs there. */
int store_kernels(struct store *s, const char *host, size_t limit,
		  struct store_kernels *out, struct err *e);
void store_kernel_free(struct store_kernel *k);
void store_kernels_free(struct store_kernels *k);

struct store_host {
	char *label, *cpu, *arch, *hypervisor;
	char *epoch;		/* newest epoch: 12 hex digits */
	int64_t epochs, cpus, ram_bytes, base_page_bytes, pmd_bytes;
	int64_t runs, kernels;
	char *first_posted, *last_posted;
	char *last_kernel;	/* key */
};
struct store_hosts { struct store_host *v; size_t n; };
int store_hosts(struct store *s, struct store_hosts *out, struct err *e);
void store_hosts_free(struct store_hosts *h);

#define NO_PUSH	SIZE_MAX	/* also: no kernel */

/* What a tree's ref became. */
struct store_push {
	int64_t id;
	char key[HISTORY_ID];	/* how URLs name it */
	char *tree, *pushed_at;
	char *old, *new, *base;	/* SHAs; NULL: not known */
	char *tree_hash;	/* of new; "": not known */
	char *tags;		/* joined by spaces; NULL: none */
	int64_t linear, commits;
	unsigned char *list;	/* private to the store */
	size_t list_len;
	/* in a trend: */
	size_t kernel;		/* that measured new or the same source;
				 * NO_PUSH: none, it is a gap */
	char *skip;		/* why not; NULL: not said */
};
/* Tree by tree, by name, each in the order of history.h. */
struct store_pushes { struct store_push *v; size_t n; };
void store_pushes_free(struct store_pushes *p);

/* What a host ran of two sources: the keys of kernels; NULL: it did not. */
struct store_side { char *host, *before, *after; };
struct store_sides { struct store_side *v; size_t n; };

/* One revision of a patch. */
struct store_commit {
	char *sha;
	char *subject, *author, *authored_at;
	char *patch_id, *link, *quilt, *files;	/* NULL: none */
};

/* What a push did to a patch. */
struct store_change {
	enum history_kind kind;
	bool moved;
	int64_t place, was;	/* in the lists, from 1; RECORD_NULL */
	struct store_commit commit;	/* if dropped: as it was */
	char *was_sha;
	char *landed;		/* dropped: the linear tree that has it */
};

/* One push against the one before it in its tree. */
struct store_diff {
	struct store_push push, before;	/* before.key "": the first known */
	char after[HISTORY_ID];		/* "": the newest known */
	struct store_sides sides;
	struct store_change *v; size_t n;	/* files of interest first, by
						 * kind, by place */
	size_t count[HISTORY_SAME + 1];		/* by kind */
};
/* @all: what stayed the same as well. */
enum store_answer store_diff(struct store *s, const char *key, bool all,
			     struct store_diff *out, struct err *e);
void store_diff_free(struct store_diff *d);

/* One patch over all its SHAs: its lineage. */
struct store_revision {
	struct store_commit commit;
	char *tree;
	char first[HISTORY_ID], last[HISTORY_ID];	/* pushes with it */
	char *first_at, *last_at;
	int64_t pushes;		/* with it */
	enum history_kind kind;	/* against the one before it in this tree;
				 * ADDED: none; SAME: rebased */
};
/* A push that did something to it, and what a host ran before and since. SAME:
 * the commit alone, against the one below it. */
struct store_touch {
	char *tree, *pushed_at;
	struct store_side side;
	char push[HISTORY_ID];
	enum history_kind kind;
};
/* A mailed series: patches whose Message-IDs differ in their number only. */
struct store_mail { char *link, *subject; };
struct store_patch {
	struct store_revision *v; size_t n;	/* by tree, old to new */
	struct store_touch *touched; size_t ntouched;
	struct store_mail *mails; size_t nmails;	/* of each version */
};
/* @key: a SHA, a patch-id (or 8 or more digits of one), a Message-ID (also
 * that of a series' cover letter: then n is 0), a quilt name. */
enum store_answer store_patch(struct store *s, const char *key,
			      struct store_patch *out, struct err *e);
void store_patch_free(struct store_patch *p);

/* What a host should measure next, newest push first. */
struct store_todo {
	char *tree, *pushed_at, *commit, *bench;
	char *sizes;		/* bytes, joined by spaces */
	char push[HISTORY_ID];
	int64_t whole;		/* nothing of this push is there */
};
struct store_todos { struct store_todo *v; size_t n; };
/* Of the newest @last pushes of each tree that it measures. */
enum store_answer store_todo(struct store *s, const char *host, size_t last,
			     struct store_todos *out, struct err *e);
void store_todo_free(struct store_todos *t);

struct store_tree {
	char *name;
	int64_t pushes, linear;
	struct store_push newest;
};
struct store_trees { struct store_tree *v; size_t n; };
int store_trees(struct store *s, struct store_trees *out, struct err *e);
void store_trees_free(struct store_trees *t);

/* Pushes of a tree by hosts: cells[(push - from) * nhosts + host]. */
struct store_grid {
	struct store_pushes pushes;	/* all; newest last */
	size_t from, to;		/* those that are shown */
	struct store_grid_host { char *name; } *hosts; size_t nhosts;
				/* that measured or skipped any of the tree */
	struct store_grid_cell { char *key, *skip; } *cells;
};
/* The newest @last before the push @before (NULL: of all). */
enum store_answer store_grid(struct store *s, const char *tree,
			     const char *before, size_t last,
			     struct store_grid *out, struct err *e);
void store_grid_free(struct store_grid *g);

/* What there is to draw: one row per (host, bench, metric, params). */
struct store_chart {
	char *host, *bench, *metric, *unit, *params;
	int64_t sizes;		/* folio sizes */
	int64_t points, measured;	/* kernels with a valid, any figure */
	int64_t last_run;	/* its id */
	char *last_posted;
};
struct store_charts { struct store_chart *v; size_t n; };
int store_charts(struct store *s, const char *host /* NULL: all */,
		 struct store_charts *out, struct err *e);
void store_charts_free(struct store_charts *c);

/* One kernel of one series: runs of one boot pooled, boots averaged in logs. */
struct store_point {
	int64_t value;		/* RECORD_NULL: no figure. Of the runs with @status
				 * only: with RECORD_INVALID draw it apart */
	int64_t spread;		/* 1.4826 MAD of all launch values */
	uint32_t n, boots;	/* launches, boots behind it */
	enum record_status status;	/* the best among its runs */
	char *reason;		/* if not ok: the first in the alphabet; NULL */
};

/*
 * All folio sizes of one metric on one host, over kernels: one chart.
 * points[s * nkernels + k]; a point without runs has n == 0, status RECORD_OK
 * and value RECORD_NULL.
 */
struct store_series {
	int64_t metric, id;	/* the store's own */
	int64_t folio_bytes, base_page_bytes, pmd_bytes;
	char epoch[13];		/* 12 hex digits of the host epoch */
};
struct store_trend {
	char *host, *bench, *metric, *unit, *params, *same_as;
	int64_t rev, quantum, ops;
	enum record_better better;
	size_t nkernels, nseries;
	size_t older;		/* kernels left out by @last */
	char *tree;		/* whose pushes are the x axis; NULL: it is
				 * kernels of no push, by their first start */
	struct store_kernel *kernels;	/* in this order, newest last; one of
					 * each pool */
	struct store_spot {
		char *started_at;	/* first run on this host; "" */
		size_t push;		/* in pushes; NO_PUSH */
		bool tip;		/* else it stands before that push */
	} *spots;		/* of each kernel */
	struct store_pushes pushes;	/* from the first kernel's on */
	struct store_kernels unplaced;	/* in no push: not on the axis */
	size_t elsewhere;	/* kernels in pushes of other trees only */
	struct store_tree_use { char *name; int64_t kernels; } *trees;
	size_t ntrees;		/* trees that hold kernels of this chart */
	struct store_series *series;	/* by epoch (oldest first), then size */
	struct store_point *points;
};
struct store_trend_query {
	const char *host, *bench;
	const char *metric;	/* NULL: the bench's first */
	const char *params;	/* canonical; NULL: those of the newest run */
	int64_t folio_bytes;	/* 0: all */
	const char *tree;	/* NULL: that which holds most kernels; "-": no
				 * tree */
	size_t last;		/* newest kernels only; 0: all */
};
/* STORE_MISSING with @e naming the field that matches nothing. */
enum store_answer store_trend(struct store *s, const struct store_trend_query *q,
			      struct store_trend *out, struct err *e);
void store_trend_free(struct store_trend *t);

/* Two kernels on one host: every series that either has. */
struct store_pair {
	char *bench, *metric, *unit, *params, *same_as;
	enum record_better better;
	int64_t rev, quantum, ops, folio_bytes, base_page_bytes, pmd_bytes;
	char epoch[13];
	struct store_point a, b;
};
struct store_pairs {
	struct store_kernel a, b;
	struct store_pair *v; size_t n;
};
/*
 * @a, @b: a key, a commit or a prefix of either (at least 8 characters).
 * STORE_CONFLICT if the prefix fits several (@e names two). @bench NULL: all.
 */
enum store_answer store_compare(struct store *s, const char *host,
				const char *a, const char *b, const char *bench,
				struct store_pairs *out, struct err *e);
void store_pairs_free(struct store_pairs *p);

struct store_stats {
	int64_t runs, hosts, kernels, series, bytes;
	uint64_t committed, batches, queue;	/* jobs kept; transactions; waiting */
	uint64_t retried;	/* jobs answered STORE_BUSY */
};
int store_stats(struct store *s, struct store_stats *out, struct err *e);

#endif
