/* SPDX-License-Identifier: GPL-2.0-only */
/* One model of a page, rendered as text, HTML, JSON or CSV. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/record.h"
#include "asset.h"
#include "plot.h"
#include "view.h"

#define GAP	2	/* between two columns of a text table */
#define LEFT	10	/* a text column may be broken down to this */
#define RETRY_S	2
#define MAX_NAMES	20	/* told in an error */

/* Strings are offsets into view.text; 0: none. */
struct line { size_t text; bool note; };
struct cell { size_t text, raw, href; };

struct section {
	size_t caption, line, nlines, cell, ncells;
	const struct view_col *cols;	/* the section's before, or its own */
	size_t ncols;
};

struct view {
	struct buf text, lines, cells, sections; /* arrays of the above */
	size_t title, html, path, alt, nsections;
};

/* --- building --------------------------------------------------------- */

static const char *str(const struct view *v, size_t text)
{
	return text ? v->text.s + text : NULL;
}

static bool built(const struct view *v)
{
	return v && buf_ok(&v->text) && buf_ok(&v->lines) &&
	       buf_ok(&v->cells) && buf_ok(&v->sections);
}

static struct section *section(const struct view *v, size_t i)
{
	return (struct section *)(void *)v->sections.s + i;
}

static const struct cell *cells(const struct view *v, const struct section *s)
{
	return (const struct cell *)(void *)v->cells.s + s->cell;
}

static const struct line *lines(const struct view *v, const struct section *s)
{
	return (const struct line *)(void *)v->lines.s + s->line;
}

static size_t nrows(const struct section *s)
{
	return s->ncols ? s->ncells / s->ncols : 0;
}

static size_t keep(struct view *v, const char *s)
{
	size_t at = v->text.len;

	if (!s)
		return 0;
	buf_add(&v->text, s, strlen(s) + 1);
	return at;
}

__attribute__((format(printf, 2, 0)))
static size_t keep_format(struct view *v, const char *fmt, va_list ap)
{
	char *s = NULL;
	size_t at;

	if (vasprintf(&s, fmt, ap) < 0) {
		s = NULL;
		v->text.failed = true;
	}
	at = keep(v, s);
	free(s);
	return at;
}

static void add_section(struct view *v, size_t caption)
{
	struct section s = {
		.caption = caption,
		.line = v->lines.len / sizeof(struct line),
		.cell = v->cells.len / sizeof(struct cell),
	};

	if (v->nsections) {
		s.cols = section(v, v->nsections - 1)->cols;
		s.ncols = section(v, v->nsections - 1)->ncols;
	}
	buf_add(&v->sections, &s, sizeof(s));
	v->nsections += built(v);
}

struct view *view_new(const char *title)
{
	struct view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	buf_char(&v->text, '\0');	/* so that 0 is no string */
	v->title = keep(v, title);
	add_section(v, 0);
	return v;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	buf_free(&v->text);
	buf_free(&v->lines);
	buf_free(&v->cells);
	buf_free(&v->sections);
	free(v);
}

void view_section(struct view *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (built(v))
		add_section(v, keep_format(v, fmt, ap));
	va_end(ap);
}

__attribute__((format(printf, 3, 0)))
static void add_line(struct view *v, bool note, const char *fmt, va_list ap)
{
	struct line l = { 0, note };

	if (!built(v))
		return;
	l.text = keep_format(v, fmt, ap);
	buf_add(&v->lines, &l, sizeof(l));
	section(v, v->nsections - 1)->nlines++;
}

void view_head(struct view *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(v, false, fmt, ap);
	va_end(ap);
}

void view_note(struct view *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(v, true, fmt, ap);
	va_end(ap);
}

void view_cols(struct view *v, const struct view_col *cols, size_t n)
{
	if (!built(v))
		return;
	section(v, v->nsections - 1)->cols = cols;
	section(v, v->nsections - 1)->ncols = n;
}

