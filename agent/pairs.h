/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_PAIRS_H
#define AGENT_PAIRS_H
/*
 * The cells of two sides, laid side by side: a table for each metric of each
 * benchmark, a row for each size that any document has. Runs of one boot pool
 * into one value, boots are averaged in logs, and only documents of the best
 * status count, all as on the server.
 */
#include "../common/verdict.h"
#include "sides.h"

struct figure {			/* one metric of one cell of a side */
	enum record_status status;
	const char *reason;	/* NULL if ok */
	int64_t value, spread;	/* RECORD_NULL: none */
	size_t n, boots, iterations;	/* launches; of the shortest one */
	/* every launch was checked by: */
	bool counter, pagemap, pins;
	const char *driver;	/* what a test driver says of the map, or NULL */
};

struct pairs {
	struct table {
		const struct record *r;	/* the document that names it */
		const struct record_bench *bench;
		const struct record_metric *metric;
		struct row *rows;	/* by size */
		size_t n;
	} *tables;	/* of one benchmark together, in document order */
	size_t n;
	struct row {
		struct verdict_pair pair;
		struct figure side[2];
	} *rows;	/* of all tables */
	size_t nrows;
};

/* Point into @s and its documents. @judge: false makes every figure invalid.
 * -1: no memory. pairs_free() either way. */
int pairs_make(struct pairs *p, const struct sides *s, bool judge);
void pairs_free(struct pairs *p);

#endif
