/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that survives a mail: figures, paragraphs, tables. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "report.h"

#define INDENT		"  "
#define GAP		2	/* columns between two columns of a table */
#define LEAST_WIDTH	8	/* to which a text column may be narrowed */

/* Units by their step: the first whose limit is above the largest value. */
static const struct step {
	const char *unit;
	double limit;
	struct report_unit shown;
} steps[] = {
	{ "ns", 1e4, { "ns", 1 } },
	{ "ns", 1e7, { "us", 1e3 } },
	{ "ns", 1e10, { "ms", 1e6 } },
	{ "ns", INFINITY, { "s", 1e9 } },
	{ "insns", 1e4, { "insns", 1 } },
	{ "insns", 1e10, { "k", 1e3 } },
	{ "insns", INFINITY, { "M", 1e6 } },
};

struct report_unit report_unit(int64_t largest, const char *unit)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (!strcmp(unit, steps[i].unit) &&
		    (double)largest < steps[i].limit)
			return steps[i].shown;
	return (struct report_unit){ unit, 1 };
}

const char *report_number(int64_t value, struct report_unit u,
			  char out[REPORT_VALUE])
{
	double x = (double)value / u.divide, size = fabs(x);
	/* The limits are where rounding would add a digit: 99.96 is 100. */
	int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 :
		       size >= 0.9995 ? 2 : 3;

	if (value == RECORD_NULL)
		snprintf(out, REPORT_VALUE, "-");
	else if (u.divide <= 1 || !value)
		snprintf(out, REPORT_VALUE, "%lld", (long long)value);
	else
		snprintf(out, REPORT_VALUE, "%.*f", decimals, x);
	return out;
}

const char *report_percent(int64_t before, int64_t after,
			   char out[REPORT_VALUE])
{
	long double percent;

	if (before == RECORD_NULL || after == RECORD_NULL || !before) {
		snprintf(out, REPORT_VALUE, "-");
		return out;
	}
	percent = 100 * ((long double)after - (long double)before) /
		  (long double)before;
	if (fabsl(percent) < 0.05L)
		percent = 0;	/* never "-0.0%" */
	snprintf(out, REPORT_VALUE, fabsl(percent) < 1e6L ? "%+.1Lf%%" :
		 "%+.1Le%%", percent);
	return out;
}

/* --- wrapping ------------------------------------------------------------- */

/* Length of the next line of *@s within @width; *@s moves behind it. */
static size_t next_line(const char **s, size_t width)
{
	size_t len = strcspn(*s, "\n"), cut = width, line = len;

	if (len > width) {
		while (cut && (*s)[cut] != ' ')
			cut--;
		while (cut && (*s)[cut - 1] == ' ')
			cut--;
		line = cut ? cut : width;	/* a word longer than a line */
	}
	len = line + strspn(*s + line, " ");
	*s += len + ((*s)[len] == '\n');
	return line;
}

/* End the line that began at @from: only printable ASCII, no blank at its end;
 * bytes stay columns. */
static void end_line(struct buf *b, size_t from)
{
	for (size_t i = from; i < b->len; i++)
		if (b->s[i] < ' ' || b->s[i] > '~')
			b->s[i] = b->s[i] == '\t' ? ' ' : '?';
	while (b->len > from && b->s[b->len - 1] == ' ')
		buf_reset(b, b->len - 1);
	buf_char(b, '\n');
}

void report_text(struct buf *b, const char *text)
{
	do {
		size_t from = b->len;
		const char *line = text;
		size_t len = next_line(&text, REPORT_WIDTH - strlen(INDENT));

		buf_str(b, INDENT);
		buf_add(b, line, len);
		end_line(b, from);
	} while (*text);
}

void report_printf(struct buf *b, const char *fmt, ...)
{
	char text[REPORT_PARAGRAPH];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	report_text(b, text);
}

