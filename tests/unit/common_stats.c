/* SPDX-License-Identifier: GPL-2.0-only */
/* Golden values of medians and spreads, worked out by hand. */
#include "../../common/stats.h"
#include "../tap.h"

#define N(...) (sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
#define MEDIAN(want, what, ...) \
	is_i(stats_median((int64_t[]){ __VA_ARGS__ }, N(__VA_ARGS__)), want, \
	     what)
#define SPREAD(want, what, ...) \
	is_i(stats_spread((int64_t[]){ __VA_ARGS__ }, N(__VA_ARGS__)), want, \
	     what)
#define VALUE(want, reduce, what, ...) \
	is_i(stats_launch_value((const int64_t[]){ __VA_ARGS__ }, \
				N(__VA_ARGS__), reduce), \
	     want, what)

static void medians(void)
{
	int64_t v[] = { 3, 1, 2 };

	MEDIAN(7, "median of one", 7);
	MEDIAN(2, "median of an odd count", 3, 1, 2);
	MEDIAN(3, "median of an even count: 2.5 to nearest is 3", 4, 1, 2, 3);
	MEDIAN(4, "exact mean of two", 5, 3);
	MEDIAN(5, "equal samples", 5, 5, 5, 5);
	MEDIAN(0, "zeros", 0, 0, 0);
	MEDIAN(INT64_MAX - 1, "mean of two huge values does not overflow",
	       INT64_MAX, INT64_MAX - 2);
	MEDIAN(INT64_MAX, "and rounds", INT64_MAX, INT64_MAX - 1);
	MEDIAN(INT64_MAX / 2 + 1, "mean of the two ends", 0, INT64_MAX);
	stats_median(v, 3);
	ok(v[0] == 1 && v[1] == 2 && v[2] == 3, "the median sorts in place");
}

static void spreads(void)
{
	SPREAD(0, "spread of one is 0", 7);
	SPREAD(0, "equal samples have no spread", 5, 5, 5, 5);
	SPREAD(1, "MAD 1 is 1.4826, to nearest", 1, 2, 3);
	SPREAD(1, "an outlier does not count", 1, 2, 3, 4, 1000000);
	SPREAD(148, "MAD 100", 100, 200, 300);
	SPREAD(14826, "MAD 10,000", 10000, 20000, 30000);
	SPREAD(7413, "two values: half their distance", 10000, 20000);
	SPREAD(22239, "even count: MAD 15,000", 10000, 20000, 40000, 50000);
	SPREAD(1, "an even count's MAD is 0.5, rounded to 1", 1, 2, 2, 4);
	SPREAD(0, "more than half are equal", 9, 9, 9, 1, 100);
	SPREAD(2965, "one side longer than the other", 0, 1000, 5000, 6000,
	       7000);
	SPREAD(2965, "and the other way round", 7000, 6000, 2000, 1000, 0);
	ok(stats_spread((int64_t[]){ 0, INT64_MAX }, 2) > INT64_MAX / 2,
	   "the largest spread there can be does not overflow");
}

static void launch_values(void)
{
	VALUE(9, RECORD_MEDIAN, "one iteration", 9);
	VALUE(3, RECORD_MEDIAN, "4 iterations: all of them", 900, 2, 3, 3);
	VALUE(6, RECORD_MEDIAN, "4 iterations: the first counts", 900, 10, 1,
	      2);
	VALUE(3, RECORD_MEDIAN, "5 iterations: without the first", 900, 1, 2, 3,
	      40);
	VALUE(2, RECORD_MIN, "min: of all", 5, 4, 2, 3, 9, 8);
	VALUE(1, RECORD_MIN, "min: the first counts too", 1, 4, 2, 3, 9, 8);
	is_i(stats_launch_value(NULL, 0, RECORD_MEDIAN), RECORD_NULL,
	     "no iterations: null");
}

static void means(void)
{
	is_i(stats_mean((int64_t[]){ INT64_MAX }, 1), INT64_MAX,
	     "one boot's value is its own, to the last digit");
	is_i(stats_mean((int64_t[]){ 100, 400 }, 2), 200,
	     "boots are averaged in logs");
	is_i(stats_mean((int64_t[]){ 0, 30, 60 }, 3), 30,
	     "where one is 0, as they are");
	is_i(stats_mean((int64_t[]){ 60, 30, 0 }, 3), 30,
	     "whichever of them it is");
	is_i(stats_mean((int64_t[]){ 0, 0 }, 2), 0, "zeros are 0");
}

static struct record_launch launch_of(const char *metric, int64_t *v, size_t n,
				      struct record_samples *s)
{
	*s = (struct record_samples){ (char *)(uintptr_t)metric, { v, n } };
	return (struct record_launch){ .samples = s, .nsamples = 1 };
}

static void summaries(void)
{
	int64_t a[] = { 50, 10, 10, 10, 10 }, b[] = { 70, 30, 30, 30, 30 },
		c[] = { 60, 20, 20, 20, 20 };
	struct record_samples s[4];
	struct record_launch l[] = {
		launch_of("get_ns", a, 5, &s[0]),
		launch_of("put_ns", a, 5, &s[1]),
		launch_of("get_ns", b, 5, &s[2]),
		launch_of("get_ns", c, 5, &s[3]),
	};
	struct record_cell cell = { .launches = l, .nlaunches = 4 };
	struct record_metric get = { .name = (char[]){ "get_ns" } },
			     none = { .name = (char[]){ "x_ns" } };
	struct stats_summary sum;

	stats_summarise(&cell, &get, &sum);
	is_i((long long)sum.n, 3,
	     "launches without the metric are not counted");
	is_i(sum.value, 20, "a run's value is the median of launch values");
	is_i(sum.spread, 15, "its spread is theirs");
	is_i(sum.first, 60, "iteration 0 is kept apart");
	ok(sum.launch[0] == 10 && sum.launch[1] == 30 && sum.launch[2] == 20,
	   "launch values stay in document order");
	stats_summarise(&cell, &none, &sum);
	ok(!sum.n && sum.value == RECORD_NULL && sum.spread == RECORD_NULL &&
	   sum.first == RECORD_NULL, "no samples: null, never 0");
}

int main(void)
{
	medians();
	spreads();
	launch_values();
	means();
	summaries();
	return tap_done();
}
