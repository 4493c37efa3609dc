/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MADV_POPULATE_READ and _WRITE of memory that is populated already: the slow
 * GUP walk, without a pin, on any kernel since 5.14.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../bench.h"
#include "../dev.h"

/* The kernel looks at the advice before the range: an empty one costs nothing. */
static int can_populate(int advice, const char *name, struct err *e)
{
	if (dev_madvise(NULL, 0, advice))
		return err_set(e, "no %s (%s): needs Linux 5.14 or newer", name,
			       strerror(errno));
	return 0;
}

static int can_read(const struct bench_params *p, struct err *e)
{
	(void)p;
	return can_populate(MADV_POPULATE_READ, "MADV_POPULATE_READ", e);
}

static int can_write(const struct bench_params *p, struct err *e)
{
	(void)p;
	return can_populate(MADV_POPULATE_WRITE, "MADV_POPULATE_WRITE", e);
}

static int populate(struct launch *l, int advice, int64_t *samples, struct err *e)
{
	int64_t start = dev_now_ns();

	if (dev_madvise(l->region.addr, l->region.len, advice))
		return err_set(e, "madvise: %s", strerror(errno));
	samples[0] = dev_now_ns() - start;
	return 0;
}

static int populate_read(struct launch *l, int64_t *samples, struct err *e)
{
	return populate(l, MADV_POPULATE_READ, samples, e);
}

static int populate_write(struct launch *l, int64_t *samples, struct err *e)
{
	return populate(l, MADV_POPULATE_WRITE, samples, e);
}

static const struct bench_metric METRICS[] = {
	{ "time_ns", "ns", 1, RECORD_LOWER },
};

const struct bench bench_populate_read = {
	.name = "populate.read",
	.what = "MADV_POPULATE_READ of populated memory: slow GUP walk, no pin",
	.rev = 1,
	.sized = true,
	.defaults = { .memory_bytes = 256 << 20 },
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = 1,
	.can_run = can_read,
	.iterate = populate_read,
};

const struct bench bench_populate_write = {
	.name = "populate.write",
	.what = "MADV_POPULATE_WRITE of populated memory: slow GUP walk, no pin",
	.rev = 1,
	.sized = true,
	.defaults = { .memory_bytes = 256 << 20 },
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = 1,
	.can_run = can_write,
	.iterate = populate_write,
};
