/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_REGION_H
#define AGENT_REGION_H
/*
 * Anonymous memory for a benchmark, aligned to the PMD size, populated, and
 * proven to be in folios of the wanted size: by the per-size counters and,
 * where /proc/self/pagemap and /proc/kpageflags may be read, page by page for
 * this very process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/err.h"
#include "mthp.h"

struct region {
	unsigned char *addr;	/* PMD-aligned */
	size_t len;		/* a multiple of the PMD size */
	void *map;		/* what mmap gave; private to region.c */
	size_t map_len;
	uint64_t folio_bytes;
	/* The proof, filled by region_map(): */
	int64_t folios;		/* of the wanted size; null: not countable */
	int64_t other_folios;	/* of any other size */
	const char *proved;	/* as struct record_launch; NULL: not proven */
	char wrong[160];	/* "12 of 8192 folios fell back"; "" if right */
};

/* Map, MADV_HUGEPAGE (or NOHUGEPAGE for the base page), write-touch, prove.
 * mthp_set() came before. A wrong size is no error: see @wrong. */
int region_map(struct region *r, const struct mthp *m, uint64_t folio_bytes,
	       size_t len, struct err *e);
void region_unmap(struct region *r);

#endif
