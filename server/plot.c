/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns a view into a gnuplot script, and gnuplot's SVG into one with a name,
 * a description and a dark mode. A stranger's text enters the script only as
 * octal escapes, and his numbers only as decimal figures, so nothing of his
 * can be a command, a file name or the end of a data block.
 */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/record.h"
#include "../common/report.h"

#define WIDTH		900	/* pixels */
#define HEIGHT		420	/* with KEY_ROWS of legend */
#define KEY_ROWS	3
#define SIDE		80	/* left of the axis: its figures and unit */
#define SAMPLE		75	/* a sample in the legend, and gaps */
#define LINE		18	/* pixels: a row of the legend, a cell */
#define MAX_CELLS	100	/* of a comparison; more are only counted */
#define MAX_BARS	200	/* points of a series; above: a band */
#define MAX_TICKS	28	/* slanted labels that stand side by side */
#define TITLE_CHARS	110
#define LABEL_CHARS	28
#define CELL_CHARS	48
#define CHAR		7.0	/* pixels: a wide character of a label */

/* Okabe and Ito, with a darker yellow and brown and grey for black: each one
 * stands out on white and on the dark background. */
static const char *const colors[] = {
	"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
	"#8C564B", "#A0A000", "#7F7F7F",
};

/* Shapes that stay apart without colour; 2, a cross, is for invalid points. */
static const int shapes[] = { 7, 5, 9, 11, 13, 6, 4, 8, 10, 12 };

#define NCOLORS	(sizeof(colors) / sizeof(*colors))
#define NSHAPES	(sizeof(shapes) / sizeof(*shapes))

/* gnuplot's light colours, as it writes them, and ours in the dark. */
static const char style[] =
	"<style>@media(prefers-color-scheme:dark){"
	"rect[fill=\"#ffffff\"]{fill:#14171a}"
	"[fill=\"black\"]{fill:#dde1e6}"
	"[color=\"black\"]{color:#dde1e6}"
	"[stroke=\"black\"]{stroke:#9aa1a9}"
	"[stroke=\"rgb(224, 224, 224)\"]{stroke:#343a40}"
	"[stroke=\"rgb(140,  86,  75)\"]{stroke:#c48d80}"
	"[color=\"rgb(140,  86,  75)\"]{color:#c48d80}"
	"[fill=\"rgb(140,  86,  75)\"]{fill:#c48d80}"
	"[stroke=\"rgb(  0, 114, 178)\"]{stroke:#2f9be0}"
	"[color=\"rgb(  0, 114, 178)\"]{color:#2f9be0}"
	"[fill=\"rgb(  0, 114, 178)\"]{fill:#2f9be0}"
	"}</style>\n";

struct range {
	double lo, hi;
};

struct draft {
	const struct plot *p;
	struct buf *b;
	struct report_unit unit;
	size_t n;		/* points of a series that are drawn */
	size_t columns;		/* at most two points of a series in each */
	bool bars, log_scale;
	bool broken;		/* an epoch begins in between */
	struct range y;
	size_t points[PLOT_MAX_SERIES], apart[PLOT_MAX_SERIES];
	size_t all_points, all_apart;
};

/* --- text ------------------------------------------------------------- */

/* @out: @s in printable ASCII, '?' for all else, cut after @max characters. */
static void clean(struct buf *out, const char *s, size_t max)
{
	size_t n = 0;

	for (; n < max && s[n]; n++)
		buf_char(out, s[n] < ' ' || s[n] > '~' ? '?' : s[n]);
	buf_str(out, s[n] ? "..." : "");
}

/* A gnuplot string with its quotes. Labels of ticks are formats: % doubles. */
static void quote(struct buf *b, const char *s, size_t max, bool format)
{
	struct buf text = BUF_INIT;

	clean(&text, s, max);
	buf_char(b, '"');
	for (size_t i = 0; i < text.len; i++) {
		buf_printf(b, "\\%03o", (unsigned char)text.s[i]);
		if (format && text.s[i] == '%')
			buf_str(b, "\\045");
	}
	buf_char(b, '"');
	b->failed |= text.failed;
	buf_free(&text);
}

