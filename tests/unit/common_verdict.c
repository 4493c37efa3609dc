/* SPDX-License-Identifier: GPL-2.0-only */
/* The words for a difference: that each limit is where the rule puts it. */
#include "../../common/verdict.h"
#include "../tap.h"

/* Of gup at 256 MB in the lab: 65,536 base pages, 1 us, 100 Hz. */
static struct verdict_pair pair(int64_t before, int64_t after)
{
	return (struct verdict_pair){
		.before = before, .after = after, .exact = true, .quantum = 1,
		.hz = 100, .iterations = 5, .folio_bytes = 65536,
		.ops = 65536, .pages = true };
}

static void word(struct verdict_pair p, const char *want, const char *what)
{
	char out[REPORT_VALUE];

	is(verdict_text(&p, out), want, what);
}

static void test_half_percent(void)
{
	word(pair(100000000, 100500000), "same", "0.5 % more is the same");
	word(pair(100000000, 100500001), "SLOWER", "one more is SLOWER");
	word(pair(100000000, 99500000), "same", "0.5 % less is the same");
	word(pair(100000000, 99499999), "faster", "one less is faster");
	word(pair(5, 5), "same", "equal is the same");
}

/* At 100 Hz a tick comes every 10 M instructions. */
static void test_ticks(void)
{
	struct verdict_pair p = pair(57100, 58000);

	word(p, "SLOWER", "a tick in each of five short samples: no");
	p.iterations = 1;
	word(p, "same", "a tick in one short sample: perhaps");
	p.after = 57100 + 2700 + 1;
	word(p, "same", "one tick and the quantum");
	p.after++;
	word(p, "SLOWER", "and no more");
	p.iterations = 0;
	p.after = 58000;
	word(p, "SLOWER", "iterations not known: five");
	p = pair(400000, 402700);
	word(p, "SLOWER", "400 k at 100 Hz: no tick");
	p.hz = RECORD_NULL;
	word(p, "same", "HZ not known: 1,000, and a tick every 1 M");
	p = pair(99999, 102000);
	p.hz = 10000;
	word(p, "same", "two sides of a tick hold one and two");
	p = pair(57100, 57600);
	p.quantum = 500;
	word(p, "same", "a quantum is never a difference");
	p.after++;
	word(p, "SLOWER", "more than one is");
}

static void test_ratio(void)
{
	word(pair(26563000, 4365000), "faster, 6.1x", "the first GUP mail");
	word(pair(2825000, 10900), "faster, 259x", "from 100x on whole");
	word(pair(1200, 1000), "faster, 1.2x", "from 1.2x on");
	word(pair(1199, 1000), "faster", "not below");
	word(pair(1000, 1500), "SLOWER, 1.5x", "either way");
	word(pair(0, 0), "same", "zeros give no NaN");
	word(pair(0, 1000), "SLOWER", "from zero: no ratio");
	word(pair(1000000, 0), "faster", "to zero: no ratio");
	word(pair(1, INT64_MAX), "SLOWER, 9e+18x", "the largest fits");
}

static void test_direction(void)
{
	struct verdict_pair p = pair(1000, 1500);

	p.better = RECORD_HIGHER;
	word(p, "faster, 1.5x", "more is better where higher is");
	p = pair(1500, 1000);
	p.better = RECORD_HIGHER;
	word(p, "SLOWER, 1.5x", "and less is not");
}

static void test_no_word(void)
{
	struct verdict_pair p = pair(3105000, 3139000);

	p.exact = false;
	word(p, "not judged yet", "time");
	p.status = RECORD_INVALID;
	word(p, "not valid", "an invalid figure");
	p.status = RECORD_SKIP;
	word(p, "not measured", "a skip");
	p.status = RECORD_FAILED;
	word(p, "not measured", "a failure");
	word(pair(RECORD_NULL, 5), "not measured", "no figure before");
	word(pair(5, RECORD_NULL), "not measured", "no figure after");
}

