/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmtrend: the subcommands and their options, each in one table. Help, the man
 * page's option lists and the document's argv are made from the same rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/report.h"
#include "../common/size.h"
#include "bench.h"
#include "run.h"
#include "show.h"
#include "spool.h"
#ifndef MMTREND_NO_PUSH
#include "push.h"
#endif

enum {				/* exit codes */
	EXIT_DONE = 0,
	EXIT_NOT_VALID = 3,
	EXIT_NOT_SENT = 4,
	EXIT_USAGE = 64,
	EXIT_NOTHING = 77,
};

#define MAX_MEASURING 16	/* words of the document's argv */

struct args {			/* what all the option tables fill */
	struct run_opts run;
#ifndef MMTREND_NO_PUSH
	struct push_opts push;
#endif
	const char *out;
	bool man, help;
	const char *measuring[MAX_MEASURING + 1]; /* "run", then options */
	size_t nmeasuring;
	char **files;
	size_t nfiles;
};

enum kind { FLAG, TEXT, COUNT, NUMBER, SIZE };

struct option_row {
	const char *name;	/* "--size", "-o" */
	const char *arg;	/* NULL: a flag */
	enum kind kind;		/* of its value */
	bool measuring;		/* goes into the document */
	size_t offset;		/* in struct args */
	const char *help;
	int64_t max;
};

struct command {
	const char *name;
	int (*handler)(struct args *);
	const struct option_row *options;
	const char *files;	/* "FILE", "[FILE...]"; NULL: takes none */
	size_t min_files, max_files;
	const char *help;
};

static int complain(int code, const char *what)
{
	fprintf(stderr, "mmtrend: %s\n", what);
	return code;
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

	buf_printf(b, "  folio sizes of this kernel: base (%s)",
		   size_text(m->base_bytes, text));
	for (size_t i = 0; i < m->n; i++)
		buf_printf(b, "%s %s%s", i % 8 ? "," : ",\n   ",
			   size_text(m->bytes[i], text),
			   m->bytes[i] == m->pmd_bytes ? " (pmd)" : "");
	buf_str(b, "\n");
}

static int do_list(struct args *a)
{
	static const struct report_col cols[] = {
		{ "benchmark", false }, { "memory", true }, { "launches", true },
		{ "iterations", true }, { "what", false },
	};
	char text[RECORD_MAX_BENCHES][3][SIZE_TEXT];
	const char *cells[RECORD_MAX_BENCHES * 5], **c = cells;
	struct buf b = BUF_INIT;
	struct mthp m;
	struct err e;

	(void)a;
	if (mthp_probe(&m, &e))
		return complain(EXIT_NOTHING, e.msg);
	for (size_t i = 0; i < bench_count; i++) {
		const struct bench *bench = bench_all[i];
		uint64_t memory = bench->defaults.memory_bytes;

		snprintf(text[i][1], SIZE_TEXT, "%u", bench->launches);
		snprintf(text[i][2], SIZE_TEXT, "%u", bench->iterations);
		*c++ = bench->name;
		*c++ = memory ? size_text(memory, text[i][0]) : NULL;
		*c++ = text[i][1];
		*c++ = text[i][2];
		*c++ = bench->what;
	}
	report_table(&b, cols, 5, cells, bench_count);
	buf_str(&b, "\n");
	folio_sizes(&m, &b);
	return print(&b, stdout);
}

static int do_check(struct args *a)
{
	static const struct report_col cols[] = {
		{ "benchmark", false }, { "can run here", false },
	};
	struct err why[RECORD_MAX_BENCHES], e;
	const char *cells[RECORD_MAX_BENCHES * 2], **c = cells;
	struct buf b = BUF_INIT;
	struct mthp m;
	bool any = false;

	(void)a;
	if (mthp_probe(&m, &e))
		return complain(EXIT_NOTHING, e.msg);
	for (size_t i = 0; i < bench_count; i++) {
		const struct bench *bench = bench_all[i];
		bool can = !bench->can_run ||
			   !bench->can_run(&bench->defaults, &why[i]);

		any |= can;
		*c++ = bench->name;
		*c++ = can ? "yes" : why[i].msg;
	}
	report_table(&b, cols, 2, cells, bench_count);
	buf_str(&b, "\n");
	folio_sizes(&m, &b);
	report_text(&b, mthp_settable(&m, &e) ? e.msg :
			"folio sizes can be set here");
	if (print(&b, stdout))
		return EXIT_NOT_SENT;
	return any ? EXIT_DONE : EXIT_NOTHING;
}

