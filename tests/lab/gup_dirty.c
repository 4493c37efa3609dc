/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A GUP call to write makes the folio dirty wherever it finds a clean PTE, for
 * nothing else will tell that the page was written; and a dirty PTE reaches the
 * folio when it is unmapped. Whichever PTEs are dirty, and wherever in the
 * folio the call begins and ends. Shown of shared memory, the PTEs of which
 * are writable before they are dirty, in folios too small for arm64's contpte,
 * which keeps one dirty bit for 16 PTEs.
 */
#include "gup.h"

#define PAGES	8U			/* of the folio */
#define KB	32U
#define MASK(first, pages) (((1U << (pages)) - 1) << (first))

/* One folio, PTEs @dirty (a bit each) dirty, the others and the folio not. */
static char *make(unsigned int dirty)
{
	char *m = gup_map(PAGES * PAGE, MAP_SHARED);

	if (madvise(m, PAGES * PAGE, MADV_POPULATE_READ))
		gup_stop(false, "populate: %s", strerror(errno));
	if (!gup_is_folio(m, PAGES) || gup_dirty(gup_pfn(m)))
		gup_stop(false, "no clean folio of shared memory");
	for (unsigned int i = 0; i < PAGES; i++) {
		if (dirty >> i & 1)
			*(volatile char *)(m + i * PAGE) = 1;
	}
	if (gup_dirty(gup_pfn(m)))
		gup_stop(false, "a store alone made the folio dirty");
	return m;
}

enum how { BY_GET, BY_POPULATE, BY_READ, NHOW };
static const char *const HOW[] = {
	"get_user_pages", "MADV_POPULATE_WRITE", "get_user_pages to read",
};

static void call(enum how how, char *at, unsigned int pages)
{
	if (how != BY_POPULATE)
		gup_call(GET, how == BY_GET ? FOLL_WRITE : 0, at, pages, pages);
	else if (madvise(at, pages * PAGE, MADV_POPULATE_WRITE))
		gup_stop(false, "populate: %s", strerror(errno));
}

/* The folio, once these PTEs were unmapped; another mapping keeps it. */
static bool dirty_when_unmapped(char *m)
{
	char *other = mremap(m, 0, PAGES * PAGE, MREMAP_MAYMOVE);
	uint64_t pfn = gup_pfn(m);
	bool dirty;

	if (other == MAP_FAILED)
		gup_stop(false, "mremap: %s", strerror(errno));
	munmap(m, PAGES * PAGE);
	dirty = gup_dirty(pfn);
	munmap(other, PAGES * PAGE);
	return dirty;
}

/* Every subset of dirty PTEs, one check a range. */
static void check(enum how how, unsigned int first, unsigned int pages)
{
	unsigned int range = MASK(first, pages), wrong = 0;

	for (unsigned int dirty = 0; dirty < 1U << PAGES; dirty++) {
		char *m = make(dirty);
		bool marked = how != BY_READ && (dirty & range) != range;
		bool now, then;

		call(how, m + first * PAGE, pages);
		now = gup_dirty(gup_pfn(m));
		then = dirty_when_unmapped(m);
		if (now == marked && then == (marked || dirty))
			continue;
		wrong++;
		printf("# PTEs dirty 0x%02x: folio %s at once, %s unmapped\n",
		       dirty, now ? "dirty" : "clean",
		       then ? "dirty" : "clean");
	}
	ok(!wrong, "%s, pages %u to %u of a folio of %u, every set of dirty "
	   "PTEs", HOW[how], first, first + pages - 1, PAGES);
}

int main(void)
{
	static const struct { unsigned int first, pages; } RANGES[] = {
		{ 0, PAGES }, { 0, 3 }, { 5, 3 }, { 2, 5 }, { 4, 1 },
	};

	gup_open();
	gup_only_size("shmem_enabled", KB);
	for (enum how how = 0; how < NHOW; how++) {
		for (size_t i = 0; i < sizeof(RANGES) / sizeof(RANGES[0]); i++)
			check(how, RANGES[i].first, RANGES[i].pages);
	}
	return tap_done();
}
