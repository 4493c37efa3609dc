/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a request head to a handler and back: look-up, admission, ETags, cache.
 */
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "asset.h"
#include "cache.h"
#include "route.h"
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

static const char *form_type(enum form form)
{
	for (size_t i = 0; i < NFORMS; i++)
		if (forms[i].form == form)
			return forms[i].type;
	return NULL;
}

/* --- errors --------------------------------------------------------------- */

static const char *status_text(int status)
{
	static const struct { int status; const char *text; } names[] = {
		{ 400, "Bad request" }, { 401, "Token needed" },
		{ 403, "Not allowed" }, { 404, "Not found" },
		{ 405, "Method not allowed" }, { 409, "Conflict" },
		{ 413, "Too large" }, { 414, "Address too long" },
		{ 415, "Wrong media type" }, { 422, "Refused" },
		{ 429, "Too many requests" }, { 500, "Internal error" },
		{ 503, "Busy" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].status == status)
			return names[i].text;
	return "Error";
}

static void error_page(const struct request *q, struct response *r)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "<h1>%s</h1>\n<p>", status_text(r->status));
	buf_html(&text, r->why.msg);
	buf_str(&text, "</p>\n");
	if (buf_ok(&text))
		view_shell(&r->body, q, status_text(r->status), text.s, NULL);
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
	r->body = (struct buf)BUF_INIT;
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
		buf_str(&r->body, r->why.msg);
		buf_char(&r->body, '\n');
	}
}

/* --- look-up -------------------------------------------------------------- */

/* Decoded segments must be what they look like: none empty, none of dots. */
static bool is_plain_path(const char *path)
{
	const char *s = path;

	if (*s != '/')
		return false;
	for (const char *c = path; *c; c++)
		if (*c <= 0x20 || *c > 0x7e || *c == '\\')
			return false;
	if (!s[1])
		return true;
	do {
		size_t len = strcspn(++s, "/");

		if (!len || (len == 1 && *s == '.') ||
		    (len == 2 && s[0] == '.' && s[1] == '.'))
			return false;
		s += len;
	} while (*s);
	return true;
}

/* Does @row answer at @path? @arg: what stands in its {...}. */
static bool row_fits(const struct route *row, const char *path, char arg[128])
{
	size_t fixed = strcspn(row->path, "{");

	*arg = '\0';
	if (!row->path[fixed])
		return !strcmp(row->path, path);
	if (strncmp(row->path, path, fixed) != 0 || !path[fixed] ||
	    strchr(path + fixed, '/') || strlen(path + fixed) >= 128)
		return false;
	snprintf(arg, 128, "%s", path + fixed);
	return true;
}

/* The row of @method at hit->path; else @allow has those that are there. */
static const struct route *find(struct route_hit *hit, const char *method,
				char allow[32])
{
	for (size_t i = 0; i < NROUTES; i++) {
		const char *name = routes[i].method;

		if (!row_fits(&routes[i], hit->path, hit->arg) ||
		    (hit->form != FORM_HTML && !routes[i].forms))
			continue;
		if (!strcmp(name, method))
			return &routes[i];
		snprintf(allow + strlen(allow), 32 - strlen(allow), "%s%s",
			 *allow ? ", " : "",
			 !strcmp(name, "GET") ? "GET, HEAD" : name);
	}
	return NULL;
}

/* Cut a form's suffix off @path. "/index" with one is "/". */
static enum form take_form(char *path)
{
	char *dot = strrchr(path, '.');

	for (size_t i = 1; dot && dot[-1] != '/' && i < NFORMS; i++) {
		if (strcmp(dot, forms[i].suffix) != 0)
			continue;
		*dot = '\0';
		if (!strcmp(path, "/index"))
			path[1] = '\0';
		return forms[i].form;
	}
	return FORM_HTML;
}

/* The forms that @row does have, for the 404. */
static void name_forms(const struct route *row, char out[64])
{
	*out = '\0';
	for (size_t i = 0; i < NFORMS; i++)
		if (row->forms & forms[i].form)
			snprintf(out + strlen(out), 64 - strlen(out), "%s%s",
				 i ? ", " : "", i ? forms[i].suffix : "a page");
}

/* Fill in @hit's route, form, path and arg. */
static int look_up(const struct request *q, struct route_hit *hit,
		   struct response *r)
{
	struct request as = *q;
	char allowed[64];

	hit->form = FORM_HTML;
	hit->asset = *hit->path == '/' ? asset_find(hit->path) : NULL;
	if (hit->asset && strcmp(q->method, "GET") != 0)
		strcpy(r->allow, "GET, HEAD");
	else if (hit->asset)
		return 0;
	hit->route = find(hit, q->method, r->allow);
	if (!hit->route && !*r->allow) {
		as.form = hit->form = take_form(hit->path);
		hit->route = find(hit, q->method, r->allow);
	}
	if (!hit->route && *r->allow) {
		response_error(&as, r, 405, "expected the method %s", r->allow);
	} else if (!hit->route) {
		response_error(&as, r, 404, "there is nothing at this address");
	} else if (hit->form != FORM_HTML &&
		   !(hit->route->forms & hit->form)) {
		name_forms(hit->route, allowed);
		response_error(&as, r, 404, "this view has no such form; it "
			       "has %s", allowed);
	} else {
		hit->body_cap = hit->route->body_cap;
		return 0;
	}
	return r->status;
}

