/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H
/*
 * What a handler sees: a request, a response, the store. Never a library's
 * type, so it can be called from a unit test. routes.def holds every URL;
 * route.c looks it up, checks what the row demands (method, form, parameters,
 * token, body cap), answers from the cache or 304 when it can, and only then
 * calls the handler. http.c turns sockets into this and back.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/buf.h"
#include "../common/err.h"
#include "param.h"

struct store;
struct plotter;
struct tokens;
struct asset;

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
	struct tokens *tokens;
	const char *public_url;	/* --url, without a trailing slash */
	const char *build_id;	/* changes with each build: part of each ETag */
};

struct request {
	const struct site *site;
	const char *method;	/* "GET" (HEAD arrives as GET), "POST", "PUT" */
	const char *path;	/* decoded, checked, without the form's suffix */
	const char *arg;	/* what stood in the route's {...}; "" if none */
	enum form form;		/* FORM_HTML where the URL had no suffix */
	const struct params *params;	/* checked against the route's table */
	const char *query;	/* canonical: sorted, defaults left out; "" if none */
	const unsigned char *body;
	size_t body_len;
	const char *token_host;	/* host label that the token is bound to; NULL: any */
};

struct response {
	int status;		/* 200 unless the handler says otherwise */
	const char *type;	/* static; set from the form before the handler */
	struct buf body;
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

/*
 * Everything between a parsed request head and a handler. http.c calls
 * route_head() before the body arrives, route_answer() after.
 */
struct route;			/* a row of routes.def */

struct route_hit {
	const struct route *route;
	enum form form;
	size_t body_cap;	/* bytes; 0: takes no body */
	char path[512], arg[128];
	const struct asset *asset;	/* instead of a route; NULL: none */
	char token_host[80];	/* "" any */
	bool token_ok;		/* the caller showed a valid token */
};

/*
 * Look up and admit. 0: go on. Else the status to answer at once (400, 401,
 * 403, 404, 405, 414), with the body in @r. @path and @query are raw,
 * still percent-encoded; @bearer is the token, or NULL.
 */
int route_head(const struct site *s, const char *method, const char *path,
	       const char *query, const char *bearer, struct route_hit *hit,
	       struct response *r);

/* What http.c sends: bytes it may share with the cache until answer_free(). */
struct answer {
	int status;
	const char *type;
	const unsigned char *data;
	size_t len;
	bool gzip;		/* data is gzip-encoded */
	char etag[48];		/* quoted; "" none */
	int retry_after_s;
	char location[256];
	bool frozen, private;	/* private: never cached (POST, errors) */
	bool varies;		/* there is a gzip form and a plain one */
	bool cached;		/* made before, or not modified */
	char allow[32];
	struct err why;
	void *owner;		/* of data; for answer_free() */
};

/* @if_none_match may be NULL; @gzip_ok: the client takes gzip (q > 0). */
void route_answer(const struct site *s, const struct route_hit *hit,
		  const char *method, const char *query,
		  const unsigned char *body, size_t body_len,
		  const char *if_none_match, bool gzip_ok, struct answer *a);
/* Turn an early response of route_head() into an answer (takes its body). */
void answer_response(struct response *r, struct answer *a);
void answer_free(struct answer *a);

/* Every handler and every table of parameters that routes.def names. */
extern const struct param_spec no_params[];
#define ROUTE(method, path, handler, body_cap, scope, parameters, forms, reads) \
	handler_fn handler; \
	extern const struct param_spec parameters[];
#include "routes.def"
#undef ROUTE

#endif
