/* SPDX-License-Identifier: GPL-2.0-only */
/* The store's writing side: what is kept, refused, and survives. */
#include <errno.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/store_doc.h"

static struct err e;

static void same_and_conflict(struct store *s)
{
	struct doc d = { .id = 1, .build_id = BUILD_ID(1), .launch = { 100 } };
	struct buf body = BUF_INIT, back = BUF_INIT;

	is_i(doc_put(s, &d, NULL, &e), STORE_NEW, "a first post is new");
	is_i(doc_put(s, &d, NULL, &e), STORE_SAME, "the same post again is the same");
	d.launch[0] = 101;
	is_i(doc_put(s, &d, NULL, &e), STORE_CONFLICT,
	     "the same id with another body is refused");
	ok(strstr(e.msg, "/id: ") == e.msg, "and the reason names /id");

	d.launch[0] = 100;
	doc_json(&body, &d);
	is_i(store_get_run(s, "01a22c21-17c0-7d0b-9f5e-000000000001", &back, &e),
	     STORE_SAME, "a kept body is found");
	is(back.s, body.s, "and comes back byte for byte");
	is_i(store_get_run(s, "nothing", &back, &e), STORE_MISSING,
	     "an unknown id is missing");
	buf_free(&body);
	buf_free(&back);
}

static void contradictions(struct store *s)
{
	struct doc d = { .id = 10, .build_id = BUILD_ID(1), .better = "higher",
			 .launch = { 100 } };

	is_i(doc_put(s, &d, NULL, &e), STORE_CONFLICT,
	     "another direction in a known series is refused");
	is(e.msg, "/benches/0/metrics/0/better: \"higher\" contradicts the series' \"lower\"",
	   "and the reason names the field and both values");
	d.folio = 32768;
	is_i(doc_put(s, &d, NULL, &e), STORE_CONFLICT,
	     "a new size must not contradict the known ones either");
	d.better = NULL;
	d.quantum = 1000;
	d.folio = 0;
	is_i(doc_put(s, &d, NULL, &e), STORE_CONFLICT, "another quantum too");
	is(e.msg, "/benches/0/metrics/0/quantum: 1000 contradicts the series' 1",
	   "with its numbers");
	d.rev = 2;
	is_i(doc_put(s, &d, NULL, &e), STORE_NEW,
	     "under another revision it is a new series");
	d.id = 11;
	d.rev = 0;
	d.host = "h2";
	is_i(doc_put(s, &d, NULL, &e), STORE_NEW, "and so on another host");
}

static void refused_leaves_nothing(struct store *s)
{
	struct store_stats was, now;
	struct doc d = { .id = 20, .build_id = BUILD_ID(7), .better = "higher",
			 .launch = { 5 } };

	store_stats(s, &was, &e);
	doc_put(s, &d, NULL, &e);
	store_stats(s, &now, &e);
	ok(was.runs == now.runs && was.kernels == now.kernels &&
	   was.series == now.series,
	   "a refused run leaves no run, kernel or series behind");
}

static void generations(struct store *s)
{
	struct doc d = { .id = 30, .host = "h3", .build_id = BUILD_ID(1),
			 .launch = { 9 } };
	uint64_t all = store_generation(s, NULL), h1 = store_generation(s, "h1");

	is_i((long long)store_generation(s, "h3"), 0, "an unknown host has generation 0");
	doc_put(s, &d, NULL, &e);
	is_i((long long)store_generation(s, "h3"), 1, "a new run raises its host's");
	ok(store_generation(s, NULL) > all, "and that of all hosts");
	is_i((long long)store_generation(s, "h1"), (long long)h1,
	     "but no other host's");
	doc_put(s, &d, NULL, &e);
	is_i((long long)store_generation(s, "h3"), 1,
	     "a repeated post raises nothing");
	d.id = 31;
	d.commit = "0123456789012345678901234567890123456789";
	doc_put(s, &d, NULL, &e);
	ok(store_generation(s, "h1") > h1,
	   "a kernel whose commit is learned late changes every host's pages");
}

