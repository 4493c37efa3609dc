/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Query strings -> checked values, by a route's table.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "param.h"

#define KERNEL_MIN	8	/* a shorter prefix fits too much */
#define KERNEL_MAX	64
#define KERNEL_CHARS	"0123456789abcdefghijklmnopqrstuvwxyz.+~_-"
#define SHOWN		40	/* bytes of a wrong value, in an error */

int param_decode(const char *raw, size_t len, bool plus, char *out, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = raw[i];

		if (c == '+' && plus) {
			c = ' ';
		} else if (c == '%') {
			char hex[3] = "";

			if (len - i < 3 || !isxdigit((unsigned char)raw[i + 1]) ||
			    !isxdigit((unsigned char)raw[i + 2]))
				return -1;
			memcpy(hex, raw + i + 1, 2);
			c = (char)strtoul(hex, NULL, 16);
			i += 2;
		}
		if (!c || n + 1 >= cap)
			return -1;
		out[n++] = c;
	}
	out[n] = '\0';
	return 0;
}

static bool is_printable(const char *s)
{
	while (*s >= ' ' && *s <= '~')
		s++;
	return !*s;
}

/* Decimal in the one way to write it, so that equal values are equal text. */
static bool is_integer(const char *s, int64_t min, int64_t max)
{
	char *end, again[24];
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	snprintf(again, sizeof(again), "%lld", v);
	return !errno && !strcmp(s, again) && v >= min && v <= max;
}

static bool is_word(const char *s, const char *words)
{
	size_t len = strlen(s);

	for (; words; words = strchr(words, '|')) {
		words += *words == '|';
		if (strcspn(words, "|") == len && !strncmp(words, s, len))
			return true;
	}
	return false;
}

/* Is @s what @sp takes? @want says what that is. */
static bool fits(const struct param_spec *sp, const char *s, char want[160])
{
	int64_t len = (int64_t)strlen(s);
	int64_t max = sp->max ? sp->max : PARAM_MAX_LEN - 1;

	switch (sp->kind) {
	case PARAM_TEXT:
		snprintf(want, 160, "plain ASCII text of %" PRId64 " to %"
			 PRId64 " bytes", sp->min, max);
		return is_printable(s) && len >= sp->min && len <= max;
	case PARAM_INT:
		snprintf(want, 160, "an integer from %" PRId64 " to %" PRId64,
			 sp->min, sp->max);
		return is_integer(s, sp->min, sp->max);
	case PARAM_ENUM:
		snprintf(want, 160, "one of %s", sp->words);
		return is_word(s, sp->words);
	case PARAM_KERNEL:
		snprintf(want, 160, "a kernel's key or commit, or its first %d "
			 "or more characters", KERNEL_MIN);
		return !s[strspn(s, KERNEL_CHARS)] && len >= KERNEL_MIN &&
		       len <= KERNEL_MAX;
	}
	return false;
}

/* @s, cut, with nothing in it that a terminal would act upon. */
static const char *shown(const char *s, size_t len, char out[SHOWN + 1])
{
	size_t n = 0;

	for (; n < SHOWN && n < len; n++)
		out[n] = s[n] < 0x20 || s[n] > 0x7e ? '?' : s[n];
	out[n] = '\0';
	return out;
}

/* The index of a name in the table. -1: it is not there. */
static int find(const struct params *p, const char *name, size_t len)
{
	for (int i = 0; p->spec[i].name; i++)
		if (strlen(p->spec[i].name) == len &&
		    !memcmp(p->spec[i].name, name, len))
			return i;
	return -1;
}

static int refuse_name(const struct params *p, const char *got, size_t len,
		       struct err *e)
{
	char cut[SHOWN + 1], names[256] = "none";
	size_t n = 0;

	for (size_t i = 0; p->spec[i].name && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
				      i ? ", " : "", p->spec[i].name);
	return err_set(e, "%s: unknown parameter; this address takes %s",
		       shown(got, len, cut), names);
}

/* One "name=value" or "name". @room: for the value. */
static int parse_pair(struct params *p, const char *pair, size_t len,
		      char *room, struct err *e)
{
	size_t name_len = strcspn(pair, "=&");
	const char *value = pair + name_len + (name_len < len);
	size_t value_len = (size_t)(pair + len - value);
	int i = find(p, pair, name_len);
	char cut[SHOWN + 1], want[160];
	const char *name;

	if (i < 0)
		return refuse_name(p, pair, name_len, e);
	name = p->spec[i].name;
	if (p->value[i])
		return err_set(e, "%s: given twice; expected once", name);
	p->value[i] = room;
	if (param_decode(value, value_len, true, room, PARAM_MAX_LEN))
		return err_set(e, "%s: expected at most %d bytes without NUL "
			       "and with whole %%XX escapes", name,
			       PARAM_MAX_LEN - 1);
	if (*room && !fits(&p->spec[i], room, want))
		return err_set(e, "%s: expected %s, got \"%s\"", name, want,
			       shown(room, strlen(room), cut));
	return 0;
}

/* What was not given: its default, or an error. */
static int fill_in(struct params *p, struct err *e)
{
	char want[160];

	for (size_t i = 0; p->spec[i].name; i++) {
		const struct param_spec *sp = &p->spec[i];

		if (p->value[i] && *p->value[i])
			continue;
		p->value[i] = sp->fallback;
		fits(sp, "", want);
		if (sp->required)
			return err_set(e, "%s: missing; expected %s (%s)",
				       sp->name, want,
				       sp->help ? sp->help : "required");
	}
	return 0;
}

int params_parse(struct params *p, const struct param_spec *spec,
		 const char *raw_query, struct err *e)
{
	char *room = p->mem;
	const char *s = raw_query;

	p->spec = spec;
	memset(p->value, 0, sizeof(p->value));
	if (strlen(s) > PARAM_MAX_QUERY)
		return err_set(e, "query: expected at most %d bytes",
			       PARAM_MAX_QUERY);
	while (*s) {
		size_t len = strcspn(s, "&");

		if (len) {
			if (parse_pair(p, s, len, room, e))
				return -1;
			room += strlen(room) + 1;
		}
		s += len + (s[len] == '&');
	}
	return fill_in(p, e);
}

/* The first name after @last, in order. -1: there is none. */
static int next_name(const struct params *p, const char *last)
{
	int next = -1;

	for (int i = 0; p->spec[i].name; i++)
		if (strcmp(p->spec[i].name, last) > 0 &&
		    (next < 0 ||
		     strcmp(p->spec[i].name, p->spec[next].name) < 0))
			next = i;
	return next;
}

void params_canonical(const struct params *p, struct buf *out)
{
	const char *sep = "";

	for (int i = next_name(p, ""); i >= 0;
	     i = next_name(p, p->spec[i].name)) {
		const char *fallback = p->spec[i].fallback;

		if (!p->value[i] ||
		    (fallback && !strcmp(p->value[i], fallback)))
			continue;
		buf_printf(out, "%s%s=", sep, p->spec[i].name);
		buf_url(out, p->value[i]);
		sep = "&";
	}
}

const char *param_text(const struct params *p, const char *name)
{
	int i = find(p, name, strlen(name));

	assert(i >= 0);
	return p->value[i];
}

int64_t param_int(const struct params *p, const char *name)
{
	const char *s = param_text(p, name);

	return s ? strtoll(s, NULL, 10) : 0;
}