/* --- run, show, undo ---------------------------------------------------- */

/* A symlink is never followed. Sets @made if the file is new. */
static int out_open(const char *path, bool *made, struct err *e)
{
	int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0644);

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags);
	if (fd < 0)
		err_set(e, "-o %s: %s", path, errno == ELOOP ?
			"a symbolic link is not followed" : strerror(errno));
	return fd;
}

/* Before measuring, so that a bad name costs no time. Leaves no new file. */
static int out_check(const char *path, struct err *e)
{
	bool made;
	int fd = out_open(path, &made, e);

	if (fd < 0)
		return -1;
	close(fd);
	if (made)
		unlink(path);
	return 0;
}

static int out_write(const char *path, const struct buf *b, struct err *e)
{
	bool made, bad;
	int fd = out_open(path, &made, e);
	struct stat st;
	size_t put = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -1;
	bad = fstat(fd, &st) || (S_ISREG(st.st_mode) && ftruncate(fd, 0));
	for (; !bad && put < b->len; put += (size_t)n) {
		n = write(fd, b->s + put, b->len - put);
		bad = n <= 0;
	}
	bad = bad || (S_ISREG(st.st_mode) && fsync(fd));
	if (bad)
		err_set(e, "-o %s: %s", path, strerror(errno));
	close(fd);
	return bad ? -1 : 0;
}

