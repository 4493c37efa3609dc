/* SPDX-License-Identifier: GPL-2.0-only */
/* Folio settings over the fake kernel: set, read back, put back, whatever dies. */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../agent/dev.h"
#include "../../agent/settings.h"
#include "../../agent/mthp.h"
#include "../../common/record.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define THP "/sys/kernel/mm/transparent_hugepage"
#define K64 THP "/hugepages-64kB/enabled"
#define M2 THP "/hugepages-2048kB/enabled"

static char root[64], state[80], journal[96];
static struct mthp m;
static struct err e;

static void fresh(size_t base)
{
	static int n;

	snprintf(root, sizeof(root), "/tmp/mmtrend-unit.%d.%d", (int)getpid(), ++n);
	fake_tree(root, base);
	snprintf(state, sizeof(state), "%s/run/mmtrend", root);
	snprintf(journal, sizeof(journal), "%s/journal", state);
	mthp_probe(&m, &e);
}

static void reads(const char *path, const char *want, const char *what)
{
	char text[128] = "";

	dev_read(path, text, sizeof(text));
	is(text, want, what);
}

static void as_found(const char *what)
{
	char a[128] = "", b[128] = "";

	dev_read(K64, a, sizeof(a));
	dev_read(M2, b, sizeof(b));
	ok(!strcmp(a, "always inherit madvise [never]") &&
	   !strcmp(b, "always [inherit] madvise never"), "%s", what);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* Run @f in another process; its exit status. */
static int elsewhere(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(f());
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void test_probe(void)
{
	fresh(4096);
	ok(m.n == 8 && m.bytes[0] == 16384 && m.bytes[7] == 2097152 &&
	   m.pmd_bytes == 2097152, "4 kB pages: 16k to 1m and the PMD");
	fresh(16384);
	ok(m.n == 10 && m.bytes[0] == 65536 && m.pmd_bytes == 32 << 20,
	   "16 kB pages: 64k to 16m and a PMD of 32m");
	fake_file(THP "/hpage_pmd_size", NULL);
	ok(!mthp_probe(&m, &e) && !m.n && !m.pmd_bytes,
	   "a kernel without THP has no sizes, and that is no error");
	fresh(4096);
	for (size_t i = 0; i < m.n; i++) {
		char path[128];

		snprintf(path, sizeof(path), THP "/hugepages-%llukB/enabled",
			 (unsigned long long)m.bytes[i] >> 10);
		fake_file(path, NULL);
	}
	ok(!mthp_probe(&m, &e) && m.n == 1 && m.bytes[0] == 2097152,
	   "before per-size controls there is the PMD size alone");
	ok(!mthp_set(&m, 2097152, &e), "which the top-level control rules");
	fake_file(THP "/hpage_pmd_size", "12");
	ok(mthp_probe(&m, &e) == -1 && strstr(e.msg, "hpage_pmd_size"),
	   "a PMD size that makes no sense is refused");
}

static void test_set(void)
{
	struct stat st;

	fresh(4096);
	ok(!settings_lock(&e) && !stat(state, &st) && (st.st_mode & 07777) == 0700,
	   "the state directory is ours alone");
	ok(!mthp_set(&m, 2097152, &e) && access(journal, F_OK),
	   "an inherited size that is active alone needs no write");
	ok(!mthp_set(&m, 65536, &e), "64k can be set");
	reads(K64, "always inherit [madvise] never", "64k is madvise");
	reads(M2, "always inherit madvise [never]", "an inheriting PMD is never");
	ok(!access(journal, F_OK), "the old values are on disk");
	ok(!mthp_set(&m, 2097152, &e) && !mthp_set(&m, 4096, &e),
	   "other sizes, and none, follow");
	reads(K64, "always inherit madvise [never]", "no size is left on");
	ok(!settings_restore(&e) && access(journal, F_OK), "restore drops the journal");
	as_found("everything reads as found");
	ok(!settings_restore(&e), "a second restore does nothing");
}

static int die_with_settings(void)
{
	return settings_lock(&e) || mthp_set(&m, 65536, &e);
}

static void test_killed(void)
{
	size_t count = 0;

	fresh(4096);
	is_i(elsewhere(die_with_settings), 0, "an agent sets and is killed");
	reads(K64, "always inherit [madvise] never", "it left its settings");
	ok(!settings_undo(&count, &e) && count == 2, "undo puts back both values");
	as_found("undo restored what was found");
	ok(!settings_undo(&count, &e) && count == 0, "a second undo finds nothing");
	elsewhere(die_with_settings);
	ok(!settings_lock(&e), "the next run may start");
	as_found("and first puts back what the killed one left");
	settings_restore(&e);
}

static int lock_refused(void)
{
	char want[64];

	snprintf(want, sizeof(want), "another mmtrend (pid %d, since ", (int)getppid());
	return settings_lock(&e) != -1 || strncmp(e.msg, want, strlen(want)) ||
	       !strstr(e.msg, ") holds the lock");
}

static int restore_in_child(void)
{
	settings_forked();
	return settings_restore(&e);
}

static void test_two(void)
{
	fresh(4096);
	settings_lock(&e);
	mthp_set(&m, 65536, &e);
	is_i(elsewhere(lock_refused), 0, "a second agent is told who holds the lock");
	reads(K64, "always inherit [madvise] never", "and changes nothing");
	is_i(elsewhere(restore_in_child), 0, "a launch that ends restores nothing");
	reads(K64, "always inherit [madvise] never", "the parent's setting stands");
	settings_restore(&e);
	as_found("the holder restores");
}

static void test_refusals(void)
{
	size_t count;

	fresh(4096);
	fake_lie("stuck");
	settings_lock(&e);
	ok(mthp_set(&m, 65536, &e) == -1, "a setting that does not stick is an error");
	is(e.msg, K64 ": wrote \"madvise\", it reads \"never\"", "that says so");
	fake_lie("");
	settings_restore(&e);
	as_found("all is put back after it");

	fake_lie("readonly");
	settings_lock(&e);
	ok(mthp_set(&m, 65536, &e) == 1 && strstr(e.msg, "Read-only file system"),
	   "a read-only /sys is a reason to skip");
	settings_restore(&e);
	fake_lie("notroot");
	ok(!settings_lock(&e) && mthp_set(&m, 65536, &e) == 1, "so is not being root");
	is(e.msg, "not root: cannot set folio sizes", "with that reason");
	ok(!mthp_set(&m, 2097152, &e), "what is in effect anyway can be measured");
	ok(settings_undo(&count, &e) == -1, "undo needs root");
	fake_lie("");
	ok(mthp_set(&m, 65536, &e) == -1 && strstr(e.msg, "lock"),
	   "nothing is set without the lock");
	fake_file(K64, "always inherit madvise never");
	settings_lock(&e);
	ok(mthp_set(&m, 65536, &e) == -1 && strstr(e.msg, "in brackets"),
	   "a control that chooses nothing is refused");
	settings_restore(&e);
}

static void test_state_dir(void)
{
	char path[128], other[80];

	fresh(4096);
	mkdir(state, 0755);
	chmod(state, 0755);
	ok(settings_lock(&e) == -1 && strstr(e.msg, "mode 0700, got user"),
	   "a state directory that others may read is not believed");
	rmdir(state);
	snprintf(other, sizeof(other), "%s/other", root);
	mkdir(other, 0700);
	ok(!symlink(other, state) && settings_lock(&e) == -1,
	   "a state directory behind a symlink is not followed");
	unlink(state);
	mkdir(state, 0700);
	snprintf(path, sizeof(path), "%s/lock", state);
	ok(!symlink("/tmp/nowhere", path) && settings_lock(&e) == -1,
	   "nor is a lock");
	unlink(path);
	ok(!symlink("/etc/passwd", journal) && settings_lock(&e) == -1,
	   "nor is a journal");
	unlink(journal);
}

static void test_journal(void)
{
	static const char *const bad[] = {
		"garbage\n",
		"/proc/self/mem 1\n",
		"/etc/passwd never\n",
		THP "/../../../../etc/passwd never\n",
	};

	fresh(4096);
	mkdir(state, 0700);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(journal, bad[i]);
		ok(settings_lock(&e) == -1 && strstr(e.msg, "expected lines"),
		   "a journal line that is not ours is refused: %.20s", bad[i]);
	}
	as_found("and nothing is written by it");
	put(journal, THP "/hugepages-8kB/enabled never\n" K64 " madvise\n");
	ok(settings_lock(&e) == -1 && !access(journal, F_OK),
	   "a control that is gone keeps the journal");
	reads(K64, "always inherit [madvise] never", "the other values are put back");
}

static void test_counters(void)
{
	fresh(4096);
	is_i(mthp_fault_alloc(65536), 100, "a counter reads as it is");
	ok(mthp_fault_alloc(4096) == RECORD_NULL, "the base page has none: null, not 0");
}

int main(void)
{
	char cmd[64];

	test_probe();
	test_set();
	test_killed();
	test_two();
	test_refusals();
	test_state_dir();
	test_journal();
	test_counters();
	snprintf(cmd, sizeof(cmd), "rm -rf /tmp/mmtrend-unit.%d.*", (int)getpid());
	return system(cmd) || tap_done();
}
