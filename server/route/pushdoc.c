/* SPDX-License-Identifier: GPL-2.0-only */
/* Pushes and skips, read by a table of their fields. */
#include <string.h>

#include "../../common/field.h"
#include "pushdoc.h"

static const struct format
	push_1 = { LIKE("mmtrend[.]push/1"), " bytes, \"mmtrend.push/1\"",
		   NULL },
	skip_1 = { LIKE("mmtrend[.]skip/1"), " bytes, \"mmtrend.skip/1\"",
		   NULL },
	name = { "*[!A-Za-z0-9._-]*", "[A-Za-z0-9]*", NULL,
		 " characters from A-Z a-z 0-9 . _ -, a letter or a digit first",
		 NULL };

#define SCHEMA(which)	FORM(14, 14, which)
#define NAME		FORM(1, PUSH_MAX_NAME, name)
#define ASCII		FORM(1, PUSH_MAX_WORD, field_ascii)
#define ANY_TEXT	RANGE(0, PUSH_MAX_TEXT)

/* How the rows name these structs. */
#define record_push	push
#define record_commit	push_commit
#define record_skip	skip

static const struct field ascii = ELEMENT(TEXT, 0, ASCII);

static const struct field commit_fields[] = {
	TEXT(commit, sha, REQUIRED, SHA1, NULL),
	TEXT(commit, tree_hash, REQUIRED, SHA1, NULL),
	TEXT(commit, parent, 0, SHA1, NULL),
	TEXT(commit, subject, REQUIRED, ANY_TEXT, NULL),
	TEXT(commit, author, REQUIRED, ANY_TEXT, NULL),
	TEXT(commit, authored_at, REQUIRED, TIME, NULL),
	TEXT(commit, patch_id, 0, SHA1, NULL),
	TEXT(commit, patch_id_u0, 0, SHA1, NULL),
	TEXT(commit, link, 0, ASCII, NULL),
	TEXT(commit, quilt, 0, ASCII, NULL),
	SCALARS(commit, files, 0, UP_TO(PUSH_MAX_FILES), &ascii, NULL),
};

static const struct field push_fields[] = {
	TEXT(push, schema, REQUIRED, SCHEMA(push_1), NULL),
	TEXT(push, tree, REQUIRED, NAME, NULL),
	TEXT(push, pushed_at, REQUIRED, TIME, NULL),
	TEXT(push, old, 0, SHA1, NULL),
	TEXT(push, new, REQUIRED, SHA1, NULL),
	TEXT(push, base, 0, SHA1, NULL),
	INT(push, linear, REQUIRED, RANGE(0, 1), NULL),
	SCALARS(push, tags, 0, UP_TO(PUSH_MAX_TAGS), &ascii, NULL),
	ARRAY(push, commits, REQUIRED, UP_TO(PUSH_MAX_COMMITS), commit_fields,
	      NULL),
};

static const struct field skip_fields[] = {
	TEXT(skip, schema, REQUIRED, SCHEMA(skip_1), NULL),
	TEXT(skip, host, REQUIRED, NAME, NULL),
	TEXT(skip, push, 0, NAME, NULL),
	TEXT(skip, commit, 0, SHA1, NULL),
	TEXT(skip, reason, REQUIRED, ANY_TEXT, NULL),
};

static const struct field
	push_object = ELEMENT(OBJECT, 0, FIELDS(push_fields)),
	skip_object = ELEMENT(OBJECT, 0, FIELDS(skip_fields));

/* What no single field can tell. */
static int check_push(const struct push *p, struct err *e)
{
	const struct push_commit *c = p->commits;

	for (size_t i = 1; i < p->ncommits; i++)
		if (!c[i].parent || strcmp(c[i].parent, c[i - 1].sha) != 0)
			return err_set(e, "/commits/%zu/parent: expected the "
				       "sha of /commits/%zu, \"%s\"", i, i - 1,
				       c[i - 1].sha);
	if (p->ncommits && strcmp(c[p->ncommits - 1].sha, p->new) != 0)
		return err_set(e, "/new: expected the last of commits, \"%s\"",
			       c[p->ncommits - 1].sha);
	return 0;
}

int push_parse(const char *json, size_t len, struct push *out, struct err *e)
{
	memset(out, 0, sizeof(*out));
	return field_read(&push_object, json, len, PUSH_MAX_BODY, out,
			  &out->mem, e) || check_push(out, e) ? -1 : 0;
}

void push_free(struct push *p)
{
	field_free(&p->mem);
}

int skip_parse(const char *json, size_t len, struct skip *out, struct err *e)
{
	memset(out, 0, sizeof(*out));
	if (field_read(&skip_object, json, len, SKIP_MAX_BODY, out, &out->mem,
		       e))
		return -1;
	if (!out->push != !out->commit)
		return 0;
	return err_set(e, "/commit: expected either this or push");
}

void skip_free(struct skip *s)
{
	field_free(&s->mem);
}
