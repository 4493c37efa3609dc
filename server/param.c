/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Query strings -> checked values, by a route's table.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "param.h"

#define KERNEL_MIN	8	/* a shorter prefix fits too much */
#define KERNEL_MAX	64
#define NAME_LEN	64
#define SHOWN		40	/* bytes of a wrong value, in an error */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int param_decode(const char *raw, size_t len, bool plus, char *out, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)raw[i];

		if (c == '+' && plus) {
			c = ' ';
		} else if (c == '%') {
			bool whole = len - i > 2;
			int hi = whole ? hex_digit(raw[i + 1]) : -1;
			int lo = whole ? hex_digit(raw[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return -1;
			c = hi * 16 + lo;
			i += 2;
		}
		if (!c || n + 1 >= cap)
			return -1;
		out[n++] = (char)c;
	}
	if (!cap)
		return -1;
	out[n] = '\0';
	return 0;
}

/* One character of UTF-8, strictly; 0: none is there. */
static size_t utf8_next(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

	if (n == 1) {
		*code = *s;
		return 1;
	}
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	*code = *s & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3fu);
	}
	if (*code < least[n] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return n;
}

/* What could turn a page's or a terminal's text round, or end its line. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c ||
	       c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static bool is_plain_text(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code;

	while (*s) {
		size_t n = utf8_next(s, &code);

		if (!n || is_unsafe(code))
			return false;
		s += n;
	}
	return true;
}

/* Decimal in the one way to write it, so that equal values are equal text. */
static bool is_integer(const char *s, int64_t min, int64_t max)
{
	const char *digits = s + (*s == '-');
	char *end;
	long long v;

	if (*digits < '0' || *digits > '9' || (*digits == '0' && *s == '-') ||
	    (*digits == '0' && digits[1]))
		return false;
	errno = 0;
	v = strtoll(s, &end, 10);
	return !errno && !*end && v >= min && v <= max;
}

static bool is_word(const char *s, const char *words)
{
	size_t len = strlen(s);

	while (words) {
		const char *end = strchrnul(words, '|');

		if ((size_t)(end - words) == len && !memcmp(words, s, len))
			return true;
		words = *end ? end + 1 : NULL;
	}
	return false;
}

static bool is_kernel(const char *s)
{
	size_t len = strspn(s, "0123456789abcdefghijklmnopqrstuvwxyz.+~_-");

	return !s[len] && len >= KERNEL_MIN && len <= KERNEL_MAX;
}

static int64_t text_max(const struct param_spec *sp)
{
	return sp->max ? sp->max : PARAM_MAX_LEN - 1;
}

static bool is_valid(const struct param_spec *sp, const char *s)
{
	int64_t len = (int64_t)strlen(s);

	switch (sp->kind) {
	case PARAM_TEXT:
		return is_plain_text(s) && len >= sp->min &&
		       len <= text_max(sp);
	case PARAM_INT:
		return is_integer(s, sp->min, sp->max);
	case PARAM_ENUM:
		return is_word(s, sp->words);
	case PARAM_KERNEL:
		return is_kernel(s);
	}
	return false;
}

/* @raw, cut, with nothing in it that a terminal would act upon. */
static const char *shown(const char *raw, char out[SHOWN + 1])
{
	size_t n = 0;

	for (; n < SHOWN && raw[n]; n++)
		out[n] = raw[n] < 0x20 || raw[n] > 0x7e ? '?' : raw[n];
	out[n] = '\0';
	return out;
}

static int refuse(const struct param_spec *sp, const char *got, struct err *e)
{
	char cut[SHOWN + 1], want[160];

	switch (sp->kind) {
	case PARAM_TEXT:
		snprintf(want, sizeof(want),
			 "plain UTF-8 text of %" PRId64 " to %" PRId64 " bytes",
			 sp->min ? sp->min : 1, text_max(sp));
		break;
	case PARAM_INT:
		snprintf(want, sizeof(want),
			 "an integer from %" PRId64 " to %" PRId64,
			 sp->min, sp->max);
		break;
	case PARAM_ENUM:
		snprintf(want, sizeof(want), "one of %s", sp->words);
		break;
	case PARAM_KERNEL:
		snprintf(want, sizeof(want), "a kernel's key or commit, or its "
			 "first %d or more characters", KERNEL_MIN);
		break;
	}
	if (!got)
		return err_set(e, "%s: missing; expected %s (%s)", sp->name,
			       want, sp->help ? sp->help : "required");
	return err_set(e, "%s: expected %s, got \"%s\"", sp->name, want,
		       shown(got, cut));
}

