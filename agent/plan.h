/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_PLAN_H
#define AGENT_PLAN_H
/*
 * Which cells a run has, with what parameters, and what is known about them
 * without trying: fills benches, cells and design of the document.
 */
#include "bench.h"
#include "run.h"

struct job {			/* what to do for one cell */
	const struct bench *bench;	/* NULL: never started */
	struct bench_params params;
	unsigned launches, iterations, started;
	struct record_cell *cell;	/* has room for all launches */
};

struct plan {
	/* set by the caller: */
	const struct run_opts *o;
	struct mthp mthp;
	struct record *r;
	bool exact;		/* the clock counts instructions */
	/* set by plan_make(): */
	struct job *jobs;	/* r->ncells of them; they live as long as r */
	size_t most_samples;	/* of one launch */
	size_t text;		/* bytes of JSON, about; one too long for the wire
				 * is refused before it costs an hour */
	unsigned total;		/* launches to come */
};

/* -1 with @e: the options ask for what cannot be. */
int plan_make(struct plan *p, struct err *e);

/* " memory=256m pages_per_call=512" */
void plan_params_text(const struct bench_params *p, struct buf *out);
/* A cell's status only ever gets worse (the order of the enum); a reason is
 * kept once. */
void plan_settle(struct plan *p, struct record_cell *c, enum record_status status,
		 const char *reason);

/* As the document names it: in the lab the clock counts instructions, which
 * are other metrics. NULL: no memory. */
char *plan_metric_name(const struct plan *p, const struct bench_metric *m);

#endif
