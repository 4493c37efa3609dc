/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What machines ask about the server itself: health, metrics, the schema.
 */
#include <string.h>

#include "../asset.h"
#include "../http.h"
#include "../route.h"
#include "../store.h"

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

void route_metrics(const struct request *q, struct response *r)
{
	struct store_stats s = { 0 };
	struct err e;
	bool told = !store_stats(q->site->store, &s, &e);
	const struct {
		const char *name, *kind;
		unsigned long long value;
	} rows[] = {
		{ "http_sent_bytes_total", "counter", http_stats.sent_bytes },
		{ "http_cache_hits_total", "counter", http_stats.cache_hits },
		{ "http_not_modified_total", "counter",
		  http_stats.not_modified },
		{ "http_reaped_total", "counter", http_stats.reaped },
		{ "http_rate_limited_total", "counter",
		  http_stats.rate_limited },
		{ "http_connections", "gauge", http_stats.connections },
		/* From here on only if the store answers. */
		{ "store_queue", "gauge", s.queue },
		{ "store_committed_total", "counter", s.committed },
		{ "store_batches_total", "counter", s.batches },
		{ "store_retried_total", "counter", s.retried },
		{ "runs", "gauge", (unsigned long long)s.runs },
		{ "hosts", "gauge", (unsigned long long)s.hosts },
		{ "kernels", "gauge", (unsigned long long)s.kernels },
		{ "series", "gauge", (unsigned long long)s.series },
		{ "store_bytes", "gauge", (unsigned long long)s.bytes },
	};
	size_t n = told ? sizeof(rows) / sizeof(*rows) : 6;

	r->type = "text/plain; version=0.0.4; charset=utf-8";
	buf_str(&r->body, "# TYPE mmtrend_http_responses_total counter\n");
	for (int class = 1; class < 6; class++)
		buf_printf(&r->body, "mmtrend_http_responses_total"
			   "{class=\"%dxx\"} %llu\n", class,
			   http_stats.by_class[class]);
	for (size_t i = 0; i < n; i++)
		buf_printf(&r->body, "# TYPE mmtrend_%s %s\nmmtrend_%s %llu\n",
			   rows[i].name, rows[i].kind, rows[i].name,
			   rows[i].value);
}

void route_schema(const struct request *q, struct response *r)
{
	const struct asset *a = asset_find(q->arg);

	if (!a || strcmp(a->type, "application/schema+json") != 0) {
		response_error(q, r, 404, "expected /schema/run.schema.json");
		return;
	}
	r->asset = a;
	r->type = a->type;
}