static void files(struct store *s)
{
	static const char config[] = "CONFIG_GUP_TEST=y\n";
	struct buf back = BUF_INIT;
	unsigned char sum[32];
	char hex[65];
	struct doc d = { .id = 40, .build_id = BUILD_ID(2), .config = hex,
			 .launch = { 7 } };
	bool want = false;
	int i;

	SHA256((const unsigned char *)config, sizeof(config) - 1, sum);
	for (i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	doc_put(s, &d, &want, &e);
	ok(want, "a config that is not here is asked for");
	is_i(store_put_file(s, hex, config, sizeof(config), &e), STORE_CONFLICT,
	     "a file that is not its hash is refused");
	is_i(store_put_file(s, hex, config, sizeof(config) - 1, &e), STORE_NEW,
	     "a file by its hash is kept");
	is_i(store_put_file(s, hex, config, sizeof(config) - 1, &e), STORE_SAME,
	     "a second time it is the same");
	doc_put(s, &d, &want, &e);
	ok(!want, "and then it is not asked for again");
	store_get_file(s, hex, &back, &e);
	is(back.s, config, "it comes back as it was");
	hex[0] = hex[0] == 'a' ? 'b' : 'a';
	is_i(store_get_file(s, hex, &back, &e), STORE_MISSING,
	     "an unknown hash is missing");
	buf_free(&back);
}

/* --- one bad job in a batch ---------------------------------------------- */

#define CLIENTS 12

struct client {
	pthread_t thread;
	struct store *s;
	struct doc d;
	struct err e;
	enum store_answer answer;
};

static void *client_main(void *arg)
{
	struct client *c = arg;

	c->answer = doc_put(c->s, &c->d, NULL, &c->e);
	return NULL;
}

/* Another connection holds the write lock, so that all of them queue up. */
static void one_bad_job(struct store *s)
{
	static struct client c[CLIENTS];
	struct store_stats was, now;
	sqlite3 *other = NULL;
	int i, kept = 0, waited = 0;

	sqlite3_open(db_path, &other);
	ok(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL) == 0,
	   "the writer is held back");
	store_stats(s, &was, &e);
	for (i = 0; i < CLIENTS; i++) {
		c[i].s = s;
		c[i].d = (struct doc){ .id = 100u + (unsigned)i,
				       .build_id = BUILD_ID(3), .launch = { 50 + i } };
		if (i == CLIENTS / 2)
			c[i].d.better = "higher";
		pthread_create(&c[i].thread, NULL, client_main, &c[i]);
		if (i == 0)	/* let the writer take it alone */
			usleep(200000);
	}
	do {
		usleep(1000);
		store_stats(s, &now, &e);
	} while (now.queue < CLIENTS - 1 && ++waited < 4000);
	sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(other);
	for (i = 0; i < CLIENTS; i++) {
		pthread_join(c[i].thread, NULL);
		kept += c[i].answer == STORE_NEW;
	}
	store_stats(s, &now, &e);
	ok(now.batches - was.batches <= 2,
	   "what waits together is committed together");
	is_i(c[CLIENTS / 2].answer, STORE_CONFLICT, "a bad job is refused");
	is_i(kept, CLIENTS - 1, "and fails no other job of its batch");
	is_i(now.runs - was.runs, CLIENTS - 1, "which are all there");
}

/* --- disks --------------------------------------------------------------- */

static enum store_answer put_until_busy(struct store *s, unsigned *id)
{
	struct doc d = { .build_id = BUILD_ID(4), .launch = { 60 } };
	enum store_answer a;
	unsigned end = *id + 300;

	do {
		d.id = ++*id;
		a = doc_put(s, &d, NULL, &e);
	} while (a == STORE_NEW && *id < end);
	return a;
}

