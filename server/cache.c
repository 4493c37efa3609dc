/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages in memory: a hash table, a list by last use, one lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cache.h"

#define BUCKETS		256
#define GZIP_LEAST	1024	/* below it, headers eat the gain */
#define GZIP_LEVEL	2

struct page {
	atomic_uint refs;
	const char *type;
	bool frozen;
	struct buf plain;
	unsigned char *gz;	/* NULL: not worth it */
	size_t gz_len;
	/* Under the cache's lock: */
	char key[CACHE_KEY];
	struct page *chain;		/* of one bucket */
	struct page *newer, *older;	/* by last use */
};

static struct {
	pthread_mutex_t lock;
	struct page *bucket[BUCKETS];
	struct page *newest, *oldest;
	size_t bytes;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_compressible(const char *type)
{
	return !strncmp(type, "text/", 5) || !strcmp(type, "image/svg+xml") ||
	       !strncmp(type, "application/json", 16);
}

/* Sets @p->gz on success only: without it the plain text is sent. */
static void page_gzip(struct page *p)
{
	z_stream z = { 0 };
	size_t cap = p->plain.len - p->plain.len / 8;

	if (p->plain.len < GZIP_LEAST || !is_compressible(p->type) ||
	    deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	p->gz = malloc(cap);
	z.next_in = (unsigned char *)p->plain.s;
	z.avail_in = (uInt)p->plain.len;
	z.next_out = p->gz;
	z.avail_out = (uInt)cap;
	if (p->gz && deflate(&z, Z_FINISH) == Z_STREAM_END) {
		unsigned char *fit = realloc(p->gz, z.total_out);

		if (fit)
			p->gz = fit;
		p->gz_len = z.total_out;
	} else {
		free(p->gz);
		p->gz = NULL;
	}
	deflateEnd(&z);
}

struct page *page_new(struct buf *body, const char *type, bool frozen)
{
	struct page *p = buf_ok(body) ? calloc(1, sizeof(*p)) : NULL;

	if (!p) {
		buf_free(body);
		return NULL;
	}
	atomic_init(&p->refs, 1);
	p->type = type;
	p->frozen = frozen;
	p->plain.s = buf_detach(body, &p->plain.len);
	page_gzip(p);
	return p;
}

void page_put(struct page *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
		return;
	buf_free(&p->plain);
	free(p->gz);
	free(p);
}

const char *page_type(const struct page *p)
{
	return p->type;
}

bool page_frozen(const struct page *p)
{
	return p->frozen;
}

bool page_has_gzip(const struct page *p)
{
	return p->gz;
}

const unsigned char *page_data(const struct page *p, bool gzip, size_t *len)
{
	*len = gzip ? p->gz_len : p->plain.len;
	return gzip ? p->gz : (const unsigned char *)p->plain.s;
}

static size_t page_bytes(const struct page *p)
{
	return sizeof(*p) + p->plain.len + p->gz_len;
}

/* --- under the lock ------------------------------------------------------- */

static struct page **slot(const char *key)
{
	size_t hash = 0;
	struct page **at;

	for (size_t i = 0; i < 4 && key[i]; i++)
		hash = hash * 31 + (unsigned char)key[i];
	at = &cache.bucket[hash % BUCKETS];
	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->chain;
	return at;
}

static void list_remove(struct page *p)
{
	*(p->newer ? &p->newer->older : &cache.newest) = p->older;
	*(p->older ? &p->older->newer : &cache.oldest) = p->newer;
}

static void list_push(struct page *p)
{
	p->newer = NULL;
	p->older = cache.newest;
	*(p->older ? &p->older->newer : &cache.oldest) = p;
	cache.newest = p;
}

static void drop(struct page *p)
{
	*slot(p->key) = p->chain;
	list_remove(p);
	cache.bytes -= page_bytes(p);
	page_put(p);
}

struct page *cache_get(const char *key)
{
	struct page *p;

	pthread_mutex_lock(&cache.lock);
	p = *slot(key);
	if (p) {
		atomic_fetch_add(&p->refs, 1);
		list_remove(p);
		list_push(p);
	}
	pthread_mutex_unlock(&cache.lock);
	return p;
}

void cache_add(const char *key, struct page *p)
{
	struct page **at;

	if (page_bytes(p) > CACHE_BIGGEST)
		return;
	pthread_mutex_lock(&cache.lock);
	at = slot(key);
	if (!*at) {		/* else another thread was quicker */
		atomic_fetch_add(&p->refs, 1);
		snprintf(p->key, sizeof(p->key), "%s", key);
		*at = p;
		list_push(p);
		cache.bytes += page_bytes(p);
		while (cache.oldest && cache.bytes > CACHE_BYTES)
			drop(cache.oldest);
	}
	pthread_mutex_unlock(&cache.lock);
}
