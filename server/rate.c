/* SPDX-License-Identifier: GPL-2.0-only */
/* Token buckets, counted in nanoseconds: a turn costs 1/@per_s seconds. */
#include <pthread.h>

#include "rate.h"

#define SLOTS	4096
#define SECOND	1000000000ll

static struct bucket {
	uint64_t key;
	int64_t credit_ns, seen_ns;
} table[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool rate_take(uint64_t key, int turns, unsigned per_s, unsigned burst,
	       int64_t now_ns)
{
	int64_t full_ns, cost_ns;
	struct bucket *b;
	bool may;

	if (!per_s)
		return true;
	full_ns = SECOND / per_s * burst;
	cost_ns = SECOND / per_s * turns;
	pthread_mutex_lock(&lock);
	b = &table[(key * 0x9e3779b97f4a7c15ull) >> 52];
	if (b->key != key)
		*b = (struct bucket){ key, full_ns, now_ns };
	if (now_ns > b->seen_ns)
		b->credit_ns += now_ns - b->seen_ns;
	b->seen_ns = now_ns;
	if (b->credit_ns > full_ns)
		b->credit_ns = full_ns;
	may = b->credit_ns >= cost_ns;
	if (may)
		b->credit_ns -= cost_ns;
	pthread_mutex_unlock(&lock);
	return may;
}
