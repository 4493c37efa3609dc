/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets: libmicrohttpd on one side, route.h on the other.
 *
 * A request is seen four times: its line (the raw address, on_line), its head
 * (first call of on_request: admit or refuse), its body (further calls), its
 * end (last call: answer). on_done runs once for each, however it ended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "head.h"
#include "http.h"
#include "rate.h"

#define BACKLOG		256
#define STACK_BYTES	(256u << 10)
#define LINGER_NS	1000000000ll	/* for a client that still sends */
#define REAP_US		200000
#define LOG_TEXT	240	/* bytes of an address or a reason in the log */
#define SECOND		1000000000ll

struct conn {
	struct conn *prev, *next;
	int fd;
	int64_t deadline_ns;	/* under http.lock */
	uint64_t rate_key;
	char addr[INET6_ADDRSTRLEN];
};

struct http {
	const struct site *site;
	struct http_limits limits;
	int fd;			/* listens; -1: closed */
	unsigned port;
	struct MHD_Daemon *daemon;
	pthread_t reaper;
	bool reaping;
	atomic_bool draining, ended;
	atomic_uint in_flight;
	pthread_mutex_t lock;
	struct conn *conns;	/* a descriptor leaves before it is closed */
};

struct req {
	struct conn *conn;
	int64_t start_ns;
	bool begun;		/* its head was seen */
	bool early;		/* refused before its body */
	bool too_big;		/* the body passed its cap */
	const char *verb;	/* method, but HEAD is GET */
	char method[16];
	struct head head;
	struct route_hit hit;
	uint64_t rate_key;
	struct buf body;
	struct answer a;
	char *query;		/* in @path */
	char path[];		/* raw; the query follows its NUL */
};

static struct {
	atomic_ullong requests, by_class[6], bytes_out, cache_hits;
	atomic_ullong not_modified, reaped, rate_limited;
	atomic_uint connections;
} stats;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

/* --- connections and their deadlines -------------------------------------- */

/* IPv4: the address. IPv6: the /64, which is what one customer gets. */
static uint64_t address_key(const struct sockaddr *sa)
{
	uint64_t key = 0;

	if (sa->sa_family == AF_INET6)
		memcpy(&key, &((const struct sockaddr_in6 *)sa)->sin6_addr, 8);
	else if (sa->sa_family == AF_INET)
		key = ((const struct sockaddr_in *)sa)->sin_addr.s_addr;
	return key | 1ull << 63;
}

