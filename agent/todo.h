/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_TODO_H
#define AGENT_TODO_H
/*
 * What a server would have this host measure next (its /todo/HOST.json). Of it
 * only commits, names of benchmarks and sizes are read, each against what is
 * here; nothing of it is ever run, opened or shown as it came.
 */
#include "../common/buf.h"
#include "../common/record.h"
#include "mthp.h"

#define TODO_MAX_BODY	(2u << 20)	/* 7 trees, nothing of them measured */
#define TODO_SHA	41

struct todo {			/* start with { 0 }, end with todo_free() */
	struct buf bench, size;	/* as --bench and --size have them; no bench:
				 * nothing to do */
	char commit[TODO_SHA];	/* of the running kernel, in full */
	char next[TODO_SHA];	/* the first of another kernel; "": none */
	struct buf left_out;	/* lines: what this agent or kernel lacks */
};

/* Where a server has it. -1 with @e: the label is none. */
int todo_path(const char *label, struct buf *path, struct err *e);

/*
 * What there is to do for the kernel of @here, which host_fill() filled; @m is
 * what it offers. Benchmarks that lack any size are taken at each size that one
 * of them lacks. -1 with @e: it is no such list.
 */
int todo_read(const struct buf *json, const struct record *here,
	      const struct mthp *m, struct todo *t, struct err *e);

/* Why there is nothing to do. */
void todo_nothing(const struct todo *t, const struct record *here, struct err *e);

void todo_free(struct todo *t);

#endif
