/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a request head to a handler and back: look-up, admission, ETags, cache.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asset.h"
#include "cache.h"
#include "route.h"
#include "route/pushdoc.h"
#include "store.h"
#include "token.h"
#include "view.h"

enum reads { READS_HOST, READS_ALL, READS_BUILD, READS_NOTHING, READS_FROZEN };

struct route {
	const char *method, *path;
	handler_fn *handler;
	size_t body_cap;
	const char *scope;
	const struct param_spec *params;
	unsigned forms;
	enum reads reads;
};

#define ROUTE(method, path, handler, body_cap, scope, params, forms, reads) \
	{ #method, path, handler, body_cap, scope, params, forms, \
	  READS_##reads },
static const struct route routes[] = {
#include "routes.def"
};
#undef ROUTE
#define NROUTES (sizeof(routes) / sizeof(*routes))

const struct param_spec no_params[] = { { 0 } };

static const struct {
	const char *suffix;
	enum form form;
	const char *type;
} forms[] = {
	{ "", FORM_HTML, "text/html; charset=utf-8" },
	{ ".txt", FORM_TXT, "text/plain; charset=utf-8" },
	{ ".json", FORM_JSON, "application/json" },
	{ ".csv", FORM_CSV, "text/csv; charset=utf-8" },
	{ ".svg", FORM_SVG, "image/svg+xml" },
	{ ".png", FORM_PNG, "image/png" },
};
#define NFORMS (sizeof(forms) / sizeof(*forms))
#define ARG_CHARS "0123456789abcdefghijklmnopqrstuvwxyz" \
		  "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-@+=$%~"

static const char *form_type(enum form form)
{
	size_t i = 0;

	while (forms[i].form != form)
		i++;
	return forms[i].type;
}

/* --- errors --------------------------------------------------------------- */

static void error_page(const struct request *q, struct response *r)
{
	struct buf text = BUF_INIT;
	char title[32];

	snprintf(title, sizeof(title), "Error %d", r->status);
	buf_printf(&text, "<h1>%s</h1>\n<p>", title);
	buf_html(&text, r->why.msg);
	buf_str(&text, "</p>\n");
	if (buf_ok(&text))
		view_shell(&r->body, q, title, text.s, NULL);
	buf_free(&text);
}

void response_error(const struct request *q, struct response *r, int status,
		    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why.msg, sizeof(r->why.msg), fmt, ap);
	va_end(ap);
	buf_free(&r->body);
	r->status = status;
	if (!strncmp(q->path, "/api/", 5) || q->form == FORM_JSON) {
		r->type = form_type(FORM_JSON);
		buf_str(&r->body, "{\"error\":");
		buf_json(&r->body, r->why.msg);
		buf_str(&r->body, "}\n");
	} else if (q->form == FORM_HTML) {
		r->type = form_type(FORM_HTML);
		error_page(q, r);
	} else {
		r->type = form_type(FORM_TXT);
		buf_printf(&r->body, "%s\n", r->why.msg);
	}
}

/* --- look-up -------------------------------------------------------------- */

/* "?v=" and this build: another build has another address. */
static void send_asset(const struct request *q, struct response *r)
{
	const char *v = param_text(q->params, "v");

	r->asset = asset_find(q->path);
	r->type = r->asset->type;
	r->frozen = v && !strcmp(v, q->site->build_id);
}

static const struct param_spec asset_params[] = {
	{ .name = "v", .min = 1 }, { 0 }
};
static const struct route asset_row = {
	"GET", "", send_asset, 0, "", asset_params, 0, READS_BUILD
};

/* Which of forms[] the suffix of @path names; 0: none. */
static size_t form_of(const char *path)
{
	const char *dot = strrchr(path, '.');
	size_t i = dot && dot > path && dot[-1] != '/' ? NFORMS - 1 : 0;

	while (i && strcmp(dot, forms[i].suffix) != 0)
		i--;
	return i;
}

