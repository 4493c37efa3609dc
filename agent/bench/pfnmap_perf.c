/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A PFN map on a stock kernel: the ring buffer of a software event that never
 * fires. The first mmap of it allocates the pages and stays; a second one of
 * the same file is remap_pfn_range() alone, page by page: PTE level only. The
 * pages read as zero and cannot be written.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../common/size.h"
#include "../bench.h"
#include "../dev.h"
#include "chase.h"

#define TO_BYTES (1 << 20)	/* stays in a second-level cache */

enum { MMAP, MUNMAP, LOAD, COPY, NMETRICS };
static const struct bench_metric METRICS[NMETRICS] = {
	[MMAP] = { "mmap_ns", "ns", 1, RECORD_LOWER },
	[MUNMAP] = { "munmap_ns", "ns", 1, RECORD_LOWER },
	[LOAD] = { "load_ns", "ns", 1, RECORD_LOWER },
	[COPY] = { "copy_ns", "ns", 1, RECORD_LOWER },
};

struct ring {
	int fd;
	size_t len;		/* one page of control, then the memory */
	unsigned char *first;	/* keeps the pages */
	struct chase chase;
	unsigned char to[TO_BYTES];
};

static void ring_close(struct ring *r)
{
	if (!r)
		return;
	if (r->first != MAP_FAILED)
		munmap(r->first, r->len);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static int ring_map(struct ring *r, uint64_t memory, struct err *e)
{
	char release[128] = "?", size[SIZE_TEXT];
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1,
	};
	int pfn;

	r->fd = dev_perf_open(&attr);
	if (r->fd < 0)
		return err_set(e, "perf_event_open: %s: needs "
			       "CONFIG_PERF_EVENTS and leave to use it; run as "
			       "root", strerror(errno));
	r->first = mmap(NULL, r->len, PROT_READ, MAP_SHARED, r->fd, 0);
	if (r->first == MAP_FAILED)
		return err_set(e, "a perf ring of %s: %s: more than "
			       "kernel.perf_event_mlock_kb needs root",
			       size_text(memory, size), strerror(errno));
	pfn = dev_vm_flag(r->first, "pf");
	if (pfn < 0)
		return err_set(e, "/proc/self/smaps: %s: whether this is a PFN "
			       "map cannot be seen", strerror(errno));
	if (pfn)
		return 0;
	(void)dev_read("/proc/sys/kernel/osrelease", release, sizeof(release));
	return err_set(e, "kernel %s: a perf ring is no PFN map, but mapped "
		       "page by page by fault; needs Linux 6.14 or newer",
		       release);
}

static struct ring *ring_open(uint64_t memory, struct err *e)
{
	struct ring *r = malloc(sizeof(*r));

	if (!r) {
		err_set(e, "no memory");
		return NULL;
	}
	r->fd = -1;
	r->first = MAP_FAILED;
	r->len = dev_page_bytes() + memory;
	memset(r->to, 0, sizeof(r->to));
	if (!ring_map(r, memory, e))
		return r;
	ring_close(r);
	return NULL;
}

static int perf_can_run(const struct bench_params *p, struct err *e)
{
	char size[SIZE_TEXT];
	struct ring *r;

	if (chase_check(p->stride_bytes, e))
		return -1;
	if (p->memory_bytes & (p->memory_bytes - 1))
		return err_set(e, "a perf ring is a power of two in size, not "
			       "%s", size_text(p->memory_bytes, size));
	r = ring_open(p->memory_bytes, e);
	ring_close(r);
	return r ? 0 : -1;
}

static int perf_setup(struct launch *l, struct err *e)
{
	uint64_t memory = l->params->memory_bytes;
	struct ring *r = ring_open(memory, e);

	l->priv = r;
	if (!r)
		return -1;
	chase_init(&r->chase, r->first + l->mthp->base_bytes, memory,
		   l->params->stride_bytes);
	return 0;
}

/* Loads and copy go over the first map, which was seen to be of PFNs. */
static int perf_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	size_t base = l->mthp->base_bytes, memory = l->params->memory_bytes;
	struct ring *r = l->priv;
	int64_t start = dev_now_ns();
	void *at = mmap(NULL, r->len, PROT_READ, MAP_SHARED, r->fd, 0);

	if (at == MAP_FAILED)
		return err_set(e, "a second mmap of the ring: %s",
			       strerror(errno));
	samples[MMAP] = chase_lap(&start);
	if (munmap(at, r->len))
		return err_set(e, "munmap: %s", strerror(errno));
	samples[MUNMAP] = chase_lap(&start);
	chase_loads(&r->chase, memory / base);
	samples[LOAD] = chase_lap(&start);
	chase_copy_out(r->first + base, memory, r->to, TO_BYTES);
	samples[COPY] = chase_lap(&start);
	return 0;
}

static void perf_teardown(struct launch *l)
{
	ring_close(l->priv);
}

const struct bench bench_pfnmap_perf = {
	.name = "pfnmap.perf",
	.what = "a PFN map on stock kernels (6.14+): a perf ring, base pages",
	.rev = 1,
	.defaults = { .memory_bytes = 256 << 20, .stride_bytes = 64 },
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = NMETRICS,
	.can_run = perf_can_run,
	.setup = perf_setup,
	.iterate = perf_iterate,
	.teardown = perf_teardown,
};
