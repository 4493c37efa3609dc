/* SPDX-License-Identifier: GPL-2.0-only */
/* Pictures of trends and comparisons: what is drawn; that text stays text. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../common/record.h"
#include "../../server/plot.h"
#include "../tap.h"

#define MAX	2000
#define BOUND_MS 150	/* CPU of an SVG of 9 series x 1,000 points */

static struct plotter *plotter;

/* Memory for one plot, filled by plain(): 100, 101, ... ns, spread 2. */
static int64_t values[PLOT_MAX_SERIES][MAX], spreads[MAX];
static unsigned char apart[MAX], breaks[MAX];
static struct plot_series series[PLOT_MAX_SERIES];
static const char *labels[MAX];
static char label_text[MAX][16];

static struct plot plain(size_t nseries, size_t n)
{
	memset(apart, 0, sizeof(apart));
	memset(breaks, 0, sizeof(breaks));
	for (size_t i = 0; i < n; i++) {
		snprintf(label_text[i], sizeof(label_text[i]), "%07zuabcde", i);
		labels[i] = label_text[i];
		spreads[i] = 2;
		for (size_t s = 0; s < nseries; s++)
			values[s][i] = (int64_t)(100 * (s + 1) + i % 7);
	}
	for (size_t s = 0; s < nseries; s++)
		series[s] = (struct plot_series){ "64k", values[s], spreads,
						  NULL };
	return (struct plot){
		.kind = PLOT_TREND, .title = "host mincore time_ns",
		.desc = "what it shows", .unit = "ns", .n = n, .x = labels,
		.breaks = breaks, .nseries = nseries, .series = series,
	};
}

static char *script_of(const struct plot *p)
{
	static struct buf b = BUF_INIT;
	struct err e = { "" };

	buf_free(&b);
	if (plot_script(p, PLOTTER_SVG, &b, &e))
		printf("# %s\n", e.msg);
	return b.s ? b.s : (char *)"";
}

/* The lines of data block @name, to be used at once. */
static const char *block(const char *script, const char *name)
{
	static char text[200000];
	const char *from = strstr(script, name), *to;

	text[0] = '\0';
	if (from && (from = strchr(from, '\n')) &&
	    (to = strstr(from, "\nEOD")))
		snprintf(text, sizeof(text), "%.*s", (int)(to - from), from);
	return text;
}

static size_t count(const char *s, const char *what)
{
	size_t n = 0;

	for (; (s = strstr(s, what)); s += strlen(what))
		n++;
	return n;
}

/* --- scripts ---------------------------------------------------------- */

static void test_data(void)
{
	struct plot p = plain(1, 4);
	char *s;

	values[0][1] = RECORD_NULL;
	series[0].apart = apart;
	apart[3] = 1;
	s = script_of(&p);
	is(block(s, "$d0 <<"), "\n0 100 98 102\n\n2 102 100 104",
	   "a gap is an empty line, an invalid point is not on the line");
	is(block(s, "$a0 <<"), "\n3 103 101 105", "it is drawn apart");
	ok(strstr(s, "yerrorlines"), "few points have bars");
	breaks[2] = 1;
	p = plain(1, 4);
	breaks[2] = 1;
	s = script_of(&p);
	is(block(s, "$d0 <<"), "\n0 100 98 102\n1 101 99 103\n\n"
	   "2 102 100 104\n3 103 101 105", "no line crosses an epoch");
	ok(strstr(s, "set arrow from 1.5, graph 0 to 1.5, graph 1"),
	   "an epoch is a line between two points");
}

static void test_unit(void)
{
	struct plot p = plain(1, 2);
	char *s;

	values[0][0] = 151000000;
	values[0][1] = 8000000;
	s = script_of(&p);
	ok(strstr(block(s, "$d0 <<"), "0 151 "),
	   "values are in a readable unit");
	ok(strstr(s, "set ylabel \"\\155\\163\""), "the axis says which: ms");
	p.log_scale = true;
	values[0][1] = 0;
	s = script_of(&p);
	ok(strstr(s, "set logscale y") && !strstr(block(s, "$d0 <<"), "\n1 "),
	   "zero has no place on a log scale");
}