void view_cell(struct view *v, const char *text, const char *raw,
	       const char *href)
{
	struct cell c;

	if (!built(v))
		return;
	c.text = keep(v, text);
	c.raw = raw == text ? c.text : keep(v, raw);
	c.href = keep(v, href);
	buf_add(&v->cells, &c, sizeof(c));
	section(v, v->nsections - 1)->ncells++;
}

void view_cell_text(struct view *v, const char *text)
{
	view_cell(v, text, text, NULL);
}

void view_cell_int(struct view *v, int64_t n)
{
	char s[REPORT_VALUE];

	snprintf(s, sizeof(s), "%lld", (long long)n);
	view_cell_text(v, n == RECORD_NULL ? NULL : s);
}

void view_picture(struct view *v, const char *path, const char *alt)
{
	if (!built(v) || !alt)
		return;
	v->path = keep(v, path);
	v->alt = keep(v, alt);
}

void view_html(struct view *v, const char *html)
{
	if (built(v))
		v->html = keep(v, html);
}

/* --- text ------------------------------------------------------------- */

/* The width that column @c cannot do without. */
static size_t col_width(const struct view *v, const struct section *s, size_t c)
{
	size_t w = strlen(s->cols[c].name);

	for (size_t i = c; i < s->ncells; i += s->ncols) {
		const char *text = str(v, cells(v, s)[i].text);
		size_t len = text ? strlen(text) : 1;

		w = len > w ? len : w;
	}
	return s->cols[c].right || w < LEFT ? w : LEFT;
}

/* The table of the columns @col[0..n). */
static void text_part(struct buf *b, const struct view *v,
		      const struct section *s, const size_t *col, size_t n)
{
	struct report_col head[REPORT_MAX_COLS];
	const char **text = calloc(nrows(s) * n + 1, sizeof(*text));

	if (!text) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		head[i].head = s->cols[col[i]].name;
		head[i].right = s->cols[col[i]].right;
		for (size_t row = 0; row < nrows(s); row++)
			text[row * n + i] = str(v, cells(v, s)
						[row * s->ncols + col[i]].text);
	}
	report_table(b, head, n, text, nrows(s));
	free(text);
}

/* Figures are never broken: a table that is too wide goes on in a second one
 * that repeats the first column. */
static void text_table(struct buf *b, const struct view *v,
		       const struct section *s)
{
	size_t col[REPORT_MAX_COLS], n = 0, width = 0, w;

	for (size_t c = 0; c < s->ncols; c++) {
		if (s->cols[c].hide_text)
			continue;
		w = col_width(v, s, c) + GAP;
		width += w;
		if (n > 1 && (width > REPORT_WIDTH || n == REPORT_MAX_COLS)) {
			text_part(b, v, s, col, n);
			buf_char(b, '\n');
			width = col_width(v, s, col[0]) + GAP + w;
			n = 1;
		}
		col[n++] = c;
	}
	text_part(b, v, s, col, n);
}

static void text_section(struct buf *b, const struct view *v,
			 const struct section *s)
{
	const struct line *l = lines(v, s);
	bool above = s->caption;

	if (s->caption)
		report_text(b, str(v, s->caption));
	for (size_t i = 0; i < s->nlines; i++) {
		if (!l[i].note)
			report_text(b, str(v, l[i].text));
		above |= !l[i].note;
	}
	if (s->ncells && above)
		buf_char(b, '\n');
	if (s->ncells)
		text_table(b, v, s);
	for (size_t i = 0; i < s->nlines; i++)
		if (l[i].note)
			report_text(b, str(v, l[i].text));
}

/* Where this came from, if a mail would not break it. */
static void text_link(struct buf *b, const struct request *q)
{
	const char *url = q->site->public_url;

	if (url && strlen(url) + strlen(q->path) + strlen(q->query) + 3 <=
	    REPORT_WIDTH)
		buf_printf(b, "\n  %s%s%s%s\n", url, q->path,
			   *q->query ? "?" : "", q->query);
}

static void send_text(const struct view *v, const struct request *q,
		      struct buf *b)
{
	report_text(b, str(v, v->title));
	for (size_t i = 0; i < v->nsections; i++) {
		const struct section *s = section(v, i);

		if (!s->nlines && !s->ncells)
			continue;
		if (i || !s->nlines || lines(v, s)->note)
			buf_char(b, '\n');
		text_section(b, v, s);
	}
	text_link(b, q);
}

