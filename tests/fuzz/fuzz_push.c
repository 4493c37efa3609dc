/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a push or a skip: taken, or refused with a plain reason. */
#include <stdlib.h>
#include <string.h>

#include "../../server/route/pushdoc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int right)
{
	if (!right)
		abort();
}

static void check_reason(const struct err *e)
{
	must(e->msg[0]);
	for (const char *s = e->msg; *s; s++)
		must(*s >= ' ' && *s <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { "" };
	struct push p;
	struct skip k;

	if (push_parse((const char *)data, size, &p, &e))
		check_reason(&e);
	else if (p.ncommits)
		must(!strcmp(p.commits[p.ncommits - 1].sha, p.new));
	push_free(&p);
	if (skip_parse((const char *)data, size, &k, &e))
		check_reason(&e);
	else
		must(!k.push != !k.commit);
	skip_free(&k);
	return 0;
}
