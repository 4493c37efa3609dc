/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmtrend: the subcommands and their options, each in one table. Help and the
 * document's argv are made from the same rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/report.h"
#include "../common/size.h"
#include "bench.h"
#include "check.h"
#include "compare.h"
#include "file.h"
#include "plan.h"
#include "run.h"
#include "settings.h"
#include "show.h"
#include "spool.h"
#ifndef MMTREND_NO_PUSH
#include "push.h"
#include "todo.h"
#endif

enum {				/* exit codes */
	EXIT_DONE = 0,
	EXIT_NOT_VALID = 3,
	EXIT_NOT_SENT = 4,
	EXIT_USAGE = 64,
	EXIT_NOTHING = 77,
};

#define MAX_MEASURING 32	/* words of the document's argv */

struct args {			/* what all the option tables fill */
	struct run_opts run;
	struct compare_opts compare;
#ifndef MMTREND_NO_PUSH
	struct push_opts push;
	struct push_skip skip;
	uint64_t todo;
#endif
	const char *out, *more;
	const char *measuring[MAX_MEASURING + 1]; /* "run", then options */
	size_t nmeasuring;
	char **files;
	size_t nfiles;
	uint64_t tune;
	bool help;
};

enum { CHECK = 1, RUN = 2, COMPARE = 4, PUSH = 8, SKIP = 16 };	/* who takes it */
/* TEXT fills a const char *, the others 64 bits; a FLAG's are then 1. */
enum kind { FLAG, TEXT, NUMBER, SIZE };

struct option_row {
	const char *name;	/* "--size", "-o" */
	unsigned of;		/* commands */
	const char *arg;	/* NULL: a flag */
	enum kind kind;
	bool measuring;		/* goes into the document */
	size_t offset;		/* in struct args */
	int64_t min, max;	/* of a NUMBER */
	const char *help;
};

struct command {
	const char *name;
	int (*handler)(struct args *);
	unsigned options;	/* its bit; 0: none */
	const char *files;	/* "FILE", "[FILE...]"; NULL: takes none */
	size_t min_files, max_files;
	const char *help;
};

static int complain(int code, const char *what)
{
	fprintf(stderr, "mmtrend: %s\n", what);
	return code;
}

/* A word of the document's argv, or two. */
static void take_words(struct args *a, const char *option, const char *value)
{
	if (a->nmeasuring + 2 > MAX_MEASURING)
		return;
	a->measuring[a->nmeasuring++] = option;
	if (value)
		a->measuring[a->nmeasuring++] = value;
}

static int print(struct buf *b, FILE *to)
{
	bool bad = !buf_ok(b) || (b->len && fwrite(b->s, b->len, 1, to) != 1) ||
		   fflush(to);

	buf_free(b);
	return bad ? complain(EXIT_NOT_SENT, "cannot write the output") : EXIT_DONE;
}

/* --- list, check -------------------------------------------------------- */

static void folio_sizes(const struct mthp *m, struct buf *b)
{
	char text[SIZE_TEXT];

	buf_printf(b, "\n  folio sizes of this kernel: base (%s)",
		   size_text(m->base_bytes, text));
	for (size_t i = 0; i < m->n; i++)
		buf_printf(b, "%s %s%s", i % 8 ? "," : ",\n   ",
			   size_text(m->bytes[i], text),
			   m->bytes[i] == m->pmd_bytes ? " (pmd)" : "");
	buf_str(b, "\n");
}

static int do_list(struct args *a)
{
	struct buf b = BUF_INIT;
	struct mthp m;
	struct err e;

	(void)a;
	if (mthp_probe(&m, &e))
		return complain(EXIT_NOTHING, e.msg);
	for (size_t i = 0; i < bench_count; i++) {
		const struct bench *bench = bench_all[i];

		buf_printf(&b, "  %s: %u x %u", bench->name, bench->launches,
			   bench->iterations);
		plan_params_text(&bench->defaults, &b);
		buf_printf(&b, "\n      %s\n", bench->what);
	}
	buf_str(&b, "\n  N x M: processes (--launches) and samples of each "
		"(--iterations)\n");
	folio_sizes(&m, &b);
	return print(&b, stdout);
}

