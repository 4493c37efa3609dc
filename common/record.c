/* SPDX-License-Identifier: GPL-2.0-only */
/* The run document: one field table makes its parser, writer and schema. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record.h"

#define MAX_QUOTE	40	/* bytes of a value or key shown in an error */
#define MAX_ARGV	64	/* words of the agent's command line */
#define MAX_SIZES	64	/* folio sizes that a kernel offers */
#define CHUNK		8192	/* bytes; the record's memory grows by these */

/* --- the field table ------------------------------------------------------ */

enum kind { INT, TEXT, WORD, PARAM, OBJECT, ARRAY, MAP };

enum {
	REQUIRED = 1,	/* neither absent nor null */
	OMIT = 2,	/* left out when empty, where others are written null */
	POW2 = 4,
};

/*
 * The form of a text: the part of ECMA's regular expressions that matches()
 * knows, and words for it. Without words, @from names the characters that it
 * may hold.
 */
struct format { const char *pattern, *words, *from; };

struct field {
	const char *key;
	enum kind kind;
	unsigned flags;
	size_t offset;			/* in the parent's struct */
	int64_t min, max;		/* of INT's value, TEXT's bytes, else
					 * of the count of elements */
	const struct format *format;	/* TEXT; NULL: any text */
	const char *const *words;	/* WORD: by enum value */
	const struct field *sub;	/* OBJECT: fields up to a NULL key;
					 * ARRAY: element; MAP: key, value */
	size_t size;			/* ARRAY, MAP: of one element */
	const char *doc;
};

/* An ARRAY or MAP in a struct is a pointer and, right behind it, a count. */
struct list { char *v; size_t n; };
#define IS_LIST(s, array, count) _Static_assert(offsetof(struct s, count) == \
	offsetof(struct s, array) + offsetof(struct list, n), #array)
IS_LIST(record_strings, v, n);
IS_LIST(record_ints, v, n);
IS_LIST(record_bench, params, nparams);
IS_LIST(record_bench, metrics, nmetrics);
IS_LIST(record_launch, samples, nsamples);
IS_LIST(record_cell, launches, nlaunches);
IS_LIST(record, unread, nunread);
IS_LIST(record, benches, nbenches);
IS_LIST(record, cells, ncells);
_Static_assert(sizeof(enum record_status) == sizeof(unsigned), "WORD");

static const struct format
	this_schema = { "^mmtrend\\.run/1$", "\"mmtrend.run/1\"", NULL },
	uuid7 = { "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
		  "[0-9a-f]{12}$", "a UUID of version 7 in lower case", NULL },
	utc = { "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
		"a time like \"2026-11-30T11:04:56Z\"", NULL },
	hex40 = { "^[0-9a-f]{40}$", "40 lower-case hex digits", NULL },
	sha256 = { "^[0-9a-f]{64}$", "64 lower-case hex digits", NULL },
	build = { "^[0-9a-f]{16,40}$", "16 to 40 lower-case hex digits", NULL },
	pointer = { "^/", "a JSON path like \"/kernel/commit\"", NULL },
	label = { "^[A-Za-z0-9._-]{1,64}$", NULL, "A-Z a-z 0-9 . _ -" },
	name = { "^[a-z0-9._-]{1,64}$", NULL, "a-z 0-9 . _ -" };

static const char *const status_words[] = {
	[RECORD_OK] = "ok", [RECORD_INVALID] = "invalid",
	[RECORD_SKIP] = "skip", [RECORD_NOT_APPLICABLE] = "not_applicable",
	[RECORD_FAILED] = "failed", NULL
};
static const char *const reduce_words[] = {
	[RECORD_MEDIAN] = "median", [RECORD_MIN] = "min", NULL
};
static const char *const better_words[] = {
	[RECORD_LOWER] = "lower", [RECORD_HIGHER] = "higher", NULL
};

/* A row: struct, member (also the key), flags, bounds or format, doc. */
#define ROW(k, t, s, m, fl, lo, hi, ...) \
	{ .key = (k), .kind = (t), .offset = offsetof(struct s, m), \
	  .flags = (fl), .min = (lo), .max = (hi), __VA_ARGS__ }
