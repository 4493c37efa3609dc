/* SPDX-License-Identifier: GPL-2.0-only */
/* Look-up, admission, ETags and the cache, without a socket. */
#include <stdlib.h>
#include <unistd.h>

#include "server/asset.h"
#include "server/cache.h"
#include "server/route.h"
#include "server/store.h"
#include "server/token.h"
#include "tests/tap.h"

static char dir[] = "/tmp/mmtrend-route.XXXXXX";
static struct site site = { .public_url = "http://h", .build_id = "b0" };

static int head(const char *method, const char *path, struct route_hit *hit,
		struct answer *a)
{
	struct response r;
	int status = route_head(&site, method, path, "", NULL, hit, &r);

	memset(a, 0, sizeof(*a));
	if (status)
		answer_response(&r, a);
	return status;
}

static void test_look_up(void)
{
	static const struct {
		const char *method, *path;
		int status;
		const char *found, *arg, *allow;
		enum form form;
	} cases[] = {
		{ "GET", "/", 0, "/", "", "", FORM_HTML },
		{ "GET", "/index.json", 0, "/", "", "", FORM_JSON },
		{ "GET", "/trend.svg", 0, "/trend", "", "", FORM_SVG },
		{ "GET", "/%74rend.txt", 0, "/trend", "", "", FORM_TXT },
		{ "GET", "/schema/run.schema.json", 0,
		  "/schema/run.schema.json", "run.schema.json", "", FORM_HTML },
		{ "GET", "/api/v1/runs/x.json", 0, "/api/v1/runs/x.json",
		  "x.json", "", FORM_HTML },
		{ "GET", "/style.css", 0, "/style.css", "", "", FORM_HTML },
		{ "POST", "/style.css", 405, NULL, NULL, "GET, HEAD", 0 },
		{ "GET", "/api/v1/runs", 405, NULL, NULL, "POST", 0 },
		{ "POST", "/api/v1/files/x", 405, NULL, NULL,
		  "PUT, GET, HEAD", 0 },
		{ "get", "/", 405, NULL, NULL, "GET, HEAD", 0 },
		{ "POST", "/api/v1/runs", 401, NULL, NULL, "", 0 },
		{ "POST", "/api/v1/runs.json", 404, NULL, NULL, "", 0 },
		{ "GET", "/api/v1/runs.json", 404, NULL, NULL, "", 0 },
		{ "GET", "/api/v1/runs/", 404, NULL, NULL, "", 0 },
		{ "GET", "/kernels.png", 404, NULL, NULL, "", 0 },
		{ "GET", "/trend.xml", 404, NULL, NULL, "", 0 },
		{ "GET", "/trend.txt.txt", 404, NULL, NULL, "", 0 },
		{ "GET", "/.txt", 404, NULL, NULL, "", 0 },
		{ "GET", "/Trend", 404, NULL, NULL, "", 0 },
		{ "GET", "trend", 404, NULL, NULL, "", 0 },
		{ "GET", "", 404, NULL, NULL, "", 0 },
		{ "GET", "*", 404, NULL, NULL, "", 0 },
		{ "GET", "/..", 404, NULL, NULL, "", 0 },
		{ "GET", "/a b", 404, NULL, NULL, "", 0 },
		{ "GET", "/%", 400, NULL, NULL, "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct route_hit hit;
		struct answer a;
		int status = head(cases[i].method, cases[i].path, &hit, &a);
		bool same = status == cases[i].status;

		if (!cases[i].status && !status)
			same = !strcmp(hit.path, cases[i].found) &&
			       !strcmp(hit.arg, cases[i].arg) &&
			       hit.form == cases[i].form;
		else if (status == 405)
			same = same && !strncmp(a.allow, cases[i].allow,
						strlen(cases[i].allow));
		if (!ok(same, "%s %s", cases[i].method, cases[i].path))
			printf("# %d, path %s, arg %s, allow %s: %s\n", status,
			       hit.path, hit.arg, a.allow, a.why.msg);
		answer_free(&a);
	}
}

static void get(const char *path, const char *query, const char *match,
		bool gzip, struct answer *a)
{
	struct route_hit hit;

	if (head("GET", path, &hit, a))
		return;
	route_answer(&site, &hit, "GET", query, NULL, 0, match, gzip, a);
}

static void test_answers(void)
{
	struct answer a, b;
	char etag[48];

	get("/hosts.json", "", NULL, false, &a);
	is_i(a.status, 200, "a view answers");
	is(a.type, "application/json", "... in its form");
	ok(!a.cached && !a.private && *a.etag, "... made now, with a tag");
	strcpy(etag, a.etag);
	get("/hosts.json", "", NULL, false, &b);
	ok(b.cached && b.len == a.len && !memcmp(a.data, b.data, a.len),
	   "then from memory");
	ok(a.data == b.data, "... shared, not copied");
	answer_free(&b);
	answer_free(&b);
	get("/hosts.json", "", etag, false, &b);
	ok(b.status == 304 && !b.len && !strcmp(b.etag, etag), "304");
	answer_free(&b);
	site.build_id = "b1";
	get("/hosts.json", "", etag, false, &b);
	ok(b.status == 200 && !b.cached, "another build answers afresh");
	answer_free(&b);
	answer_free(&a);
	get("/hosts.json", "x=1", NULL, false, &a);
	ok(a.status == 400 && a.private && !*a.etag,
	   "a wrong parameter: 400, not kept");
	is((const char *)a.data, "{\"error\":\"x: unknown parameter; this "
	   "address takes none\"}\n", "... which names it, in JSON");
	answer_free(&a);
	get("/style.css", "v=b1", NULL, true, &a);
	ok(a.frozen && a.gzip && a.varies &&
	   a.len < asset_find("/style.css")->len,
	   "a file of this very build is for ever, and gzipped");
	answer_free(&a);
	get("/style.css", "v=b0", NULL, false, &a);
	ok(!a.frozen && !a.gzip, "a file of another build is not");
	answer_free(&a);
}

static struct page *page(size_t len)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < len; i++)
		buf_char(&b, (char)(rand() & 0x7f));
	return page_new(&b, "image/png", false);
}

