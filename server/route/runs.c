/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What agents post: runs, and the files that runs name by their SHA-256 (kernel
 * configs). Anybody reads them as they were posted.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "../route.h"
#include "../store.h"

#define PARSING_MAX	(1u << 20)	/* bytes of text in parsing at once */
#define RETRY_S		2		/* when the store is busy */

/* Answer what is neither STORE_NEW nor STORE_SAME. An internal reason goes to
 * the log only. */
static void refuse(const struct request *q, struct response *r,
		   enum store_answer a, const struct err *e)
{
	static const int status[] = {
		[STORE_CONFLICT] = 422, [STORE_BUSY] = 503,
		[STORE_MISSING] = 404, [STORE_ERROR] = 500,
	};

	if (a == STORE_BUSY)
		r->retry_after_s = RETRY_S;
	response_error(q, r, status[a], "%s", a == STORE_ERROR ?
		       "the store failed; the server's log says why" : e->msg);
	if (a == STORE_ERROR)
		r->why = *e;
}

/* --- runs ---------------------------------------------------------------- */

/*
 * A parsed tree is some 15 times its text, so what is in parsing at once is
 * bounded; a body above the bound is parsed alone. Who waits for room holds
 * the turn, so that a large one is not overtaken for ever.
 */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static size_t parsing;		/* bytes; under the lock */

static struct record *parse_in_turn(const void *body, size_t len, struct err *e)
{
	struct record *rec;
	int error;

	pthread_mutex_lock(&turn);
	pthread_mutex_lock(&lock);
	while (parsing && parsing + len > PARSING_MAX)
		pthread_cond_wait(&left, &lock);
	parsing += len;
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&turn);

	rec = record_parse(body, len, e);
	error = errno;

	pthread_mutex_lock(&lock);
	parsing -= len;
	pthread_cond_signal(&left);
	pthread_mutex_unlock(&lock);
	errno = error;
	return rec;
}

static void trend_url(struct buf *b, const struct site *site,
		      const struct record *rec,
		      const struct record_bench *bench,
		      const struct record_metric *metric)
{
	struct buf url = BUF_INIT;

	buf_str(&url, site->public_url ? site->public_url : "");
	buf_str(&url, "/trend?host=");
	buf_url(&url, rec->host.label);
	buf_str(&url, "&bench=");
	buf_url(&url, bench->name);
	buf_str(&url, "&metric=");
	buf_url(&url, metric->name);
	buf_json(b, url.s);
	b->failed |= !buf_ok(&url);
	buf_free(&url);
}

/* The first that has a figure; else the first of all. */
static const struct record_bench *first_measured(const struct record *rec)
{
	for (size_t i = 0; i < rec->ncells; i++)
		if (rec->cells[i].status == RECORD_OK)
			return record_bench(rec, rec->cells[i].bench);
	return rec->benches;
}

static void acknowledge(const struct request *q, struct response *r,
			const struct record *rec, bool new, bool want_config)
{
	const struct record_bench *first = first_measured(rec);
	struct buf *b = &r->body;
	const char *comma = "";

	r->status = new ? 201 : 200;
	snprintf(r->location, sizeof(r->location), "/api/v1/runs/%s", rec->id);
	buf_printf(b, "{\"id\":\"%s\",\"status\":\"%s\",\"want_config\":%s,"
		   "\"url\":", rec->id, new ? "new" : "same",
		   want_config ? "true" : "false");
	if (rec->nbenches)
		trend_url(b, q->site, rec, first, first->metrics);
	else
		buf_str(b, "null");
	buf_str(b, ",\"urls\":[");
	for (size_t i = 0; i < rec->nbenches; i++)
		for (size_t m = 0; m < rec->benches[i].nmetrics; m++) {
			buf_str(b, comma);
			comma = ",";
			trend_url(b, q->site, rec, &rec->benches[i],
				  &rec->benches[i].metrics[m]);
		}
	buf_str(b, "]}\n");
}

void route_run_post(const struct request *q, struct response *r)
{
	const char *host = q->token_host ? q->token_host : "";
	struct err e = { "" };
	struct record *rec = parse_in_turn(q->body, q->body_len, &e);
	enum store_answer a;
	bool want_config;

	r->type = "application/json";
	if (!rec) {
		if (errno == ENOMEM)
			refuse(q, r, STORE_BUSY, &e);
		else
			response_error(q, r, 400, "%s", e.msg);
		return;
	}
	if (*host && strcmp(host, rec->host.label) != 0) {
		response_error(q, r, 403, "/host/label: this token may post "
			       "for \"%s\" only, got \"%s\"", host,
			       rec->host.label);
		goto out;
	}
	a = store_put_run(q->site->store, rec, q->body, q->body_len,
			  &want_config, &e);
	if (a == STORE_NEW || a == STORE_SAME)
		acknowledge(q, r, rec, a == STORE_NEW, want_config);
	else
		refuse(q, r, a, &e);
out:
	record_free(rec);
}

static void answer_get(const struct request *q, struct response *r,
		       enum store_answer a, const struct err *e)
{
	if (a == STORE_SAME)
		r->frozen = true;
	else
		refuse(q, r, a, e);
}

void route_run_get(const struct request *q, struct response *r)
{
	struct err e = { "" };

	r->type = "application/json";
	answer_get(q, r, store_get_run(q->site->store, q->arg, &r->body, &e),
		   &e);
}

/* --- files --------------------------------------------------------------- */

static bool is_sha256(const struct request *q, struct response *r)
{
	if (strlen(q->arg) == 64 && strspn(q->arg, "0123456789abcdef") == 64)
		return true;
	response_error(q, r, 400, "sha256: expected 64 lower-case hex digits");
	return false;
}

void route_file_put(const struct request *q, struct response *r)
{
	struct err e = { "" };
	enum store_answer a;

	r->type = "application/json";
	if (!is_sha256(q, r))
		return;
	a = store_put_file(q->site->store, q->arg, q->body, q->body_len, &e);
	if (a != STORE_NEW && a != STORE_SAME) {
		refuse(q, r, a, &e);
		return;
	}
	r->status = a == STORE_NEW ? 201 : 200;
	buf_printf(&r->body, "{\"sha256\":\"%s\",\"status\":\"%s\"}\n", q->arg,
		   a == STORE_NEW ? "new" : "same");
}

void route_file_get(const struct request *q, struct response *r)
{
	struct err e = { "" };

	r->type = "text/plain; charset=utf-8";
	if (is_sha256(q, r))
		answer_get(q, r, store_get_file(q->site->store, q->arg,
						&r->body, &e), &e);
}
