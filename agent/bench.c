/* SPDX-License-Identifier: GPL-2.0-only */
/* The registry of benchmarks, made from benches.def. */
#include "bench.h"

#include <errno.h>
#include <string.h>

#include "dev.h"

#define STAT_REFRESH	"/proc/sys/vm/stat_refresh"
#define PINS		"nr_foll_pin_acquired"

#define BENCH(b) extern const struct bench b;
#include "benches.def"
#undef BENCH

#define BENCH(b) &(b),
const struct bench *const bench_all[] = {
#include "benches.def"
};
#undef BENCH
const size_t bench_count = sizeof(bench_all) / sizeof(bench_all[0]);

const struct bench *bench_match(const char *name, size_t i)
{
	size_t n = strlen(name);

	for (size_t b = 0; b < bench_count; b++) {
		const char *full = bench_all[b]->name;

		if (!strncmp(full, name, n) && (!full[n] || full[n] == '.') && !i--)
			return bench_all[b];
	}
	return NULL;
}

size_t bench_nmetrics(const struct bench *b, const struct bench_params *p)
{
	return b->metrics_used ? b->metrics_used(p) : b->nmetrics;
}

int64_t bench_ops(const struct bench *b, const struct bench_params *p,
		  const struct mthp *m)
{
	return b->ops ? b->ops(p) : (int64_t)(p->memory_bytes / m->base_bytes);
}

int64_t bench_pins(void)
{
	return dev_vmstat(PINS);
}

int bench_counts_pins(struct err *e)
{
	if (dev_write(STAT_REFRESH, "1"))
		return err_set(e, STAT_REFRESH ": %s: pins cannot be counted "
			       "exactly; run as root", strerror(errno));
	if (bench_pins() == RECORD_NULL)
		return err_set(e, "no " PINS " in /proc/vmstat: pins cannot be "
			       "counted; needs Linux 5.7 or newer");
	return 0;
}
