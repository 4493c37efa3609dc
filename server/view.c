/* SPDX-License-Identifier: GPL-2.0-only */
/* A page, written as it is told: text, HTML, JSON or CSV. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/record.h"
#include "asset.h"
#include "plot.h"
#include "view.h"

#define GAP	2	/* between two columns of a text table */
#define NARROW	(VIEW_KERNEL - 1)	/* words may be broken to this */
#define RETRY_S	2
#define NAMES	400	/* bytes of them in an error */
#define SHORT	24	/* bytes of a reason that stays in its row */

/* --- text ------------------------------------------------------------- */

/* The width that column @c cannot do without: figures are never broken. */
static size_t text_width(const struct view *v, const char *const *cell,
			 size_t c)
{
	size_t w = strlen(v->cols[c].name);

	for (size_t i = c; i < v->ncells; i += v->ncols)
		if (strlen(cell[i]) > w)
			w = strlen(cell[i]);
	return v->cols[c].kind == VIEW_FIGURE || w < NARROW ? w : NARROW;
}

/* The table of the columns @col[0..n). */
static void text_part(struct view *v, const char *const *cell,
		      const size_t *col, size_t n)
{
	struct report_col head[REPORT_MAX_COLS];
	size_t rows = v->ncells / v->ncols;
	const char **part = calloc(rows * n + 1, sizeof(*part));

	for (size_t i = 0; part && i < n; i++) {
		head[i].head = v->cols[col[i]].name;
		head[i].right = v->cols[col[i]].kind == VIEW_FIGURE;
		for (size_t row = 0; row < rows; row++)
			part[row * n + i] = cell[row * v->ncols + col[i]];
	}
	if (part)
		report_table(&v->body, head, n, part, rows);
	v->body.failed |= !part;
	free(part);
}

/* A table that is too wide goes on in another one, which repeats the first
 * column. */
static void text_parts(struct view *v, const char *const *cell)
{
	size_t col[REPORT_MAX_COLS] = { 0 }, n = 0, width = 0, w;

	for (size_t c = 0; c < v->ncols; c++) {
		if (!v->cols[c].name)
			continue;
		w = GAP + text_width(v, cell, c);
		width += w;
		if (n > 1 && (width > REPORT_WIDTH || n == REPORT_MAX_COLS)) {
			text_part(v, cell, col, n);
			buf_char(&v->body, '\n');
			width = GAP + text_width(v, cell, col[0]) + w;
			n = 1;
		}
		col[n++] = c;
	}
	if (n)
		text_part(v, cell, col, n);
}

static void text_table(struct view *v)
{
	const char **cell = calloc(v->ncells, sizeof(*cell)), *s = v->cells.s;

	if (cell && buf_ok(&v->cells)) {
		for (size_t i = 0; i < v->ncells; i++, s += strlen(s) + 1)
			cell[i] = s;
		text_parts(v, cell);
	} else {
		v->body.failed = true;
	}
	free(cell);
	buf_reset(&v->cells, 0);
	v->ncells = 0;
}

static void text_enter(struct view *v, enum view_part from, enum view_part to)
{
	if (from == VIEW_TABLE)
		text_table(v);
	if (to == VIEW_END)
		return;
	if (from == VIEW_START && (*v->caption || to != VIEW_HEAD))
		buf_char(&v->body, '\n');
	if (from == VIEW_START && *v->caption)
		report_text(&v->body, v->caption);
	if (to == VIEW_TABLE && (*v->caption || from == VIEW_HEAD))
		buf_char(&v->body, '\n');
}

/* Where this came from, if a mail would not break it. */
static void text_end(struct view *v)
{
	const struct request *q = v->q;
	const char *url = q->site->public_url;

	if (url && strlen(url) + strlen(q->path) + strlen(q->query) + 3 <=
	    REPORT_WIDTH)
		buf_printf(&v->body, "\n  %s%s%s%s\n", url, q->path,
			   *q->query ? "?" : "", q->query);
}

/* --- HTML ------------------------------------------------------------- */

static void html_element(struct buf *b, const char *open, const char *text,
			 const char *close)
{
	buf_str(b, open);
	buf_html(b, text);
	buf_str(b, close);
}

/* PATH.FORM?QUERY, safe in an attribute. */
static void html_url(struct buf *b, const struct request *q, const char *form)
{
	html_element(b, "", q->path[1] ? q->path : "/index", form);
	if (*q->query)
		html_element(b, "?", q->query, "");
}

