/* SPDX-License-Identifier: GPL-2.0-only */
/* One model, four forms: what each quotes, and that none loses a figure. */
#include <stdlib.h>

#include "../../server/view.h"
#include "../tap.h"

#define HOSTILE "<script>alert(\"1\")</script> & 'x'"

static const struct view_col cols[] = {
	{ "name", "name", VIEW_TEXT },
	{ "value", "value_ns", VIEW_FIGURE },
	{ NULL, "hidden", VIEW_TEXT },
};

static const struct site site;

/* What @tell tells, in a form; freed by the next call. */
static const char *render(const char *title, void (*tell)(struct view *v),
			  enum form form)
{
	static struct response r;
	struct request q = {
		.site = &site, .method = "GET", .path = "/hosts", .arg = "",
		.form = form, .query = "host=a%26b&last=3",
	};
	struct view v;

	buf_free(&r.body);
	r = (struct response){ .status = 200 };
	view_begin(&v, &q, &r, title);
	tell(&v);
	view_end(&v);
	return r.status == 200 && r.body.len ? r.body.s : "";
}

static size_t longest_line(const char *s)
{
	size_t longest = 0, len;

	for (; *s; s += len + (s[len] == '\n')) {
		len = strcspn(s, "\n");
		longest = len > longest ? len : longest;
	}
	return longest;
}

static bool is_mailable(const char *s)
{
	for (const char *p = s; *p; p++) {
		if ((*p < ' ' && *p != '\n') || *p > '~')
			return false;
		if ((p == s || p[-1] == '\n') && *p != '\n' && strncmp(p, "  ", 2))
			return false;
	}
	return longest_line(s) <= REPORT_WIDTH;
}

static void small(struct view *v)
{
	if (v->q->form == FORM_HTML)
		view_picture(v, "alt \"text\"");
	view_cols(v, cols, 3);
	view_head(v, "head & line");
	view_cell(v, HOSTILE, HOSTILE, "/x?a=1&b=\"2\"");
	view_cell_int(v, 42);
	view_cell_text(v, "=1+1,\"q\"");
	view_cell(v, NULL, NULL, NULL);
	view_cell_int(v, RECORD_NULL);
	view_cell_text(v, NULL);
	view_note(v, "note < %d", 7);
}

static void test_text(void)
{
	is(render("a <title>", small, FORM_TXT),
	   "  a <title>\n"
	   "  head & line\n"
	   "\n"
	   "  name                               value\n"
	   "  ---------------------------------  -----\n"
	   "  <script>alert(\"1\")</script> & 'x'     42\n"
	   "  -                                      -\n"
	   "  note < 7\n", "text: as it is, null is -, hidden is left out");
}

static void test_json(void)
{
	is(render("a <title>", small, FORM_JSON),
	   "{\"view\":\"hosts\",\"title\":\"a <title>\",\"columns\":["
	   "{\"key\":\"name\"},{\"key\":\"value_ns\"},{\"key\":\"hidden\"}],"
	   "\"rows\":["
	   "{\"name\":\"<script>alert(\\\"1\\\")<\\/script> & 'x'\","
	   "\"value_ns\":42,\"hidden\":\"=1+1,\\\"q\\\"\"},\n"
	   "{\"name\":null,\"value_ns\":null,\"hidden\":null}],\"notes\":"
	   "[\"head & line\",\"note < 7\"]}\n",
	   "JSON: numbers bare, text quoted, nulls null, hidden shown");
}

static void test_csv(void)
{
	is(render("a <title>", small, FORM_CSV),
	   "name,value_ns,hidden\r\n"
	   "\"<script>alert(\"\"1\"\")</script> & 'x'\",42,"
	   "\"=1+1,\"\"q\"\"\"\r\n"
	   ",,\r\n", "CSV: RFC 4180, data as they are, null is empty");
}

