/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the measuring process quiet; records how quiet the machine was. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "dev.h"
#include "quiet.h"

#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68
#endif

#define STAT_MAX	(1u << 20)	/* bytes of /proc/stat */
#define RT_LIMIT_S	60		/* a launch that runs longer is stuck */
#define STEAL_MAX_PPM	10000
#define TAINT_WARN	(1 << 9)

/*
 * Counts of the kernel that disturb or belie a figure when they move during a
 * run. A path is a file; one that does not start at the root belongs to the CPU
 * that measures; a plain name is one of /proc/vmstat. A count that this kernel
 * does not have is not judged.
 */
static const struct { const char *name, *says; } counts[] = {
	{ "pswpin", "pages were swapped in" },
	{ "pswpout", "pages were swapped out" },
	{ "thp_collapse_alloc", "huge pages were collapsed" },
	{ "/sys/kernel/mm/transparent_hugepage/khugepaged/pages_collapsed",
	  "huge pages were collapsed by khugepaged" },
	{ "/sys/kernel/warn_count", "kernel warnings" },
	{ "/sys/kernel/oops_count", "kernel oopses" },
	{ "thermal_throttle/core_throttle_count",
	  "times the CPU was throttled for heat" },
};

#define NCOUNTS (sizeof(counts) / sizeof(counts[0]))
_Static_assert(NCOUNTS <= QUIET_COUNTS, "struct quiet has room for the table");

static int64_t read_number(const char *path)
{
	char text[64], *end;
	long long v;

	if (dev_read(path, text, sizeof(text)) <= 0)
		return RECORD_NULL;
	v = strtoll(text, &end, 10);
	return end == text || *end ? RECORD_NULL : v;
}

static int64_t read_count(size_t i, int cpu)
{
	const char *name = counts[i].name;
	char path[128];

	if (!strchr(name, '/'))
		return dev_vmstat(name);
	if (name[0] == '/')
		return read_number(name);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/%s", cpu, name);
	return read_number(path);
}

static int64_t read_load_milli(void)
{
	char text[128];

	if (dev_read("/proc/loadavg", text, sizeof(text)) <= 0)
		return RECORD_NULL;
	return (int64_t)(strtod(text, NULL) * 1000 + 0.5);
}

/* The hottest zone: which one stands for the CPU differs by machine. */
static int64_t read_temperature_mc(void)
{
	static const char dir[] = "/sys/class/thermal";
	int64_t hottest = RECORD_NULL, mc;
	struct dirent **list;
	char path[512];
	int n = dev_list(dir, &list);

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s/temp", dir, list[i]->d_name);
		mc = read_number(path);
		if (mc > hottest)
			hottest = mc;
	}
	dev_list_free(list, n);
	return hottest;
}

/*
 * Ticks of one CPU: user nice system idle iowait irq softirq steal. Of the one
 * that measures, since the others being idle would hide what it lost.
 */
static void read_ticks(int cpu, int64_t *steal, int64_t *total)
{
	char *text = malloc(STAT_MAX), key[32], *p = NULL;

	*steal = *total = RECORD_NULL;
	snprintf(key, sizeof(key), "\ncpu%d ", cpu);
	if (text && dev_read("/proc/stat", text, STAT_MAX) > 0)
		p = strstr(text, key);
	if (p) {
		p += strlen(key);
		*total = 0;
		for (int i = 0; i < 8; i++) {
			*steal = strtoll(p, &p, 10);
			*total += *steal;
		}
	}
	free(text);
}

int quiet_begin(struct quiet *q, struct err *e)
{
	cpu_set_t allowed;

	q->cpu = -1;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return err_set(e, "sched_getaffinity: %s", strerror(errno));
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, &allowed))
			q->cpu = i;
	q->taint = read_number("/proc/sys/kernel/tainted");
	q->load_milli = read_load_milli();
	q->temperature_mc = read_temperature_mc();
	read_ticks(q->cpu, &q->steal_ticks, &q->total_ticks);
	for (size_t i = 0; i < NCOUNTS; i++)
		q->counts[i] = read_count(i, q->cpu);
	return 0;
}

