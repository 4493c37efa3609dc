/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H
/*
 * Sockets, bodies, limits, deadlines. The only file that knows libmicrohttpd.
 * One thread per connection. Request smuggling shapes are refused before
 * anything else is read.
 */
#include <stdatomic.h>

#include "../common/err.h"
#include "route.h"

/* Every limit that protects the server; the defaults are in main.c's table. */
struct http_limits {
	unsigned connections;
	unsigned idle_s;		/* inactivity, and between requests */
	unsigned head_s;		/* a whole request head */
	unsigned request_s;		/* a whole request */
	unsigned drain_s;		/* in-flight requests at shutdown */
	/* Requests per token, else per address (v6: /64); 0: no limit. */
	unsigned rate_per_s, rate_burst;
};

/* Serve on "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080"; port 0 picks one, no
 * address is loopback. Once in a process; @site outlives it, and its public_url
 * is set to the address if it is NULL. The port; -1 with @e. */
int http_start(const char *listen, const struct http_limits *l,
	       struct site *site, struct err *e);
/* Cut the connections that live past their deadline; call it often. */
void http_reap(void);
/* Stop accepting, let requests in flight finish (Connection: close), then
 * stop. Nothing if it was not started. */
void http_stop(void);

/* For /metrics. */
extern struct http_stats {
	atomic_ullong by_class[6] /* [2]: 2xx */, sent_bytes, cache_hits;
	atomic_ullong not_modified, reaped, rate_limited;
	atomic_uint connections;
} http_stats;

#endif