static int do_check(struct args *a)
{
	struct buf b = BUF_INIT;
	struct err e;
	int count = check_host(a->tune, &b, &e);

	if (print(&b, stdout))
		return EXIT_NOT_SENT;
	if (count < 0)
		return complain(EXIT_NOTHING, e.msg);
	return count ? EXIT_DONE : EXIT_NOTHING;
}

/* --- run, show, undo ---------------------------------------------------- */

/* Write @b to a file, never through a symbolic link. NULL: see that it can be,
 * so that a bad name costs no time; leaves no new file. */
static int out_file(const char *path, const struct buf *b, struct err *e)
{
	int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0644);
	bool made = fd >= 0, bad;

	if (!made && errno == EEXIST)
		fd = open(path, flags | (b ? O_TRUNC : 0));
	if (fd < 0)
		return err_set(e, "-o %s: %s", path, errno == ELOOP ?
			"a symbolic link is not followed" : strerror(errno));
	bad = b && write(fd, b->s, b->len) != (ssize_t)b->len;
	if (close(fd) || bad)
		return err_set(e, "-o %s: %s", path, strerror(errno));
	if (!b && made)
		unlink(path);
	return 0;
}

/* The document to its place: stdout, FILE, or the spool. */
static int deliver(const struct record *r, const char *out)
{
	struct buf json = BUF_INIT;
	char path[PATH_MAX];
	struct err e;
	int ret;

	if (!out) {
		ret = spool_add(r, path, &e);
		if (!ret)
			fprintf(stderr, "mmtrend: kept as %s\n", path);
		return ret ? complain(EXIT_NOT_SENT, e.msg) : EXIT_DONE;
	}
	ret = record_write(r, &json, &e);
	if (!ret && !strcmp(out, "-"))
		return print(&json, stdout);
	if (!ret)
		ret = out_file(out, &json, &e);
	buf_free(&json);
	return ret ? complain(EXIT_NOT_SENT, e.msg) : EXIT_DONE;
}

static struct record *read_record(const char *path, struct err *e)
{
	struct buf text = BUF_INIT;
	struct record *r = NULL;
	struct err why;

	if (!file_read(strcmp(path, "-") ? path : "/dev/stdin", RECORD_MAX_BODY,
		       &text, e)) {
		r = record_parse(text.s ? text.s : "", text.len, &why);
		if (!r)
			err_set(e, "%s: %.400s", path, why.msg);
	}
	buf_free(&text);
	return r;
}

static int verdict(const struct record *r)
{
	bool measured = false, bad = r->invalid.n > 0;

	for (size_t i = 0; i < r->ncells; i++) {
		enum record_status s = r->cells[i].status;

		measured |= s == RECORD_OK || s == RECORD_INVALID;
		bad |= s == RECORD_INVALID || s == RECORD_FAILED;
	}
	return bad ? EXIT_NOT_VALID : measured ? EXIT_DONE : EXIT_NOTHING;
}

static int measure(struct args *a)
{
	bool to_stdout = a->out && !strcmp(a->out, "-"), usage = true;
	struct record *r = NULL, *more = NULL;
	struct buf table = BUF_INIT;
	struct err e;
	int ret;

	a->measuring[0] = "run";
	a->run.argv = a->measuring;
	if (a->more)
		a->run.more = more = read_record(a->more, &e);
	if ((!a->more || more) &&
	    (!a->out || to_stdout || !out_file(a->out, NULL, &e)))
		r = run_measure(&a->run, &usage, &e);
	if (!r) {
		ret = complain(usage ? EXIT_USAGE : EXIT_NOTHING, e.msg);
		goto out;
	}
	show_table(r, &table);
	ret = print(&table, to_stdout ? stderr : stdout);
	if (deliver(r, a->out))
		ret = EXIT_NOT_SENT;
	else if (!ret)
		ret = verdict(r);
out:
	record_free(r);
	record_free(more);
	return ret;
}

