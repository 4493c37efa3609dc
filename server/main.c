/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmtrendd: options, start in order, wait for a signal, stop in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http.h"
#include "plotter.h"
#include "store.h"
#include "token.h"

#define EXIT_USAGE	64
#define WATCHDOG_S	10	/* after the drain, what is stuck is left */
#define BUILD_ID	12	/* hex digits */
#define REAP_NS		200000000l

static const char *db, *listen_text = "127.0.0.1:8080", *tokens_file;
static const char *public_url, *port_file;
static bool allow_unjailed, help, version;
static struct http_limits limits = {
	.connections = 256, .idle_s = 30, .head_s = 10, .request_s = 120,
	.drain_s = 20, .rate_per_s = 50, .rate_burst = 200,
};

/* Every option and, beside it, what --help says. */
static const struct option_row {
	const char *name, *arg, *help;
	const char **text;	/* one of text, number, flag */
	unsigned *number, min, max;
	bool *flag;
} rows[] = {
	{ "db", "FILE", "the SQLite file; made if it is not there",
	  .text = &db },
	{ "tokens", "FILE", "who may post; see mmtrendd token",
	  .text = &tokens_file },
	{ "listen", "ADDRESS:PORT", "port 0 picks one", .text = &listen_text },
	{ "url", "URL", "how others reach it (default: the listening address)",
	  .text = &public_url },
	{ "port-file", "FILE", "write the port here once it listens",
	  .text = &port_file },
	{ "rate", "N", "requests a second per token, else per address; "
	  "0: no limit", .number = &limits.rate_per_s, .max = 1000000 },
	{ "burst", "N", "requests that one caller may save up",
	  .number = &limits.rate_burst, .min = 1, .max = 1000000 },
	{ "connections", "N", "at the same time; a thread each",
	  .number = &limits.connections, .min = 1, .max = 4096 },
	{ "idle-seconds", "N", "without a byte, or between two requests",
	  .number = &limits.idle_s, .min = 1, .max = 3600 },
	{ "head-seconds", "N", "for a whole request head",
	  .number = &limits.head_s, .min = 1, .max = 3600 },
	{ "request-seconds", "N", "for a body, its answer and its delivery",
	  .number = &limits.request_s, .min = 1, .max = 3600 },
	{ "drain-seconds", "N", "for requests in flight when told to stop",
	  .number = &limits.drain_s, .max = 3600 },
	{ "allow-unjailed", NULL, "draw pictures on a kernel that cannot "
	  "confine gnuplot", .flag = &allow_unjailed },
	{ "help", NULL, "this text", .flag = &help },
	{ "version", NULL, "the version", .flag = &version },
};
#define NROWS (sizeof(rows) / sizeof(*rows))

static int usage(void)
{
	puts("usage: mmtrendd --db FILE --tokens FILE [option...]\n"
	     "       mmtrendd token add|list|revoke --tokens FILE ...\n");
	for (const struct option_row *o = rows; o < rows + NROWS; o++) {
		printf("  --%-16s%-14s%s", o->name, o->arg ? o->arg : "",
		       o->help);
		if (o->number)
			printf(" (%u)", *o->number);
		else if (o->text && *o->text)
			printf(" (%s)", *o->text);
		putchar('\n');
	}
	return 0;
}

static int set_option(const struct option_row *o, const char *value,
		      struct err *e)
{
	unsigned long n;
	char *end;

	if (o->flag) {
		*o->flag = true;
	} else if (o->text) {
		*o->text = value;
	} else {
		errno = 0;
		n = strtoul(value, &end, 10);
		if (errno || *end || *value < '0' || *value > '9' ||
		    n < o->min || n > o->max)
			return err_set(e, "--%s: expected a number from %u to "
				       "%u, got \"%s\"", o->name, o->min,
				       o->max, value);
		*o->number = (unsigned)n;
	}
	return 0;
}

