/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H
/*
 * A view is a titled page of tables that a person reads: one model, and from
 * it the text (72 columns), HTML (web/shell.html around it), JSON and CSV
 * forms, so that they cannot disagree. route/trend.c and route/compare.c add
 * pictures; trend.c writes its own JSON (columns) and CSV (long form).
 *
 * Text is copied (columns are not); an allocation that fails makes
 * view_send() answer 503.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/report.h"
#include "route.h"
#include "store.h"

struct view_col {
	const char *name;	/* header in text and HTML: "folio" */
	const char *key;	/* in JSON and CSV, with its unit */
	bool right;		/* figures */
	bool number;		/* the raw value is one */
	bool hide_text;		/* JSON and CSV only */
};

struct view_cell {
	char *text;		/* as shown; NULL: "-" */
	char *raw;		/* for JSON and CSV; NULL: null / empty */
	char *href;		/* in HTML; NULL: none */
};

struct view;

/* NULL: no memory; every function here takes that. */
struct view *view_new(const char *title);
void view_free(struct view *v);

/*
 * What follows belongs to a new section: its caption, lines, table and notes.
 * Until view_cols() is called it has the columns of the section before. JSON
 * and CSV carry the rows of all sections that share the first table's columns;
 * a table with other columns is for reading only.
 */
__attribute__((format(printf, 2, 3)))
void view_section(struct view *v, const char *fmt, ...);
/* A line above the table. */
__attribute__((format(printf, 2, 3)))
void view_head(struct view *v, const char *fmt, ...);
/* A paragraph below it. */
__attribute__((format(printf, 2, 3)))
void view_note(struct view *v, const char *fmt, ...);
/* @cols must outlive the view. */
void view_cols(struct view *v, const struct view_col *cols, size_t n);
/* Next cell, row by row. Strings are copied; NULL allowed. */
void view_cell(struct view *v, const char *text, const char *raw,
	       const char *href);
void view_cell_int(struct view *v, int64_t n);	/* RECORD_NULL: null */
/* Text that is its own raw value. */
void view_cell_text(struct view *v, const char *text);
/* The path has pictures: <noscript><img>, links to SVG and PNG, PATH.js. */
void view_picture(struct view *v, const char *path, const char *alt);
/* Trusted HTML between the title and the picture (a form). */
void view_html(struct view *v, const char *html);

/* Render in the request's form into @r (not for pictures). */
void view_send(const struct view *v, const struct request *q,
	       struct response *r);

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

/* Names that a parameter could have had: those that come twice in a row stand
 * once, those after the 20th are "...". */
struct view_names { struct buf text; const char *last; size_t n; };
void view_name(struct view_names *l, const char *name);
/* Answer 404 that @field is not @got, or 400 that it is missing (NULL), but
 * could be one of @there. Frees @there. */
void view_missing(const struct request *q, struct response *r,
		  const char *field, const char *got, struct view_names *there);

/* --- what several views show the same way ----------------------------- */

#define VIEW_KERNEL	13

/* A kernel in 12 characters: of its commit, else of its key. */
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
/* The next cell says what @p is: @ok, "not valid: why", "not measured: why". */
void view_cell_status(struct view *v, const struct store_point *p,
		      const char *ok);
/* The next cell is the day of a time, which is its raw value. */
void view_cell_date(struct view *v, const char *time);
/* "/trend?...", "/compare?..."; not yet escaped for HTML. */
void view_chart_url(struct buf *b, const struct store_chart *c);
void view_compare_url(struct buf *b, const char *host,
		      const struct store_kernel *before,
		      const struct store_kernel *after);
/* A table of kernels, newest first (route/kernels.c). @host: NULL, or all are
 * of this host. */
void view_kernels(struct view *v, const struct store_kernels *kernels,
		  const char *host);
/* @host is missing (NULL) or unknown: say which there are (route/hosts.c). */
void view_refuse_host(const struct request *q, struct response *r,
		      const char *host);

struct plot;
/* Answer with the picture, in the request's form. */
void view_draw(const struct plot *plot, const struct request *q,
	       struct response *r);

#endif
