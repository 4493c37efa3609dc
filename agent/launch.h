/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_LAUNCH_H
#define AGENT_LAUNCH_H
/*
 * One launch: a forked process with its own mapping, which measures and tells
 * its parent what came of it through a pipe.
 */
#include <signal.h>

#include "bench.h"
#include "quiet.h"

struct outcome {
	enum record_status status;	/* ok, invalid, failed */
	char reason[ERR_MAX];		/* unless ok */
	int64_t folios, other_folios, pinned, involuntary;
	char proved[24];		/* "": not proven */
	char sched[16];
	size_t iterations;		/* done */
	int64_t samples[];		/* iterations x metrics */
};

struct launch_plan {
	const struct bench *bench;
	const struct bench_params *params;
	const struct mthp *mthp;
	const struct quiet *quiet;
	uint64_t folio_bytes;
	unsigned iterations;
	bool exact;			/* the clock counts instructions */
	unsigned limit_s;		/* killed after this */
	const sigset_t *mask;		/* while waiting for it */
	const volatile sig_atomic_t *stopped;	/* set: kill it and return */
};

/* The caller blocks the signals that set *stopped. @out has room for
 * @out_bytes, enough for all samples; the child fills all of it. -1 with @e:
 * the launch hung, was killed, or could not be started; @out says nothing. */
int launch_fork(const struct launch_plan *p, struct outcome *out,
		size_t out_bytes, struct err *e);

#endif
