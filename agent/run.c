/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Launches the planned cells in shuffled rounds and keeps what they tell.
 * Whatever becomes of a launch (hung, killed, refused, less work than asked),
 * its cell ends with a status and a reason, and the other cells go on.
 */
#include "run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../common/size.h"
#include "dev.h"
#include "settings.h"
#include "launch.h"
#include "plan.h"

#define LAUNCH_S	60	/* a launch may take this long, */
#define ITERATION_S	2	/* and per iteration */

struct run {
	struct plan plan;
	struct quiet quiet;
	size_t *order;		/* of jobs, in this round */
	struct outcome *out;	/* of the launch at hand */
	size_t out_bytes;
	unsigned short prng[3];
	bool tty;
	unsigned done;		/* launches */
	int64_t involuntary;
	const char *sched;
	sigset_t mask;		/* signals as they were */
	struct sigaction old[3];
};

static const int SIGNALS[] = { SIGINT, SIGTERM, SIGHUP };
#define NSIGNALS (sizeof(SIGNALS) / sizeof(SIGNALS[0]))
static volatile sig_atomic_t stopped;	/* by this signal */

/* --- one launch of one cell --------------------------------------------- */

/* Samples of u->out, metric by metric, as one launch of the cell. */
static int keep(struct run *u, const struct job *j)
{
	const struct outcome *out = u->out;
	struct record_launch *l = &j->cell->launches[j->cell->nlaunches];
	size_t n = bench_nmetrics(j->bench, &j->params);

	*l = (struct record_launch){
		.folios = out->folios, .other_folios = out->other_folios,
		.pinned = out->pinned,
		.proved = record_dup(u->plan.r, out->proved[0] ? out->proved : NULL),
		.samples = record_alloc(u->plan.r, n * sizeof(*l->samples)),
		.nsamples = n,
	};
	if (!l->samples)
		return -1;
	for (size_t m = 0; m < n; m++) {
		struct record_ints *v = &l->samples[m].values;

		l->samples[m].metric = plan_metric_name(&u->plan,
							&j->bench->metrics[m]);
		v->n = out->iterations;
		v->v = record_alloc(u->plan.r, v->n * sizeof(*v->v));
		if (!v->v || !l->samples[m].metric)
			return -1;
		for (size_t i = 0; i < v->n; i++)
			v->v[i] = out->samples[i * n + m];
	}
	j->cell->nlaunches++;
	return 0;
}

static int spawn(struct run *u, const struct job *j, struct err *e)
{
	struct launch_plan p = {
		.bench = j->bench, .params = &j->params, .mthp = &u->plan.mthp,
		.quiet = &u->quiet, .iterations = j->iterations,
		.folio_bytes = (uint64_t)j->cell->folio_bytes,
		.limit_s = u->plan.o->launch_s ? u->plan.o->launch_s :
			   LAUNCH_S + ITERATION_S * j->iterations,
		.exact = u->plan.exact, .mask = &u->mask, .stopped = &stopped,
	};

	return launch_fork(&p, u->out, u->out_bytes, e);
}

/* -1: no memory. All else is in the cell. */
static int measure_one(struct run *u, struct job *j, struct err *e)
{
	uint64_t folio = (uint64_t)j->cell->folio_bytes;
	struct err why;
	int refused = j->bench->sized && folio != u->plan.mthp.base_bytes ?
		      mthp_set(&u->plan.mthp, folio, &why) : 0;

	j->started++;
	if (refused) {
		plan_settle(&u->plan, j->cell,
			    refused > 0 ? RECORD_SKIP : RECORD_FAILED, why.msg);
		return 0;
	}
	if (spawn(u, j, &why)) {
		plan_settle(&u->plan, j->cell, RECORD_FAILED, why.msg);
		return 0;
	}
	u->involuntary += u->out->involuntary;
	if (!u->sched || strcmp(u->out->sched, u->sched) != 0)
		u->sched = u->sched ? "other" :
			   record_dup(u->plan.r, u->out->sched);
	if (u->out->status != RECORD_OK)
		plan_settle(&u->plan, j->cell, u->out->status, u->out->reason);
	if (u->out->iterations && keep(u, j))
		return err_set(e, "no memory");
	return 0;
}

/* --- all of them, shuffled ---------------------------------------------- */

static void shuffle(struct run *u)
{
	for (size_t i = u->plan.r->ncells; i > 1; i--) {
		size_t k = (size_t)nrand48(u->prng) % i, last = u->order[i - 1];

		u->order[i - 1] = u->order[k];
		u->order[k] = last;
	}
}

/* More launches of this cell are worth while. */
static bool is_open(const struct job *j)
{
	return j->cell->status <= RECORD_INVALID && j->started < j->launches;
}

static void progress(struct run *u, const struct job *j)
{
	const struct record_cell *c = j->cell;
	char size[SIZE_TEXT];

	size_label((uint64_t)c->folio_bytes, u->plan.mthp.base_bytes,
		   u->plan.mthp.pmd_bytes, size);
	if (u->tty)
		fprintf(stderr, "\r\033[K%u/%u launches: %s %s", u->done, u->plan.total,
			c->bench, size);
	else if (!is_open(j))
		fprintf(stderr, "%s %s: %s%s%s\n", c->bench, size,
			record_status_name(c->status), c->reasons.n ? ": " : "",
			c->reasons.n ? c->reasons.v[0] : "");
}

/* Rounds of one launch per cell, each shuffled: a machine that drifts drifts
 * over all cells alike. */
