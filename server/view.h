/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H
/*
 * A view is a titled page of tables that a person reads. A handler tells it
 * once, from top to bottom, and what it tells is written in the form that was
 * asked for: text (72 columns), HTML (in web/shell.html), JSON or CSV; so they
 * cannot disagree. route/trend.c and route/compare.c add pictures; trend.c
 * writes its own JSON (columns).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/report.h"
#include "route.h"
#include "store.h"

struct view_col {
	const char *name;	/* in text and HTML; NULL: not there */
	const char *key;	/* in JSON and CSV, with its unit */
	enum {
		VIEW_TEXT,
		VIEW_FIGURE,	/* its raw value is a number */
		VIEW_SIZE,	/* so is this, but it is shown in words */
	} kind;
};

struct view {			/* private to view.c, but for @body */
	const struct request *q;
	struct response *r;
	struct buf body;	/* a handler may add trusted HTML to HTML */
	struct buf notes;	/* JSON: heads and notes */
	struct buf cells;	/* text: of this table, each with its NUL */
	const char *title;
	char caption[256];
	bool picture;
	enum view_part { VIEW_START, VIEW_HEAD, VIEW_TABLE, VIEW_NOTE,
			 VIEW_END } part;	/* of this section */
	const struct view_col *cols;	/* of this section */
	const struct view_col *data;	/* of JSON and CSV */
	size_t ncols, at;	/* at: the next cell's column */
	size_t ncells, nrows;	/* in @cells; in JSON */
};

/* @title must live until view_end(), which answers @r (503: no memory). */
void view_begin(struct view *v, const struct request *q, struct response *r,
		const char *title);
void view_end(struct view *v);

/*
 * What follows belongs to a new section: its columns if it has a table, then
 * heads, cells row by row, notes, in this order. JSON and CSV carry the rows of
 * all sections that have the first table's columns; the others are for reading.
 */
__attribute__((format(printf, 2, 3)))
void view_section(struct view *v, const char *fmt, ...);
/* @cols must live until the next section. */
void view_cols(struct view *v, const struct view_col *cols, size_t n);
/* A line above the table. */
__attribute__((format(printf, 2, 3)))
void view_head(struct view *v, const char *fmt, ...);
/* A paragraph below it. */
__attribute__((format(printf, 2, 3)))
void view_note(struct view *v, const char *fmt, ...);
/* The next cell: as shown (NULL: "-"), as in JSON and CSV (NULL: null, empty),
 * and where it leads in HTML (NULL: nowhere). */
void view_cell(struct view *v, const char *text, const char *raw,
	       const char *href);
void view_cell_text(struct view *v, const char *text);	/* raw as shown */
void view_cell_int(struct view *v, int64_t n);	/* RECORD_NULL: null */
/* @text stands for @raw. */
void view_cell_raw(struct view *v, const char *text, int64_t raw);
/* The day of a time, which is the raw value. */
void view_cell_date(struct view *v, const char *time);
/* In HTML, before all else: <noscript><img>, and PATH.js. */
void view_picture(struct view *v, const char *alt);

/* The shell around any HTML body; used for error pages too. @main is trusted
 * HTML. @script: a module to load ("/trend.js"), or NULL. */
void view_shell(struct buf *out, const struct request *q, const char *title,
		const char *main, const char *script);

/* True if a read failed: answered with the reason, in words for a reader. */
bool view_refused(const struct request *q, struct response *r,
		  enum store_answer a, const struct err *e);
/* The same for reads that return 0 or -1. */
bool view_failed(const struct request *q, struct response *r, int rc,
		 const struct err *e);
/* Add to the names that a parameter could have had. */
void view_name(struct buf *names, const char *name);
/* Answer 404 that @field is not @got, or 400 that it is missing (NULL), but
 * could be one of @names. */
void view_missing(const struct request *q, struct response *r,
		  const char *field, const char *got, const struct buf *names);

struct plot;
/* Answer with the picture, in the request's form. */
void view_draw(const struct plot *plot, const struct request *q,
	       struct response *r);

/* --- what several views show the same way ----------------------------- */

#define VIEW_KERNEL	24
#define VIEW_HOST	(RECORD_MAX_NAME + 1)
#define VIEW_REASONS	20

/* Why points are not ok, each reason once, so that rows need not repeat it. */
struct view_reasons {
	struct view_reason {
		const struct store_point *p;	/* the first of @count */
		size_t count, number;	/* number: in the cells; 0: none */
	} v[VIEW_REASONS];
	size_t n, numbered;
	size_t more;		/* points whose reason found no room */
};
void view_reason(struct view_reasons *l, const struct store_point *p);
/* The next cell: @word, and why if @p is not ok: by number if the reason is
 * long or stands for several of @l. view_tell_reasons() adds those below. */
void view_cell_why(struct view *v, const char *word,
		   const struct store_point *p, struct view_reasons *l);
void view_tell_reasons(struct view *v, const struct view_reasons *l);
/* "ok", "not valid", "skipped", ...; and why, in the words of its reason. */
const char *view_status(const struct store_point *p);
const char *view_why(const struct store_point *p);

/* A kernel in few characters: 12 of its commit, else 7 of its key and its
 * patches, of which an edit makes another kernel; else 12 of its key. */
const char *view_kernel(const struct store_kernel *k, char out[VIEW_KERNEL]);
/* "3105", "3105!" if it is not ok, "-" if there is none. */
const char *view_figure(const struct store_point *p, struct report_unit unit,
			char out[REPORT_VALUE]);
/* "1.9%": the spread in percent of the value; "-" if there is none. */
const char *view_spread(const struct store_point *p, char out[REPORT_VALUE]);
/* A line of a benchmark's parameters, from their canonical text. */
void view_head_params(struct view *v, const char *params);
/* True if @p stands for any run at all. */
bool view_measured(const struct store_point *p);
/* Charts of the benchmark "null" go to the end. */
void view_null_last(struct store_charts *c);
/* "/trend?...", "/compare?..."; not yet escaped for HTML. */
void view_chart_url(struct buf *b, const struct store_chart *c);
void view_compare_url(struct buf *b, const char *host,
		      const struct store_kernel *before,
		      const struct store_kernel *after);
/* A table of kernels, newest first (route/kernels.c). @host: NULL, or all are
 * of this host. */
void view_kernels(struct view *v, const struct store_kernels *kernels,
		  const char *host);
/* Three cells: a host, which leads to what changed there; what it ran before and
 * since (route/pushes.c). */
void view_side(struct view *v, const struct store_side *s);
/* @asked, else the only host; NULL: none or several (route/hosts.c). */
const char *view_host(const struct request *q, const char *asked,
		      char out[VIEW_HOST]);
/* @host is missing (NULL) or unknown: say which there are. */
void view_refuse_host(const struct request *q, struct response *r,
		      const char *host);

#endif
