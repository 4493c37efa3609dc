/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_ROUTE_REFUSE_H
#define SERVER_ROUTE_REFUSE_H
/* Shared by the handlers that write or fetch what the store keeps. */
#include "../route.h"
#include "../store.h"

/* Answer what is neither STORE_NEW nor STORE_SAME. An internal reason goes to
 * the log only. In runs.c. */
void refuse(const struct request *q, struct response *r, enum store_answer a,
	    const struct err *e);

#endif
