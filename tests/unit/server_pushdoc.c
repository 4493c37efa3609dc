/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What CI posts: the documents of tests/wire/push are read as they are, and
 * refused with the exact message when one thing in them is wrong.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/buf.h"
#include "server/route/pushdoc.h"
#include "tests/tap.h"

static char *read_file(const char *name)
{
	struct buf b = BUF_INIT;
	char path[4096], part[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/wire/push/%s", getenv("SRC"),
		 name);
	f = fopen(path, "rb");
	while (f && (n = fread(part, 1, sizeof(part), f)))
		buf_add(&b, part, n);
	if (f)
		fclose(f);
	return buf_detach(&b, NULL);
}

/* @text with the first @from in it as @to. */
static char *edit(const char *text, const char *from, const char *to)
{
	struct buf b = BUF_INIT;
	const char *at = strstr(text, from);

	if (!at)
		printf("# there is no %s\n", from);
	at = at ? at : text;
	buf_add(&b, text, (size_t)(at - text));
	buf_str(&b, to);
	buf_str(&b, at + strlen(from));
	return buf_detach(&b, NULL);
}

static void refuses(const char *doc, bool skip_, const char *from,
		    const char *to, const char *want)
{
	char *text = edit(doc, from, to);
	struct err e = { "" };
	struct push p = { 0 };
	struct skip k = { 0 };
	int rc = skip_ ? skip_parse(text, strlen(text), &k, &e) :
			 push_parse(text, strlen(text), &p, &e);

	ok(rc == -1 && errno != ENOMEM, "%s -> %s is refused", from, to);
	is(e.msg, want, "with the reason");
	push_free(&p);
	skip_free(&k);
	free(text);
}

static void takes(const char *doc, const char *from, const char *to)
{
	char *text = edit(doc, from, to);
	struct err e = { "" };
	struct push p;

	if (!ok(!push_parse(text, strlen(text), &p, &e), "%s -> %s is taken",
		from, to))
		printf("# %s\n", e.msg);
	push_free(&p);
	free(text);
}

#define A40 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define C40 "cccccccccccccccccccccccccccccccccccccccc"
#define ONE "1111111111111111111111111111111111111111"
#define HEX "expected a string of 40 lower-case hex digits"
#define TIME "expected a string of 20 bytes, a time that exists, like " \
	     "\"2026-11-30T11:04:56Z\""

static const struct { const char *from, *to, *want; } wrong[] = {
	{ "{", "[", "line 2, column 10: ']' expected near ':'" },
	{ "\"linear\": 0,", "\"linear\": 0, \"linear\": 0,",
	  "line 8, column 22: duplicate object key near '\"linear\"'" },
	{ "mmtrend.push/1", "mmtrend.push/2",
	  "/schema: expected a string of 14 bytes, \"mmtrend.push/1\", got "
	  "\"mmtrend.push/2\"" },
	{ "\"tree\": \"mm-unstable\",", "",
	  "/tree: missing, expected a string of 1 to 64 characters from A-Z "
	  "a-z 0-9 . _ -, a letter or a digit first" },
	{ "\"mm-unstable\"", "\"-x\"",
	  "/tree: expected a string of 1 to 64 characters from A-Z a-z 0-9 . "
	  "_ -, a letter or a digit first, got \"-x\"" },
	{ "2026-07-28T06:18:00Z", "2026-02-29T06:18:00Z",
	  "/pushed_at: " TIME ", got \"2026-02-29T06:18:00Z\"" },
	{ "2026-07-28T06:18:00Z", "2026-07-28 06:18:00",
	  "/pushed_at: " TIME ", got \"2026-07-28 06:18:00\"" },
	{ "\"7368ccdeff50c27809d3a8276c85bae7e402c96c\"", "7",
	  "/old: " HEX " or null, got 7" },
	{ "\"new\": \"" C40 "\"", "\"new\": null", "/new: " HEX ", got null" },
	{ "\"linear\": 0", "\"linear\": true",
	  "/linear: expected an integer of 0 to 1, got true" },
	{ "\"linear\": 0", "\"linear\": 2",
	  "/linear: expected an integer of 0 to 1, got 2" },
	{ "\"mm-everything-2026-07-28-06-18\"", "\"a b\"",
	  "/tags/0: expected a string of 1 to 256 ASCII characters but "
	  "spaces, got \"a b\"" },
	{ "\"mm-everything-2026-07-28-06-18\"", "1,2,3,4,5,6,7,8,9",
	  "/tags: expected an array of 0 to 8 values or null, got 9" },
	{ "\"commits\"", "\"commit\"",
	  "/commits: missing, expected an array of 0 to 4096 values" },
	{ "\"subject\"", "\"title\": \"\", \"subject\"",
	  "/commits/0/title: unknown key" },
	{ "\"parent\": \"" A40 "\"", "\"parent\": \"" ONE "\"",
	  "/commits/1/parent: expected the sha of /commits/0, \"" A40 "\"" },
	{ "\"parent\": \"" A40 "\"", "\"parent\": null",
	  "/commits/1/parent: expected the sha of /commits/0, \"" A40 "\"" },
	{ "\"new\": \"" C40 "\"", "\"new\": \"" ONE "\"",
	  "/new: expected the last of commits, \"" C40 "\"" },
	{ "a0a0", "A0A0", "/commits/0/tree_hash: " HEX ", got "
	  "\"A0A0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0\"" },
	{ "Merge branch", "a\\u202eb",
	  "/commits/1/subject: control or invisible character U+202E" },
	{ "Merge branch", "a\\tb",
	  "/commits/1/subject: control or invisible character U+0009" },
	{ "\"author\": \"A", "\"author\": 5, \"x\": \"A",
	  "/commits/1/author: expected a string of 0 to 1024 bytes, got 5" },
	{ "9a1f03cc", "9a1f03c", "/commits/0/patch_id: " HEX
	  " or null, got \"9a1f03c9a1f03cc9a1f03cc9a1f03cc9a1f03cc\"" },
	{ "20260720120000.1234", "<x> y", "/commits/0/link: expected a string "
	  "of 1 to 256 ASCII characters but spaces or null, got "
	  "\"<x> y-2-zoe@example.org\"" },
	{ "\"mm/gup.c\"", "null", "/commits/0/files/0: expected a string of 1 "
	  "to 256 ASCII characters but spaces, got null" },
	{ "\"mm/gup.c\"", "[[[[[]]]]]", "nested deeper than 8" },
	{ "\"commits\": [", "\"commits\": [5,",
	  "/commits/0: expected an object, got 5" },
	{ "Merge", "\\u0000", "line 28, column 33: \\u0000 is not allowed" },
}, wrong_skip[] = {
	{ "null", "\"" A40 "\"", "/commit: expected either this or push" },
	{ "\"baxlxoub5n\"", "null", "/commit: expected either this or push" },
	{ "lab1", "", "/host: expected a string of 1 to 64 characters from A-Z "
	  "a-z 0-9 . _ -, a letter or a digit first, got \"\"" },
	{ "mmtrend.skip", "mmtrend.push",
	  "/schema: expected a string of 14 bytes, \"mmtrend.skip/1\", got "
	  "\"mmtrend.push/1\"" },
};