#define INT_(s, m, fl, ...) INT_ROW(s, m, fl, __VA_ARGS__)
#define INT_ROW(s, m, fl, lo, hi, d) ROW(#m, INT, s, m, fl, lo, hi, .doc = (d))
#define TEXT_(s, m, fl, ...) TEXT_ROW(s, m, fl, __VA_ARGS__)
#define TEXT_ROW(s, m, fl, hi, fmt, d) \
	ROW(#m, TEXT, s, m, fl, 1, hi, .format = (fmt), .doc = (d))
#define WORD_(s, m, w, d) \
	ROW(#m, WORD, s, m, REQUIRED, 0, 0, .words = (w), .doc = (d))
#define OBJECT_(s, m, fl, f, d) \
	ROW(#m, OBJECT, s, m, fl, 0, 0, .sub = (f), .doc = (d))
#define ARRAY_(s, m, fl, lo, hi, f, d) LIST_(#m, ARRAY, s, m, fl, lo, hi, f, d)
#define MAP_(s, m, fl, lo, hi, f, d) LIST_(#m, MAP, s, m, fl, lo, hi, f, d)
/* A struct record_strings or record_ints.
 * NOLINTNEXTLINE(bugprone-macro-parentheses): a member of a member */
#define SCALARS_(s, m, fl, a, b, f, d) LIST_(#m, ARRAY, s, m.v, fl, a, b, f, d)
#define LIST_(k, t, s, m, fl, lo, hi, f, d) \
	ROW(k, t, s, m, fl, lo, hi, .sub = (f), \
	    .size = sizeof(*((struct s *)NULL)->m), .doc = (d))
#define ELEMENT(t, fl, lo, hi, f) \
	{ .key = "", .kind = (t), .flags = REQUIRED | (fl), .min = (lo), \
	  .max = (hi), .sub = (f) }
#define END { .key = NULL }

#define ANY		(-INT64_MAX), INT64_MAX
#define COUNT		0, INT64_MAX
#define POSITIVE	1, INT64_MAX
#define FREE		RECORD_MAX_TEXT, NULL
#define NAMED		RECORD_MAX_NAME, &name
#define LABEL		RECORD_MAX_NAME, &label
#define HEX40		RECORD_MAX_NAME, &hex40
#define SHA256		RECORD_MAX_NAME, &sha256
#define BUILD_ID	RECORD_MAX_NAME, &build

static const struct field
	any_int = ELEMENT(INT, 0, -INT64_MAX, INT64_MAX, NULL),
	count = ELEMENT(INT, 0, 0, INT64_MAX, NULL),
	size = ELEMENT(INT, POW2, 1, INT64_MAX, NULL),
	any_text = ELEMENT(TEXT, 0, 0, RECORD_MAX_TEXT, NULL),
	reason = ELEMENT(TEXT, 0, 1, RECORD_MAX_TEXT, NULL);

static const struct field agent_fields[] = {
	TEXT_(record_agent, version, 0, FREE, "of mmtrend"),
	TEXT_(record_agent, compiler, 0, FREE, "that built mmtrend"),
	SCALARS_(record_agent, argv, 0, 0, MAX_ARGV, &any_text,
		 "measuring options"),
	END
};

static const struct field epoch_fields[] = {
	TEXT_(record_epoch, arch, 0, NAMED, "uname -m"),
	TEXT_(record_epoch, cpu, 0, FREE, "model name"),
	INT_(record_epoch, family, 0, COUNT, "CPU family"),
	INT_(record_epoch, model, 0, COUNT, "CPU model"),
	INT_(record_epoch, stepping, 0, COUNT, "CPU stepping"),
	INT_(record_epoch, cpus, 0, POSITIVE, "CPUs online"),
	INT_(record_epoch, nodes, 0, POSITIVE, "NUMA nodes online"),
	INT_(record_epoch, ram_bytes, 0, POSITIVE,
	     "MemTotal rounded up to 1/16 of the next power of two"),
	INT_(record_epoch, base_page_bytes, POW2, POSITIVE, "base page size"),
	INT_(record_epoch, pmd_bytes, POW2, COUNT, "PMD page size; 0: no THP"),
	TEXT_(record_epoch, hypervisor, 0, FREE, "\"kvm\", \"none\""),
	END
};

static const struct field volatile_fields[] = {
	TEXT_(record_volatile, microcode, 0, FREE, "revision"),
	TEXT_(record_volatile, mitigations, 0, FREE, "\"on\", \"off\""),
	TEXT_(record_volatile, governor, 0, FREE, "of cpufreq"),
	TEXT_(record_volatile, turbo, 0, FREE, "\"on\", \"off\""),
	TEXT_(record_volatile, smt, 0, FREE, "\"on\", \"off\""),
	INT_(record_volatile, swap_bytes, 0, COUNT, "size of all swap"),
	TEXT_(record_volatile, clocksource, 0, FREE, "current clock source"),
	TEXT_(record_volatile, cmdline_sha256, 0, SHA256, "of /proc/cmdline"),
	END
};

static const struct field host_fields[] = {
	TEXT_(record_host, label, REQUIRED, LABEL, "the owner's choice"),
	OBJECT_(record_host, epoch, 0, epoch_fields,
		"stable facts: a change starts new series"),
	ROW("volatile", OBJECT, record_host, vol, 0, 0, 0,
	    .sub = volatile_fields, .doc = "shown where two sides differ"),
	END
};

static const struct field kernel_fields[] = {
	TEXT_(record_kernel, release, REQUIRED, FREE, "uname -r"),
	TEXT_(record_kernel, version, 0, FREE, "uname -v"),
	TEXT_(record_kernel, commit, 0, HEX40, "full SHA"),
	TEXT_(record_kernel, tree, 0, FREE, "where the commit is from"),
	TEXT_(record_kernel, push, 0, FREE, "that the commit came with"),
	INT_(record_kernel, dirty, 0, 0, 1, "1: changed on top of the commit"),
	TEXT_(record_kernel, build_id, 0, BUILD_ID, "of vmlinux"),
	TEXT_(record_kernel, tree_hash, 0, HEX40, "of the commit's git tree"),
	TEXT_(record_kernel, config_sha256, 0, SHA256, "of the config text"),
	TEXT_(record_kernel, compiler, 0, FREE, "that built the kernel"),
	TEXT_(record_kernel, linker, 0, FREE, "that linked the kernel"),
	INT_(record_kernel, hz, 0, POSITIVE, "CONFIG_HZ"),
	TEXT_(record_kernel, preempt, 0, FREE, "preemption model"),
	SCALARS_(record_kernel, folio_bytes, 0, 0, MAX_SIZES, &size,
		 "sizes that this kernel offers above the base page"),
	END
};

static const struct field boot_fields[] = {
	TEXT_(record_boot, id, 0, LABEL, "its runs are not independent"),
	INT_(record_boot, uptime_ns, 0, COUNT, "at the start"),
	END
};

static const struct field quiet_fields[] = {
	INT_(record_quiet, cpu, 0, COUNT, "that ran the bursts"),
	TEXT_(record_quiet, sched, 0, FREE, "\"fifo:1\", \"other\""),
	INT_(record_quiet, order_seed, 0, ANY, "of the shuffle of launches"),
	SCALARS_(record_quiet, load_1m_milli, 0, 2, 2, &count,
		 "load average x 1000, before and after"),
	INT_(record_quiet, steal_ppm, 0, COUNT, "stolen time, of the whole"),
	INT_(record_quiet, involuntary_switches, 0, COUNT, "of the launches"),
	INT_(record_quiet, rt_throttled, 0, COUNT, "times"),
	SCALARS_(record_quiet, temperature_mc, 0, 2, 2, &any_int,
		 "1/1000 degree Celsius, before and after"),
	SCALARS_(record_quiet, taint, 0, 2, 2, &count,
		 "the kernel's taint bits, before and after"),
	END
};

static const struct field unread_pair[] = {
	TEXT_(record_unread, path, REQUIRED, RECORD_MAX_TEXT, &pointer, NULL),
	TEXT_(record_unread, reason, REQUIRED, FREE, NULL),
};

static const struct field param_pair[] = {
	TEXT_(record_param, name, REQUIRED, NAMED, NULL),
	ELEMENT(PARAM, 0, -INT64_MAX, INT64_MAX, NULL),
};

static const struct field metric_fields[] = {
	TEXT_(record_metric, name, REQUIRED, NAMED, "ends in _ and its unit"),
	TEXT_(record_metric, unit, REQUIRED, NAMED, "\"ns\", \"insns\"..."),
	WORD_(record_metric, better, better_words, "which way is better"),
	INT_(record_metric, quantum, REQUIRED, POSITIVE, "resolution, in unit"),
	INT_(record_metric, ops, REQUIRED, POSITIVE, "operations in a sample"),
	WORD_(record_metric, reduce, reduce_words, "iterations to one value"),
	END
};
static const struct field metric = ELEMENT(OBJECT, 0, 0, 0, metric_fields);

static const struct field bench_fields[] = {
	TEXT_(record_bench, name, REQUIRED, NAMED, "family or family.variant"),
	INT_(record_bench, rev, REQUIRED, POSITIVE,
	     "raised when figures stop being comparable"),
	TEXT_(record_bench, same_as, OMIT, FREE,
	      "the well-known command that measures the same"),
	MAP_(record_bench, params, 0, 0, RECORD_MAX_PARAMS, param_pair,
	     "what the figures depend on"),
	ARRAY_(record_bench, metrics, REQUIRED, 1, RECORD_MAX_METRICS, &metric,
	       NULL),
	END
};
static const struct field bench = ELEMENT(OBJECT, 0, 0, 0, bench_fields);

static const struct field design_fields[] = {
	INT_(record_design, launches, 0, 1, RECORD_MAX_LAUNCHES,
	     "most per cell"),
	INT_(record_design, iterations, 0, 1, RECORD_MAX_ITERATIONS,
	     "most per launch"),
	END
};

static const struct field samples_pair[] = {
	TEXT_(record_samples, metric, REQUIRED, NAMED, NULL),
	SCALARS_(record_samples, values, REQUIRED, 1, RECORD_MAX_ITERATIONS,
		 &count, NULL),
};

static const struct field launch_fields[] = {
	INT_(record_launch, folios, 0, COUNT, "of the wanted size, counted"),
	INT_(record_launch, other_folios, 0, COUNT, "of every other size"),
	TEXT_(record_launch, proved, 0, FREE, "\"counter+pagemap\"..."),
	INT_(record_launch, pinned, 0, COUNT, "pages pinned per get, counted"),
	MAP_(record_launch, samples, REQUIRED, 0, RECORD_MAX_METRICS,
	     samples_pair, "by metric: sums over the timed bursts"),
	END
};
static const struct field launch = ELEMENT(OBJECT, 0, 0, 0, launch_fields);

static const struct field cell_fields[] = {
	TEXT_(record_cell, bench, REQUIRED, NAMED, "one of benches"),
	INT_(record_cell, folio_bytes, REQUIRED | POW2, POSITIVE, "folio size"),
	WORD_(record_cell, status, status_words,
	      "invalid: figures kept, no verdict from them"),
	SCALARS_(record_cell, reasons, OMIT, 0, RECORD_MAX_REASONS, &reason,
		 "at least one unless ok"),
	ARRAY_(record_cell, launches, OMIT, 0, RECORD_MAX_LAUNCHES, &launch,
	       "one forked process each"),
	END
};
static const struct field cell = ELEMENT(OBJECT, 0, 0, 0, cell_fields);

static const struct field run_fields[] = {
	TEXT_(record, schema, REQUIRED, RECORD_MAX_NAME, &this_schema, NULL),
	TEXT_(record, id, REQUIRED, RECORD_MAX_NAME, &uuid7,
	      "a second POST of it makes no second run"),
	TEXT_(record, started_at, 0, RECORD_MAX_NAME, &utc, "UTC"),
	INT_(record, elapsed_ns, 0, COUNT, "of the whole run"),
	TEXT_(record, clock, 0, NAMED, "\"monotonic\", \"insns\""),
	OBJECT_(record, agent, 0, agent_fields, NULL),
	OBJECT_(record, host, REQUIRED, host_fields, NULL),
	OBJECT_(record, kernel, REQUIRED, kernel_fields, NULL),
	OBJECT_(record, boot, 0, boot_fields, NULL),
	OBJECT_(record, quiet, 0, quiet_fields, "how quiet the machine was"),
	SCALARS_(record, invalid, 0, 0, RECORD_MAX_REASONS, &reason,
		 "reasons against the whole run"),
	MAP_(record, unread, 0, 0, RECORD_MAX_UNREAD, unread_pair,
	     "why a fact is null, by its path"),
	ARRAY_(record, benches, REQUIRED, 0, RECORD_MAX_BENCHES, &bench, NULL),
	OBJECT_(record, design, 0, design_fields, NULL),
	ARRAY_(record, cells, REQUIRED, 0, RECORD_MAX_CELLS, &cell,
	       "benchmark x folio size"),
	END
};
static const struct field run = ELEMENT(OBJECT, 0, 0, 0, run_fields);

/* --- memory: freed at once ------------------------------------------------ */

struct chunk {
	struct chunk *next;
	size_t used, cap;
	max_align_t data[];
};

void *record_alloc(struct record *r, size_t bytes)
{
	struct chunk *c = r->mem;
	size_t align = sizeof(max_align_t), cap;
	char *p;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + align - 1) / align * align;
	if (!c || c->cap - c->used < bytes) {
		cap = bytes > CHUNK ? bytes : CHUNK;
		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		*c = (struct chunk){ r->mem, 0, cap };
		r->mem = c;
	}
	p = (char *)c->data + c->used;
	c->used += bytes;
	return memset(p, 0, bytes);
}

static char *dup_bytes(struct record *r, const char *s, size_t len)
{
	char *copy = record_alloc(r, len + 1);

	return copy ? memcpy(copy, s, len) : NULL;
}

char *record_dup(struct record *r, const char *s)
{
	return s ? dup_bytes(r, s, strlen(s)) : NULL;
}

char *record_printf(struct record *r, const char *fmt, ...)
{
	char *text = NULL, *copy = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return NULL;
	copy = dup_bytes(r, text, (size_t)len);
	free(text);
	return copy;
}

/* Room for one more element; the memory doubles when n is a power of two. */
static void *append(struct record *r, void *v, size_t n, size_t bytes)
{
	void *more;

	if (n & (n - 1))
		return v;
	more = record_alloc(r, (n ? 2 * n : 1) * bytes);
	return more && n ? memcpy(more, v, n * bytes) : more;
}

int record_strings_add(struct record *r, struct record_strings *l,
		       const char *s)
{
	char *copy = record_dup(r, s);
	char **v = copy ? append(r, l->v, l->n, sizeof(*v)) : NULL;

	if (!v)
		return -1;
	v[l->n++] = copy;
	l->v = v;
	return 0;
}

int record_unread(struct record *r, const char *path, const char *why)
{
	struct record_unread u, *v = NULL;

	for (size_t i = 0; i < r->nunread; i++)
		if (!strcmp(r->unread[i].path, path))
			return 0;
	u.path = record_dup(r, path);
	u.reason = record_dup(r, why);
	if (u.path && u.reason)
		v = append(r, r->unread, r->nunread, sizeof(u));
	if (!v)
		return -1;
	v[r->nunread++] = u;
	r->unread = v;
	return 0;
}

/* Integers of a zeroed struct become null; all else is null as zero. */
static void set_null(const struct field *f, char *at)
{
	for (; f->key; f++) {
		if (f->kind == OBJECT)
			set_null(f->sub, at + f->offset);
		else if (f->kind == INT)
			*(int64_t *)(void *)(at + f->offset) = RECORD_NULL;
	}
}

struct record *record_new(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (r)
		set_null(run_fields, (char *)r);
	return r;
}

void record_free(struct record *r)
{
	struct chunk *c, *next;

	for (c = r ? r->mem : NULL; c; c = next) {
		next = c->next;
		free(c);
	}
	free(r);
}

/* --- what is said when a value is refused --------------------------------- */

/* Where in the document the reader or writer is. */
struct walk {
	struct record *r;		/* reader: owns what is read */
	struct err *e;
	size_t depth;
	struct { const char *key; size_t index; } path[RECORD_MAX_DEPTH + 1];
};

/* @key NULL: element @index of an array. */
static void enter(struct walk *w, const char *key, size_t index)
{
	w->path[w->depth].key = key;
	w->path[w->depth++].index = index;
}

static void leave(struct walk *w)
{
	w->depth--;
}

__attribute__((format(printf, 2, 3)))
static void say(struct err *e, const char *fmt, ...)
{
	size_t len = strlen(e->msg);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->msg + len, sizeof(e->msg) - len, fmt, ap);
	va_end(ap);
}

/* A stranger's text: cut, and what is not printable ASCII as '?'. In a path
 * ~ and / are escaped. */
static void say_text(struct err *e, const char *s, size_t len, bool in_path)
{
	for (size_t i = 0; i < len && i < MAX_QUOTE; i++) {
		if (in_path && (s[i] == '~' || s[i] == '/'))
			say(e, s[i] == '~' ? "~0" : "~1");
		else
			say(e, "%c", s[i] >= ' ' && s[i] <= '~' ? s[i] : '?');
	}
	if (len > MAX_QUOTE)
		say(e, "...");
}

/* A reason, behind its path as a JSON pointer ("/": all). Returns -1. */
__attribute__((format(printf, 2, 3)))
static int fault(const struct walk *w, const char *fmt, ...)
{
	struct err why;
	va_list ap;

	w->e->msg[0] = '\0';
	for (size_t i = 0; i < w->depth; i++) {
		const char *key = w->path[i].key;

		say(w->e, "/");
		if (key)
			say_text(w->e, key, strlen(key), true);
		else
			say(w->e, "%zu", w->path[i].index);
	}
	va_start(ap, fmt);
	vsnprintf(why.msg, sizeof(why.msg), fmt, ap);
	va_end(ap);
	say(w->e, "%s: %s", w->depth ? "" : "/", why.msg);
	return -1;
}

static int no_memory(struct err *e)
{
	return err_set(e, "not enough memory");
}

static void say_range(struct err *e, const struct field *f, const char *of)
{
	if (f->min == f->max)
		say(e, " of %" PRId64 "%s", f->min, of);
	else if (f->max < INT64_MAX)
		say(e, " of %" PRId64 " to %" PRId64 "%s", f->min, f->max, of);
	else if (f->min > -INT64_MAX)
		say(e, " >= %" PRId64, f->min);
}

/* "[missing, ]expected ..."; the caller may add what it got. Returns -1. */
static int expected(const struct walk *w, const struct field *f,
		    const char *missing)
{
	static const struct { const char *what, *of; } kinds[] = {
		[INT] = { "an integer", "" }, [TEXT] = { "a string", " bytes" },
		[WORD] = { "one of", NULL }, [OBJECT] = { "an object", NULL },
		[PARAM] = { "an integer, a boolean or a string", NULL },
		[ARRAY] = { "an array", " values" },
		[MAP] = { "an object", " values" },
	};
	const char *what = kinds[f->kind].what, *of = kinds[f->kind].of;

	if (f->format) {
		of = f->format->words ? NULL : " characters";
		what = f->format->words ? f->format->words : what;
	}
	if (f->flags & POW2)
		what = "a power of two";
	fault(w, "%sexpected %s", missing, what);
	if (of)
		say_range(w->e, f, of);
	for (size_t i = 0; f->kind == WORD && f->words[i]; i++)
		say(w->e, " %s", f->words[i]);
	say(w->e, f->flags & REQUIRED ? "" : " or null");
	return -1;
}

static int refuse_int(const struct walk *w, const struct field *f, int64_t got)
{
	expected(w, f, "");
	say(w->e, ", got %" PRId64, got);
	return -1;
}

static int refuse_text(const struct walk *w, const struct field *f,
		       const char *from, const char *got)
{
	expected(w, f, "");
	if (from)
		say(w->e, " from %s", from);
	say(w->e, ", got \"");
	say_text(w->e, got, strlen(got), false);
	say(w->e, "\"");
	return -1;
}

static int refuse_json(const struct walk *w, const struct field *f,
		       const json_t *j)
{
	static const char *const type[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
		[JSON_REAL] = "a fraction", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false", [JSON_NULL] = "null",
	};

	if (json_is_integer(j))
		return refuse_int(w, f, json_integer_value(j));
	if (json_is_string(j))
		return refuse_text(w, f, NULL, json_string_value(j));
	expected(w, f, "");
	say(w->e, ", got %s", type[json_typeof(j)]);
	return -1;
}

/* --- checks of single values, for reader and writer ----------------------- */

static int check_int(const struct walk *w, const struct field *f, int64_t v)
{
	if (v < f->min || v > f->max || (f->flags & POW2 && v & (v - 1)))
		return refuse_int(w, f, v);
	return 0;
}

static int check_count(const struct walk *w, const struct field *f, size_t n)
{
	if ((int64_t)n < f->min || (int64_t)n > f->max)
		return refuse_int(w, f, (int64_t)n);
	return 0;
}

/* Does one item of a pattern ([set], \escape or character) take @c? *@end
 * moves behind it. */
static bool item(const char *p, char c, const char **end)
{
	bool hit = false;

	if (*p != '[') {
		p += *p == '\\';
		*end = p + 1;
		return *p == c;
	}
	for (p++; *p != ']'; p++) {
		char first = *p;

		if (p[1] == '-' && p[2] != ']')
			p += 2;
		hit |= c >= first && c <= *p;
	}
	*end = p + 1;
	return hit;
}

/* Does @s match ^items, each with an optional {n} or {m,n}, and $ if given? */
static bool matches(const char *pattern, const char *s)
{
	const char *p = pattern + 1, *from, *end;

	while (*p && *p != '$') {
		unsigned long n = 0, least = 1, most = 1;
		bool hit = item(p, *s, &end);

		from = p;
		p = end;
		if (*p == '{') {
			char *num;

			least = most = strtoul(p + 1, &num, 10);
			if (*num == ',')
				most = strtoul(num + 1, &num, 10);
			p = num + 1;
		}
		for (; hit && n < most; n++)
			hit = item(from, *++s, &end);
		if (n < least)
			return false;
	}
	return !*p || !*s;
}

/* Characters that could lie about what is shown, by code point. */
static const struct { uint32_t first, last; } refused[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
};

/* The next code point of UTF-8; *@s moves behind it. UINT32_MAX: not UTF-8. */
static uint32_t code_point(const char **s)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)*s;
	unsigned more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
	uint32_t c = more ? *p & (0x3fu >> more) : *p;

	if ((*p >= 0x80 && *p < 0xc0) || *p >= 0xf8)
		return UINT32_MAX;
	for (unsigned i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		c = c << 6 | (p[i] & 0x3f);
	}
	*s += more + 1;
	return c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ?
		UINT32_MAX : c;
}

