/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The GUP family: the ioctls of the kernel's gup_test, never its tool, which
 * prints a small time and "ok" for calls that pinned nothing, or half of what
 * was asked. Here every pass has to show its pages: the size that came back,
 * and the kernel's own count of pins.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../common/size.h"
#include "../bench.h"
#include "../dev.h"

#define GUP_TEST	"/sys/kernel/debug/gup_test"
#define FOLL_WRITE	1	/* include/linux/mm_types.h */
#define HUGE_SHIFT	26	/* MAP_HUGE_SHIFT of linux/mman.h */

/* mm/gup_test.h. Its size is part of the ioctl's number. */
struct gup_test {
	uint64_t get_delta_usec, put_delta_usec, addr, size;
	uint32_t nr_pages_per_call, gup_flags, test_flags, which_pages[8];
};
_Static_assert(sizeof(struct gup_test) == 80, "as in Linux 5.11");

enum mode { GET_FAST = 1, PIN_FAST, PIN_LONGTERM, GET_BASIC, PIN_BASIC };

/* The ioctl's own times are whole us. CALL is the ioctl from outside: it has
 * the kernel's allocation for the pages in it, but in the lab, whose clock
 * counts instructions, it is exact. */
enum metric { GET, PUT, CALL, NMETRICS };
static const struct bench_metric METRICS[NMETRICS] = {
	[GET] = { "get_ns", "ns", 1000, RECORD_LOWER },
	[PUT] = { "put_ns", "ns", 1000, RECORD_LOWER },
	[CALL] = { "call_ns", "ns", 1, RECORD_LOWER },
};

/* The directory is there whether or not debugfs is mounted on it. */
static int say_missing(struct err *e)
{
	char mounts[64 << 10];

	if (dev_read("/proc/mounts", mounts, sizeof(mounts)) < 0)
		return err_set(e, "no " GUP_TEST ", and /proc/mounts: %s",
			       strerror(errno));
	if (strstr(mounts, " /sys/kernel/debug debugfs "))
		return err_set(e, "no CONFIG_GUP_TEST: " GUP_TEST " is not "
			       "there; needs Linux 5.11+ built with it");
	return err_set(e, "debugfs is not mounted: no " GUP_TEST "; "
		       "mount -t debugfs none /sys/kernel/debug");
}

static int gup_can_run(const struct bench_params *p, struct err *e)
{
	int fd;

	(void)p;
	if (!dev_state_dir())
		return err_set(e, "not root: only root opens " GUP_TEST
			       "; run as root");
	fd = dev_open(GUP_TEST, O_RDWR);
	if (fd < 0)
		return errno == ENOENT ? say_missing(e) :
		       err_set(e, GUP_TEST ": %s", strerror(errno));
	close(fd);
	return bench_counts_pins(e);
}

/* --- memory that region.c does not map: hugetlb, shared ------------------ */

static int64_t count(const char *dir, uint64_t folio_bytes, const char *file)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/mm/%s/hugepages-%" PRIu64
		 "kB/%s", dir, folio_bytes >> 10, file);
	return dev_read(path, text, sizeof(text)) < 0 ? RECORD_NULL :
	       strtoll(text, NULL, 10);
}

/* What moves with such memory: free hugetlb pages; or the large folios of all
 * shared memory, in any size that this kernel has and so counts. */
static int64_t moving(const struct launch *l)
{
	int64_t sum = dev_vmstat("thp_file_alloc"), n;

	if (l->params->hugetlb)
		return count("hugepages", l->folio_bytes, "free_hugepages");
	sum = sum > 0 ? sum : 0;
	for (size_t i = 0; i < l->mthp->n; i++) {
		n = count("transparent_hugepage", l->mthp->bytes[i],
			  "stats/shmem_alloc");
		sum += n > 0 ? n : 0;
	}
	return sum;
}

/* 0 if this kernel has @want such folios now, else 1 with @e. */
static int lacks(const struct launch *l, int64_t want, struct err *e)
{
	char size[SIZE_TEXT];
	int64_t has = moving(l);

	size_text(l->folio_bytes, size);
	if (!l->params->hugetlb && l->folio_bytes != l->mthp->base_bytes)
		err_set(e, "shared memory is measured in base pages only");
	else if (has == RECORD_NULL)
		err_set(e, "this kernel has no hugetlb pages of %s", size);
	else if (has < want)
		err_set(e, "%" PRId64 " of %" PRId64 " hugetlb pages of %s are "
			"free: raise nr_hugepages in /sys/kernel/mm/hugepages",
			has, want, size);
	else
		return 0;
	return 1;
}

/* In place of the anonymous region and of its proof. */
static int map_own(struct launch *l, struct err *e)
{
	bool huge = l->params->hugetlb;
	int order = __builtin_ctzll(l->folio_bytes);
	int flags = (l->params->shared ? MAP_SHARED : MAP_PRIVATE) |
		    (huge ? MAP_HUGETLB | order << HUGE_SHIFT : 0);
	struct region *r = &l->region;
	size_t len = r->len;
	int64_t want = huge ? (int64_t)(len / l->folio_bytes) : 0, took;

	if (lacks(l, want, e))
		return 1;
	region_unmap(r);
	*r = (struct region){
		.len = len, .map_len = len, .folio_bytes = l->folio_bytes,
		.folios = RECORD_NULL, .other_folios = RECORD_NULL,
		.map = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    flags | MAP_ANONYMOUS, -1, 0),
	};
	if (r->map == MAP_FAILED)
		return err_set(e, "mmap, %zu bytes: %s", len, strerror(errno));
	r->addr = r->map;
	if (!huge && l->mthp->pmd_bytes)
		(void)dev_madvise(r->addr, len, MADV_NOHUGEPAGE);
	took = moving(l);
	dev_touch(r->addr, len, l->mthp->base_bytes);
	took = huge ? took - moving(l) : moving(l) - took;
	if (took == want)
		r->proved = "counter";
	else
		snprintf(r->wrong, sizeof(r->wrong), "%" PRId64 " large folios "
			 "were taken, expected %" PRId64, took, want);
	return 0;
}

