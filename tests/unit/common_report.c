/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures, paragraphs and tables that survive a mail. */
#include <stdlib.h>

#include "../../common/record.h"
#include "../../common/report.h"
#include "../tap.h"

/* @want: the figure, a blank and its unit. */
static void number(int64_t v, int64_t largest, const char *unit,
		   const char *want, const char *what)
{
	struct report_unit u = report_unit(largest, unit);
	char out[REPORT_VALUE], both[2 * REPORT_VALUE];

	snprintf(both, sizeof(both), "%s %s", report_number(v, u, out), u.name);
	is(both, want, what);
}

static void figures(void)
{
	static const struct report_unit us = { "us", 1e3 }, ms = { "ms", 1e6 };
	char out[REPORT_VALUE];

	number(9999, 9999, "ns", "9999 ns", "below 10,000 ns stay ns");
	number(10000, 10000, "ns", "10.0 us", "from there on us");
	number(3105123, 3220000, "ns", "3105 us",
	       "us up to 10 ms: four digits");
	number(81000, 3220000, "ns", "81.0 us",
	       "three digits in the same column");
	number(8312, 3220000, "ns", "8.31 us", "at most two decimals above 1");
	number(12, 3220000, "ns", "0.012 us", "at most three decimals");
	number(10000000, 10000000, "ns", "10.0 ms", "ms from 10 ms");
	number(12345678901, 12345678901, "ns", "12.3 s", "s from 10 s");
	number(INT64_MAX, INT64_MAX, "ns", "9223372037 s", "the largest");
	number(0, 3220000, "ns", "0 us", "zero is 0");
	number(9999, 9999, "insns", "9999 insns", "few instructions");
	number(1234567, 1234567, "insns", "1235 k",
	       "thousands of instructions");
	number(98765432, 98765432, "insns", "98765 k",
	       "millions of instructions: exact, so still in k");
	number(98765432109, 98765432109, "insns", "98765 M",
	       "M from 10 G on");
	number(268435456, 268435456, "bytes", "268435456 bytes",
	       "other units stay");
	is(report_number(999950, ms, out), "1.00", "0.99995 ms rounds to 1.00");
	is(report_number(999400, ms, out), "0.999", "0.9994 ms does not");
	is(report_number(999950, us, out), "1000", "999.95 us rounds to 1000");
	is(report_number(99950, us, out), "100", "99.95 us rounds to 100");
	is(report_number(99949, us, out), "99.9", "99.949 us does not");
	is(report_number(9995, us, out), "10.0", "9.995 us rounds to 10.0");
	is(report_number(-8312, us, out), "-8.31", "a negative figure");
	is(report_number(RECORD_NULL, us, out), "-", "null is -");
}

static void percents(void)
{
	char out[REPORT_VALUE];

	is(report_percent(3105123, 3139280, out), "+1.1%", "slower by 1.1 %");
	is(report_percent(3220000, 431000, out), "-86.6%", "faster by 86.6 %");
	is(report_percent(100, 100, out), "+0.0%", "no difference");
	is(report_percent(100000, 99999, out), "+0.0%", "never -0.0%");
	is(report_percent(100, 0, out), "-100.0%", "down to zero");
	is(report_percent(0, 100, out), "-", "nothing to compare with");
	is(report_percent(0, 0, out), "-", "zeros give no NaN");
	is(report_percent(RECORD_NULL, 5, out), "-", "before is null");
	is(report_percent(5, RECORD_NULL, out), "-", "after is null");
	is(report_percent(INT64_MAX - 1, INT64_MAX, out), "+0.0%",
	   "huge values");
	is(report_percent(1, INT64_MAX, out), "+9.2e+20%", "a huge ratio fits");
}

/* What every line of every report must be. */
static bool survives_mail(const char *s)
{
	size_t len;

	for (; *s; s += len + 1) {
		len = strcspn(s, "\n");
		if (len > REPORT_WIDTH || !s[len] ||
		    (len && strncmp(s, "  ", 2)))
			return false;
		if (len && s[len - 1] == ' ')
			return false;
		for (size_t i = 0; i < len; i++)
			if (s[i] < ' ' || s[i] > '~')
				return false;
	}
	return true;
}

static void text(const char *in, const char *want, const char *what)
{
	struct buf b = BUF_INIT;

	report_text(&b, in);
	if (want)
		is(b.s, want, what);
	ok(survives_mail(b.s), "  and would survive a mail");
	buf_free(&b);
}

