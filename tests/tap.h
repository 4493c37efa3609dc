/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H
/*
 * TAP for C tests, run under prove. Each check names what it guards:
 *     ok(cond, "a region that is half unmapped is no figure");
 * End main() with `return tap_done();`.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3)))
static inline bool ok(bool pass, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	tap_failed += !pass;
	fflush(stdout);
	return pass;
}

/* Strings equal; on failure both are shown. NULL equals only NULL. */
static inline bool is(const char *got, const char *want, const char *what)
{
	bool same = got && want ? !strcmp(got, want) : got == want;

	if (!ok(same, "%s", what))
		printf("# got:  %s\n# want: %s\n", got ? got : "(null)",
		       want ? want : "(null)");
	return same;
}

static inline bool is_i(long long got, long long want, const char *what)
{
	if (!ok(got == want, "%s", what)) {
		printf("# got:  %lld\n# want: %lld\n", got, want);
		return false;
	}
	return true;
}

/* @why: the exact reason; a skip without one does not exist. */
static inline void skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

#endif
