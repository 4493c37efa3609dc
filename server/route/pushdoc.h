/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_PUSHDOC_H
#define SERVER_PUSHDOC_H
/*
 * What CI posts about trees: a push ("mmtrend.push/1", schema/push.schema.json)
 * and why something was not measured ("mmtrend.skip/1"). Each is read by a
 * table of its fields. Text belongs to the document until its _free().
 */
#include <stddef.h>
#include <stdint.h>

#include "../../common/record.h"

/* Every size that a stranger controls. */
#define PUSH_MAX_BODY		(4u << 20)	/* bytes of JSON */
#define PUSH_MAX_COMMITS	4096
#define PUSH_MAX_TAGS		8
#define PUSH_MAX_FILES		16		/* per commit */
#define PUSH_MAX_NAME		64		/* bytes: of a tree, a host */
#define PUSH_MAX_WORD		256		/* bytes: tags, Message-IDs */
#define PUSH_MAX_TEXT		1024		/* bytes: subjects, authors */
#define SKIP_MAX_BODY		(16u << 10)

struct push_commit {		/* null: NULL */
	const char *sha, *tree_hash, *parent;
	const char *subject, *author, *authored_at;
	const char *patch_id, *patch_id_u0, *link, *quilt;
	struct record_strings files;	/* of interest, that it touches */
};

struct push {
	const char *schema, *tree, *pushed_at, *old, *new, *base;
	int64_t linear;			/* 1: a tree that is never rebased */
	struct record_strings tags;
	struct push_commit *commits; size_t ncommits;	/* oldest first */
	void *mem;			/* owns all of it */
};

struct skip {
	const char *schema, *host, *push, *commit;	/* one of the two */
	const char *reason;
	void *mem;
};

/*
 * 0; -1 with @e: what is wrong by its JSON path, or errno ENOMEM, which says
 * nothing of the document. Free it either way. A push's commits are a chain by
 * parent that ends in new; times exist.
 */
int push_parse(const char *json, size_t len, struct push *out, struct err *e);
void push_free(struct push *p);
int skip_parse(const char *json, size_t len, struct skip *out, struct err *e);
void skip_free(struct skip *s);

#endif
