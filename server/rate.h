/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_RATE_H
#define SERVER_RATE_H
/*
 * A token bucket per caller in a table of fixed size; the caller who was quiet
 * longest gives up his place. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

/* May the caller @key do one thing more? @per_s 0: always. */
bool rate_take(uint64_t key, unsigned per_s, unsigned burst, int64_t now_ns);
/* It cost nothing after all. */
void rate_give_back(uint64_t key, unsigned per_s, unsigned burst);

#endif
