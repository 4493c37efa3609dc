/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load for the crash test and the bench: posts generated runs, or gets one
 * path, over keep-alive connections, spending little itself.
 *
 *	load -u URL [-c CONNECTIONS] [-n REQUESTS] [-s SECONDS] ...
 *	-t FILE		post runs with this token: run i is of host i % HOSTS and
 *			kernel i / HOSTS
 *	-h HOSTS	1
 *	-b BENCHES	of 9 sizes each: 7 make 63 cells
 *	-l LAUNCHES	1; 16 iterations are shared between them
 *	-f FIRST	number of the first run
 *	-a FILE		append the id of each acknowledged run
 *	-g PATH		get this instead; a '#' in it counts down from REQUESTS
 *
 * A post is tried again until it is answered 201 or 200, or SECONDS are over.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/record.h"

#define MAX_CONNECTIONS	256
#define RETRY_US	20000
#define UUID		"01a22c21-17c0-7d0b-9f5e-"	/* and 12 hex digits */
#define BUILD_ID	"b1d0b1d0b1d0"			/* and 12 */
#define BOOT		"boot-"				/* and 12 */

static struct {
	struct sockaddr_in to;
	char token[128];
	const char *token_file, *acks, *path;
	unsigned connections, requests, seconds, hosts, benches, launches, first;
} opt = { .connections = 1, .requests = 1, .seconds = 60, .hosts = 1,
	  .benches = 7, .launches = 1 };

static atomic_uint next_request, refused;
static atomic_bool failed;
static FILE *acks;
static pthread_mutex_t acks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct timespec deadline;

static void die(const char *what)
{
	fprintf(stderr, "load: %s\n", what);
	exit(1);
}

/* --- documents ----------------------------------------------------------- */

static void add_bench(struct buf *b, unsigned n)
{
	buf_printf(b, "%s{\"name\":\"mincore%s%.0u\",\"rev\":1,\"params\":"
		   "{\"memory_bytes\":268435456},\"metrics\":[{\"name\":"
		   "\"time_ns\",\"unit\":\"ns\",\"better\":\"lower\","
		   "\"quantum\":1,\"ops\":65536,\"reduce\":\"median\"}]}",
		   n ? "," : "", n ? ".v" : "", n);
}

static void add_cell(struct buf *b, unsigned bench, unsigned size)
{
	unsigned l, i;

	buf_printf(b, "%s{\"bench\":\"mincore%s%.0u\",\"folio_bytes\":%u,"
		   "\"status\":\"ok\",\"launches\":[", bench || size ? "," : "",
		   bench ? ".v" : "", bench, size ? 8192u << size : 4096u);
	for (l = 0; l < opt.launches; l++) {
		buf_printf(b, "%s{\"folios\":4096,\"other_folios\":0,\"proved\":"
			   "\"counter+pagemap\",\"samples\":{\"time_ns\":[",
			   l ? "," : "");
		for (i = 0; i < 16 / opt.launches; i++)
			buf_printf(b, "%s%u", i ? "," : "", 100000 +
				   1009 * (bench + 1) * (size + 1) +
				   (l * 7919 + i * 104729) % 9973);
		buf_str(b, "]}}");
	}
	buf_str(b, "]}");
}

/* As the agent would write it, with twelve zeros where a run differs. */
static char *make_template(unsigned host, size_t *len)
{
	struct buf b = BUF_INIT, out = BUF_INIT;
	struct err e = { "" };
	struct record *r;
	unsigned i, s;

	buf_printf(&b, "{\"schema\":\"mmtrend.run/1\",\"id\":\"" UUID
		   "000000000000\",\"started_at\":\"2026-11-30T11:04:56Z\","
		   "\"host\":{\"label\":\"load%u\",\"epoch\":{\"arch\":"
		   "\"x86_64\",\"cpu\":\"AMD EPYC 9654\",\"cpus\":2,"
		   "\"base_page_bytes\":4096,\"pmd_bytes\":2097152}},"
		   "\"kernel\":{\"release\":\"6.18.44\",\"build_id\":\""
		   BUILD_ID "000000000000\"},\"boot\":{\"id\":\"" BOOT
		   "000000000000\"},\"benches\":[", host);
	for (i = 0; i < opt.benches; i++)
		add_bench(&b, i);
	buf_str(&b, "],\"cells\":[");
	for (i = 0; i < opt.benches; i++)
		for (s = 0; s < 9; s++)
			add_cell(&b, i, s);
	buf_str(&b, "]}");
	r = record_parse(b.s, b.len, &e);
	if (!r || record_write(r, &out, &e))
		die(e.msg);
	record_free(r);
	buf_free(&b);
	return buf_detach(&out, len);
}

