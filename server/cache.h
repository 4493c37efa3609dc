/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_CACHE_H
#define SERVER_CACHE_H
/*
 * Answers that were made once, plain and gzipped, kept by the hash of all that
 * they depend on. Pages never change and are shared by reference; what is out
 * of date is never asked for again and falls off the end.
 */
#include <stdatomic.h>

#include "../common/buf.h"

#define CACHE_PAGES	512
#define CACHE_BYTES	(8u << 20)	/* of all pages kept */
#define CACHE_BIGGEST	(CACHE_BYTES / 8) /* a bigger one is not kept */
#define CACHE_KEY	33		/* a key is 128 bits in hex, and a NUL */

struct page {
	atomic_uint refs;
	struct buf plain, gz;	/* gz.s NULL: not worth it */
};

/* Takes @body and compresses it if that pays. The caller holds the one
 * reference. NULL: no memory; @body is as it was. */
struct page *page_new(struct buf *body, const char *type);
void page_put(struct page *p);			/* NULL is allowed */

/* A new reference, or NULL. */
struct page *cache_get(const char *key);
/* Keep @p as well; the caller's reference stays his. */
void cache_add(const char *key, struct page *p);

#endif
