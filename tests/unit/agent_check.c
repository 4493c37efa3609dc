/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `check` over the fake tree: each thing that makes noise is told with its fix;
 * what --tune sets outlives every run, and is undone by undo alone.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../agent/bench.h"
#include "../../agent/check.h"
#include "../../agent/dev.h"
#include "../../agent/run.h"
#include "../../agent/settings.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define CPU "/sys/devices/system/cpu"
#define GOVERNOR "/cpufreq/scaling_governor"
#define KERNEL "/proc/sys/kernel"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define ASLR KERNEL "/randomize_va_space"
#define K64 THP "/hugepages-64kB/enabled"
#define M2 THP "/hugepages-2048kB/enabled"
#define QUIET "nothing here is known to make figures noisy"

static char root[64], told[16384];	/* told: one line, single blanks */
static struct err e;

static void fresh(void)
{
	static int n;

	snprintf(root, sizeof(root), "/tmp/mmtrend-unit-check.%d.%d",
		 (int)getpid(), ++n);
	fake_tree(root, 4096);
}

/* As the command does; what it printed is in @told. */
static int check(bool tuning)
{
	struct buf b = BUF_INIT;
	int count = check_host(tuning, &b, &e);
	size_t n = 0;

	for (const char *p = b.s; p && *p && n < sizeof(told) - 1; p++) {
		char c = *p == '\n' ? ' ' : *p;

		if (c != ' ' || (n && told[n - 1] != ' '))
			told[n++] = c;
	}
	told[n] = '\0';
	buf_free(&b);
	return count;
}

static void says(const char *want, const char *what)
{
	if (!ok(strstr(told, want) != NULL, "%s", what))
		printf("# in:   %s\n# want: %s\n", told, want);
}

static void reads(const char *path, const char *want, const char *what)
{
	char text[128] = "";

	if (dev_read(path, text, sizeof(text)) < 0)
		snprintf(text, sizeof(text), "(cannot be read)");
	is(text, want, what);
}

static bool journal(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/run/mmtrend/%s", name);
	return dev_exists(path);
}

/* --- each thing that makes noise ----------------------------------------- */

static const struct {
	const char *path, *is, *tuned;	/* tuned NULL: not for --tune */
	const char *says;
} noisy[] = {
	{ CPU "/cpu0" GOVERNOR, "powersave", "performance",
	  "RED frequency governor: powersave; fix: cpupower frequency-set -g "
	  "performance" },
	{ CPU "/intel_pstate/no_turbo", "0", "1",
	  "RED turbo: 0; fix: echo 1 > " CPU "/intel_pstate/no_turbo" },
	{ CPU "/cpufreq/boost", "1", "0",
	  "RED turbo: 1; fix: echo 0 > " CPU "/cpufreq/boost" },
	{ CPU "/cpu0/cpuidle/state2/disable", "0", "1",
	  "RED deep idle states: 0; fix: cpupower idle-set -D 10, or boot with "
	  "processor.max_cstate=1" },
	{ CPU "/smt/active", "1", NULL,
	  "RED SMT siblings: 1; fix: echo off > " CPU "/smt/control" },
	{ CPU "/isolated", "", NULL,
	  "RED isolated CPUs: none; fix: boot with isolcpus=N nohz_full=N, N the "
	  "last CPU" },
	{ ASLR, "2", "0",
	  "RED address randomization: 2; fix: sysctl kernel.randomize_va_space=0" },
	{ KERNEL "/numa_balancing", "1", "0",
	  "RED NUMA balancing: 1; fix: sysctl kernel.numa_balancing=0" },
	{ KERNEL "/watchdog", "1", "0",
	  "RED watchdog: 1; fix: sysctl kernel.watchdog=0" },
	{ THP "/khugepaged/defrag", "1", "0",
	  "RED khugepaged compaction: 1; fix: echo 0 > " THP "/khugepaged/defrag" },
	{ "/sys/kernel/mm/ksm/run", "1", "0",
	  "RED KSM: 1; fix: echo 0 > /sys/kernel/mm/ksm/run" },
	{ CLOCK, "hpet", NULL,
	  "RED clock source: hpet; fix: boot with clocksource=tsc" },
	{ CLOCK, "acpi_pm", NULL,
	  "RED clock source: acpi_pm; fix: boot with clocksource=tsc" },
	{ "/proc/loadavg", "0.61 0.2 0.1 1/99 7", NULL,
	  "RED load: 0.61; fix: stop what runs beside, and wait a minute" },
	{ "/proc/swaps", "Filename Type\n/dev/vdb partition", NULL,
	  "RED swap: on; fix: swapoff -a" },
};

