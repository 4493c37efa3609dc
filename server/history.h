/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_HISTORY_H
#define SERVER_HISTORY_H
/*
 * The order of kernels on a trend's x axis. Order is derived and never stored
 * in a result: pushes will bring their own; until they come, kernels stand in
 * the order in which their first run was posted. Never by a date that a commit
 * claims, never by the digits of a SHA.
 */

/* One SQL expression over table kernel (alias k) that rises with the order. The
 * only place that knows the order. */
static inline const char *history_order_sql(void)
{
	return "k.id";		/* ids ascend by first arrival */
}

/* The same in words, for the pages. */
static inline const char *history_order_text(void)
{
	return "kernels in the order first posted";
}

#endif
