/* SPDX-License-Identifier: GPL-2.0-only */
/* The growing string, its four ways to quote, and sizes as text. */
#include <stdlib.h>

#include "../../common/buf.h"
#include "../../common/size.h"
#include "../tap.h"

static void quoted(void quote(struct buf *, const char *), const char *in,
		   const char *want, const char *what)
{
	struct buf b = BUF_INIT;

	buf_str(&b, "");
	quote(&b, in);
	is(b.s, want, what);
	buf_free(&b);
}

static void quoting(void)
{
	quoted(buf_json, NULL, "null", "JSON: NULL is null");
	quoted(buf_json, "", "\"\"", "JSON: an empty string");
	quoted(buf_json, "a\"\\\b\f\n\r\t\x01\x1f z",
	       "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f z\"",
	       "JSON: quotes and controls are escaped");
	quoted(buf_json, "</script> a/b", "\"<\\/script> a/b\"",
	       "JSON: cannot close a script element");
	quoted(buf_json, "/<", "\"/<\"",
	       "JSON: a first slash looks at nothing before");
	quoted(buf_json, "\xc3\xbc", "\"\xc3\xbc\"", "JSON: UTF-8 stays");
	quoted(buf_html, "<a href=\"x\" b='&'>\x01\x1b\n\tz",
	       "&lt;a href=&quot;x&quot; b=&#39;&amp;&#39;&gt;\n\tz",
	       "HTML: no markup, no quote, no control gets through");
	quoted(buf_html, NULL, "", "HTML: NULL is nothing");
	quoted(buf_url, "aZ09-._~ /&=+%\xc3\n",
	       "aZ09-._~%20%2F%26%3D%2B%25%C3%0A",
	       "URL: all but the unreserved is percent-encoded");
	quoted(buf_csv, "plain -1", "plain -1", "CSV: plain stays bare");
	quoted(buf_csv, "a,b\"c\r\nd", "\"a,b\"\"c\r\nd\"",
	       "CSV: quoted by RFC 4180");
	quoted(buf_csv, NULL, "", "CSV: NULL is an empty field");
}

static void integers(void)
{
	struct buf b = BUF_INIT;

	buf_i64(&b, INT64_MIN);
	buf_char(&b, ' ');
	buf_i64(&b, INT64_MAX);
	buf_char(&b, ' ');
	buf_i64(&b, 0);
	buf_printf(&b, " %s%d", "x", -7);
	is(b.s, "-9223372036854775808 9223372036854775807 0 x-7",
	   "integers to both ends of int64");
	buf_free(&b);
}

static void growing(void)
{
	struct buf b = BUF_INIT;
	size_t len = 99;
	bool right = true;
	char *s;

	for (int i = 0; i < 100000; i++)
		buf_char(&b, (char)('a' + i % 26));
	for (int i = 0; i < 100000; i++)
		right &= b.s[i] == (char)('a' + i % 26);
	ok(right && b.len == 100000 && !b.s[100000],
	   "100,000 bytes are kept, then a NUL");
	buf_reset(&b, 3);
	is(b.s, "abc", "reset cuts");
	buf_reset(&b, 10);
	is_i((long long)b.len, 3, "reset never lengthens");
	buf_add(&b, "\0x", 2);
	is_i((long long)b.len, 5, "a NUL is a byte like others");
	s = buf_detach(&b, &len);
	ok(s && len == 5 && !b.s && !b.len, "detach gives the memory away");
	free(s);
	s = buf_detach(&b, &len);
	ok(s && !*s && !len, "detach of an empty one is an empty string");
	free(s);
	buf_reset(&b, 0);
	buf_free(&b);
	buf_free(&b);
	ok(buf_ok(&b), "reset and free take an empty one");
}

/* More than memory can hold: the same path as a failed realloc(), which
 * common_record.c walks. */
static void no_memory(void)
{
	struct buf b = BUF_INIT;
	size_t len;

	buf_str(&b, "kept");
	buf_add(&b, "x", SIZE_MAX - 8);
	is(b.s, "kept", "what does not fit is dropped whole");
	ok(!buf_ok(&b), "a failed allocation is remembered");
	len = b.len;
	buf_str(&b, "more");
	buf_i64(&b, 1);
	buf_json(&b, "x");
	is_i((long long)b.len, (long long)len, "and nothing is added after it");
	ok(!buf_detach(&b, &len), "detach of it is NULL");
	ok(buf_ok(&b) && !b.s, "and leaves it empty");
}

/* --- size.h --------------------------------------------------------------- */

static const struct { const char *text; uint64_t bytes;
} sizes[] = {
	{ "4096", 4096 },
	{ "64k", 65536 },
	{ "64K", 65536 },
	{ "64kB", 65536 },
	{ "64KiB", 65536 },
	{ "2m", 2097152 },
	{ "1g", 1073741824 },
	{ "16t", 17592186044416 },
	{ "1b", 1 },
	{ "18446744073709551615", UINT64_MAX },
	{ "17179869183g", UINT64_MAX - 1073741823 },
	{ "", 0 },
	{ "0", 0 },
	{ "0k", 0 },
	{ "k", 0 },
	{ "-1", 0 },
	{ "+1", 0 },
	{ " 1", 0 },
	{ "1 k", 0 },
	{ "1kk", 0 },
	{ "1kbb", 0 },
	{ "1ib", 0 },
	{ "1x", 0 },
	{ "1.5m", 0 },
	{ "0x10", 0 },
	{ "18446744073709551616", 0 },
	{ "17179869184g", 0 },
	{ "16777216t", 0 },
};

static void size(void)
{
	char out[SIZE_TEXT];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t bytes = 0;
		int ret = size_parse(sizes[i].text, &bytes);

		ok(ret == (sizes[i].bytes ? 0 : -1) && bytes == sizes[i].bytes,
		   "\"%s\" is %s", sizes[i].text,
		   sizes[i].bytes ? "read right" : "refused");
	}
	is(size_text(65536, out), "64k", "64k");
	is(size_text(2097152, out), "2m", "2m");
	is(size_text(536870912, out), "512m",
	   "512m, a PMD of 64 kB base pages");
	is(size_text(1000, out), "1000", "no multiple of 1024: bytes");
	is(size_text(1025 * 1024, out), "1025k",
	   "the largest unit that divides");
	is(size_text(0, out), "0", "0");
	is(size_text(UINT64_MAX, out), "18446744073709551615", "the largest");
	is(size_label(4096, 4096, 2097152, out), "base 4k",
	   "base page of 4 kB");
	is(size_label(65536, 65536, 536870912, out), "base 64k",
	   "base page of 64 kB");
	is(size_label(65536, 4096, 2097152, out), "64k",
	   "the same size as mTHP");
	is(size_label(2097152, 4096, 2097152, out), "2m pmd", "PMD");
	is(size_label(2097152, 16384, 33554432, out), "2m",
	   "2m that is no PMD");
}

int main(void)
{
	quoting();
	integers();
	growing();
	no_memory();
	size();
	return tap_done();
}
