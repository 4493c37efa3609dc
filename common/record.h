/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_RECORD_H
#define COMMON_RECORD_H
/*
 * The run document (schema "mmtrend.run/1"): what one `mmtrend run` measured,
 * on the wire and on disk. record.def holds the one field table from which the
 * parser, the writer and schema/run.schema.json are made.
 *
 * Durations are whole nanoseconds, sizes bytes. A fact that could not be read
 * is null, and `unread` says why, keyed by the fact's JSON path; zero is never
 * used for "unknown". Here null is RECORD_NULL for integers, NULL for strings.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define RECORD_NULL INT64_MIN

/* Every size that a stranger controls. */
#define RECORD_MAX_BODY		(2u << 20)	/* bytes of JSON */
#define RECORD_MAX_CELLS	1024
#define RECORD_MAX_LAUNCHES	256		/* per cell */
#define RECORD_MAX_ITERATIONS	4096		/* per launch and metric */
#define RECORD_MAX_BENCHES	64
#define RECORD_MAX_METRICS	16		/* per bench */
#define RECORD_MAX_PARAMS	16		/* per bench */
#define RECORD_MAX_REASONS	32		/* per cell, and for the run */
#define RECORD_MAX_UNREAD	128
#define RECORD_MAX_PATCHES	32
#define RECORD_MAX_NAME		64		/* bytes: labels, names of things */
#define RECORD_MAX_TEXT		512		/* bytes: reasons, versions */

enum record_status {
	RECORD_OK,
	RECORD_INVALID,		/* measured, figures kept, no verdict from it */
	RECORD_SKIP,		/* this kernel or machine cannot */
	RECORD_NOT_APPLICABLE,	/* this cell makes no sense (region < 4 PMDs) */
	RECORD_FAILED,		/* it should have worked */
};

enum record_reduce { RECORD_MEDIAN, RECORD_MIN };
enum record_better { RECORD_LOWER, RECORD_HIGHER };

struct record_strings { char **v; size_t n; };
struct record_ints { int64_t *v; size_t n; };

/* A parameter of a benchmark is an integer, a boolean or a string. */
struct record_param {
	char *name;
	enum { RECORD_PARAM_INT, RECORD_PARAM_BOOL, RECORD_PARAM_TEXT } kind;
	int64_t i;		/* INT, BOOL */
	char *text;		/* TEXT */
};

struct record_metric {
	char *name;		/* carries its unit: "get_ns" */
	char *unit;		/* "ns", "insns", "bytes" */
	enum record_better better;
	enum record_reduce reduce;
	int64_t quantum;	/* resolution, in @unit */
	int64_t ops;		/* operations in one sample */
};

struct record_bench {
	char *name;		/* "gup.pin_longterm" */
	int64_t rev;		/* raised when figures stop being comparable */
	char *same_as;		/* well-known command for the same, or null */
	struct record_param *params; size_t nparams;
	struct record_metric *metrics; size_t nmetrics;
};

/* Samples of one metric in one launch: each is the time (or count) of one pass,
 * the mean over the passes of a timed burst, in whole units. */
struct record_samples {
	char *metric;
	struct record_ints values;
};

struct record_launch {
	int64_t folios;		/* of the wanted size, counted; null: not countable */
	int64_t other_folios;	/* of every other size, counted */
	char *proved;		/* "counter", "pagemap", "counter+pagemap", or null */
	int64_t pinned;		/* pages pinned per get, counted; null: does not pin */
	struct record_samples *samples; size_t nsamples;
};

struct record_cell {
	char *bench;		/* one of benches[].name */
	int64_t folio_bytes;
	enum record_status status;
	struct record_strings reasons;	/* required unless ok */
	struct record_launch *launches; size_t nlaunches;
};

struct record_epoch {		/* stable facts: a change starts a new series */
	char *arch, *cpu;
	int64_t family, model, stepping, cpus, nodes;
	int64_t ram_bytes;	/* MemTotal rounded up to 1/16 of the next power of two */
	int64_t base_page_bytes, pmd_bytes;
	char *hypervisor;
};

struct record_volatile {	/* shown where two sides differ in them */
	char *microcode, *mitigations, *governor, *turbo, *smt;
	int64_t swap_bytes;
	char *clocksource, *cmdline_sha256;
	char *emulator;		/* "QEMU-7.2.22": what counted the instructions */
};

