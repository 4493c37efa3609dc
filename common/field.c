/* SPDX-License-Identifier: GPL-2.0-only */
/* Documents by a table of their fields. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "field.h"
#include "record.h"

/* A value or key in an error, cut. */
#define QUOTE		"%.40s%s"
#define QUOTED(s)	(s), strlen(s) > 40 ? "..." : ""
/* An ARRAY or MAP in a struct is a pointer and, right behind it, a count. */
struct list { char *v; size_t n; } __attribute__((may_alias));

/* --- memory: freed at once ------------------------------------------------ */

struct block {
	struct block *next;
	max_align_t data[];
};

void *field_alloc(void **mem, size_t bytes)
{
	struct block *b = NULL;

	if (bytes <= PTRDIFF_MAX)
		b = calloc(1, sizeof(*b) + bytes);
	if (!b)
		return NULL;
	b->next = *mem;
	*mem = b;
	return b->data;
}

char *field_dup(void **mem, const char *s)
{
	size_t bytes = s ? strlen(s) + 1 : 0;
	char *copy = s ? field_alloc(mem, bytes) : NULL;

	return copy ? memcpy(copy, s, bytes) : NULL;
}

/* The memory doubles at powers of two. */
void *field_append(void **mem, void *list, size_t bytes)
{
	struct list *l = list;
	char *more;

	if (!(l->n & (l->n - 1))) {
		more = field_alloc(mem, (l->n ? 2 * l->n : 1) * bytes);
		if (!more)
			return NULL;
		if (l->n)
			memcpy(more, l->v, l->n * bytes);
		l->v = more;
	}
	return l->v + l->n++ * bytes;
}

void field_free(void **mem)
{
	struct block *b, *next;

	for (b = *mem; b; b = next) {
		next = b->next;
		free(b);
	}
	*mem = NULL;
}

/* Integers become null; all else is null as zero. */
void field_null(const struct field *object, void *at)
{
	const struct field *f = object->sub;

	for (; f < object->sub + object->max; f++) {
		void *member = (char *)at + f->offset;

		if (f->kind == OBJECT)
			field_null(f, member);
		else if (f->kind == INT)
			*(int64_t *)member = RECORD_NULL;
	}
}

/* --- the form of texts ---------------------------------------------------- */

const struct field_range field_refused[FIELD_REFUSED] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

static bool is_time(const char *text)
{
	struct tm tm = { 0 };
	char again[64] = "";

	if (strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) && timegm(&tm) >= 0)
		strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return !strcmp(text, again);
}

const struct format
	field_hex = { OF("0-9a-f"), " lower-case hex digits", NULL },
	field_utc = { LIKE(UTC), " bytes, a time that exists, like "
		      "\"2026-11-30T11:04:56Z\"", is_time },
	field_ascii = { OF("!-~"), " ASCII characters but spaces", NULL };

/* --- what is said when a value is refused --------------------------------- */

/* Where in the document the reader is. */
struct walk {
	void **mem;			/* owns what is read */
	struct err *e;
	size_t depth;
	struct { const char *key; size_t index; } path[FIELD_MAX_DEPTH + 1];
};

/* @key NULL: element @index of an array. Leave by w->depth--. */
static void enter(struct walk *w, const char *key, size_t index)
{
	w->path[w->depth].key = key;
	w->path[w->depth++].index = index;
}

/* Append to a reason. What a stranger may have put in is shown as '?' unless
 * printable ASCII. Returns -1. */
__attribute__((format(printf, 2, 3)))
static int say(struct err *e, const char *fmt, ...)
{
	size_t len = strlen(e->msg);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->msg + len, sizeof(e->msg) - len, fmt, ap);
	va_end(ap);
	for (char *s = e->msg + len; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
	return -1;
}

/* A reason begins with its path; "/" is all. */
static void where(const struct walk *w)
{
	w->e->msg[0] = '\0';
	for (size_t i = 0; i < w->depth; i++) {
		if (w->path[i].key)
			say(w->e, "/" QUOTE, QUOTED(w->path[i].key));
		else
			say(w->e, "/%zu", w->path[i].index);
	}
	say(w->e, w->depth ? ": " : "/: ");
}

