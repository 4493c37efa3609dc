/* SPDX-License-Identifier: GPL-2.0-only */
/* Sends runs to the server, each until it is there once; keeps what is not. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>
#include <jansson.h>

#include "../common/buf.h"
#include "../common/record.h"
#include "host.h"
#include "push.h"
#include "spool.h"

#define URL_DEFAULT	"http://127.0.0.1:8080"
#define URL_MAX		1024
#define TRIES_DEFAULT	8
#define GIVE_UP		3	/* runs in a row that could not be sent */
#define BACKOFF_MS	100	/* the first wait is shorter, each next doubles */
#define BACKOFF_MAX_MS	60000
#define RETRY_MAX_S	300	/* the longest Retry-After that is obeyed */
#define REPLY_MAX	(64u << 10)
#define TOKEN_MAX	512
#define CONNECT_S	10L
#define TOTAL_S		120L
#define STALLED_S	30L	/* this long under 1 byte a second */

enum {
	EXIT_SENT = 0, EXIT_REFUSED = 3, EXIT_NOT_SENT = 4, EXIT_USAGE = 64,
};

enum outcome {
	SENT,
	REFUSED,	/* for good: the same bytes would be refused again */
	KEPT,		/* not now, this one */
	AWAY,		/* nor any other: wrong token, wrong address */
};

struct push {
	CURL *curl;
	const char *base;		/* URL without a trailing slash */
	size_t base_len;
	bool loopback;
	unsigned max_tries, tries;	/* tries: for the next run */
	char auth[TOKEN_MAX + 32];
};

struct reply {
	long status;			/* 0: none came */
	int64_t retry_after_s;
	struct buf body;
	struct err why;			/* if it is no success */
};

/* --- usage: where to, and who we are -------------------------------------- */

static bool is_loopback(const char *host)
{
	struct in_addr v4;

	if (!strcmp(host, "localhost") || !strcmp(host, "[::1]"))
		return true;
	return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

/* http or https, a host, perhaps a path; no user, query or fragment. */
static int check_url(struct push *p, const struct push_opts *o, struct err *e)
{
	static const CURLUPart unwanted[] = {
		CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT,
	};
	char *scheme = NULL, *host = NULL, *part = NULL;
	CURLU *u = curl_url();
	int ret = -1;

	if (!u || p->base_len > URL_MAX ||
	    curl_url_set(u, CURLUPART_URL, p->base, 0) ||
	    curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) ||
	    (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)) {
		err_set(e, "--url: expected http://... or https://..., got \"%.80s\"",
			p->base);
		goto out;
	}
	for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]) && !part; i++)
		if (curl_url_get(u, unwanted[i], &part, 0))
			part = NULL;
	if (part) {
		err_set(e, "--url: expected no user, password, query or fragment in it");
		goto out;
	}
	p->loopback = is_loopback(host);
	if (!strcmp(scheme, "http") && !p->loopback && !o->insecure) {
		err_set(e, "--url: the token would travel in the clear to %.80s: "
			"use https, or --insecure", host);
		goto out;
	}
	ret = 0;
out:
	curl_free(scheme);
	curl_free(host);
	curl_free(part);
	curl_url_cleanup(u);
	return ret;
}

