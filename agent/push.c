/* SPDX-License-Identifier: GPL-2.0-only */
/* Talks to the server: each run until it is there once; keeps what is not. */
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
#include "file.h"
#include "host.h"
#include "push.h"
#include "spool.h"

#define URL_DEFAULT	"http://127.0.0.1:8080"
#define URL_MAX		1024
#define TRIES		8
#define GET_TRIES	3
#define GIVE_UP		3	/* runs in a row that could not be sent */
#define BACKOFF_MS	100	/* the first wait is shorter, each next doubles */
#define RETRY_MAX_S	300	/* the longest Retry-After that is obeyed */
#define REPLY_MAX	(64u << 10)
#define PAGES_MAX	(256u << 10)	/* bytes of pages that are told */
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
	char auth[TOKEN_MAX + 32];
	unsigned tries;			/* for the next run */
	unsigned sent, refused, kept, kept_in_row;
	bool away;
	struct buf pages;		/* lines, after a first empty one */
};

struct reply {
	long status;			/* 0: none came */
	int64_t retry_after_s;
	struct buf body;
	size_t cap;			/* of body; 0: REPLY_MAX */
	json_t *receipt;		/* on SENT of a run */
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

static int check_url(struct push *p, const struct push_opts *o, struct err *e)
{
	char *scheme = NULL, *host = NULL;
	CURLU *u = curl_url();
	int ret = 0;

	p->base = o->url ? o->url : getenv("MMTREND_URL");
	if (!p->base || !*p->base)
		p->base = URL_DEFAULT;
	p->base_len = strlen(p->base);
	while (p->base_len && p->base[p->base_len - 1] == '/')
		p->base_len--;
	if (!u || p->base_len > URL_MAX || strpbrk(p->base, "?#") ||
	    curl_url_set(u, CURLUPART_URL, p->base, CURLU_DISALLOW_USER) ||
	    curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) ||
	    (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		ret = err_set(e, "--url: expected http[s]://HOST[:PORT][/PATH], "
			      "without user or query, got \"%.80s\"", p->base);
	else if (!(p->loopback = is_loopback(host)) && !o->insecure &&
		 !strcmp(scheme, "http"))
		ret = err_set(e, "--url: plain http to %.80s can be read and "
			      "changed: use https, or --insecure", host);
	curl_free(scheme);
	curl_free(host);
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

	if (!path)
		path = getenv("MMTREND_TOKEN_FILE");
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

	if (re->body.len + size * n > (re->cap ? re->cap : REPLY_MAX))
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
		judge(re->status) == AWAY && !said ? " (an mmtrendd's address?)" : "";

	err_set(&re->why, "%s: the server answered %ld: %.300s%s", url, re->status,
		said ? said : body, hint);
	for (char *p = re->why.msg; *p; p++)
		if (*p < ' ' || *p > '~')	/* so are bytes of UTF-8: C1 */
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
	if (body) {
		curl_easy_setopt(p->curl, CURLOPT_POSTFIELDS, body->s);
		curl_easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)body->len);
	}
	curl_easy_setopt(p->curl, CURLOPT_WRITEDATA, re);
	curl_easy_setopt(p->curl, CURLOPT_ERRORBUFFER, wrong);
	buf_reset(&re->body, 0);
	re->status = 0;
	re->retry_after_s = 0;
	rc = curl_easy_perform(p->curl);
	if (rc == CURLE_WRITE_ERROR && buf_ok(&re->body))
		err_set(&re->why, "%s: its answer is too long", url);
	else if (rc)
		err_set(&re->why, "%s: %s", url, *wrong ? wrong : curl_easy_strerror(rc));
	if (rc)
		return;
	curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &re->status);
	curl_easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &retry_s);
	re->retry_after_s = retry_s > RETRY_MAX_S ? RETRY_MAX_S : retry_s;
	if (judge(re->status) != SENT)
		explain(re, url);
}

/* Full jitter: clients that failed together do not come back together. */
static void back_off(unsigned attempt, int64_t retry_after_s)
{
	int64_t ms = (int64_t)BACKOFF_MS << attempt;
	struct timespec ts;
	uint32_t dice = 0;

	if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
		dice = UINT32_MAX / 2;
	ms = ms * dice / UINT32_MAX;
	if (ms < retry_after_s * 1000)
		ms = retry_after_s * 1000;
	ts.tv_sec = ms / 1000;
	ts.tv_nsec = ms % 1000 * 1000000;
	nanosleep(&ts, NULL);
}

/* A whole receipt, or it is none: a portal's "200 Welcome" takes no run, and no
 * skip, which has no id but a status. */