static int check_text(const struct walk *w, const struct field *f,
		      const char *s)
{
	size_t len = strlen(s);

	if ((int64_t)len < f->min || (int64_t)len > f->max)
		return refuse_text(w, f, NULL, s);
	if (f->format && !matches(f->format->pattern, s))
		return refuse_text(w, f, f->format->from, s);
	while (*s) {
		uint32_t c = code_point(&s);

		if (c >= ' ' && c <= '~')
			continue;
		if (c == UINT32_MAX)
			return fault(w, "not UTF-8");
		for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
			if (c >= refused[i].first && c <= refused[i].last)
				return fault(w, "control or invisible "
					     "character U+%04X", c);
	}
	return 0;
}

/* --- JSON to struct ------------------------------------------------------- */

static int read_value(struct walk *w, const struct field *f, json_t *j,
		      char *at);

static int read_text(struct walk *w, const struct field *f, json_t *j,
		     char **out)
{
	if (check_text(w, f, json_string_value(j)))
		return -1;
	*out = record_dup(w->r, json_string_value(j));
	return *out ? 0 : no_memory(w->e);
}

static int read_word(struct walk *w, const struct field *f, json_t *j,
		     unsigned *out)
{
	for (unsigned i = 0; f->words[i]; i++) {
		if (!strcmp(json_string_value(j), f->words[i])) {
			*out = i;
			return 0;
		}
	}
	return refuse_json(w, f, j);
}

