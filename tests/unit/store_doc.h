/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_UNIT_STORE_DOC_H
#define TESTS_UNIT_STORE_DOC_H
/* Small run documents and a store in a folder of its own, for server_store*.c */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/record.h"
#include "server/store.h"
#include "tests/tap.h"

#define BUILD_ID(n) "b0b0b0b0" "0000000" #n	/* 16 digits */

/* What a document says; zero and NULL have a default. One bench with one
 * metric, one launch value a launch (of a single iteration). */
struct doc {
	unsigned id;
	const char *host, *release, *build_id, *commit, *config, *boot;
	const char *tree_hash, *compiler;
	const char *bench, *better, *invalid, *extra;	/* extra: more cells */
	int dirty;
	long cpus, folio, rev, quantum, memory, iterations;
	const char *status, *reason;
	int launch[8];		/* ends at 0 */
};

static inline const char *or(const char *text, const char *fallback)
{
	return text ? text : fallback;
}

static inline void add_text(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, "\"%s\":", key);
	buf_json(b, text);
}

static inline void doc_launches(struct buf *b, const struct doc *d)
{
	int i;

	if (!d->launch[0])
		return;
	buf_str(b, ",\"launches\":[");
	for (i = 0; i < 8 && d->launch[i]; i++)
		buf_printf(b, "%s{\"folios\":1,\"other_folios\":0,"
			   "\"proved\":\"counter\",\"samples\":{\"time_ns\":"
			   "[%d]}}", i ? "," : "", d->launch[i]);
	buf_str(b, "]");
}

static inline void doc_json(struct buf *b, const struct doc *d)
{
	buf_printf(b, "{\"schema\":\"mmtrend.run/1\","
		   "\"id\":\"01a22c21-17c0-7d0b-9f5e-%012x\",", d->id);
	buf_str(b, "\"host\":{");
	add_text(b, "label", or(d->host, "h1"));
	buf_printf(b, ",\"epoch\":{\"arch\":\"x86_64\",\"cpu\":\"c\","
		   "\"cpus\":%ld,\"base_page_bytes\":4096,\"pmd_bytes\":2097152}}"
		   ",\"kernel\":{", d->cpus ? d->cpus : 2);
	add_text(b, "release", or(d->release, "6.1.0"));
	buf_char(b, ',');
	add_text(b, "build_id", d->build_id);
	buf_char(b, ',');
	add_text(b, "commit", d->commit);
	buf_char(b, ',');
	add_text(b, "config_sha256", d->config);
	buf_char(b, ',');
	add_text(b, "tree_hash", d->tree_hash);
	buf_char(b, ',');
	add_text(b, "compiler", d->compiler);
	buf_printf(b, ",\"dirty\":%d", d->dirty);
	buf_str(b, "},\"boot\":{");
	add_text(b, "id", or(d->boot, "boot-a"));
	buf_str(b, "},\"invalid\":[");
	if (d->invalid)
		buf_json(b, d->invalid);
	buf_printf(b, "],\"benches\":[{\"name\":\"%s\",\"rev\":%ld,"
		   "\"params\":{\"memory_bytes\":%ld},"
		   "\"metrics\":[{\"name\":\"time_ns\",\"unit\":\"ns\","
		   "\"better\":\"%s\",\"quantum\":%ld,\"ops\":1,"
		   "\"reduce\":\"median\"}]}],\"cells\":[",
		   or(d->bench, "mincore"), d->rev ? d->rev : 1,
		   d->memory ? d->memory : 4096, or(d->better, "lower"),
		   d->quantum ? d->quantum : 1);
	buf_printf(b, "{\"bench\":\"%s\",\"folio_bytes\":%ld,\"status\":\"%s\"",
		   or(d->bench, "mincore"), d->folio ? d->folio : 65536,
		   or(d->status, "ok"));
	if (d->reason) {
		buf_str(b, ",\"reasons\":[");
		buf_json(b, d->reason);
		buf_char(b, ']');
	}
	doc_launches(b, d);
	buf_printf(b, "}%s]}\n", or(d->extra, ""));
}

/* Put it; the reason is in @e. */
static inline enum store_answer doc_put(struct store *s, const struct doc *d,
					bool *want_config, struct err *e)
{
	struct buf b = BUF_INIT;
	enum store_answer a = STORE_ERROR;
	struct record *r;
	bool want;

	doc_json(&b, d);
	r = record_parse(b.s, b.len, e);
	if (r)
		a = store_put_run(s, r, b.s, b.len,
				  want_config ? want_config : &want, e);
	else
		printf("# the test's document: %s\n", e->msg);
	record_free(r);
	buf_free(&b);
	return a;
}

/* A folder for one test program; dir_end() removes what is in it. */
static char dir[] = "/tmp/mmtrend-unit.XXXXXX";
static char db_path[64];

static inline void dir_start(void)
{
	if (!mkdtemp(dir)) {
		perror("mkdtemp");
		exit(1);
	}
	snprintf(db_path, sizeof(db_path), "%s/test.db", dir);
}

static inline void dir_start_again(void)
{
	if (mkdir(dir, 0700)) {
		perror(dir);
		exit(1);
	}
}

static inline void dir_end(void)
{
	static const char *const tail[] = { "", "-wal", "-shm", ".lock" };
	char path[96];
	size_t i;

	for (i = 0; i < sizeof(tail) / sizeof(tail[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", db_path, tail[i]);
		unlink(path);
	}
	rmdir(dir);
}

#endif