static int refuse_name(const struct params *p, const char *got, struct err *e)
{
	char cut[SHOWN + 1], names[256] = "none";
	size_t n = 0;

	for (size_t i = 0; i < p->nspec && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
				      i ? ", " : "", p->spec[i].name);
	return err_set(e, "%s: unknown parameter; this address takes %s",
		       shown(got, cut), names);
}

size_t params_count(const struct param_spec *spec)
{
	size_t n = 0;

	while (spec[n].name)
		n++;
	return n;
}

static size_t spec_find(const struct params *p, const char *name)
{
	size_t i = 0;

	while (i < p->nspec && strcmp(p->spec[i].name, name) != 0)
		i++;
	return i;
}

/* One "name=value" or "name". */
static int parse_pair(struct params *p, const char *pair, size_t len,
		      bool seen[PARAM_MAX], struct err *e)
{
	const char *eq = memchr(pair, '=', len);
	size_t name_len = eq ? (size_t)(eq - pair) : len, i;
	char name[NAME_LEN], *room;

	if (param_decode(pair, name_len, true, name, sizeof(name)))
		return err_set(e, "query: expected name=value, got a name with "
			       "a bad escape or over %zu bytes",
			       sizeof(name) - 1);
	i = spec_find(p, name);
	if (i == p->nspec)
		return refuse_name(p, name, e);
	if (seen[i])
		return err_set(e, "%s: given twice; expected once", name);
	seen[i] = true;
	if (!eq || name_len + 1 == len)
		return 0;
	room = p->mem + i * PARAM_MAX_LEN;
	if (param_decode(eq + 1, len - name_len - 1, true, room,
			 PARAM_MAX_LEN))
		return err_set(e, "%s: expected at most %d bytes without NUL "
			       "and with whole %%XX escapes", name,
			       PARAM_MAX_LEN - 1);
	if (!is_valid(&p->spec[i], room))
		return refuse(&p->spec[i], room, e);
	p->value[i] = room;
	return 0;
}

/* What was not given: its default, or an error. */
static int fill_in(struct params *p, struct err *e)
{
	for (size_t i = 0; i < p->nspec; i++) {
		if (p->value[i])
			continue;
		if (p->spec[i].required)
			return refuse(&p->spec[i], NULL, e);
		p->value[i] = p->spec[i].fallback;
	}
	return 0;
}

int params_parse(struct params *p, const struct param_spec *spec, size_t nspec,
		 const char *raw_query, struct err *e)
{
	bool seen[PARAM_MAX] = { false };
	const char *s = raw_query ? raw_query : "";

	assert(nspec <= PARAM_MAX);
	memset(p, 0, sizeof(*p));
	p->spec = spec;
	p->nspec = nspec;
	if (strlen(s) > PARAM_MAX_QUERY)
		return err_set(e, "query: expected at most %d bytes",
			       PARAM_MAX_QUERY);
	if (nspec) {
		p->mem = malloc(nspec * PARAM_MAX_LEN);
		if (!p->mem)
			return err_set(e, "query: no memory");
	}
	while (*s) {
		size_t len = strcspn(s, "&");

		if (len && parse_pair(p, s, len, seen, e))
			return -1;
		s += len + (s[len] == '&');
	}
	return fill_in(p, e);
}

void params_canonical(const struct params *p, struct buf *out)
{
	const char *last = "";
	size_t start = out->len;

	/* nspec is small: take the next name in order, again and again. */
	for (size_t round = 0; round < p->nspec; round++) {
		size_t next = p->nspec;

		for (size_t i = 0; i < p->nspec; i++)
			if (strcmp(p->spec[i].name, last) > 0 &&
			    (next == p->nspec || strcmp(p->spec[i].name,
						p->spec[next].name) < 0))
				next = i;
		last = p->spec[next].name;
		if (!p->value[next] || (p->spec[next].fallback &&
		    !strcmp(p->value[next], p->spec[next].fallback)))
			continue;
		if (out->len > start)
			buf_char(out, '&');
		buf_str(out, last);
		buf_char(out, '=');
		buf_url(out, p->value[next]);
	}
}

void params_free(struct params *p)
{
	free(p->mem);
	memset(p, 0, sizeof(*p));
}

const char *param_text(const struct params *p, const char *name)
{
	size_t i = spec_find(p, name);

	assert(i < p->nspec);
	return p->value[i];
}

int64_t param_int(const struct params *p, const char *name)
{
	const char *s = param_text(p, name);

	return s ? strtoll(s, NULL, 10) : 0;
}