static int read_param(struct walk *w, const struct field *f, json_t *j,
		      struct record_param *p)
{
	switch (json_typeof(j)) {
	case JSON_INTEGER:
		p->kind = RECORD_PARAM_INT;
		p->i = json_integer_value(j);
		return check_int(w, f, p->i);
	case JSON_TRUE:
	case JSON_FALSE:
		p->kind = RECORD_PARAM_BOOL;
		p->i = json_is_true(j);
		return 0;
	case JSON_STRING:
		p->kind = RECORD_PARAM_TEXT;
		return read_text(w, &any_text, j, &p->text);
	default:
		return refuse_json(w, f, j);
	}
}

static int read_object(struct walk *w, const struct field *fields, json_t *j,
		       char *at)
{
	const struct field *f;
	size_t found = 0;
	const char *key;
	json_t *v;

	for (f = fields; f->key; f++) {
		v = json_object_get(j, f->key);
		found += v != NULL;
		enter(w, f->key, 0);
		if (read_value(w, f, v, at + f->offset))
			return -1;
		leave(w);
	}
	if (found == json_object_size(j))
		return 0;
	json_object_foreach(j, key, v) {
		for (f = fields; f->key && strcmp(f->key, key) != 0; f++)
			;
		if (!f->key)
			break;
	}
	enter(w, key, 0);
	return fault(w, "unknown key");
}