/* A single outlier among 2,000 points must survive. */
static void test_thinning(void)
{
	struct plot p = plain(9, MAX);
	size_t points = 0;
	char *s;

	values[4][1234] = 9999;
	values[4][777] = 1;
	s = script_of(&p);
	for (int i = 0; i < 9; i++) {
		char name[16];

		snprintf(name, sizeof(name), "$d%d <<", i);
		points += count(block(s, name), "\n");
	}
	ok(points > 1500 && points <= PLOT_MAX_POINTS,
	   "%zu of 18,000 points are drawn", points);
	ok(strstr(block(s, "$d4 <<"), "\n1234 9999 ") &&
	   strstr(block(s, "$d4 <<"), "\n777 1 "),
	   "the largest and the smallest are among them");
	ok(strstr(s, "filledcurves") && !strstr(s, "yerrorlines"),
	   "many points have a band");
}

static void test_text(void)
{
	static const char *text = "a\"`id`\n!x\\"
		"\xff\xc0\x80\xed\xa0\x80\xe2\x80\xae\xc3\xa9%";
	struct plot p = plain(1, 3);
	char *s;

	p.title = text;
	labels[1] = "50%";
	s = script_of(&p);
	ok(strstr(s, "set title "
		  "\"\\141\\042\\140\\151\\144\\140\\077\\041\\170"
		  "\\134\\077\\077\\077\\077\\077\\077\\077\\077\\077"
		  "\\303\\251\\045\"\n"),
	   "text is octal; what is not clean UTF-8 is a question mark");
	ok(strstr(s, "\\065\\060\\045\\045\" 1"),
	   "a label of x is no format");
	p.title = NULL;
	labels[0] = NULL;
	ok(strstr(script_of(&p), "set title \"\"\n"), "no text is empty text");
}

static void test_labels(void)
{
	struct plot p = plain(1, 1000);

	ok(count(script_of(&p), "\\141\\142\\143\\144\\145\" ") <= 28,
	   "of 1,000 labels 28 are shown");
	p = plain(1, 60);
	labels[0] = "0123456789012345678901234567890123456789";
	ok(strstr(script_of(&p), "\\342\\200\\246\" 0"), "a long one is cut");
}

static void test_refusals(void)
{
	struct plot p = plain(1, 1);
	struct buf b = BUF_INIT;
	struct err e;

	p.nseries = 0;
	is_i(plot_script(&p, PLOTTER_SVG, &b, &e), -1, "no series, no picture");
	p.nseries = PLOT_MAX_SERIES + 1;
	is_i(plot_script(&p, PLOTTER_SVG, &b, &e), -1, "nor with too many");
	is(e.msg, "a picture holds 1 to 32 series, got 33",
	   "... and it says so");
	p.kind = PLOT_COMPARE;
	p.nseries = 2;
	is_i(plot_script(&p, PLOTTER_SVG, &b, &e), -1, "a comparison has one");
	buf_free(&b);
}

static void test_compare(void)
{
	struct plot p = plain(1, 150);
	char *s;

	p.kind = PLOT_COMPARE;
	values[0][0] = -8660;
	s = script_of(&p);
	ok(strstr(block(s, "$d0 <<"), "\n0 -86.6 -86.62 -86.58\n"),
	   "hundredths of a percent become percent");
	ok(strstr(s, "set arrow from 0, graph 0"), "no change is a line");
	ok(strstr(s, "(first 100 of 150)"), "what is not drawn is counted");
}

/* --- pictures --------------------------------------------------------- */

static char *render(const struct plot *p, enum plotter_format f, size_t *len)
{
	struct buf b = BUF_INIT;
	struct err e = { "" };
	bool busy;

	*len = 0;
	if (plot_render(plotter, p, f, &b, &busy, &e)) {
		printf("# %s\n", e.msg);
		return NULL;
	}
	*len = b.len;
	return buf_detach(&b, NULL);
}