/* The document to its place: stdout, FILE, or the spool. */
static int deliver(const struct record *r, const char *out)
{
	struct buf json = BUF_INIT;
	char path[4096];
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
		ret = out_write(out, &json, &e);
	buf_free(&json);
	return ret ? complain(EXIT_NOT_SENT, e.msg) : EXIT_DONE;
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

static int do_run(struct args *a)
{
	bool to_stdout = a->out && !strcmp(a->out, "-"), usage;
	struct buf table = BUF_INIT;
	struct record *r;
	struct err e;
	int ret;

	if (a->out && !to_stdout && out_check(a->out, &e))
		return complain(EXIT_USAGE, e.msg);
	a->measuring[0] = "run";
	a->run.argv = a->measuring;
	r = run_measure(&a->run, &usage, &e);
	if (!r)
		return complain(usage ? EXIT_USAGE : EXIT_NOTHING, e.msg);
	show_table(r, &table);
	ret = print(&table, to_stdout ? stderr : stdout);
	if (deliver(r, a->out))
		ret = EXIT_NOT_SENT;
	else if (!ret)
		ret = verdict(r);
	record_free(r);
	return ret;
}

static struct record *read_record(const char *path, struct err *e)
{
	char *text = malloc(RECORD_MAX_BODY + 1);
	FILE *f = fopen(strcmp(path, "-") ? path : "/dev/stdin", "re");
	struct record *r = NULL;
	struct err why;
	size_t len;

	if (!text || !f) {
		err_set(e, "%s: %s", path, strerror(errno));
		goto out;
	}
	len = fread(text, 1, RECORD_MAX_BODY + 1, f);
	if (ferror(f))
		err_set(e, "%s: %s", path, strerror(errno));
	else if (len > RECORD_MAX_BODY)
		err_set(e, "%s: more than %u bytes", path, RECORD_MAX_BODY);
	else if (!(r = record_parse(text, len, &why)))
		err_set(e, "%s: %.400s", path, why.msg);
out:
	if (f)
		fclose(f);
	free(text);
	return r;
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

static int do_undo(struct args *a)
{
	size_t count;
	struct err e;

	(void)a;
	if (mthp_undo(&count, &e))
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
#endif

static int do_version(struct args *a)
{
	(void)a;
	puts("mmtrend " MMTREND_VERSION);
	return EXIT_DONE;
}

/* --- the tables --------------------------------------------------------- */

#define AT(field) offsetof(struct args, field)

static const struct option_row no_options[] = { { .name = NULL } };

static const struct option_row run_options[] = {
	{ "--bench", "a,b", TEXT, true, AT(run.bench),
	  "benchmarks or families of `mmtrend list` (default: all)", 0 },
	{ "--size", "base,64k,pmd,all", TEXT, true, AT(run.size),
	  "folio sizes (default: all of this kernel)", 0 },
	{ "--launches", "N", COUNT, true, AT(run.launches),
	  "processes per benchmark and size", RECORD_MAX_LAUNCHES },
	{ "--iterations", "N", COUNT, true, AT(run.iterations),
	  "timed bursts per process", RECORD_MAX_ITERATIONS },
	{ "--memory", "SIZE", SIZE, true, AT(run.memory_bytes),
	  "memory that is measured over, such as 256m", 0 },
	{ "--seed", "N", NUMBER, true, AT(run.seed),
	  "of the shuffle of launches (default: random)", INT64_MAX },
	{ "--host", "LABEL", TEXT, false, AT(run.host.label),
	  "name of this machine (default: host- and random digits)", 0 },
	{ "--commit", "SHA", TEXT, false, AT(run.host.commit),
	  "commit of the running kernel, 40 hex digits", 0 },
	{ "--tree", "NAME", TEXT, false, AT(run.host.tree),
	  "tree that the commit is of", 0 },
	{ "-o", "FILE", TEXT, false, AT(out),
	  "write the document to FILE, or with - to stdout, instead of the spool", 0 },
	{ "--id", "UUID", TEXT, false, AT(run.id), "of the run (lab)", 0 },
	{ "--time", "T", TEXT, false, AT(run.started_at),
	  "when the run started, as 2026-11-30T11:04:56Z (lab)", 0 },
	{ "--clock", "C", TEXT, false, AT(run.clock),
	  "what the clock counts: monotonic or insns (lab)", 0 },
	{ "--boot-id", "B", TEXT, false, AT(run.host.boot_id),
	  "of this boot (lab)", 0 },
	{ .name = NULL },
};

#ifndef MMTREND_NO_PUSH
static const struct option_row push_options[] = {
	{ "--url", "URL", TEXT, false, AT(push.url),
	  "of the server (default: MMTREND_URL, else http://127.0.0.1:8080)", 0 },
	{ "--token-file", "F", TEXT, false, AT(push.token_file),
	  "file with the token, mode 0600 (default: MMTREND_TOKEN_FILE)", 0 },
	{ "--insecure", NULL, FLAG, false, AT(push.insecure),
	  "allow plain http to other machines", 0 },
	{ .name = NULL },
};
#endif

static const struct option_row help_options[] = {
	{ "--man", NULL, FLAG, false, AT(man),
	  "the option lists as man page source", 0 },
	{ .name = NULL },
};

static int do_help(struct args *a);

static const struct command commands[] = {
	{ "check", do_check, no_options, NULL, 0, 0,
	  "what can be measured here, and what each lacks" },
	{ "list", do_list, no_options, NULL, 0, 0,
	  "benchmarks with their defaults, folio sizes of this kernel" },
	{ "run", do_run, run_options, NULL, 0, 0,
	  "measure, print the table, keep the document for push" },
	{ "show", do_show, no_options, "FILE", 1, 1,
	  "everything that a document says" },
#ifndef MMTREND_NO_PUSH
	{ "push", do_push, push_options, "[FILE...]", 0, SIZE_MAX,
	  "send documents, by default all that are kept" },
#endif
	{ "undo", do_undo, no_options, NULL, 0, 0,
	  "put back the settings of a run that was killed" },
	{ "version", do_version, no_options, NULL, 0, 0, "print the version" },
	{ "help", do_help, help_options, NULL, 0, 0, "this text" },
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

/* --- help --------------------------------------------------------------- */

static void help_command(const struct command *c, FILE *to)
{
	fprintf(to, "usage: mmtrend %s%s%s%s\n%s\n", c->name,
		c->options->name ? " [option...]" : "", c->files ? " " : "",
		c->files ? c->files : "", c->help);
	for (const struct option_row *o = c->options; o->name; o++) {
		int n = fprintf(to, "  %s %s", o->name, o->arg ? o->arg : "");

		fprintf(to, "%*s%s\n", n < 26 ? 26 - n : 1, "", o->help);
	}
}

/* "-" is a hyphen to roff, unless escaped. */
static void roff(const char *s)
{
	for (; *s; s++)
		printf(*s == '-' ? "\\-" : "%c", *s);
}

static void man_options(void)
{
	for (size_t i = 0; i < NCOMMANDS; i++) {
		const struct command *c = &commands[i];

		printf(".SS mmtrend %s %s\n", c->name, c->files ? c->files : "");
		printf("%c%s.\n", c->help[0] & ~0x20, c->help + 1);
		for (const struct option_row *o = c->options; o->name; o++) {
			printf(".TP\n\\fB");
			roff(o->name);
			printf("\\fR \\fI%s\\fR\n", o->arg ? o->arg : "");
			roff(o->help);
			putchar('\n');
		}
	}
}

static void usage_all(FILE *to)
{
	fputs("usage: mmtrend COMMAND [option...]\n", to);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-10s%s\n", commands[i].name, commands[i].help);
	fputs("mmtrend COMMAND --help lists a command's options.\n"
	      "exit: 0 done, 3 not valid, 4 not sent, 64 usage, 77 nothing measured\n",
	      to);
}

static int do_help(struct args *a)
{
	if (a->man)
		man_options();
	else
		usage_all(stdout);
	return EXIT_DONE;
}

/* --- the command line --------------------------------------------------- */

static int set_number(const struct option_row *o, const char *value, void *at,
		      struct err *e)
{
	int64_t least = o->kind == COUNT;
	char *end;
	long long v;

	errno = 0;
	v = strtoll(value, &end, 10);
	if (end == value || *end || errno || v < least || v > o->max)
		return err_set(e, "%s: expected a number from %lld to %lld, got \"%s\"",
			       o->name, (long long)least, (long long)o->max, value);
	if (o->kind == COUNT)
		*(unsigned *)at = (unsigned)v;
	else
		*(int64_t *)at = v;
	return 0;
}

static int set_value(struct args *a, const struct option_row *o,
		     const char *value, struct err *e)
{
	void *at = (char *)a + o->offset;

	if (o->measuring && a->nmeasuring + 2 <= MAX_MEASURING) {
		a->measuring[a->nmeasuring++] = o->name;
		a->measuring[a->nmeasuring++] = value;
	}
	switch (o->kind) {
	case FLAG:
		break;
	case TEXT:
		*(const char **)at = value;
		return 0;
	case SIZE:
		return size_parse(value, at) ?
		       err_set(e, "%s: expected a size such as 256m, got \"%s\"",
			       o->name, value) : 0;
	case COUNT:
	case NUMBER:
		return set_number(o, value, at, e);
	}
	return -1;
}

/* "--name value", "--name=value", "--flag". Sets how many words it took. */
static int take_option(const struct command *c, char **argv, struct args *a,
		       int *took, struct err *e)
{
	size_t n = strcspn(argv[0], "=");
	const char *value = argv[0][n] ? argv[0] + n + 1 : NULL;
	const struct option_row *o = c->options;

	while (o->name && (strncmp(o->name, argv[0], n) != 0 || o->name[n]))
		o++;
	if (!o->name)
		return err_set(e, "%s: no option %.100s (mmtrend %s --help)", c->name,
			       argv[0], c->name);
	*took = 1;
	if (!o->arg && value)
		return err_set(e, "%s: takes no value", o->name);
	if (!o->arg) {
		*(bool *)((char *)a + o->offset) = true;
		return 0;
	}
	if (!value) {
		value = argv[1];
		*took = 2;
	}
	if (!value)
		return err_set(e, "%s: expected a value (%s)", o->name, o->arg);
	return set_value(a, o, value, e);
}

static int parse(const struct command *c, char **argv, struct args *a,
		 struct err *e)
{
	bool options = true;
	int took;

	a->files = argv;
	for (; *argv; argv += took) {
		took = 1;
		if (options && !strcmp(*argv, "--")) {
			options = false;
		} else if (options && (!strcmp(*argv, "--help") ||
				       !strcmp(*argv, "-h"))) {
			a->help = true;
		} else if (options && (*argv)[0] == '-' && (*argv)[1]) {
			if (take_option(c, argv, a, &took, e))
				return -1;
		} else {
			a->files[a->nfiles++] = *argv;
		}
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
