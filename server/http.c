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
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "head.h"
#include "http.h"
#include "rate.h"

#define BACKLOG		256
#define STACK_BYTES	(256u << 10)
#define LINGER_NS	1000000000ll	/* for a client that still sends */
#define LOG_TEXT	240	/* bytes of an address or a reason in the log */
#define SECOND		1000000000ll

struct conn {
	LIST_ENTRY(conn) entry;
	int fd;
	int64_t deadline_ns;	/* under http.lock */
	uint64_t rate_key;
	char addr[INET6_ADDRSTRLEN];
};

static struct {
	const struct site *site;
	struct http_limits limits;
	struct MHD_Daemon *daemon;
	atomic_bool draining;
	atomic_uint in_flight;
	pthread_mutex_t lock;
	LIST_HEAD(conn_list, conn) conns;	/* each leaves before its fd is closed */
} http = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct req {
	struct conn *conn;
	int64_t start_ns;
	bool begun;		/* its head was seen */
	bool early;		/* refused before its body */
	bool too_big;		/* the body passed its cap */
	char method[16];
	struct head head;
	struct call c;
	uint64_t rate_key;
	struct buf body;
	char *query;		/* in @path */
	char path[];		/* raw; the query follows its NUL */
};

struct http_stats http_stats;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

/* --- connections and their deadlines -------------------------------------- */

/* The address as text, and what its rate is counted by: of IPv6 the /64, which
 * is what one customer gets. */
