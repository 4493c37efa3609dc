/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H
/*
 * Sockets, bodies, limits, deadlines. The only file that knows libmicrohttpd.
 * One thread per connection; a reaper shuts down what lives past its deadline.
 * Request smuggling shapes are refused before anything else is read.
 */
#include "../common/err.h"
#include "route.h"

/* Every limit that protects the server; the defaults are in main.c's table. */
struct http_limits {
	unsigned connections;		/* 256 */
	unsigned idle_s;		/* inactivity, and between requests: 30 */
	unsigned head_s;		/* a whole request head: 10 */
	unsigned request_s;		/* a whole request: 120 */
	unsigned drain_s;		/* in-flight requests at shutdown: 20 */
	unsigned rate_per_s, rate_burst; /* requests per token, else per address (v6: /64); 0: no limit */
};

struct http;

/* Bind: "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080"; port 0 picks one, no
 * address is loopback. NULL with @e. */
struct http *http_open(const char *listen, const struct http_limits *l,
		       struct err *e);
/* The port it listens on. */
unsigned http_port(const struct http *h);
/* Serve. @site outlives it. -1 with @e. */
int http_start(struct http *h, const struct site *site, struct err *e);
/* Stop accepting, let requests in flight finish (Connection: close), then stop
 * and free. NULL is allowed. */
void http_stop(struct http *h);

/* Counters for /metrics. */
struct http_stats {
	unsigned long long requests, by_class[6] /* [2]: 2xx */, bytes_out, cache_hits, not_modified, reaped, rate_limited;
	unsigned connections;
};
void http_stats(struct http_stats *out);

#endif