/* The process ends with its launch, and both fd and memory with it. */
static int gup_setup(struct launch *l, struct err *e)
{
	int fd = dev_open(GUP_TEST, O_RDWR);

	if (fd < 0)
		return err_set(e, GUP_TEST ": %s", strerror(errno));
	l->priv = (void *)(intptr_t)fd;
	return l->params->hugetlb || l->params->shared ? map_own(l, e) : 0;
}

/* --- one pass ------------------------------------------------------------ */

static int call(struct launch *l, enum mode mode, int64_t *out, struct err *e)
{
	uint64_t all = l->region.len / l->mthp->base_bytes;
	uint64_t n = l->params->pages_per_call;
	struct gup_test t = {
		.addr = (uintptr_t)l->region.addr, .size = l->region.len,
		.nr_pages_per_call = (uint32_t)(n < all ? n : all),
		.gup_flags = l->params->read ? 0 : FOLL_WRITE,
	};
	int64_t start = dev_now_ns();
	int ret = dev_ioctl((int)(intptr_t)l->priv,
			    _IOWR('g', mode, struct gup_test), &t);

	out[CALL] = dev_now_ns() - start;
	out[GET] = (int64_t)t.get_delta_usec * 1000;
	out[PUT] = (int64_t)t.put_delta_usec * 1000;
	if (ret)
		return err_set(e, "gup_test: %s%s", strerror(errno),
			       errno != EINVAL ? "" : ": this kernel's struct "
			       "gup_test is another, or it lacks this mode");
	if (t.size != l->region.len)
		return err_set(e, "gup_test: truncated: %" PRIu64 " of %zu "
			       "bytes, at %" PRIu32 " pages a call", t.size,
			       l->region.len, t.nr_pages_per_call);
	return 0;
}

/* The first longterm pin of memory in a movable or CMA zone migrates it and
 * pins again, which counts twice: in iteration 0, and never after. */
static int pin(struct launch *l, enum mode mode, int64_t *out, struct err *e)
{
	int64_t want = bench_ops(l->bench, l->params, l->mthp);
	int64_t before = bench_pins(), pins;
	bool first = l->pinned == RECORD_NULL;

	if (call(l, mode, out, e))
		return -1;
	pins = bench_pins() - before;
	if (first && mode == PIN_LONGTERM && pins == 2 * want)
		pins = want;
	if (pins != want)
		return err_set(e, "%" PRId64 " pages pinned, %" PRId64
			       " asked%s", pins, want, pins < want ? "" :
			       ": another process pins as well");
	l->pinned = pins;
	return 0;
}

/* A get without a pin counts nowhere: that the whole region can be got is shown
 * once, by a pass that pins and is not timed. */
static int pass(struct launch *l, enum mode mode, int64_t *out, struct err *e)
{
	bool get = mode == GET_FAST || mode == GET_BASIC;
	int64_t untimed[NMETRICS];

	if ((get ? call(l, mode, out, e) : pin(l, mode, out, e)) ||
	    (l->pinned == RECORD_NULL && pin(l, PIN_BASIC, untimed, e)))
		return -1;
	if (!out[GET] || !out[PUT])
		return err_set(e, "gup_test: 0 us for %" PRId64 " pages",
			       bench_ops(l->bench, l->params, l->mthp));
	return 0;
}

/* pages_per_call as in the mails: all of 256 MB in pages of 4 kB. */
#define GUP_BENCH(id, MODE, text, same)					\
static int id(struct launch *l, int64_t *out, struct err *e)		\
{ return pass(l, MODE, out, e); }					\
const struct bench bench_gup_##id = {					\
	.name = "gup." #id, .what = (text), .same_as = (same),		\
	.rev = 1, .sized = true, .launches = 5, .iterations = 5,	\
	.defaults = { .memory_bytes = 256 << 20,			\
		      .pages_per_call = 65536 },			\
	.metrics = METRICS, .nmetrics = NMETRICS,			\
	.can_run = gup_can_run, .setup = gup_setup, .iterate = (id),	\
}

/* Of the two _basic modes the tool prints no time: nothing is the same. */
GUP_BENCH(pin_longterm, PIN_LONGTERM,
	  "gup_test: pin_user_pages(), FOLL_LONGTERM: the slow path",
	  "gup_test -L -m 256 -n 65536 -r 16 -t");
GUP_BENCH(pin_fast, PIN_FAST, "gup_test: pin_user_pages_fast()",
	  "gup_test -a -m 256 -n 65536 -r 16 -t");
GUP_BENCH(get_fast, GET_FAST, "gup_test: get_user_pages_fast(): no pin",
	  "gup_test -u -m 256 -n 65536 -r 16 -t");
GUP_BENCH(get_basic, GET_BASIC, "gup_test: get_user_pages(): no pin", NULL);
GUP_BENCH(pin_basic, PIN_BASIC, "gup_test: pin_user_pages()", NULL);
