/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmtrendd: options, start in order, wait for a signal, stop in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http.h"
#include "plotter.h"
#include "store.h"
#include "token.h"

#define EXIT_USAGE	64
#define WATCHDOG_S	10	/* after the drain, what is stuck is left */
#define BUILD_ID	12	/* hex digits */

static const char *db, *listen_text = "127.0.0.1:8080", *tokens_file;
static const char *public_url, *port_file;
static bool allow_unjailed;
static struct http_limits limits = {
	.connections = 256, .idle_s = 30, .head_s = 10, .request_s = 120,
	.drain_s = 20, .rate_per_s = 50, .rate_burst = 200,
};

/* Every option and, beside it, what --help says. */
static const struct option_row {
	const char *name, *arg;
	const char **text;	/* one of text, number, flag */
	unsigned *number, min, max;
	bool *flag;
	const char *help;
} options[] = {
	{ "db", "FILE", &db, NULL, 0, 0, NULL,
	  "the SQLite file; made if it is not there" },
	{ "tokens", "FILE", &tokens_file, NULL, 0, 0, NULL,
	  "who may post; see mmtrendd token" },
	{ "listen", "ADDRESS:PORT", &listen_text, NULL, 0, 0, NULL,
	  "port 0 picks one" },
	{ "url", "URL", &public_url, NULL, 0, 0, NULL,
	  "how others reach it (default: the listening address)" },
	{ "port-file", "FILE", &port_file, NULL, 0, 0, NULL,
	  "write the port here once it listens" },
	{ "rate", "N", NULL, &limits.rate_per_s, 0, 1000000, NULL,
	  "requests a second per token, else per address; 0: no limit" },
	{ "burst", "N", NULL, &limits.rate_burst, 1, 1000000, NULL,
	  "requests that one caller may save up" },
	{ "connections", "N", NULL, &limits.connections, 1, 4096, NULL,
	  "at the same time; a thread each" },
	{ "idle-seconds", "N", NULL, &limits.idle_s, 1, 3600, NULL,
	  "without a byte, or between two requests" },
	{ "head-seconds", "N", NULL, &limits.head_s, 1, 3600, NULL,
	  "for a whole request head" },
	{ "request-seconds", "N", NULL, &limits.request_s, 1, 3600, NULL,
	  "for a body, its answer and its delivery" },
	{ "drain-seconds", "N", NULL, &limits.drain_s, 0, 3600, NULL,
	  "for requests in flight when it is told to stop" },
	{ "allow-unjailed", NULL, NULL, NULL, 0, 0, &allow_unjailed,
	  "draw pictures on a kernel that cannot confine gnuplot" },
};
#define NOPTIONS (sizeof(options) / sizeof(*options))

static void usage(FILE *f)
{
	fputs("usage: mmtrendd --db FILE --tokens FILE [option...]\n"
	      "       mmtrendd token add|list|revoke --tokens FILE ...\n"
	      "       mmtrendd --help | --version\n\n", f);
	for (size_t i = 0; i < NOPTIONS; i++) {
		const struct option_row *o = &options[i];

		fprintf(f, "  --%-16s%-14s%s", o->name, o->arg ? o->arg : "",
			o->help);
		if (o->number)
			fprintf(f, " (%u)", *o->number);
		else if (o->text && *o->text)
			fprintf(f, " (%s)", *o->text);
		fputc('\n', f);
	}
}

static int set_option(const struct option_row *o, const char *value,
		      struct err *e)
{
	char *end;
	unsigned long n;

	if (o->flag) {
		*o->flag = true;
		return value ? err_set(e, "--%s takes no value", o->name) : 0;
	}
	if (!value || !*value)
		return err_set(e, "--%s: expected %s", o->name, o->arg);
	if (o->text) {
		*o->text = value;
		return 0;
	}
	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || *end || *value < '0' || *value > '9' || n < o->min ||
	    n > o->max)
		return err_set(e, "--%s: expected a number from %u to %u, got "
			       "\"%s\"", o->name, o->min, o->max, value);
	*o->number = (unsigned)n;
	return 0;
}

static const struct option_row *find_option(const char *name, size_t len)
{
	for (size_t i = 0; i < NOPTIONS; i++)
		if (strlen(options[i].name) == len &&
		    !strncmp(options[i].name, name, len))
			return &options[i];
	return NULL;
}