static void test_html(void)
{
	const char *s = render("a <title>", small, FORM_HTML);

	ok(!strstr(s, "<script>alert"), "HTML: a name cannot become an element");
	ok(strstr(s, "<h1>a &lt;title&gt;</h1>") != NULL, "HTML: title escaped");
	ok(strstr(s, "<title>a &lt;title&gt;") != NULL,
	   "HTML: the shell has the title as well");
	ok(strstr(s, "<a href=\"/x?a=1&amp;b=&quot;2&quot;\">&lt;script&gt;") != NULL,
	   "HTML: a link cannot leave its attribute");
	ok(strstr(s, "<td class=\"num\">42</td>") != NULL, "HTML: figures are num");
	ok(!strstr(s, "=1+1"), "HTML: hidden columns are not there");
	ok(strstr(s, "href=\"/hosts.csv?host=a%26b&amp;last=3\"") != NULL,
	   "HTML: links to other forms keep the query");
	ok(strstr(s, "<noscript><img src=\"/hosts.svg?host=a%26b&amp;last=3\""
		  " alt=\"alt &quot;text&quot;\"></noscript>") != NULL,
	   "HTML: the picture has an alternative");
	ok(strstr(s, "<script type=\"module\" src=\"/hosts.js\"></script>") != NULL,
	   "HTML: a picture's script is loaded");
	ok(!strstr(s, "<!--main-->") && !strstr(s, "<!--script-->"),
	   "HTML: no mark of the shell is left");
}

/* Ten columns of nine digits do not fit one table of 72. */
static void wide(struct view *v)
{
	static struct view_col col[20] = { { .name = "kernel" } };
	static char name[20][16];

	for (int i = 1; i < 20; i++) {
		snprintf(name[i], sizeof(name[i]), "%dk", 4 << i);
		col[i] = (struct view_col){ name[i], name[i], VIEW_FIGURE };
	}
	view_cols(v, col, 20);
	view_cell_text(v, "4d0b9c1e2f3a");
	for (int i = 1; i < 20; i++)
		view_cell_int(v, 100000000 + i);
}

static void test_wide(void)
{
	const char *s = render("wide", wide, FORM_TXT);
	size_t found = 0;
	char cell[16];

	ok(is_mailable(s), "text: a wide table goes on in another, 72 columns");
	for (int i = 1; i < 20; i++) {
		snprintf(cell, sizeof(cell), "%d", 100000000 + i);
		found += strstr(s, cell) != NULL;
	}
	is_i((long long)found, 19, "text: ... and no figure is broken or lost");
	ok(strstr(s, "4d0b9c1e2f3a  ") != NULL, "text: ... nor a kernel's name");
}

/* All sizes of a 4k kernel, as wide as figures of one unit can be. */
static void nine(struct view *v)
{
	static const struct view_col col[] = {
		{ "kernel", "kernel", VIEW_TEXT }, { "base", "", VIEW_FIGURE },
		{ "16k", "", VIEW_FIGURE }, { "32k", "", VIEW_FIGURE },
		{ "64k", "", VIEW_FIGURE }, { "128k", "", VIEW_FIGURE },
		{ "256k", "", VIEW_FIGURE }, { "512k", "", VIEW_FIGURE },
		{ "1m", "", VIEW_FIGURE }, { "2m", "", VIEW_FIGURE },
	};

	view_cols(v, col, 10);
	view_cell_text(v, "4d0b9c1e2f3a");
	view_cell_text(v, "3105!");
	for (int i = 0; i < 7; i++)
		view_cell_text(v, "57.1");
	view_cell_text(v, "8.31!");
}

static void test_nine(void)
{
	is(render("t", nine, FORM_TXT), "  t\n\n"
	   "  kernel         base   16k   32k   64k  128k  256k  512k    1m     2m\n"
	   "  ------------  -----  ----  ----  ----  ----  ----  ----  ----  -----\n"
	   "  4d0b9c1e2f3a  3105!  57.1  57.1  57.1  57.1  57.1  57.1  57.1  8.31!\n",
	   "text: nine sizes are one table");
}

static void lengthy(struct view *v)
{
	char word[300];

	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	view_cols(v, cols, 3);
	view_head(v, "%s", word);
	view_cell_text(v, "\xe2\x82\xac one two three four five six seven eight nine"
		       " ten eleven twelve");
	view_cell_int(v, INT64_MAX);
	view_cell_text(v, NULL);
	view_note(v, "%s", word);
}