static void html_open_table(struct view *v)
{
	const char *caption = *v->caption ? v->caption : v->title;
	struct buf *b = &v->body;

	html_element(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\""
		     " aria-label=\"", caption, "\">\n");
	html_element(b, "<table>\n<caption>", caption,
		     "</caption>\n<thead><tr>");
	for (size_t i = 0; i < v->ncols; i++)
		if (v->cols[i].name)
			html_element(b, v->cols[i].kind == VIEW_FIGURE ?
				     "<th scope=\"col\" class=\"num\">" :
				     "<th scope=\"col\">", v->cols[i].name,
				     "</th>");
	buf_str(b, "</tr>\n</thead>\n<tbody>\n");
}

static void html_enter(struct view *v, enum view_part from, enum view_part to)
{
	bool bare = to == VIEW_NOTE || (to == VIEW_HEAD && !v->cols);

	if (from == VIEW_HEAD)
		buf_str(&v->body, "</pre>\n");
	if (from == VIEW_TABLE)
		buf_str(&v->body, "</tbody>\n</table>\n</div>\n");
	if (from == VIEW_START && *v->caption && bare)
		html_element(&v->body, "<h2>", v->caption, "</h2>\n");
	if (to == VIEW_HEAD)
		buf_str(&v->body, "<pre class=\"head\">");
	if (to == VIEW_TABLE)
		html_open_table(v);
}

static void html_cell(struct buf *b, const struct view_col *col, bool first,
		      const char *text, const char *href)
{
	buf_str(b, first ? "<tr><th scope=\"row\"" : "<td");
	buf_str(b, col->kind == VIEW_FIGURE ? " class=\"num\">" : ">");
	if (href)
		html_element(b, "<a href=\"", href, "\">");
	html_element(b, "", text, href ? "</a>" : "");
	buf_str(b, first ? "</th>" : "</td>");
}

static void html_end(struct view *v)
{
	static const char *const form[] = {
		".txt", ".json", ".csv", ".svg", ".png",
	};
	char script[32];

	buf_str(&v->body, "<p class=\"forms\">The same as");
	for (size_t i = 0; i < (v->picture ? 5 : 3); i++) {
		buf_str(&v->body, " <a href=\"");
		html_url(&v->body, v->q, form[i]);
		buf_printf(&v->body, "\">%s</a>", form[i]);
	}
	buf_str(&v->body, "</p>\n");
	snprintf(script, sizeof(script), "%s.js", v->q->path);
	if (buf_ok(&v->body))
		view_shell(&v->r->body, v->q, v->title, v->body.s,
			   v->picture ? script : NULL);
}

void view_picture(struct view *v, const char *alt)
{
	struct buf *b = &v->body;

	v->picture = true;
	buf_str(b, "<figure id=\"chart\" data-json=\"");
	html_url(b, v->q, ".json");
	buf_str(b, "\"><noscript><img src=\"");
	html_url(b, v->q, ".svg");
	html_element(b, "\" alt=\"", alt, "\"></noscript></figure>\n");
}

/* Copy the shell up to @mark and go on behind it. */
static void shell_until(struct buf *out, const char **p, const char *end,
			const char *mark)
{
	const char *at = memmem(*p, (size_t)(end - *p), mark, strlen(mark));

	buf_add(out, *p, (size_t)(at - *p));
	*p = at + strlen(mark);
}

void view_shell(struct buf *out, const struct request *q, const char *title,
		const char *main, const char *script)
{
	const struct asset *shell = asset_find("shell.html");
	const char *p = (const char *)shell->data, *end = p + shell->len;

	(void)q;	/* the shell is the same for everyone */
	shell_until(out, &p, end, "<!--title-->");
	buf_html(out, title);
	shell_until(out, &p, end, "<!--script-->");
	if (script)
		html_element(out, "<script type=\"module\" src=\"", script,
			     "\"></script>");
	shell_until(out, &p, end, "<!--main-->");
	buf_str(out, main);
	buf_add(out, p, (size_t)(end - p));
}

/* --- JSON and CSV ----------------------------------------------------- */