void report_take(struct buf *b, struct buf *text)
{
	b->failed |= !buf_ok(text);
	if (text->len && text->s[text->len - 1] == '\n')
		buf_reset(text, text->len - 1);
	if (text->len)
		report_text(b, text->s);
	buf_free(text);
}

/* --- tables --------------------------------------------------------------- */

struct table {
	const struct report_col *cols;
	size_t ncols;
	size_t width[REPORT_MAX_COLS];
};

/* Longest line of a text. */
static size_t text_width(const char *s)
{
	size_t longest = 0, len;

	for (; *s; s += len + (s[len] == '\n')) {
		len = strcspn(s, "\n");
		longest = len > longest ? len : longest;
	}
	return longest;
}

/* The text column that gives way. */
static size_t *widest_text(struct table *t)
{
	size_t *widest = NULL;

	for (size_t i = 0; i < t->ncols; i++)
		if (!t->cols[i].right && t->width[i] > LEAST_WIDTH &&
		    (!widest || t->width[i] >= *widest))
			widest = &t->width[i];
	return widest;
}

static void fit(struct table *t, const char *const *cells, size_t nrows)
{
	size_t total = strlen(INDENT) + (t->ncols - 1) * GAP, *w;

	for (size_t c = 0; c < t->ncols; c++) {
		t->width[c] = text_width(t->cols[c].head);
		for (size_t r = 0; r < nrows; r++) {
			const char *s = cells[r * t->ncols + c];
			size_t len = s ? text_width(s) : 1;

			t->width[c] = len > t->width[c] ? len : t->width[c];
		}
		total += t->width[c];
	}
	while (total > REPORT_WIDTH && (w = widest_text(t))) {
		--*w;
		total--;
	}
}

/* One line of each cell of a row; true if a cell has more. */
static bool row_line(struct buf *b, const struct table *t, const char **rest)
{
	size_t begin = b->len;
	bool more = false;

	for (size_t c = 0; c < t->ncols; c++) {
		int width = (int)t->width[c];
		const char *from = rest[c];
		int len = (int)next_line(&rest[c], t->width[c]);

		buf_printf(b, "%*s%*.*s", c ? GAP : (int)strlen(INDENT), "",
			   t->cols[c].right ? width : -width, len, from);
		more |= *rest[c] != '\0';
	}
	end_line(b, begin);
	return more;
}

static void row(struct buf *b, const struct table *t, const char *const *cells)
{
	const char *rest[REPORT_MAX_COLS];

	for (size_t c = 0; c < t->ncols; c++)
		rest[c] = cells[c] ? cells[c] : "-";
	while (row_line(b, t, rest))
		;
}

void report_table(struct buf *b, const struct report_col *cols, size_t ncols,
		  const char *const *cells, size_t nrows)
{
	struct table t = { cols, ncols, { 0 } };
	const char *heads[REPORT_MAX_COLS] = { NULL };
	size_t begin;

	if (!ncols || ncols > REPORT_MAX_COLS)
		return;
	fit(&t, cells, nrows);
	for (size_t c = 0; c < t.ncols; c++)
		heads[c] = cols[c].head;
	row(b, &t, heads);
	begin = b->len;
	for (size_t c = 0; c < t.ncols; c++) {
		buf_printf(b, "%*s", c ? GAP : (int)strlen(INDENT), "");
		for (size_t i = 0; i < t.width[c]; i++)
			buf_char(b, '-');
	}
	end_line(b, begin);
	for (size_t r = 0; r < nrows; r++)
		row(b, &t, cells + r * ncols);
}

void report_cells(struct buf *b, const struct report_col *cols, size_t ncols,
		  struct buf *cells)
{
	const char **v = calloc(cells->len + 1, sizeof(*v));
	const char *p = cells->s;
	size_t n = 0;

	b->failed |= !v || !buf_ok(cells);
	for (; v && p && p < cells->s + cells->len; p += strlen(p) + 1)
		v[n++] = p;
	if (n)
		report_table(b, cols, ncols, v, n / ncols);
	free(v);
	buf_free(cells);
}