static void test_alarm(void)
{
	struct verdict_pair p = pair(1000000, 1019999);

	ok(verdict_of(&p) == VERDICT_SLOWER && !verdict_alarm(&p),
	   "SLOWER below 2 %% is no alarm");
	p.after++;
	ok(verdict_alarm(&p), "from 2 %% on it is");
	p = pair(0, 100000);
	ok(verdict_alarm(&p), "so is anything where nothing was");
	p = pair(1000000, 500000);
	ok(!verdict_alarm(&p), "faster never is");
	p = pair(1000000, 2000000);
	p.exact = false;
	ok(!verdict_alarm(&p), "nor is time");
}

static void per_op(int64_t before, int64_t after, const char *want)
{
	struct verdict_pair p = pair(before, after);
	char out[REPORT_VALUE];

	is(verdict_per_op(&p, out), want, "instructions a page");
}

static void test_per_op(void)
{
	per_op(28021000, 29333000, "+20");
	per_op(26563000, 4365000, "-339");
	per_op(1024300, 1089836, "+1");
	per_op(25200, 27200, "+0.03");
	per_op(57100, 57200, "0");
	per_op(0, INT64_MAX, "+140737488355328");
	per_op(RECORD_NULL, 1, "-");
}

/* Three sizes: base, 64k, PMD. */
static void controls(const int64_t v[3][2], const char *want, const char *what)
{
	static const int64_t folio[] = { 4096, 65536, 2097152 };
	struct verdict_pair rows[3];
	struct buf b = BUF_INIT;

	for (int i = 0; i < 3; i++) {
		rows[i] = pair(v[i][0], v[i][1]);
		rows[i].folio_bytes = folio[i];
	}
	verdict_controls(rows, 3, 4096, 2097152, &b);
	is(b.s, want, what);
	buf_free(&b);
}

static void test_controls(void)
{
	struct verdict_pair one = pair(1000000, 2000000);
	struct buf b = BUF_INIT;

	controls((const int64_t[][2]){ { 28021000, 28022000 },
				       { 26563000, 4365000 },
				       { 1102000, 1102000 } }, NULL,
		 "controls that did not move");
	controls((const int64_t[][2]){ { 28021000, 29333000 },
				       { 26563000, 4365000 },
				       { 1102000, 1102000 } },
		 "Base pages pay +20 insns a page (+4.7%).\n",
		 "base pages paid");
	controls((const int64_t[][2]){ { 27530000, 11980000 },
				       { 29460000, 2310000 },
				       { 720000, 780000 } },
		 "Base pages gain: -237 insns a page (-56.5%).\n"
		 "2m folios pay +0.92 insns a page (+8.3%).\n",
		 "base pages gained, PMDs paid");
	controls((const int64_t[][2]){ { 1000000, 1100000 },
				       { 2000000, 2210000 },
				       { 500000, 560000 } },
		 "Base pages pay +1.53 insns a page (+10.0%).\n"
		 "2m folios pay +0.92 insns a page (+12.0%).\n"
		 "All sizes moved alike: the whole machine or tree, not one "
		 "size's path.\n", "all moved alike");
	controls((const int64_t[][2]){ { 1000000, 1100000 },
				       { 2000000, 4210000 },
				       { 500000, 560000 } },
		 "Base pages pay +1.53 insns a page (+10.0%).\n"
		 "2m folios pay +0.92 insns a page (+12.0%).\n",
		 "one much more than the others is not alike");
	controls((const int64_t[][2]){ { RECORD_NULL, 1 },
				       { 2000000, 1000000 },
				       { RECORD_NULL, RECORD_NULL } }, NULL,
		 "one size alone is not all of them");
	controls((const int64_t[][2]){ { 1000000, 900000 },
				       { 2000000, 2200000 },
				       { 500000, 500000 } },
		 "Base pages gain: -1.53 insns a page (-10.0%).\n",
		 "both ways is not alike");
	one.folio_bytes = 4096;
	verdict_controls(&one, 1, 4096, 2097152, &b);
	ok(!b.len, "a benchmark without sizes has no controls");
	one.exact = false;
	verdict_controls((struct verdict_pair[]){ one, one }, 2, 4096, 2097152,
			 &b);
	ok(!b.len, "nothing is said of time");
	buf_free(&b);
}

int main(void)
{
	test_half_percent();
	test_ticks();
	test_ratio();
	test_direction();
	test_no_word();
	test_alarm();
	test_per_op();
	test_controls();
	return tap_done();
}