const char *quiet_enter(const struct quiet *q)
{
	struct sched_param fifo = { .sched_priority = 1 };
	const rlim_t us = RT_LIMIT_S * 1000000ul;
	const struct rlimit limit = { us, us };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)q->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return "other";
	/* The limit first: a real-time loop that hangs must not hang the host */
	if (setrlimit(RLIMIT_RTTIME, &limit) ||
	    sched_setscheduler(0, SCHED_FIFO, &fifo))
		return "other";
	return "fifo:1";
}

/* Before and after, or null with a reason if either is unknown. */
static void fill_pair(struct record *r, struct record_ints *l, int64_t before,
		      int64_t after, const char *path, const char *why)
{
	if (before != RECORD_NULL && after != RECORD_NULL)
		l->v = record_alloc(r, 2 * sizeof(int64_t));
	if (!l->v) {
		record_unread(r, path, why);
		return;
	}
	l->v[0] = before;
	l->v[1] = after;
	l->n = 2;
}

/* @reason: from record_printf(). */
static void distrust(struct record *r, const char *reason)
{
	if (reason)
		record_strings_add(r, &r->invalid, reason);
}

/* One stolen tick is the resolution, not a finding. */
static void judge_steal(const struct quiet *q, struct record *r)
{
	int64_t steal, total;

	read_ticks(q->cpu, &steal, &total);
	if (q->total_ticks == RECORD_NULL || total == RECORD_NULL) {
		record_unread(r, "/quiet/steal_ppm",
			      "/proc/stat does not say it of the CPU that measured");
		return;
	}
	steal -= q->steal_ticks;
	total -= q->total_ticks;
	if (steal < 0)		/* seen to run backwards on some hypervisors */
		steal = 0;
	r->quiet.steal_ppm = total > 0 ? steal * 1000000 / total : 0;
	if (steal > 1 && r->quiet.steal_ppm > STEAL_MAX_PPM)
		distrust(r, record_printf(r, "steal: the hypervisor took %.1f%% "
					  "of the CPU, over 1%%",
					  (double)r->quiet.steal_ppm / 1e4));
}

static void judge_counts(const struct quiet *q, struct record *r)
{
	for (size_t i = 0; i < NCOUNTS; i++) {
		int64_t after = read_count(i, q->cpu);

		if (q->counts[i] != RECORD_NULL && after > q->counts[i])
			distrust(r, record_printf(r, "during the run: %" PRId64 " %s",
						  after - q->counts[i],
						  counts[i].says));
	}
	/* Every page is written with the same byte: KSM would merge them all. */
	if (prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0) == 1 &&
	    read_number("/sys/kernel/mm/ksm/run") == 1)
		distrust(r, "KSM may merge the memory (PR_SET_MEMORY_MERGE)");
}

void quiet_end(const struct quiet *q, const char *sched, int64_t involuntary,
	       struct record *r)
{
	int64_t taint = read_number("/proc/sys/kernel/tainted");

	r->quiet.cpu = q->cpu;
	r->quiet.sched = record_dup(r, sched);
	r->quiet.involuntary_switches = involuntary;
	record_unread(r, "/quiet/rt_throttled", "the kernel keeps no count of it");
	fill_pair(r, &r->quiet.load_1m_milli, q->load_milli, read_load_milli(),
		  "/quiet/load_1m_milli", "/proc/loadavg cannot be read");
	fill_pair(r, &r->quiet.temperature_mc, q->temperature_mc,
		  read_temperature_mc(), "/quiet/temperature_mc",
		  "no thermal zone");
	fill_pair(r, &r->quiet.taint, q->taint, taint, "/quiet/taint",
		  "/proc/sys/kernel/tainted cannot be read");
	if (q->taint != RECORD_NULL && taint != RECORD_NULL && taint & ~q->taint)
		distrust(r, record_printf(r, "the kernel became tainted: 0x%" PRIx64
					  "%s", (uint64_t)(taint & ~q->taint),
					  taint & ~q->taint & TAINT_WARN ?
					  ", a warning" : ""));
	judge_steal(q, r);
	judge_counts(q, r);
}