static int read_array(struct walk *w, const struct field *f, json_t *j,
		      struct list *l)
{
	if (check_count(w, f, json_array_size(j)))
		return -1;
	l->n = json_array_size(j);
	l->v = record_alloc(w->r, l->n * f->size);
	if (!l->v)
		return no_memory(w->e);
	for (size_t i = 0; i < l->n; i++) {
		char *at = l->v + i * f->size;

		if (f->sub->kind == OBJECT)
			set_null(f->sub->sub, at);
		enter(w, NULL, i);
		if (read_value(w, f->sub, json_array_get(j, i), at))
			return -1;
		leave(w);
	}
	return 0;
}

static int read_map(struct walk *w, const struct field *f, json_t *j,
		    struct list *l)
{
	const struct field *key_field = &f->sub[0], *value_field = &f->sub[1];
	const char *key;
	json_t *v;

	if (check_count(w, f, json_object_size(j)))
		return -1;
	l->v = record_alloc(w->r, json_object_size(j) * f->size);
	if (!l->v)
		return no_memory(w->e);
	json_object_foreach(j, key, v) {
		char *at = l->v + l->n++ * f->size;
		void *key_at = at + key_field->offset;

		enter(w, key, 0);
		if (check_text(w, key_field, key))
			return -1;
		*(char **)key_at = record_dup(w->r, key);
		if (!*(char **)key_at)
			return no_memory(w->e);
		if (read_value(w, value_field, v, at + value_field->offset))
			return -1;
		leave(w);
	}
	return 0;
}