static void test_noisy(void)
{
	for (size_t i = 0; i < sizeof(noisy) / sizeof(noisy[0]); i++) {
		const char *path = noisy[i].path, *tuned = noisy[i].tuned;
		size_t count = 0;

		fresh();
		fake_file(path, noisy[i].is);
		check(false);
		says(noisy[i].says, "a red item is told with its fix");
		ok(!strstr(told, QUIET), "and the machine is not called quiet");
		reads(path, noisy[i].is, "looking changes nothing");
		ok(!dev_exists("/run/mmtrend"), "and leaves no lock and no journal");

		check(true);
		reads(path, tuned ? tuned : noisy[i].is, tuned ?
		      "--tune sets it" : "--tune leaves what it cannot undo");
		ok(tuned ? strstr(told, "tuned ") && !strstr(told, "not tuned") :
		   strstr(told, noisy[i].says) != NULL,
		   "and says so, or still tells the fix");
		is_i(journal("tuned"), tuned != NULL, "with the old value on disk");
		if (tuned) {
			check(false);
			says(QUIET, "then it is quiet");
		}
		ok(!settings_undo(&count, &e), "undo: %s", e.msg);
		is_i((long long)count, tuned != NULL, "counts what it put back");
		reads(path, noisy[i].is, "as it was found");
		ok(!journal("tuned"), "and forgets it");
	}
}

static void test_quiet(void)
{
	static const struct { const char *path, *is; } good[] = {
		{ CPU "/cpu0" GOVERNOR, "performance" },
		{ CPU "/intel_pstate/no_turbo", "1" },
		{ CPU "/cpufreq/boost", "0" },
		{ CPU "/cpu0/cpuidle/state2/disable", "1" },
		{ CPU "/cpu0/cpuidle/state1/disable", "0" },
		{ CPU "/smt/active", "0" }, { CPU "/isolated", "1" },
		{ ASLR, "0" }, { KERNEL "/numa_balancing", "0" },
		{ KERNEL "/watchdog", "0" }, { THP "/khugepaged/defrag", "0" },
		{ "/sys/kernel/mm/ksm/run", "0" }, { CLOCK, "tsc" },
		{ "/proc/loadavg", "0.10 0.2 0.1 1/99 7" },
		{ "/proc/swaps", "Filename Type" },
	};

	fresh();
	check(false);
	says(QUIET, "what a kernel does not have makes no noise");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		fake_file(good[i].path, good[i].is);
	check(true);
	says(QUIET, "nor does what is as it should be");
	ok(!journal("tuned"), "of which --tune changes nothing");
	fake_file("/boot/config-6.1-test", "CONFIG_KASAN=y");
	fake_file("/proc/sys/kernel/osrelease", "6.1-test");
	check(false);
	says("RED kernel: debug kernel: CONFIG_KASAN=y; fix: build without it",
	     "a kernel for debugging is told");
	fake_file(CPU "/vulnerabilities/meltdown", "Mitigation: PTI");
	check(false);
	says("note: CPU mitigations are on", "mitigations are told");
}

/* --- what can run -------------------------------------------------------- */

static void test_benches(void)
{
	int all = (int)bench_count, few;

	fresh();
	few = check(false);
	ok(few > 5 && few < all, "some can run, some lack something");
	says("gup.pin_fast: can run here", "each says it can");
	says("pfnmap.remap: no /dev/pfnmap_test: needs CONFIG_PFNMAP_TEST",
	     "or what it lacks");
	says("folio sizes can be set here", "sizes can be set");
	fake_lie("readonly");
	ok(check(false) < few, "a read-only /sys costs benchmarks");
	says("cannot set folio sizes: " THP "/hugepages-16kB/enabled: Read-only "
	     "file system", "and sizes, with the reason");
}

static void test_not_root(void)
{
	size_t count;

	fresh();
	fake_file(ASLR, "2");
	fake_lie("notroot");
	ok(check(false) > 0, "not root: something can run");
	says("not root: cannot set folio sizes", "what cannot is told");
	ok(check(true) > 0, "--tune as another user still looks");
	says("not tuned: not root: nothing can be changed", "and says why it did not");
	reads(ASLR, "2", "it changed nothing");
	ok(settings_undo(&count, &e) == -1 && strstr(e.msg, "not root"),
	   "nor can undo");
}

/* --- tuned settings live until undo -------------------------------------- */

static void test_each_cpu(void)
{
	const char *at;
	size_t count = 0;

	fresh();
	fake_file(CPU "/cpu0" GOVERNOR, "powersave");
	fake_file(CPU "/cpu1" GOVERNOR, "schedutil");
	fake_file(CPU "/cpu1/cpuidle/state2/disable", "0");
	fake_file(CPU "/cpu1/cpuidle/state3/disable", "0");
	fake_file(CPU "/cpuidle/current_driver", "none");
	check(false);
	at = strstr(told, "RED frequency governor");
	ok(at && !strstr(at + 1, "RED frequency governor"),
	   "two CPUs' governors are one line");
	check(true);
	reads(CPU "/cpu0" GOVERNOR, "performance", "the first CPU is tuned");
	reads(CPU "/cpu1" GOVERNOR, "performance", "so is the second");
	reads(CPU "/cpu1/cpuidle/state3/disable", "1", "so is its deepest state");
	ok(!settings_undo(&count, &e) && count == 4, "undo puts back all four");
	reads(CPU "/cpu0" GOVERNOR, "powersave", "each CPU has its own value,");
	reads(CPU "/cpu1" GOVERNOR, "schedutil", "the second another one");
}

