/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks at a machine before it is measured; one table of what makes noise. */
#include "check.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "../common/size.h"
#include "bench.h"
#include "dev.h"
#include "host.h"
#include "settings.h"

#define CPU	"/sys/devices/system/cpu"
#define KERNEL	"/proc/sys/kernel"
#define CLOCKS	"/sys/devices/system/clocksource/clocksource0"
#define PATH	256

/*
 * A setting is red where its file holds @bad, or with a NULL @bad anything but
 * @good; a path with wildcards is many files. --tune writes @good where @tune
 * says so: what it costs is noise only, and it can be undone.
 */
static const struct setting {
	const char *what, *path, *bad, *good;
	bool tune;
	const char *fix;
} SETTINGS[] = {
	{ "frequency governor", CPU "/cpu[0-9]*/cpufreq/scaling_governor", NULL,
	  "performance", true, "cpupower frequency-set -g performance" },
	{ "turbo", CPU "/intel_pstate/no_turbo", "0", "1", true,
	  "echo 1 > " CPU "/intel_pstate/no_turbo" },
	{ "turbo", CPU "/cpufreq/boost", "1", "0", true,
	  "echo 0 > " CPU "/cpufreq/boost" },
	{ "deep idle states", CPU "/cpu[0-9]*/cpuidle/state[2-9]*/disable", "0",
	  "1", true, "cpupower idle-set -D 10, or boot with "
	  "processor.max_cstate=1" },
	{ "SMT siblings", CPU "/smt/active", "1", NULL, false,
	  "echo off > " CPU "/smt/control" },
	{ "isolated CPUs", CPU "/isolated", "", NULL, false,
	  "boot with isolcpus=N nohz_full=N, N the last CPU" },
	{ "address randomization", KERNEL "/randomize_va_space", NULL, "0", true,
	  "sysctl kernel.randomize_va_space=0" },
	{ "NUMA balancing", KERNEL "/numa_balancing", NULL, "0", true,
	  "sysctl kernel.numa_balancing=0" },
	{ "watchdog", KERNEL "/watchdog", NULL, "0", true,
	  "sysctl kernel.watchdog=0" },
	{ "khugepaged compaction", THP "/khugepaged/defrag", NULL, "0", true,
	  "echo 0 > " THP "/khugepaged/defrag" },
	{ "KSM", "/sys/kernel/mm/ksm/run", NULL, "0", true,
	  "echo 0 > /sys/kernel/mm/ksm/run" },
	{ "clock source", CLOCKS "/current_clocksource", "hpet", NULL, false,
	  "boot with clocksource=tsc" },
	{ "clock source", CLOCKS "/current_clocksource", "acpi_pm", NULL, false,
	  "boot with clocksource=tsc" },
};
#define NSETTINGS (sizeof(SETTINGS) / sizeof(SETTINGS[0]))

static void say(struct buf *b, const char *what, const char *now, const char *fix)
{
	char line[ERR_MAX];

	snprintf(line, sizeof(line), "RED %s: %.256s; fix: %s", what, now, fix);
	report_text(b, line);
}

static bool is_red(const struct setting *s, const char *now)
{
	return s->bad ? !strcmp(now, s->bad) : strcmp(now, s->good) != 0;
}

/* Set one file for good. Says so, or why not. */
static void tune(const struct setting *s, const char *path, struct buf *b)
{
	char line[ERR_MAX + PATH];
	struct err e;

	if (settings_set(SETTINGS_TUNED, path, s->good, &e) < 0)
		snprintf(line, sizeof(line), "not tuned: %s", e.msg);
	else
		snprintf(line, sizeof(line), "tuned %s: %s", path, s->good);
	report_text(b, line);
}

struct looking {		/* at the files of one setting */
	const struct setting *s;
	bool tuning, red;	/* red: one was, and its line stands */
	struct buf *b;
};

