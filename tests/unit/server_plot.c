/* SPDX-License-Identifier: GPL-2.0-only */
/* Pictures of trends and comparisons: what is drawn; that text stays text. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../common/record.h"
#include "../../server/plot.h"
#include "../tap.h"

#define MAX	2000

static struct plotter *plotter;

/* Memory for one plot, filled by plain(): 100, 101, ... ns, spread 2. */
static int64_t values[PLOT_MAX_SERIES][MAX], spreads[MAX];
static unsigned char apart[MAX], breaks[MAX];
static struct plot_series series[PLOT_MAX_SERIES];
static const char *labels[MAX];
static char label_text[MAX][32];

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
	series[0].apart = apart;
	return (struct plot){
		.kind = PLOT_TREND, .title = "host mincore time_ns",
		.desc = "what it shows", .unit = "ns", .n = n, .x = labels,
		.breaks = breaks, .nseries = nseries, .series = series,
	};
}

static const char *script_of(const struct plot *p)
{
	static struct buf b = BUF_INIT;
	struct err e = { "" };

	buf_free(&b);
	if (plot_script(p, PLOTTER_SVG, &b, &e))
		printf("# %s\n", e.msg);
	return b.s ? b.s : "";
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
	const char *s;

	values[0][1] = RECORD_NULL;
	apart[3] = 1;
	s = script_of(&p);
	is(block(s, "$d0 <<"), "\n0 100 98 102\n\n2 102 100 104",
	   "a gap is an empty line, an invalid point is not on the line");
	is(block(s, "$a0 <<"), "\n3 103 101 105", "it is drawn apart");
	ok(strstr(s, "yerrorlines"), "few points have bars");
}

static void test_breaks(void)
{
	struct plot p = plain(9, MAX);
	const char *s;

	breaks[1000] = breaks[1001] = breaks[1004] = breaks[1999] = 1;
	s = script_of(&p);
	ok(count(s, "set arrow from ") == 3,
	   "of 2,000 points, 3 breaks that are a pixel apart are drawn");
	ok(strstr(s, "\"new epoch\""), "the legend says what they are");
	p = plain(1, 4);
	breaks[2] = breaks[3] = 1;
	s = script_of(&p);
	is(block(s, "$d0 <<"), "\n0 100 98 102\n1 101 99 103\n\n"
	   "2 102 100 104\n\n3 103 101 105", "no line crosses an epoch");
	ok(strstr(s, "set arrow from 1.5, graph 0 to 1.5, graph 1") &&
	   strstr(s, "set arrow from 2.5, graph 0 to 2.5, graph 1"),
	   "each epoch begins at a line between two points");
}

