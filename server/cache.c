/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages in memory: a table by last use, one lock.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cache.h"

#define GZIP_LEAST	1024	/* below it, headers eat the gain */
#define GZIP_LEVEL	2

static struct slot {
	char key[CACHE_KEY];
	struct page *page;	/* NULL: free */
	uint64_t used;
} slots[CACHE_PAGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t bytes;
static uint64_t uses;

/* Sets @p->gz on success only: without it the plain text is sent. */
static void page_gzip(struct page *p)
{
	z_stream z = { 0 };
	size_t cap = p->plain.len - p->plain.len / 8;
	unsigned char *out;

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	out = malloc(cap);
	z.next_in = (unsigned char *)p->plain.s;
	z.avail_in = (uInt)p->plain.len;
	z.next_out = out;
	z.avail_out = (uInt)cap;
	if (out && deflate(&z, Z_FINISH) == Z_STREAM_END)
		buf_add(&p->gz, out, z.total_out);
	deflateEnd(&z);
	free(out);
}

struct page *page_new(struct buf *body, const char *type)
{
	struct page *p = buf_ok(body) ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	atomic_init(&p->refs, 1);
	p->plain = *body;
	*body = (struct buf)BUF_INIT;
	if (p->plain.len >= GZIP_LEAST && strcmp(type, "image/png") != 0)
		page_gzip(p);
	return p;
}

void page_put(struct page *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
		return;
	buf_free(&p->plain);
	buf_free(&p->gz);
	free(p);
}

static size_t page_bytes(const struct page *p)
{
	return sizeof(*p) + p->plain.cap + p->gz.cap;
}

/* --- under the lock ------------------------------------------------------- */

/* The slot of @key ("": a free one), or NULL. */
static struct slot *find(const char *key)
{
	for (size_t i = 0; i < CACHE_PAGES; i++)
		if (!strcmp(slots[i].key, key))
			return &slots[i];
	return NULL;
}

static void drop_oldest(void)
{
	struct slot *oldest = NULL;

	for (struct slot *s = slots; s < slots + CACHE_PAGES; s++)
		if (s->page && (!oldest || s->used < oldest->used))
			oldest = s;
	if (!oldest)
		return;
	bytes -= page_bytes(oldest->page);
	page_put(oldest->page);
	*oldest = (struct slot){ 0 };
}

struct page *cache_get(const char *key)
{
	struct page *p = NULL;
	struct slot *s;

	pthread_mutex_lock(&lock);
	s = find(key);
	if (s) {
		p = s->page;
		s->used = ++uses;
		atomic_fetch_add(&p->refs, 1);
	}
	pthread_mutex_unlock(&lock);
	return p;
}

void cache_add(const char *key, struct page *p)
{
	struct slot *s;

	if (page_bytes(p) > CACHE_BIGGEST)
		return;
	pthread_mutex_lock(&lock);
	if (!find(key)) {	/* else another thread was quicker */
		while (!(s = find("")) || bytes + page_bytes(p) > CACHE_BYTES)
			drop_oldest();
		snprintf(s->key, sizeof(s->key), "%s", key);
		s->page = p;
		s->used = ++uses;
		bytes += page_bytes(p);
		atomic_fetch_add(&p->refs, 1);
	}
	pthread_mutex_unlock(&lock);
}