static bool draws(const struct plot *p)
{
	size_t len[2];
	char *svg = render(p, PLOTTER_SVG, &len[0]);
	char *png = render(p, PLOTTER_PNG, &len[1]);
	bool both = svg && png;

	free(svg);
	free(png);
	return both;
}

static void test_svg(void)
{
	struct plot p = plain(9, 60);
	char *svg, *again;
	size_t len, len_again;

	p.title = "a <b> & \"c\"\x01";
	svg = render(&p, PLOTTER_SVG, &len);
	again = render(&p, PLOTTER_SVG, &len_again);
	ok(svg && again, "an SVG is drawn");
	if (!svg || !again)
		goto out;
	ok(strstr(svg, "<?xml") == svg && strstr(svg, "</svg>"),
	   "it is whole");
	ok(strstr(svg, " role=\"img\">\n<title>a &lt;b&gt; &amp; "),
	   "it has a name");
	ok(strstr(svg, "<desc>what it shows</desc>"), "... a description");
	ok(strstr(svg, "prefers-color-scheme:dark"), "... and a dark mode");
	ok(strstr(svg, "fill=\"black\"") && strstr(svg, "stroke='black'") &&
	   strstr(svg, "<rect x=\"0\" y=\"0\" width=\"900\" height=\"420\" "
		  "fill=\"#ffffff\"/>") && strstr(svg, "'rgb(  0, 114, 178)'"),
	   "gnuplot writes the colours that the dark mode names");
	ok(!strstr(svg, "Gnuplot") && !strstr(svg, "gnuplot_plot_1</title>"),
	   "gnuplot's own names are gone");
	ok(!strstr(svg, "<script") && !strstr(svg, "onmouse"),
	   "no script in it");
	ok(len == len_again && !memcmp(svg, again, len),
	   "twice the same bytes");
out:
	free(svg);
	free(again);
}

static void test_png(void)
{
	struct plot p = plain(9, 60);
	size_t len, len_again;
	char *png = render(&p, PLOTTER_PNG, &len);
	char *again = render(&p, PLOTTER_PNG, &len_again);

	ok(png && again && len > 1000 && !memcmp(png, "\x89PNG", 4),
	   "a PNG is drawn");
	ok(png && again && len == len_again && !memcmp(png, again, len),
	   "twice the same bytes");
	free(png);
	free(again);
}

static void test_odd_ones(void)
{
	struct plot p = plain(9, 1);

	ok(draws(&p), "one point is a picture");
	p = plain(1, 0);
	ok(draws(&p), "no point is a picture");
	p = plain(3, 5);
	for (size_t i = 0; i < 15; i++)
		values[i / 5][i % 5] = RECORD_NULL;
	ok(draws(&p), "nothing but gaps is a picture");
	p.log_scale = true;
	ok(draws(&p), "... on a log scale too");
	p = plain(2, 3);
	for (size_t i = 0; i < 3; i++)
		values[0][i] = values[1][i] = 0;
	ok(draws(&p), "zeros are a picture");
	p = plain(2, 3);
	values[0][0] = INT64_MAX;
	values[1][2] = -INT64_MAX;
	spreads[0] = spreads[2] = INT64_MAX;
	ok(draws(&p), "the largest and smallest numbers are a picture");
	p = plain(PLOT_MAX_SERIES, MAX);
	for (size_t i = 0; i < MAX; i++)
		breaks[i] = apart[i] = i % 3 == 0;
	series[5].apart = apart;
	ok(draws(&p), "the most series, breaks and invalid points are one");
	p = plain(1, 45);
	p.kind = PLOT_COMPARE;
	series[0].apart = apart;
	apart[3] = 1;
	ok(draws(&p), "a comparison is a picture");
	p.n = MAX;
	ok(draws(&p), "... with more cells than are drawn, too");
	p.n = 0;
	ok(draws(&p), "a comparison of nothing too");
}

/* --- text that would like to be more ---------------------------------- */

static char dir[] = "/tmp/mmtrend-plot.XXXXXX";

