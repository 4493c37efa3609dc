/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_PARAM_H
#define SERVER_PARAM_H
/*
 * Query values by table: name, kind, range, default. An unknown, doubled,
 * ill-formed or out-of-range one is a 400 that names it and what was expected.
 * The canonical text (sorted by name, defaults and empty values left out) is
 * the cache key.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/buf.h"
#include "../common/err.h"

#define PARAM_MAX	16	/* values in one query */
#define PARAM_MAX_LEN	512	/* bytes of one decoded value */
#define PARAM_MAX_QUERY	4096	/* bytes of a whole raw query */

enum param_kind {
	PARAM_TEXT,	/* printable ASCII, min..max bytes */
	PARAM_INT,	/* min..max */
	PARAM_ENUM,	/* one of @words, separated by '|' */
	PARAM_KERNEL,	/* a kernel key or 8 or more characters of one */
};

/* A route's table ends with a spec without a name; routes.def names it. */
struct param_spec {
	const char *name;
	enum param_kind kind;
	int64_t min, max;
	const char *words;	/* PARAM_ENUM */
	const char *fallback;	/* default; NULL: none */
	bool required;
	const char *help;	/* one line, for the 400 and the man page */
};

struct params {
	const struct param_spec *spec;
	const char *value[PARAM_MAX];	/* by index in spec; NULL: absent */
	char mem[PARAM_MAX_QUERY + PARAM_MAX];
};

/* Percent-decode @raw (len bytes) into @out; '+' is a space if @plus. -1: a bad
 * escape, a NUL (%00), or it does not fit. */
int param_decode(const char *raw, size_t len, bool plus, char *out, size_t cap);

/* -1 with @e. */
int params_parse(struct params *p, const struct param_spec *spec,
		 const char *raw_query, struct err *e);
void params_canonical(const struct params *p, struct buf *out);

/* NULL (0) if absent and without default. The name must be in the spec. */
const char *param_text(const struct params *p, const char *name);
int64_t param_int(const struct params *p, const char *name);

#endif
