/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_PLOT_H
#define SERVER_PLOT_H
/*
 * A view -> a gnuplot script -> a picture. Scripts come from fixed templates;
 * numbers only enter through data blocks, text only as octal-escaped ASCII. Values are
 * divided into a readable unit here (report.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/buf.h"
#include "../common/err.h"
#include "plotter.h"

#define PLOT_MAX_SERIES	32
#define PLOT_MAX_POINTS	2000	/* drawn, of all series; more are thinned to the
				 * smallest and the largest of each column */

struct plot_series {
	const char *label;		/* "64k" */
	const int64_t *value;		/* n; RECORD_NULL: a gap */
	const int64_t *spread;		/* n; half width of band or bar */
	const unsigned char *apart;	/* n; 1: invalid, drawn apart, in a
					 * TREND; may be NULL */
};

/*
 * PLOT_COMPARE: one series, value = change in hundredths of a percent, spread
 * in the same unit; n cells, one below the other, the first 100 are drawn.
 */
struct plot {
	enum { PLOT_TREND, PLOT_COMPARE } kind;
	const char *title;	/* host, benchmark, metric, unit, direction */
	const char *desc;	/* the accessible description */
	const char *unit;	/* of the values: "ns", "insns" */
	bool log_scale;
	size_t n;		/* points of each series */
	const char *const *x;	/* n labels: short SHA or key (TREND), cell */
	const unsigned char *breaks;	/* n; 1: an epoch starts at this point:
					 * a mark, and no line crosses it; may
					 * be NULL */
	size_t nseries;
	const struct plot_series *series;
};

/* -1 with @e, and @busy set if the queue is full (503, Retry-After). */
int plot_render(struct plotter *p, const struct plot *plot,
		enum plotter_format format, struct buf *out, bool *busy,
		struct err *e);

/* The script alone; what the tests and the fuzzer look at. */
int plot_script(const struct plot *plot, enum plotter_format format,
		struct buf *out, struct err *e);

#endif
