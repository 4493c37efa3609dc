/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_CHECK_H
#define AGENT_CHECK_H
/*
 * `mmtrend check`: before anything is measured, which benchmarks can run here
 * and what the others lack, and what makes this machine noisy, with the fix.
 * With @tune, what can be undone is set; it stays until `mmtrend undo`.
 */
#include <stdbool.h>

#include "../common/buf.h"
#include "../common/err.h"

/* Returns how many benchmarks can run, or -1 with @e (no lock, no memory). */
int check_host(bool tune, struct buf *out, struct err *e);

#endif
