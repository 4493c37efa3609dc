/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_RATE_H
#define SERVER_RATE_H
/*
 * A token bucket per caller in a table of fixed size; a newcomer takes the place
 * of whoever hashes to the same. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

/* May the caller @key take @turns more, of @burst, of which @per_s come back a
 * second? -1 gives one back. @per_s 0: always. */
bool rate_take(uint64_t key, int turns, unsigned per_s, unsigned burst,
	       int64_t now_ns);

#endif
