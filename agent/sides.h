/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_SIDES_H
#define AGENT_SIDES_H
/*
 * Documents of two kernels, the one before and the one after: which stands on
 * which side, what they are called, what they share and in what they differ.
 */
#include "../common/buf.h"
#include "../common/err.h"
#include "../common/record.h"

#define SIDES_DIGITS	12	/* shown of a commit or build id */

struct sides {
	const struct record **docs;	/* before, then after; of one boot
					 * together */
	size_t n, nbefore;
	bool same_kernel;
	bool exact;		/* some metric counts instructions */
};

extern const char *const sides_names[2];	/* "before", "after" */

/*
 * Of two documents the first is "before". More are sorted by their kernels,
 * which must be two; the first document's is "before". Documents stay the
 * caller's and must live as long. -1 with @e; sides_free() either way.
 */
int sides_choose(struct sides *s, struct record *const *docs, size_t n,
		 struct err *e);
void sides_free(struct sides *s);

/* The documents of one side; the one that speaks for its kernel. */
static inline const struct record **sides_docs(const struct sides *s, int side,
					       size_t *n)
{
	*n = side ? s->n - s->nbefore : s->nbefore;
	return s->docs + (side ? s->nbefore : 0);
}
static inline const struct record *sides_first(const struct sides *s, int side)
{
	return s->docs[side ? s->nbefore : 0];
}

bool sides_same(const char *a, const char *b);	/* NULL equals NULL */
/* "7368ccdeff50 mm-unstable + gup-batch", "linux 6.12.117 + gup-batch" */
void sides_kernel(const struct record_kernel *k, struct buf *out);
/*
 * What stands between every figure and its verdict, one a line: another
 * machine; for instructions another compiler or emulator; a commit that its
 * kernel does not show. Nothing if they can be judged.
 */
void sides_obstacles(const struct sides *s, struct buf *out);
/* Machine, build and checks as far as both share them, then where else they
 * differ. */
void sides_machine(const struct sides *s, struct buf *out);

#endif
