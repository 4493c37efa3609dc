/* SPDX-License-Identifier: GPL-2.0-only */
/* Pushes and skips, read by a table of their fields. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pushdoc.h"

#define N(array)	(sizeof(array) / sizeof(*(array)))

enum kind { SCHEMA, SHA, TIME, NAME, WORD, TEXT, FLAG, WORDS, COMMITS };

struct field {
	const char *key;
	enum kind kind;
	bool required;		/* neither absent nor null */
	size_t offset;		/* in the parent's struct */
	size_t max;		/* bytes; of a list, elements */
};

struct object { const struct field *fields; size_t n; };

#define FIELD(s, m, kind, required, max) \
	{ #m, kind, required, offsetof(struct s, m), max }

static const struct field commit_fields[] = {
	FIELD(push_commit, sha, SHA, true, 0),
	FIELD(push_commit, tree_hash, SHA, true, 0),
	FIELD(push_commit, parent, SHA, false, 0),
	FIELD(push_commit, subject, TEXT, true, PUSH_MAX_TEXT),
	FIELD(push_commit, author, TEXT, true, PUSH_MAX_TEXT),
	FIELD(push_commit, authored_at, TIME, true, 0),
	FIELD(push_commit, patch_id, SHA, false, 0),
	FIELD(push_commit, patch_id_u0, SHA, false, 0),
	FIELD(push_commit, link, WORD, false, PUSH_MAX_WORD),
	FIELD(push_commit, quilt, WORD, false, PUSH_MAX_WORD),
	FIELD(push_commit, files, WORDS, false, PUSH_MAX_FILES),
}, push_fields[] = {
	FIELD(push, schema, SCHEMA, true, 0),
	FIELD(push, tree, NAME, true, PUSH_MAX_NAME),
	FIELD(push, pushed_at, TIME, true, 0),
	FIELD(push, old, SHA, false, 0),
	FIELD(push, new, SHA, true, 0),
	FIELD(push, base, SHA, false, 0),
	FIELD(push, linear, FLAG, true, 0),
	FIELD(push, tags, WORDS, false, PUSH_MAX_TAGS),
	FIELD(push, commits, COMMITS, true, PUSH_MAX_COMMITS),
}, skip_fields[] = {
	FIELD(skip, schema, SCHEMA, true, 0),
	FIELD(skip, host, NAME, true, PUSH_MAX_NAME),
	FIELD(skip, push, NAME, false, PUSH_MAX_NAME),
	FIELD(skip, commit, SHA, false, 0),
	FIELD(skip, reason, TEXT, true, PUSH_MAX_TEXT),
};

static const struct object
	commit_object = { commit_fields, N(commit_fields) },
	push_object = { push_fields, N(push_fields) },
	skip_object = { skip_fields, N(skip_fields) };

/* Characters that could lie about what is shown, by code point. */
static const struct { uint32_t first, last; } refused[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

/* What is read for a kind, and what is said when it is not there; the field's
 * max stands between the two. */
static const struct { json_type json; const char *what, *more; } kinds[] = {
	[SCHEMA] = { JSON_STRING, "the schema's name", NULL },
	[SHA] = { JSON_STRING, "a string of 40 lower-case hex digits", NULL },
	[TIME] = { JSON_STRING, "a string with a time that exists, like "
		   "\"2026-11-30T11:04:56Z\"", NULL },
	[NAME] = { JSON_STRING, "a string of 1 to ", " characters from A-Z a-z "
		   "0-9 . _ -, a letter or a digit first" },
	[WORD] = { JSON_STRING, "a string of 1 to ", " ASCII characters but "
		   "spaces" },
	[TEXT] = { JSON_STRING, "a string of 0 to ", " bytes, without control "
		   "or invisible characters" },
	[FLAG] = { JSON_INTEGER, "an integer, 0 or 1", NULL },
	[WORDS] = { JSON_ARRAY, "an array of 0 to ", " strings" },
	[COMMITS] = { JSON_ARRAY, "an array of 0 to ", " objects" },
};

struct reader {
	struct err *e;
	const char *schema;	/* that the document must name */
	char path[32];		/* before the key: "", "/commits/17" */
};

/* What a stranger may have put in is shown as '?' unless printable ASCII. */
static void make_plain(struct err *e)
{
	for (char *s = e->msg; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

static int say(const struct reader *r, const char *key, const char *what,
	       json_t *got)
{
	char *text = got ? json_dumps(got, JSON_ENCODE_ANY) : NULL;

	err_set(r->e, "%s/%.40s: %s%s%.40s%s", r->path, key, what,
		text ? ", got " : "", text ? text : "",
		text && strlen(text) > 40 ? "..." : "");
	make_plain(r->e);
	free(text);
	return -1;
}

/* @key: the field's, or of an element of it. @got NULL: it is missing. */
static int refuse(const struct reader *r, const struct field *f,
		  enum kind kind, const char *key, json_t *got)
{
	const char *more = kinds[kind].more;
	char what[192], max[16] = "";

	if (more)
		snprintf(max, sizeof(max), "%zu",
			 kind == f->kind ? f->max : (size_t)PUSH_MAX_WORD);
	snprintf(what, sizeof(what), "%sexpected %s%s%s",
		 got ? "" : "missing, ",
		 kind == SCHEMA ? r->schema : kinds[kind].what, max,
		 more ? more : f->required ? "" : " or null");
	return say(r, key, what, got);
}

/* --- texts ------------------------------------------------------------- */

/* jansson lets only whole UTF-8 through. */
static bool is_plain(const char *s)
{
	while (*s) {
		uint32_t c = (unsigned char)*s++;
		unsigned more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

		if (more)
			c &= 0x3fu >> more;
		while (more--)
			c = c << 6 | (*s++ & 0x3f);
		for (size_t i = 0; i < N(refused) && c >= refused[i].first; i++)
			if (c <= refused[i].last)
				return false;
	}
	return true;
}

static bool is_time(const char *text)
{
	struct tm tm = { 0 };
	char again[64] = "";

	if (strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) && timegm(&tm) >= 0)
		strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return !strcmp(text, again);
}

static bool is_ascii(const char *s)
{
	while (*s > ' ' && *s <= '~')
		s++;
	return !*s;
}

static bool fits(const struct reader *r, enum kind kind, size_t max,
		 const char *s)
{
	size_t len = strlen(s);

	switch (kind) {
	case SCHEMA:
		return !strcmp(s, r->schema);
	case SHA:
		return len == 40 && strspn(s, "0123456789abcdef") == len;
	case TIME:
		return is_time(s);
	case NAME:
		return len && len <= max && *s != '.' && *s != '_' &&
		       *s != '-' && strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "abcdefghijklmnopqrstuvwxyz"
					   "0123456789._-") == len;
	case WORD:
		return len && len <= max && is_ascii(s);
	default:
		return len <= max && is_plain(s);
	}
}

/* --- values ------------------------------------------------------------ */

static int read_object(struct reader *r, const struct object *o, json_t *j,
		       void *out);

static int read_words(struct reader *r, const struct field *f, json_t *j,
		      struct push_words *out)
{
	char key[64];

	for (; out->n < json_array_size(j); out->n++) {
		json_t *word = json_array_get(j, out->n);
		const char *s = json_string_value(word);

		snprintf(key, sizeof(key), "%s/%zu", f->key, out->n);
		if (!s || !fits(r, WORD, PUSH_MAX_WORD, s))
			return refuse(r, f, WORD, key, word);
		out->v[out->n] = s;
	}
	return 0;
}

static int read_commits(struct reader *r, json_t *j, struct push *p)
{
	size_t n = json_array_size(j);
	struct push_commit *commits = calloc(n + 1, sizeof(*commits));

	if (!commits)
		return -1;
	p->commits = commits;
	for (; p->ncommits < n; p->ncommits++) {
		snprintf(r->path, sizeof(r->path), "/commits/%zu", p->ncommits);
		if (read_object(r, &commit_object,
				json_array_get(j, p->ncommits),
				&commits[p->ncommits]))
			return -1;
	}
	*r->path = '\0';
	return 0;
}

/* No reason is set if memory was short. */
static int read_value(struct reader *r, const struct field *f, json_t *j,
		      void *parent)
{
	void *out = (char *)parent + f->offset;

	if (!f->required && (!j || json_is_null(j)))
		return 0;
	if (!j || json_typeof(j) != kinds[f->kind].json ||
	    (json_is_array(j) && json_array_size(j) > f->max))
		return refuse(r, f, f->kind, f->key, j);
	if (f->kind == WORDS)
		return read_words(r, f, j, out);
	if (f->kind == COMMITS)
		return read_commits(r, j, parent);
	if (f->kind == FLAG) {
		*(int64_t *)out = json_integer_value(j);
		return json_integer_value(j) == !!json_integer_value(j) ? 0 :
			refuse(r, f, f->kind, f->key, j);
	}
	if (!fits(r, f->kind, f->max, json_string_value(j)))
		return refuse(r, f, f->kind, f->key, j);
	*(const char **)out = json_string_value(j);
	return 0;
}

static int read_object(struct reader *r, const struct object *o, json_t *j,
		       void *out)
{
	size_t known = 0;

	if (!json_is_object(j))
		return say(r, "", "expected an object", j);
	for (size_t i = 0; i < o->n; i++) {
		json_t *v = json_object_get(j, o->fields[i].key);

		if (read_value(r, &o->fields[i], v, out))
			return -1;
		known += v != NULL;
	}
	if (known == json_object_size(j))
		return 0;
	for (size_t i = 0; i < o->n; i++)
		json_object_del(j, o->fields[i].key);
	return say(r, json_object_iter_key(json_object_iter(j)), "unknown key",
		   NULL);
}

/* jansson nests by recursion, on a thread's small stack: look before. */
static bool too_deep(const char *s, size_t len)
{
	size_t depth = 0;
	bool text = false;

	for (size_t i = 0; i < len && depth <= PUSH_MAX_DEPTH; i++) {
		if (s[i] == '"')
			text = !text;
		else if (text)
			i += s[i] == '\\';
		else if (s[i] == '{' || s[i] == '[')
			depth++;
		else if (s[i] == '}' || s[i] == ']')
			depth -= depth > 0;
	}
	return depth > PUSH_MAX_DEPTH;
}

/* errno is ENOMEM where any allocation fails, in jansson too. */
static int read_document(const char *json, size_t len, size_t cap,
			 const char *schema, const struct object *o, void *out,
			 void **owner, struct err *e)
{
	struct reader r = { .e = e, .schema = schema };
	json_error_t je = { 0 };
	json_t *j;

	errno = 0;
	err_set(e, "out of memory");
	if (!len)
		return err_set(e, "the body is empty, expected a JSON object");
	if (len > cap)
		return err_set(e, "expected at most %zu bytes, got %zu", cap,
			       len);
	if (too_deep(json, len))
		return err_set(e, "nested deeper than %d", PUSH_MAX_DEPTH);
	*owner = j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &je);
	if (!j && errno != ENOMEM) {
		err_set(e, "line %d, column %d: %s", je.line, je.column,
			json_error_code(&je) == json_error_null_character ?
			"\\u0000 is not allowed" : je.text);
		make_plain(e);
	}
	if (!j)
		return -1;
	return read_object(&r, o, j, out);
}

/* --- what no single field can tell ------------------------------------- */

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

/* --- the two ends ------------------------------------------------------ */

int push_parse(const char *json, size_t len, struct push *out, struct err *e)
{
	memset(out, 0, sizeof(*out));
	return read_document(json, len, PUSH_MAX_BODY, "mmtrend.push/1",
			     &push_object, out, &out->json, e) ||
	       check_push(out, e) ? -1 : 0;
}

void push_free(struct push *p)
{
	free(p->commits);
	json_decref(p->json);
}

int skip_parse(const char *json, size_t len, struct skip *out, struct err *e)
{
	memset(out, 0, sizeof(*out));
	if (read_document(json, len, SKIP_MAX_BODY, "mmtrend.skip/1",
			  &skip_object, out, &out->json, e))
		return -1;
	if (!out->push != !out->commit)
		return 0;
	return err_set(e, "/commit: expected either this or push");
}

void skip_free(struct skip *s)
{
	json_decref(s->json);
}
