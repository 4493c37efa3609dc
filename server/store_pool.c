/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several runs of one kernel in one series -> one point. Runs of one boot are
 * not independent: their launch values are put together and give the boot's
 * value; boots are averaged in logs. Only runs of the best status count, so an
 * invalid figure never enters a valid one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/stats.h"
#include "store_priv.h"
#include "store_read.h"

int pool_add(struct pool *p, sqlite3_stmt *st, int col)
{
	struct pool_run *r = grow_rows((void **)&p->runs, &p->nruns,
				       sizeof(*p->runs));

	if (!r)
		return -1;
	r->run = sqlite3_column_int64(st, col);
	r->status = (enum record_status)sqlite3_column_int(st, col + 1);
	r->n = sqlite3_column_int64(st, col + 2);
	r->value = sqlite3_column_int64(st, col + 3);
	r->spread = sqlite3_column_int64(st, col + 4);
	r->launches = p->bytes.len;
	r->launches_len = (size_t)sqlite3_column_bytes(st, col + 5);
	if (r->launches_len)
		buf_add(&p->bytes, sqlite3_column_blob(st, col + 5),
			r->launches_len);
	r->reason = r->status == RECORD_OK ? NULL : store_text(st, col + 6);
	return buf_ok(&p->bytes) ? 0 : -1;
}

/* --- which boot a run belongs to ----------------------------------------- */

static int read_boots(struct pool *p, struct err *e)
{
	sqlite3_stmt *st = store_query(p->db,
		"SELECT r.id, r.boot FROM host h JOIN epoch e ON e.host = h.id"
		" CROSS JOIN run r ON r.epoch = e.id WHERE h.label = ?1"
		" ORDER BY r.id", "t", p->host);
	int rc = SQLITE_ERROR;

	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct pool_boot *b = grow_rows((void **)&p->boots, &p->nboots,
						sizeof(*p->boots));
		const unsigned char *c = sqlite3_column_text(st, 1);

		if (!b || !c)
			break;
		b->run = sqlite3_column_int64(st, 0);
		b->boot = 14695981039346656037u;	/* FNV-1a */
		for (; *c; c++)
			b->boot = (b->boot ^ *c) * 1099511628211u;
	}
	sqlite3_finalize(st);
	p->boots_read = true;
	if (rc == SQLITE_ROW)
		return err_set(e, "out of memory");
	return rc == SQLITE_DONE ? 0 : store_failed(p->db, e);
}

static int by_run(const void *a, const void *b)
{
	const struct pool_boot *x = a, *y = b;

	return (x->run > y->run) - (x->run < y->run);
}

static uint64_t boot_of(const struct pool *p, int64_t run)
{
	const struct pool_boot key = { .run = run }, *b;

	b = bsearch(&key, p->boots, p->nboots, sizeof(key), by_run);
	return b ? b->boot : 0;
}

/* --- the point ----------------------------------------------------------- */

struct values { int64_t *v; size_t n; };

static void unpack(const struct pool *p, const struct pool_run *r,
		   struct values *to)
{
	const unsigned char *at, *end;
	int64_t i;

	if (!r->launches_len)
		return;
	at = (const unsigned char *)p->bytes.s + r->launches;
	end = at + r->launches_len;
	for (i = 0; i < r->n && at < end; i++)
		to->v[to->n++] = varint_get(&at, end);
}

/* Geometric; arithmetic where a zero has no logarithm. */
static int64_t mean_of_boots(const struct values *boot)
{
	double logs = 0, sum = 0;
	bool zero = false;
	size_t i;

	if (boot->n == 1)
		return boot->v[0];
	for (i = 0; i < boot->n; i++) {
		zero |= boot->v[i] <= 0;
		sum += (double)boot->v[i];
		logs += boot->v[i] > 0 ? log((double)boot->v[i]) : 0;
	}
	return llround(zero ? sum / (double)boot->n :
		       exp(logs / (double)boot->n));
}

static int by_boot(const void *a, const void *b)
{
	const struct pool_run *x = a, *y = b;

	if (x->boot != y->boot)
		return x->boot < y->boot ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

/* @all and @boot have room for every launch. */
static void pool_boots(const struct pool *p, enum record_status status,
		       struct values *all, struct values *boot)
{
	struct values one;
	size_t i = 0;

	while (i < p->nruns) {
		uint64_t id = p->runs[i].boot;

		one = (struct values){ all->v + all->n, 0 };
		for (; i < p->nruns && p->runs[i].boot == id; i++)
			if (p->runs[i].status == status)
				unpack(p, &p->runs[i], &one);
		if (!one.n)
			continue;
		boot->v[boot->n++] = stats_median(one.v, one.n);
		all->n += one.n;
	}
}

static int pool_many(struct pool *p, size_t launches, struct store_point *out,
		     struct err *e)
{
	struct values all = { NULL, 0 }, boot = { NULL, 0 };
	int ret = -1;
	size_t i;

	if (!p->boots_read && read_boots(p, e))
		return -1;
	for (i = 0; i < p->nruns; i++)
		p->runs[i].boot = boot_of(p, p->runs[i].run);
	qsort(p->runs, p->nruns, sizeof(*p->runs), by_boot);
	all.v = malloc(launches * sizeof(*all.v));
	boot.v = malloc(launches * sizeof(*boot.v));
	if (!all.v || !boot.v) {
		err_set(e, "out of memory");
		goto out;
	}
	pool_boots(p, out->status, &all, &boot);
	if (all.n) {
		out->value = mean_of_boots(&boot);
		out->spread = stats_spread(all.v, all.n);
		out->n = (uint32_t)all.n;
		out->boots = (uint32_t)boot.n;
	}
	ret = 0;
out:
	free(all.v);
	free(boot.v);
	return ret;
}

static void clear(struct pool *p)
{
	size_t i;

	for (i = 0; i < p->nruns; i++)
		free(p->runs[i].reason);
	p->nruns = 0;
	buf_reset(&p->bytes, 0);
}

int pool_point(struct pool *p, struct store_point *out, struct err *e)
{
	struct pool_run *best = p->runs, *figure = NULL;
	size_t i, figures = 0, launches = 0;
	int ret = 0;

	memset(out, 0, sizeof(*out));
	out->value = out->spread = RECORD_NULL;
	if (!p->nruns)
		return 0;
	for (i = 1; i < p->nruns; i++)
		if (p->runs[i].status < best->status)
			best = &p->runs[i];
	out->status = best->status;
	out->reason = best->reason;
	best->reason = NULL;
	for (i = 0; i < p->nruns; i++)
		if (p->runs[i].status == out->status && p->runs[i].n > 0) {
			figure = &p->runs[i];
			launches += (size_t)figure->n;
			figures++;
		}
	if (figures > 1) {
		ret = pool_many(p, launches, out, e);
	} else if (figure) {
		out->value = figure->value;
		out->spread = figure->spread;
		out->n = (uint32_t)figure->n;
		out->boots = 1;
	}
	clear(p);
	return ret;
}

void pool_free(struct pool *p)
{
	clear(p);
	free(p->runs);
	free(p->boots);
	buf_free(&p->bytes);
}
