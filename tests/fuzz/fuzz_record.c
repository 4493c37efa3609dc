/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a run document: refused with a reason, or written in a form that
 * reads as itself.
 */
#include <stdlib.h>
#include <string.h>

#include "../../common/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool right)
{
	if (!right)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct err e = { "" };
	struct record *r = record_parse((const char *)data, size, &e), *again;

	if (!r) {
		must(e.msg[0]);
		for (const char *s = e.msg; *s; s++)
			must(*s >= ' ' && *s <= '~');
		return 0;
	}
	must(!record_write(r, &once, &e));
	again = record_parse(once.s, once.len, &e);
	must(again);
	must(!record_write(again, &twice, &e));
	must(once.len == twice.len && !memcmp(once.s, twice.s, once.len));
	for (size_t i = 0; i < r->nbenches; i++)
		record_params_text(&r->benches[i], &twice);
	record_free(again);
	record_free(r);
	buf_free(&once);
	buf_free(&twice);
	return 0;
}
