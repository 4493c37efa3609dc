/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H
/*
 * What a handler sees: a request, a response, the store. Never a library's
 * type, so it can be called from a unit test. routes.def holds every URL;
 * route.c looks it up, checks what the row demands (method, form, parameters,
 * token), answers from the cache or 304 when it can, and only then calls the
 * handler. http.c turns sockets into this and back.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/buf.h"
#include "../common/err.h"
#include "param.h"

struct store;
struct plotter;
struct asset;
struct page;

enum form {
	FORM_HTML = 1 << 0, FORM_TXT = 1 << 1, FORM_JSON = 1 << 2,
	FORM_CSV = 1 << 3, FORM_SVG = 1 << 4, FORM_PNG = 1 << 5,
};
#define FORM_TABLE	(FORM_HTML | FORM_TXT | FORM_JSON | FORM_CSV)
#define FORM_PICTURE	(FORM_SVG | FORM_PNG)

/* What the whole server shares; lives as long as the process. */
struct site {
	struct store *store;
	struct plotter *plotter;
	const char *tokens;	/* the file */
	const char *public_url;	/* --url, without a trailing slash */
	const char *build_id;	/* changes with each build: part of each ETag */
};

struct request {
	const struct site *site;
	const char *method;	/* "GET" (HEAD arrives as GET), "POST", "PUT" */
	const char *path;	/* decoded, without the form's suffix */
	const char *arg;	/* what stood in the route's {...}; "" if none */
	enum form form;		/* FORM_HTML where the URL had no suffix */
	const struct params *params;	/* checked against the route's table */
	const char *query;	/* canonical; "" if none */
	const unsigned char *body;
	size_t body_len;
	const char *token_host;	/* host label that the token is bound to; NULL: any */
};

struct response {
	int status;		/* 200 unless the handler says otherwise */
	const char *type;	/* static; set from the form before the handler */
	struct buf body;
	const struct asset *asset;	/* NULL, or sent instead of the body */
	int retry_after_s;	/* 0: no header */
	char location[256];	/* "" none */
	bool frozen;		/* content addressed: cache for ever */
	char allow[32];		/* methods; 405 only */
	struct err why;		/* an error's reason, for the log */
};

typedef void handler_fn(const struct request *q, struct response *r);

/*
 * Answer with an error in the form that was asked for: JSON
 * {"error":"..."} for /api/ and .json, one line of text for .txt, .csv and
 * pictures, a page for HTML. The text names the field and what was expected,
 * never a path of this machine or an internal.
 */
__attribute__((format(printf, 4, 5)))
void response_error(const struct request *q, struct response *r, int status,
		    const char *fmt, ...);

/* One request on its way, from its head to the bytes that are sent. Zeroed
 * before route_head(); ends with call_free(). */
struct call {
	struct request q;
	struct response r;
	const struct route *route;	/* a row of routes.def */
	const char *raw_query;
	size_t body_cap;	/* bytes; 0: takes no body */
	bool token_ok;		/* the caller showed a valid token */
	char path[512], arg[128], token_host[80];
	struct page *page;
	const void *data;	/* what is sent, until call_free() */
	size_t len;
	char etag[72];		/* quoted; "": never cached (POST, errors) */
	bool gzip;		/* data is gzip-encoded */
	bool varies;		/* there is a gzip form and a plain one */
	bool cached;		/* made before, or not modified */
};

/*
 * Look up and admit. c->r.status 0: go on; else refused at once (400, 401,
 * 403, 404, 405, 414). @path and @query are raw, still percent-encoded, and
 * outlive @c; @bearer is the token, or "".
 */
void route_head(struct call *c, const struct site *s, const char *method,
		const char *path, const char *query, const char *bearer);
/* Answer, once c->q.body is there. @if_none_match may be NULL; @gzip_ok: the
 * client takes gzip. */
void route_answer(struct call *c, const char *if_none_match, bool gzip_ok);
void call_free(struct call *c);

/* Every handler and every table of parameters that routes.def names. */
extern const struct param_spec no_params[];
#define ROUTE(method, path, handler, body_cap, scope, parameters, forms, reads) \
	handler_fn handler; \
	extern const struct param_spec parameters[];
#include "routes.def"
#undef ROUTE

#endif