struct body {		/* of one host, patched for each run */
	char *text;
	size_t len;
	char *id, *build_id, *boot;
};

static void make_body(struct body *b, unsigned host)
{
	b->text = make_template(host, &b->len);
	b->id = strstr(b->text, UUID) + strlen(UUID);
	b->build_id = strstr(b->text, BUILD_ID) + strlen(BUILD_ID);
	b->boot = strstr(b->text, BOOT) + strlen(BOOT);
}

static void put_hex(char *to, unsigned n)
{
	char hex[13];

	snprintf(hex, sizeof(hex), "%012x", n);
	memcpy(to, hex, 12);
}

/* --- one connection ------------------------------------------------------ */

struct client {
	pthread_t thread;
	int fd;
	struct body *bodies;	/* by host; NULL when getting */
	char head[512], reply[65536];
};

static int reconnect(struct client *c)
{
	int one = 1;

	if (c->fd >= 0)
		close(c->fd);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!connect(c->fd, (const struct sockaddr *)&opt.to, sizeof(opt.to)))
		return 0;
	close(c->fd);
	c->fd = -1;
	return -1;
}

static int send_all(int fd, const char *head, const char *body, size_t len)
{
	struct iovec v[2] = { { (void *)(uintptr_t)head, strlen(head) },
			      { (void *)(uintptr_t)body, len } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	while (v[0].iov_len + v[1].iov_len) {
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);
		int i;

		if (n <= 0)
			return -1;
		for (i = 0; i < 2; i++) {
			size_t k = (size_t)n < v[i].iov_len ? (size_t)n :
				   v[i].iov_len;

			v[i].iov_base = (char *)v[i].iov_base + k;
			v[i].iov_len -= k;
			n -= (ssize_t)k;
		}
	}
	return 0;
}

/* Read a whole answer; its status, or -1. The body itself is dropped. */
static int read_reply(struct client *c)
{
	size_t have = 0, left;
	char *end = NULL, *length;
	ssize_t n;
	int status;

	while (!end) {
		n = recv(c->fd, c->reply + have, sizeof(c->reply) - 1 - have, 0);
		if (n <= 0)
			return -1;
		have += (size_t)n;
		c->reply[have] = '\0';
		end = strstr(c->reply, "\r\n\r\n");
	}
	length = strcasestr(c->reply, "\r\nContent-Length:");
	if (sscanf(c->reply, "HTTP/1.1 %d", &status) != 1 || !length ||
	    length > end)
		return -1;
	left = strtoul(length + 17, NULL, 10);
	have -= (size_t)(end + 4 - c->reply);
	for (left -= have; left; left -= (size_t)n) {
		n = recv(c->fd, c->reply, left < sizeof(c->reply) - 1 ? left :
			 sizeof(c->reply) - 1, 0);
		if (n <= 0)
			return -1;
	}
	return status;
}

static bool time_is_up(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > deadline.tv_sec;
}

/* Until it is answered well. */
static void request(struct client *c, const char *body, size_t len)
{
	int status = -1;

	for (;;) {
		if (c->fd >= 0 || !reconnect(c)) {
			status = send_all(c->fd, c->head, body, len) ? -1 :
				 read_reply(c);
			if (status == 200 || status == 201)
				return;
			if (status < 0) {
				close(c->fd);
				c->fd = -1;
			}
		}
		atomic_fetch_add(&refused, 1);
		if ((status >= 400 && status < 500 && status != 429) ||
		    time_is_up()) {
			fprintf(stderr, "load: gave up: %s\n", status < 0 ?
				"no answer" : c->reply);
			atomic_store(&failed, true);
			return;
		}
		usleep(RETRY_US);
	}
}

static void post_run(struct client *c, unsigned i)
{
	struct body *b = &c->bodies[i % opt.hosts];

	put_hex(b->id, opt.first + i);
	put_hex(b->boot, opt.first + i);
	put_hex(b->build_id, (opt.first + i) / opt.hosts);
	snprintf(c->head, sizeof(c->head), "POST /api/v1/runs HTTP/1.1\r\n"
		 "Host: load\r\nAuthorization: Bearer %s\r\n"
		 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		 opt.token, b->len);
	request(c, b->text, b->len);
	if (!acks || atomic_load(&failed))
		return;
	pthread_mutex_lock(&acks_lock);
	fprintf(acks, UUID "%012x\n", opt.first + i);
	fflush(acks);
	pthread_mutex_unlock(&acks_lock);
}