#ifndef MMTREND_NO_PUSH
/* What the server would have of this kernel. Nothing to do is no success: a
 * loop of this and push ends. */
static int ask(struct args *a, const struct mthp *m, struct record *here,
	       struct todo *t, struct err *e)
{
	struct buf path = BUF_INIT, json = BUF_INIT;
	int ret = EXIT_USAGE;

	if (a->run.bench || a->run.size || a->more)
		err_set(e, "--for: benchmarks and sizes come from the server, not "
			"from options");
	else if (!host_fill(here, &a->run.host, m, e) &&
		 !todo_path(here->host.label, &path, e))
		ret = push_get(&a->push, path.s, TODO_MAX_BODY, &json, e);
	if (!ret && todo_read(&json, here, m, t, e))
		ret = EXIT_NOT_VALID;
	if (!ret && !t->bench.len) {
		todo_nothing(t, here, e);
		ret = EXIT_NOTHING;
	}
	buf_free(&path);
	buf_free(&json);
	return ret;
}

/* As if --bench, --size and --commit had been given so. */
static int measure_todo(struct args *a)
{
	struct record *here = record_new();
	struct todo t = { .bench = BUF_INIT };
	struct err e = { "no memory" };
	int ret = EXIT_NOTHING;
	struct mthp m;

	if (here && !mthp_probe(&m, &e))
		ret = ask(a, &m, here, &t, &e);
	if (t.left_out.len)
		fputs(t.left_out.s, stderr);
	if (ret) {
		complain(ret, e.msg);
		goto out;
	}
	a->run.bench = t.bench.s;
	a->run.size = t.size.s;
	a->run.host.commit = t.commit;
	take_words(a, "--bench", a->run.bench);
	take_words(a, "--size", a->run.size);
	ret = measure(a);
out:
	todo_free(&t);
	record_free(here);
	return ret;
}
#endif

static int do_run(struct args *a)
{
#ifndef MMTREND_NO_PUSH
	if (a->todo)
		return measure_todo(a);
	if (a->push.url || a->push.insecure)
		return complain(EXIT_USAGE, "--url, --insecure: only with --for");
#endif
	return measure(a);
}

static int do_show(struct args *a)
{
	struct buf b = BUF_INIT;
	struct record *r;
	struct err e;

	r = read_record(a->files[0], &e);
	if (!r)
		return complain(EXIT_USAGE, e.msg);
	show_record(r, &b);
	record_free(r);
	return print(&b, stdout);
}

static int do_compare(struct args *a)
{
	struct record **docs = calloc(a->nfiles, sizeof(void *));
	struct buf b = BUF_INIT;
	struct err e = { "no memory" };
	size_t n = 0;
	int ret = -1;

	while (docs && n < a->nfiles && (docs[n] = read_record(a->files[n], &e)))
		n++;
	if (docs && n == a->nfiles)
		ret = compare_documents(&a->compare, docs, n, &b, &e);
	if (ret < 0)
		ret = complain(EXIT_USAGE, e.msg);
	else if (print(&b, stdout))
		ret = EXIT_NOT_SENT;
	buf_free(&b);
	while (n)
		record_free(docs[--n]);
	free(docs);
	return ret;
}

static int do_undo(struct args *a)
{
	size_t count;
	struct err e;

	(void)a;
	if (settings_undo(&count, &e))
		return complain(EXIT_NOTHING, e.msg);
	if (count)
		printf("%zu settings put back\n", count);
	else
		puts("nothing to put back");
	return EXIT_DONE;
}

#ifndef MMTREND_NO_PUSH
static int do_push(struct args *a)
{
	return push_send(&a->push, a->files, a->nfiles);
}

