/* SPDX-License-Identifier: GPL-2.0-only */
/* One model, four forms: what each quotes, and that none loses a figure. */
#include <stdlib.h>

#include "../../server/view.h"
#include "../tap.h"

#define HOSTILE "<script>alert(\"1\")</script> & 'x'"

static const struct view_col cols[] = {
	{ "name", "name", false, false, false },
	{ "value", "value_ns", true, true, false },
	{ NULL, "hidden", false, false, true },
};

/* Body of @v in a form; freed by the next call. */
static const char *render(const struct view *v, enum form form)
{
	static struct response r;
	static const struct site site = { 0 };
	struct request q = {
		.site = &site, .method = "GET", .path = "/hosts", .arg = "",
		.form = form, .query = "host=a%26b&last=3",
	};

	buf_free(&r.body);
	r = (struct response){ .status = 200 };
	view_send(v, &q, &r);
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

static struct view *small(void)
{
	struct view *v = view_new("a <title>");

	view_head(v, "head & line");
	view_cols(v, cols, 3);
	view_cell(v, HOSTILE, HOSTILE, "/x?a=1&b=\"2\"");
	view_cell_int(v, 42);
	view_cell_text(v, "=1+1,\"q\"");
	view_cell(v, NULL, NULL, NULL);
	view_cell_int(v, RECORD_NULL);
	view_cell_text(v, NULL);
	view_note(v, "note < %d", 7);
	return v;
}

static void test_text(void)
{
	struct view *v = small();

	is(render(v, FORM_TXT),
	   "  a <title>\n"
	   "  head & line\n"
	   "\n"
	   "  name                               value\n"
	   "  ---------------------------------  -----\n"
	   "  <script>alert(\"1\")</script> & 'x'     42\n"
	   "  -                                      -\n"
	   "  note < 7\n", "text: as it is, null is -, hidden is left out");
	view_free(v);
}

static void test_json(void)
{
	struct view *v = small();

	is(render(v, FORM_JSON),
	   "{\"view\":\"hosts\",\"title\":\"a <title>\",\"notes\":"
	   "[\"head & line\",\"note < 7\"],\"columns\":[{\"key\":\"name\"},"
	   "{\"key\":\"value_ns\"},{\"key\":\"hidden\"}],\"rows\":["
	   "{\"name\":\"<script>alert(\\\"1\\\")<\\/script> & 'x'\","
	   "\"value_ns\":42,\"hidden\":\"=1+1,\\\"q\\\"\"},\n"
	   "{\"name\":null,\"value_ns\":null,\"hidden\":null}]}\n",
	   "JSON: numbers bare, text quoted, nulls null, hidden shown");
	view_free(v);
}

static void test_csv(void)
{
	struct view *v = small();

	is(render(v, FORM_CSV),
	   "name,value_ns,hidden\r\n"
	   "\"<script>alert(\"\"1\"\")</script> & 'x'\",42,"
	   "\"=1+1,\"\"q\"\"\"\r\n"
	   ",,\r\n", "CSV: RFC 4180, data as they are, null is empty");
	view_free(v);
}

static void test_html(void)
{
	struct view *v = small();
	const char *s;

	view_picture(v, "/trend", "alt \"text\"");
	view_html(v, "<form></form>");
	s = render(v, FORM_HTML);
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
	ok(strstr(s, "<script type=\"module\" src=\"/trend.js\"></script>") != NULL,
	   "HTML: a picture's script is loaded");
	ok(!strstr(s, "<!--main-->") && !strstr(s, "<!--script-->"),
	   "HTML: no mark of the shell is left");
	view_free(v);
}

/* Ten columns of nine digits do not fit one table of 72. */
static void test_wide(void)
{
	struct view_col wide[20] = { { .name = "kernel" } };
	char name[20][16], cell[16];
	struct view *v = view_new("wide");
	const char *s;
	size_t found = 0;

	for (int i = 1; i < 20; i++) {
		snprintf(name[i], sizeof(name[i]), "%dk", 4 << i);
		wide[i] = (struct view_col){ .name = name[i], .right = true };
	}
	view_cols(v, wide, 20);
	view_cell_text(v, "4d0b9c1e2f3a");
	for (int i = 1; i < 20; i++)
		view_cell_int(v, 100000000 + i);
	s = render(v, FORM_TXT);
	ok(is_mailable(s), "text: a wide table goes on in another, 72 columns");
	for (int i = 1; i < 20; i++) {
		snprintf(cell, sizeof(cell), "%d", 100000000 + i);
		found += strstr(s, cell) != NULL;
	}
	is_i((long long)found, 19, "text: ... and no figure is broken or lost");
	view_free(v);
}

static void test_long(void)
{
	struct view *v = view_new("t\xc3\xaftle");
	char word[300];

	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	view_head(v, "%s", word);
	view_cols(v, cols, 3);
	view_cell_text(v, "\xe2\x82\xac one two three four five six seven eight nine"
		       " ten eleven twelve");
	view_cell_int(v, INT64_MAX);
	view_cell_text(v, NULL);
	view_note(v, "%s", word);
	ok(is_mailable(render(v, FORM_TXT)),
	   "text: long words and foreign letters stay in 72 ASCII columns");
	view_free(v);
}

static void test_sections(void)
{
	static const struct view_col other[] = { { .name = "o", .key = "o" } };
	struct view *v = view_new("t");

	view_section(v, "one %d", 1);
	view_cols(v, cols, 3);
	for (int i = 0; i < 3; i++)
		view_cell_int(v, i);
	view_section(v, "two");
	for (int i = 3; i < 6; i++)
		view_cell_int(v, i);
	view_section(v, "three");
	view_cols(v, other, 1);
	view_cell_text(v, "o");
	is(render(v, FORM_CSV), "name,value_ns,hidden\r\n0,1,2\r\n3,4,5\r\n",
	   "CSV: the rows of all sections that share the first columns");
	ok(strstr(render(v, FORM_TXT), "  two\n\n  name  value\n") != NULL,
	   "text: each section has caption, header and rows");
	ok(strstr(render(v, FORM_HTML), "<caption>three</caption>") != NULL,
	   "HTML: each table has its caption");
	view_free(v);
}

static void test_empty(void)
{
	struct view *v = view_new("t");

	is(render(v, FORM_CSV), "", "CSV: a page without a table is empty");
	is(render(v, FORM_JSON), "{\"view\":\"hosts\",\"title\":\"t\",\"notes\":[],"
	   "\"columns\":[],\"rows\":[]}\n", "JSON: a page without a table");
	view_free(v);
	view_free(NULL);
	is(render(NULL, FORM_TXT), "", "a view without memory is no page");
}

static void test_refused(void)
{
	static const struct { enum store_answer a; int status, retry; } t[] = {
		{ STORE_MISSING, 404, 0 }, { STORE_CONFLICT, 400, 0 },
		{ STORE_BUSY, 503, 2 }, { STORE_ERROR, 500, 0 },
	};
	static const struct site site = { 0 };
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
	static const struct site site = { 0 };
	struct request q = { .site = &site, .path = "/hosts", .query = "",
			     .form = FORM_TXT };
	struct response r = { .status = 200 };
	struct view_names there = { 0 };
	char name[40][4];

	view_missing(&q, &r, "host", NULL, &there);
	is_i(r.status, 400, "a missing value is a 400");
	is(r.body.s, "host: missing; expected one of: nothing yet\n",
	   "... that says when nothing could be given");
	for (int i = 0; i < 40; i++) {
		snprintf(name[i], sizeof(name[i]), "h%d", i / 2);
		view_name(&there, name[i]);
	}
	view_name(&there, "h20");
	view_name(&there, "h21");
	view_missing(&q, &r, "host", "x", &there);
	is_i(r.status, 404, "an unknown value is a 404");
	ok(strstr(r.body.s, "there is: h0, h1,") && strstr(r.body.s, "h19, ...\n"),
	   "... that lists what there is, each once, up to 20");
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
	test_long();
	test_sections();
	test_empty();
	test_refused();
	test_missing();
	test_points();
	return tap_done();
}
