/* SPDX-License-Identifier: GPL-2.0-only */
/* The words for a difference, and when they are used. */
#include <math.h>
#include <stdio.h>

#include "size.h"
#include "verdict.h"

#define SAME_PART	0.005		/* of before */
#define ALARM_PART	0.02
#define TICK_INSNS	2700
#define TICK_RARE	0.001		/* a chance that does not count */
#define HZ_MOST		1000
#define RATIO_LEAST	1.2
#define ALIKE		2		/* changes within this factor */

static double least_ticks(double v, double hz)
{
	return floor(v * hz / 1e9);
}

static double most_ticks(double v, double hz, double n)
{
	double least = least_ticks(v, hz);

	return least + (pow(v * hz / 1e9 - least, n) >= TICK_RARE);
}

/* What two equal kernels may differ by. */
static double limit(const struct verdict_pair *p)
{
	double a = (double)p->before, b = (double)p->after;
	double hz = p->hz == RECORD_NULL ? HZ_MOST : (double)p->hz;
	double n = p->iterations ? (double)p->iterations : VERDICT_ITERATIONS;
	double ticks = fmax(most_ticks(a, hz, n) - least_ticks(b, hz),
			    most_ticks(b, hz, n) - least_ticks(a, hz));

	return fmax(SAME_PART * a, ticks * TICK_INSNS + (double)p->quantum);
}

static double difference(const struct verdict_pair *p)
{
	return (double)p->after - (double)p->before;
}

enum verdict verdict_of(const struct verdict_pair *p)
{
	if (p->status == RECORD_INVALID)
		return VERDICT_NOT_VALID;
	if (p->status != RECORD_OK || p->before == RECORD_NULL ||
	    p->after == RECORD_NULL)
		return VERDICT_NOT_MEASURED;
	if (!p->exact)
		return VERDICT_NOT_JUDGED;
	if (fabs(difference(p)) <= limit(p))
		return VERDICT_SAME;
	return (p->after < p->before) == (p->better == RECORD_LOWER) ?
	       VERDICT_FASTER : VERDICT_SLOWER;
}

/* How many times; 0: one side is nothing. */
static double ratio(const struct verdict_pair *p)
{
	double a = (double)p->before, b = (double)p->after;

	return fmin(a, b) > 0 ? fmax(a, b) / fmin(a, b) : 0;
}

const char *verdict_text(const struct verdict_pair *p, char out[REPORT_VALUE])
{
	static const char *const words[] = {
		[VERDICT_SAME] = "same", [VERDICT_FASTER] = "faster",
		[VERDICT_SLOWER] = "SLOWER",
		[VERDICT_NOT_JUDGED] = "not judged yet",
		[VERDICT_NOT_VALID] = "not valid",
		[VERDICT_NOT_MEASURED] = "not measured",
	};
	enum verdict v = verdict_of(p);
	double times = ratio(p);

	if ((v == VERDICT_FASTER || v == VERDICT_SLOWER) &&
	    times >= RATIO_LEAST)
		snprintf(out, REPORT_VALUE, times < 1e6 ? "%s, %.*fx" :
			 "%s, %.*ex", words[v], times < 99.95, times);
	else
		snprintf(out, REPORT_VALUE, "%s", words[v]);
	return out;
}

bool verdict_alarm(const struct verdict_pair *p)
{
	return verdict_of(p) == VERDICT_SLOWER &&
	       fabs(difference(p)) >= ALARM_PART * (double)p->before;
}

const char *verdict_per_op(const struct verdict_pair *p, char out[REPORT_VALUE])
{
	double x = round(100 * difference(p) / (double)p->ops) / 100;

	if (p->before == RECORD_NULL || p->after == RECORD_NULL)
		snprintf(out, REPORT_VALUE, "-");
	else if (fabs(x) < 0.005)
		snprintf(out, REPORT_VALUE, "0");
	else
		snprintf(out, REPORT_VALUE, fabs(x) < 999.5 ? "%+.3g" : "%+.0f",
			 x);
	return out;
}

/* --- controls ------------------------------------------------------------ */

/* Every size went the same way and about as far. */
static bool alike(const struct verdict_pair *rows, size_t n)
{
	double least = INFINITY, most = 0;
	enum verdict way = VERDICT_SAME;
	size_t judged = 0;

	for (size_t i = 0; i < n; i++) {
		enum verdict v = verdict_of(&rows[i]);
		double far;

		if (v > VERDICT_NOT_JUDGED)
			continue;
		if (v != VERDICT_FASTER && v != VERDICT_SLOWER)
			return false;
		if (judged++ && v != way)
			return false;
		way = v;
		far = log(ratio(&rows[i]));
		least = fmin(least, far);
		most = fmax(most, far);
	}
	return judged > 1 && most <= ALIKE * least;
}

static void control(const struct verdict_pair *p, const char *pages,
		    struct buf *out)
{
	enum verdict v = verdict_of(p);
	char each[REPORT_VALUE], percent[REPORT_VALUE];

	if (v != VERDICT_FASTER && v != VERDICT_SLOWER)
		return;
	buf_printf(out, "%s %s %s insns %s (%s).\n", pages,
		   v == VERDICT_SLOWER ? "pay" : "gain:",
		   verdict_per_op(p, each), p->pages ? "a page" : "each",
		   report_percent(p->before, p->after, percent));
}

void verdict_controls(const struct verdict_pair *rows, size_t n,
		      int64_t base_bytes, int64_t pmd_bytes, struct buf *out)
{
	char pmd[SIZE_TEXT + 8], text[SIZE_TEXT];

	if (n < 2)
		return;		/* nothing that it could control */
	if (pmd_bytes > 0)
		snprintf(pmd, sizeof(pmd), "%s folios",
			 size_text((uint64_t)pmd_bytes, text));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].folio_bytes == base_bytes)
			control(&rows[i], "Base pages", out);
		else if (rows[i].folio_bytes == pmd_bytes)
			control(&rows[i], pmd, out);
	}
	if (alike(rows, n))
		buf_str(out, "All sizes moved alike: the whole machine or "
			"tree, not one size's path.\n");
}
