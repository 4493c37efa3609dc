/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_MTHP_H
#define AGENT_MTHP_H
/*
 * Anonymous folio sizes of this kernel. A size exists iff
 * hugepages-<n>kB/enabled exists (hugepages-8kB has none). Sizes depend on the
 * base page: nothing here assumes 4 kB or 2 MB.
 */
#include <stddef.h>
#include <stdint.h>

#include "../common/err.h"

#define THP "/sys/kernel/mm/transparent_hugepage"
#define MTHP_MAX 24

struct mthp {
	uint64_t base_bytes;		/* sysconf(_SC_PAGESIZE) */
	uint64_t pmd_bytes;		/* hpage_pmd_size; 0: no THP in this kernel */
	uint64_t bytes[MTHP_MAX];	/* ascending, above the base page, pmd last */
	size_t n;
};

/* What this kernel has. A kernel without THP gives n == 0, no error. */
int mthp_probe(struct mthp *m, struct err *e);

/* May sizes be set here? Changes nothing. -1 with @e: why not. */
int mthp_settable(const struct mthp *m, struct err *e);

/* Make @folio_bytes the only anonymous size (base page: none), for MADV_HUGEPAGE
 * memory: every other size "never", then this one "madvise"; all read back.
 * By settings.h, under its lock; writes nothing if that is so already. 1 with @e: sizes cannot
 * be set here. -1 with @e: it should have worked, e.g. a value did not stick. */
int mthp_set(const struct mthp *m, uint64_t folio_bytes, struct err *e);

/* anon_fault_alloc of one size; RECORD_NULL where the kernel has no per-size
 * counters. The base page has none by nature. */
int64_t mthp_fault_alloc(uint64_t folio_bytes);

#endif