static void sections(struct view *v)
{
	static const struct view_col other[] = { { "o", "o", VIEW_TEXT } };

	view_section(v, "one %d", 1);
	view_cols(v, cols, 3);
	for (int i = 0; i < 3; i++)
		view_cell_int(v, i);
	view_section(v, "nothing");
	view_section(v, "two");
	view_cols(v, cols, 3);
	for (int i = 3; i < 6; i++)
		view_cell_int(v, i);
	view_section(v, "three");
	view_cols(v, other, 1);
	view_cell_text(v, "o");
	view_section(v, "four");
	view_head(v, "a line");
}

static void test_sections(void)
{
	is(render("t", sections, FORM_CSV),
	   "name,value_ns,hidden\r\n0,1,2\r\n3,4,5\r\n",
	   "CSV: the rows of all sections that share the first columns");
	is(render("t", sections, FORM_TXT), "  t\n"
	   "\n  one 1\n\n  name  value\n  ----  -----\n  0         1\n"
	   "\n  two\n\n  name  value\n  ----  -----\n  3         4\n"
	   "\n  three\n\n  o\n  -\n  o\n"
	   "\n  four\n  a line\n",
	   "text: each section has caption, header and rows, an empty one none");
	ok(strstr(render("t", sections, FORM_HTML), "<caption>three</caption>")
	   != NULL, "HTML: each table has its caption");
	ok(strstr(render("t", sections, FORM_HTML), "<h2>four</h2>\n<pre")
	   != NULL, "HTML: ... and a section without one its heading");
}

static void nothing(struct view *v)
{
	(void)v;
}

static void test_empty(void)
{
	is(render("t", nothing, FORM_CSV), "",
	   "CSV: a page without a table is empty");
	is(render("t", nothing, FORM_JSON), "{\"view\":\"hosts\",\"title\":\"t\","
	   "\"columns\":[],\"rows\":[],\"notes\":[]}\n",
	   "JSON: a page without a table");
}

static void out_of_memory(struct view *v)
{
	v->cells.failed = v->q->form == FORM_TXT;
	v->notes.failed = v->q->form == FORM_JSON;
	v->body.failed = v->q->form == FORM_CSV;
	small(v);
}

static void test_memory(void)
{
	is(render("t", out_of_memory, FORM_TXT), "", "text without memory: 503");
	is(render("t", out_of_memory, FORM_JSON), "", "JSON without memory: 503");
	is(render("t", out_of_memory, FORM_CSV), "", "CSV without memory: 503");
}

static char reason[] = "12 of 8192 folios fell back", brief[] = "no such size";
static const struct store_point points[] = {
	{ .status = RECORD_OK, .n = 1 },
	{ .status = RECORD_INVALID, .reason = reason },
	{ .status = RECORD_SKIP, .reason = brief },
	{ .status = RECORD_FAILED, .reason = brief },
	{ .status = RECORD_FAILED, .reason = brief },
};

static void reasons(struct view *v)
{
	static const struct view_col col[] = { { "is", "is", VIEW_TEXT } };
	struct view_reasons why = { .n = 0 };

	view_cols(v, col, 1);
	for (int i = 0; i < 5; i++)
		view_reason(&why, &points[i]);
	for (int i = 0; i < 5; i++)
		view_cell_why(v, view_status(&points[i]), &points[i], &why);
	view_tell_reasons(v, &why);
}

static void test_reasons(void)
{
	is(render("t", reasons, FORM_TXT), "  t\n\n"
	   "  is\n"
	   "  ---------------------\n"
	   "  ok\n"
	   "  not valid (1)\n"
	   "  skipped: no such size\n"
	   "  failed (2)\n"
	   "  failed (2)\n"
	   "  (1) not valid: 12 of 8192 folios fell back\n"
	   "  (2) failed: no such size\n",
	   "text: a reason that is long or said twice stands below, once");
	is(render("t", reasons, FORM_CSV), "is\r\nok\r\n"
	   "not valid: 12 of 8192 folios fell back\r\n"
	   "skipped: no such size\r\nfailed: no such size\r\n"
	   "failed: no such size\r\n", "CSV: each row has its reason");
}