static int parse_options(int argc, char **argv, struct err *e)
{
	for (int i = 1; i < argc; i++) {
		const struct option_row *o;
		const char *value = strchr(argv[i], '=');
		size_t len = strcspn(argv[i], "=");

		o = strncmp(argv[i], "--", 2) ? NULL :
		    find_option(argv[i] + 2, len - 2);
		if (!o)
			return err_set(e, "%s: unknown option", argv[i]);
		if (value)
			value++;
		else if (!o->flag)
			value = argv[++i];
		if (set_option(o, value, e))
			return -1;
	}
	if (!db || !tokens_file)
		return err_set(e, "expected --db FILE and --tokens FILE");
	return 0;
}

/* The first hex digits of this program's own SHA-256. */
static int read_build_id(char out[BUILD_ID + 1], struct err *e)
{
	unsigned char md[EVP_MAX_MD_SIZE], chunk[16384];
	FILE *f = fopen("/proc/self/exe", "re");
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int ok = f && ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
	size_t n;

	while (ok && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		ok = EVP_DigestUpdate(ctx, chunk, n);
	ok = ok && !ferror(f) && EVP_DigestFinal_ex(ctx, md, NULL);
	for (size_t i = 0; ok && i < BUILD_ID / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", md[i]);
	EVP_MD_CTX_free(ctx);
	if (f)
		fclose(f);
	return ok ? 0 : err_set(e, "/proc/self/exe: cannot be read");
}

/* Whoever waits for this file sees none or all of it. */
static int write_port(unsigned port, struct err *e)
{
	char *new = NULL;
	FILE *f = NULL;
	int ret = -1;

	if (!port_file)
		return 0;
	if (asprintf(&new, "%s.new", port_file) < 0)
		return err_set(e, "no memory");
	f = fopen(new, "we");
	if (f && fprintf(f, "%u\n", port) > 0 && !fflush(f) &&
	    !rename(new, port_file))
		ret = 0;
	else
		err_set(e, "%s: %s", port_file, strerror(errno));
	if (f)
		fclose(f);
	free(new);
	return ret;
}

static const char *default_url(unsigned port, char out[128])
{
	int len = (int)(strrchr(listen_text, ':') - listen_text);

	snprintf(out, 128, "http://%.*s:%u", len ? len : 9,
		 len ? listen_text : "127.0.0.1", port);
	return out;
}

static void on_alarm(int sig)
{
	static const char text[] = "mmtrendd: stuck while stopping\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

/* Blocked here and so in every thread; main() waits for them. */
static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, on_alarm);
}

/* 256 threads that each keep freed memory would fill a small machine. */
static void keep_memory_small(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int serve(struct site *site, const char *jail, struct err *e)
{
	static char url[128];	/* as long as the site */
	struct http *http = NULL;
	sigset_t set;
	int ret = -1, sig;

	block_signals(&set);
	site->store = store_open(db, e);
	if (!site->store)
		goto out;
	site->tokens = tokens_open(tokens_file, e);
	if (!site->tokens)
		goto out;
	fprintf(stderr, "mmtrendd: gnuplot runs in: %s\n",
		*jail ? jail : "no jail at all (--allow-unjailed)");
	if (plotter_self_test(site->plotter, e))
		fprintf(stderr, "mmtrendd: PICTURES FAIL, pages still work: "
			"%s\n", e->msg);
	http = http_open(listen_text, &limits, e);
	if (!http)
		goto out;
	site->public_url = public_url ? public_url :
		default_url(http_port(http), url);
	if (http_start(http, site, e) || write_port(http_port(http), e))
		goto out;
	fprintf(stderr, "mmtrendd: listening on %s\n", site->public_url);
	sigwait(&set, &sig);
	fprintf(stderr, "mmtrendd: %s, finishing requests\n", strsignal(sig));
	ret = 0;
out:
	alarm(limits.drain_s + WATCHDOG_S);
	http_stop(http);
	store_close(site->store);
	tokens_close(site->tokens);
	return ret;
}

int main(int argc, char **argv)
{
	struct site site = { 0 };
	char jail[160] = "", build_id[BUILD_ID + 1] = "";
	struct err e;
	int ret;

	if (argc > 1 && !strcmp(argv[1], "token"))
		return token_command(argc - 1, argv + 1);
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("mmtrendd " MMTREND_VERSION);
		return 0;
	}
	if (parse_options(argc, argv, &e)) {
		fprintf(stderr, "mmtrendd: %s; see --help\n", e.msg);
		return EXIT_USAGE;
	}
	keep_memory_small();
	ret = read_build_id(build_id, &e);
	site.build_id = build_id;
	if (!ret) {
		site.plotter = plotter_start(allow_unjailed, jail, &e);
		ret = site.plotter ? serve(&site, jail, &e) : -1;
	}
	if (ret)
		fprintf(stderr, "mmtrendd: %s\n", e.msg);
	plotter_stop(site.plotter);
	return ret ? 1 : 0;
}