/* Does @row answer at c->path? Sets c->arg to what stands in its {...}: one
 * segment, of characters of a name or a Message-ID. The suffix of a view's is
 * its form. */
static bool row_fits(const struct route *row, struct call *c)
{
	size_t fixed = strcspn(row->path, "{");
	const char *arg = c->path + fixed;

	if (c->q.form != FORM_HTML && !row->forms)
		return false;
	if (!row->path[fixed])
		return !strcmp(row->path, c->path);
	if (c->q.form == FORM_HTML && row->forms && form_of(c->path))
		return false;
	if (strncmp(row->path, c->path, fixed) != 0 || !*arg ||
	    strlen(arg) >= sizeof(c->arg) || arg[strspn(arg, ARG_CHARS)])
		return false;
	snprintf(c->arg, sizeof(c->arg), "%s", arg);
	return true;
}

/* Take @row if its method is the request's, else note it for Allow. */
static void take_row(struct call *c, const struct route *row)
{
	size_t len = strlen(c->r.allow);

	if (!strcmp(row->method, c->q.method))
		c->route = row;
	else
		snprintf(c->r.allow + len, sizeof(c->r.allow) - len, "%s%s%s",
			 len ? ", " : "", row->method,
			 !strcmp(row->method, "GET") ? ", HEAD" : "");
}

static void find(struct call *c)
{
	if (*c->path == '/' && asset_find(c->path))
		take_row(c, &asset_row);
	for (size_t i = 0; i < NROUTES && !c->route; i++)
		if (row_fits(&routes[i], c))
			take_row(c, &routes[i]);
}

/* Cut a form's suffix off c->path. "/index" with one is "/". */
static void take_form(struct call *c)
{
	size_t i = form_of(c->path);

	if (i) {
		*strrchr(c->path, '.') = '\0';
		c->q.form = forms[i].form;
	}
	if (c->q.form != FORM_HTML && !strcmp(c->path, "/index"))
		c->path[1] = '\0';
}

static void look_up(struct call *c)
{
	find(c);
	if (!c->route && !*c->r.allow) {
		take_form(c);
		find(c);
	}
	if (!c->route && *c->r.allow)
		response_error(&c->q, &c->r, 405, "expected the method %s",
			       c->r.allow);
	else if (!c->route)
		response_error(&c->q, &c->r, 404,
			       "there is nothing at this address");
	else if (c->q.form != FORM_HTML && !(c->route->forms & c->q.form))
		response_error(&c->q, &c->r, 404, "this view has no such form; "
			       "it has a page, .txt, .json, .csv");
	else
		c->body_cap = c->route->body_cap;
}

/* May the caller do this? */
static void admit(struct call *c, const char *bearer)
{
	struct err e;
	int status;

	if (!*c->route->scope)
		return;
	status = token_check(c->q.site->tokens, bearer, c->route->scope,
			     c->token_host, &e);
	c->token_ok = !status;
	if (status)
		response_error(&c->q, &c->r, status, "%s", e.msg);
}

void route_head(struct call *c, const struct site *s, const char *method,
		const char *path, const char *query, const char *bearer)
{
	c->q = (struct request){
		.site = s, .method = method, .path = c->path, .arg = c->arg,
		.form = FORM_HTML, .query = "",
	};
	c->raw_query = query;
	if (strlen(path) >= sizeof(c->path) || strlen(query) > PARAM_MAX_QUERY)
		response_error(&c->q, &c->r, 414, "expected a path under %zu "
			       "bytes and a query of at most %d",
			       sizeof(c->path), PARAM_MAX_QUERY);
	else if (param_decode(path, strlen(path), false, c->path,
			      sizeof(c->path)))
		response_error(&c->q, &c->r, 400, "expected a path without NUL "
			       "and with whole %%XX escapes");
	else
		look_up(c);
	if (!c->r.status)
		admit(c, bearer);
}

/* --- answers -------------------------------------------------------------- */

