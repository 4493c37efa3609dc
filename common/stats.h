/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_STATS_H
#define COMMON_STATS_H
/*
 * Two levels of samples. An iteration is one timed burst; iterations of one
 * process touch the same memory and are not independent. A launch is one
 * forked process; its value comes from its iterations. A run's value is the
 * median of its launch values, its spread 1.4826 x MAD of them (the standard
 * deviation, if they were normal). Pooled iterations never decide anything.
 */
#include <stddef.h>
#include <stdint.h>

#include "record.h"

/*
 * Values are samples: >= 0. Median of @v; sorts it in place. An even count
 * gives the mean of the two in the middle, rounded to nearest. @n must be at
 * least 1.
 */
int64_t stats_median(int64_t *v, size_t n);

/* 1.4826 x median absolute deviation from the median, rounded to nearest; 0
 * for n < 2. @v is used up. */
int64_t stats_spread(int64_t *v, size_t n);

/* Of boots: the mean in logs; arithmetic if one is 0. @n must be at least 1. */
int64_t stats_mean(const int64_t *v, size_t n);

/* A launch's value. "median": of the iterations without the first one if there
 * are at least five, else of all. "min" (exact metrics): the minimum. */
int64_t stats_launch_value(const int64_t *iterations, size_t n,
			   enum record_reduce reduce);

/* What one metric of one cell amounts to. */
struct stats_summary {
	size_t n;			/* launches that hold samples */
	int64_t value;			/* median of launch[]; RECORD_NULL if n == 0 */
	int64_t spread;			/* 1.4826 MAD of launch[] */
	int64_t first;			/* median of the launches' iteration 0 */
	int64_t launch[RECORD_MAX_LAUNCHES]; /* in document order */
};

void stats_summarise(const struct record_cell *cell,
		     const struct record_metric *metric,
		     struct stats_summary *out);

#endif