static size_t longest_of(const char *const *text, size_t n)
{
	size_t longest = 1;

	for (size_t i = 0; i < n; i++) {
		size_t chars = strnlen(text[i], LABEL_CHARS);

		longest = chars > longest ? chars : longest;
	}
	return longest;
}

/* --- figures ---------------------------------------------------------- */

/* Whether the point can be drawn at all. */
static bool has(const struct draft *d, const struct plot_series *s, size_t i)
{
	return s->value[i] != RECORD_NULL &&
	       (s->value[i] > 0 || !d->log_scale);
}

static struct range span(const struct draft *d, const struct plot_series *s,
			 size_t i)
{
	double v = (double)s->value[i] / d->unit.divide;
	double half = (double)s->spread[i] / d->unit.divide;
	struct range r = { v - half, v + half };

	if (d->log_scale)	/* a bar must not reach zero */
		r.lo = fmax(r.lo, v / 10);
	return r;
}

static struct report_unit unit_of(const struct plot *p)
{
	int64_t largest = 0;

	if (p->kind == PLOT_COMPARE)
		return (struct report_unit){ "%", 100 };
	for (size_t s = 0; s < p->nseries; s++)
		for (size_t i = 0; i < p->n; i++)
			if (p->series[s].value[i] > largest)
				largest = p->series[s].value[i];
	return report_unit(largest, p->unit);
}

/* From zero where that costs little, and never a range without extent. */
static struct range padded(struct range r, bool log_scale)
{
	double pad;

	if (r.lo > r.hi)
		return (struct range){ 1, 10 };
	if (log_scale)
		return (struct range){ r.lo / 1.3, r.hi * 1.3 };
	pad = r.hi > r.lo ? (r.hi - r.lo) * 0.06 : fabs(r.hi) * 0.1;
	if (pad == 0)
		pad = 1;
	if (r.lo >= 0 && r.lo < r.hi / 2)
		return (struct range){ 0, r.hi + pad };
	return (struct range){ r.lo - pad, r.hi + pad };
}

static struct range range_of(const struct draft *d)
{
	struct range all = { HUGE_VAL, -HUGE_VAL };

	if (d->p->kind == PLOT_COMPARE)		/* no change is always seen */
		all = (struct range){ -0.5, 0.5 };
	for (size_t k = 0; k < d->p->nseries * d->n; k++) {
		const struct plot_series *s = &d->p->series[k / d->n];
		struct range r;

		if (!has(d, s, k % d->n))
			continue;
		r = span(d, s, k % d->n);
		all.lo = fmin(all.lo, r.lo);
		all.hi = fmax(all.hi, r.hi);
	}
	return padded(all, d->log_scale);
}

/* --- data blocks: lines of figures, an empty line is a gap ------------ */

static bool broken(const struct plot *p, size_t after, size_t upto)
{
	for (size_t i = after + 1; p->breaks && i <= upto; i++)
		if (p->breaks[i])
			return true;
	return false;
}

/* The smallest and the largest of a column, which keep a step visible. */
static size_t extremes(const struct draft *d, const struct plot_series *s,
		       bool apart, size_t column, size_t pick[2])
{
	size_t to = (column + 1) * d->n / d->columns;
	size_t lo = to, hi = to;

	for (size_t i = column * d->n / d->columns; i < to; i++) {
		if (!has(d, s, i) || (s->apart && s->apart[i]) != apart)
			continue;
		if (lo == to || s->value[i] < s->value[lo])
			lo = i;
		if (hi == to || s->value[i] > s->value[hi])
			hi = i;
	}
	pick[0] = lo < hi ? lo : hi;
	pick[1] = lo < hi ? hi : lo;
	return lo == to ? 0 : lo == hi ? 1 : 2;
}

