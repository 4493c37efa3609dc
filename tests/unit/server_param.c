/* SPDX-License-Identifier: GPL-2.0-only */
/* Query strings: what is taken, what is named in a refusal, what is equal. */
#include <stdlib.h>

#include "server/param.h"
#include "tests/tap.h"

static const struct param_spec spec[] = {
	{ .name = "host", .kind = PARAM_TEXT, .min = 1, .max = 64,
	  .required = true, .help = "a host label" },
	{ .name = "last", .kind = PARAM_INT, .min = 1, .max = 5000,
	  .fallback = "200" },
	{ .name = "by", .kind = PARAM_ENUM, .words = "time|size",
	  .fallback = "time" },
	{ .name = "a", .kind = PARAM_KERNEL },
	{ 0 }
};

/* The canonical text, or the error in "!...". */
static const char *canonical(const char *query, char out[1024])
{
	struct params p;
	struct buf b = BUF_INIT;
	struct err e;

	if (params_parse(&p, spec, query, &e)) {
		snprintf(out, 1024, "!%s", e.msg);
	} else {
		params_canonical(&p, &b);
		snprintf(out, 1024, "%s", b.s ? b.s : "");
	}
	buf_free(&b);
	return out;
}

static void good(const char *query, const char *want)
{
	char out[1024], what[200];

	snprintf(what, sizeof(what), "canonical form of %.100s", query);
	is(canonical(query, out), want, what);
}

static void bad(const char *query, const char *part)
{
	char out[1024];

	canonical(query, out);
	if (!ok(out[0] == '!' && strstr(out, part), "%.60s is refused: %s",
		query, part))
		printf("# got:  %s\n", out);
}

static void test_queries(void)
{
	char *long_value = calloc(1, PARAM_MAX_QUERY + 10);

	good("host=a", "host=a");
	good("last=7&host=a", "host=a&last=7");
	good("host=a&last=200&by=time", "host=a");
	good("by=size&a=v-0123456789abcdef&host=a",
	     "a=v-0123456789abcdef&by=size&host=a");
	good("&&host=a&", "host=a");
	good("host=a&last=&by", "host=a");
	good("host=a+b", "host=a%20b");
	good("host=%61%7e", "host=a~");
	bad("", "host: missing");
	bad("host=", "host: missing");
	bad("host=a&host=b", "host: given twice");
	bad("host=a&host=", "host: given twice");
	bad("hots=a", "hots: unknown parameter; this address takes host, last");
	bad("host=a&=b", "unknown parameter");
	bad("host=a&last=0", "last: expected an integer from 1 to 5000");
	bad("host=a&last=5001", "got \"5001\"");
	bad("host=a&last=07", "last: expected");
	bad("host=a&last=+7", "last: expected");
	bad("host=a&last=7x", "last: expected");
	bad("host=a&last=%207", "last: expected");
	bad("host=a&last=-0", "last: expected");
	bad("host=a&last=99999999999999999999", "last: expected");
	bad("host=a&by=tim", "by: expected one of time|size");
	bad("host=a&by=time|size", "by: expected one of");
	bad("host=a&a=abc", "first 8 or more characters");
	bad("host=a&a=ABCDEF012345", "a: expected a kernel's key");
	bad("host=a&a=0123456789ab%27", "a: expected a kernel's key");
	bad("host=%00", "without NUL");
	bad("host=%zz", "whole %XX escapes");
	bad("host=%4", "whole %XX escapes");
	bad("host=a%0ab", "got \"a?b\"");
	bad("host=%1b[31m", "host: expected plain ASCII text");
	bad("host=%7f", "host: expected plain ASCII text");
	bad("host=%e2%80%ae", "host: expected plain ASCII text");
	bad("host=%ff", "host: expected plain ASCII text");
	bad("host=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaa", "1 to 64 bytes");
	memset(long_value, 'a', 80);
	bad(long_value, "aaa: unknown parameter");
	memcpy(long_value, "host=", 5);
	memset(long_value + 5, 'a', PARAM_MAX_LEN);
	bad(long_value, "host: expected at most 511 bytes");
	memset(long_value, '&', PARAM_MAX_QUERY + 1);
	bad(long_value, "query: expected at most 4096 bytes");
	free(long_value);
}

static void test_values(void)
{
	struct params p;
	struct err e;

	is_i(params_parse(&p, spec, "host=lab1&last=12", &e), 0, "parses");
	is(param_text(&p, "host"), "lab1", "a text");
	is_i(param_int(&p, "last"), 12, "an integer");
	is(param_text(&p, "by"), "time", "a default");
	is(param_text(&p, "a"), NULL, "absent without a default");
	is_i(param_int(&p, "a"), 0, "... is 0 as an integer");
	is_i(params_parse(&p, spec + 4, "", &e), 0,
	     "a table of none takes no query");
	is_i(params_parse(&p, spec + 4, "x=1", &e), -1, "... and no value");
}

static void test_decode(void)
{
	char out[8];

	is_i(param_decode("a%2Fb", 5, false, out, sizeof(out)), 0, "decodes");
	is(out, "a/b", "... both cases of hex");
	is_i(param_decode("a+b", 3, false, out, sizeof(out)), 0, "a path");
	is(out, "a+b", "... keeps its plus");
	is_i(param_decode("1234567", 7, false, out, sizeof(out)), 0, "fits");
	is_i(param_decode("12345678", 8, false, out, sizeof(out)), -1,
	     "does not fit");
	is_i(param_decode("%41", 2, false, out, sizeof(out)), -1,
	     "an escape is not read past the end");
}

int main(void)
{
	test_queries();
	test_values();
	test_decode();
	return tap_done();
}