/* What is read for a kind, and what is said when it is not there. */
static const struct { json_type json; const char *name, *unit; } kinds[] = {
	[INT] = { JSON_INTEGER, "an integer", "" },
	[TEXT] = { JSON_STRING, "a string", " bytes" },
	[WORD] = { JSON_STRING, "one of", NULL },
	[PARAM] = { JSON_NULL, "an integer, a boolean or a string", NULL },
	[OBJECT] = { JSON_OBJECT, "an object", NULL },
	[ARRAY] = { JSON_ARRAY, "an array", " values" },
	[MAP] = { JSON_OBJECT, "an object", " values" },
};

/* "[missing, ]expected ..."; the caller may add what it got. Returns -1. */
static int expected(const struct walk *w, const struct field *f,
		    const char *missing)
{
	const char *unit = f->format ? f->format->unit : kinds[f->kind].unit;

	where(w);
	say(w->e, "%sexpected %s", missing,
	    f->flags & POW2 ? "a power of two" : kinds[f->kind].name);
	for (size_t i = 0; f->words && f->words[i]; i++)
		say(w->e, " %s", f->words[i]);
	if (unit && f->min == f->max)
		say(w->e, " of %" PRId64 "%s", f->min, unit);
	else if (unit && f->max < INT64_MAX)
		say(w->e, " of %" PRId64 " to %" PRId64 "%s", f->min, f->max,
		    unit);
	else if (unit && f->min > -INT64_MAX)
		say(w->e, " >= %" PRId64, f->min);
	return say(w->e, f->flags & REQUIRED ? "" : " or null");
}

static int refuse(const struct walk *w, const struct field *f, const json_t *j)
{
	char *got = json_dumps(j, JSON_ENCODE_ANY);

	expected(w, f, "");
	if (got)
		say(w->e, ", got " QUOTE, QUOTED(got));
	free(got);
	return -1;
}

/* --- JSON to struct ------------------------------------------------------- */

/* The next code point of UTF-8 (jansson lets nothing else through); *@s moves
 * behind it. */
static uint32_t code_point(const char **s)
{
	uint32_t c = (unsigned char)*(*s)++;
	unsigned more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	if (more)
		c &= 0x3fu >> more;
	while (more--)
		c = c << 6 | (*(*s)++ & 0x3f);
	return c;
}

static int read_text(struct walk *w, const struct field *f, const char *text,
		     void *out)
{
	const struct format *form = f->format;
	int64_t len = (int64_t)strlen(text);

	if (len < f->min || len > f->max ||
	    (form && form->never && !fnmatch(form->never, text, 0)) ||
	    (form && form->shape && fnmatch(form->shape, text, 0)) ||
	    (form && form->is && !form->is(text))) {
		expected(w, f, "");
		return say(w->e, ", got \"" QUOTE "\"", QUOTED(text));
	}
	for (const char *s = text; *s; ) {
		uint32_t c = code_point(&s);
		size_t i = 0;

		if (c >= ' ' && c <= '~')
			continue;
		while (i < FIELD_REFUSED && (c < field_refused[i].first ||
					     c > field_refused[i].last))
			i++;
		if (i < FIELD_REFUSED) {
			where(w);
			return say(w->e, "control or invisible character "
				   "U+%04X", c);
		}
	}
	*(char **)out = field_dup(w->mem, text);
	return *(char **)out ? 0 : -1;
}

static int read_value(struct walk *w, const struct field *f, json_t *j,
		      char *at);

static int read_int(struct walk *w, const struct field *f, json_t *j,
		    int64_t *out)
{
	int64_t v = *out = json_integer_value(j);

	if (v < f->min || v > f->max || (f->flags & POW2 && v & (v - 1)))
		return refuse(w, f, j);
	return 0;
}

static int read_word(struct walk *w, const struct field *f, json_t *j,
		     unsigned *out)
{
	for (*out = 0; f->words[*out]; ++*out)
		if (!strcmp(json_string_value(j), f->words[*out]))
			return 0;
	return refuse(w, f, j);
}

