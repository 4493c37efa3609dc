/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork, munmap, mprotect and mlock of the populated region: the neighbours of
 * GUP and mincore, which a change to folios may hurt. Each call is timed once a
 * pass; what makes the next pass equal to this one is not.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../../common/size.h"
#include "../bench.h"
#include "../dev.h"
#include "chase.h"

/* Memory that no pass has used yet, proven as the first was. */
static int renew(struct launch *l, struct err *e)
{
	struct region *r = &l->region;

	if (!r->map && region_map(r, l->mthp, l->folio_bytes,
				  l->params->memory_bytes, e))
		return -1;
	if (r->wrong[0])
		snprintf(l->wrong, sizeof(l->wrong), "%s", r->wrong);
	return 0;
}

/* A first fork write-protects the entries, a second would find that done. */
static int fork_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	if (renew(l, e) || chase_fork(samples, e))
		return -1;
	region_unmap(&l->region);
	return 0;
}

static int munmap_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	int64_t start;

	if (renew(l, e))
		return -1;
	start = dev_now_ns();
	if (munmap(l->region.addr, l->region.len))
		return err_set(e, "munmap: %s", strerror(errno));
	samples[0] = chase_lap(&start);
	region_unmap(&l->region);	/* what aligning had left over */
	return 0;
}

static int mprotect_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	int64_t start = dev_now_ns();

	if (mprotect(l->region.addr, l->region.len, PROT_READ))
		return err_set(e, "mprotect: %s", strerror(errno));
	samples[0] = chase_lap(&start);
	if (mprotect(l->region.addr, l->region.len, PROT_READ | PROT_WRITE))
		return err_set(e, "mprotect back: %s", strerror(errno));
	return 0;
}

static int mlock_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	int64_t start = dev_now_ns();

	if (mlock(l->region.addr, l->region.len))
		return err_set(e, "mlock: %s", strerror(errno));
	samples[0] = chase_lap(&start);
	if (munlock(l->region.addr, l->region.len))
		return err_set(e, "munlock: %s", strerror(errno));
	return 0;
}

/* As much as will be locked, but without a page behind it. */
static int mlock_can_run(const struct bench_params *p, struct err *e)
{
	void *at = mmap(NULL, p->memory_bytes, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char size[SIZE_TEXT];
	int ret = 0;

	if (at == MAP_FAILED)
		return err_set(e, "mmap: %s", strerror(errno));
	if (mlock2(at, p->memory_bytes, MLOCK_ONFAULT))
		ret = err_set(e, "mlock of %s: %s: raise `ulimit -l` or run as "
			      "root", size_text(p->memory_bytes, size),
			      strerror(errno));
	munmap(at, p->memory_bytes);
	return ret;
}

static const struct bench_metric METRICS[] = {
	{ "time_ns", "ns", 1, RECORD_LOWER },
};

/* Where each pass takes new memory, few are enough. */
#define NEIGHBOUR(id, text, can, n)					\
const struct bench bench_##id = {					\
	.name = #id, .what = (text), .rev = 1,				\
	.sized = true, .launches = 5, .iterations = (n),		\
	.defaults = { .memory_bytes = 256 << 20 },			\
	.metrics = METRICS, .nmetrics = 1,				\
	.can_run = (can), .iterate = id##_iterate,			\
}

NEIGHBOUR(fork, "fork() with populated memory; the child ends at once",
	  NULL, 3);
NEIGHBOUR(munmap, "munmap() of populated memory, one call", NULL, 3);
NEIGHBOUR(mprotect, "mprotect(PROT_READ) of populated memory, one call",
	  NULL, 5);
NEIGHBOUR(mlock, "mlock() of populated memory, one call", mlock_can_run, 5);
