/* SPDX-License-Identifier: GPL-2.0-only */
/* From iterations to a launch's value, from launch values to a run's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define WARM_FROM 5	/* iterations from which the first one is left out */

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t stats_median(int64_t *v, size_t n)
{
	int64_t low, gap;

	qsort(v, n, sizeof(*v), ascending);
	low = v[(n - 1) / 2];
	gap = v[n / 2] - low;
	return low + gap / 2 + gap % 2;
}

int64_t stats_spread(int64_t *v, size_t n)
{
	int64_t mid;

	if (n < 2)
		return 0;
	mid = stats_median(v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] < mid ? mid - v[i] : v[i] - mid;
	/* At most half of int64: it fits. */
	return llroundl(1.4826L * (long double)stats_median(v, n));
}

int64_t stats_mean(const int64_t *v, size_t n)
{
	double sum = 0, logs = 0;
	bool zero = false;

	for (size_t i = 0; i < n; i++) {
		sum += (double)v[i];
		zero |= v[i] <= 0;
		logs += zero ? 0 : log((double)v[i]);
	}
	if (n == 1)
		return v[0];	/* whole, where a double would round */
	return llround(zero ? sum / (double)n : exp(logs / (double)n));
}

int64_t stats_launch_value(const int64_t *iterations, size_t n,
			   enum record_reduce reduce)
{
	int64_t v[RECORD_MAX_ITERATIONS];
	size_t skip = reduce == RECORD_MEDIAN && n >= WARM_FROM;

	if (!n)
		return RECORD_NULL;
	n -= skip;
	memcpy(v, iterations + skip, n * sizeof(*v));
	if (reduce == RECORD_MEDIAN)
		return stats_median(v, n);
	qsort(v, n, sizeof(*v), ascending);
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
