/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_BENCH_CHASE_H
#define AGENT_BENCH_CHASE_H
/*
 * What several benchmarks time, over whatever is mapped: loads that wait for
 * each other, copies, a fork.
 */
#include <stddef.h>
#include <stdint.h>

#include "../../common/err.h"

/*
 * Dependent loads in random order, the way of `lat_mem_rd -t`. The order is not
 * stored in the memory but computed, so that it can be walked where nothing can
 * be written; each step adds what was loaded, hence has to wait for it.
 *
 * The memory must read as zero where it is loaded from, which is the second
 * word of each line (populating writes to the first byte of a page); then every
 * line is visited once in as many loads, whatever the number of calls.
 */
struct chase {
	const unsigned char *from;
	uint64_t mask;			/* lines - 1 */
	unsigned line_shift, mix_shift;
	uint64_t at;
};

/* -1 with @e: lines cannot have this size. */
int chase_check(uint64_t stride_bytes, struct err *e);
/* Over the lines of @stride_bytes that the largest power of two in @bytes
 * holds. */
void chase_init(struct chase *c, const void *memory, uint64_t bytes,
		uint64_t stride_bytes);
/* Go on where the last call ended. Returns the line that was loaded last. */
uint64_t chase_loads(struct chase *c, uint64_t loads);

/* Copy the lower half over the upper, then back: @len bytes in all. */
void chase_copy(unsigned char *memory, size_t len);
/* Copy all of it out, piece by piece, into a buffer. */
void chase_copy_out(const unsigned char *memory, size_t len, unsigned char *to,
		    size_t to_len);

/* Time fork() in the parent; the child ends at once and is waited for. */
int chase_fork(int64_t *ns, struct err *e);

/* The time since @start, which becomes now. */
int64_t chase_lap(int64_t *start);

#endif