static void json_cell(struct view *v, const struct view_col *col, bool first,
		      const char *raw)
{
	struct buf *b = &v->body;

	if (first)
		buf_str(b, v->nrows++ ? ",\n{" : "{");
	else
		buf_char(b, ',');
	buf_json(b, col->key);
	buf_char(b, ':');
	if (col->kind != VIEW_TEXT && raw)
		buf_str(b, raw);
	else
		buf_json(b, raw);
}

/* The first table's columns are those of JSON and CSV. */
static void data_cols(struct view *v)
{
	bool json = v->q->form == FORM_JSON;

	for (size_t i = 0; i < v->ncols; i++) {
		if (json) {
			buf_str(&v->body, i ? ",{\"key\":" : "{\"key\":");
			buf_json(&v->body, v->cols[i].key);
			buf_char(&v->body, '}');
		} else {
			buf_str(&v->body, i ? "," : "");
			buf_csv(&v->body, v->cols[i].key);
		}
	}
	buf_str(&v->body, json ? "],\"rows\":[" : "\r\n");
}

static void json_end(struct view *v)
{
	buf_str(&v->body, v->data ? "],\"notes\":[" :
		"],\"rows\":[],\"notes\":[");
	buf_add(&v->body, v->notes.s, v->notes.len);
	buf_str(&v->body, "]}\n");
}

/* --- telling it ------------------------------------------------------- */

/* From one part of a section to a later one. */
static void enter(struct view *v, enum view_part to)
{
	enum view_part from = v->part;

	v->part = to;
	if (from != to && v->q->form == FORM_TXT)
		text_enter(v, from, to);
	else if (from != to && v->q->form == FORM_HTML)
		html_enter(v, from, to);
}

void view_begin(struct view *v, const struct request *q, struct response *r,
		const char *title)
{
	*v = (struct view){ .q = q, .r = r, .title = title };
	if (q->form == FORM_TXT) {
		report_text(&v->body, title);
	} else if (q->form == FORM_HTML) {
		html_element(&v->body, "<h1>", title, "</h1>\n");
	} else if (q->form == FORM_JSON) {
		buf_str(&v->body, "{\"view\":");
		buf_json(&v->body, q->path[1] ? q->path + 1 : "index");
		buf_str(&v->body, ",\"title\":");
		buf_json(&v->body, title);
		buf_str(&v->body, ",\"columns\":[");
	}
}

void view_end(struct view *v)
{
	enter(v, VIEW_END);
	if (v->q->form == FORM_TXT)
		text_end(v);
	else if (v->q->form == FORM_HTML)
		html_end(v);
	else if (v->q->form == FORM_JSON)
		json_end(v);
	if (v->q->form != FORM_HTML)
		buf_add(&v->r->body, v->body.s, v->body.len);
	if (!buf_ok(&v->r->body) || !buf_ok(&v->body) || !buf_ok(&v->notes)) {
		response_error(v->q, v->r, 503, "out of memory");
		v->r->retry_after_s = RETRY_S;
	}
	buf_free(&v->body);
	buf_free(&v->notes);
	buf_free(&v->cells);
}

void view_section(struct view *v, const char *fmt, ...)
{
	va_list ap;

	enter(v, VIEW_END);
	v->part = VIEW_START;
	v->cols = NULL;
	va_start(ap, fmt);
	vsnprintf(v->caption, sizeof(v->caption), fmt, ap);
	va_end(ap);
}

void view_cols(struct view *v, const struct view_col *cols, size_t n)
{
	v->cols = cols;
	v->ncols = n;
	if (v->data || !(v->q->form & (FORM_JSON | FORM_CSV)))
		return;
	v->data = cols;
	data_cols(v);
}

__attribute__((format(printf, 3, 0)))
static void add_line(struct view *v, enum view_part part, const char *fmt,
		     va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0) {
		v->body.failed = true;
		return;
	}
	enter(v, part);
	if (v->q->form == FORM_TXT) {
		report_text(&v->body, s);
	} else if (v->q->form == FORM_HTML) {
		html_element(&v->body, part == VIEW_NOTE ? "<p>" : "", s,
			     part == VIEW_NOTE ? "</p>\n" : "\n");
	} else if (v->q->form == FORM_JSON) {
		buf_str(&v->notes, v->notes.len ? "," : "");
		buf_json(&v->notes, s);
	}
	free(s);
}

void view_head(struct view *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(v, VIEW_HEAD, fmt, ap);
	va_end(ap);
}

