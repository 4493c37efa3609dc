/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing byte string, and the four ways to quote text into one. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

#define BUF_FIRST 256	/* bytes of the first allocation */

/* Room for @len more bytes and the NUL. */
static bool grow(struct buf *b, size_t len)
{
	size_t cap = b->cap ? b->cap : BUF_FIRST;
	char *s;

	if (b->failed)
		return false;
	if (len < b->cap - b->len)
		return true;
	while (cap - b->len <= len && cap <= SIZE_MAX / 2)
		cap *= 2;
	s = cap - b->len > len ? realloc(b->s, cap) : NULL;
	if (!s) {
		b->failed = true;
		return false;
	}
	b->s = s;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (!grow(b, len))
		return;
	if (len)
		memcpy(b->s + b->len, data, len);
	b->len += len;
	b->s[b->len] = '\0';
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_i64(struct buf *b, int64_t v)
{
	uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
	char text[24], *p = text + sizeof(text);

	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (v < 0)
		*--p = '-';
	buf_add(b, p, (size_t)(text + sizeof(text) - p));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		b->failed = true;
	else if (grow(b, (size_t)len)) {
		va_start(ap, fmt);
		vsnprintf(b->s + b->len, (size_t)len + 1, fmt, ap);
		va_end(ap);
		b->len += (size_t)len;
	}
}

void buf_json(struct buf *b, const char *s)
{
	static const char named[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const char *from = s, *hit;

	if (!s) {
		buf_str(b, "null");
		return;
	}
	buf_char(b, '"');
	for (; *s; s++) {
		bool slash = *s == '/' && s > from && s[-1] == '<';
		bool quote = *s == '"' || *s == '\\';

		if ((unsigned char)*s >= ' ' && !quote && !slash)
			continue;
		buf_add(b, from, (size_t)(s - from));
		hit = strchr(named, *s);
		if (hit)
			buf_printf(b, "\\%c", letter[hit - named]);
		else if (slash)
			buf_str(b, "\\/");
		else
			buf_printf(b, "\\u%04x", (unsigned char)*s);
		from = s + 1;
	}
	buf_add(b, from, (size_t)(s - from));
	buf_char(b, '"');
}

void buf_html(struct buf *b, const char *s)
{
	static const char *const entity[256] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;",
		['"'] = "&quot;", ['\''] = "&#39;",
	};

	for (; s && *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (entity[c])
			buf_str(b, entity[c]);
		else if (c >= ' ' || c == '\n' || c == '\t')
			buf_char(b, *s);
	}
}

static bool unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

void buf_url(struct buf *b, const char *s)
{
	for (; s && *s; s++) {
		if (unreserved(*s))
			buf_char(b, *s);
		else
			buf_printf(b, "%%%02X", (unsigned char)*s);
	}
}

void buf_csv(struct buf *b, const char *s)
{
	if (!s)
		return;
	if (!s[strcspn(s, ",\"\r\n")]) {
		buf_str(b, s);
		return;
	}
	buf_char(b, '"');
	for (; *s; s++) {
		if (*s == '"')
			buf_char(b, '"');
		buf_char(b, *s);
	}
	buf_char(b, '"');
}

void buf_reset(struct buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->s[len] = '\0';
}

char *buf_detach(struct buf *b, size_t *len)
{
	char *s;

	buf_add(b, "", 0);	/* an empty string is memory too */
	if (b->failed) {
		buf_free(b);
		return NULL;
	}
	s = b->s;
	if (len)
		*len = b->len;
	*b = (struct buf)BUF_INIT;
	return s;
}

void buf_free(struct buf *b)
{
	free(b->s);
	*b = (struct buf)BUF_INIT;
}
