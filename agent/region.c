/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps memory for a benchmark and counts what folios it really is in. */
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/record.h"
#include "../common/size.h"
#include "dev.h"

/* include/uapi/linux/kernel-page-flags.h, Documentation/mm/pagemap.rst */
#define KPF_HEAD	(1ull << 15)
#define KPF_TAIL	(1ull << 16)
#define KPF_THP		(1ull << 22)
#define PAGEMAP_PRESENT	(1ull << 63)
#define PAGEMAP_PFN	((1ull << 55) - 1)

/* --- proof by pagemap: page by page, for this very process -------------- */

/* Flags of @n pages; one that does not exist has none. */
static bool read_flags(int fd, uint64_t pfn, uint64_t *flags, uint64_t n)
{
	memset(flags, 0, n * sizeof(*flags));
	return dev_pread(fd, flags, n * sizeof(*flags),
			 (off_t)(pfn * sizeof(*flags))) > 0;
}

/* Are these @n pages one whole folio of @n pages? @flag has room for one more:
 * it shows where the folio ends. */
static bool is_folio(int fd, const uint64_t *entry, uint64_t n, uint64_t *flag)
{
	uint64_t pfn = entry[0] & PAGEMAP_PFN;

	if (pfn % n || !read_flags(fd, pfn, flag, n + 1) ||
	    (n == 1 && flag[0] & (KPF_HEAD | KPF_TAIL | KPF_THP)) ||
	    (n > 1 && (!(flag[0] & KPF_HEAD) || flag[n] & KPF_TAIL)))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!(entry[i] & PAGEMAP_PRESENT) ||
		    (entry[i] & PAGEMAP_PFN) != pfn + i ||
		    (i && !(flag[i] & KPF_TAIL)))
			return false;
	return true;
}

/* How many folios begin in these @n pages. */
static int64_t count_folios(int fd, const uint64_t *entry, uint64_t n)
{
	int64_t count = 0;
	uint64_t flag;

	for (uint64_t i = 0; i < n; i++)
		count += entry[i] & PAGEMAP_PRESENT &&
			 read_flags(fd, entry[i] & PAGEMAP_PFN, &flag, 1) &&
			 !(flag & KPF_TAIL);
	return count;
}

/* Fill folios and other_folios. -1: the files cannot be read by this user. */
static int prove_pagemap(struct region *r, size_t base)
{
	uint64_t n = r->folio_bytes / base, pages = r->len / base;
	uint64_t *flags = malloc((n + 1) * sizeof(*flags));
	uint64_t *map = malloc(pages * sizeof(*map));
	int map_fd = dev_open("/proc/self/pagemap", O_RDONLY), ret = -1;
	int fd = dev_open("/proc/kpageflags", O_RDONLY);
	ssize_t len = (ssize_t)(pages * sizeof(*map));

	if (!map || !flags || map_fd < 0 || fd < 0 ||
	    dev_pread(map_fd, map, (size_t)len,
		      (off_t)((size_t)r->addr / base * sizeof(*map))) != len ||
	    !(map[0] & PAGEMAP_PFN))
		goto out;
	r->folios = r->other_folios = 0;
	for (uint64_t i = 0; i < pages; i += n)
		if (is_folio(fd, map + i, n, flags))
			r->folios++;
		else
			r->other_folios += count_folios(fd, map + i, n);
	ret = 0;
out:
	free(map);
	free(flags);
	if (map_fd >= 0)
		close(map_fd);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* --- proof by counters: for the whole system ---------------------------- */

struct count {
	int64_t wanted, other;	/* null: no counters, or none of the base page */
};

static struct count count_now(const struct mthp *m, uint64_t folio_bytes)
{
	struct count c = { RECORD_NULL, 0 };

	for (size_t i = 0; i < m->n; i++) {
		int64_t v = mthp_fault_alloc(m->bytes[i]);

		if (v == RECORD_NULL)
			return (struct count){ RECORD_NULL, RECORD_NULL };
		if (m->bytes[i] == folio_bytes)
			c.wanted = v;
		else
			c.other += v;
	}
	return c;
}

static int64_t grown(int64_t before, int64_t after)
{
	return before == RECORD_NULL || after == RECORD_NULL ? RECORD_NULL :
	       after - before;
}

/* --- judgement ---------------------------------------------------------- */

static void say_wrong(struct region *r, int64_t want)
{
	char size[SIZE_TEXT];

	size_text(r->folio_bytes, size);
	if (r->other_folios == RECORD_NULL)
		snprintf(r->wrong, sizeof(r->wrong),
			 "folio size not proven: no anon_fault_alloc counters, "
			 "and /proc/kpageflags not readable");
	else if (r->folios == RECORD_NULL)
		snprintf(r->wrong, sizeof(r->wrong),
			 "%lld folios larger than a base page were allocated "
			 "meanwhile",
			 (long long)r->other_folios);
	else
		snprintf(r->wrong, sizeof(r->wrong),
			 "%lld of %lld folios of %s, and %lld of other sizes",
			 (long long)r->folios, (long long)want, size,
			 (long long)r->other_folios);
}

/* Other processes move the counters as well: where the pagemap could be read,
 * it decides, and the counters are named as proof if they agree. */
static void prove(struct region *r, const struct mthp *m, struct count was)
{
	int64_t want = (int64_t)(r->len / r->folio_bytes);
	struct count now = count_now(m, r->folio_bytes);
	bool base = r->folio_bytes == m->base_bytes, counted;

	r->folios = grown(was.wanted, now.wanted);
	r->other_folios = grown(was.other, now.other);
	counted = !r->other_folios && (base || r->folios == want);
	if (!prove_pagemap(r, m->base_bytes))
		r->proved = r->folios != want || r->other_folios ? NULL :
			    counted ? "counter+pagemap" : "pagemap";
	else
		r->proved = counted ? "counter" : NULL;
	if (!r->proved)
		say_wrong(r, want);
}

int region_map(struct region *r, const struct mthp *m, uint64_t folio_bytes,
	       size_t len, struct err *e)
{
	size_t align = m->pmd_bytes ? m->pmd_bytes : m->base_bytes;
	int advice = folio_bytes == m->base_bytes ? MADV_NOHUGEPAGE :
						    MADV_HUGEPAGE;
	struct count was;

	*r = (struct region){ .len = len, .folio_bytes = folio_bytes,
			      .map_len = len + align };
	r->map = mmap(NULL, r->map_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->map == MAP_FAILED) {
		r->map = NULL;
		return err_set(e, "mmap of %zu bytes: %s", r->map_len,
			       strerror(errno));
	}
	r->addr = (unsigned char *)r->map +
		  (align - (size_t)r->map % align) % align;
	if (m->pmd_bytes && dev_madvise(r->addr, len, advice)) {
		err_set(e, "madvise of the region: %s", strerror(errno));
		region_unmap(r);
		return -1;
	}
	was = count_now(m, folio_bytes);
	dev_touch(r->addr, len, m->base_bytes);
	prove(r, m, was);
	return 0;
}

void region_unmap(struct region *r)
{
	if (r->map)
		munmap(r->map, r->map_len);
	r->map = NULL;
}