static void get_path(struct client *c, unsigned i)
{
	const char *mark = strchr(opt.path, '#');
	int before = (int)(mark ? mark - opt.path : (long)strlen(opt.path));
	char number[16] = "";

	if (mark)
		snprintf(number, sizeof(number), "%u", opt.first - i);
	snprintf(c->head, sizeof(c->head), "GET %.*s%s%s HTTP/1.1\r\n"
		 "Host: load\r\nAccept-Encoding: gzip\r\n\r\n", before, opt.path,
		 number, mark ? mark + 1 : "");
	request(c, "", 0);
}

static void *client_main(void *arg)
{
	struct client *c = arg;
	unsigned i;

	while ((i = atomic_fetch_add(&next_request, 1)) < opt.requests &&
	       !atomic_load(&failed)) {
		if (c->bodies)
			post_run(c, i);
		else
			get_path(c, i);
	}
	if (c->fd >= 0)
		close(c->fd);
	return NULL;
}

/* --- start --------------------------------------------------------------- */

static void parse_url(const char *url)
{
	char host[64];
	unsigned port;

	if (sscanf(url, "http://%63[0-9.]:%u", host, &port) != 2 ||
	    port > 65535 || inet_pton(AF_INET, host, &opt.to.sin_addr) != 1)
		die("-u: expected http://ADDRESS:PORT");
	opt.to.sin_family = AF_INET;
	opt.to.sin_port = htons((uint16_t)port);
}

static void read_token(const char *file)
{
	FILE *f = fopen(file, "r");

	if (!f || fscanf(f, "%127s", opt.token) != 1)
		die("-t: cannot be read");
	fclose(f);
}

static unsigned number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || end == text || n > 10000000)
		die("expected a number up to 10000000");
	return (unsigned)n;
}

static void parse_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "u:t:c:n:s:h:b:l:f:a:g:")) != -1) {
		switch (c) {
		case 'u': parse_url(optarg); break;
		case 't': opt.token_file = optarg; break;
		case 'c': opt.connections = number(optarg); break;
		case 'n': opt.requests = number(optarg); break;
		case 's': opt.seconds = number(optarg); break;
		case 'h': opt.hosts = number(optarg); break;
		case 'b': opt.benches = number(optarg); break;
		case 'l': opt.launches = number(optarg); break;
		case 'f': opt.first = number(optarg); break;
		case 'a': opt.acks = optarg; break;
		case 'g': opt.path = optarg; break;
		default: die("see the head of load.c");
		}
	}
	if (!opt.to.sin_port || !opt.token_file == !opt.path || !opt.hosts ||
	    !opt.benches || !opt.connections || !opt.launches ||
	    opt.launches > 16 ||
	    opt.connections > MAX_CONNECTIONS)
		die("expected -u, one of -t and -g, and numbers from 1");
}

static void start(struct client *c)
{
	unsigned h;

	c->fd = -1;
	if (opt.token_file) {
		c->bodies = calloc(opt.hosts, sizeof(*c->bodies));
		for (h = 0; c->bodies && h < opt.hosts; h++)
			make_body(&c->bodies[h], h);
	}
}

int main(int argc, char **argv)
{
	static struct client *client[MAX_CONNECTIONS];
	struct timespec from, to;
	unsigned i, h;
	double seconds;

	parse_options(argc, argv);
	if (opt.token_file)
		read_token(opt.token_file);
	acks = opt.acks ? fopen(opt.acks, "a") : NULL;
	for (i = 0; i < opt.connections; i++) {
		client[i] = calloc(1, sizeof(*client[i]));
		if (!client[i])
			die("out of memory");
		start(client[i]);
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	deadline = from;
	deadline.tv_sec += opt.seconds;
	for (i = 0; i < opt.connections; i++)
		if (pthread_create(&client[i]->thread, NULL, client_main, client[i]))
			die("no thread");
	for (i = 0; i < opt.connections; i++)
		pthread_join(client[i]->thread, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	seconds = (double)(to.tv_sec - from.tv_sec) +
		  (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	printf("%u requests, %.3f s, %.0f a second, %u tried again, %zu bytes each\n",
	       opt.requests, seconds, opt.requests / seconds,
	       atomic_load(&refused),
	       client[0]->bodies ? client[0]->bodies[0].len : 0);
	for (i = 0; i < opt.connections; i++) {
		for (h = 0; client[i]->bodies && h < opt.hosts; h++)
			free(client[i]->bodies[h].text);
		free(client[i]->bodies);
		free(client[i]);
	}
	if (acks)
		fclose(acks);
	return atomic_load(&failed);
}