static size_t put_points(const struct draft *d, const struct plot_series *s,
			 bool apart)
{
	size_t points = 0, last = 0, pick[2];
	bool gap = false;

	for (size_t c = 0; c < d->columns; c++) {
		size_t n = extremes(d, s, apart, c, pick);

		gap |= n == 0;
		for (size_t k = 0; k < n; k++, points++, gap = false) {
			struct range r = span(d, s, pick[k]);

			if (points && (gap || broken(d->p, last, pick[k])))
				buf_char(d->b, '\n');
			last = pick[k];
			buf_printf(d->b, "%zu %.9g %.9g %.9g\n", last,
				   (double)s->value[last] / d->unit.divide,
				   r.lo, r.hi);
		}
	}
	return points;
}

static void put_data(struct draft *d)
{
	buf_printf(d->b, "$nothing << EOD\n0 %.9g\nEOD\n", d->y.lo);
	for (size_t s = 0; s < d->p->nseries; s++) {
		buf_printf(d->b, "$d%zu << EOD\n", s);
		d->points[s] = put_points(d, &d->p->series[s], false);
		buf_printf(d->b, "EOD\n$a%zu << EOD\n", s);
		d->apart[s] = put_points(d, &d->p->series[s], true);
		buf_str(d->b, "EOD\n");
		d->all_points += d->points[s];
		d->all_apart += d->apart[s];
	}
}

/* --- the frame around them -------------------------------------------- */

static void put_head(const struct draft *d, enum plotter_format format,
		     size_t height)
{
	buf_printf(d->b, "set terminal %s size %d,%zu font \"sans-serif,%d\" "
		   "background rgb \"#ffffff\"\n"
		   "set encoding utf8\nset termoption noenhanced\nset title ",
		   format == PLOTTER_SVG ? "svg" : "pngcairo", WIDTH, height,
		   format == PLOTTER_SVG ? 12 : 9);
	quote(d->b, d->p->title, TITLE_CHARS, false);
	if (d->p->n > d->n)
		buf_printf(d->b, ".\" (first %zu of %zu)\"", d->n, d->p->n);
	buf_str(d->b, "\nset grid lc rgb \"#e0e0e0\" lt 1\n"
		"set tics nomirror scale 0.5\nset border 3\n"
		"set errorbars 0.6\n");
	if (!d->all_points && !d->all_apart)
		buf_str(d->b, "set label \"no figures\" at graph 0.5,0.5 "
			"center\n");
}

static void put_labels(const struct draft *d, size_t step, size_t max)
{
	buf_char(d->b, '(');
	for (size_t i = 0; i < d->n; i += step) {
		buf_str(d->b, i ? ", " : "");
		quote(d->b, d->p->x[i], max, true);
		buf_printf(d->b, " %zu", i);
	}
	buf_str(d->b, ")\n");
}

/* Epoch breaks stand between two points; one a pixel. */
static void put_breaks(const struct draft *d)
{
	size_t pixel = WIDTH;

	for (size_t i = 1; d->p->breaks && i < d->n; i++) {
		if (!d->p->breaks[i] || i * WIDTH / d->n == pixel)
			continue;
		pixel = i * WIDTH / d->n;
		buf_printf(d->b, "set arrow from %zu.5, graph 0 to %zu.5, "
			   "graph 1 nohead lw 1.5 dt 2 lc rgb \"#7F7F7F\"\n",
			   i - 1, i - 1);
	}
}

/*
 * gnuplot leaves too little room for slanted labels and a long legend, so the
 * margins are ours; a legend that needs fewer rows than thought leaves a gap.
 */
