/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_HISTORY_H
#define SERVER_HISTORY_H
/*
 * What a trend's x axis is on a tree that is rebased at every push: the order
 * of its pushes, the lineage of its patches, and what a push changed. All of it
 * is derived from what was posted, never stored, and the same in whatever order
 * that came; no date that a commit claims and no digit of a SHA decides. Pure:
 * arrays in, arrays out. Functions that return int: 0, or -1 without memory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_ID	11	/* 10 characters and a NUL */

/* A push's id: the first 10 base32 characters (RFC 4648, lower case) of SHA-256
 * over "TREE\nOLD\nNEW\nPUSHED_AT\n". @old may be NULL: "". */
void history_id(const char *tree, const char *old, const char *new,
		const char *pushed_at, char id[HISTORY_ID]);

/*
 * Pushes of one tree in order. By time first (pushed_at, old, new). Then a push
 * follows the last one before it that led to its old and that no other follows;
 * where there is none, the first such after it, as clocks may be wrong, that
 * closes no ring. These chains merge by time; a push is never earlier than the
 * one that it follows.
 */
struct history_step {
	const char *old;	/* NULL: not known */
	const char *base;	/* stands for it on a linear tree; else NULL */
	const char *new, *pushed_at;
	size_t index;		/* the caller's */
};
/* Sorts @v. */
int history_order(struct history_step *v, size_t n);

/*
 * 64 bits of each key of a patch, that is of a commit apart from its SHA; 0: it
 * has none. Of SHA-256 over the text, but for patch-ids: their own.
 */
struct history_keys {
	int64_t link, quilt;	/* Message-ID of its Link:, quilt name */
	int64_t patch, u0;	/* patch-id --stable, and without context */
	int64_t title;		/* author and subject */
};
int64_t history_key(const char *text);	/* NULL: 0; else never */
int64_t history_key_id(const char *hex);	/* of a patch-id */

/* A push's patches in list order, by their place in an array of keys. */
struct history_list {
	size_t tree;		/* lists of one tree stand together, in order */
	bool linear;
	const uint32_t *patch; size_t n;
};

/*
 * lineage[patch]: equal for patches of one lineage: the smallest of them. A
 * link or quilt name joins all that carry it, but none if two commits of any
 * push do. Equal patch-ids join, and equal ones without context. Then author
 * and subject join a patch of a push with one of the next push of its tree,
 * both not linear: where each has it on one commit, and where the first's
 * lineage so far has no commit in the next and the second's none in the first.
 */
int history_lineage(const struct history_keys *keys, size_t n,
		    const struct history_list *lists, size_t nlists,
		    uint32_t *lineage);

/* What a push did to one patch. */
struct history_change {
	enum history_kind {
		HISTORY_ADDED,
		HISTORY_DROPPED,
		HISTORY_REPLACED,	/* its lines changed */
		HISTORY_CONTEXT,	/* only lines around them did */
		HISTORY_REWORDED,	/* author or subject changed */
		HISTORY_MOVED,		/* only its place in the list did */
		HISTORY_SAME,
	} kind;
	bool moved;		/* whatever else changed */
	size_t before, after;	/* places in the lists; SIZE_MAX: not there */
};
extern const char *const history_words[];	/* by kind */
/* Of two patches of one lineage: REPLACED, CONTEXT, REWORDED or SAME. */
enum history_kind history_compare(const struct history_keys *before,
				  const struct history_keys *after);

/*
 * @out: room for before->n + after->n, filled to *@n: what is in @after, in its
 * order, then what was dropped. Pairs: equal patches, then those of one
 * lineage, each in list order. Moved: not in the longest run of pairs that kept
 * their order (that which patience sorting finds). A linear tree's list is all
 * added; all is the same where @before is NULL.
 */
int history_diff(const struct history_keys *keys, const uint32_t *lineage,
		 size_t npatches, const struct history_list *before,
		 const struct history_list *after, struct history_change *out,
		 size_t *n);

/* One SQL expression over table kernel (alias k): as they arrived, where no
 * tree is looked at. */
static inline const char *history_order_sql(void)
{
	return "k.id";
}

/* The same in words, for the pages. */
static inline const char *history_order_text(void)
{
	return "kernels in the order first posted";
}

#endif