/* --- JSON and CSV ----------------------------------------------------- */

/* The section whose columns JSON and CSV have; NULL: a page without a table. */
static const struct section *first_table(const struct view *v)
{
	for (size_t i = 0; i < v->nsections; i++)
		if (section(v, i)->cols)
			return section(v, i);
	return NULL;
}

static void json_row(struct buf *b, const struct view *v,
		     const struct section *s, const struct cell *row)
{
	for (size_t c = 0; c < s->ncols; c++) {
		const char *raw = str(v, row[c].raw);

		buf_char(b, c ? ',' : '{');
		buf_json(b, s->cols[c].key);
		buf_char(b, ':');
		if (s->cols[c].number && raw)
			buf_str(b, raw);
		else
			buf_json(b, raw);
	}
	buf_char(b, '}');
}

static void json_rows(struct buf *b, const struct view *v,
		      const struct section *s, const char **sep)
{
	for (size_t row = 0; row < nrows(s); row++) {
		buf_str(b, *sep);
		json_row(b, v, s, &cells(v, s)[row * s->ncols]);
		*sep = ",\n";
	}
}

static void send_json(const struct view *v, const struct request *q,
		      struct buf *b)
{
	const struct section *t = first_table(v);
	const char *sep = "";

	buf_str(b, "{\"view\":");
	buf_json(b, q->path[1] ? q->path + 1 : "index");
	buf_str(b, ",\"title\":");
	buf_json(b, str(v, v->title));
	buf_str(b, ",\"notes\":[");
	for (size_t i = 0; i < v->lines.len / sizeof(struct line); i++) {
		buf_str(b, i ? "," : "");
		buf_json(b, str(v, lines(v, section(v, 0))[i].text));
	}
	buf_str(b, "],\"columns\":[");
	for (size_t i = 0; t && i < t->ncols; i++) {
		buf_str(b, i ? ",{\"key\":" : "{\"key\":");
		buf_json(b, t->cols[i].key);
		buf_char(b, '}');
	}
	buf_str(b, "],\"rows\":[");
	for (size_t i = 0; t && i < v->nsections; i++)
		if (section(v, i)->cols == t->cols)
			json_rows(b, v, section(v, i), &sep);
	buf_str(b, "]}\n");
}

static void csv_rows(struct buf *b, const struct view *v,
		     const struct section *s)
{
	const struct cell *cell = cells(v, s);

	for (size_t row = 0; row < nrows(s); row++) {
		for (size_t c = 0; c < s->ncols; c++, cell++) {
			buf_str(b, c ? "," : "");
			if (cell->raw)
				buf_csv(b, str(v, cell->raw));
		}
		buf_str(b, "\r\n");
	}
}

