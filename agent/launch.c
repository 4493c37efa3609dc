/* SPDX-License-Identifier: GPL-2.0-only */
/* Forks one launch, measures in it, and reads what it tells. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dev.h"
#include "settings.h"

#define NS_PER_S	1000000000ll
#define BURST_NS	1000000		/* timed, at least; or as many passes as */
#define BURST_MAX_NS	500000000	/* fit in this, timed or not: the kernel */
#define PASSES_MAX	4096		/* throttles real time at 0.95 s a second */

/* --- the child's side --------------------------------------------------- */

/* Sleep a tenth of what was used: a real-time process that never rests gets a
 * 50 ms hole in some burst. */
static void rest(int64_t used_ns)
{
	int64_t ns = used_ns / 10 + 100000;
	struct timespec t = { ns / NS_PER_S, (long)(ns % NS_PER_S) };

	nanosleep(&t, NULL);
}

static int64_t involuntary(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_nivcsw;
}

static void tell(struct outcome *out, enum record_status status, const char *reason)
{
	out->status = status;
	snprintf(out->reason, sizeof(out->reason), "%s", reason);
}

/* From what the last burst took per pass: how many the next one has. Of the
 * metrics the longest counts: one may hold others, as gup's call_ns does. */
static int64_t passes_of(const struct launch *l, const int64_t *sample,
			 int64_t wall_ns)
{
	size_t n = bench_nmetrics(l->bench, l->params);
	int64_t timed_ns = 0, passes;

	for (size_t m = 0; m < n; m++)
		if (!strcmp(l->bench->metrics[m].unit, "ns") &&
		    sample[m] > timed_ns)
			timed_ns = sample[m];
	passes = BURST_NS / (timed_ns + 1) + 1;
	if (passes > BURST_MAX_NS / (wall_ns + 1))
		passes = BURST_MAX_NS / (wall_ns + 1);
	return passes < 1 ? 1 : passes < PASSES_MAX ? passes : PASSES_MAX;
}

/* The mean of @passes into @sample. */
static int burst(struct launch *l, int64_t passes, int64_t *sample, struct err *e)
{
	size_t n = bench_nmetrics(l->bench, l->params);
	int64_t pass[BENCH_MAX_METRICS];

	for (int64_t i = 0; i < passes; i++) {
		if (l->bench->iterate(l, pass, e))
			return -1;
		for (size_t m = 0; m < n; m++)
			sample[m] += pass[m];
	}
	for (size_t m = 0; m < n; m++)
		sample[m] = (sample[m] + passes / 2) / passes;
	return 0;
}

static void iterate(struct launch *l, const struct launch_plan *p,
		    struct outcome *out)
{
	int64_t before = involuntary(), passes = 1, took = 0;
	size_t n = bench_nmetrics(l->bench, l->params);
	struct err e;

	for (unsigned i = 0; i < p->iterations; i++) {
		int64_t *sample = out->samples + i * n, began;

		rest(took);
		began = dev_now_ns();
		if (burst(l, passes, sample, &e)) {
			tell(out, RECORD_INVALID, e.msg);
			break;
		}
		took = dev_now_ns() - began;
		out->iterations++;
		if (!p->exact)
			passes = passes_of(l, sample, took / passes);
	}
	out->involuntary = involuntary() - before;
	if (out->status == RECORD_OK && l->region.wrong[0])
		tell(out, RECORD_INVALID, l->region.wrong);
	if (out->status == RECORD_OK && l->wrong[0])
		tell(out, RECORD_INVALID, l->wrong);
}

static void launch(const struct launch_plan *p, struct outcome *out)
{
	const struct bench *b = p->bench;
	struct launch l = {
		.bench = b, .params = p->params, .mthp = p->mthp,
		.folio_bytes = p->folio_bytes, .pinned = RECORD_NULL,
		.region = { .folios = RECORD_NULL, .other_folios = RECORD_NULL },
	};
	struct err e;
	int ret = 0;

	snprintf(out->sched, sizeof(out->sched), "%s", quiet_enter(p->quiet));
	if (b->sized)
		ret = region_map(&l.region, p->mthp, p->folio_bytes,
				 p->params->memory_bytes, &e);
	if (!ret && b->setup)
		ret = b->setup(&l, &e);
	if (ret) {
		tell(out, ret > 0 ? RECORD_SKIP : RECORD_FAILED, e.msg);
		return;
	}
	iterate(&l, p, out);
	if (b->teardown)
		b->teardown(&l);
	out->folios = l.region.folios;
	out->other_folios = l.region.other_folios;
	out->pinned = l.pinned;
	if (l.region.proved)
		snprintf(out->proved, sizeof(out->proved), "%s", l.region.proved);
}

/* Signals stay blocked: the parent decides, and its death is ours. */
static _Noreturn void child(const struct launch_plan *p, struct outcome *out,
			    size_t out_bytes, int fd, pid_t parent)
{
	const char *from = (const char *)out;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	settings_forked();
	launch(p, out);
	for (; out_bytes; from += n, out_bytes -= (size_t)n) {
		n = write(fd, from, out_bytes);
		if (n <= 0)
			_exit(1);
	}
	_exit(0);
}

/* --- the parent's side -------------------------------------------------- */

/* Read until the end, a signal for us, or the deadline. */
static size_t collect(const struct launch_plan *p, int fd, char *to, size_t len,
		      bool *late)
{
	int64_t end = dev_now_ns() + p->limit_s * NS_PER_S;
	struct pollfd poll = { .fd = fd, .events = POLLIN };
	size_t got = 0;

	while (!*p->stopped && !*late) {
		int64_t left = end - dev_now_ns();
		struct timespec t = { left / NS_PER_S, (long)(left % NS_PER_S) };
		int ready = left > 0 ? ppoll(&poll, 1, &t, p->mask) : 0;
		ssize_t n;

		*late = !ready;
		if (ready <= 0)
			continue;
		n = read(fd, to + got, len - got);
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

int launch_fork(const struct launch_plan *p, struct outcome *out,
		size_t out_bytes, struct err *e)
{
	pid_t parent = getpid(), pid;
	bool late = false;
	int fds[2], status;
	size_t got;

	memset(out, 0, out_bytes);
	if (pipe2(fds, O_CLOEXEC))
		return err_set(e, "pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		child(p, out, out_bytes, fds[1], parent);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_set(e, "fork: %s", strerror(errno));
	}
	got = collect(p, fds[0], (char *)out, out_bytes, &late);
	close(fds[0]);
	if (late || *p->stopped)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (late)
		return err_set(e, "a launch did not end within %u s", p->limit_s);
	if (WIFSIGNALED(status))
		return err_set(e, "a launch was killed by signal %d (%s)",
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (got != out_bytes)
		return err_set(e, "a launch ended early, with status %d",
			       WEXITSTATUS(status));
	return 0;
}