static void test_unit(void)
{
	struct plot p = plain(1, 2);
	const char *s;

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
	const char *s;

	values[4][1234] = 9999;
	values[4][777] = 1;
	s = script_of(&p);
	for (int i = 0; i < 9; i++) {
		char name[24];

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
	struct plot p = plain(1, 1000);
	const char *s;

	ok(count(script_of(&p), "\\141\\142\\143\\144\\145\" ") <= 28,
	   "of 1,000 labels 28 are shown");
	p.n = 3;
	p.title = "a\"`id`\n!x\\"
		"\xff\xc0\x80\xed\xa0\x80\xe2\x80\xae\xc3\xa9%\xe2\x80";
	labels[0] = "0123456789012345678901234567890123456789";
	labels[1] = "50%";
	s = script_of(&p);
	ok(strstr(s, "set title "
		  "\"\\141\\042\\140\\151\\144\\140\\077\\041\\170"
		  "\\134\\077\\077\\077\\077\\077\\077\\077\\077\\077"
		  "\\077\\077\\045\\077\\077\"\n"),
	   "text is octal; what is not ASCII is a question mark");
	ok(strstr(s, "\\065\\060\\045\\045\" 1"),
	   "a label of x is no format");
	ok(strstr(s, "\\067\\056\\056\\056\" 0"), "a long one is cut");
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
	buf_free(&b);
}

static void test_compare(void)
{
	struct plot p = plain(1, 150);
	const char *s;

	p.kind = PLOT_COMPARE;
	values[0][0] = -8660;
	s = script_of(&p);
	ok(strstr(block(s, "$d0 <<"), "\n0 -86.6 -86.62 -86.58\n"),
	   "hundredths of a percent become percent");
	ok(strstr(s, "set arrow from 0, graph 0"), "no change is a line");
	ok(strstr(s, "(first 100 of 150)"), "what is not drawn is counted");
}

/* --- pictures --------------------------------------------------------- */

static struct buf render(const struct plot *p, enum plotter_format f)
{
	struct buf b = BUF_INIT;
	struct err e = { "" };
	bool busy;

	if (plot_render(plotter, p, f, &b, &busy, &e))
		printf("# %s\n", e.msg);
	if (!b.s)
		buf_str(&b, "");
	return b;
}

/* The picture is the same each time; to be freed. */
static struct buf render_twice(const struct plot *p, enum plotter_format f)
{
	struct buf a = render(p, f), b = render(p, f);

	ok(a.len > 1000 && a.len == b.len && !memcmp(a.s, b.s, a.len),
	   "%s: twice the same bytes", f == PLOTTER_SVG ? "SVG" : "PNG");
	buf_free(&b);
	return a;
}

static void test_formats(void)
{
	struct plot p = plain(9, 60);
	struct buf png = render_twice(&p, PLOTTER_PNG), svg;
	const char *s;

	p.title = "a <b> & \"c\"\x01";
	svg = render_twice(&p, PLOTTER_SVG);
	s = svg.s;
	ok(!memcmp(png.s, "\x89PNG", 4), "a PNG is drawn");
	ok(strstr(s, "<?xml") == s && strstr(s, "</svg>"), "an SVG is drawn");
	ok(strstr(s, " role=\"img\">\n<title>a &lt;b&gt; &amp; "),
	   "it has a name");
	ok(strstr(s, "<desc>what it shows</desc>"), "... a description");
	ok(strstr(s, "prefers-color-scheme:dark"), "... and a dark mode");
	ok(strstr(s, "fill=\"black\"") && strstr(s, "stroke='black'") &&
	   strstr(s, "<rect x=\"0\" y=\"0\" width=\"900\" height=\"420\" "
		  "fill=\"#ffffff\"/>") && strstr(s, "'rgb(  0, 114, 178)'"),
	   "gnuplot writes the colours that the dark mode names");
	ok(!strstr(s, "Gnuplot") && !strstr(s, "gnuplot_plot_1</title>"),
	   "gnuplot's own names are gone");
	ok(!strstr(s, "<script") && !strstr(s, "onmouse"), "no script in it");
	buf_free(&svg);
	buf_free(&png);
}

static void draws(const struct plot *p, const char *what)
{
	struct buf svg = render(p, PLOTTER_SVG), png = render(p, PLOTTER_PNG);

	ok(svg.len && png.len, "a picture: %s", what);
	buf_free(&svg);
	buf_free(&png);
}

static void test_odd_ones(void)
{
	struct plot p = plain(9, 1);

	draws(&p, "one point");
	p = plain(1, 0);
	draws(&p, "no point");
	p = plain(3, 5);
	for (size_t i = 0; i < 15; i++)
		values[i / 5][i % 5] = RECORD_NULL;
	draws(&p, "nothing but gaps");
	p.log_scale = true;
	draws(&p, "... on a log scale");
	p = plain(2, 3);
	memset(apart, 1, sizeof(apart));
	draws(&p, "a series of which all is invalid");
	memset(values, 0, sizeof(values));
	draws(&p, "zeros");
	p = plain(2, 3);
	values[0][0] = INT64_MAX;
	values[1][2] = -INT64_MAX;
	spreads[0] = spreads[2] = INT64_MAX;
	draws(&p, "the largest and smallest numbers");
	p = plain(PLOT_MAX_SERIES, MAX);
	for (size_t i = 0; i < MAX; i++)
		breaks[i] = apart[i] = i % 3 == 0;
	draws(&p, "the most series, breaks and invalid points");
	p = plain(1, 45);
	p.kind = PLOT_COMPARE;
	draws(&p, "a comparison");
	p = plain(1, MAX);
	p.kind = PLOT_COMPARE;
	draws(&p, "... with more cells than are drawn");
	p.n = 0;
	draws(&p, "... of nothing");
}

/* --- text that would like to be more ---------------------------------- */

/* Some would make a file in the working directory, which anyone may write. */
static const char *const hostile[] = {
	"\";system(\"touch mark\")#", "`touch mark`", "\n!touch mark\n",
	"'< touch mark'", "| touch mark", "\nEOD\n!touch mark\n",
	"\"\nload '< touch mark'\n", "\\\"; shell",
	"\nset output 'mark'\n", "\nset print 'mark'\nprint 1\n",
	"\nsave 'mark'\n", "\neval \"system('touch mark')\"\n", "@m",
	"$(touch mark)", "%n%s%99999d", "\\140touch mark\\140",
	"{/=99 x}_y^z&{space}", "&#x0;&#1;&#x41;&lt;&bad;",
	"</text></svg><script>alert(1)</script>", "]]><!--", "\x01\x1b[31m\x7f",
};

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

static void test_hostile_text(void)
{
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		struct plot p = plain(2, 3);
		struct buf svg, png;

		p.title = p.desc = p.unit = hostile[i];
		series[0].label = labels[1] = hostile[i];
		svg = render(&p, PLOTTER_SVG);
		png = render(&p, PLOTTER_PNG);
		ok(svg.len && png.len && clean_xml(svg.s) &&
		   !strstr(svg.s, "<script") && count(svg.s, "</svg>") == 1,
		   "hostile text %zu is plain text", i);
		buf_free(&svg);
		buf_free(&png);
	}
}

int main(void)
{
	char dir[] = "/tmp/mmtrend-plot.XXXXXX", jail[160];
	struct err e = { "" };

	if (!mkdtemp(dir) || chmod(dir, 0777) || chdir(dir))
		return 1;
	plotter = plotter_start(false, jail, &e);
	if (!plotter) {
		printf("Bail out! %s\n", e.msg);
		return 1;
	}
	test_data();
	test_breaks();
	test_unit();
	test_thinning();
	test_text();
	test_refusals();
	test_compare();
	test_formats();
	test_odd_ones();
	test_hostile_text();
	ok(!rmdir(dir), "no text made a file");
	return tap_done();
}
