/* SPDX-License-Identifier: GPL-2.0-only */
/* The order of kernels: for now, that of their first runs' arrival. */
#include "history.h"

const char *history_order_sql(void)
{
	return "k.id";	/* ids ascend by first arrival */
}

const char *history_order_text(void)
{
	return "kernels in the order first posted";
}
