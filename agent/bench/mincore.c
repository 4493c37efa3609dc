/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mincore() of the whole region in one call. Anonymous memory only: for a file
 * mapping that the caller may not write, mincore answers without looking.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"
#include "../dev.h"

static int mincore_setup(struct launch *l, struct err *e)
{
	size_t pages = l->region.len / l->mthp->base_bytes;

	l->priv = malloc(pages);
	if (!l->priv)
		return err_set(e, "no memory for a vector of %zu bytes", pages);
	memset(l->priv, 0xff, pages);	/* its faults are not ours to time */
	return 0;
}

static int mincore_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	size_t pages = l->region.len / l->mthp->base_bytes, resident = 0;
	unsigned char *vec = l->priv;
	int64_t start = dev_now_ns();

	if (dev_mincore(l->region.addr, l->region.len, vec))
		return err_set(e, "mincore: %s", strerror(errno));
	samples[0] = dev_now_ns() - start;
	for (size_t i = 0; i < pages; i++)
		resident += vec[i] & 1;
	if (resident != pages)
		return err_set(e, "mincore: %zu of %zu pages resident", resident,
			       pages);
	return 0;
}

static void mincore_teardown(struct launch *l)
{
	free(l->priv);
}

static const struct bench_metric METRICS[] = {
	{ "time_ns", "ns", 1, RECORD_LOWER },
};

const struct bench bench_mincore = {
	.name = "mincore",
	.what = "mincore() over anonymous memory, one call",
	.rev = 1,
	.sized = true,
	.defaults = { .memory_bytes = 256 << 20 },
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = 1,
	.setup = mincore_setup,
	.iterate = mincore_iterate,
	.teardown = mincore_teardown,
};
