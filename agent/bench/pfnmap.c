/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PFN maps of our test driver (pfnmap_test.h): made by remap_pfn_range() or by
 * fault, at the level that the folio size names. The driver tells the level
 * that was really mapped; it is the proof.
 *
 * A map takes page tables whatever its level: for its PTEs, or kept for the day
 * when a PMD is split. tables_alloc and tables_free are what allocation and
 * free of as many cost alone, so that the work of mapping can be seen: it is
 * mmap (by fault: touch) less tables_alloc, and munmap less tables_free. A
 * kernel may free a map's tables after munmap() has returned; then the latter
 * takes off too much.
 */
#include "pfnmap_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../common/size.h"
#include "../bench.h"
#include "../dev.h"
#include "chase.h"

#define TABLES_TIMES 3	/* the least: a tick may fall into one */
/* Of 128 tables: what the page allocator's lists hold when it starts. Two
 * kernels that differ elsewhere were seen 200 instructions apart. */
#define TABLES_QUANTUM 500

enum { MMAP, TOUCH, LOAD, COPY, FORK, MUNMAP, TABLES_ALLOC, TABLES_FREE,
       NMETRICS };
static const struct bench_metric METRICS[NMETRICS] = {
	[MMAP] = { "mmap_ns", "ns", 1, RECORD_LOWER },
	[TOUCH] = { "touch_ns", "ns", 1, RECORD_LOWER },	/* each page */
	[LOAD] = { "load_ns", "ns", 1, RECORD_LOWER },
	[COPY] = { "copy_ns", "ns", 1, RECORD_LOWER },
	[FORK] = { "fork_ns", "ns", 1, RECORD_LOWER },
	[MUNMAP] = { "munmap_ns", "ns", 1, RECORD_LOWER },
	[TABLES_ALLOC] = { "tables_alloc_ns", "ns", TABLES_QUANTUM,
			   RECORD_LOWER },
	[TABLES_FREE] = { "tables_free_ns", "ns", TABLES_QUANTUM,
			  RECORD_LOWER },
};

struct pfnmap {
	int fd;
	enum pfnmap_test_how how;
	unsigned char *at;	/* where each pass maps: aligned to the PMD */
	size_t len;
	struct chase chase;
};

static int pfnmap_can_run(const struct bench_params *p, struct err *e)
{
	char has[SIZE_TEXT], asked[SIZE_TEXT];
	struct pfnmap_test_info info;
	int fd, ret = 0;

	if (chase_check(p->stride_bytes, e))
		return -1;
	fd = dev_open(PFNMAP_TEST_NODE, O_RDWR);
	if (fd < 0 && errno == ENOENT)
		return err_set(e, "no " PFNMAP_TEST_NODE ": needs "
			       "CONFIG_PFNMAP_TEST (mmtrend's kernel patches)");
	if (fd < 0)
		return err_set(e, PFNMAP_TEST_NODE ": %s; run as root",
			       strerror(errno));
	if (dev_ioctl(fd, PFNMAP_TEST_INFO, &info))
		ret = err_set(e, PFNMAP_TEST_NODE ": %s: not the driver of "
			      "this mmtrend's kernel patches", strerror(errno));
	else if (info.memory_bytes < p->memory_bytes)
		ret = err_set(e, PFNMAP_TEST_NODE " has %s of memory, %s asked",
			      size_text(info.memory_bytes, has),
			      size_text(p->memory_bytes, asked));
	close(fd);
	return ret;
}