static void paragraphs(void)
{
	char wide[300];

	text("before 7368ccdeff50  mm-unstable",
	     "  before 7368ccdeff50  mm-unstable\n",
	     "a short line keeps its spaces");
	text("", "\n", "an empty paragraph is an empty line");
	text("one\n\ntwo", "  one\n\n  two\n", "its own line ends stay");
	text("Sizes checked by anon_fault_alloc, pages by "
	     "nr_foll_pin_acquired, and more.",
	     "  Sizes checked by anon_fault_alloc, pages by "
	     "nr_foll_pin_acquired, and\n  more.\n",
	     "wrapped between words");
	memset(wide, 'x', sizeof(wide));
	wide[70] = '\0';
	snprintf(wide + 100, 80, "  %.70s\n", wide);
	text(wide, wide + 100, "70 characters are one line");
	wide[70] = wide[100] = 'x';
	wide[150] = '\0';
	text(wide, NULL, "");
	text("a b\xc3\xbc\xe6\x97\xa5\xf0\x9f\x90\xa7 \x1b[31m\ttab \xff\xfe",
	     "  a b????????? ?[31m tab ??\n",
	     "one ? for each byte outside ASCII");
	text("| + - > #\n--- a/b\n---\nFrom: x\n#endif\n> quote", NULL, "");
	text("   \n  x  ", "\n    x\n", "blanks at line ends go");
}

/* The rows of the sample report: 4 figures and a verdict. */
static void table_sample(void)
{
	static const struct report_col cols[] = {
		{ "folio", false }, { "before", true }, { "after", true },
		{ "time", true }, { "verdict", false },
	};
	static const char *const cells[] = {
		"base 4k", "3105 us", "3139 us", "+1.1%", "same (noise 1.9%)",
		"32k", NULL, NULL, NULL,
		"not valid: 12 of 8192 folios fell back, 3 more were of 2 MB",
		"2m pmd", "81 us", "80 us", "-1.2%", "",
	};
	struct buf b = BUF_INIT;

	report_table(&b, cols, 5, cells, 3);
	is(b.s,
	   "  folio     before    after   time  verdict\n"
	   "  -------  -------  -------  -----  "
	   "------------------------------------\n"
	   "  base 4k  3105 us  3139 us  +1.1%  same (noise 1.9%)\n"
	   "  32k            -        -      -  not valid: 12 of 8192 folios "
	   "fell\n"
	   "                                    back, 3 more were of 2 MB\n"
	   "  2m pmd     81 us    80 us  -1.2%\n",
	   "figures right, words left, the last column wraps below itself");
	ok(survives_mail(b.s), "  and would survive a mail");
	buf_free(&b);
}

#define LONG "a benchmark with a name as long as nobody would ever wish for, " \
	"in_one_long_word_0123456789012345678901234567890123456789"

static void table_narrow(void)
{
	static const struct report_col cols[] = {
		{ "bench", false }, { "value", true }, { "n", true },
	};
	static const char *const cells[] = {
		LONG, "123456789012345678 us", "\xc3\xbc",
	};
	struct buf b = BUF_INIT;

	report_table(&b, cols, 3, cells, 1);
	ok(strstr(b.s, "123456789012345678 us  ??\n"),
	   "a figure is never broken");
	ok(strstr(b.s, "\n  in_one_long_word_"),
	   "the widest text column gives way");
	ok(survives_mail(b.s), "  and would survive a mail");
	buf_free(&b);
}

static void table_edges(void)
{
	static const struct report_col cols[] = { { "a", false },
						  { "", true } };
	static const char *const cells[] = { "", "", "x\ny", "1" };
	struct report_col many[REPORT_MAX_COLS + 1] = { { "c", true } };
	struct buf b = BUF_INIT;

	report_table(&b, cols, 2, NULL, 0);
	is(b.s, "  a\n  -\n", "no rows: the header stands");
	buf_reset(&b, 0);
	report_table(&b, cols, 2, cells, 2);
	is(b.s, "  a\n  -  -\n\n  x  1\n  y\n",
	   "empty cells, cells of two lines");
	buf_reset(&b, 0);
	report_table(&b, many, REPORT_MAX_COLS + 1, NULL, 0);
	report_table(&b, cols, 0, NULL, 0);
	is_i((long long)b.len, 0, "too many columns, or none: no table");
	buf_free(&b);
}

static void told(void)
{
	static const struct report_col cols[] = { { "a", false },
						  { "b", true } };
	struct buf b = BUF_INIT, cells = BUF_INIT;

	report_cell(&cells, "%d", 1);
	report_cell(&cells, "%s", "");
	report_cell(&cells, "%s", "x");
	report_cell(&cells, "%d%%", 20);
	report_cells(&b, cols, 2, &cells);
	is(b.s, "  a    b\n  -  ---\n  1\n  x  20%\n",
	   "cells told one by one make the same table");
	ok(!cells.s, "  and are gone");
	buf_reset(&b, 0);
	report_cells(&b, cols, 2, &cells);
	is_i((long long)b.len, 0, "no cells: nothing");
	report_printf(&b, "%s %0*d", "a", 2 * REPORT_PARAGRAPH, 1);
	ok(survives_mail(b.s) && b.len > REPORT_PARAGRAPH,
	   "a paragraph is cut, and would survive a mail");
	cells.failed = true;
	report_cells(&b, cols, 2, &cells);
	ok(!buf_ok(&b), "a cell that found no memory is not left out in silence");
	buf_free(&b);
}

int main(void)
{
	figures();
	percents();
	paragraphs();
	table_sample();
	table_narrow();
	table_edges();
	told();
	return tap_done();
}