static void look(struct looking *l, const char *path)
{
	char now[SETTINGS_VALUE];

	if (settings_get(path, now, NULL) || !is_red(l->s, now))
		return;
	if (l->tuning && l->s->tune)
		tune(l->s, path, l->b);
	else if (!l->red)
		say(l->b, l->s->what, *now ? now : "none", l->s->fix);
	l->red = true;
}

/* Every file under @dir that the pattern @rest matches. */
static void look_all(struct looking *l, const char *dir, const char *rest)
{
	size_t wild = strcspn(rest, "["), len;
	char path[PATH], name[64];
	struct dirent **list;
	int n;

	if (!rest[wild]) {
		snprintf(path, sizeof(path), "%s%s", dir, rest);
		look(l, path);
		return;
	}
	while (rest[wild - 1] != '/')
		wild--;
	len = strcspn(rest + wild, "/");
	snprintf(name, sizeof(name), "%.*s", (int)len, rest + wild);
	snprintf(path, sizeof(path), "%s%.*s", dir, (int)wild, rest);
	n = dev_list(path, &list);
	for (int i = 0; i < n; i++) {
		char at[PATH];

		if (fnmatch(name, list[i]->d_name, 0) ||
		    snprintf(at, sizeof(at), "%s%s", path, list[i]->d_name) >= PATH)
			continue;
		look_all(l, at, rest + wild + len);
	}
	dev_list_free(list, n);
}

/* What no setting changes: load, swap, mitigations, a kernel for debugging. */
static bool look_around(const struct mthp *m, struct buf *b)
{
	struct host_opts opts = { .label = "check" };
	struct record *r = record_new();
	char text[4096];
	bool red = false;
	struct err e;

	if (dev_read("/proc/loadavg", text, sizeof(text)) > 0 &&
	    strtod(text, NULL) > 0.5) {
		text[strcspn(text, " ")] = '\0';
		say(b, "load", text, "stop what runs beside, and wait a minute");
		red = true;
	}
	if (dev_read("/proc/swaps", text, sizeof(text)) > 0 && strchr(text, '\n')) {
		say(b, "swap", "on", "swapoff -a");
		red = true;
	}
	if (r && !host_fill(r, &opts, m, &e)) {
		for (size_t i = 0; i < r->invalid.n; i++)
			say(b, "kernel", r->invalid.v[i],
			    "build without it; no verdict comes from this kernel");
		red |= r->invalid.n > 0;
		if (r->host.vol.mitigations && !strcmp(r->host.vol.mitigations, "on"))
			report_text(b, "note: CPU mitigations are on: as noisy as "
				    "what users run; compare only with the same");
	}
	record_free(r);
	return red;
}

static int look_benches(struct buf *b)
{
	char line[ERR_MAX + RECORD_MAX_NAME];
	struct err why;
	int count = 0;

	for (size_t i = 0; i < bench_count; i++) {
		const struct bench *bench = bench_all[i];
		bool can = !bench->can_run ||
			   !bench->can_run(&bench->defaults, &why);

		count += can;
		snprintf(line, sizeof(line), "%s: %s", bench->name,
			 can ? "can run here" : why.msg);
		report_text(b, line);
	}
	return count;
}

int check_host(bool tuning, struct buf *b, struct err *e)
{
	bool red = false;
	struct mthp m;
	struct err why;
	int count;

	if (mthp_probe(&m, e) || (tuning && settings_lock(e)))
		return -1;
	count = look_benches(b);
	report_text(b, mthp_settable(&m, &why) ? why.msg :
			"folio sizes can be set here");
	buf_char(b, '\n');
	for (size_t i = 0; i < NSETTINGS; i++) {
		struct looking l = { .s = &SETTINGS[i], .tuning = tuning, .b = b };

		look_all(&l, "", SETTINGS[i].path);
		red |= l.red;
	}
	red |= look_around(&m, b);
	if (!red)
		report_text(b, "nothing here is known to make figures noisy");
	else if (tuning)
		report_text(b, "`mmtrend undo` puts the tuned settings back");
	return tuning && settings_restore(e) ? -1 : count;
}