static void said(const struct err *e, const char *begin)
{
	ok(!strncmp(e->msg, begin, strlen(begin)), "is said so");
}

/* One more of each than may be. */
static void caps(const char *doc)
{
	struct buf b = BUF_INIT;
	struct err e = { "" };
	struct push p;
	char *text;

	buf_str(&b, "\"commits\": [{}");
	for (int i = 0; i < PUSH_MAX_COMMITS; i++)
		buf_str(&b, ",{}");
	buf_str(&b, "], \"more\": [");
	text = edit(doc, "\"commits\": [", b.s);
	is_i(push_parse(text, strlen(text), &p, &e), -1, "4,097 commits");
	said(&e, "/commits: expected an array of 0 to 4096 values");
	push_free(&p);
	free(text);
	buf_reset(&b, 0);
	for (int i = 0; i <= PUSH_MAX_TEXT; i++)
		buf_char(&b, 'a');
	text = edit(doc, "Merge branch 'x'", b.s);
	is_i(push_parse(text, strlen(text), &p, &e), -1, "1,025 bytes of text");
	said(&e, "/commits/1/subject: expected a string of 0 to 1024");
	push_free(&p);
	free(text);
	text = edit(doc, "Merge branch 'x'", b.s + 1);
	is_i(push_parse(text, strlen(text), &p, &e), 0, "but 1,024 are taken");
	push_free(&p);
	free(text);
	is_i(push_parse(doc, PUSH_MAX_BODY + 1, &p, &e), -1, "over 4 MB");
	is(e.msg, "expected at most 4194304 bytes, got 4194305", "is said so");
	push_free(&p);
	buf_free(&b);
}

static void reads(const char *doc)
{
	struct err e = { "" };
	struct push p;

	ok(!push_parse(doc, strlen(doc), &p, &e), "the example is taken");
	is(p.tree, "mm-unstable", "its tree");
	is_i((long long)p.ncommits, 2, "its commits");
	is(p.commits[0].author, "Zo\xc3\xab Example <zoe@example.org>",
	   "an author in UTF-8");
	is_i((long long)p.commits[0].files.n, 2, "files");
	is(p.commits[0].files.v[1], "include/linux/pgtable.h", "each of them");
	is(p.commits[1].patch_id, NULL, "a merge has no patch-id");
	is(p.tags.v[0], "mm-everything-2026-07-28-06-18", "tags");
	push_free(&p);
}

int main(void)
{
	char *doc = read_file("example.json"), *skip_ = read_file("skip.json");
	struct err e = { "" };
	struct skip k;

	if (!doc || !skip_)
		return 1;
	reads(doc);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refuses(doc, false, wrong[i].from, wrong[i].to, wrong[i].want);
	ok(!skip_parse(skip_, strlen(skip_), &k, &e), "a skip is taken");
	is(k.reason, "build failed: ld", "with its reason");
	skip_free(&k);
	for (size_t i = 0; i < sizeof(wrong_skip) / sizeof(*wrong_skip); i++)
		refuses(skip_, true, wrong_skip[i].from, wrong_skip[i].to,
			wrong_skip[i].want);
	takes(doc, "\"old\": \"7368ccdeff50c27809d3a8276c85bae7e402c96c\",",
	      "");
	takes(doc, "\"mm/gup.c\", \"include/linux/pgtable.h\"", "");
	takes(doc, "Merge branch 'x'", "");
	caps(doc);
	free(doc);
	free(skip_);
	return tap_done();
}