static int read_param(struct walk *w, const struct field *f, json_t *j,
		      struct record_param *p)
{
	if (json_is_string(j)) {
		p->kind = RECORD_PARAM_TEXT;
		return read_text(w, f->sub, json_string_value(j), &p->text);
	}
	p->kind = json_is_boolean(j) ? RECORD_PARAM_BOOL : RECORD_PARAM_INT;
	p->i = json_is_true(j);
	if (json_is_boolean(j))
		return 0;
	return json_is_integer(j) ? read_int(w, f, j, &p->i) : refuse(w, f, j);
}

/* The first key of @j that no field has. */
static int refuse_key(struct walk *w, const struct field *object, json_t *j)
{
	for (const struct field *f = object->sub; f < object->sub + object->max; f++)
		json_object_del(j, f->key);
	enter(w, json_object_iter_key(json_object_iter(j)), 0);
	where(w);
	return say(w->e, "unknown key");
}

static int read_object(struct walk *w, const struct field *object, json_t *j,
		       char *at)
{
	size_t known = 0;

	for (const struct field *f = object->sub; f < object->sub + object->max;
	     f++) {
		json_t *v = json_object_get(j, f->key);

		enter(w, f->key, 0);
		if (read_value(w, f, v, at + f->offset))
			return -1;
		w->depth--;
		known += v != NULL;
	}
	return known == json_object_size(j) ? 0 : refuse_key(w, object, j);
}

/* An ARRAY or, with keys, a MAP. */
static int read_list(struct walk *w, const struct field *f, json_t *j,
		     struct list *l)
{
	const struct field *value = f->sub + (f->kind == MAP);
	size_t n = json_array_size(j) + json_object_size(j);
	void *iter = json_object_iter(j);

	if ((int64_t)n < f->min || (int64_t)n > f->max) {
		expected(w, f, "");
		return say(w->e, ", got %zu", n);
	}
	l->v = field_alloc(w->mem, n * f->size);
	for (; l->v && l->n < n; l->n++) {
		char *at = l->v + l->n * f->size;
		const char *key = json_object_iter_key(iter);
		json_t *v = iter ? json_object_iter_value(iter) :
				   json_array_get(j, l->n);

		enter(w, key, l->n);
		if (key && read_text(w, f->sub, key, at + f->sub->offset))
			return -1;
		if (value->kind == OBJECT)
			field_null(value, at);
		if (read_value(w, value, v, at + value->offset))
			return -1;
		w->depth--;
		iter = json_object_iter_next(j, iter);
	}
	return l->v ? 0 : -1;
}

/* Into a struct that is null so far; @j NULL: absent. After a -1 the walk
 * stays where the fault is; no reason is set if memory was short. */
static int read_value(struct walk *w, const struct field *f, json_t *j,
		      char *at)
{
	void *p = at;

	if (!j && f->flags & REQUIRED)
		return expected(w, f, "missing, ");
	if (!j || (json_is_null(j) && !(f->flags & REQUIRED)))
		return 0;
	if (f->kind == PARAM)
		return read_param(w, f, j, p);
	if (json_typeof(j) != kinds[f->kind].json)
		return refuse(w, f, j);
	switch (f->kind) {
	case INT:
		return read_int(w, f, j, p);
	case TEXT:
		return read_text(w, f, json_string_value(j), p);
	case WORD:
		return read_word(w, f, j, p);
	case OBJECT:
		return read_object(w, f, j, at);
	default:
		return read_list(w, f, j, p);
	}
}

/* --- struct to JSON, unchecked -------------------------------------------- */

static void write_value(struct buf *out, const struct field *f, const char *at,
			size_t depth);

static void new_line(struct buf *out, size_t depth)
{
	buf_printf(out, "\n%*s", (int)depth, "");
}

static bool is_null(const struct field *f, const char *at)
{
	const void *p = at;

	if (f->kind == INT)
		return *(const int64_t *)p == RECORD_NULL;
	if (f->kind == TEXT)
		return !*(char *const *)p;
	return (f->kind == ARRAY || f->kind == MAP) &&
	       (f->flags & OMIT || f->min) && !((const struct list *)p)->n;
}

static void write_object(struct buf *out, const struct field *object,
			 const char *at, size_t depth)
{
	const struct field *f = object->sub;
	const char *comma = "";

	buf_char(out, '{');
	for (; f < object->sub + object->max; f++) {
		if (f->flags & OMIT && is_null(f, at + f->offset))
			continue;
		buf_str(out, comma);
		comma = ",";
		new_line(out, depth + 1);
		buf_printf(out, "\"%s\": ", f->key);
		write_value(out, f, at + f->offset, depth + 1);
	}
	new_line(out, depth);
	buf_char(out, '}');
}