/* Every write past the limit fails, as on a broken disk (EFBIG: IOERR). */
static void write_error(struct store *s)
{
	struct doc d = { .build_id = BUILD_ID(4), .launch = { 60 } };
	struct rlimit was, small;
	struct store_stats before, after;
	unsigned id = 1000;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small = was;
	small.rlim_cur = 512 << 10;
	setrlimit(RLIMIT_FSIZE, &small);
	is_i(put_until_busy(s, &id), STORE_BUSY,
	     "a write error is answered busy");
	store_stats(s, &before, &e);
	setrlimit(RLIMIT_FSIZE, &was);
	d.id = id;
	is_i(doc_put(s, &d, NULL, &e), STORE_NEW,
	     "the refused run was not kept, and is when the disk is well");
	store_stats(s, &after, &e);
	is_i(after.runs, before.runs + 1, "exactly once");
	ok(after.retried > 0, "and the counter shows it");
}

static void disk_full(void)
{
	char path[96];
	struct store *s;
	unsigned id = 2000;
	int64_t runs;
	struct store_stats now = { 0 };

	if (mount("none", dir, "tmpfs", 0, "size=768k")) {
		skip("a full disk is answered busy", strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "%s/full.db", dir);
	s = store_open(path, &e);
	is_i(s ? put_until_busy(s, &id) : STORE_ERROR, STORE_BUSY,
	     "a full disk is answered busy");
	if (s)
		store_stats(s, &now, &e);
	runs = now.runs;
	store_close(s);
	mount("none", dir, "tmpfs", MS_REMOUNT, "size=8m");
	s = store_open(path, &e);
	if (s)
		store_stats(s, &now, &e);
	ok(s && now.runs == runs && runs == id - 2001,
	   "what was acknowledged before is there after a restart");
	store_close(s);
	umount2(dir, MNT_DETACH);
}

/* --- other processes ----------------------------------------------------- */

/* Dies without closing, as by SIGKILL, after one acknowledged run. */
static void child_dies(int ready, int go)
{
	struct doc d = { .id = 1, .build_id = BUILD_ID(1), .launch = { 100 } };
	struct store *s = store_open(db_path, &e);
	char c = s && doc_put(s, &d, NULL, &e) == STORE_NEW ? 'y' : 'n';

	if (write(ready, &c, 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	_exit(0);
}

static void another_process(void)
{
	int ready[2], go[2], status;
	struct buf body = BUF_INIT;
	struct store *s;
	pid_t pid;
	char c = 'n';

	if (pipe(ready) || pipe(go))
		exit(1);
	pid = fork();
	if (!pid)
		child_dies(ready[1], go[0]);
	ok(read(ready[0], &c, 1) == 1 && c == 'y', "another process keeps a run");
	s = store_open(db_path, &e);
	ok(!s && strstr(e.msg, "another mmtrendd"),
	   "a database in use by another process is refused");
	store_close(s);
	if (write(go[1], "g", 1) != 1)
		exit(1);
	waitpid(pid, &status, 0);
	s = store_open(db_path, &e);
	ok(s && store_get_run(s, "01a22c21-17c0-7d0b-9f5e-000000000001", &body,
			      &e) == STORE_SAME,
	   "an acknowledged run survives a process that never closed");
	is_i(s ? (long long)store_generation(s, "h1") : -1, 1,
	     "and so does the generation");
	store_close(s);
	buf_free(&body);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
}

static void unreadable(void)
{
	struct store *s = store_open("/nonexistent/x.db", &e);

	ok(!s && strstr(e.msg, "/nonexistent/x.db"),
	   "a path that cannot be opened is named to the operator");
	store_close(s);
	store_close(NULL);
}

int main(void)
{
	struct store *s;
	uint64_t before;

	dir_start();
	another_process();	/* forks: before any thread */
	dir_end();
	dir_start_again();
	s = store_open(db_path, &e);
	if (!ok(s != NULL, "a new database opens"))
		return printf("# %s\n", e.msg), tap_done();
	same_and_conflict(s);
	contradictions(s);
	refused_leaves_nothing(s);
	generations(s);
	files(s);
	one_bad_job(s);
	write_error(s);
	before = store_generation(s, NULL);
	store_close(s);
	s = store_open(db_path, &e);
	ok(s && store_generation(s, NULL) == before,
	   "the generation of all hosts is the same after a restart");
	store_close(s);
	unreadable();
	dir_end();
	dir_start_again();
	disk_full();
	dir_end();
	return tap_done();
}