static void put_trend_frame(const struct draft *d, enum plotter_format format)
{
	const char *names[PLOT_MAX_SERIES + 1] = { "new epoch" };
	size_t entries = d->p->nseries + (d->all_apart > 0) + d->broken;
	double longest = (double)longest_of(d->p->x, d->n) * CHAR;
	bool flat = (longest + CHAR) * (double)d->n < WIDTH - 2 * SIDE;
	double below = flat ? LINE : longest * 0.66 + LINE / 2.0;
	double side = flat ? SIDE : fmax(SIDE, longest * 0.77);
	size_t columns, rows, height;

	for (size_t s = 0; s < d->p->nseries; s++)
		names[s + 1] = d->p->series[s].label;
	columns = (size_t)((WIDTH - SIDE - side) /
		((double)longest_of(names, d->p->nseries + 1) * CHAR + SAMPLE));
	rows = (entries + columns - 1) / columns;
	height = HEIGHT + (rows > KEY_ROWS ? rows - KEY_ROWS : 0) * LINE;
	put_head(d, format, height);
	buf_printf(d->b, "set xrange [-0.5:%zu.5]\nset yrange [%.9g:%.9g]\n"
		   "set lmargin at screen %.4f\nset bmargin at screen %.4f\n"
		   "set key below horizontal Left reverse maxcols %zu\n"
		   "set ylabel ", d->n ? d->n - 1 : 0, d->y.lo, d->y.hi,
		   side / WIDTH, (below + (double)((rows + 1) * LINE)) /
		   (double)height, columns);
	quote(d->b, d->unit.name, LABEL_CHARS, false);
	buf_printf(d->b, "\n%sset xtics %s ",
		   d->log_scale ? "set logscale y\n" : "",
		   flat ? "norotate" : "rotate by 40 right");
	put_labels(d, (d->n + MAX_TICKS - 1) / MAX_TICKS, LABEL_CHARS);
	put_breaks(d);
}

static void put_compare_frame(const struct draft *d, enum plotter_format format)
{
	put_head(d, format, 90 + LINE * (d->n > 6 ? d->n : 6));
	buf_printf(d->b, "set yrange [%zu.5:-0.5]\nset xrange [%.9g:%.9g]\n"
		   "set key below\nset format x \"%%g%%%%\"\n"
		   "set arrow from 0, graph 0 to 0, graph 1 nohead lw 1.5 "
		   "lc rgb \"#7F7F7F\"\nset ytics ",
		   d->n ? d->n - 1 : 0, d->y.lo, d->y.hi);
	put_labels(d, 1, CELL_CHARS);
}

/* --- what is drawn ---------------------------------------------------- */

static void put_series(const struct draft *d, size_t s)
{
	const char *color = colors[s % NCOLORS];

	if (!d->points[s])
		buf_str(d->b, ", keyentry with linespoints");
	else if (d->bars)
		buf_printf(d->b, ", $d%zu using 1:2:3:4 with yerrorlines", s);
	else
		buf_printf(d->b, ", $d%zu using 1:3:4 with filledcurves lc rgb "
			   "\"%s\" fs transparent solid 0.15 noborder notitle"
			   ", $d%zu using 1:2 with linespoints", s, color, s);
	buf_printf(d->b, " lc rgb \"%s\" dt %zu pt %d ps %s title ", color,
		   s / NCOLORS + 1, shapes[s % NSHAPES],
		   d->bars ? "0.7" : "0.3");
	quote(d->b, d->p->series[s].label, LABEL_CHARS, false);
	if (d->apart[s])
		buf_printf(d->b, ", $a%zu using 1:2 with points pt 2 ps %s "
			   "lc rgb \"%s\" notitle", s, d->bars ? "0.9" : "0.5",
			   color);
}

static void put_trend(const struct draft *d)
{
	for (size_t s = 0; s < d->p->nseries; s++)
		put_series(d, s);
	if (d->all_apart)
		buf_str(d->b, ", keyentry with points pt 2 ps 0.9 "
			"lc rgb \"#7F7F7F\" title \"invalid\"");
	if (d->broken)
		buf_str(d->b, ", keyentry with lines lw 1.5 dt 2 "
			"lc rgb \"#7F7F7F\" title \"new epoch\"");
}

