/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_QUIET_H
#define AGENT_QUIET_H
/*
 * Make the measuring process quiet (one CPU, SCHED_FIFO where permitted), and
 * record how quiet the machine really was. Measured, not assumed: at load 7 a
 * nice-0 process gave medians 5 to 10 times too high.
 */
#include "../common/err.h"
#include "../common/record.h"

#define QUIET_COUNTS 8

struct quiet {			/* the "before" of what quiet_end() compares */
	int cpu;
	int64_t taint, load_milli, temperature_mc;
	int64_t steal_ticks, total_ticks;
	int64_t counts[QUIET_COUNTS];	/* what must not move, by the table in quiet.c */
};

/* Choose a CPU (the last one allowed, not 0 if there is another), note the
 * state of the machine. */
int quiet_begin(struct quiet *q, struct err *e);

/* In a launch's process: pin it, SCHED_FIFO 1 with RLIMIT_RTTIME. Returns what
 * it got: "fifo:1", or "other" where not permitted. */
const char *quiet_enter(const struct quiet *q);

/* Fill r->quiet, and r->invalid where the run cannot be trusted: steal > 1 %,
 * taint or WARN gained, throttling, swap traffic. */
void quiet_end(const struct quiet *q, const char *sched, int64_t involuntary,
	       struct record *r);

#endif
