/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing byte string, and the four ways to quote text into one. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

#define BUF_FIRST 256	/* bytes of the first allocation, at least */

/* Room for @len more bytes and the NUL; doubled, so that growing is rare. */
static bool grow(struct buf *b, size_t len)
{
	size_t cap = 2 * (b->len + len) + BUF_FIRST;
	char *s = NULL;

	if (!b->failed && len < b->cap - b->len)
		return true;
	if (!b->failed && len < SIZE_MAX / 4)
		s = realloc(b->s, cap);
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
	static const char *const escape[256] = {
		['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b",
		['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t",
	};

	buf_str(b, s ? "\"" : "null");
	for (const char *p = s; p && *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (escape[c])
			buf_str(b, escape[c]);
		else if (c < ' ')
			buf_printf(b, "\\u%04x", c);
		else if (c == '/' && p > s && p[-1] == '<')
			buf_str(b, "\\/");
		else
			buf_char(b, *p);
	}
	buf_str(b, s ? "\"" : "");
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

void buf_url(struct buf *b, const char *s)
{
	for (; s && *s; s++) {
		if ((isalnum((unsigned char)*s) && isascii(*s)) ||
		    strchr("-._~", *s))
			buf_char(b, *s);
		else
			buf_printf(b, "%%%02X", (unsigned char)*s);
	}
}

void buf_csv(struct buf *b, const char *s)
{
	const char *mark = s && s[strcspn(s, ",\"\r\n")] ? "\"" : "";

	buf_str(b, mark);
	for (; s && *s; s++) {
		buf_char(b, *s);
		if (*s == '"')
			buf_char(b, '"');
	}
	buf_str(b, mark);
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
