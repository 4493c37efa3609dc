/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a stranger writes into a request: first line a path, second a query,
 * then header fields. Nothing may crash, a canonical query must be its own
 * canonical form, and what was taken must hold nothing that was forbidden.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/head.h"
#include "server/param.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct param_spec spec[] = {
	{ .name = "host", .kind = PARAM_TEXT, .min = 1, .max = 64 },
	{ .name = "last", .kind = PARAM_INT, .min = -5, .max = 5000,
	  .fallback = "200" },
	{ .name = "by", .kind = PARAM_ENUM, .words = "time|size" },
	{ .name = "a", .kind = PARAM_KERNEL },
	{ 0 }
};

static void check(bool good)
{
	if (!good)
		abort();
}

static void fuzz_query(const char *query)
{
	struct params p, again;
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct err e;

	if (!params_parse(&p, spec, query, &e)) {
		params_canonical(&p, &once);
		check(!params_parse(&again, spec, once.s ? once.s : "", &e));
		params_canonical(&again, &twice);
		check(once.len == twice.len &&
		      !memcmp(once.s ? once.s : "", twice.s ? twice.s : "",
			      once.len));
		for (size_t i = 0; param_text(&p, "host") &&
		     param_text(&p, "host")[i]; i++)
			check((unsigned char)param_text(&p, "host")[i] >= 0x20);
	} else {
		check(*e.msg);
	}
	buf_free(&once);
	buf_free(&twice);
}

static void fuzz_fields(char *text)
{
	struct head h = { 0 };
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *value = strchr(line, ':');

		if (value)
			*value++ = '\0';
		head_field(&h, line, strlen(line), value,
			   value ? strlen(value) : 0);
	}
	if (!head_fault(&h, "HTTP/1.1"))
		check(h.lengths + h.transfers <= 1 && h.length >= 0 &&
		      h.hosts == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *query;
	char *text = malloc(size + 1), *rest = text, *path, out[512];

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	path = strsep(&rest, "\n");
	if (!param_decode(path, strlen(path), false, out, sizeof(out)))
		check(strlen(out) <= strlen(path));
	query = rest ? strsep(&rest, "\n") : "";
	fuzz_query(query);
	if (rest)
		fuzz_fields(rest);
	free(text);
	return 0;
}