/* All that an answer depends on; the canonical query stands at the end. */
static size_t identify(const struct call *c, struct buf *id)
{
	const struct request *q = &c->q;
	uint64_t generation = 0;
	size_t query;

	if (c->route->reads == READS_ALL)
		generation = store_generation(q->site->store, NULL);
	else if (c->route->reads == READS_HOST)
		generation = store_generation(q->site->store,
					      param_text(q->params, "host"));
	buf_printf(id, "%s\n%s\n%d\n%" PRIu64 "\n", q->site->build_id, q->path,
		   (int)q->form, generation);
	query = id->len;
	params_canonical(q->params, id);
	return query;
}

/* Call the handler; keep what may be kept. */
static void make_page(struct call *c, const char *key)
{
	const struct route *row = c->route;
	struct response *r = &c->r;

	r->status = 200;
	r->type = form_type(row->forms ? c->q.form :
			    !strncmp(c->path, "/api/", 5) ? FORM_JSON :
			    FORM_TXT);
	r->frozen = row->reads == READS_FROZEN;
	row->handler(&c->q, r);
	if (!buf_ok(&r->body))
		response_error(&c->q, r, 503, "out of memory");
	if (r->status == 200 && !r->asset)
		c->page = page_new(&r->body, r->type);
	if (c->page && (row->reads == READS_ALL || row->reads == READS_HOST))
		cache_add(key, c->page);
	c->cached = r->asset;
}

/* Which bytes to send. */
static void choose(struct call *c, bool gzip_ok)
{
	const struct asset *a = c->r.asset;
	const struct buf *b = &c->r.body;

	c->varies = a || (c->page && c->page->gz.s);
	c->gzip = gzip_ok && c->varies;
	if (c->page)
		b = c->gzip ? &c->page->gz : &c->page->plain;
	c->data = !a ? (const unsigned char *)b->s : c->gzip ? a->gz : a->data;
	c->len = !a ? b->len : c->gzip ? a->gz_len : a->len;
}

/* The key is 128 bits that only we give out, so finding it anywhere in the
 * header is a match, whatever list, weak mark or encoding stands around it. */
static void answer(struct call *c, const char *key, const char *if_none_match,
		   bool gzip_ok)
{
	bool tagged = c->route->reads != READS_NOTHING;

	if (tagged && if_none_match && strstr(if_none_match, key)) {
		c->r.status = 304;
		c->r.frozen = c->route->reads == READS_FROZEN;
		c->cached = c->varies = true;
		c->gzip = strstr(if_none_match, "-gz");
	} else {
		c->page = tagged ? cache_get(key) : NULL;
		c->cached = c->page;
		c->r.type = form_type(c->q.form);
		c->r.status = 200;
		if (!c->page)
			make_page(c, key);
		choose(c, gzip_ok);
	}
	if (tagged && c->r.status < 400)
		snprintf(c->etag, sizeof(c->etag), "\"%s%s\"", key,
			 c->gzip ? "-gz" : "");
}

void route_answer(struct call *c, const char *if_none_match, bool gzip_ok)
{
	struct params params = { 0 };
	struct buf id = BUF_INIT;
	char key[HASH_HEX];
	struct err e;
	size_t query;

	c->q.params = &params;
	c->q.token_host = *c->token_host ? c->token_host : NULL;
	if (params_parse(&params, c->route->params, c->raw_query, &e)) {
		response_error(&c->q, &c->r, 400, "%s", e.msg);
		return;
	}
	query = identify(c, &id);
	if (!buf_ok(&id)) {
		response_error(&c->q, &c->r, 503, "out of memory");
	} else {
		c->q.query = id.s + query;
		hash_hex(id.s, id.len, key);
		key[CACHE_KEY - 1] = '\0';
		answer(c, key, if_none_match, gzip_ok);
	}
	c->q.params = NULL;
	c->q.query = "";
	buf_free(&id);
}

void call_free(struct call *c)
{
	page_put(c->page);
	buf_free(&c->r.body);
}