/* Into a struct that is null so far; @j NULL: absent. After a -1 the walk
 * stays where the fault is. */
static int read_value(struct walk *w, const struct field *f, json_t *j,
		      char *at)
{
	static const json_type want[] = {
		[INT] = JSON_INTEGER, [TEXT] = JSON_STRING,
		[WORD] = JSON_STRING, [OBJECT] = JSON_OBJECT,
		[ARRAY] = JSON_ARRAY, [MAP] = JSON_OBJECT,
	};
	void *p = at;

	if (!j && f->flags & REQUIRED)
		return expected(w, f, "missing, ");
	if (!j || (json_is_null(j) && !(f->flags & REQUIRED)))
		return 0;
	if (f->kind == PARAM)
		return read_param(w, f, j, p);
	if (json_typeof(j) != want[f->kind])
		return refuse_json(w, f, j);
	switch (f->kind) {
	case INT:
		*(int64_t *)p = json_integer_value(j);
		return check_int(w, f, *(int64_t *)p);
	case TEXT:
		return read_text(w, f, j, p);
	case WORD:
		return read_word(w, f, j, p);
	case OBJECT:
		return read_object(w, f->sub, j, at);
	case ARRAY:
		return read_array(w, f, j, p);
	default:
		return read_map(w, f, j, p);
	}
}

/* --- struct to JSON ------------------------------------------------------- */

static int write_value(struct walk *w, const struct field *f, const char *at,
		       struct buf *out);

static void new_line(struct buf *out, size_t depth)
{
	buf_char(out, '\n');
	while (depth--)
		buf_char(out, ' ');
}

static bool is_null(const struct field *f, const char *at)
{
	const void *p = at;

	if (f->kind == INT)
		return *(const int64_t *)p == RECORD_NULL;
	if (f->kind == TEXT)
		return !*(char *const *)p;
	return (f->kind == ARRAY || f->kind == MAP) && !(f->flags & REQUIRED) &&
	       (f->flags & OMIT || f->min) && !((const struct list *)p)->n;
}

static int write_object(struct walk *w, const struct field *f, const char *at,
			struct buf *out)
{
	const char *comma = "";

	buf_char(out, '{');
	for (; f->key; f++) {
		if (f->flags & OMIT && is_null(f, at + f->offset))
			continue;
		buf_str(out, comma);
		comma = ",";
		enter(w, f->key, 0);
		new_line(out, w->depth);
		buf_json(out, f->key);
		buf_str(out, ": ");
		if (write_value(w, f, at + f->offset, out))
			return -1;
		leave(w);
	}
	new_line(out, w->depth);
	buf_char(out, '}');
	return 0;
}

/* An object a line; integers and strings all on one. */
static int write_array(struct walk *w, const struct field *f,
		       const struct list *l, struct buf *out)
{
	bool lines = f->sub->kind == OBJECT && l->n;

	if (check_count(w, f, l->n))
		return -1;
	buf_char(out, '[');
	for (size_t i = 0; i < l->n; i++) {
		buf_str(out, !i ? "" : lines ? "," : ", ");
		enter(w, NULL, i);
		if (lines)
			new_line(out, w->depth);
		if (write_value(w, f->sub, l->v + i * f->size, out))
			return -1;
		leave(w);
	}
	if (lines)
		new_line(out, w->depth);
	buf_char(out, ']');
	return 0;
}

static const char *map_key(const struct field *f, const struct list *l,
			   size_t i)
{
	const void *p = l->v + i * f->size + f->sub[0].offset;

	return *(char *const *)p;
}

static int write_map(struct walk *w, const struct field *f,
		     const struct list *l, struct buf *out)
{
	if (check_count(w, f, l->n))
		return -1;
	buf_char(out, '{');
	for (size_t i = 0; i < l->n; i++) {
		const char *key = map_key(f, l, i);

		enter(w, key, i);
		if (!key)
			return expected(w, &f->sub[0], "missing, ");
		for (size_t k = 0; k < i; k++)
			if (!strcmp(map_key(f, l, k), key))
				return fault(w, "doubled key");
		if (check_text(w, &f->sub[0], key))
			return -1;
		buf_str(out, i ? "," : "");
		new_line(out, w->depth);
		buf_json(out, key);
		buf_str(out, ": ");
		if (write_value(w, &f->sub[1], l->v + i * f->size +
				f->sub[1].offset, out))
			return -1;
		leave(w);
	}
	if (l->n)
		new_line(out, w->depth);
	buf_char(out, '}');
	return 0;
}

static int write_param(struct walk *w, const struct field *f,
		       const struct record_param *p, struct buf *out)
{
	if (p->kind == RECORD_PARAM_TEXT)
		return write_value(w, &any_text, (const char *)&p->text, out);
	if (p->kind == RECORD_PARAM_BOOL)
		buf_str(out, p->i ? "true" : "false");
	else
		buf_i64(out, p->i);
	return check_int(w, f, p->i);
}

static int write_word(struct walk *w, const struct field *f, unsigned v,
		      struct buf *out)
{
	unsigned n = 0;

	while (f->words[n])
		n++;
	if (v >= n)
		return refuse_int(w, f, v);
	buf_json(out, f->words[v]);
	return 0;
}

static int write_value(struct walk *w, const struct field *f, const char *at,
		       struct buf *out)
{
	const void *p = at;

	if (is_null(f, at)) {
		buf_str(out, "null");
		return f->flags & REQUIRED ? expected(w, f, "missing, ") : 0;
	}
	switch (f->kind) {
	case INT:
		buf_i64(out, *(const int64_t *)p);
		return check_int(w, f, *(const int64_t *)p);
	case TEXT:
		buf_json(out, *(char *const *)p);
		return check_text(w, f, *(char *const *)p);
	case WORD:
		return write_word(w, f, *(const unsigned *)p, out);
	case PARAM:
		return write_param(w, f, p, out);
	case OBJECT:
		return write_object(w, f->sub, at, out);
	case ARRAY:
		return write_array(w, f, p, out);
	default:
		return write_map(w, f, p, out);
	}
}

/*
 * --- what no single field can tell ------------------------------------------
 * Runs on checked fields: names hold nothing that a path would escape.
 */