void view_note(struct view *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(v, VIEW_NOTE, fmt, ap);
	va_end(ap);
}

void view_cell(struct view *v, const char *text, const char *raw,
	       const char *href)
{
	const struct view_col *col = &v->cols[v->at];
	bool first = !v->at, last = v->at + 1 == v->ncols;
	enum form form = v->q->form;

	v->at = last ? 0 : v->at + 1;
	text = text ? text : "-";
	enter(v, VIEW_TABLE);
	if (form == FORM_TXT) {
		buf_add(&v->cells, text, strlen(text) + 1);
		v->ncells++;
	} else if (form == FORM_HTML && col->name) {
		html_cell(&v->body, col, first, text, href);
	} else if (form == FORM_JSON && v->cols == v->data) {
		json_cell(v, col, first, raw);
		buf_str(&v->body, last ? "}" : "");
	} else if (form == FORM_CSV && v->cols == v->data) {
		buf_csv(&v->body, raw ? raw : "");
		buf_str(&v->body, last ? "\r\n" : ",");
	}
	if (form == FORM_HTML && last)
		buf_str(&v->body, "</tr>\n");
}

void view_cell_text(struct view *v, const char *text)
{
	view_cell(v, text, text, NULL);
}

void view_cell_raw(struct view *v, const char *text, int64_t raw)
{
	char s[REPORT_VALUE];

	snprintf(s, sizeof(s), "%lld", (long long)raw);
	view_cell(v, text ? text : s, raw == RECORD_NULL ? NULL : s, NULL);
}

void view_cell_int(struct view *v, int64_t n)
{
	view_cell_raw(v, n == RECORD_NULL ? "-" : NULL, n);
}

void view_cell_date(struct view *v, const char *time)
{
	char day[sizeof("2026-11-30")];

	snprintf(day, sizeof(day), "%.10s", time ? time : "-");
	view_cell(v, day, time, NULL);
}

/* --- answering otherwise ---------------------------------------------- */

bool view_refused(const struct request *q, struct response *r,
		  enum store_answer a, const struct err *e)
{
	static const int status[] = {
		[STORE_CONFLICT] = 400, [STORE_BUSY] = 503,
		[STORE_MISSING] = 404, [STORE_ERROR] = 500,
	};

	if (a == STORE_NEW || a == STORE_SAME)
		return false;
	response_error(q, r, status[a], "%s", a == STORE_ERROR ?
		       "the store could not be read" : e->msg);
	r->why = *e;	/* the log may know what the client may not */
	r->retry_after_s = a == STORE_BUSY ? RETRY_S : 0;
	return true;
}

bool view_failed(const struct request *q, struct response *r, int rc,
		 const struct err *e)
{
	return view_refused(q, r, rc ? STORE_ERROR : STORE_SAME, e);
}

void view_name(struct buf *names, const char *name)
{
	buf_printf(names, "%s%s", names->len ? ", " : "", name);
}

void view_missing(const struct request *q, struct response *r,
		  const char *field, const char *got, const struct buf *names)
{
	const char *all = names->len ? names->s : "nothing yet";
	const char *more = names->len > NAMES ? "..." : "";

	if (got)
		response_error(q, r, 404, "%s: there is no \"%s\"; there is: "
			       "%.*s%s", field, got, NAMES, all, more);
	else
		response_error(q, r, 400, "%s: missing; expected one of: "
			       "%.*s%s", field, NAMES, all, more);
}

void view_draw(const struct plot *plot, const struct request *q,
	       struct response *r)
{
	enum plotter_format f = q->form == FORM_PNG ? PLOTTER_PNG : PLOTTER_SVG;
	bool busy = false;
	struct err e = { "" };

	if (!plot_render(q->site->plotter, plot, f, &r->body, &busy, &e))
		return;
	response_error(q, r, busy ? 503 : 500, "%s", e.msg);
	r->retry_after_s = busy ? RETRY_S : 0;
}

/* --- what several views show the same way ----------------------------- */

const char *view_kernel(const struct store_kernel *k, char out[VIEW_KERNEL])
{
	if (k->patches && !k->commit)
		snprintf(out, VIEW_KERNEL, "%.7s+%s", k->key, k->patches);
	else
		snprintf(out, VIEW_KERNEL, "%.12s%s",
			 k->commit ? k->commit : k->key, k->patches ? "+" : "");
	return out;
}

