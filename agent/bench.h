/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_BENCH_H
#define AGENT_BENCH_H
/*
 * What a benchmark is. One file in agent/bench/ defines a const struct bench
 * (or a few that share a loop); one line in benches.def names it. That is all:
 * `list`, `run`, help, the document and the server need to be told nothing.
 *
 * launch.c forks one process per launch and calls, in it:
 *     region_map()    if sized
 *     setup()         open, allocate; not timed
 *     iterate()       one pass; repeated, see below
 *     teardown()
 * and in the parent, once per run, before any of that, can_run().
 *
 * A sample is the time of one pass. Iteration 0 is a single pass and is kept
 * apart from a launch's value. From the one before follows how many passes make
 * a burst of at least 1 ms (and at most 0.5 s: RT throttling): a later sample
 * is the mean of a burst's passes. So a figure is always that of one pass over
 * the memory, as the mails give it, whatever the folio size. Where the clock
 * counts instructions each sample is one pass.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/err.h"
#include "../common/record.h"
#include "mthp.h"
#include "region.h"

#define BENCH_MAX_METRICS 16
#define BENCH_MAX_MEMORY (16ull << 30)	/* keeps a pass under 0.9 s */

struct bench_metric {
	const char *name, *unit;	/* "get_ns", "ns" */
	int64_t quantum;
	enum record_better better;
};

/* What the user asked, or the bench's defaults (0: the bench does not have
 * it). The document gets those that are not 0, by the table in plan.c. */
struct bench_params {
	uint64_t memory_bytes;
	uint64_t pages_per_call;	/* gup: base pages an ioctl */
	uint64_t read;			/* gup: 1: without FOLL_WRITE */
	uint64_t shared;		/* gup: 1: MAP_SHARED memory */
	uint64_t hugetlb;		/* gup: 1: MAP_HUGETLB memory */
	uint64_t stride_bytes;		/* latency: between loads */
};

/* One launch, in its own process. */
struct launch {
	const struct bench *bench;
	const struct bench_params *params;
	const struct mthp *mthp;
	uint64_t folio_bytes;
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
	/* How many of @metrics these parameters give. NULL: all. */
	size_t (*metrics_used)(const struct bench_params *);
	/* Operations in one pass. NULL: the base pages of the memory. */
	int64_t (*ops)(const struct bench_params *);
	/* 0: can run here. -1: @e holds the exact reason and the cure; it becomes
	 * a stored skip. NULL: always can. */
	int (*can_run)(const struct bench_params *, struct err *e);
	/* 1 with @e: this kernel lacks what the cell needs, a skip. -1 with @e: it
	 * should have worked. NULL: nothing to do. */
	int (*setup)(struct launch *l, struct err *e);
	/* One pass: fill its time (or count) for each metric. Less work than asked
	 * is -1 with @e (the cell becomes invalid), never a small figure. */
	int (*iterate)(struct launch *l, int64_t *samples, struct err *e);
	void (*teardown)(struct launch *l);		/* NULL: nothing to do */
};

/* The registry, from benches.def, in its order. */
extern const struct bench *const bench_all[];
extern const size_t bench_count;

/* NULL: no such benchmark. A family name ("populate") matches its variants:
 * call with @i from 0 until NULL. */
const struct bench *bench_match(const char *name, size_t i);

/* Metrics that these parameters give. */
size_t bench_nmetrics(const struct bench *b, const struct bench_params *p);
/* Operations in one pass. */
int64_t bench_ops(const struct bench *b, const struct bench_params *p,
		  const struct mthp *m);

/* Pages pinned so far, by anyone, as the kernel counts them. */
int64_t bench_pins(void);
/* Can they be counted here? As can_run(). */
int bench_counts_pins(struct err *e);

#endif