static int check_time(const char *text, struct err *e)
{
	struct tm tm = { 0 }, real;

	if (!text)
		return 0;
	if (strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm)) {
		real = tm;
		if (timegm(&real) >= 0 && real.tm_mday == tm.tm_mday)
			return 0;
	}
	return err_set(e, "/started_at: expected a time that exists, "
		       "got \"%s\"", text);
}

static int check_bench(const struct record *r, size_t i, struct err *e)
{
	const struct record_bench *b = &r->benches[i];

	if (record_bench(r, b->name) != b)
		return err_set(e, "/benches/%zu/name: \"%s\" is listed twice",
			       i, b->name);
	for (size_t k = 0; k < b->nmetrics; k++) {
		const char *n = b->metrics[k].name, *unit = b->metrics[k].unit;
		size_t len = strlen(n), tail = strlen(unit) + 1;

		if (record_metric(b, n) != &b->metrics[k])
			return err_set(e, "/benches/%zu/metrics/%zu/name: "
				       "\"%s\" is listed twice", i, k, n);
		if (len <= tail || n[len - tail] != '_' ||
		    strcmp(n + len - tail + 1, unit) != 0)
			return err_set(e, "/benches/%zu/metrics/%zu/name: "
				       "expected a name that ends in \"_%s\", "
				       "got \"%s\"", i, k, unit, n);
	}
	return 0;
}

static bool has_samples(const struct record_launch *l, const char *which)
{
	for (size_t i = 0; i < l->nsamples; i++)
		if (!strcmp(l->samples[i].metric, which))
			return true;
	return false;
}

/* Launch @k of cell @i, which is of bench @b. */
static int check_launch(const struct record *r, size_t i, size_t k,
			const struct record_bench *b, struct err *e)
{
	const struct record_launch *l = &r->cells[i].launches[k];
	int64_t most = r->design.iterations;
	const char *which;

	for (size_t s = 0; s < l->nsamples; s++) {
		size_t n = l->samples[s].values.n;

		which = l->samples[s].metric;
		if (!record_metric(b, which))
			return err_set(e, "/cells/%zu/launches/%zu/samples/%s: "
				       "not a metric of \"%s\"", i, k, which,
				       b->name);
		if (most != RECORD_NULL && (int64_t)n > most)
			return err_set(e, "/cells/%zu/launches/%zu/samples/%s: "
				       "%zu iterations, design says %" PRId64,
				       i, k, which, n, most);
	}
	for (size_t m = 0; m < b->nmetrics; m++) {
		which = b->metrics[m].name;
		if (r->cells[i].status == RECORD_OK && !has_samples(l, which))
			return err_set(e, "/cells/%zu/launches/%zu/samples/%s: "
				       "missing in an ok cell", i, k, which);
	}
	return 0;
}

static int check_cell(const struct record *r, size_t i, struct err *e)
{
	const struct record_cell *c = &r->cells[i];
	const struct record_bench *b = record_bench(r, c->bench);
	int64_t most = r->design.launches;

	if (!b)
		return err_set(e, "/cells/%zu/bench: \"%s\" is not one of "
			       "benches", i, c->bench);
	for (size_t k = 0; k < i; k++)
		if (r->cells[k].folio_bytes == c->folio_bytes &&
		    !strcmp(r->cells[k].bench, c->bench))
			return err_set(e, "/cells/%zu: bench and folio_bytes "
				       "are those of /cells/%zu", i, k);
	if (c->status != RECORD_OK && !c->reasons.n)
		return err_set(e, "/cells/%zu/reasons: missing, expected why "
			       "the cell is \"%s\"", i,
			       status_words[c->status]);
	if (c->status == RECORD_OK && !c->nlaunches)
		return err_set(e, "/cells/%zu/launches: missing in an ok cell",
			       i);
	if (most != RECORD_NULL && (int64_t)c->nlaunches > most)
		return err_set(e, "/cells/%zu/launches: %zu launches, design "
			       "says %" PRId64, i, c->nlaunches, most);
	for (size_t k = 0; k < c->nlaunches; k++)
		if (check_launch(r, i, k, b, e))
			return -1;
	return 0;
}

static int check_document(const struct record *r, struct err *e)
{
	int ret = check_time(r->started_at, e);

	for (size_t i = 0; i < r->nbenches && !ret; i++)
		ret = check_bench(r, i, e);
	for (size_t i = 0; i < r->ncells && !ret; i++)
		ret = check_cell(r, i, e);
	return ret;
}

/* --- the two ends --------------------------------------------------------- */

static int check_body(size_t len, struct err *e)
{
	return len <= RECORD_MAX_BODY ? 0 :
	       err_set(e, "expected at most %u bytes, got %zu",
		       RECORD_MAX_BODY, len);
}

/* jansson nests by recursion, on a thread's small stack: look before. */
static int check_depth(const char *s, size_t len, struct err *e)
{
	size_t line = 1, from = 0, depth = 0;
	bool text = false;

	for (size_t i = 0; i < len && depth <= RECORD_MAX_DEPTH; i++) {
		if (s[i] == '"') {
			text = !text;
		} else if (text) {
			i += s[i] == '\\';
		} else if (s[i] == '\n') {
			line++;
			from = i + 1;
		} else if (s[i] == '}' || s[i] == ']') {
			depth -= depth > 0;
		} else if ((s[i] == '{' || s[i] == '[') &&
			   ++depth > RECORD_MAX_DEPTH) {
			return err_set(e, "line %zu, column %zu: nested deeper "
				       "than %d", line, i - from + 1,
				       RECORD_MAX_DEPTH);
		}
	}
	return 0;
}

/* Where and why jansson stopped; a doubled key by its name. */
static int syntax_error(const json_error_t *je, const char *json, struct err *e)
{
	size_t end = (size_t)je->position, from = end - 1;
	enum json_error_code code = json_error_code(je);

	if (je->line < 0 || code == json_error_out_of_memory)
		return no_memory(e);
	err_set(e, "line %d, column %d: ", je->line, je->column);
	if (code != json_error_duplicate_key) {
		for (const char *s = je->text; *s; s++)
			say_text(e, s, 1, false);
		return -1;
	}
	while (from && json[from - 1] != '"')
		from--;
	say(e, "doubled key \"");
	say_text(e, json + from, end - 1 - from, false);
	say(e, "\"");
	return -1;
}

struct record *record_parse(const char *json, size_t len, struct err *e)
{
	struct err unheard = { "" };
	struct walk w = { .e = e ? e : &unheard };
	json_t *j = NULL;
	json_error_t je;
	int ret = -1;

