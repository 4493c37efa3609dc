/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any text and any numbers -> a script in which nothing is a command but ours.
 * The checker knows every line that a script may hold: data blocks hold
 * figures, strings hold octal escapes or one of our own words.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/plot.h"

#define MAX_POINTS 300

static const char *const commands[] = {
	"set terminal svg size ", "set terminal pngcairo size ",
	"set encoding utf8", "set termoption noenhanced", "set title \"",
	"set grid lc rgb ", "set tics nomirror ", "set border 3",
	"set errorbars 0.6", "set label \"no figures\" at graph 0.5,0.5 center",
	"set xrange [", "set yrange [", "set lmargin at screen ",
	"set bmargin at screen ", "set key below", "set ylabel \"",
	"set logscale y", "set xtics norotate (",
	"set xtics rotate by 40 right (",
	"set ytics (", "set format x ", "set arrow from ",
	"plot $nothing ",
};

static const char *const words[] = {
	"sans-serif,12", "sans-serif,9", "#ffffff", "#e0e0e0", "#0072B2",
	"#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B",
	"#A0A000", "#7F7F7F", "no figures", "invalid", "new epoch", "%g%%",
};

/* The characters of a string: \ooo only, or words of our own. */
static void check_string(const char *s, size_t len)
{
	size_t i = 0;

	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
		if (strlen(words[w]) == len && !memcmp(words[w], s, len))
			return;
	if (len > 8 && !memcmp(s, " (first ", 8))
		return;
	for (; i + 4 <= len; i += 4)
		if (s[i] != '\\' || strspn(s + i + 1, "01234567") < 3)
			abort();
	if (i != len)
		abort();
}

static void check_command(const char *line, size_t len)
{
	bool known = false;

	for (size_t c = 0; c < sizeof(commands) / sizeof(*commands); c++)
		known |= !strncmp(line, commands[c], strlen(commands[c]));
	if (!known)
		abort();
	for (size_t i = 0; i < len; i++) {
		const char *end;

		if (strchr("`'@!|<;\\{}&?", line[i]))
			abort();
		if (line[i] != '"')
			continue;
		end = memchr(line + i + 1, '"', len - i - 1);
		if (!end)
			abort();
		check_string(line + i + 1, (size_t)(end - line) - i - 1);
		i = (size_t)(end - line);
	}
}

static void check_figures(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)line[i]) &&
		    !strchr(" .+-e", line[i]))
			abort();
}

static void check(const char *s)
{
	bool data = false;

	for (size_t len; *s; s += len + 1) {
		len = strcspn(s, "\n");
		if (s[len] != '\n')
			abort();
		if (data && len == 3 && !memcmp(s, "EOD", 3))
			data = false;
		else if (data)
			check_figures(s, len);
		else if (*s == '$' && len > 7 &&
			 !memcmp(s + len - 7, " << EOD", 7) &&
			 strcspn(s + 1, " ") == len - 8)
			data = true;
		else
			check_command(s, len);
	}
	if (data)
		abort();
}

/* --- a plot out of bytes ---------------------------------------------- */

static const uint8_t *next;
static size_t left;

static unsigned take(void)
{
	if (!left)
		return 0;
	left--;
	return *next++;
}

/* Few bytes reach all of INT64: a byte of size, then as many of value. */
static int64_t take_number(void)
{
	unsigned bytes = take() % 9;
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | take();
	return (int64_t)(bytes == 8 ? v : v << 1 >> 1);
}

/* In memory of its own, so that a byte read past its end is seen. */
static char *take_text(void)
{
	size_t len = take();
	char *s = calloc(1, len + 1);

	for (size_t i = 0; s && i < len && left; i++)
		s[i] = (char)take();
	return s;
}

static int64_t value[PLOT_MAX_SERIES][MAX_POINTS];
static int64_t spread[PLOT_MAX_SERIES][MAX_POINTS];
static unsigned char apart[PLOT_MAX_SERIES][MAX_POINTS], breaks[MAX_POINTS];

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text[2 + PLOT_MAX_SERIES + MAX_POINTS], **end = text;
	struct plot_series series[PLOT_MAX_SERIES];
	struct plot p = { .breaks = breaks, .series = series };
	struct buf out = BUF_INIT;
	struct err e;
	unsigned kind;

	next = bytes;
	left = size;
	kind = take();
	p.kind = kind & 1 ? PLOT_COMPARE : PLOT_TREND;
	p.log_scale = kind & 2;
	p.title = *end++ = take_text();
	p.unit = *end++ = take_text();
	p.n = take() + (kind & 4 ? MAX_POINTS - 255 : 0);
	p.nseries = take() % (PLOT_MAX_SERIES + 1);
	p.x = (const char *const *)end;
	for (size_t i = 0; i < p.n; i++) {
		*end++ = take_text();
		breaks[i] = take() & 1;
	}
	for (size_t s = 0; s < p.nseries; s++) {
		for (size_t i = 0; i < p.n; i++) {
			value[s][i] = take_number();
			spread[s][i] = take_number();
			apart[s][i] = take() & 1;
		}
		*end = take_text();
		series[s] = (struct plot_series){ *end++, value[s], spread[s],
						  apart[s] };
	}
	if (!plot_script(&p, kind & 8 ? PLOTTER_PNG : PLOTTER_SVG, &out, &e))
		check(out.s);
	buf_free(&out);
	while (end > text)
		free(*--end);
	return 0;
}