static enum outcome read_receipt(struct reply *re, const char *id)
{
	json_t *j = json_loadb(re->body.len ? re->body.s : "", re->body.len,
			       JSON_REJECT_DUPLICATES, NULL);
	const char *got = json_string_value(json_object_get(j, *id ? "id" :
							    "status"));

	if (got && (!*id || !strcmp(got, id))) {
		re->receipt = j;
		return SENT;
	}
	json_decref(j);
	err_set(&re->why, "the server answered %ld without a receipt%s%s",
		re->status, *id ? " for run " : "", id);
	return *id ? KEPT : AWAY;
}

/* Send until it is there, refused, or tried often enough. @id: of the run that
 * the receipt must name, "": a skip; NULL: no receipt. @body NULL: none. */
static enum outcome deliver(struct push *p, const char *method, const char *path,
			    const struct buf *body, const char *id,
			    struct reply *re)
{
	/* Expect has no value: else 1 s is lost. */
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
	enum outcome got = KEPT;
	char key[80];

	snprintf(key, sizeof(key), "Idempotency-Key: %.40s", id ? id : "");
	if (!headers || (*p->auth && !curl_slist_append(headers, p->auth)) ||
	    !curl_slist_append(headers, key) ||
	    !curl_slist_append(headers, strcmp(method, "PUT") != 0 ?
				"Content-Type: application/json" :
				"Content-Type: application/octet-stream")) {
		err_set(&re->why, "no memory");
		goto out;
	}
	for (unsigned i = 1; ; i++) {
		request(p, method, path, headers, body, re);
		got = judge(re->status);
		if (got == SENT && id)
			got = read_receipt(re, id);
		if (got != KEPT || re->status == 403 || i >= p->tries)
			break;
		back_off(i, re->retry_after_s);
	}
out:
	curl_slist_free_all(headers);
	return got;
}

static void reply_free(struct reply *re)
{
	json_decref(re->receipt);
	buf_free(&re->body);
}

/* --- one run --------------------------------------------------------------- */

/* The server lacks this kernel's config. Best effort: the next run asks again. */
static void send_config(struct push *p, const struct record *r)
{
	struct reply re = { .body = BUF_INIT };
	struct buf body = BUF_INIT;
	char path[128], hex[65] = "";
	struct err e;

	body.s = host_config(&body.len, &e);
	body.cap = body.len;
	if (body.s)
		host_sha256(body.s, body.len, hex);
	snprintf(path, sizeof(path), "/api/v1/files/%s", hex);
	/* else the run is of another boot */
	if (r->kernel.config_sha256 && !strcmp(hex, r->kernel.config_sha256) &&
	    deliver(p, "PUT", path, &body, NULL, &re) != SENT)
		fprintf(stderr, "mmtrend: push: kernel config not sent: %s\n",
			re.why.msg);
	buf_free(&body);
	reply_free(&re);
}

/* Each once; the loop of the `null` benchmark is no trend to look at. */
static void note_pages(struct push *p, const json_t *receipt)
{
	json_t *urls = json_object_get(receipt, "urls");

	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		struct buf line = BUF_INIT;

		buf_printf(&line, "\n%s\n", url ? url : "");
		if (url && buf_ok(&line) && !url[strcspn(url, "\r\n\033")] &&
		    !strstr(url, "bench=null&") &&
		    (!p->pages.s || !strstr(p->pages.s, line.s)) &&
		    p->pages.len + line.len < PAGES_MAX)
			buf_str(&p->pages, line.s + (p->pages.len > 0));
		buf_free(&line);
	}
}

/* @e: why it is not SENT; on REFUSED what to keep beside it. */
static enum outcome send_file(struct push *p, const char *path, struct err *e)
{
	struct reply re = { .body = BUF_INIT };
	struct buf body = BUF_INIT;
	struct record *r = NULL;
	enum outcome got = KEPT;

	if (file_read(path, RECORD_MAX_BODY, &body, e))
		goto out;
	got = REFUSED;
	r = record_parse(body.s ? body.s : "", body.len, e);
	if (!r)
		goto out;
	got = deliver(p, "POST", "/api/v1/runs", &body, r->id, &re);
	*e = re.why;
	if (got != SENT)
		goto out;
	note_pages(p, re.receipt);
	if (json_is_true(json_object_get(re.receipt, "want_config")))
		send_config(p, r);
out:
	record_free(r);
	buf_free(&body);
	reply_free(&re);
	return got;
}

/* --- many ------------------------------------------------------------------ */

