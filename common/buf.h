/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H
/*
 * A growing byte string. Start with BUF_INIT, end with buf_free() (or take
 * buf_detach()'s memory). Always NUL-terminated once anything was added; @len
 * excludes the NUL. A failed allocation sets @failed, drops what was to be
 * added and everything after it: check buf_ok() once at the end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *s;		/* owned; NULL while empty */
	size_t len;
	size_t cap;
	bool failed;
};

#define BUF_INIT { NULL, 0, 0, false }

static inline bool buf_ok(const struct buf *b) { return !b->failed; }

void buf_add(struct buf *b, const void *data, size_t len);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_i64(struct buf *b, int64_t v);		/* decimal; quick */
__attribute__((format(printf, 2, 3)))
void buf_printf(struct buf *b, const char *fmt, ...);

/* A JSON string with its quotes; NULL writes null. "</" is written "<\/". */
void buf_json(struct buf *b, const char *s);
/* Text for HTML and SVG, safe in attributes too. C0 controls are dropped, but
 * for newline and tab. */
void buf_html(struct buf *b, const char *s);
/* A query value, percent-encoded but for the unreserved characters. */
void buf_url(struct buf *b, const char *s);
/* An RFC 4180 field, quoted where it must be. */
void buf_csv(struct buf *b, const char *s);

/* Cut back to @len bytes; keeps the memory. */
void buf_reset(struct buf *b, size_t len);
/* The caller owns the result (free()); NULL if anything failed. b is empty. */
char *buf_detach(struct buf *b, size_t *len);
void buf_free(struct buf *b);

#endif