static void test_null_last(void)
{
	char a[] = "mincore", n[] = "null", z[] = "pvm";
	struct store_chart v[] = {
		{ .bench = n }, { .bench = a }, { .bench = n }, { .bench = z },
	};
	struct store_charts c = { v, 4 };

	view_null_last(&c);
	ok(v[0].bench == a && v[1].bench == z && v[2].bench == n &&
	   v[3].bench == n, "charts of null come last, the others as they were");
}

static void test_refused(void)
{
	static const struct { enum store_answer a; int status, retry; } t[] = {
		{ STORE_MISSING, 404, 0 }, { STORE_CONFLICT, 400, 0 },
		{ STORE_BUSY, 503, 2 }, { STORE_ERROR, 500, 0 },
	};
	struct request q = { .site = &site, .path = "/hosts", .query = "",
			     .form = FORM_TXT };
	struct err e = { "/secret/path" };
	struct response r;

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		r = (struct response){ .status = 200 };
		ok(view_refused(&q, &r, t[i].a, &e) && r.status == t[i].status &&
		   r.retry_after_s == t[i].retry, "a failed read is a %d",
		   t[i].status);
		if (t[i].a == STORE_ERROR)
			ok(!strstr(r.body.s, "secret") &&
			   strstr(r.why.msg, "secret"),
			   "an internal is for the log, not for the client");
		buf_free(&r.body);
	}
	ok(!view_refused(&q, &r, STORE_NEW, &e) &&
	   !view_refused(&q, &r, STORE_SAME, &e), "an answer is no refusal");
}

static void test_missing(void)
{
	struct request q = { .site = &site, .path = "/hosts", .query = "",
			     .form = FORM_TXT };
	struct response r = { .status = 200 };
	struct buf names = BUF_INIT;
	char name[16];

	view_missing(&q, &r, "host", NULL, &names);
	is_i(r.status, 400, "a missing value is a 400");
	is(r.body.s, "host: missing; expected one of: nothing yet\n",
	   "... that says when nothing could be given");
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "h%d", i);
		view_name(&names, name);
	}
	view_missing(&q, &r, "host", "x", &names);
	is_i(r.status, 404, "an unknown value is a 404");
	ok(strstr(r.body.s, "there is: h0, h1,") && strstr(r.body.s, "...\n"),
	   "... that lists what there is, as much as an error holds");
	buf_free(&names);
	buf_free(&r.body);
}

static void test_points(void)
{
	struct store_point p = { .value = 2000, .spread = 38, .n = 5 };
	struct store_point none = { .value = RECORD_NULL, .spread = RECORD_NULL };
	struct store_point zero = { .value = 0, .spread = 0, .n = 1 };
	struct store_kernel k = { .key = "0123456789abcdef" };
	char s[REPORT_VALUE], key[VIEW_KERNEL], commit[] = "fedcba98765432100";

	is(view_spread(&p, s), "1.9%", "spread in percent of the value");
	is(view_spread(&none, s), "-", "no figure, no spread");
	is(view_spread(&zero, s), "-", "a spread of nothing is no NaN");
	ok(view_measured(&p) && !view_measured(&none), "measured: any run");
	is(view_kernel(&k, key), "0123456789ab", "a kernel is named by its key");
	k.commit = commit;
	is(view_kernel(&k, key), "fedcba987654", "... or its commit, if known");
}

int main(void)
{
	test_text();
	test_json();
	test_csv();
	test_html();
	test_wide();
	test_nine();
	ok(is_mailable(render("t\xc3\xaftle", lengthy, FORM_TXT)),
	   "text: long words and foreign letters stay in 72 ASCII columns");
	test_sections();
	test_empty();
	test_memory();
	test_reasons();
	test_null_last();
	test_refused();
	test_missing();
	test_points();
	return tap_done();
}