static int parse_options(int argc, char **argv, struct err *e)
{
	struct option names[NROWS + 1] = { 0 };
	int got, i;

	for (size_t k = 0; k < NROWS; k++) {
		names[k].name = rows[k].name;
		names[k].has_arg = rows[k].arg ? required_argument :
			no_argument;
	}
	while (!(got = getopt_long(argc, argv, "", names, &i)))
		if (set_option(&rows[i], optarg, e))
			return -1;
	if (got != -1)
		return err_set(e, "unusable option");
	if (optind < argc)
		return err_set(e, "%s: expected an option", argv[optind]);
	if ((!db || !tokens_file) && !help && !version)
		return err_set(e, "expected --db FILE and --tokens FILE");
	return 0;
}

/* The first hex digits of this program's own SHA-256. */
static int read_build_id(char hex[HASH_HEX], struct err *e)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	void *exe = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st))
		exe = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			   fd, 0);
	if (fd >= 0)
		close(fd);
	if (exe == MAP_FAILED)
		return err_set(e, "/proc/self/exe: %s", strerror(errno));
	hash_hex(exe, (size_t)st.st_size, hex);
	hex[BUILD_ID] = '\0';
	munmap(exe, (size_t)st.st_size);
	return 0;
}

/* One write: whoever waits for the file to have a size sees it whole. */
static int write_port(int port, struct err *e)
{
	FILE *f = fopen(port_file, "we");
	bool written = f && fprintf(f, "%d\n", port) > 0;

	if (f && fclose(f))
		written = false;
	return written ? 0 : err_set(e, "%s: %s", port_file, strerror(errno));
}

/* Before any thread is there: which signals stop the server, and that 256
 * threads do not each keep what they freed. */
static void set_up_process(sigset_t *stop)
{
	sigemptyset(stop);
	sigaddset(stop, SIGTERM);
	sigaddset(stop, SIGINT);
	sigaddset(stop, SIGHUP);
	pthread_sigmask(SIG_BLOCK, stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int serve(struct site *site, const char *jail, struct err *e)
{
	const struct timespec tick = { .tv_nsec = REAP_NS };
	sigset_t stop;
	int ret = -1, port, sig;

	set_up_process(&stop);
	site->store = store_open(db, e);
	if (!site->store || token_file_check(site->tokens, e))
		goto out;
	fprintf(stderr, "mmtrendd: gnuplot runs in: %s\n",
		*jail ? jail : "no jail at all (--allow-unjailed)");
	if (plotter_self_test(site->plotter, e))
		fprintf(stderr, "mmtrendd: PICTURES FAIL, pages still work: "
			"%s\n", e->msg);
	port = http_start(listen_text, &limits, site, e);
	if (port < 0 || (port_file && write_port(port, e)))
		goto out;
	fprintf(stderr, "mmtrendd: listening on %s\n", site->public_url);
	while ((sig = sigtimedwait(&stop, NULL, &tick)) < 0)
		http_reap();
	fprintf(stderr, "mmtrendd: %s, finishing requests\n", strsignal(sig));
	ret = 0;
out:
	alarm(limits.drain_s + WATCHDOG_S);	/* ends it if it hangs */
	http_stop();
	store_close(site->store);
	return ret;
}

int main(int argc, char **argv)
{
	char jail[160] = "", build_id[HASH_HEX];
	struct site site = { .build_id = build_id };
	struct err e;
	int ret;

	if (argc > 1 && !strcmp(argv[1], "token"))
		return token_command(argc - 1, argv + 1);
	if (parse_options(argc, argv, &e)) {
		fprintf(stderr, "mmtrendd: %s; see --help\n", e.msg);
		return EXIT_USAGE;
	}
	if (help)
		return usage();
	if (version)
		return puts("mmtrendd " MMTREND_VERSION) < 0;
	site.tokens = tokens_file;
	site.public_url = public_url;
	ret = read_build_id(build_id, &e);
	if (!ret)
		site.plotter = plotter_start(allow_unjailed, jail, &e);
	ret = site.plotter ? serve(&site, jail, &e) : -1;
	if (ret)
		fprintf(stderr, "mmtrendd: %s\n", e.msg);
	plotter_stop(site.plotter);
	return ret ? 1 : 0;
}
