/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_REPORT_H
#define COMMON_REPORT_H
/*
 * Text that survives a mail: 72 columns, ASCII, LF, no tabs, every line
 * indented by two, so that no line starts with | + - > # or anything else that
 * `git am` or a mail client gives a meaning. Used by `mmtrend show`, by the
 * .txt form of every view and inside the HTML.
 */
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define REPORT_WIDTH	72
#define REPORT_VALUE	24
#define REPORT_MAX_COLS	16
#define REPORT_PARAGRAPH 2048

/*
 * The unit in which a column is shown: chosen once for all its rows, from the
 * largest value, so that rows compare at a glance. @unit is the metric's own:
 * "ns" becomes ns, us, ms or s; "insns" stays or becomes k, and M from 10 G on,
 * for they are exact; others stay.
 */
struct report_unit {
	const char *name;	/* "us" */
	double divide;		/* by this */
};
struct report_unit report_unit(int64_t largest, const char *unit);

/* 3105123, us -> "3105"; 8312 -> "8.31"; RECORD_NULL -> "-". At least three
 * significant digits, at most three decimals. Without the unit's name. */
const char *report_number(int64_t value, struct report_unit u,
			  char out[REPORT_VALUE]);
/* (after - before) / before: "+1.1%", "-86.6%"; "-" if either is null or
 * before is 0. From raw values, never from shown ones. */
const char *report_percent(int64_t before, int64_t after,
			   char out[REPORT_VALUE]);

/* A paragraph, wrapped at REPORT_WIDTH and indented by two (a long word is
 * broken). Each byte outside ASCII is shown as '?'. */
void report_text(struct buf *b, const char *text);
/* The same of what printf() would make; cut at REPORT_PARAGRAPH. */
__attribute__((format(printf, 2, 3)))
void report_printf(struct buf *b, const char *fmt, ...);
/* The same of @text, but for a newline at its end; nothing if it is empty.
 * Frees it. */
void report_take(struct buf *b, struct buf *text);

struct report_col {
	const char *head;
	bool right;		/* align right: figures */
};
/*
 * A table: header, a rule of dashes, rows. @cells is nrows x ncols, row by
 * row, NULL shown as "-". Columns are as wide as their longest cell; a table
 * that cannot fit 72 columns wraps its widest left-aligned column, never a
 * figure.
 */
void report_table(struct buf *b, const struct report_col *cols, size_t ncols,
		  const char *const *cells, size_t nrows);

/* The same of cells that were told one by one, row by row. */
#define report_cell(cells, ...) \
	(buf_printf(cells, __VA_ARGS__), buf_char(cells, '\0'))
/* Frees @cells; prints nothing if there are none. */
void report_cells(struct buf *b, const struct report_col *cols, size_t ncols,
		  struct buf *cells);

#endif
