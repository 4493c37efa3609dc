/* SPDX-License-Identifier: GPL-2.0-only */
/* Header fields that could be read in two ways; and the rate limit. */
#include "server/head.h"
#include "server/rate.h"
#include "tests/tap.h"

static void field(struct head *h, const char *name, const char *value)
{
	head_field(h, name, strlen(name), value, strlen(value));
}

/* "Name: value|..." plus a Host. */
static const char *fault(const char *fields)
{
	struct head h = { 0 };
	char copy[512], *line, *at = copy;

	field(&h, "Host", "x");
	snprintf(copy, sizeof(copy), "%s", fields);
	while ((line = strsep(&at, "|"))) {
		char *colon = strstr(line, ": ");

		*colon = '\0';
		field(&h, line, colon + 2);
	}
	return head_fault(&h, "HTTP/1.1");
}

static void test_framing(void)
{
	static const char *const shapes[] = {
		"Content-Length: 5|Transfer-Encoding: chunked",
		"Content-Length: 5|Content-Length: 5",
		"content-length: 5|CONTENT-LENGTH: 6",
		"Transfer-Encoding: chunked|transfer-encoding: identity",
		"Transfer-Encoding: chunked, chunked",
		"Transfer-Encoding: chunked;q=1", "Transfer-Encoding: ",
		"Content-Length: ", "Content-Length:  5", "Content-Length: 5 ",
		"Content-Length: 5,6", "Content-Length: 1e3",
		"Content-Length: 9999999999999", "Content-Length : 5",
		"Content-Length\t: 5", "Host: y", ": x", "a b: x",
	};
	struct head h = { 0 };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		ok(fault(shapes[i]), "refused: %s", shapes[i]);
	is(fault("Content-Length: 5"), NULL, "a plain length is fine");
	is(fault("Transfer-Encoding: Chunked"), NULL, "chunked is fine");
	ok(head_fault(&h, "HTTP/1.1"), "no Host in HTTP/1.1");
	is(head_fault(&h, "HTTP/1.0"), NULL, "no Host in HTTP/1.0 is fine");
	ok(head_fault(&h, "HTTP/0.9") && head_fault(&h, "") &&
	   head_fault(&h, "HTTP/2.0"), "other versions");
	head_field(&h, "X", 1, "a\0b", 3);
	ok(head_fault(&h, "HTTP/1.0"), "a NUL in a value");
	memset(&h, 0, sizeof(h));
	field(&h, "X", "a\rContent-Length: 5");
	ok(head_fault(&h, "HTTP/1.0"), "a line break in a value");
}

static void test_facts(void)
{
	struct head h = { 0 };
	char token[300];

	field(&h, "authorization", "bearer   mmt_x");
	is(h.bearer, "mmt_x", "a token, in any case of letters");
	memset(token, 'a', sizeof(token));
	memcpy(token, "Bearer ", 7);
	token[299] = '\0';
	memset(&h, 0, sizeof(h));
	field(&h, "Authorization", token);
	is(h.bearer, "", "a token too long is none");
	field(&h, "Authorization", "Basic bW10OmE=");
	is(h.bearer, "", "another scheme is none");
	field(&h, "Content-Type", "Application/JSON; charset=utf-8");
	ok(h.json, "JSON with a parameter");
	field(&h, "Content-Type", "application/json5");
	ok(!h.json, "something that begins like JSON");
}

static bool gzip_ok(const char *accept)
{
	struct head h = { 0 };

	field(&h, "Accept-Encoding", accept);
	return h.gzip_ok;
}

static void test_gzip(void)
{
	ok(gzip_ok("gzip") && gzip_ok("br;q=1.0, gzip;q=0.8, *;q=0.1"),
	   "gzip is wanted");
	ok(gzip_ok("*") && gzip_ok("gzip ; q=0.001"), "any, or hardly");
	ok(!gzip_ok("") && !gzip_ok(",,,") && !gzip_ok("br"), "not named");
	ok(!gzip_ok("gzip;q=0") && !gzip_ok("gzip;q=0.000, *"), "refused");
	ok(!gzip_ok("xgzip") && !gzip_ok("gzi"), "another name");
	ok(!gzip_ok("gzip;q=nan") && !gzip_ok("gzip;q=-1") &&
	   !gzip_ok("gzip;q=1e9"), "no quality at all");
}

static void test_rate(void)
{
	const int64_t s = 1000000000;
	int passed = 0;

	for (int i = 0; i < 10; i++)
		passed += rate_take(7, 1, 2, 5, s);
	is_i(passed, 5, "a burst of five, then no more");
	ok(rate_take(8, 1, 2, 5, s), "another caller is not concerned");
	ok(!rate_take(7, 1, 2, 5, s + s / 4), "a quarter second is too short");
	ok(rate_take(7, 1, 2, 5, s + s / 2), "half a second gives one back");
	ok(!rate_take(7, 1, 2, 5, s + s / 2), "... and only one");
	rate_take(7, -1, 2, 5, s + s / 2);
	ok(rate_take(7, 1, 2, 5, s + s / 2), "what cost nothing is given back");
	passed = 0;
	for (int i = 0; i < 10; i++)
		passed += rate_take(7, 1, 2, 5, 1000 * s);
	is_i(passed, 5, "a long silence saves up one burst");
	ok(!rate_take(7, 1, 2, 5, s), "a clock that goes back gives nothing");
	for (uint64_t key = 100; key < 100000; key++)
		rate_take(key, 1, 2, 5, 2000 * s);
	ok(rate_take(7, 1, 2, 5, 2000 * s), "a full table still answers");
	for (int i = 0; i < 100; i++)
		passed += rate_take(9, 1, 0, 5, s);
	is_i(passed, 105, "0 is no limit");
}

int main(void)
{
	test_framing();
	test_facts();
	test_gzip();
	test_rate();
	return tap_done();
}
