/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_RUN_H
#define AGENT_RUN_H
/*
 * benchmark x folio size x launch x iteration -> a record. Launches of all
 * cells are shuffled, so that a drifting machine spreads over all of them.
 * Progress: one live line on a terminal, a line per finished cell in a pipe,
 * to stderr.
 */
#include "../common/err.h"
#include "../common/record.h"
#include "bench.h"
#include "host.h"

struct run_opts {
	const char *bench;	/* "mincore,pvm"; NULL: all of the registry */
	const char *size;	/* "base,64k,pmd"; NULL or "all": every size */
	int64_t launches, iterations;	/* 0: each bench's default */
	struct bench_params params;	/* where not 0 */
	const struct record *more;	/* measure by this design instead; NULL */
	int64_t seed;		/* of the shuffle; RECORD_NULL: random */
	const char *id, *started_at, *clock;	/* the lab's; NULL: our own */
	const char *const *argv; /* measuring options as given, for the document;
				 * ends in NULL; NULL: none */
	unsigned launch_s;	/* a launch may take so long; 0: the default */
	struct host_opts host;
};

/*
 * Measure. Takes the lock, sets and restores the folio sizes. NULL with @e:
 * nothing was measured (usage: @usage is set; another agent; no memory). A
 * signal (INT, TERM, HUP) has its usual effect, after putting everything back.
 */
struct record *run_measure(const struct run_opts *o, bool *usage, struct err *e);

#endif
