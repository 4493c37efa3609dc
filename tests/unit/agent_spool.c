/* SPDX-License-Identifier: GPL-2.0-only */
/* spool.c: runs wait whole, in order, and only where no other can write. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../agent/host.h"
#include "../../agent/spool.h"
#include "../tap.h"

static char root[] = "/tmp/mmtrend-spool.XXXXXX";
static char spool[128];
static struct err e;

/* As small a run as the schema allows. */
static struct record *a_run(void)
{
	struct record *r = record_new();
	char id[37];

	host_uuid(id);
	r->schema = record_dup(r, "mmtrend.run/1");
	r->id = record_dup(r, id);
	r->host.label = record_dup(r, "lab");
	r->kernel.release = record_dup(r, "6.18.44");
	return r;
}

static void touch(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", spool, name);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static char *slurp(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(buf, 1, cap - 1, f) : 0;

	if (f)
		fclose(f);
	buf[n] = '\0';
	return buf;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mode & 0777;
}

static void test_empty(void)
{
	char path[4096];

	is(spool_dir(), spool, "MMTREND_SPOOL names the place");
	is_i(spool_next(NULL, path, &e), 0, "no spool yet: nothing waits");
	ok(access(spool, F_OK) != 0, "and looking makes none");
}

static void test_order(void)
{
	struct record *a = a_run(), *b;
	char first[4096], second[4096], path[4096], text[4096];
	struct record *back;

	usleep(3000);
	b = a_run();
	is_i(spool_add(b, second, &e), 0, "add the later run first");
	is_i(spool_add(a, first, &e), 0, "then the earlier");
	is_i(mode_of(spool), 0700, "the spool is ours alone");
	is_i(mode_of(first), 0600, "so is a run");
	slurp(first, text, sizeof(text));
	back = record_parse(text, strlen(text), &e);
	is(back ? back->id : NULL, a->id, "what waits is the whole document");
	record_free(back);

	touch(".hidden.json");
	touch("notes.txt");
	is_i(spool_next(NULL, path, &e), 1, "one waits");
	is(path, first, "the earlier comes first");
	is_i(spool_next(path, path, &e), 1, "another waits");
	is(path, second, "the later comes next");
	is_i(spool_next(path, path, &e), 0, "and no more: not *.json is no run");

	is_i(spool_drop(first, &e), 0, "drop what was sent");
	ok(access(first, F_OK) != 0, "it is gone");
	is_i(spool_drop(first, &e), -1, "a second drop is an error");
	ok(strstr(e.msg, first) != NULL, "that names the file");
	record_free(a);
	record_free(b);
	unlink(second);
}

static void test_bury(void)
{
	struct record *r = a_run();
	char path[4096], dead[512], text[128];

	spool_add(r, path, &e);
	is_i(spool_bury(path, "422: no such unit", &e), 0, "bury a refused run");
	snprintf(dead, sizeof(dead), "%s/dead/%s.json", spool, r->id);
	ok(access(path, F_OK) && !access(dead, F_OK), "it moved to dead/");
	snprintf(dead, sizeof(dead), "%s/dead/%s.why", spool, r->id);
	is(slurp(dead, text, sizeof(text)), "422: no such unit", "its answer beside it");
	is_i(spool_next(NULL, path, &e), 0, "what is dead waits no more");
	record_free(r);
}

static void test_refusals(void)
{
	struct record *r = a_run();
	char path[4096];

	chmod(spool, 0777);
	is_i(spool_add(r, path, &e), -1, "no run goes where anybody may write");
	ok(strstr(e.msg, "chmod 700") != NULL, "the cure is named");
	is_i(spool_next(NULL, path, &e), -1, "nor is one taken from there");
	chmod(spool, 0700);
	if (!geteuid() && !chown(spool, 65534, 65534)) {
		is_i(spool_next(NULL, path, &e), -1, "nor from another user's directory");
		if (chown(spool, 0, 0))
			perror(spool);
	} else {
		skip("another user's directory", "not root");
	}
	r->kernel.release = NULL;
	is_i(spool_add(r, path, &e), -1, "a document that breaks its schema never waits");
	is_i(spool_next(NULL, path, &e), 0, "nothing is left behind");
	setenv("MMTREND_SPOOL", "/proc/none/spool", 1);
	is_i(spool_add(r, path, &e), -1, "no place for a spool");
	ok(strstr(e.msg, "/proc/none") != NULL, "the place is named");
	setenv("MMTREND_SPOOL", spool, 1);
	record_free(r);
}

static void test_full(void)
{
	struct record *r = a_run();
	char path[4096], name[64];

	for (int i = 0; i < 4096; i++) {
		snprintf(name, sizeof(name), "%04d.json", i);
		touch(name);
	}
	is_i(spool_add(r, path, &e), -1, "the spool does not fill the disk");
	ok(strstr(e.msg, "4096 runs wait") != NULL, "and says how many wait");
	record_free(r);
}

int main(void)
{
	char command[128];

	if (!mkdtemp(root))
		return 1;
	snprintf(spool, sizeof(spool), "%s/state/spool", root);
	setenv("MMTREND_SPOOL", spool, 1);
	test_empty();
	test_order();
	test_bury();
	test_refusals();
	test_full();
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command) || tap_done();
}