/* @ stands for a file in a directory that anyone may write. */
static const char *const hostile[] = {
	"\";system(\"touch @\")#", "`touch @`", "\n!touch @\n", "'< touch @'",
	"| touch @", "\nEOD\n!touch @\n", "\"\nload '< touch @'\n",
	"\\\"; shell",
	"\nset output '@'\n", "\nset print '@'\nprint 1\n", "\nsave '@'\n",
	"\neval \"system('touch @')\"\n", "@m", "$(touch @)", "%n%s%99999d",
	"\\140touch @\\140", "{/=99 x}_y^z&{space}", "&#x0;&#1;&#x41;&lt;&bad;",
	"</text></svg><script>alert(1)</script>", "]]><!--", "\x01\x1b[31m\x7f",
};

static size_t files_in_dir(void)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	size_t n = 0;

	while (d && (f = readdir(d)))
		n += f->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* Every reference of an XML text is one of the five, or a valid number. */
static bool clean_xml(const char *svg)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;",
					     "&apos;", "&#39;", "&#34;" };

	for (const char *s = svg; *s; s++) {
		size_t k = 0;

		if ((unsigned char)*s < ' ' && *s != '\n')
			return false;
		while (*s == '&' && k < 7 &&
		       strncmp(s, known[k], strlen(known[k])) != 0)
			k++;
		if (k == 7)
			return false;
	}
	return true;
}

static void try_text(size_t number, const char *text)
{
	struct plot p = plain(2, 3);
	char *svg, *png;
	size_t len;

	p.title = p.desc = p.unit = series[0].label = labels[1] = text;
	svg = render(&p, PLOTTER_SVG, &len);
	png = render(&p, PLOTTER_PNG, &len);
	ok(svg && png && clean_xml(svg) && !strstr(svg, "<script") &&
	   count(svg, "</svg>") == 1 && files_in_dir() == 0,
	   "hostile text %zu is plain text", number);
	free(svg);
	free(png);
}

static void test_hostile_text(void)
{
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		struct buf b = BUF_INIT;

		for (const char *c = hostile[i]; *c; c++)
			if (*c == '@' && c[1] != 'm')
				buf_printf(&b, "%s/mark", dir);
			else
				buf_char(&b, *c);
		try_text(i, b.s);
		buf_free(&b);
	}
}

/* --- what it costs ---------------------------------------------------- */

static double cpu_ms(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3;
}

/* The plotter's and its gnuplots' time is known once they ended. */
static double cost_ms(enum plotter_format f, int draws_wanted)
{
	struct plot p = plain(9, 1000);
	double start;
	char jail[160];
	struct err e;
	size_t len;

	for (size_t i = 0; i < 9000; i++)
		values[i / 1000][i % 1000] += rand() % 50;
	plotter_stop(plotter);
	start = cpu_ms(RUSAGE_SELF) + cpu_ms(RUSAGE_CHILDREN);
	plotter = plotter_start(false, jail, &e);
	for (int i = 0; plotter && i < draws_wanted; i++)
		free(render(&p, f, &len));
	plotter_stop(plotter);
	plotter = NULL;
	return (cpu_ms(RUSAGE_SELF) + cpu_ms(RUSAGE_CHILDREN) - start) /
	       draws_wanted;
}

int main(void)
{
	char jail[160];
	struct err e = { "" };
	double ms;

	plotter = plotter_start(false, jail, &e);
	if (!plotter || !mkdtemp(dir) || chmod(dir, 0777)) {
		printf("Bail out! %s\n", e.msg);
		return 1;
	}
	test_data();
	test_unit();
	test_thinning();
	test_text();
	test_labels();
	test_refusals();
	test_compare();
	test_svg();
	test_png();
	test_odd_ones();
	test_hostile_text();
	rmdir(dir);
	ms = cost_ms(PLOTTER_SVG, 5);
	ok(ms <= BOUND_MS, "an SVG of 9 series x 1,000 points costs %.0f ms of "
	   "CPU, at most %d", ms, BOUND_MS);
	printf("# the PNG: %.0f ms\n", cost_ms(PLOTTER_PNG, 3));
	plotter_stop(plotter);
	return tap_done();
}
