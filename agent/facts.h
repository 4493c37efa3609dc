/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_FACTS_H
#define AGENT_FACTS_H
/*
 * What a document tells of machine, kernel and quietness, in the order in which
 * it is shown: host.c says why one is null, show.c prints all, sides.c holds
 * them against those of another document.
 */
#include "../common/buf.h"
#include "../common/record.h"

struct fact {
	const char *name;	/* as shown */
	enum { FACT_HEAD, FACT_TEXT, FACT_HASH, FACT_WORDS, FACT_NUMBER,
	       FACT_SIZE, FACT_NUMBERS, FACT_SIZES, FACT_MILLI } kind;
	size_t at;		/* in struct record */
	const char *path;	/* in the document; NULL: host.c does not fill it */
	const char *why;	/* it is null; NULL: the file that has it tells */
	enum { FACT_OWN, FACT_SHARED, FACT_EXACT, FACT_NEEDED } side;
				/* compared; equal for a verdict of instructions;
				 * equal for any verdict */
	const char *lead, *tail;	/* round it, where both sides agree;
					 * NULL: then it is not shown */
};
extern const struct fact facts[];
extern const size_t facts_count;

bool fact_is_null(const struct fact *f, const struct record *r);
/* Append it; nothing if it is null or empty. */
void fact_text(const struct fact *f, const struct record *r, struct buf *out);

#endif
