/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_PLOTTER_H
#define SERVER_PLOTTER_H
/*
 * The process forked before any thread, lock or database; it alone starts
 * gnuplots, each in a jail (jail.h). One gnuplot draws one picture and ends;
 * the next one is started ahead of its work. A picture is accepted only if
 * stderr is empty, it begins as its format must and ends as its format must.
 */
#include <stdbool.h>
#include <stddef.h>

#include "../common/buf.h"
#include "../common/err.h"

#define PLOTTER_QUEUE		16	/* pictures waiting; more: busy */
#define PLOTTER_MAX_SCRIPT	(4u << 20)
#define PLOTTER_MAX_PICTURE	(16u << 20)

enum plotter_format { PLOTTER_SVG, PLOTTER_PNG };

struct plotter;

/* A picture's time, then SIGKILL: 10. Read by plotter_start(); a test that
 * waits for it sets less before. */
extern int plotter_time_s;

/* Fork it. Call first thing in main(), before threads. @jail: what it could
 * confine itself with, for the log, and what is missing; without Landlock or
 * seccomp it is an error unless @allow_unjailed. gnuplot is looked for in PATH
 * now; if it is absent, each drawing says so. */
struct plotter *plotter_start(bool allow_unjailed, char jail[160],
			      struct err *e);

/* Draw one of each format with text in it: fonts, jail and gnuplot work. */
int plotter_self_test(struct plotter *p, struct err *e);

/* Any thread; one picture is drawn at a time. The picture is appended to @out.
 * -1 with @e (one line, from gnuplot's stderr where it spoke) and @out as it
 * was; @busy: the queue is full. @script draws on stdout. */
int plotter_draw(struct plotter *p, const char *script, size_t len,
		 enum plotter_format f, struct buf *out, bool *busy,
		 struct err *e);

void plotter_stop(struct plotter *p);

#endif