/* May the caller do this? */
static int admit(const struct request *q, const char *bearer,
		 struct route_hit *hit, struct response *r)
{
	static const struct { int status; const char *text; } refusal[] = {
		[TOKEN_UNKNOWN] = { 401, "this token is not known here" },
		[TOKEN_EXPIRED] = { 401, "this token has expired" },
		[TOKEN_SCOPE] = { 403, "this token has another scope" },
	};
	enum token_answer answer;

	if (hit->asset || !*hit->route->scope)
		return 0;
	if (!bearer) {
		response_error(q, r, 401, "expected a token: "
			       "\"Authorization: Bearer mmt_...\"");
		return 401;
	}
	answer = token_check(q->site->tokens, bearer, hit->route->scope,
			     hit->token_host);
	hit->token_ok = answer == TOKEN_OK;
	if (hit->token_ok)
		return 0;
	response_error(q, r, refusal[answer].status, "%s; expected one of "
		       "scope %s", refusal[answer].text, hit->route->scope);
	return r->status;
}

int route_head(const struct site *s, const char *method, const char *path,
	       const char *query, const char *bearer, struct route_hit *hit,
	       struct response *r)
{
	struct request q = {
		.site = s, .method = method, .path = hit->path,
		.form = FORM_HTML, .arg = hit->arg, .query = "",
	};

	memset(hit, 0, sizeof(*hit));
	memset(r, 0, sizeof(*r));
	if (strlen(path) >= sizeof(hit->path) ||
	    strlen(query) > PARAM_MAX_QUERY) {
		response_error(&q, r, 414, "expected a path under %zu bytes "
			       "and a query of at most %d",
			       sizeof(hit->path), PARAM_MAX_QUERY);
	} else if (param_decode(path, strlen(path), false, hit->path,
				sizeof(hit->path))) {
		*hit->path = '\0';
		response_error(&q, r, 400, "expected a path without NUL and "
			       "with whole %%XX escapes");
	} else if (!is_plain_path(hit->path)) {
		response_error(&q, r, 404, "expected a plain path: no empty "
			       "or dotted segment");
	} else if (!look_up(&q, hit, r)) {
		q.form = hit->form;
		admit(&q, bearer, hit, r);
	}
	return r->status;
}

/* --- answers -------------------------------------------------------------- */

/* One hash of all that an answer depends on: cache key and ETag. */
static void make_key(const struct site *s, const struct route_hit *hit,
		     const struct params *p, const char *query,
		     char key[CACHE_KEY])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };
	struct buf text = BUF_INIT;
	uint64_t generation = 0;

	if (hit->route && hit->route->reads == READS_ALL)
		generation = store_generation(s->store, NULL);
	else if (hit->route && hit->route->reads == READS_HOST)
		generation = store_generation(s->store, param_text(p, "host"));
	buf_printf(&text, "%s\n%s\n%d\n%s\n%" PRIu64, s->build_id, hit->path,
		   (int)hit->form, query, generation);
	*key = '\0';
	if (buf_ok(&text) &&
	    EVP_Digest(text.s, text.len, md, NULL, EVP_sha256(), NULL))
		for (size_t i = 0; i < CACHE_KEY / 2; i++)
			snprintf(key + 2 * i, 3, "%02x", md[i]);
	buf_free(&text);
}

static void set_etag(struct answer *a, const char *key)
{
	snprintf(a->etag, sizeof(a->etag), "\"%s%s\"", key,
		 a->gzip ? "-gz" : "");
}

/*
 * The key is 128 bits that only we give out, so finding it anywhere in the
 * header is a match, whatever list, weak mark or encoding stands around it.
 */
static bool is_fresh(const char *if_none_match, const char *key)
{
	return if_none_match && *key && strstr(if_none_match, key);
}

static void answer_fresh(struct answer *a, const struct route_hit *hit,
			 const char *key, bool gzip)
{
	memset(a, 0, sizeof(*a));
	a->status = 304;
	a->cached = a->varies = true;
	a->frozen = hit->route && hit->route->reads == READS_FROZEN;
	a->gzip = gzip;
	set_etag(a, key);
}

static void answer_page(struct page *p, bool gzip_ok, struct answer *a)
{
	a->owner = p;
	a->type = page_type(p);
	a->frozen = page_frozen(p);
	a->varies = page_has_gzip(p);
	a->gzip = gzip_ok && a->varies;
	a->data = page_data(p, a->gzip, &a->len);
}

