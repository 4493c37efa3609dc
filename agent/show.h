/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_SHOW_H
#define AGENT_SHOW_H
/* The whole truth of a run on a terminal: `mmtrend show FILE`. */
#include "../common/record.h"
#include "../common/size.h"

/* The table that ends `run` and heads `show`: one row a cell and metric, with
 * value, spread, n, proof and status. */
void show_table(const struct record *r, struct buf *out);
/* All of it: machine, kernel, quietness, table, launches, reasons, unread. */
void show_record(const struct record *r, struct buf *out);

/* Parts of it: "mincore (rev 1): memory_bytes=256m", @what it is (or NULL), what
 * is the same; a folio size as a row's label; are the metric's operations the
 * base pages of the memory? */
void show_bench(const struct record_bench *b, const char *what,
		struct buf *out);
const char *show_size(const struct record *r, int64_t bytes,
		      char out[SIZE_TEXT]);
bool show_pages(const struct record *r, const struct record_bench *b,
		const struct record_metric *m);

#endif
