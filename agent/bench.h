/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_BENCH_H
#define AGENT_BENCH_H
/*
 * What a benchmark is. One file in agent/bench/ defines a const struct bench
 * (or a few that share a loop); one line in benches.def names it. That is all:
 * `list`, `run`, help, the document and the server need to be told nothing.
 *
 * run.c forks one process per launch and calls, in it:
 *     region_map()    if sized
 *     setup()         open, allocate; not timed
 *     iterate() x I   one timed burst each, under 0.9 s (RT throttling)
 *     teardown()
 * and in the parent, once per run, before any of that, can_run().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/err.h"
#include "../common/record.h"
#include "mthp.h"
#include "region.h"

#define BENCH_MAX_METRICS 4
#define BENCH_MAX_MEMORY (16ull << 30)	/* keeps a burst under 0.9 s */

struct bench_metric {
	const char *name, *unit;	/* "get_ns", "ns" */
	int64_t quantum;
	enum record_better better;
};

/* What the user asked, or the bench's defaults. The document gets those that
 * are not 0, by the table in run.c. */
struct bench_params {
	uint64_t memory_bytes;
	/* further parameters of the gup and pfnmap families come here */
};

/* One launch, in its own process. */
struct launch {
	const struct bench *bench;
	const struct bench_params *params;
	const struct mthp *mthp;
	uint64_t folio_bytes;
	uint64_t passes;		/* over the region, in one burst */
	struct region region;
	void *priv;			/* setup() to teardown() */
	int64_t pinned;			/* pages a pass pinned, counted; or null */
	char wrong[160];		/* why this launch is invalid; "" if not */
};

struct bench {
	const char *name;		/* "mincore": family[.variant] */
	const char *what;		/* one line for `mmtrend list` */
	const char *same_as;		/* well-known command, equal parameters */
	int rev;			/* raise when figures cannot be compared */
	bool sized;			/* per folio size; else base page only */
	struct bench_params defaults;	/* memory 0: uses none */
	unsigned launches, iterations;	/* defaults */
	const struct bench_metric *metrics;
	size_t nmetrics;
	/* A burst walks the region in passes until this much is walked: one
	 * number for all folio sizes, since ops belongs to the metric. */
	uint64_t burst_bytes;
	/* Operations in one sample. NULL: the pages of all passes. */
	int64_t (*ops)(const struct bench_params *);
	/* 0: can run here. -1: @e holds the exact reason and the cure; it becomes
	 * a stored skip. NULL: always can. */
	int (*can_run)(const struct bench_params *, struct err *e);
	int (*setup)(struct launch *l, struct err *e);	/* NULL: nothing to do */
	/* Fill one sample per metric. A burst of less work than asked is -1 with
	 * @e (the cell becomes invalid), never a small figure. */
	int (*iterate)(struct launch *l, int64_t *samples, struct err *e);
	void (*teardown)(struct launch *l);		/* NULL: nothing to do */
};

/* The registry, from benches.def, in its order. */
extern const struct bench *const bench_all[];
extern const size_t bench_count;

/* NULL: no such benchmark. A family name ("populate") matches its variants:
 * call with @i from 0 until NULL. */
const struct bench *bench_match(const char *name, size_t i);

/* Passes over the region in one burst: a constant of a series. */
uint64_t bench_passes(const struct bench *b, const struct bench_params *p);
/* Operations in one sample. */
int64_t bench_ops(const struct bench *b, const struct bench_params *p,
		  const struct mthp *m);

#endif
