/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_FIELD_H
#define COMMON_FIELD_H
/*
 * Documents by a table of their fields: read from JSON into structs, checked,
 * and written back. record.def has the table of the run document, the server's
 * route/pushdoc.c those of pushes and skips. Null is RECORD_NULL for integers,
 * NULL for texts, nothing for lists. Only what includes this knows the macros.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define FIELD_MAX_DEPTH	8	/* of JSON nesting */

enum kind { INT, TEXT, WORD, PARAM, OBJECT, ARRAY, MAP };

enum {
	REQUIRED = 1,	/* neither absent nor null */
	OMIT = 2,	/* left out when empty, where others are written null */
	POW2 = 4,
};

/* The form of a text: what fnmatch() must not, what it must find in it; the
 * same for the schema; and its unit, for errors. */
struct format {
	const char *never, *shape, *pattern, *unit;
	bool (*is)(const char *text);	/* NULL: no more than that */
};

struct field {
	const char *key;
	enum kind kind;
	unsigned flags;
	size_t offset;			/* in the parent's struct */
	int64_t min, max;		/* of INT's value, TEXT's bytes, the
					 * count of words, fields, elements */
	const struct format *format;	/* TEXT; NULL: any text */
	const char *const *words;	/* WORD: by enum value */
	const struct field *sub;	/* OBJECT: fields; ARRAY: element;
					 * MAP: key, value; PARAM: a text */
	size_t size;			/* ARRAY, MAP: of one element */
	const char *doc;
};

/* Characters that could lie about what is shown, by code point. */
#define FIELD_REFUSED	9
struct field_range { uint32_t first, last; };
extern const struct field_range field_refused[FIELD_REFUSED];

/* --- the form of texts ---------------------------------------------------- */

#define OF(set)		"*[!" set "]*", NULL, "^[" set "]*$"
#define LIKE(shape)	NULL, shape, "^" shape "$"
#define D2		"[0-9][0-9]"
#define X3		"[0-9a-f][0-9a-f][0-9a-f]"
#define X4		X3 "[0-9a-f]"
#define UTC		D2 D2 "-" D2 "-" D2 "T" D2 ":" D2 ":" D2 "Z"

/* 40 hex digits; a time that exists; printable ASCII without spaces. */
extern const struct format field_hex, field_utc, field_ascii;

/* --- how a row is written ------------------------------------------------- */

#define INT(s, m, fl, range, d)	ROW(INT, #m, s, m, fl, d, range)
#define TEXT(s, m, fl, form, d)	ROW(TEXT, #m, s, m, fl, d, form)
#define WORD(s, m, w, d)	ROW(WORD, #m, s, m, REQUIRED, d, WORDS(w))
#define OBJECT(s, m, fl, f, d)	ROW(OBJECT, #m, s, m, fl, d, FIELDS(f))
#define ARRAY(s, m, fl, n, f, d) LIST(ARRAY, #m, s, m, fl, OBJECTS(f), d, n)
#define MAP(s, m, fl, n, f, d)	LIST(MAP, #m, s, m, fl, f, d, n)
#define SCALARS(s, m, fl, n, f, d) LIST(ARRAY, #m, s, m.v, fl, f, d, n)
#define LIST(k, name, s, m, fl, f, d, ...) \
	ROW(k, name, s, m, fl, d, __VA_ARGS__, .sub = (f), \
	    .size = sizeof(*((struct record_##s *)NULL)->m))
#define ROW(k, name, s, m, fl, d, ...) \
	{ .key = (name), .kind = k, .offset = offsetof(struct record_##s, m), \
	  .flags = (fl), .doc = (d), __VA_ARGS__ }
#define ELEMENT(k, fl, ...) { .kind = k, .flags = REQUIRED | (fl), __VA_ARGS__ }
#define N(array)	(sizeof(array) / sizeof(*(array)))
#define WORDS(w)	.words = (w), .max = N(w) - 1
#define FIELDS(f)	.sub = (f), .max = N(f)
#define OBJECTS(f)	&(const struct field)ELEMENT(OBJECT, 0, FIELDS(f))
#define RANGE(lo, hi)	.min = (lo), .max = (hi)
#define ANY		RANGE(-INT64_MAX, INT64_MAX)
#define COUNT		RANGE(0, INT64_MAX)
#define POSITIVE	RANGE(1, INT64_MAX)
#define UP_TO(n)	RANGE(0, n)
#define PAIR		RANGE(2, 2)
#define FORM(lo, hi, f)	RANGE(lo, hi), .format = &(f)
#define SHA1		FORM(40, 40, field_hex)
#define SHA256		FORM(64, 64, field_hex)
#define TIME		FORM(20, 20, field_utc)

/* --- what is done by them ------------------------------------------------- */

/* Memory that is freed at once; *@mem starts NULL. Zeroed; NULL: no memory. */
void *field_alloc(void **mem, size_t bytes);
char *field_dup(void **mem, const char *s);	/* NULL of NULL */
/* The place of one more element in an ARRAY or MAP. */
void *field_append(void **mem, void *list, size_t bytes);
void field_free(void **mem);

/* A zeroed struct that is to be null. */
void field_null(const struct field *object, void *at);
/*
 * JSON of at most @cap bytes into @out, which is null; its texts and lists are
 * of @mem. -1 with @e: "line 3, column 7: ..." for syntax, else the JSON path.
 * Unknown and doubled keys are refused. After a -1 errno is ENOMEM if memory
 * was short, which says nothing of the document.
 */
int field_read(const struct field *object, const char *json, size_t len,
	       size_t cap, void *out, void **mem, struct err *e);
/* Unchecked. */
void field_write(struct buf *out, const struct field *object, const void *from);

#endif
