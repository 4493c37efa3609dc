/* SPDX-License-Identifier: GPL-2.0-only */
/* A fixed loop that asks nothing of the kernel: shows that the pipe works. */
#include "../bench.h"
#include "../dev.h"

#define STEPS 4000000	/* some milliseconds: each step waits for the last */

static int64_t null_ops(const struct bench_params *p)
{
	(void)p;
	return STEPS;
}

static int null_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	int64_t start = dev_now_ns();
	volatile uint64_t end;
	uint64_t x = 1;

	(void)l, (void)e;
	for (int i = 0; i < STEPS; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	end = x;
	(void)end;
	samples[0] = dev_now_ns() - start;
	return 0;
}

static const struct bench_metric METRICS[] = {
	{ "time_ns", "ns", 1, RECORD_LOWER },
};

const struct bench bench_null = {
	.name = "null",
	.what = "a fixed loop without a system call; runs anywhere",
	.rev = 1,
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = 1,
	.ops = null_ops,
	.iterate = null_iterate,
};