static int measure(struct run *u, struct err *e)
{
	for (int64_t round = 0; round < u->plan.r->design.launches; round++) {
		shuffle(u);
		for (size_t i = 0; i < u->plan.r->ncells; i++) {
			struct job *j = &u->plan.jobs[u->order[i]];

			if (!is_open(j))
				continue;
			if (measure_one(u, j, e))
				return -1;
			if (stopped)
				return err_set(e, "stopped by signal %d", stopped);
			u->done++;
			progress(u, j);
		}
	}
	if (u->tty)
		fputs("\r\033[K", stderr);
	return 0;
}

/* --- the whole ---------------------------------------------------------- */

static void on_signal(int signal)
{
	stopped = signal;
}

/* Signals wait, but for collect(). A signal that was ignored stays so. */
static void signals_catch(struct run *u)
{
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&set);
	stopped = 0;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < NSIGNALS; i++)
		sigaddset(&set, SIGNALS[i]);
	sigprocmask(SIG_BLOCK, &set, &u->mask);
	for (size_t i = 0; i < NSIGNALS; i++) {
		sigaction(SIGNALS[i], NULL, &u->old[i]);
		if (u->old[i].sa_handler != SIG_IGN)
			sigaction(SIGNALS[i], &act, NULL);
	}
}

/* What stopped the run then has its usual effect. */
static void signals_back(struct run *u)
{
	for (size_t i = 0; i < NSIGNALS; i++)
		sigaction(SIGNALS[i], &u->old[i], NULL);
	if (stopped)
		raise(stopped);
	sigprocmask(SIG_SETMASK, &u->mask, NULL);
}

static char *utc_now(struct record *r)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	return record_dup(r, text);
}

/* Everything but cells and quietness; what the document refuses is refused
 * here, before the measuring. */
static int fill_head(struct run *u, struct err *e)
{
	struct record *r = u->plan.r;
	struct buf text = BUF_INIT;
	size_t ncells = r->ncells;
	char id[37];
	int ret;

	host_uuid(id);
	r->schema = record_dup(r, "mmtrend.run/1");
	r->id = record_dup(r, u->plan.o->id ? u->plan.o->id : id);
	r->started_at = u->plan.o->started_at ?
			record_dup(r, u->plan.o->started_at) : utc_now(r);
	r->clock = record_dup(r, u->plan.exact ? "insns" : "monotonic");
	r->agent.version = record_dup(r, MMTREND_VERSION);
#ifdef __clang__
	r->agent.compiler = record_dup(r, __VERSION__);
#else
	r->agent.compiler = record_dup(r, "gcc " __VERSION__);
#endif
	for (size_t i = 0; u->plan.o->argv && u->plan.o->argv[i]; i++)
		record_strings_add(r, &r->agent.argv, u->plan.o->argv[i]);
	if (host_fill(r, &u->plan.o->host, &u->plan.mthp, e))
		return -1;
	r->ncells = 0;
	ret = record_write(r, &text, e);
	r->ncells = ncells;
	buf_free(&text);
	return ret;
}

static int allocate(struct run *u, struct err *e)
{
	size_t n = u->plan.r->ncells;

	u->out_bytes = sizeof(*u->out) +
		       u->plan.most_samples * sizeof(u->out->samples[0]);
	u->out = record_alloc(u->plan.r, u->out_bytes);
	u->order = record_alloc(u->plan.r, n * sizeof(*u->order));
	if (!u->out || !u->order)
		return err_set(e, "no memory");
	for (size_t i = 0; i < n; i++)
		u->order[i] = i;
	return 0;
}

static int start(struct run *u, bool *usage, struct err *e)
{
	const struct record *more = u->plan.o->more;
	const char *clock = u->plan.o->clock || !more ? u->plan.o->clock : more->clock;
	int64_t seed = u->plan.o->seed;

	*usage = false;
	u->plan.r = record_new();
	if (!u->plan.r || mthp_probe(&u->plan.mthp, e))
		return u->plan.r ? -1 : err_set(e, "no memory");
	*usage = true;
	u->plan.exact = clock && !strcmp(clock, "insns");
	if (clock && !u->plan.exact && strcmp(clock, "monotonic") != 0)
		return err_set(e, "--clock: expected monotonic or insns, got \"%s\"",
			       clock);
	if (u->plan.exact && !u->plan.o->host.emulator)
		return err_set(e, "--clock insns: expected --emulator as well, "
			       "such as QEMU-7.2.22");
	u->tty = isatty(STDERR_FILENO);
	if (plan_make(&u->plan, e) || fill_head(u, e))
		return -1;
	*usage = false;
	if (allocate(u, e))
		return -1;
	if (seed == RECORD_NULL && getrandom(&seed, sizeof(seed), 0) > 0)
		seed &= INT32_MAX;
	for (int i = 0; i < 3; i++)
		u->prng[i] = (unsigned short)(seed >> 16 * i);
	u->plan.r->quiet.order_seed = seed;
	if (settings_lock(e))
		return -1;
	return quiet_begin(&u->quiet, e);
}

struct record *run_measure(const struct run_opts *o, bool *usage, struct err *e)
{
	struct run u = { .plan.o = o };
	int64_t began = dev_now_ns();
	struct err not_back;
	int ret;

	signals_catch(&u);
	ret = start(&u, usage, e);
	if (!ret)
		ret = measure(&u, e);
	if (!ret) {
		quiet_end(&u.quiet, u.sched ? u.sched : "other", u.involuntary,
			  u.plan.r);
		u.plan.r->elapsed_ns = dev_now_ns() - began;
	}
	if (settings_restore(&not_back) && !ret)
		record_strings_add(u.plan.r, &u.plan.r->invalid, not_back.msg);
	if (ret) {
		record_free(u.plan.r);
		u.plan.r = NULL;
	}
	signals_back(&u);
	return u.plan.r;
}
