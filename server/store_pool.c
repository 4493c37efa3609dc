/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several runs of one kernel in one series -> one point. Runs of one boot are
 * not independent: their launch values are put together and give the boot's
 * value; boots are averaged in logs. Only runs of the best status count, so an
 * invalid figure never enters a valid one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/stats.h"
#include "store_priv.h"

static int add_launch(struct pool *p, int64_t value)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		int64_t *more = realloc(p->launch, cap * sizeof(*more));

		if (!more)
			return -1;
		p->launch = more;
		p->cap = cap;
	}
	p->launch[p->n++] = value;
	return 0;
}

/* Varints, as pack_launches() made them. */
static int add_launches(struct pool *p, const unsigned char *at, int len)
{
	const unsigned char *end = len ? at + len : at;

	while (at < end)
		if (add_launch(p, (int64_t)varint_next(&at, end)))
			return -1;
	return 0;
}

static void end_boot(struct pool *p)
{
	size_t n = p->n - p->boot_from;
	int64_t value;

	if (!n)
		return;
	value = stats_median(p->launch + p->boot_from, n);
	if (!p->to->boots++)
		p->first = value;
	p->zero |= value <= 0;
	p->sum += (double)value;
	p->logs += value > 0 ? log((double)value) : 0;
	p->boot_from = p->n;
}

static void forget(struct pool *p)
{
	p->n = p->boot_from = 0;
	p->sum = p->logs = 0;
	p->zero = false;
}

void pool_end(struct pool *p)
{
	struct store_point *to = p->to;

	if (!to)
		return;
	end_boot(p);
	if (to->boots == 1)
		to->value = p->first;
	else if (to->boots)	/* arithmetic where a zero has no logarithm */
		to->value = llround(p->zero ? p->sum / to->boots :
				    exp(p->logs / to->boots));
	if (to->boots)
		to->spread = stats_spread(p->launch, p->n);
	to->n = (uint32_t)p->n;
	p->to = NULL;
	forget(p);
}

/* Of the reasons of one status the first in the alphabet, whichever came first. */
static int take_reason(struct store_point *to, sqlite3_stmt *st, int at)
{
	const char *text = (const char *)sqlite3_column_text(st, at);

	if (!text || (to->reason && strcmp(to->reason, text) <= 0))
		return 0;
	free(to->reason);
	to->reason = NULL;
	return store_text(st, at, &to->reason);
}

int pool_add(struct pool *p, struct store_point *to, sqlite3_stmt *st, int at)
{
	int64_t boot = sqlite3_column_int64(st, at);
	enum record_status status =
		(enum record_status)sqlite3_column_int(st, at + 1);
	bool first = p->to != to;

	if (first)
		pool_end(p);
	else if (p->boot != boot)
		end_boot(p);
	if (first || status < to->status) {
		forget(p);
		free(to->reason);
		*to = NO_POINT;
		to->reason = NULL;	/* again: analyzers see no copy's content */
		to->status = status;
	}
	p->to = to;
	p->boot = boot;
	if (status > to->status)
		return 0;
	if (take_reason(to, st, at + 3))
		return -1;
	return add_launches(p, sqlite3_column_blob(st, at + 2),
			    sqlite3_column_bytes(st, at + 2));
}

void pool_free(struct pool *p)
{
	free(p->launch);
}
