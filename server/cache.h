/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_CACHE_H
#define SERVER_CACHE_H
/*
 * Answers that were made once, plain and gzipped, kept by the hash of all that
 * they depend on. Entries never change and are shared by reference; what is
 * out of date is never asked for again and falls off the end.
 */
#include <stdbool.h>
#include <stddef.h>

#include "../common/buf.h"

#define CACHE_BYTES	(8u << 20)	/* of all bodies kept */
#define CACHE_BIGGEST	(CACHE_BYTES / 8) /* a bigger one is not kept */
#define CACHE_KEY	33		/* a key is 128 bits in hex, and a NUL */

struct page;

/* Takes @body (which is empty afterwards) and compresses it if that pays. The
 * caller holds the one reference. @type is static. NULL: no memory. */
struct page *page_new(struct buf *body, const char *type, bool frozen);
void page_put(struct page *p);			/* NULL is allowed */

const char *page_type(const struct page *p);
bool page_frozen(const struct page *p);
bool page_has_gzip(const struct page *p);
const unsigned char *page_data(const struct page *p, bool gzip, size_t *len);

/* A new reference, or NULL. */
struct page *cache_get(const char *key);
/* Keep @p as well; the caller's reference stays his. */
void cache_add(const char *key, struct page *p);

#endif
