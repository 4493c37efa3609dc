/* SPDX-License-Identifier: GPL-2.0-only */
/* memcpy() between the halves of the region, there and back. */
#include "../../common/size.h"
#include "../bench.h"
#include "../dev.h"
#include "chase.h"

#define MOST (4ull << 30)	/* 0.5 s: throttling comes at 0.95 s */

static int memcpy_can_run(const struct bench_params *p, struct err *e)
{
	char most[SIZE_TEXT], is[SIZE_TEXT];

	if (p->memory_bytes <= MOST)
		return 0;
	return err_set(e, "a pass over %s is too long for one burst: at most "
		       "%s", size_text(p->memory_bytes, is),
		       size_text(MOST, most));
}

static int memcpy_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	int64_t start = dev_now_ns();

	(void)e;
	chase_copy(l->region.addr, l->region.len);
	samples[0] = chase_lap(&start);
	return 0;
}

static const struct bench_metric METRICS[] = {
	{ "copy_ns", "ns", 1, RECORD_LOWER },
};

const struct bench bench_memcpy = {
	.name = "memcpy",
	.what = "memcpy() between the halves of the memory, there and back",
	.rev = 1,
	.sized = true,
	.defaults = { .memory_bytes = 1 << 30 },
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = 1,
	.can_run = memcpy_can_run,
	.iterate = memcpy_iterate,
};
