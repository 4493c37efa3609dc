/* SPDX-License-Identifier: GPL-2.0-only */
/* From iterations to a launch's value, from launch values to a run's. */
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define WARM_FROM 5	/* iterations from which the first one is left out */

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* y - x for x <= y: no difference of two int64 overflows here. */
static uint64_t distance(int64_t x, int64_t y)
{
	return (uint64_t)y - (uint64_t)x;
}

int64_t stats_median(int64_t *v, size_t n)
{
	uint64_t gap;

	qsort(v, n, sizeof(*v), ascending);
	if (n % 2)
		return v[n / 2];
	gap = distance(v[n / 2 - 1], v[n / 2]);
	return (int64_t)((uint64_t)v[n / 2 - 1] + gap / 2 + gap % 2);
}

/* 1.4826 x @mad to nearest, in integers; at most INT64_MAX. */
static int64_t normal_sd(uint64_t mad)
{
	uint64_t whole = mad / 10000, part = mad % 10000;

	if (whole >= INT64_MAX / 14826)
		return INT64_MAX;
	return (int64_t)(whole * 14826 + (part * 14826 + 5000) / 10000);
}

int64_t stats_spread(int64_t *v, size_t n)
{
	uint64_t before = 0, dev = 0;
	int64_t mid;
	size_t lo, hi;

	if (n < 2)
		return 0;
	mid = stats_median(v, n);
	/*
	 * v is sorted now, so deviations grow from its middle outwards: take
	 * them in order, alternately from both sides, up to the middle one.
	 */
	for (hi = 0; hi < n && v[hi] < mid; hi++)
		;
	for (lo = hi; lo + (n - hi) > n - n / 2 - 1; ) {
		before = dev;
		if (hi < n && (!lo || distance(mid, v[hi]) <=
				      distance(v[lo - 1], mid)))
			dev = distance(mid, v[hi++]);
		else
			dev = distance(v[--lo], mid);
	}
	if (n % 2 == 0)
		dev = before + (dev - before + 1) / 2;
	return normal_sd(dev);
}

int64_t stats_launch_value(const int64_t *iterations, size_t n,
			   enum record_reduce reduce)
{
	int64_t v[RECORD_MAX_ITERATIONS];
	size_t skip = reduce == RECORD_MEDIAN && n >= WARM_FROM;

	if (!n)
		return RECORD_NULL;
	n -= skip;
	if (n > RECORD_MAX_ITERATIONS)
		n = RECORD_MAX_ITERATIONS;
	memcpy(v, iterations + skip, n * sizeof(*v));
	if (reduce == RECORD_MEDIAN)
		return stats_median(v, n);
	for (size_t i = 1; i < n; i++)
		if (v[i] < v[0])
			v[0] = v[i];
	return v[0];
}

static const struct record_ints *samples_of(const struct record_launch *l,
					    const char *metric)
{
	for (size_t i = 0; i < l->nsamples; i++)
		if (!strcmp(l->samples[i].metric, metric))
			return &l->samples[i].values;
	return NULL;
}

void stats_summarise(const struct record_cell *cell,
		     const struct record_metric *metric,
		     struct stats_summary *out)
{
	int64_t first[RECORD_MAX_LAUNCHES], sorted[RECORD_MAX_LAUNCHES];

	out->n = 0;
	out->value = out->spread = out->first = RECORD_NULL;
	for (size_t i = 0; i < cell->nlaunches; i++) {
		const struct record_ints *s =
			samples_of(&cell->launches[i], metric->name);

		if (!s || !s->n || out->n == RECORD_MAX_LAUNCHES)
			continue;
		first[out->n] = s->v[0];
		out->launch[out->n++] = stats_launch_value(s->v, s->n,
							   metric->reduce);
	}
	if (!out->n)
		return;
	memcpy(sorted, out->launch, out->n * sizeof(*sorted));
	out->value = stats_median(sorted, out->n);
	out->spread = stats_spread(sorted, out->n);
	out->first = stats_median(first, out->n);
}