static void count(struct push *p, enum outcome got, const char *path,
		  const struct err *why)
{
	p->sent += got == SENT;
	p->refused += got == REFUSED;
	p->kept += got == KEPT || got == AWAY;
	p->kept_in_row = got == KEPT ? p->kept_in_row + 1 : 0;
	p->away |= got == AWAY || p->kept_in_row >= GIVE_UP;
	/* A server that was away for one run is not waited for by each. */
	p->tries = got == KEPT ? 1 : TRIES;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%u sent, %u refused, %u not sent%s", p->sent,
			p->refused, p->kept, got == SENT ? "" : "\n");
	if (got != SENT)
		fprintf(stderr, "mmtrend: push: %s: %s: %s\n", path,
			got == REFUSED ? "refused" : "not sent", why->msg);
}

static void push_files(struct push *p, char *const *files, size_t n)
{
	struct err why;

	for (size_t i = 0; i < n && !p->away; i++)
		count(p, send_file(p, files[i], &why), files[i], &why);
}

static void push_spool(struct push *p)
{
	char path[PATH_MAX] = "";
	struct err e, why;
	int more = 0;

	while (!p->away && (more = spool_next(*path ? path : NULL, path, &e)) > 0) {
		enum outcome got = send_file(p, path, &why);

		count(p, got, path, &why);
		if ((got == SENT && spool_drop(path, &e)) ||
		    (got == REFUSED && spool_bury(path, why.msg, &e))) {
			more = -1;
			break;
		}
	}
	if (more < 0) {
		fprintf(stderr, "mmtrend: push: spool: %s\n", e.msg);
		p->kept++;
	}
}

/* --- the doors ------------------------------------------------------------- */

static int begin(struct push *p, const struct push_opts *o, bool token,
		 struct err *e)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (check_url(p, o, e) || (token && read_token(p, o->token_file, e)))
		return EXIT_USAGE;
	p->curl = curl_easy_init();
	if (p->curl)
		return EXIT_SENT;
	err_set(e, "no memory");
	return EXIT_NOT_SENT;
}

static void end(struct push *p)
{
	buf_free(&p->pages);
	curl_easy_cleanup(p->curl);
	curl_global_cleanup();
}

int push_send(const struct push_opts *o, char *const *files, size_t nfiles)
{
	struct push p = { .tries = TRIES, .pages = BUF_INIT };
	struct err e;
	int ret = begin(&p, o, true, &e);

	if (ret) {
		fprintf(stderr, "mmtrend: push: %s\n", e.msg);
		goto out;
	}
	if (nfiles)
		push_files(&p, files, nfiles);
	else
		push_spool(&p);
	if (isatty(STDERR_FILENO) && p.sent)
		fputc('\n', stderr);
	if (p.pages.len)
		fputs(p.pages.s + 1, stdout);
	ret = p.kept ? EXIT_NOT_SENT : p.refused ? EXIT_REFUSED : EXIT_SENT;
out:
	end(&p);
	return ret;
}

int push_skip(const struct push_opts *o, const struct push_skip *s, struct err *e)
{
	static const int exits[] = {
		[SENT] = EXIT_SENT, [REFUSED] = EXIT_REFUSED,
		[KEPT] = EXIT_NOT_SENT, [AWAY] = EXIT_NOT_SENT,
	};
	struct push p = { .tries = TRIES, .pages = BUF_INIT };
	struct reply re = { .why = { "--host, --reason: expected UTF-8" }, .body = BUF_INIT };
	json_t *j = json_pack("{s:s, s:s, s:s?, s:s?, s:s}",
			      "schema", "mmtrend.skip/1", "host", s->host,
			      "push", s->push, "commit", s->commit,
			      "reason", s->reason);
	char *text = json_dumps(j, JSON_COMPACT);
	struct buf body = { .s = text, .len = text ? strlen(text) : 0 };
	int ret = begin(&p, o, true, e);

	if (!ret) {
		ret = exits[text ? deliver(&p, "POST", "/api/v1/skips", &body,
					   "", &re) : REFUSED];
		*e = re.why;
	}
	free(text);
	json_decref(j);
	reply_free(&re);
	end(&p);
	return ret;
}

int push_get(const struct push_opts *o, const char *path, size_t cap,
	     struct buf *out, struct err *e)
{
	struct push p = { .tries = GET_TRIES, .pages = BUF_INIT };
	struct reply re = { .body = BUF_INIT, .cap = cap };
	int ret = begin(&p, o, false, e);

	if (!ret && deliver(&p, "GET", path, NULL, NULL, &re) != SENT) {
		*e = re.why;
		ret = EXIT_NOT_SENT;
	}
	if (!ret) {
		*out = re.body;
		re.body = (struct buf)BUF_INIT;
	}
	reply_free(&re);
	end(&p);
	return ret;
}