/* Aligned to the PMD, with nothing there. */
static unsigned char *find_place(const struct mthp *m, size_t len)
{
	size_t align = m->pmd_bytes ? m->pmd_bytes : m->base_bytes;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	unsigned char *p = mmap(NULL, len + align, PROT_NONE, flags, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	munmap(p, len + align);
	return p + (align - (size_t)p % align) % align;
}

/* 1 with @e: there is no such map of this size. */
static int lacks(const struct launch *l, enum pfnmap_test_how how,
		 struct err *e)
{
	bool base = l->folio_bytes == l->mthp->base_bytes;

	if (!base && l->folio_bytes != l->mthp->pmd_bytes)
		err_set(e, "PFN maps are of base pages or PMDs");
	else if (!base && how == PFNMAP_TEST_FAULT)
		err_set(e, "vmf_insert_pfn() maps base pages");
	else if (base && how == PFNMAP_TEST_HUGE_FAULT)
		err_set(e, "vmf_insert_pfn_pmd() maps PMDs");
	else
		return 0;
	return 1;
}

static int setup(struct launch *l, enum pfnmap_test_how how, struct err *e)
{
	struct pfnmap_test_setup want = { .how = how,
					  .level_bytes = l->folio_bytes };
	struct pfnmap *p;

	if (lacks(l, how, e))
		return 1;
	region_unmap(&l->region);	/* the driver has the memory */
	l->region = (struct region){ .folio_bytes = l->folio_bytes };
	l->priv = p = malloc(sizeof(*p));
	if (!p)
		return err_set(e, "no memory");
	p->how = how;
	p->len = l->params->memory_bytes;
	p->at = find_place(l->mthp, p->len);
	p->fd = dev_open(PFNMAP_TEST_NODE, O_RDWR);
	if (!p->at || p->fd < 0 || dev_ioctl(p->fd, PFNMAP_TEST_SETUP, &want))
		return err_set(e, PFNMAP_TEST_NODE ": %s", strerror(errno));
	chase_init(&p->chase, p->at, p->len, l->params->stride_bytes);
	return 0;
}

static int setup_remap(struct launch *l, struct err *e)
{
	return setup(l, PFNMAP_TEST_REMAP, e);
}

static int setup_fault(struct launch *l, struct err *e)
{
	return setup(l, PFNMAP_TEST_FAULT, e);
}

static int setup_huge_fault(struct launch *l, struct err *e)
{
	return setup(l, PFNMAP_TEST_HUGE_FAULT, e);
}

/* Entries of the wanted level are to the launch what folios are elsewhere. The
 * level is asked of the two that map by fault. remap_pfn_range() is given a
 * range that PMDs fit, and what it makes of it is the kernel's business: one
 * that only knows base pages has a figure too, which says so. */
static int prove(struct launch *l, const struct pfnmap *p, struct err *e)
{
	struct pfnmap_test_levels is = { .addr = (uintptr_t)p->at,
					 .len = p->len };
	bool pmd = l->folio_bytes != l->mthp->base_bytes;
	char has[SIZE_TEXT], all[SIZE_TEXT], level[SIZE_TEXT];
	uint64_t right, other;

	if (dev_ioctl(p->fd, PFNMAP_TEST_LEVELS, &is))
		return err_set(e, "levels of " PFNMAP_TEST_NODE ": %s",
			       strerror(errno));
	right = pmd ? is.pmd_bytes : is.pte_bytes;
	other = pmd ? is.pte_bytes : is.pmd_bytes;
	l->region.folios = (int64_t)(right / l->folio_bytes);
	l->region.other_folios = (int64_t)(other / (pmd ? l->mthp->base_bytes :
							  l->mthp->pmd_bytes));
	if (right == p->len && !other)
		l->region.proved = "driver";
	else if (other == p->len && !right && pmd && p->how == PFNMAP_TEST_REMAP)
		l->region.proved = "driver: base pages";
	if (!l->region.proved)
		snprintf(l->wrong, sizeof(l->wrong), "%s of %s mapped at the "
			 "%s level", right ? size_text(right, has) : "0",
			 size_text(p->len, all),
			 size_text(l->folio_bytes, level));
	return 0;
}

static int tables(const struct pfnmap *p, struct pfnmap_test_tables *t,
		  struct err *e)
{
	if (!dev_ioctl(p->fd, PFNMAP_TEST_TABLES, t))
		return 0;
	return err_set(e, "page tables of " PFNMAP_TEST_NODE ": %s",
		       strerror(errno));
}

/* Of as many page tables as this process has more than it had. */
static int time_tables(const struct pfnmap *p, uint64_t had, int64_t *samples,
		       struct err *e)
{
	struct pfnmap_test_tables t = { .nr = 0 };
	uint64_t alloc_ns = UINT64_MAX, free_ns = UINT64_MAX;

	if (tables(p, &t, e))
		return -1;
	t.nr = t.held - had;
	for (int i = 0; i < TABLES_TIMES; i++) {
		if (tables(p, &t, e))
			return -1;
		alloc_ns = t.alloc_ns < alloc_ns ? t.alloc_ns : alloc_ns;
		free_ns = t.free_ns < free_ns ? t.free_ns : free_ns;
	}
	samples[TABLES_ALLOC] = (int64_t)alloc_ns;
	samples[TABLES_FREE] = (int64_t)free_ns;
	return 0;
}

static int pfnmap_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	struct pfnmap *p = l->priv;
	struct pfnmap_test_tables had = { .nr = 0 };
	size_t base = l->mthp->base_bytes;
	int64_t start;
	void *at;

	if (tables(p, &had, e))
		return -1;
	start = dev_now_ns();
	at = mmap(p->at, p->len, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED_NOREPLACE, p->fd, 0);
	if (at != p->at)
		return err_set(e, "mmap of " PFNMAP_TEST_NODE ": %s",
			       at == MAP_FAILED ? strerror(errno) :
						  "not at the address asked");
	samples[MMAP] = chase_lap(&start);
	dev_touch(p->at, p->len, base);
	samples[TOUCH] = chase_lap(&start);
	if (prove(l, p, e) || time_tables(p, had.held, samples, e))
		return -1;
	start = dev_now_ns();
	chase_loads(&p->chase, p->len / base);
	samples[LOAD] = chase_lap(&start);
	chase_copy(p->at, p->len);
	samples[COPY] = chase_lap(&start);
	if (chase_fork(&samples[FORK], e))
		return -1;
	start = dev_now_ns();
	if (munmap(p->at, p->len))
		return err_set(e, "munmap: %s", strerror(errno));
	samples[MUNMAP] = chase_lap(&start);
	return 0;
}

static void pfnmap_teardown(struct launch *l)
{
	struct pfnmap *p = l->priv;

	close(p->fd);
	free(p);
}

#define PFNMAP_BENCH(id, text)						\
const struct bench bench_pfnmap_##id = {				\
	.name = "pfnmap." #id, .what = (text), .rev = 3,		\
	.sized = true, .launches = 5, .iterations = 5,			\
	.defaults = { .memory_bytes = 256 << 20, .stride_bytes = 64 },	\
	.metrics = METRICS, .nmetrics = NMETRICS,			\
	.can_run = pfnmap_can_run, .setup = setup_##id,			\
	.iterate = pfnmap_iterate, .teardown = pfnmap_teardown,		\
}

PFNMAP_BENCH(remap, "a map by remap_pfn_range(), of base pages or PMDs");
PFNMAP_BENCH(fault, "a map by fault, vmf_insert_pfn(): base pages");
PFNMAP_BENCH(huge_fault, "a map by fault, vmf_insert_pfn_pmd(): PMDs");
