/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_ERR_H
#define COMMON_ERR_H
/*
 * One reason in a fixed buffer: set where it is known, shown where it is
 * decided. Inner code returns -1 and fills it; outer code prints it once.
 * The text has no trailing newline, starts in lower case, and names the field
 * or file and what was expected.
 */
#include <stdarg.h>
#include <stdio.h>

#define ERR_MAX 512

struct err {
	char msg[ERR_MAX];
};

/* Set the reason (cut at ERR_MAX). @e may be NULL. Always returns -1. */
__attribute__((format(printf, 2, 3)))
static inline int err_set(struct err *e, const char *fmt, ...)
{
	if (e) {
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
		va_end(ap);
	}
	return -1;
}

#endif