int plot_script(const struct plot *plot, enum plotter_format format,
		struct buf *out, struct err *e)
{
	struct draft d = { .p = plot, .b = out, .n = plot->n };
	bool compare = plot->kind == PLOT_COMPARE;
	size_t most;

	if (!plot->nseries || plot->nseries > PLOT_MAX_SERIES)
		return err_set(e, "a picture holds 1 to %d series, got %zu",
			       PLOT_MAX_SERIES, plot->nseries);
	if (compare && d.n > MAX_CELLS)
		d.n = MAX_CELLS;
	most = PLOT_MAX_POINTS / plot->nseries;
	d.columns = d.n > most ? most / 2 : d.n;
	d.bars = d.n <= MAX_BARS && d.n == d.columns;
	d.log_scale = plot->log_scale && !compare;
	d.unit = unit_of(plot);
	d.y = range_of(&d);
	d.broken = d.n && broken(plot, 0, d.n - 1);
	put_data(&d);
	(compare ? put_compare_frame : put_trend_frame)(&d, format);
	/* gnuplot fails where no curve has a point: this one is not seen */
	buf_str(out, "plot $nothing using 1:2 with points pt -2 notitle");
	if (!compare)
		put_trend(&d);
	else if (d.all_points)
		buf_str(out, ", $d0 using 2:1:3:4 with xerrorbars lc rgb "
			"\"#0072B2\" pt 7 ps 0.7 notitle");
	buf_char(out, '\n');
	return buf_ok(out) ? 0 : err_set(e, "no memory for the plot");
}

/* --- the finished SVG ------------------------------------------------- */

static void put_element(struct buf *out, const char *name, const char *text)
{
	struct buf safe = BUF_INIT;

	clean(&safe, text, SIZE_MAX);
	buf_printf(out, "<%s>", name);
	buf_html(out, safe.s ? safe.s : "");
	buf_printf(out, "</%s>\n", name);
	out->failed |= safe.failed;
	buf_free(&safe);
}

/*
 * gnuplot leaves "&#x41;" in a label alone, which would be a character, or no
 * XML at all; and it names each curve "gnuplot_plot_1", which is a tool tip.
 */
static void put_body(struct buf *out, const char *s)
{
	static const char tip[] = "<title>gnuplot_", tip_end[] = "</title>";
	const char *end;

	for (; *s; s++) {
		if (!strncmp(s, tip, strlen(tip)) && (end = strstr(s, tip_end)))
			s = end + strlen(tip_end) - 1;
		else if (s[0] == '&' && s[1] == '#')
			buf_str(out, "&amp;");
		else if ((unsigned char)*s >= ' ' || *s == '\n')
			buf_char(out, *s);
	}
}

static int finish_svg(const struct plot *p, const char *raw, struct buf *out,
		      struct err *e)
{
	const char *svg = strstr(raw, "<svg");
	const char *open = svg ? strchr(svg, '>') : NULL;
	const char *body = open ? strstr(open, "</desc>") : NULL;

	if (!body)
		return err_set(e, "gnuplot's SVG is not of the known form");
	buf_add(out, raw, (size_t)(open - raw));
	buf_str(out, " role=\"img\">\n");
	put_element(out, "title", p->title);
	put_element(out, "desc", p->desc);
	buf_str(out, style);
	put_body(out, body + strlen("</desc>"));
	return buf_ok(out) ? 0 : err_set(e, "no memory for the picture");
}

int plot_render(struct plotter *p, const struct plot *plot,
		enum plotter_format format, struct buf *out, bool *busy,
		struct err *e)
{
	struct buf script = BUF_INIT, raw = BUF_INIT;
	int ret;

	*busy = false;
	ret = plot_script(plot, format, &script, e);
	if (!ret)
		ret = plotter_draw(p, script.s, script.len, format,
				   format == PLOTTER_SVG ? &raw : out, busy, e);
	if (!ret && format == PLOTTER_SVG)
		ret = finish_svg(plot, raw.s, out, e);
	buf_free(&script);
	buf_free(&raw);
	return ret;
}