/* Out of memory: what can still be said. */
static void answer_nothing(struct answer *a)
{
	static const char text[] = "out of memory\n";

	a->status = 503;
	a->private = true;
	a->type = form_type(FORM_TXT);
	a->data = (const unsigned char *)text;
	a->len = sizeof(text) - 1;
	a->retry_after_s = 1;
	err_set(&a->why, "out of memory");
}

static void take_response(struct response *r, struct answer *a, bool gzip_ok)
{
	struct page *p = page_new(&r->body, r->type, r->frozen);

	if (!p) {
		answer_nothing(a);
		return;
	}
	a->status = r->status;
	a->retry_after_s = r->retry_after_s;
	a->why = r->why;
	a->private = true;
	memcpy(a->location, r->location, sizeof(a->location));
	memcpy(a->allow, r->allow, sizeof(a->allow));
	answer_page(p, gzip_ok, a);
}

void answer_response(struct response *r, struct answer *a)
{
	memset(a, 0, sizeof(*a));
	take_response(r, a, false);
}

static void answer_asset(const struct site *s, const struct asset *f,
			 const char *query, bool gzip_ok, struct answer *a)
{
	a->status = 200;
	a->type = f->type;
	a->varies = a->cached = true;
	a->gzip = gzip_ok;
	a->data = gzip_ok ? f->gz : f->data;
	a->len = gzip_ok ? f->gz_len : f->len;
	/* "?v=" and this build: another build has another address. */
	a->frozen = !strncmp(query, "v=", 2) && !strcmp(query + 2, s->build_id);
}

/* Call the handler; keep what may be kept. */
static void make_answer(struct request *q, const struct route *row,
			const char *key, bool gzip_ok, struct answer *a)
{
	bool kept = row->reads == READS_ALL || row->reads == READS_HOST;
	struct response r = { .status = 200 };

	r.type = row->forms ? form_type(q->form) :
		 !strncmp(q->path, "/api/", 5) ? form_type(FORM_JSON) :
		 form_type(FORM_TXT);
	r.frozen = row->reads == READS_FROZEN;
	row->handler(q, &r);
	if (r.status != 200)
		r.frozen = false;
	take_response(&r, a, gzip_ok);
	if (a->status != 200 || row->reads == READS_NOTHING || !*key)
		return;
	a->private = false;
	if (kept)
		cache_add(key, a->owner);
}

static void answer_route(struct request *q, const struct route *row,
			 const char *key, bool gzip_ok, struct answer *a)
{
	struct page *p = *key ? cache_get(key) : NULL;

	if (p) {
		a->status = 200;
		a->cached = true;
		answer_page(p, gzip_ok, a);
	} else {
		make_answer(q, row, key, gzip_ok, a);
	}
}

/* -1 with the 400 in @a. */
static int read_params(struct request *q, const struct route_hit *hit,
		       const char *query, struct params *p,
		       struct buf *canonical, struct answer *a)
{
	const struct param_spec *spec = hit->route->params;
	struct response r = { 0 };
	struct err e;

	if (params_parse(p, spec, params_count(spec), query, &e)) {
		response_error(q, &r, 400, "%s", e.msg);
		answer_response(&r, a);
		return -1;
	}
	params_canonical(p, canonical);
	if (canonical->len)
		q->query = canonical->s;
	return 0;
}

void route_answer(const struct site *s, const struct route_hit *hit,
		  const char *method, const char *query,
		  const unsigned char *body, size_t body_len,
		  const char *if_none_match, bool gzip_ok, struct answer *a)
{
	struct params params = { 0 };
	struct buf canonical = BUF_INIT;
	char key[CACHE_KEY] = "";
	struct request q = {
		.site = s, .method = method, .path = hit->path,
		.arg = hit->arg, .form = hit->form, .params = &params,
		.query = "", .body = body, .body_len = body_len,
		.token_host = *hit->token_host ? hit->token_host : NULL,
	};

	memset(a, 0, sizeof(*a));
	if (hit->route && read_params(&q, hit, query, &params, &canonical, a))
		goto out;
	if (!hit->route || hit->route->reads != READS_NOTHING)
		make_key(s, hit, &params, q.query, key);
	if (is_fresh(if_none_match, key)) {
		answer_fresh(a, hit, key, strstr(if_none_match, "-gz"));
		goto out;
	}
	if (hit->route)
		answer_route(&q, hit->route, key, gzip_ok, a);
	else
		answer_asset(s, hit->asset, query, gzip_ok, a);
	if (*key && !a->private)
		set_etag(a, key);
	if (*a->etag && if_none_match && !strcmp(if_none_match, "*")) {
		bool gzip = a->gzip;

		answer_free(a);
		answer_fresh(a, hit, key, gzip);
	}
out:
	buf_free(&canonical);
	params_free(&params);
}

void answer_free(struct answer *a)
{
	page_put(a->owner);
	memset(a, 0, sizeof(*a));
}