static void test_twice(void)
{
	size_t count = 0;

	fresh();
	fake_file(ASLR, "2");
	check(true);
	fake_file(ASLR, "1");	/* another hand */
	check(true);
	reads(ASLR, "0", "a second --tune sets again");
	ok(!settings_undo(&count, &e) && count == 1, "undo");
	reads(ASLR, "2", "the first old value is the one that counts");
}

static struct record *run(const char *bench, const char *lies)
{
	struct run_opts o = { .bench = bench, .size = "64k", .launches = 1,
			      .iterations = 1, .seed = 1, .launch_s = 20,
			      .params.memory_bytes = 8 << 20, .host.label = "unit" };
	bool usage;

	fake_lie(lies);
	return run_measure(&o, &usage, &e);
}

static void test_run_between(void)
{
	struct record *r;

	fresh();
	fake_file(ASLR, "2");
	check(true);
	r = run("mincore", "");
	ok(r && r->cells[0].status == RECORD_OK, "a run on a tuned machine");
	record_free(r);
	reads(ASLR, "0", "leaves what was tuned");
	reads(K64, "always inherit madvise [never]", "and puts back its own");
	ok(journal("tuned") && !journal("journal"), "the journals are apart");
}

/* A run that SIGKILL ended on a tuned machine: both journals are there. */
static void leave_both(void)
{
	char text[128] = "";
	int status;
	pid_t pid;

	fresh();
	fake_file(ASLR, "2");
	check(true);
	pid = fork();
	if (!pid) {
		record_free(run("mincore", "hang"));
		_exit(0);
	}
	for (int i = 0; i < 100 && !strstr(text, "[madvise]"); i++) {
		usleep(20000);
		dev_read(K64, text, sizeof(text));
	}
	usleep(100000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(journal("tuned") && journal("journal"), "SIGKILL leaves both journals");
	/* The launch dies with its parent, but not within the same instant. */
	for (int i = 0; i < 100 && settings_lock(&e); i++)
		usleep(20000);
}

static void test_leftovers(void)
{
	size_t count = 0;

	leave_both();
	ok(!settings_restore(&e) && !journal("journal"),
	   "the next lock puts back the run's");
	reads(K64, "always inherit madvise [never]", "as found");
	reads(ASLR, "0", "and leaves the tuned");
	ok(!settings_undo(&count, &e) && count == 1, "which undo puts back");
	reads(ASLR, "2", "as found");

	fresh();	/* both, by one undo */
	fake_file(ASLR, "2");
	settings_lock(&e);
	settings_set(SETTINGS_TUNED, ASLR, "0", &e);
	settings_set(SETTINGS_RUN, M2, "never", &e);
	settings_forked();	/* as a dead process: its lock is gone */
	ok(!settings_undo(&count, &e) && count == 2, "undo puts back both journals");
	reads(ASLR, "2", "the tuned setting");
	reads(M2, "always [inherit] madvise never", "and the run's");
}

/* A setting that is gone is told, and costs the others nothing. */
static void test_gone(void)
{
	size_t count = 0;

	fresh();
	fake_file(CPU "/cpu1" GOVERNOR, "powersave");
	fake_file(ASLR, "2");
	check(true);
	fake_file(CPU "/cpu1" GOVERNOR, NULL);
	ok(settings_undo(&count, &e) == -1 && strstr(e.msg, "cpu1"),
	   "undo names the setting that is gone");
	reads(ASLR, "2", "puts back the rest");
	ok(journal("tuned"), "and keeps the journal");
}

static void test_locked(void)
{
	int status;
	pid_t pid;

	fresh();
	fake_file(ASLR, "2");
	settings_lock(&e);
	pid = fork();
	if (!pid)
		_exit(check(true) != -1 || !strstr(e.msg, "holds the lock"));
	waitpid(pid, &status, 0);
	is_i(status, 0, "--tune waits for no run: it says who holds the lock");
	reads(ASLR, "2", "and changes nothing");
	settings_restore(&e);
}

int main(void)
{
	char cmd[96];

	if (!freopen("/dev/null", "w", stderr))
		return 1;
	test_noisy();
	test_quiet();
	test_benches();
	test_not_root();
	test_each_cpu();
	test_twice();
	test_run_between();
	test_leftovers();
	test_gone();
	test_locked();
	snprintf(cmd, sizeof(cmd), "rm -rf /tmp/mmtrend-unit-check.%d.*", (int)getpid());
	return system(cmd) || tap_done();
}
