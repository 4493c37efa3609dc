/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process_vm_readv() of the process itself: pin_user_pages_remote(), on any
 * kernel. One byte is copied a call, so that pinning is what is timed.
 *
 * The kernel pins as many pages at once as their pointers fill two pages: 1,024
 * on 4 kB pages, however long the iovec. A longer iovec with one byte to copy
 * would pin no more and look 42 times too fast; hence calls of that size, and
 * the kernel's own count of pins after each pass.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../bench.h"
#include "../dev.h"

#define CALL_BYTES (4u << 20)	/* within the limit for any base page >= 4 kB */

static int pvm_can_run(const struct bench_params *p, struct err *e)
{
	char from = 1, to;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	(void)p;
	if (dev_vm_readv(getpid(), &local, 1, &remote, 1) != 1)
		return err_set(e, "process_vm_readv: %s: needs "
			       "CONFIG_CROSS_MEMORY_ATTACH", strerror(errno));
	return bench_counts_pins(e);
}

static int pvm_iterate(struct launch *l, int64_t *samples, struct err *e)
{
	int64_t pages = (int64_t)(l->region.len / l->mthp->base_bytes);
	int64_t before = bench_pins(), start = dev_now_ns();
	char to;
	struct iovec local = { &to, 1 };

	for (size_t off = 0; off < l->region.len; off += CALL_BYTES) {
		size_t left = l->region.len - off;
		struct iovec remote = { l->region.addr + off,
					left < CALL_BYTES ? left : CALL_BYTES };

		if (dev_vm_readv(getpid(), &local, 1, &remote, 1) != 1)
			return err_set(e, "process_vm_readv: %s", strerror(errno));
	}
	samples[0] = dev_now_ns() - start;
	l->pinned = bench_pins() - before;
	if (l->pinned != pages)
		snprintf(l->wrong, sizeof(l->wrong), "%lld pages pinned, %lld asked",
			 (long long)l->pinned, (long long)pages);
	return 0;
}

static const struct bench_metric METRICS[] = {
	{ "time_ns", "ns", 1, RECORD_LOWER },
};

const struct bench bench_pvm = {
	.name = "pvm",
	.what = "process_vm_readv() of self: pins remotely, 4 MB a call",
	.rev = 1,
	.sized = true,
	.defaults = { .memory_bytes = 256 << 20 },
	.launches = 5,
	.iterations = 5,
	.metrics = METRICS,
	.nmetrics = 1,
	.can_run = pvm_can_run,
	.iterate = pvm_iterate,
};