/* One plain token in a file that its owner alone can read. */
static int read_token(struct push *p, const char *path, struct err *e)
{
	char token[TOKEN_MAX + 1];
	struct stat st;
	ssize_t n = -1;
	int fd;

	if (!path || !*path)
		return err_set(e, "no token: give --token-file, or set MMTREND_TOKEN_FILE");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(e, "token file %s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		n = read(fd, token, TOKEN_MAX);
	close(fd);
	if (n < 0)
		return err_set(e, "token file %s: expected a plain file", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(e, "token file %s: others may read it (chmod 600)", path);
	while (n && strchr(" \t\r\n", token[n - 1]))
		n--;
	token[n] = '\0';
	if (!n || n != (ssize_t)strspn(token, "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.~+/="))
		return err_set(e, "token file %s: expected one token only", path);
	snprintf(p->auth, sizeof(p->auth), "Authorization: Bearer %s", token);
	return 0;
}

/* --- one request ----------------------------------------------------------- */

/*
 * What an answer means. 404, 405 and redirects say that this is not the API of
 * an mmtrendd: the address is wrong, not the run.
 */
static enum outcome judge(long status)
{
	if (status == 200 || status == 201 || status == 204)
		return SENT;
	if (status == 401 || status == 404 || status == 405 ||
	    (status >= 300 && status < 400))
		return AWAY;
	if (status < 400 || status >= 500 || status == 403 || status == 408 ||
	    status == 425 || status == 429)
		return KEPT;
	return REFUSED;
}

static size_t take(char *data, size_t size, size_t n, void *arg)
{
	struct reply *re = arg;

	if (re->body.len + size * n > REPLY_MAX)
		return 0;
	buf_add(&re->body, data, size * n);
	return buf_ok(&re->body) ? size * n : 0;
}

static void set_options(struct push *p)
{
	CURL *c = p->curl;

	curl_easy_reset(c);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, TOTAL_S);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, STALLED_S);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "mmtrend/" MMTREND_VERSION);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
	if (p->loopback)
		curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
}

