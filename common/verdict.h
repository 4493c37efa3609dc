/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_VERDICT_H
#define COMMON_VERDICT_H
/*
 * One result on two kernels, in words: the same in a terminal, in a mail and on
 * a page.
 *
 * Exact metrics are judged by one rule. The guest's clock counts one
 * instruction as one nanosecond; what is in a figure beside the kernel's work
 * is the timer interrupt: 1.8 to 2.7 thousand instructions each on 6.12, both
 * architectures. A sample of v instructions holds floor(v * hz / 1e9) of them,
 * or one more, at a chance of the fraction that is left over; the least of n
 * samples keeps that one only if all n have it, at a chance of fraction^n. What
 * is rarer than 1 in 1,000 does not count:
 *
 *     least(v) = floor(v * hz / 1e9)
 *     most(v)  = least(v) + (fraction^n >= 0.001)
 *     ticks    = max(most(a) - least(b), most(b) - least(a))
 *     same     : |b - a| <= max(0.5 % of a, ticks * 2,700 + quantum)
 *     alarm    : SLOWER, and |b - a| >= 2 % of a
 *
 * A metric of time gets no word here: samples of one boot cannot tell the
 * kernel from the boot.
 */
#include <stdbool.h>

#include "buf.h"
#include "record.h"
#include "report.h"

enum verdict {
	VERDICT_SAME,
	VERDICT_FASTER,
	VERDICT_SLOWER,
	VERDICT_NOT_JUDGED,	/* time */
	VERDICT_NOT_VALID,
	VERDICT_NOT_MEASURED,
};

#define VERDICT_ITERATIONS 5	/* of a launch, where they are not known */

struct verdict_pair {		/* one metric of one size on two kernels */
	int64_t before, after;	/* RECORD_NULL: no figure */
	enum record_status status;	/* the worse of both */
	bool exact;		/* record_is_exact() */
	enum record_better better;
	int64_t quantum;
	int64_t hz;		/* RECORD_NULL: not known, taken as 1,000 */
	size_t iterations;	/* in the shortest launch; 0: not known */
	int64_t folio_bytes, ops;
	bool pages;		/* an operation is a base page */
};

enum verdict verdict_of(const struct verdict_pair *p);
/* "faster, 7.5x": from raw values, a ratio only from 1.2x. */
const char *verdict_text(const struct verdict_pair *p, char out[REPORT_VALUE]);
/* A difference for which to wake somebody. */
bool verdict_alarm(const struct verdict_pair *p);
/* after - before of one operation: "+20", "-339", "0"; "-" without figures. */
const char *verdict_per_op(const struct verdict_pair *p,
			   char out[REPORT_VALUE]);
/*
 * The sizes of one exact metric: what the controls, base pages and PMD, say of
 * the others, a sentence a line; nothing if they did not move.
 */
void verdict_controls(const struct verdict_pair *rows, size_t n,
		      int64_t base_bytes, int64_t pmd_bytes, struct buf *out);

#endif