static void address_text(const struct sockaddr *sa, char out[INET6_ADDRSTRLEN])
{
	const void *from = sa->sa_family == AF_INET6 ?
		(const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr :
		(const void *)&((const struct sockaddr_in *)sa)->sin_addr;

	if (!inet_ntop(sa->sa_family, from, out, INET6_ADDRSTRLEN))
		snprintf(out, INET6_ADDRSTRLEN, "-");
}

static void conn_deadline(struct http *h, struct conn *c, unsigned seconds)
{
	pthread_mutex_lock(&h->lock);
	c->deadline_ns = now_ns() + seconds * SECOND;
	pthread_mutex_unlock(&h->lock);
}

/* As conn_deadline(), but never later than it is. */
static void conn_hurry(struct http *h, struct conn *c, unsigned seconds)
{
	int64_t at = now_ns() + seconds * SECOND;

	pthread_mutex_lock(&h->lock);
	if (at < c->deadline_ns)
		c->deadline_ns = at;
	pthread_mutex_unlock(&h->lock);
}

static struct conn *conn_new(struct http *h, struct MHD_Connection *mc)
{
	const struct sockaddr *sa = MHD_get_connection_info(mc,
			MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = MHD_get_connection_info(mc,
			MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->rate_key = address_key(sa);
	address_text(sa, c->addr);
	c->deadline_ns = now_ns() + h->limits.head_s * SECOND;
	pthread_mutex_lock(&h->lock);
	c->next = h->conns;
	if (c->next)
		c->next->prev = c;
	h->conns = c;
	pthread_mutex_unlock(&h->lock);
	return c;
}

static void conn_free(struct http *h, struct conn *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&h->lock);
	*(c->prev ? &c->prev->next : &h->conns) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	pthread_mutex_unlock(&h->lock);
	free(c);
}

static void on_connection(void *cls, struct MHD_Connection *mc, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *h = cls;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = conn_new(h, mc);
		atomic_fetch_add(&stats.connections, 1);
	} else {
		conn_free(h, *context);
		atomic_fetch_sub(&stats.connections, 1);
	}
}

static void *reap(void *cls)
{
	struct http *h = cls;

	while (!atomic_load(&h->ended)) {
		int64_t now = now_ns();

		pthread_mutex_lock(&h->lock);
		for (struct conn *c = h->conns; c; c = c->next) {
			if (c->deadline_ns > now)
				continue;
			c->deadline_ns = INT64_MAX;
			shutdown(c->fd, SHUT_RDWR);
			atomic_fetch_add(&stats.reaped, 1);
		}
		pthread_mutex_unlock(&h->lock);
		usleep(REAP_US);
	}
	return NULL;
}

/* --- the log -------------------------------------------------------------- */

/* What a stranger wrote, in one printable word. */
static const char *log_text(const char *s, char out[LOG_TEXT])
{
	size_t n = 0;

	for (; *s && n < LOG_TEXT - 8; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			n += (size_t)snprintf(out + n, 5, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	snprintf(out + n, 4, "%s", *s ? "..." : "");
	return out;
}

static void log_request(const struct req *q, size_t bytes, bool cut)
{
	char uri[LOG_TEXT], query[LOG_TEXT], why[LOG_TEXT], when[32];
	char method[LOG_TEXT], status[8] = "-";
	time_t t = time(NULL);
	struct tm tm;

	strftime(when, sizeof(when), "%FT%TZ", gmtime_r(&t, &tm));
	if (q->a.status)
		snprintf(status, sizeof(status), "%d", q->a.status);
	fprintf(stderr, "%s %s \"%s %s%s%s\" %s %zu %lldms %s%s%s%s\n", when,
		q->conn->addr, log_text(q->method, method),
		log_text(q->path, uri), *q->query ? "?" : "",
		log_text(q->query, query), status, bytes,
		(long long)(now_ns() - q->start_ns) / 1000000,
		q->a.cached ? "hit" : "miss", cut ? " cut" : "",
		*q->a.why.msg ? ": " : "", log_text(q->a.why.msg, why));
}

__attribute__((format(printf, 2, 0)))
static void on_library_log(void *cls, const char *fmt, va_list ap)
{
	char text[512], shown[LOG_TEXT];

	(void)cls;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	fprintf(stderr, "http: %s\n", log_text(text, shown));
}

/* --- answers -------------------------------------------------------------- */

static void set(struct MHD_Response *r, const char *name, const char *value)
{
	if (value && *value)
		MHD_add_response_header(r, name, value);
}

static void set_headers(struct MHD_Response *r, const struct answer *a)
{
	bool svg = a->type && !strcmp(a->type, "image/svg+xml");
	char seconds[16] = "";

	if (a->retry_after_s)
		snprintf(seconds, sizeof(seconds), "%d", a->retry_after_s);
	set(r, "Content-Type", a->type);
	set(r, "Content-Encoding", a->gzip && a->data ? "gzip" : NULL);
	set(r, "Vary", a->varies ? "Accept-Encoding" : NULL);
	set(r, "ETag", a->etag);
	set(r, "Cache-Control", a->private ? "no-store" : a->frozen ?
	    "public, max-age=31536000, immutable" : "no-cache");
	set(r, "Location", a->location);
	set(r, "Allow", a->allow);
	set(r, "Retry-After", seconds);
	set(r, "WWW-Authenticate", a->status == 401 ? "Bearer" : NULL);
	set(r, "X-Content-Type-Options", "nosniff");
	set(r, "Referrer-Policy", "same-origin");
	set(r, "Content-Security-Policy", svg ?
	    "sandbox; default-src 'none'; style-src 'unsafe-inline'" :
	    "default-src 'self'; base-uri 'none'; form-action 'self'; "
	    "frame-ancestors 'none'");
}

/* @q keeps the bytes until on_done(), which is after they were sent. */
static enum MHD_Result send_answer(struct http *h, struct req *q,
				   struct MHD_Connection *mc, bool close)
{
	static char nothing[1];
	const struct answer *a = &q->a;
	enum MHD_Result ret;
	struct MHD_Response *r = MHD_create_response_from_buffer(a->len,
			a->data ? (void *)(uintptr_t)a->data : nothing,
			MHD_RESPMEM_PERSISTENT);

	if (!r)
		return MHD_NO;
	set_headers(r, a);
	if (close || atomic_load(&h->draining))
		set(r, "Connection", "close");
	ret = MHD_queue_response(mc, (unsigned)a->status, r);
	MHD_destroy_response(r);
	return ret;
}

/* Answer with an error that no handler saw. */
__attribute__((format(printf, 4, 5)))
static void refuse(struct http *h, struct req *q, int status,
		   const char *fmt, ...)
{
	struct request as = {
		.site = h->site, .method = q->verb, .path = q->hit.path,
		.arg = "", .query = "", .form = q->hit.form,
	};
	struct response r = { .retry_after_s = status == 429 };
	struct err e;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.msg, sizeof(e.msg), fmt, ap);
	va_end(ap);
	response_error(&as, &r, status, "%s", e.msg);
	answer_free(&q->a);
	answer_response(&r, &q->a);
}

/* --- one request ---------------------------------------------------------- */

/* The request line is read: the only place that has the raw address. */
static void *on_line(void *cls, const char *uri, struct MHD_Connection *mc)
{
	struct http *h = cls;
	size_t len = strlen(uri), path = strcspn(uri, "?");
	struct req *q = calloc(1, sizeof(*q) + len + 2);

	if (!q)
		return NULL;
	q->conn = MHD_get_connection_info(mc,
			MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	q->start_ns = now_ns();
	memcpy(q->path, uri, path);
	q->query = q->path + path + 1;
	if (uri[path])
		memcpy(q->query, uri + path + 1, len - path);
	if (q->conn)
		conn_hurry(h, q->conn, h->limits.head_s);
	return q;
}

static enum MHD_Result on_field(void *cls, enum MHD_ValueKind kind,
				const char *key, size_t key_len,
				const char *value, size_t value_len)
{
	(void)kind;
	head_field(cls, key, key_len, value, value_len);
	return MHD_YES;
}

/* Callers with a token are told apart by it, others by their address. */
static uint64_t rate_key(const struct req *q)
{
	uint64_t hash = 0xcbf29ce484222325;

	if (!q->hit.token_ok)
		return q->conn->rate_key;
	for (const char *c = q->head.bearer; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	return hash & ~(1ull << 63);
}

/* What the row demands of the body, before a byte of it is read. */
static void check_body(struct http *h, struct req *q)
{
	size_t cap = q->hit.body_cap;

	if (!cap && head_has_body(&q->head))
		refuse(h, q, 413, "this address takes no body");
	else if (q->head.length > (int64_t)cap)
		refuse(h, q, 413, "Content-Length: expected at most %zu bytes",
		       cap);
	else if (cap && q->head.encoded)
		refuse(h, q, 415, "Content-Encoding: expected none");
	else if (!strcmp(q->method, "POST") && !q->head.json)
		refuse(h, q, 415, "Content-Type: expected application/json");
}

/* Refuse or go on; q->a.status says which. */
static void begin(struct http *h, struct req *q, struct MHD_Connection *mc,
		  const char *method, const char *version)
{
	const struct http_limits *l = &h->limits;
	struct response r = { 0 };
	const char *fault;

	q->begun = true;
	atomic_fetch_add(&h->in_flight, 1);
	conn_deadline(h, q->conn, l->request_s);
	snprintf(q->method, sizeof(q->method), "%s", method);
	q->verb = strcmp(q->method, "HEAD") == 0 ? "GET" : q->method;
	MHD_get_connection_values_n(mc, MHD_HEADER_KIND, on_field, &q->head);
	fault = head_fault(&q->head, version);
	if (fault) {
		refuse(h, q, 400, "%s", fault);
		return;
	}
	if (route_head(h->site, q->verb, q->path, q->query,
		       *q->head.bearer ? q->head.bearer : NULL, &q->hit, &r))
		answer_response(&r, &q->a);
	else
		check_body(h, q);
	q->rate_key = rate_key(q);
	if (!rate_take(q->rate_key, l->rate_per_s, l->rate_burst, now_ns())) {
		refuse(h, q, 429, "expected at most %u requests a second",
		       l->rate_per_s);
		atomic_fetch_add(&stats.rate_limited, 1);
	}
}

static void add_body(struct req *q, const char *data, size_t len)
{
	if (q->too_big || len > q->hit.body_cap - q->body.len) {
		q->too_big = true;
		buf_free(&q->body);
		q->body = (struct buf)BUF_INIT;
		return;
	}
	buf_add(&q->body, data, len);
}

static void finish(struct http *h, struct req *q, struct MHD_Connection *mc)
{
	const struct http_limits *l = &h->limits;

	if (q->too_big)
		refuse(h, q, 413, "body: expected at most %zu bytes",
		       q->hit.body_cap);
	else if (!buf_ok(&q->body))
		refuse(h, q, 503, "out of memory");
	else
		route_answer(h->site, &q->hit, q->verb, q->query,
			     (const unsigned char *)q->body.s, q->body.len,
			     MHD_lookup_connection_value(mc, MHD_HEADER_KIND,
							 "If-None-Match"),
			     q->head.gzip_ok, &q->a);
	if (q->a.cached)
		rate_give_back(q->rate_key, l->rate_per_s, l->rate_burst);
	buf_free(&q->body);
	q->body = (struct buf)BUF_INIT;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mc,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *data_len, void **context)
{
	struct http *h = cls;
	struct req *q = *context;

	(void)url;
	if (!q || !q->conn)
		return MHD_NO;
	if (!q->begun) {
		begin(h, q, mc, method, version);
		if (!q->a.status)
			return MHD_YES;
		/* What follows on this connection may be a body: never read
		 * it as a request. */
		q->early = q->head.fault || head_has_body(&q->head) ||
			   q->head.transfers || q->head.lengths;
		return q->early ? send_answer(h, q, mc, true) : MHD_YES;
	}
	if (*data_len) {
		add_body(q, data, *data_len);
		*data_len = 0;
		return MHD_YES;
	}
	if (!q->a.status)
		finish(h, q, mc);
	return send_answer(h, q, mc, false);
}

/*
 * A socket closed on unread bytes is reset, and the reset may overtake the
 * answer: say that we are done, then let the client see it and hang up.
 */
static void linger(int fd)
{
	int64_t until = now_ns() + LINGER_NS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char sink[4096];

	shutdown(fd, SHUT_WR);
	while (now_ns() < until &&
	       poll(&p, 1, (int)((until - now_ns()) / 1000000) + 1) > 0 &&
	       recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		;
}

static void count(const struct req *q, size_t bytes)
{
	atomic_fetch_add(&stats.requests, 1);
	atomic_fetch_add(&stats.by_class[q->a.status / 100 % 6], 1);
	atomic_fetch_add(&stats.bytes_out, bytes);
	atomic_fetch_add(&stats.cache_hits, q->a.cached);
	atomic_fetch_add(&stats.not_modified, q->a.status == 304);
}

static void on_done(void *cls, struct MHD_Connection *mc, void **context,
		    enum MHD_RequestTerminationCode why)
{
	struct http *h = cls;
	struct req *q = *context;
	size_t bytes;

	(void)mc;
	if (!q)
		return;
	bytes = q->verb == q->method ? q->a.len : 0;
	if (q->conn) {
		count(q, bytes);
		log_request(q, bytes,
			    why != MHD_REQUEST_TERMINATED_COMPLETED_OK);
		if (q->early && why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
			linger(q->conn->fd);
		conn_deadline(h, q->conn, h->limits.idle_s + h->limits.head_s);
	}
	if (q->begun)
		atomic_fetch_sub(&h->in_flight, 1);
	answer_free(&q->a);
	buf_free(&q->body);
	free(q);
	*context = NULL;
}

/* We decode ourselves: a NUL or a slash must not appear before we look. */
static size_t keep_escapes(void *cls, struct MHD_Connection *mc, char *s)
{
	(void)cls;
	(void)mc;
	return strlen(s);
}

/* --- start and stop ------------------------------------------------------- */

/* "HOST:PORT" -> address; "" is loopback. */
static struct addrinfo *resolve(const char *text, struct err *e)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(text, ':');
	struct addrinfo *found = NULL;
	char host[64] = "";
	int len = colon ? (int)(colon - text) : 0;

	if (len > 1 && *text == '[' && text[len - 1] == ']')
		snprintf(host, sizeof(host), "%.*s", len - 2, text + 1);
	else
		snprintf(host, sizeof(host), "%.*s", len, text);
	if (!colon || strtoul(colon + 1, NULL, 10) > UINT16_MAX ||
	    getaddrinfo(*host ? host : "127.0.0.1", colon + 1, &hints,
			&found)) {
		err_set(e, "%s: expected ADDRESS:PORT, as 127.0.0.1:8080 or "
			"[::1]:8080", text);
		return NULL;
	}
	return found;
}

static int listen_on(const char *text, unsigned *port, struct err *e)
{
	struct addrinfo *ai = resolve(text, e);
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = { .v6 = { 0 } };
	socklen_t len = sizeof(at);
	int fd, on = 1;

	if (!ai)
		return -1;
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, BACKLOG) ||
	    getsockname(fd, &at.sa, &len)) {
		err_set(e, "%s: %s", text, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(ai);
	*port = ntohs(at.sa.sa_family == AF_INET6 ? at.v6.sin6_port :
		      at.v4.sin_port);
	return fd;
}

static struct MHD_Daemon *start_daemon(struct http *h)
{
	return MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC |
		MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, h,
		MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, h->fd,
		MHD_OPTION_CONNECTION_LIMIT, h->limits.connections,
		MHD_OPTION_CONNECTION_TIMEOUT, h->limits.idle_s,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
		MHD_OPTION_NOTIFY_COMPLETED, on_done, h,
		MHD_OPTION_URI_LOG_CALLBACK, on_line, h,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_END);
}

struct http *http_open(const char *listen_text, const struct http_limits *l,
		       struct err *e)
{
	struct http *h = calloc(1, sizeof(*h));

	if (!h) {
		err_set(e, "no memory");
		return NULL;
	}
	h->limits = *l;
	pthread_mutex_init(&h->lock, NULL);
	h->fd = listen_on(listen_text, &h->port, e);
	if (h->fd < 0) {
		http_stop(h);
		return NULL;
	}
	return h;
}

int http_start(struct http *h, const struct site *site, struct err *e)
{
	h->site = site;
	if (pthread_create(&h->reaper, NULL, reap, h))
		return err_set(e, "cannot start a thread");
	h->reaping = true;
	h->daemon = start_daemon(h);
	return h->daemon ? 0 : err_set(e, "libmicrohttpd did not start");
}

unsigned http_port(const struct http *h)
{
	return h->port;
}

static void drain(struct http *h)
{
	int64_t until = now_ns() + h->limits.drain_s * SECOND;

	atomic_store(&h->draining, true);
	MHD_quiesce_daemon(h->daemon);
	close(h->fd);
	h->fd = -1;
	/* Idle connections are never in flight, so they hold up nothing. */
	while (atomic_load(&h->in_flight) && now_ns() < until)
		usleep(10000);
	MHD_stop_daemon(h->daemon);
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	if (h->daemon)
		drain(h);
	atomic_store(&h->ended, true);
	if (h->reaping)
		pthread_join(h->reaper, NULL);
	if (h->fd >= 0)
		close(h->fd);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void http_stats(struct http_stats *out)
{
	out->requests = atomic_load(&stats.requests);
	for (int i = 0; i < 6; i++)
		out->by_class[i] = atomic_load(&stats.by_class[i]);
	out->bytes_out = atomic_load(&stats.bytes_out);
	out->cache_hits = atomic_load(&stats.cache_hits);
	out->not_modified = atomic_load(&stats.not_modified);
	out->reaped = atomic_load(&stats.reaped);
	out->rate_limited = atomic_load(&stats.rate_limited);
	out->connections = atomic_load(&stats.connections);
}
