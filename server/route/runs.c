/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs: an agent posts a document; anybody reads it as it was posted. */
#include <pthread.h>
#include <string.h>

#include "refuse.h"

#define PARSING_MAX	(1u << 20)	/* bytes of text in parsing at once */
#define RETRY_S		2		/* when the store is busy */

/*
 * A parsed tree is some 15 times its text, so what is in parsing at once is
 * bounded; a body above the bound is parsed alone. In turn, so that a large
 * one is not overtaken for ever.
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t bytes;
	unsigned long next, serving;	/* tickets */
} gate = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER,
};

static struct record *parse_in_turn(const void *body, size_t len, struct err *e)
{
	struct record *rec;
	unsigned long mine;

	pthread_mutex_lock(&gate.lock);
	mine = gate.next++;
	while (mine != gate.serving ||
	       (gate.bytes && gate.bytes + len > PARSING_MAX))
		pthread_cond_wait(&gate.moved, &gate.lock);
	gate.serving++;
	gate.bytes += len;
	pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.lock);

	rec = record_parse(body, len, e);

	pthread_mutex_lock(&gate.lock);
	gate.bytes -= len;
	pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.lock);
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

/* The first that has a figure; else the first of all, of which there is one. */
static const struct record_bench *first_measured(const struct record *rec)
{
	size_t i;

	for (i = 0; i < rec->ncells; i++)
		if (rec->cells[i].status == RECORD_OK)
			return record_bench(rec, rec->cells[i].bench);
	return &rec->benches[0];
}

static void acknowledge(const struct request *q, struct response *r,
			const struct record *rec, enum store_answer a,
			bool want_config)
{
	const struct record_bench *first;
	struct buf *b = &r->body;
	size_t i, m, n = 0;

	r->status = a == STORE_NEW ? 201 : 200;
	snprintf(r->location, sizeof(r->location), "/api/v1/runs/%s", rec->id);
	buf_str(b, "{\"id\":");
	buf_json(b, rec->id);
	buf_printf(b, ",\"status\":\"%s\",\"want_config\":%s,\"url\":",
		   a == STORE_NEW ? "new" : "same",
		   want_config ? "true" : "false");
	if (rec->nbenches) {
		first = first_measured(rec);
		trend_url(b, q->site, rec, first, &first->metrics[0]);
	} else {
		buf_str(b, "null");
	}
	buf_str(b, ",\"urls\":[");
	for (i = 0; i < rec->nbenches; i++)
		for (m = 0; m < rec->benches[i].nmetrics; m++) {
			buf_str(b, n++ ? "," : "");
			trend_url(b, q->site, rec, &rec->benches[i],
				  &rec->benches[i].metrics[m]);
		}
	buf_str(b, "]}\n");
}

void refuse(const struct request *q, struct response *r, enum store_answer a,
	    const struct err *e)
{
	static const int status[] = {
		[STORE_CONFLICT] = 422, [STORE_BUSY] = 503,
		[STORE_MISSING] = 404, [STORE_ERROR] = 500,
	};

	if (a == STORE_BUSY)
		r->retry_after_s = RETRY_S;
	if (a == STORE_ERROR) {
		response_error(q, r, 500, "the store failed; the server's log "
			       "says why");
		r->why = *e;
		return;
	}
	response_error(q, r, status[a], "%s", e->msg);
}

void route_run_post(const struct request *q, struct response *r)
{
	struct err e = { "" };
	struct record *rec;
	enum store_answer a;
	bool want_config;

	r->type = "application/json";
	rec = parse_in_turn(q->body, q->body_len, &e);
	if (!rec) {
		response_error(q, r, 400, "%s", e.msg);
		return;
	}
	if (q->token_host && *q->token_host &&
	    strcmp(q->token_host, rec->host.label) != 0) {
		response_error(q, r, 403, "/host/label: this token may post "
			       "for \"%s\" only, got \"%s\"",
			       q->token_host, rec->host.label);
		goto out;
	}
	a = store_put_run(q->site->store, rec, q->body, q->body_len,
			  &want_config, &e);
	if (a == STORE_NEW || a == STORE_SAME)
		acknowledge(q, r, rec, a, want_config);
	else
		refuse(q, r, a, &e);
out:
	record_free(rec);
}

void route_run_get(const struct request *q, struct response *r)
{
	struct err e = { "" };
	enum store_answer a = store_get_run(q->site->store, q->arg, &r->body,
					    &e);

	r->type = "application/json";
	if (a == STORE_SAME)
		r->frozen = true;
	else
		refuse(q, r, a, &e);
}