static void note_address(struct conn *c, const struct sockaddr *sa)
{
	const void *from = sa->sa_family == AF_INET6 ?
		(const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr :
		(const void *)&((const struct sockaddr_in *)sa)->sin_addr;

	memcpy(&c->rate_key, from, sa->sa_family == AF_INET6 ? 8 : 4);
	c->rate_key |= 1ull << 63;
	inet_ntop(sa->sa_family, from, c->addr, sizeof(c->addr));
}

static void conn_deadline(struct conn *c, unsigned seconds)
{
	pthread_mutex_lock(&http.lock);
	c->deadline_ns = now_ns() + seconds * SECOND;
	pthread_mutex_unlock(&http.lock);
}

static struct conn *conn_new(struct MHD_Connection *mc)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	note_address(c, MHD_get_connection_info(mc,
			MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
	c->fd = MHD_get_connection_info(mc,
			MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->deadline_ns = now_ns() + http.limits.head_s * SECOND;
	pthread_mutex_lock(&http.lock);
	LIST_INSERT_HEAD(&http.conns, c, entry);
	pthread_mutex_unlock(&http.lock);
	return c;
}

static void on_connection(void *cls, struct MHD_Connection *mc, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct conn *c = *context;

	(void)cls;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = conn_new(mc);
		http_stats.connections++;
		return;
	}
	http_stats.connections--;
	pthread_mutex_lock(&http.lock);
	if (c)
		LIST_REMOVE(c, entry);
	pthread_mutex_unlock(&http.lock);
	free(c);
}

void http_reap(void)
{
	int64_t now = now_ns();

	pthread_mutex_lock(&http.lock);
	for (struct conn *c = LIST_FIRST(&http.conns); c;
	     c = LIST_NEXT(c, entry)) {
		if (c->deadline_ns > now)
			continue;
		c->deadline_ns = INT64_MAX;
		shutdown(c->fd, SHUT_RDWR);
		http_stats.reaped++;
	}
	pthread_mutex_unlock(&http.lock);
}

/* --- the log -------------------------------------------------------------- */

/* What a stranger wrote, in one printable word. */
static void log_add(struct buf *b, const char *s)
{
	size_t cap = b->len + LOG_TEXT;

	for (; *s && b->len < cap; s++) {
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			buf_printf(b, "\\x%02x", (unsigned char)*s);
		else
			buf_char(b, *s);
	}
	buf_str(b, *s ? "..." : "");
}

static void log_request(const struct req *q, bool cut)
{
	struct buf b = BUF_INIT;
	time_t now = time(NULL);
	char when[32];
	struct tm tm;

	strftime(when, sizeof(when), "%FT%TZ", gmtime_r(&now, &tm));
	buf_printf(&b, "%s %s \"", when, q->conn->addr);
	log_add(&b, q->method);
	buf_char(&b, ' ');
	log_add(&b, q->path);
	buf_str(&b, *q->query ? "?" : "");
	log_add(&b, q->query);
	buf_printf(&b, "\" %d %zu %lldms %s%s%s", q->c.r.status, q->c.len,
		   (long long)(now_ns() - q->start_ns) / 1000000,
		   q->c.cached ? "hit" : "miss", cut ? " cut" : "",
		   *q->c.r.why.msg ? ": " : "");
	log_add(&b, q->c.r.why.msg);
	if (buf_ok(&b))
		fprintf(stderr, "%s\n", b.s);
	buf_free(&b);
}

__attribute__((format(printf, 2, 0)))
static void on_library_log(void *cls, const char *fmt, va_list ap)
{
	struct buf b = BUF_INIT;
	char text[512];

	(void)cls;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_add(&b, text);
	if (buf_ok(&b))
		fprintf(stderr, "http: %s\n", b.s);
	buf_free(&b);
}

/* --- answers -------------------------------------------------------------- */

static void set(struct MHD_Response *r, const char *name, const char *value)
{
	if (value && *value)
		MHD_add_response_header(r, name, value);
}

static void set_headers(struct MHD_Response *r, const struct call *c)
{
	const struct response *a = &c->r;
	bool svg = a->type && !strcmp(a->type, "image/svg+xml");
	char seconds[16] = "";

	if (a->retry_after_s)
		snprintf(seconds, sizeof(seconds), "%d", a->retry_after_s);
	set(r, "Content-Type", a->type);
	set(r, "Content-Encoding", c->gzip && c->data ? "gzip" : NULL);
	set(r, "Vary", c->varies ? "Accept-Encoding" : NULL);
	set(r, "ETag", c->etag);
	set(r, "Cache-Control", !*c->etag ? "no-store" : a->frozen ?
	    "public, max-age=31536000, immutable" : "no-cache");
	set(r, "Location", a->location);
	set(r, "Allow", a->status == 405 ? a->allow : NULL);
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
static enum MHD_Result send_answer(struct req *q,
				   struct MHD_Connection *mc)
{
	struct call *c = &q->c;
	struct MHD_Response *r;
	enum MHD_Result ret;

	if (!c->data) {
		c->data = c->r.body.s ? c->r.body.s : "";
		c->len = c->r.body.len;
	}
	r = MHD_create_response_from_buffer(c->len,
			(void *)(uintptr_t)c->data, MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	set_headers(r, c);
	if (q->early || atomic_load(&http.draining))
		set(r, "Connection", "close");
	ret = MHD_queue_response(mc, (unsigned)c->r.status, r);
	MHD_destroy_response(r);
	return ret;
}

/* --- one request ---------------------------------------------------------- */

/* The request line is read: the only place that has the raw address. */
static void *on_line(void *cls, const char *uri, struct MHD_Connection *mc)
{
	size_t len = strlen(uri), path = strcspn(uri, "?");
	struct req *q = calloc(1, sizeof(*q) + len + 2);

	(void)cls;
	if (!q)
		return NULL;
	q->conn = MHD_get_connection_info(mc,
			MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	q->start_ns = now_ns();
	memcpy(q->path, uri, len);
	q->path[path] = '\0';
	q->query = q->path + path + (path < len);
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

/* May the caller go on? Callers with a token are told apart by its first
 * characters, others by their address. */
static void check_rate(struct req *q)
{
	const struct http_limits *l = &http.limits;

	q->rate_key = q->conn->rate_key;
	if (q->c.token_ok)
		memcpy(&q->rate_key, q->head.bearer + 4, 8);
	if (rate_take(q->rate_key, 1, l->rate_per_s, l->rate_burst, now_ns()))
		return;
	response_error(&q->c.q, &q->c.r, 429, "expected at most %u requests a "
		       "second", l->rate_per_s);
	q->c.r.retry_after_s = 1;
	http_stats.rate_limited++;
}

/* What the row demands of the body, before a byte of it is read. */
static void check_body(struct req *q)
{
	const struct request *as = &q->c.q;
	struct response *r = &q->c.r;
	const struct head *head = &q->head;
	size_t cap = q->c.body_cap;

	if (!cap && (head->transfers || head->length))
		response_error(as, r, 413, "this address takes no body");
	else if (head->length > (int64_t)cap)
		response_error(as, r, 413, "Content-Length: expected at most "
			       "%zu bytes", cap);
	else if (cap && head->encoded)
		response_error(as, r, 415, "Content-Encoding: expected none");
	else if (!strcmp(q->method, "POST") && !head->json)
		response_error(as, r, 415,
			       "Content-Type: expected application/json");
}

/* Refuse or go on; q->c.r.status says which. */
static void begin(struct req *q, struct MHD_Connection *mc,
		  const char *method, const char *version)
{
	const char *fault;

	q->begun = true;
	atomic_fetch_add(&http.in_flight, 1);
	conn_deadline(q->conn, http.limits.request_s);
	snprintf(q->method, sizeof(q->method), "%s", method);
	MHD_get_connection_values_n(mc, MHD_HEADER_KIND, on_field, &q->head);
	route_head(&q->c, http.site, strcmp(q->method, "HEAD") == 0 ? "GET" :
		   q->method, q->path, q->query, q->head.bearer);
	fault = head_fault(&q->head, version);
	if (fault)
		response_error(&q->c.q, &q->c.r, 400, "%s", fault);
	else if (!q->c.r.status)
		check_body(q);
	check_rate(q);
	/* What follows on this connection may be a body: never read it as a
	 * request. */
	q->early = q->c.r.status && (q->head.fault || q->head.transfers ||
				     q->head.lengths);
}

static void add_body(struct req *q, const char *data, size_t len)
{
	q->too_big |= len > q->c.body_cap - q->body.len;
	if (q->too_big)
		buf_free(&q->body);
	else
		buf_add(&q->body, data, len);
}

static void finish(struct req *q, struct MHD_Connection *mc)
{
	const struct http_limits *l = &http.limits;
	struct call *c = &q->c;

	c->q.body = (const unsigned char *)q->body.s;
	c->q.body_len = q->body.len;
	if (q->too_big)
		response_error(&c->q, &c->r, 413,
			       "body: expected at most %zu bytes", c->body_cap);
	else if (!buf_ok(&q->body))
		response_error(&c->q, &c->r, 503, "out of memory");
	else
		route_answer(c, MHD_lookup_connection_value(mc,
			     MHD_HEADER_KIND, "If-None-Match"),
			     q->head.gzip_ok);
	if (c->cached)
		rate_take(q->rate_key, -1, l->rate_per_s, l->rate_burst,
			  now_ns());
	buf_free(&q->body);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mc,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *data_len, void **context)
{
	struct req *q = *context;

	(void)cls;
	(void)url;
	if (!q || !q->conn)
		return MHD_NO;
	if (!q->begun) {
		begin(q, mc, method, version);
		return q->early ? send_answer(q, mc) : MHD_YES;
	}
	if (*data_len) {
		add_body(q, data, *data_len);
		*data_len = 0;
		return MHD_YES;
	}
	if (!q->c.r.status)
		finish(q, mc);
	return send_answer(q, mc);
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

static void count(const struct call *c)
{
	http_stats.by_class[c->r.status / 100 % 6]++;
	http_stats.sent_bytes += c->len;
	http_stats.cache_hits += c->cached;
	http_stats.not_modified += c->r.status == 304;
}

static void on_done(void *cls, struct MHD_Connection *mc, void **context,
		    enum MHD_RequestTerminationCode why)
{
	bool cut = why != MHD_REQUEST_TERMINATED_COMPLETED_OK;
	struct req *q = *context;

	(void)cls;
	(void)mc;
	if (!q)
		return;
	if (q->conn) {
		if (!strcmp(q->method, "HEAD"))
			q->c.len = 0;
		count(&q->c);
		log_request(q, cut);
		if (q->early && !cut)
			linger(q->conn->fd);
		conn_deadline(q->conn, http.limits.idle_s + http.limits.head_s);
	}
	if (q->begun)
		atomic_fetch_sub(&http.in_flight, 1);
	call_free(&q->c);
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

/* "HOST:PORT" -> address; "" is loopback. @host: as it stands in a URL. */
static struct addrinfo *resolve(const char *text, char host[64], struct err *e)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(text, ':');
	int len = colon ? (int)(colon - text) : 0;
	struct addrinfo *found = NULL;
	char bare[64];

	snprintf(host, 64, "%.*s", len ? len : 9, len ? text : "127.0.0.1");
	snprintf(bare, sizeof(bare), "%s", host + (*host == '['));
	bare[strcspn(bare, "]")] = '\0';
	if (!colon || strtoul(colon + 1, NULL, 10) > UINT16_MAX ||
	    getaddrinfo(bare, colon + 1, &hints, &found))
		err_set(e, "%s: expected ADDRESS:PORT, as 127.0.0.1:8080 or "
			"[::1]:8080", text);
	return found;
}

/* A listening socket at @text, its @url and @port; -1 with @e. */
static int listen_on(const char *text, char url[128], unsigned *port,
		     struct err *e)
{
	char host[64];
	struct addrinfo *ai = resolve(text, host, e);
	struct sockaddr_in6 at = { 0 };	/* the port is where IPv4 has it */
	socklen_t len = sizeof(at);
	int fd, on = 1;

	if (!ai)
		return -1;
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&at, &len)) {
		err_set(e, "%s: %s", text, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(ai);
	*port = ntohs(at.sin6_port);
	snprintf(url, 128, "http://%s:%u", host, *port);
	return fd;
}

int http_start(const char *listen_text, const struct http_limits *l,
	       struct site *site, struct err *e)
{
	static char url[128];
	unsigned port;
	int fd = listen_on(listen_text, url, &port, e);

	if (fd < 0)
		return -1;
	if (!site->public_url)
		site->public_url = url;
	http.site = site;
	http.limits = *l;
	http.daemon = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC |
		MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, NULL,
		MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, l->connections,
		MHD_OPTION_CONNECTION_TIMEOUT, l->idle_s,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, on_line, NULL,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_END);
	if (http.daemon)
		return (int)port;
	close(fd);
	return err_set(e, "libmicrohttpd did not start");
}

/* Idle connections are never in flight, so they hold up nothing. */
void http_stop(void)
{
	int64_t until = now_ns() + http.limits.drain_s * SECOND;

	if (!http.daemon)
		return;
	atomic_store(&http.draining, true);
	close(MHD_quiesce_daemon(http.daemon));
	while (atomic_load(&http.in_flight) && now_ns() < until) {
		http_reap();
		usleep(10000);
	}
	MHD_stop_daemon(http.daemon);
}
