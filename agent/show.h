/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_SHOW_H
#define AGENT_SHOW_H
/* The whole truth of a run on a terminal: `mmtrend show FILE`. */
#include "../common/record.h"

/* The table that ends `run` and heads `show`: one row a cell and metric, with
 * value, spread, n, proof and status. */
void show_table(const struct record *r, struct buf *out);
/* All of it: machine, kernel, quietness, table, launches, reasons, unread. */
void show_record(const struct record *r, struct buf *out);

#endif