	if (check_body(len, e) || check_depth(json, len, e))
		goto out;
	j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &je);
	if (!j) {
		syntax_error(&je, json, w.e);
		goto out;
	}
	w.r = record_new();
	if (!w.r) {
		no_memory(e);
		goto out;
	}
	ret = read_value(&w, &run, j, (char *)w.r) || check_document(w.r, e);
out:
	json_decref(j);
	if (!ret)
		return w.r;
	record_free(w.r);
	return NULL;
}

int record_write(const struct record *r, struct buf *out, struct err *e)
{
	struct err unheard = { "" };
	struct walk w = { .e = e ? e : &unheard };
	size_t before = out->len;
	int ret = -1;

	if (write_value(&w, &run, (const char *)r, out) || check_document(r, e))
		goto out;
	buf_char(out, '\n');
	ret = buf_ok(out) ? check_body(out->len - before, e) : no_memory(e);
out:
	if (ret)
		buf_reset(out, before);
	return ret;
}

/* --- look-ups ------------------------------------------------------------- */

const struct record_bench *record_bench(const struct record *r,
					const char *which)
{
	for (size_t i = 0; i < r->nbenches; i++)
		if (!strcmp(r->benches[i].name, which))
			return &r->benches[i];
	return NULL;
}

const struct record_metric *record_metric(const struct record_bench *b,
					  const char *which)
{
	for (size_t i = 0; i < b->nmetrics; i++)
		if (!strcmp(b->metrics[i].name, which))
			return &b->metrics[i];
	return NULL;
}

const char *record_status_name(enum record_status s)
{
	return status_words[s];
}

static int by_name(const void *a, const void *b)
{
	const struct record_param *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void record_params_text(const struct record_bench *b, struct buf *out)
{
	struct record_param p[RECORD_MAX_PARAMS] = { 0 };
	size_t n = 0;

	for (; n < b->nparams && n < RECORD_MAX_PARAMS; n++)
		p[n] = b->params[n];
	qsort(p, n, sizeof(*p), by_name);
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%s%s=", i ? "&" : "", p[i].name);
		if (p[i].kind == RECORD_PARAM_TEXT)
			buf_url(out, p[i].text);
		else
			buf_i64(out, p[i].i);
	}
}

/* --- the schema file ------------------------------------------------------ */

static void schema_value(struct buf *out, const struct field *f, size_t depth);

static void schema_text(struct buf *out, const struct field *f)
{
	buf_printf(out, ", \"minLength\": %" PRId64 ", \"maxLength\": %" PRId64
		   ", \"$ref\": \"#/$defs/text\"", f->min, f->max);
	if (!f->format)
		return;
	buf_str(out, ", \"pattern\": ");
	buf_json(out, f->format->pattern);
}

static void schema_object(struct buf *out, const struct field *f, size_t depth)
{
	const char *comma = "";

	buf_str(out, ", \"additionalProperties\": false, \"required\": [");
	for (const struct field *s = f; s->key; s++) {
		if (!(s->flags & REQUIRED))
			continue;
		buf_printf(out, "%s\"%s\"", comma, s->key);
		comma = ", ";
	}
	buf_str(out, "], \"properties\": {");
	for (comma = ""; f->key; f++, comma = ",") {
		buf_str(out, comma);
		new_line(out, depth + 1);
		buf_printf(out, "\"%s\": ", f->key);
		schema_value(out, f, depth + 1);
	}
	buf_char(out, '}');
}

static void schema_list(struct buf *out, const struct field *f, size_t depth)
{
	const char *what = f->kind == MAP ? "Properties" : "Items";

	buf_printf(out, ", \"min%s\": %" PRId64 ", \"max%s\": %" PRId64,
		   what, f->min, what, f->max);
	buf_str(out, f->kind == MAP ? ", \"propertyNames\": " :
				      ", \"items\": ");
	schema_value(out, &f->sub[0], depth);
	if (f->kind == MAP) {
		buf_str(out, ", \"additionalProperties\": ");
		schema_value(out, &f->sub[1], depth);
	}
}

/* {"type": [...], what the kind adds, "description": ...} */
static void schema_value(struct buf *out, const struct field *f, size_t depth)
{
	static const char *const type[] = {
		[INT] = "integer", [TEXT] = "string", [WORD] = "string",
		[PARAM] = "integer\", \"boolean\", \"string",
		[OBJECT] = "object", [ARRAY] = "array", [MAP] = "object",
	};

	buf_printf(out, "{\"type\": [\"%s\"%s]", type[f->kind],
		   f->flags & REQUIRED ? "" : ", \"null\"");
	if (f->kind == INT || f->kind == PARAM)
		buf_printf(out, ", \"minimum\": %" PRId64 ", \"maximum\": %"
			   PRId64, f->min, f->max);
	if (f->kind == TEXT || f->kind == PARAM)
		schema_text(out, f->kind == TEXT ? f : &any_text);
	for (size_t i = 0; f->kind == WORD && f->words[i]; i++)
		buf_printf(out, "%s\"%s\"%s", i ? ", " : ", \"enum\": [",
			   f->words[i], f->words[i + 1] ? "" : "]");
	if (f->kind == OBJECT)
		schema_object(out, f->sub, depth);
	if (f->kind == ARRAY || f->kind == MAP)
		schema_list(out, f, depth);
	if (f->doc) {
		buf_str(out, ", \"description\": ");
		buf_json(out, f->doc);
	}
	buf_char(out, '}');
}

void record_schema(struct buf *out)
{
	buf_str(out, "{\"$schema\": "
		"\"https://json-schema.org/draft/2020-12/schema\",\n"
		" \"$id\": \"run.schema.json\",\n"
		" \"title\": \"mmtrend.run/1\",\n"
		" \"description\": \"What one run measured. Durations are "
		"whole ns, sizes bytes; null is unknown, and unread says why. "
		"The server also checks what fields say of each other.\",\n"
		" \"$defs\": {\"text\": {\"pattern\": \"^[^");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		buf_printf(out, "\\\\u%04x-\\\\u%04x", refused[i].first,
			   refused[i].last);
	buf_str(out, "]*$\"},\n  \"run\": ");
	schema_value(out, &run, 2);
	buf_str(out, "},\n \"$ref\": \"#/$defs/run\"}\n");
}