static void send_csv(const struct view *v, struct buf *b)
{
	const struct section *t = first_table(v);

	for (size_t i = 0; t && i < t->ncols; i++) {
		buf_csv(b, t->cols[i].key);
		buf_str(b, i + 1 < t->ncols ? "," : "\r\n");
	}
	for (size_t i = 0; t && i < v->nsections; i++)
		if (section(v, i)->cols == t->cols)
			csv_rows(b, v, section(v, i));
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

static void html_forms(struct buf *b, const struct view *v,
		       const struct request *q)
{
	static const char *const form[] = {
		".txt", ".json", ".csv", ".svg", ".png",
	};

	buf_str(b, "<p class=\"forms\">The same as");
	for (size_t i = 0; i < (v->path ? 5 : 3); i++) {
		buf_str(b, " <a href=\"");
		html_url(b, q, form[i]);
		buf_printf(b, "\">%s</a>", form[i]);
	}
	buf_str(b, "</p>\n");
}

static void html_picture(struct buf *b, const struct view *v,
			 const struct request *q)
{
	buf_str(b, "<figure id=\"chart\" data-json=\"");
	html_url(b, q, ".json");
	buf_str(b, "\"><noscript><img src=\"");
	html_url(b, q, ".svg");
	html_element(b, "\" alt=\"", str(v, v->alt),
		     "\"></noscript></figure>\n");
}

static void html_cell(struct buf *b, const struct view *v,
		      const struct view_col *col, const struct cell *c,
		      bool first)
{
	buf_str(b, first ? "<th scope=\"row\"" : "<td");
	buf_str(b, col->right ? " class=\"num\">" : ">");
	if (c->href)
		html_element(b, "<a href=\"", str(v, c->href), "\">");
	buf_html(b, c->text ? str(v, c->text) : "-");
	buf_str(b, c->href ? "</a>" : "");
	buf_str(b, first ? "</th>" : "</td>");
}

/* The row @cell; NULL: the header. */
static void html_row(struct buf *b, const struct view *v,
		     const struct section *s, const struct cell *cell)
{
	bool first = true;

	buf_str(b, "<tr>");
	for (size_t i = 0; i < s->ncols; i++) {
		const struct view_col *c = &s->cols[i];

		if (c->hide_text)
			continue;
		if (cell)
			html_cell(b, v, c, &cell[i], first);
		else
			html_element(b, c->right ?
				     "<th scope=\"col\" class=\"num\">" :
				     "<th scope=\"col\">", c->name, "</th>");
		first = false;
	}
	buf_str(b, "</tr>\n");
}

static void html_table(struct buf *b, const struct view *v,
		       const struct section *s)
{
	const char *caption = str(v, s->caption ? s->caption : v->title);

	html_element(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\""
		     " aria-label=\"", caption, "\">\n");
	html_element(b, "<table>\n<caption>", caption, "</caption>\n<thead>");
	html_row(b, v, s, NULL);
	buf_str(b, "</thead>\n<tbody>\n");
	for (size_t row = 0; row < nrows(s); row++)
		html_row(b, v, s, &cells(v, s)[row * s->ncols]);
	buf_str(b, "</tbody>\n</table>\n</div>\n");
}

static void html_section(struct buf *b, const struct view *v,
			 const struct section *s)
{
	const struct line *l = lines(v, s);
	bool pre = false;

	if (s->caption && !s->ncells)
		html_element(b, "<h2>", str(v, s->caption), "</h2>\n");
	for (size_t i = 0; i < s->nlines; i++) {
		if (l[i].note)
			continue;
		buf_str(b, pre ? "" : "<pre class=\"head\">");
		html_element(b, "", str(v, l[i].text), "\n");
		pre = true;
	}
	buf_str(b, pre ? "</pre>\n" : "");
	if (s->ncells)
		html_table(b, v, s);
	for (size_t i = 0; i < s->nlines; i++)
		if (l[i].note)
			html_element(b, "<p>", str(v, l[i].text), "</p>\n");
}

static void send_html(const struct view *v, const struct request *q,
		      struct buf *b)
{
	struct buf main = BUF_INIT;
	char script[32];

	html_element(&main, "<h1>", str(v, v->title), "</h1>\n");
	if (v->html)
		buf_str(&main, str(v, v->html));
	if (v->path) {
		snprintf(script, sizeof(script), "%s.js", str(v, v->path));
		html_picture(&main, v, q);
	}
	for (size_t i = 0; i < v->nsections; i++)
		html_section(&main, v, section(v, i));
	html_forms(&main, v, q);
	if (buf_ok(&main))
		view_shell(b, q, str(v, v->title), main.s,
			   v->path ? script : NULL);
	b->failed |= !buf_ok(&main);
	buf_free(&main);
}

static bool is_mark(const char *at, size_t len, const char *mark)
{
	return len == strlen(mark) && !memcmp(at, mark, len);
}

void view_shell(struct buf *out, const struct request *q, const char *title,
		const char *main, const char *script)
{
	const struct asset *shell = asset_find("shell.html");
	const char *p = (const char *)shell->data, *end = p + shell->len, *at;
	size_t len;

	(void)q;	/* the shell is the same for everyone */
	while ((at = memmem(p, (size_t)(end - p), "<!--", 4))) {
		buf_add(out, p, (size_t)(at - p));
		p = memmem(at, (size_t)(end - at), "-->", 3);
		p = p ? p + 3 : end;
		len = (size_t)(p - at);
		if (is_mark(at, len, "<!--title-->"))
			buf_html(out, title);
		else if (is_mark(at, len, "<!--main-->"))
			buf_str(out, main);
		else if (is_mark(at, len, "<!--script-->") && script)
			html_element(out, "<script type=\"module\" src=\"",
				     script, "\"></script>");
	}
	buf_add(out, p, (size_t)(end - p));
}

/* --- answering -------------------------------------------------------- */

void view_send(const struct view *v, const struct request *q,
	       struct response *r)
{
	bool ok = built(v);

	if (!ok)
		;
	else if (q->form == FORM_TXT)
		send_text(v, q, &r->body);
	else if (q->form == FORM_JSON)
		send_json(v, q, &r->body);
	else if (q->form == FORM_CSV)
		send_csv(v, &r->body);
	else
		send_html(v, q, &r->body);
	if (ok && buf_ok(&r->body))
		return;
	response_error(q, r, 503, "out of memory");
	r->retry_after_s = RETRY_S;
}

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

void view_name(struct view_names *l, const char *name)
{
	if (l->last && !strcmp(l->last, name))
		return;
	l->last = name;
	if (++l->n <= MAX_NAMES)
		buf_printf(&l->text, "%s%s", l->n > 1 ? ", " : "", name);
	else if (l->n == MAX_NAMES + 1)
		buf_str(&l->text, ", ...");
}

void view_missing(const struct request *q, struct response *r,
		  const char *field, const char *got, struct view_names *there)
{
	const char *names = there->text.len ? there->text.s : "nothing yet";

	if (got)
		response_error(q, r, 404, "%s: there is no \"%s\"; there is: "
			       "%s", field, got, names);
	else
		response_error(q, r, 400, "%s: missing; expected one of: %s",
			       field, names);
	buf_free(&there->text);
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
	snprintf(out, VIEW_KERNEL, "%.12s", k->commit ? k->commit : k->key);
	return out;
}

const char *view_figure(const struct store_point *p, struct report_unit unit,
			char out[REPORT_VALUE])
{
	char text[REPORT_VALUE - 1];

	snprintf(text, sizeof(text), "%s", report_number(p->value, unit, out));
	if (p->status != RECORD_OK && p->value != RECORD_NULL)
		snprintf(out, REPORT_VALUE, "%s!", text);
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

void view_cell_status(struct view *v, const struct store_point *p,
		      const char *ok)
{
	const char *why = p->reason ? p->reason : record_status_name(p->status);
	struct buf b = BUF_INIT;

	if (p->status != RECORD_OK)
		buf_printf(&b, "%s: %s", p->status == RECORD_INVALID ?
			   "not valid" : "not measured", why);
	else
		buf_str(&b, view_measured(p) ? ok : "not measured");
	view_cell_text(v, b.s);
	buf_free(&b);
}

void view_cell_date(struct view *v, const char *time)
{
	char day[sizeof("2026-11-30")];

	snprintf(day, sizeof(day), "%.10s", time ? time : "-");
	view_cell(v, day, time, NULL);
}

void view_chart_url(struct buf *b, const struct store_chart *c)
{
	buf_str(b, "/trend?bench=");
	buf_url(b, c->bench);
	buf_str(b, "&host=");
	buf_url(b, c->host);
	buf_str(b, "&metric=");
	buf_url(b, c->metric);
	if (*c->params) {
		buf_str(b, "&params=");
		buf_url(b, c->params);
	}
}

void view_compare_url(struct buf *b, const char *host,
		      const struct store_kernel *before,
		      const struct store_kernel *after)
{
	buf_str(b, "/compare?a=");
	buf_url(b, before->key);
	buf_str(b, "&b=");
	buf_url(b, after->key);
	buf_str(b, "&host=");
	buf_url(b, host);
}
