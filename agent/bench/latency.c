/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random dependent loads over the first N MB of one mapping, for each N that
 * fits: what the TLB makes of the folio size. Figures of caches and TLB: there
 * is nothing of them where the clock counts instructions.
 */
#include <stdlib.h>

#include "../../common/size.h"
#include "../bench.h"
#include "../dev.h"
#include "chase.h"

#define LOADS 200000	/* a size and pass: 60 ms at 300 ns */

static const uint64_t SIZES[] = {
	64ull << 20, 256ull << 20, 1ull << 30, 4ull << 30, 16ull << 30,
};
#define NSIZES (sizeof(SIZES) / sizeof(SIZES[0]))

static const struct bench_metric METRICS[NSIZES] = {
	{ "load_64m_ns", "ns", 1, RECORD_LOWER },
	{ "load_256m_ns", "ns", 1, RECORD_LOWER },
	{ "load_1g_ns", "ns", 1, RECORD_LOWER },
	{ "load_4g_ns", "ns", 1, RECORD_LOWER },
	{ "load_16g_ns", "ns", 1, RECORD_LOWER },
};

/* Never none: a bench that cannot run has a metric all the same. */
static size_t latency_metrics(const struct bench_params *p)
{
	size_t n = 1;

	while (n < NSIZES && SIZES[n] <= p->memory_bytes)
		n++;
	return n;
}

static int64_t latency_ops(const struct bench_params *p)
{
	(void)p;
	return LOADS;
}

static int latency_can_run(const struct bench_params *p, struct err *e)
{
	char least[SIZE_TEXT], is[SIZE_TEXT];

	if (chase_check(p->stride_bytes, e))
		return -1;
	if (p->memory_bytes >= SIZES[0])
		return 0;
	return err_set(e, "needs at least %s of memory, not %s",
		       size_text(SIZES[0], least),
		       size_text(p->memory_bytes, is));
}

static int latency_setup(struct launch *l, struct err *e)
{
	struct chase *c = malloc(NSIZES * sizeof(*c));

	if (!c)
		return err_set(e, "no memory");
	for (size_t i = 0; i < latency_metrics(l->params); i++)
		chase_init(&c[i], l->region.addr, SIZES[i],
			   l->params->stride_bytes);
	l->priv = c;
	return 0;
}

/* Each size goes on where its last pass ended: the lines that a pass visits
 * would fit in a large cache. */
static int latency_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	struct chase *c = l->priv;
	int64_t start = dev_now_ns();

	(void)e;
	for (size_t i = 0; i < latency_metrics(l->params); i++) {
		chase_loads(&c[i], LOADS);
		samples[i] = chase_lap(&start);
	}
	return 0;
}

static void latency_teardown(struct launch *l)
{
	free(l->priv);
}

const struct bench bench_latency = {
	.name = "latency",
	.what = "random dependent loads over 64m, 256m, 1g, ... of one mapping",
	.rev = 1,
	.sized = true,
	.defaults = { .memory_bytes = 1 << 30, .stride_bytes = 64 },
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = NSIZES,
	.metrics_used = latency_metrics,
	.ops = latency_ops,
	.can_run = latency_can_run,
	.setup = latency_setup,
	.iterate = latency_iterate,
	.teardown = latency_teardown,
};
