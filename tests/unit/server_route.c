/* SPDX-License-Identifier: GPL-2.0-only */
/* Look-up, admission, ETags and the cache, without a socket. */
#include <stdlib.h>
#include <unistd.h>

#include "server/asset.h"
#include "server/cache.h"
#include "server/route.h"
#include "server/store.h"
#include "tests/tap.h"

static char dir[] = "/tmp/mmtrend-route.XXXXXX";
static struct site site = { .public_url = "http://h", .build_id = "b0" };

static struct call *head(const char *method, const char *path,
			 const char *query)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		exit(1);
	route_head(c, &site, method, path, query, "");
	return c;
}

static void done(struct call *c)
{
	call_free(c);
	free(c);
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
		{ "GET", ".txt", 404, NULL, NULL, "", 0 },
		{ "GET", "/schema/..", 0, "/schema/..", "..", "", FORM_HTML },
		{ "GET", "/schema/a%2fb", 404, NULL, NULL, "", 0 },
		{ "GET", "/schema/%1b", 404, NULL, NULL, "", 0 },
		{ "GET", "/a b", 404, NULL, NULL, "", 0 },
		{ "GET", "/%", 400, NULL, NULL, "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct call *c = head(cases[i].method, cases[i].path, "");
		bool same = c->r.status == cases[i].status;

		if (same && !c->r.status)
			same = !strcmp(c->path, cases[i].found) &&
			       !strcmp(c->arg, cases[i].arg) &&
			       c->q.form == cases[i].form;
		else if (same && c->r.status == 405)
			same = !strncmp(c->r.allow, cases[i].allow,
					strlen(cases[i].allow));
		if (!ok(same, "%s %s", cases[i].method, cases[i].path))
			printf("# %d, path %s, arg %s, allow %s: %s\n",
			       c->r.status, c->path, c->arg, c->r.allow,
			       c->r.why.msg);
		done(c);
	}
}

static struct call *get(const char *path, const char *query, const char *match,
			bool gzip)
{
	struct call *c = head("GET", path, query);

	if (!c->r.status)
		route_answer(c, match, gzip);
	return c;
}

static void test_answers(void)
{
	struct call *a = get("/hosts.json", "", NULL, false), *b;

	is_i(a->r.status, 200, "a view answers");
	is(a->r.type, "application/json", "... in its form");
	ok(!a->cached && *a->etag, "... made now, with a tag");
	b = get("/hosts.json", "", NULL, false);
	ok(b->cached && b->len == a->len && !memcmp(a->data, b->data, a->len),
	   "then from memory");
	ok(a->data == b->data, "... shared, not copied");
	done(b);
	b = get("/hosts.json", "", a->etag, false);
	ok(b->r.status == 304 && !b->len && !strcmp(b->etag, a->etag), "304");
	done(b);
	site.build_id = "b1";
	b = get("/hosts.json", "", a->etag, false);
	ok(b->r.status == 200 && !b->cached, "another build answers afresh");
	done(b);
	done(a);
	a = get("/hosts.json", "x=1", NULL, false);
	ok(a->r.status == 400 && !*a->etag, "a wrong parameter: 400, not kept");
	is(a->r.body.s, "{\"error\":\"x: unknown parameter; this address "
	   "takes none\"}\n", "... which names it, in JSON");
	done(a);
	a = get("/style.css", "v=b1", NULL, true);
	ok(a->r.frozen && a->gzip && a->varies &&
	   a->len < asset_find("/style.css")->len,
	   "a file of this very build is for ever, and gzipped");
	done(a);
	a = get("/style.css", "v=b0", NULL, false);
	ok(!a->r.frozen && !a->gzip, "a file of another build is not");
	done(a);
}

static struct page *page(size_t len)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < len; i++)
		buf_char(&b, (char)(rand() & 0x7f));
	return page_new(&b, "image/png");
}

static void test_cache(void)
{
	struct page *first = page(100000), *p;
	struct buf b = BUF_INIT;
	char key[CACHE_KEY];

	cache_add("first", first);
	for (int i = 0; i < 200; i++) {
		p = page(100000);
		snprintf(key, sizeof(key), "%d", i);
		cache_add(key, p);
		page_put(p);
		page_put(cache_get("0"));
	}
	ok(!cache_get("first"), "what is used least falls off the end");
	p = cache_get("0");
	ok(p, "what is used stays");
	page_put(p);
	p = cache_get("199");
	ok(p, "what is newest stays");
	page_put(p);
	ok(first->plain.len == 100000 && !first->plain.s[100000],
	   "a page that fell off lives while somebody holds it");
	page_put(first);
	p = page(CACHE_BIGGEST);
	cache_add("big", p);
	ok(!cache_get("big"), "a huge page is not kept");
	page_put(p);
	for (int i = 0; i < 2 * CACHE_PAGES; i++) {
		p = page(10);
		snprintf(key, sizeof(key), "small %d", i);
		cache_add(key, p);
		page_put(p);
	}
	ok(!cache_get("small 0"), "the number of pages has an end too");
	for (int i = 0; i < 5000; i++)
		buf_str(&b, "words ");
	p = page_new(&b, "text/plain; charset=utf-8");
	ok(p->gz.s && p->gz.len < 3000, "text is gzipped");
	ok(!b.s, "the page took the bytes");
	page_put(p);
	b.failed = true;
	ok(!page_new(&b, "text/plain"), "a failed buffer is no page");
	page_put(NULL);
}

int main(void)
{
	char db[64], rm[64];
	struct err e = { "" };

	if (!mkdtemp(dir))
		return 1;
	snprintf(db, sizeof(db), "%s/db", dir);
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	site.store = store_open(db, &e);
	site.tokens = "/nonexistent";
	if (ok(site.store, "an empty site opens %s", e.msg)) {
		test_look_up();
		test_answers();
		test_cache();
	}
	store_close(site.store);
	return system(rm) ? 1 : tap_done();
}