/* Say what the server said, in its "error" if it sent one; harmless to print. */
static void explain(struct reply *re, const char *url)
{
	const char *body = re->body.len ? re->body.s : "";
	json_t *j = json_loadb(body, re->body.len, 0, NULL);
	const char *said = json_string_value(json_object_get(j, "error"));
	const char *hint = re->status == 401 ? " (the right token file?)" :
		judge(re->status) == AWAY ? " (an mmtrendd's address?)" : "";

	err_set(&re->why, "%s: the server answered %ld: %.300s%s", url, re->status,
		said ? said : body, hint);
	for (char *p = re->why.msg; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = ' ';
	json_decref(j);
}

static void request(struct push *p, const char *method, const char *path,
		    struct curl_slist *headers, const struct buf *body,
		    struct reply *re)
{
	char url[URL_MAX + 128], wrong[CURL_ERROR_SIZE] = "";
	curl_off_t retry_s = 0;
	CURLcode rc;

	set_options(p);
	snprintf(url, sizeof(url), "%.*s%s", (int)p->base_len, p->base, path);
	curl_easy_setopt(p->curl, CURLOPT_URL, url);
	curl_easy_setopt(p->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(p->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(p->curl, CURLOPT_POSTFIELDS, body->s);
	curl_easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	curl_easy_setopt(p->curl, CURLOPT_WRITEDATA, re);
	curl_easy_setopt(p->curl, CURLOPT_ERRORBUFFER, wrong);
	buf_reset(&re->body, 0);
	re->status = 0;
	re->retry_after_s = 0;
	rc = curl_easy_perform(p->curl);
	if (rc) {
		err_set(&re->why, "%s: %s", url, *wrong ? wrong : curl_easy_strerror(rc));
		return;
	}
	curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &re->status);
	curl_easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &retry_s);
	re->retry_after_s = retry_s > RETRY_MAX_S ? RETRY_MAX_S : retry_s;
	explain(re, url);
}

/* Full jitter: clients that failed together do not come back together. */
static void back_off(unsigned attempt, int64_t retry_after_s)
{
	int64_t ms = BACKOFF_MAX_MS, at_least = retry_after_s * 1000;
	struct timespec ts;
	uint32_t dice = 0;

	if (attempt < 8 && (int64_t)BACKOFF_MS << attempt < ms)
		ms = (int64_t)BACKOFF_MS << attempt;
	if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
		dice = UINT32_MAX / 2;
	ms = ms * dice / UINT32_MAX;
	if (ms < at_least)
		ms = at_least;
	ts.tv_sec = ms / 1000;
	ts.tv_nsec = ms % 1000 * 1000000;
	nanosleep(&ts, NULL);
}

/* A whole receipt, or it is none: a portal's "200 Welcome" takes no run. */
static json_t *read_receipt(struct reply *re, const char *id)
{
	json_t *j = json_loadb(re->body.len ? re->body.s : "", re->body.len,
			       JSON_REJECT_DUPLICATES, NULL);
	const char *got = json_string_value(json_object_get(j, "id"));

	if (got && !strcmp(got, id))
		return j;
	json_decref(j);
	err_set(&re->why, "the server answered %ld without a receipt for run %s",
		re->status, id);
	return NULL;
}

/* --- one run --------------------------------------------------------------- */

/* The server lacks this kernel's config. Best effort: the next run asks again. */
static void send_config(struct push *p, const struct record *r)
{
	struct reply re = { .body = BUF_INIT };
	struct curl_slist *headers = NULL, *more;
	struct buf body = BUF_INIT;
	char path[128], hex[65] = "";
	struct err e = { "" };
	size_t len = 0;

	body.s = host_config(&len, &e);
	body.len = body.cap = len;
	if (body.s)
		host_sha256(body.s, len, hex);
	if (!r->kernel.config_sha256 || strcmp(hex, r->kernel.config_sha256) != 0)
		goto out;	/* the run is of another boot */
	headers = curl_slist_append(NULL, p->auth);
	more = curl_slist_append(headers, "Content-Type: application/octet-stream");
	if (!headers || !more || !curl_slist_append(headers, "Expect:"))
		goto out;
	snprintf(path, sizeof(path), "/api/v1/files/%s", hex);
	for (unsigned i = 1; i <= p->max_tries; i++) {
		request(p, "PUT", path, headers, &body, &re);
		if (judge(re.status) != KEPT)
			break;
		back_off(i, re.retry_after_s);
	}
	if (judge(re.status) != SENT)
		fprintf(stderr, "mmtrend: push: kernel config not sent: %s\n",
			re.why.msg);
out:
	curl_slist_free_all(headers);
	buf_free(&body);
	buf_free(&re.body);
}

static enum outcome post(struct push *p, const struct record *r,
			 const struct buf *body, struct reply *re,
			 json_t **receipt)
{
	struct curl_slist *headers = NULL;
	enum outcome got = KEPT;
	char key[80];

	snprintf(key, sizeof(key), "Idempotency-Key: %.40s", r->id);
	headers = curl_slist_append(NULL, p->auth);
	if (!headers || !curl_slist_append(headers, key) ||
	    !curl_slist_append(headers, "Content-Type: application/json") ||
	    !curl_slist_append(headers, "Expect:")) {	/* else 1 s is lost */
		err_set(&re->why, "no memory");
		goto out;
	}
	for (unsigned i = 1; ; i++) {
		request(p, "POST", "/api/v1/runs", headers, body, re);
		got = judge(re->status);
		if (got == SENT && !(*receipt = read_receipt(re, r->id)))
			got = KEPT;
		if (got != KEPT || re->status == 403 || i >= p->tries)
			break;
		back_off(i, re->retry_after_s);
	}
out:
	curl_slist_free_all(headers);
	return got;
}

static int read_file(const char *path, struct buf *b, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char chunk[16384];
	ssize_t n = 0;

	if (fd < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	while (b->len <= RECORD_MAX_BODY &&
	       (n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(b, chunk, (size_t)n);
	close(fd);
	if (n < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	if (b->len > RECORD_MAX_BODY)
		return err_set(e, "%s: expected at most %u bytes", path, RECORD_MAX_BODY);
	return buf_ok(b) ? 0 : err_set(e, "no memory");
}

/* @e: why it is not SENT; on REFUSED what to keep beside it. */
static enum outcome send_file(struct push *p, const char *path, struct err *e)
{
	struct reply re = { .body = BUF_INIT };
	struct buf body = BUF_INIT;
	struct record *r = NULL;
	json_t *receipt = NULL;
	enum outcome got = KEPT;
	const char *url;

	if (read_file(path, &body, e))
		goto out;
	r = record_parse(body.s ? body.s : "", body.len, e);
	if (!r) {
		got = REFUSED;
		goto out;
	}
	got = post(p, r, &body, &re, &receipt);
	if (got != SENT) {
		*e = re.why;
		goto out;
	}
	url = json_string_value(json_object_get(receipt, "url"));
	if (url && !url[strcspn(url, "\r\n\033")])
		puts(url);
	if (json_is_true(json_object_get(receipt, "want_config")))
		send_config(p, r);
out:
	json_decref(receipt);
	record_free(r);
	buf_free(&body);
	buf_free(&re.body);
	return got;
}

/* --- many ------------------------------------------------------------------ */

struct tally {
	unsigned sent, refused, kept, in_row;
	bool away;
};

static void count(struct push *p, struct tally *t, enum outcome got,
		  const char *path, const struct err *e)
{
	t->sent += got == SENT;
	t->refused += got == REFUSED;
	t->kept += got == KEPT || got == AWAY;
	t->in_row = got == KEPT ? t->in_row + 1 : 0;
	t->away |= got == AWAY || t->in_row >= GIVE_UP;
	/* A server that was away for one run is not waited for by each. */
	p->tries = got == KEPT ? 1 : p->max_tries;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%u sent, %u refused, %u not sent%s", t->sent,
			t->refused, t->kept, got == SENT ? "" : "\n");
	if (got != SENT)
		fprintf(stderr, "mmtrend: push: %s: %s: %s\n", path,
			got == REFUSED ? "refused" : "not sent", e->msg);
}

static void push_files(struct push *p, char *const *files, size_t n,
		       struct tally *t)
{
	for (size_t i = 0; i < n; i++) {
		struct err e = { "" };
		enum outcome got = t->away ? AWAY : send_file(p, files[i], &e);

		if (t->away)
			err_set(&e, "the server is not there for it");
		count(p, t, got, files[i], &e);
	}
}

static void push_spool(struct push *p, struct tally *t)
{
	char path[4096], after[4096] = "";
	struct err e = { "" }, why;
	enum outcome got;
	int more;

	while (!t->away &&
	       (more = spool_next(*after ? after : NULL, path, &e)) == 1) {
		got = send_file(p, path, &why);
		count(p, t, got, path, &why);
		snprintf(after, sizeof(after), "%s", path);
		if ((got == SENT && spool_drop(path, &e)) ||
		    (got == REFUSED && spool_bury(path, why.msg, &e))) {
			more = -1;
			break;
		}
	}
	if (!t->away && more < 0) {
		fprintf(stderr, "mmtrend: push: spool: %s\n", e.msg);
		t->kept++;
	}
}

int push_send(const struct push_opts *o, char *const *files, size_t nfiles)
{
	const char *token = o->token_file;
	struct push p = { .max_tries = o->max_tries };
	int ret = EXIT_USAGE;
	struct tally t = { 0 };
	struct err e = { "" };

	if (!token)
		token = getenv("MMTREND_TOKEN_FILE");
	if (!p.max_tries)
		p.max_tries = TRIES_DEFAULT;
	p.tries = p.max_tries;
	p.base = o->url ? o->url : getenv("MMTREND_URL");
	if (!p.base || !*p.base)
		p.base = URL_DEFAULT;
	p.base_len = strlen(p.base);
	while (p.base_len && p.base[p.base_len - 1] == '/')
		p.base_len--;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (check_url(&p, o, &e) || read_token(&p, token, &e)) {
		fprintf(stderr, "mmtrend: push: %s\n", e.msg);
		goto out;
	}
	p.curl = curl_easy_init();
	if (p.curl && nfiles)
		push_files(&p, files, nfiles, &t);
	else if (p.curl)
		push_spool(&p, &t);
	if (isatty(STDERR_FILENO) && t.sent)
		fputc('\n', stderr);
	ret = !p.curl || t.kept ? EXIT_NOT_SENT :
	      t.refused ? EXIT_REFUSED : EXIT_SENT;
out:
	curl_easy_cleanup(p.curl);
	curl_global_cleanup();
	return ret;
}