const char *view_figure(const struct store_point *p, struct report_unit unit,
			char out[REPORT_VALUE])
{
	size_t len = strlen(report_number(p->value, unit, out));

	if (p->status != RECORD_OK && p->value != RECORD_NULL)
		snprintf(out + len, REPORT_VALUE - len, "!");
	return out;
}

const char *view_spread(const struct store_point *p, char out[REPORT_VALUE])
{
	if (p->value == RECORD_NULL || p->spread == RECORD_NULL || !p->value)
		snprintf(out, REPORT_VALUE, "-");
	else
		snprintf(out, REPORT_VALUE, "%.1f%%",
			 100.0 * (double)p->spread / (double)p->value);
	return out;
}

void view_head_params(struct view *v, const char *params)
{
	char *text = strdup(*params ? params : "no parameters"), *at = text;

	while (at && (at = strchr(at, '&')))
		*at = ' ';
	if (text)
		view_head(v, "%s", text);
	free(text);
}

bool view_measured(const struct store_point *p)
{
	return p->n || p->status != RECORD_OK || p->value != RECORD_NULL;
}

const char *view_status(const struct store_point *p)
{
	static const char *const word[] = {
		[RECORD_OK] = "ok", [RECORD_INVALID] = "not valid",
		[RECORD_SKIP] = "skipped", [RECORD_FAILED] = "failed",
		[RECORD_NOT_APPLICABLE] = "not applicable",
	};

	return word[p->status];
}

const char *view_why(const struct store_point *p)
{
	return p->reason ? p->reason : "no reason given";
}

static struct view_reason *find_reason(struct view_reasons *l,
				       const struct store_point *p)
{
	for (size_t i = 0; i < l->n; i++)
		if (p->status == l->v[i].p->status &&
		    !strcmp(view_why(p), view_why(l->v[i].p)))
			return &l->v[i];
	return NULL;
}

void view_reason(struct view_reasons *l, const struct store_point *p)
{
	struct view_reason *x = find_reason(l, p);

	if (p->status == RECORD_OK)
		return;
	if (x)
		x->count++;
	else if (l->n < VIEW_REASONS)
		l->v[l->n++] = (struct view_reason){ p, 1, 0 };
	else
		l->more++;
}

void view_cell_why(struct view *v, const char *word,
		   const struct store_point *p, struct view_reasons *l)
{
	struct view_reason *x = find_reason(l, p);
	const char *why = view_why(p);
	char text[64];
	struct buf whole = BUF_INIT;

	if (p->status == RECORD_OK) {
		view_cell_text(v, word);
		return;
	}
	buf_printf(&whole, "%s: %s", word, why);
	if (x && (x->count > 1 || strlen(why) > SHORT)) {
		x->number = x->number ? x->number : ++l->numbered;
		snprintf(text, sizeof(text), "%s (%zu)", word, x->number);
		view_cell(v, text, whole.s, NULL);
	} else {
		view_cell_text(v, whole.s);
	}
	buf_free(&whole);
}

void view_tell_reasons(struct view *v, const struct view_reasons *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].number)
			view_note(v, "(%zu) %s: %s", l->v[i].number,
				  view_status(l->v[i].p),
				  view_why(l->v[i].p));
}

void view_null_last(struct store_charts *c)
{
	struct store_chart x;

	for (size_t i = 0, n = c->n; n--;) {
		if (strcmp(c->v[i].bench, "null") != 0) {
			i++;
			continue;
		}
		x = c->v[i];
		memmove(&c->v[i], &c->v[i + 1], (c->n - 1 - i) * sizeof(x));
		c->v[c->n - 1] = x;
	}
}

void view_chart_url(struct buf *b, const struct store_chart *c)
{
	buf_str(b, "/trend?bench=");
	buf_url(b, c->bench);
	buf_str(b, "&host=");
	buf_url(b, c->host);
	buf_str(b, "&metric=");
	buf_url(b, c->metric);
	buf_str(b, *c->params ? "&params=" : "");
	buf_url(b, c->params);
}

void view_compare_url(struct buf *b, const char *host,
		      const struct store_kernel *before,
		      const struct store_kernel *after)
{
	/* Keys and prefixes of them need no escape. */
	buf_printf(b, "/compare?a=%s&b=%s&host=", before->key, after->key);
	buf_url(b, host);
}