struct record_kernel {
	char *release, *version;	/* uname -r, uname -v */
	char *commit;			/* full SHA, 40 hex */
	char *tree, *push;
	struct record_strings patches;	/* groups on top of the commit, in order */
	int64_t dirty;			/* 0, 1, null */
	char *build_id, *tree_hash, *config_sha256;
	char *compiler, *linker;
	int64_t hz;
	char *preempt;
	struct record_ints folio_bytes;	/* sizes this kernel offers above the base page */
};

struct record_quiet {		/* how quiet the machine was, start and end */
	int64_t cpu;		/* the CPU that ran the bursts */
	char *sched;		/* "fifo:1", "other" */
	int64_t order_seed;
	struct record_ints load_1m_milli;	/* 2 */
	int64_t steal_ppm, involuntary_switches, rt_throttled;
	struct record_ints temperature_mc;	/* 2, or null: n == 0 */
	struct record_ints taint;		/* 2 */
};

struct record_unread { char *path, *reason; };

struct record {
	char *schema;		/* "mmtrend.run/1" */
	char *id;		/* UUIDv7, lower case */
	char *started_at;	/* "2026-11-30T11:04:56Z" */
	int64_t elapsed_ns;
	char *clock;		/* "monotonic"; the lab: "insns" */
	struct record_agent {
		char *version, *compiler;
		struct record_strings argv;
	} agent;
	struct record_host {
		char *label;
		struct record_epoch epoch;
		struct record_volatile vol;	/* "volatile" */
	} host;
	struct record_kernel kernel;
	struct record_boot { char *id; int64_t uptime_ns; } boot;
	struct record_quiet quiet;
	struct record_strings invalid;	/* reasons against the whole run */
	struct record_unread *unread; size_t nunread;
	struct record_bench *benches; size_t nbenches;
	struct record_design { int64_t launches, iterations; } design;
	struct record_cell *cells; size_t ncells;
	void *mem;		/* private to record.c: owns every pointer above */
};

/* Make an empty document: strings NULL, integers null. NULL: no memory. */
struct record *record_new(void);
/* NULL is allowed. */
void record_free(struct record *r);

/*
 * Memory that lives as long as the record. Every pointer put into a record
 * comes from these (or outlives it, such as a literal: the record never frees
 * single fields). NULL: no memory; record_dup(r, NULL) is NULL as well.
 */
void *record_alloc(struct record *r, size_t bytes);	/* zeroed */
char *record_dup(struct record *r, const char *s);
__attribute__((format(printf, 2, 3)))
char *record_printf(struct record *r, const char *fmt, ...);
/* Append a string to a list; -1: no memory. @s is copied. */
int record_strings_add(struct record *r, struct record_strings *l, const char *s);
/* Say why a fact is null. @path: "/kernel/commit". A path already there keeps
 * its first reason. */
int record_unread(struct record *r, const char *path, const char *reason);

/*
 * Parse and validate. NULL with @e set: "line 3, column 7: ..." for syntax,
 * else the JSON path: "/cells/3/folio_bytes: expected a power of two >= 1, got
 * \"x\"". Unknown and doubled keys, control, bidi and invisible characters in
 * text, caps, a cell of an unlisted bench, two cells of one bench and size,
 * samples of an unlisted metric, missing reasons, instructions counted by an
 * unnamed emulator, compiler or config: all refused. After a NULL
 * errno is ENOMEM if memory was short, which says nothing of the document;
 * any other value means that the document is wrong.
 */
struct record *record_parse(const char *json, size_t len, struct err *e);

/* Write the document as JSON, ending in a newline. Pretty: one field a line,
 * samples on one line. -1 with @e and nothing written if record_parse() would
 * not take it, or for want of memory; errno as there. */
int record_write(const struct record *r, struct buf *out, struct err *e);

/* The kernel's release shows the commit: "-g" and at least 7 of its digits. What
 * no release shows is a claim, from which no verdict may come. */
bool record_shows_commit(const struct record_kernel *k);
/* "gup-batch, mincore-batch": what stands on top of it; nothing if none. */
void record_patches(const struct record_kernel *k, struct buf *out);
/* Counted, not timed. */
bool record_is_exact(const char *unit);
/* NULL if the document has no such bench. */
const struct record_bench *record_bench(const struct record *r,
					const char *name);
const char *record_status_name(enum record_status s);
/* Parameters in canonical form, sorted by name: "memory_bytes=268435456&write=0".
 * The same benchmark with the same text is the same series. */
void record_params_text(const struct record_bench *b, struct buf *out);

#endif