static void test_cache(void)
{
	struct page *first = page(100000), *p;
	struct buf b = BUF_INIT;
	char key[CACHE_KEY];
	size_t len;

	cache_add("first", first);
	for (int i = 0; i < 200; i++) {
		p = page(100000);
		snprintf(key, sizeof(key), "%d", i);
		cache_add(key, p);
		page_put(p);
		if (i < 50)
			page_put(cache_get("0"));
	}
	ok(!cache_get("first"), "what is used least falls off the end");
	p = cache_get("199");
	ok(p, "what is newest stays");
	page_put(p);
	ok(page_data(first, false, &len)[len] == '\0' && len == 100000,
	   "a page that fell off lives while somebody holds it");
	page_put(first);
	p = page(CACHE_BIGGEST);
	cache_add("big", p);
	ok(!cache_get("big"), "a huge page is not kept");
	page_put(p);
	for (int i = 0; i < 5000; i++)
		buf_str(&b, "words ");
	p = page_new(&b, "text/plain; charset=utf-8", false);
	ok(page_has_gzip(p) && page_data(p, true, &len) && len < 3000,
	   "text is gzipped");
	ok(!b.s, "the page took the bytes");
	page_put(p);
	b.failed = true;
	ok(!page_new(&b, "text/plain", false), "a failed buffer is no page");
	page_put(NULL);
}

int main(void)
{
	char db[64], tokens[64], rm[64];
	struct err e = { "" };

	if (!mkdtemp(dir))
		return 1;
	snprintf(db, sizeof(db), "%s/db", dir);
	snprintf(tokens, sizeof(tokens), "%s/tokens", dir);
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	site.store = store_open(db, &e);
	site.tokens = tokens_open(tokens, &e);
	if (ok(site.store && site.tokens, "an empty site opens %s", e.msg)) {
		test_look_up();
		test_answers();
		test_cache();
	}
	store_close(site.store);
	tokens_close(site.tokens);
	return system(rm) ? 1 : tap_done();
}