/* An object or a pair a line; integers and strings all on one. */
static void write_list(struct buf *out, const struct field *f,
		       const struct list *l, size_t depth)
{
	const struct field *value = f->sub + (f->kind == MAP);
	bool lines = l->n && (f->kind == MAP || value->kind == OBJECT);

	buf_char(out, f->kind == MAP ? '{' : '[');
	for (size_t i = 0; i < l->n; i++) {
		const char *at = l->v + i * f->size;

		buf_str(out, !i ? "" : lines ? "," : ", ");
		if (lines)
			new_line(out, depth + 1);
		if (f->kind == MAP) {
			write_value(out, f->sub, at + f->sub->offset, 0);
			buf_str(out, ": ");
		}
		write_value(out, value, at + value->offset, depth + 1);
	}
	if (lines)
		new_line(out, depth);
	buf_char(out, f->kind == MAP ? '}' : ']');
}

static void write_param(struct buf *out, const struct record_param *p)
{
	if (p->kind == RECORD_PARAM_TEXT)
		buf_json(out, p->text);
	else if (p->kind == RECORD_PARAM_BOOL)
		buf_str(out, p->i ? "true" : "false");
	else
		buf_i64(out, p->i);
}

static void write_value(struct buf *out, const struct field *f, const char *at,
			size_t depth)
{
	const void *p = at;

	if (is_null(f, at))
		buf_str(out, "null");
	else if (f->kind == INT)
		buf_i64(out, *(const int64_t *)p);
	else if (f->kind == TEXT)
		buf_json(out, *(char *const *)p);
	else if (f->kind == WORD)
		buf_json(out, f->words[*(const unsigned *)p < f->max ?
				       *(const unsigned *)p : f->max]);
	else if (f->kind == PARAM)
		write_param(out, p);
	else if (f->kind == OBJECT)
		write_object(out, f, at, depth);
	else
		write_list(out, f, p, depth);
}

void field_write(struct buf *out, const struct field *object, const void *from)
{
	write_value(out, object, from, 0);
}

/* --- all of it ------------------------------------------------------------ */

/* jansson nests by recursion, on a thread's small stack: look before. */
static bool too_deep(const char *s, size_t len)
{
	size_t depth = 0;
	bool text = false;

	for (size_t i = 0; i < len && depth <= FIELD_MAX_DEPTH; i++) {
		if (s[i] == '"')
			text = !text;
		else if (text)
			i += s[i] == '\\';
		else if (s[i] == '{' || s[i] == '[')
			depth++;
		else if (s[i] == '}' || s[i] == ']')
			depth -= depth > 0;
	}
	return depth > FIELD_MAX_DEPTH;
}

static json_t *load(const char *json, size_t len, size_t cap, struct err *e)
{
	json_error_t je = { 0 };
	json_t *j = NULL;

	if (!len)
		err_set(e, "the body is empty, expected a JSON object");
	else if (len > cap)
		err_set(e, "expected at most %zu bytes, got %zu", cap, len);
	else if (too_deep(json, len))
		err_set(e, "nested deeper than %d", FIELD_MAX_DEPTH);
	else if (!(j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &je)))
		say(e, "line %d, column %d: %s", je.line, je.column,
		    json_error_code(&je) == json_error_null_character ?
		    "\\u0000 is not allowed" : je.text);
	return j;
}

int field_read(const struct field *object, const char *json, size_t len,
	       size_t cap, void *out, void **mem, struct err *e)
{
	struct err why = { "" };
	struct walk w = { .e = &why, .mem = mem };
	json_t *j;
	int ret;

	errno = 0;	/* where any allocation fails it becomes ENOMEM, in
			 * jansson too, which may then speak of syntax */
	j = load(json, len, cap, &why);
	ret = j ? read_value(&w, object, j, out) : -1;
	if (ret)
		err_set(e, "%s", errno == ENOMEM ? "out of memory" : why.msg);
	json_decref(j);
	return ret;
}
