/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Token buckets, counted in nanoseconds: a caller may spend @burst turns and
 * gets one back each 1/@per_s seconds.
 */
#include <pthread.h>
#include <stddef.h>

#include "rate.h"

#define SETS	256
#define WAYS	4
#define SECOND	1000000000ll

struct bucket {
	uint64_t key;		/* 0: free */
	int64_t credit_ns, seen_ns;
};

static struct bucket table[SETS][WAYS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct bucket *find(uint64_t key, int64_t full_ns, int64_t now_ns)
{
	struct bucket *set = table[(key * 0x9e3779b97f4a7c15ull) >> 56];
	struct bucket *oldest = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (!set[i].key || (oldest->key &&
				    set[i].seen_ns < oldest->seen_ns))
			oldest = &set[i];
	}
	*oldest = (struct bucket){ key, full_ns, now_ns };
	return oldest;
}

bool rate_take(uint64_t key, unsigned per_s, unsigned burst, int64_t now_ns)
{
	int64_t turn_ns, full_ns;
	struct bucket *b;
	bool may;

	if (!per_s)
		return true;
	turn_ns = SECOND / per_s;
	full_ns = turn_ns * (burst ? burst : 1);
	pthread_mutex_lock(&lock);
	b = find(key, full_ns, now_ns);
	if (now_ns > b->seen_ns)
		b->credit_ns += now_ns - b->seen_ns;
	if (b->credit_ns > full_ns)
		b->credit_ns = full_ns;
	b->seen_ns = now_ns;
	may = b->credit_ns >= turn_ns;
	if (may)
		b->credit_ns -= turn_ns;
	pthread_mutex_unlock(&lock);
	return may;
}

void rate_give_back(uint64_t key, unsigned per_s, unsigned burst)
{
	int64_t turn_ns, full_ns;
	struct bucket *b;

	if (!per_s)
		return;
	turn_ns = SECOND / per_s;
	full_ns = turn_ns * (burst ? burst : 1);
	pthread_mutex_lock(&lock);
	b = find(key, full_ns, 0);
	b->credit_ns += turn_ns;
	if (b->credit_ns > full_ns)
		b->credit_ns = full_ns;
	pthread_mutex_unlock(&lock);
}
