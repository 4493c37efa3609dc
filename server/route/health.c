/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What machines ask about the server itself: health, metrics, the schema.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../asset.h"
#include "../http.h"
#include "../route.h"
#include "../store.h"

#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

void route_health(const struct request *q, struct response *r)
{
	struct store_stats stats;
	struct err e;

	if (store_stats(q->site->store, &stats, &e)) {
		response_error(q, r, 503, "the store does not answer");
		r->retry_after_s = 5;
		return;
	}
	buf_str(&r->body, "ok\n");
}

/* -1: /proc does not say. */
static long long resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long long pages = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%*d %lld", &pages) != 1)
		pages = -1;
	fclose(f);
	return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

static void metric(struct buf *b, const char *name, const char *kind,
		   unsigned long long value)
{
	buf_printf(b, "# TYPE mmtrend_%s %s\nmmtrend_%s %llu\n", name, kind,
		   name, value);
}

static void add_http(struct buf *b)
{
	struct http_stats h;

	http_stats(&h);
	buf_str(b, "# TYPE mmtrend_http_responses_total counter\n");
	for (int class = 1; class < 6; class++)
		buf_printf(b, "mmtrend_http_responses_total{class=\"%dxx\"} "
			   "%llu\n", class, h.by_class[class]);
	metric(b, "http_requests_total", "counter", h.requests);
	metric(b, "http_sent_bytes_total", "counter", h.bytes_out);
	metric(b, "http_cache_hits_total", "counter", h.cache_hits);
	metric(b, "http_not_modified_total", "counter", h.not_modified);
	metric(b, "http_reaped_total", "counter", h.reaped);
	metric(b, "http_rate_limited_total", "counter", h.rate_limited);
	metric(b, "http_connections", "gauge", h.connections);
}

static void add_store(struct buf *b, const struct store_stats *s)
{
	const struct {
		const char *name, *kind;
		unsigned long long v;
	} rows[] = {
		{ "runs", "gauge", (unsigned long long)s->runs },
		{ "hosts", "gauge", (unsigned long long)s->hosts },
		{ "kernels", "gauge", (unsigned long long)s->kernels },
		{ "series", "gauge", (unsigned long long)s->series },
		{ "store_bytes", "gauge", (unsigned long long)s->bytes },
		{ "store_queue", "gauge", s->queue },
		{ "store_committed_total", "counter", s->committed },
		{ "store_batches_total", "counter", s->batches },
		{ "store_retried_total", "counter", s->retried },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		metric(b, rows[i].name, rows[i].kind, rows[i].v);
}

void route_metrics(const struct request *q, struct response *r)
{
	long long rss = resident_bytes();
	struct store_stats stats;
	struct err e;

	r->type = PROMETHEUS;
	add_http(&r->body);
	if (rss >= 0)
		metric(&r->body, "resident_bytes", "gauge",
		       (unsigned long long)rss);
	if (!store_stats(q->site->store, &stats, &e))
		add_store(&r->body, &stats);
}

void route_schema(const struct request *q, struct response *r)
{
	const struct asset *a = asset_find(q->arg);

	if (!a || strcmp(a->type, "application/schema+json") != 0) {
		response_error(q, r, 404, "expected /schema/run.schema.json");
		return;
	}
	r->type = a->type;
	buf_add(&r->body, a->data, a->len);
}