static int do_skip(struct args *a)
{
	struct err e;
	int ret;

	if (!a->skip.host || !a->skip.reason || !a->skip.commit == !a->skip.push)
		return complain(EXIT_USAGE, "skip: expected --host, --reason and "
				"one of --commit and --push");
	ret = push_skip(&a->push, &a->skip, &e);
	return ret ? complain(ret, e.msg) : EXIT_DONE;
}
#endif

static int do_version(struct args *a)
{
	(void)a;
	puts("mmtrend " MMTREND_VERSION);
	return EXIT_DONE;
}

/* --- the tables --------------------------------------------------------- */

#define AT(field) offsetof(struct args, field)

static const struct option_row options[] = {
	{ "--tune", CHECK, NULL, FLAG, false, AT(tune), .help =
	  "set what makes noise and can be undone, until `mmtrend undo`" },
	{ "--bench", RUN, "a,b", TEXT, true, AT(run.bench), .help =
	  "benchmarks or families of `mmtrend list` (default: all)" },
	{ "--size", RUN, "base,64k,pmd,all", TEXT, true, AT(run.size), .help =
	  "folio sizes (default: all of this kernel)" },
	{ "--launches", RUN, "N", NUMBER, true, AT(run.launches), 1,
	  RECORD_MAX_LAUNCHES, "processes per benchmark and size" },
	{ "--iterations", RUN, "N", NUMBER, true, AT(run.iterations), 1,
	  RECORD_MAX_ITERATIONS, "samples per process" },
	{ "--memory", RUN, "SIZE", SIZE, true, AT(run.params.memory_bytes), .help =
	  "memory that is measured over, such as 256m" },
	{ "--pages-per-call", RUN, "N", NUMBER, true, AT(run.params.pages_per_call), 1,
	  INT32_MAX, "base pages that one gup call takes" },
	{ "--read", RUN, NULL, FLAG, true, AT(run.params.read), .help =
	  "gup for reading only, not for writing" },
	{ "--shared", RUN, NULL, FLAG, true, AT(run.params.shared), .help =
	  "gup of shared memory" },
	{ "--hugetlb", RUN, NULL, FLAG, true, AT(run.params.hugetlb), .help =
	  "gup of hugetlb memory" },
	{ "--stride", RUN, "SIZE", SIZE, true, AT(run.params.stride_bytes), .help =
	  "bytes from one load to the next, where a benchmark has them" },
	{ "--seed", RUN, "N", NUMBER, true, AT(run.seed), 0, INT64_MAX,
	  "of the shuffle of launches (default: random)" },
	{ "--more", RUN, "FILE", TEXT, false, AT(more), .help =
	  "measure the same again: benchmarks, sizes, counts of a document" },
	{ "--host", RUN, "LABEL", TEXT, false, AT(run.host.label), .help =
	  "name of this machine (default: host- and random digits)" },
	{ "--commit", RUN, "SHA", TEXT, false, AT(run.host.commit), .help =
	  "commit of the running kernel, 40 hex digits" },
	{ "--tree", RUN, "NAME", TEXT, false, AT(run.host.tree), .help =
	  "tree that the commit is of" },
	{ "--tree-hash", RUN, "SHA", TEXT, false, AT(run.host.tree_hash), .help =
	  "git tree that the kernel was built from, 40 hex digits" },
	{ "--patches", RUN, "a,b", TEXT, false, AT(run.host.patches), .help =
	  "groups of patches on top of the commit or release" },
	{ "-o", RUN, "FILE", TEXT, false, AT(out), .help =
	  "write the document to FILE, or with - to stdout, not to the spool" },
	{ "--id", RUN, "UUID", TEXT, false, AT(run.id), .help = "of the run (lab)" },
	{ "--time", RUN, "T", TEXT, false, AT(run.started_at), .help =
	  "when the run started, as 2026-11-30T11:04:56Z (lab)" },
	{ "--clock", RUN, "C", TEXT, false, AT(run.clock), .help =
	  "what the clock counts: monotonic or insns (lab)" },
	{ "--emulator", RUN, "E", TEXT, false, AT(run.host.emulator), .help =
	  "what counts the instructions, with its version (lab)" },
	{ "--boot-id", RUN, "B", TEXT, false, AT(run.host.boot_id), .help =
	  "of this boot (lab)" },
	{ "--form", COMPARE, "F", TEXT, false, AT(compare.form), .help =
	  "full, commit-log (tables) or cover (tables and machine)" },
	{ "--title", COMPARE, "TEXT", TEXT, false, AT(compare.title), .help =
	  "of the report (default: the two kernels)" },
	{ "--rerun", COMPARE, "CMD", TEXT, false, AT(compare.rerun), .help =
	  "what the report names to measure again (default: mmtrend run ...)" },
	{ "--json", COMPARE, NULL, FLAG, false, AT(compare.json), .help =
	  "for programs instead" },
#ifndef MMTREND_NO_PUSH
	{ "--for", RUN, NULL, FLAG, false, AT(todo), .help =
	  "measure what the server's /todo lists for this host and kernel" },
	{ "--host", SKIP, "LABEL", TEXT, false, AT(skip.host), .help =
	  "machine that measured nothing" },
	{ "--commit", SKIP, "SHA", TEXT, false, AT(skip.commit), .help =
	  "what it should have measured, 40 hex digits" },
	{ "--push", SKIP, "ID", TEXT, false, AT(skip.push), .help =
	  "or the push that it is of: the ID of its page /pushes/ID" },
	{ "--reason", SKIP, "TEXT", TEXT, false, AT(skip.reason), .help =
	  "such as \"build failed\"" },
	{ "--url", RUN | PUSH | SKIP, "URL", TEXT, false, AT(push.url), .help =
	  "server (default: MMTREND_URL, else http://127.0.0.1:8080)" },
	{ "--insecure", RUN | PUSH | SKIP, NULL, FLAG, false, AT(push.insecure),
	  .help = "allow plain http to other machines" },
	{ "--token-file", PUSH | SKIP, "FILE", TEXT, false, AT(push.token_file),
	  .help = "file of mode 0600 with a token (default: MMTREND_TOKEN_FILE)" },
#endif
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static int do_help(struct args *a);

static const struct command commands[] = {
	{ "check", do_check, CHECK, NULL, 0, 0,
	  "what can be measured here, and what each lacks" },
	{ "list", do_list, 0, NULL, 0, 0,
	  "benchmarks with their defaults, folio sizes of this kernel" },
	{ "run", do_run, RUN, NULL, 0, 0,
	  "measure, print the table, keep the document for push" },
	{ "show", do_show, 0, "FILE", 1, 1,
	  "everything that a document says" },
	{ "compare", do_compare, COMPARE, "BEFORE AFTER...", 2, SIZE_MAX,
	  "documents of two kernels side by side, for a mail" },
#ifndef MMTREND_NO_PUSH
	{ "push", do_push, PUSH, "[FILE...]", 0, SIZE_MAX,
	  "send documents, by default all that are kept" },
	{ "skip", do_skip, SKIP, NULL, 0, 0,
	  "send why a host did not measure, so that the trend has a gap" },
#endif
	{ "undo", do_undo, 0, NULL, 0, 0,
	  "put back the settings that --tune or a killed run left" },
	{ "version", do_version, 0, NULL, 0, 0, "print the version" },
	{ "help", do_help, 0, NULL, 0, 0, "this text" },
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

/* --- help --------------------------------------------------------------- */

static void help_command(const struct command *c, FILE *to)
{
	fprintf(to, "usage: mmtrend %s%s%s%s\n%s\n", c->name,
		c->options ? " [option...]" : "", c->files ? " " : "",
		c->files ? c->files : "", c->help);
	for (const struct option_row *o = options; o < options + NOPTIONS; o++) {
		int n = !(o->of & c->options) ? 0 :
			fprintf(to, "  %s %s", o->name, o->arg ? o->arg : "");

		if (n)
			fprintf(to, "%*s%s\n", n < 26 ? 26 - n : 1, "", o->help);
	}
}

static void usage_all(FILE *to)
{
	fputs("usage: mmtrend COMMAND [option...]\n", to);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-10s%s\n", commands[i].name, commands[i].help);
	fputs("mmtrend COMMAND --help lists a command's options.\n"
	      "exit: 0 done, 1 slower, 2 not to be said, 3 not valid, 4 not sent,\n"
	      "      64 usage, 77 nothing measured\n", to);
}

static int do_help(struct args *a)
{
	(void)a;
	usage_all(stdout);
	return EXIT_DONE;
}

/* --- the command line --------------------------------------------------- */

static int set_value(struct args *a, const struct option_row *o,
		     const char *value, struct err *e)
{
	void *at = (char *)a + o->offset;
	int64_t v = 1;
	char *end;

	if (o->measuring)
		take_words(a, o->name, o->arg ? value : NULL);
	switch (o->kind) {
	case TEXT:
		*(const char **)at = value;
		break;
	case SIZE:
		if (size_parse(value, at))
			return err_set(e, "%s: expected a size such as 256m, "
				       "got \"%s\"", o->name, value);
		break;
	case NUMBER:
		errno = 0;
		v = strtoll(value, &end, 10);
		if (end == value || *end || errno || v < o->min || v > o->max)
			return err_set(e, "%s: expected a number from %lld to "
				       "%lld, got \"%s\"", o->name,
				       (long long)o->min, (long long)o->max, value);
		/* fall through */
	case FLAG:
		*(int64_t *)at = v;
	}
	return 0;
}

/* "--name value", "--name=value", "--flag": how many words it took. */
static int take_option(const struct command *c, char **argv, struct args *a,
		       struct err *e)
{
	size_t n = strcspn(argv[0], "=");
	const char *value = argv[0][n] ? argv[0] + n + 1 : argv[1];
	const struct option_row *o = options, *end = options + NOPTIONS;

	while (o < end && (!(o->of & c->options) ||
			   strncmp(o->name, argv[0], n) != 0 || o->name[n]))
		o++;
	if (o == end)
		return err_set(e, "%s: no option %.100s (mmtrend %s --help)", c->name,
			       argv[0], c->name);
	if (!o->arg && argv[0][n])
		return err_set(e, "%s: takes no value", o->name);
	if (o->arg && !value)
		return err_set(e, "%s: expected a value (%s)", o->name, o->arg);
	if (set_value(a, o, value, e))
		return -1;
	return o->arg && !argv[0][n] ? 2 : 1;
}

static int parse(const struct command *c, char **argv, struct args *a,
		 struct err *e)
{
	int took;

	a->files = argv;
	for (; *argv; argv += took) {
		took = 1;
		if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h"))
			a->help = true;
		else if ((*argv)[0] == '-' && (*argv)[1])
			took = take_option(c, argv, a, e);
		else
			a->files[a->nfiles++] = *argv;
		if (took < 0)
			return -1;
	}
	if (!a->help && (a->nfiles < c->min_files || a->nfiles > c->max_files))
		return err_set(e, "%s: expected %s", c->name,
			       c->files ? c->files : "options only");
	return 0;
}

static const struct command *find(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	if (!strcmp(name, "--version"))
		name = "version";
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	struct args a = { .run.seed = RECORD_NULL, .nmeasuring = 1 };
	const struct command *c = argc > 1 ? find(argv[1]) : NULL;
	struct err e;

	if (!c) {
		usage_all(stderr);
		return EXIT_USAGE;
	}
	if (parse(c, argv + 2, &a, &e))
		return complain(EXIT_USAGE, e.msg);
	if (a.help) {
		help_command(c, stdout);
		return EXIT_DONE;
	}
	return c->handler(&a);
}
