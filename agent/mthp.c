/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads and sets the THP controls.
 *
 * A size's own control wins over the top-level one unless it says "inherit".
 * That is the trap: 64kB=madvise with 2048kB=inherit and the top at madvise
 * gives 2 MB folios. So every size is looked at as it takes effect.
 */
#include "mthp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/record.h"
#include "../common/size.h"
#include "dev.h"
#include "settings.h"

#define PATH_MAX_THP	128

static const char *const WORDS[] = { "always", "inherit", "madvise", "never" };

/* --- what the kernel has ------------------------------------------------ */

static void size_file(uint64_t bytes, const char *name, char path[PATH_MAX_THP])
{
	snprintf(path, PATH_MAX_THP, THP "/hugepages-%llukB/%s",
		 (unsigned long long)bytes >> 10, name);
}

/* The file that rules one size; before 6.8 that is the top-level one. */
static void control(uint64_t bytes, char path[PATH_MAX_THP])
{
	size_file(bytes, "enabled", path);
	if (!dev_exists(path))
		snprintf(path, PATH_MAX_THP, THP "/enabled");
}

static int by_bytes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int mthp_probe(struct mthp *m, struct err *e)
{
	char text[64], path[PATH_MAX_THP];
	struct dirent **list;
	unsigned long long kb;
	int n;

	memset(m, 0, sizeof(*m));
	m->base_bytes = dev_page_bytes();
	if (dev_read(THP "/hpage_pmd_size", text, sizeof(text)) < 0)
		return 0;
	m->pmd_bytes = strtoull(text, NULL, 10);
	n = dev_list(THP, &list);
	for (int i = 0; i < n && m->n < MTHP_MAX; i++) {
		if (sscanf(list[i]->d_name, "hugepages-%llukB", &kb) != 1)
			continue;
		size_file(kb << 10, "enabled", path);
		if (dev_exists(path))
			m->bytes[m->n++] = kb << 10;
	}
	dev_list_free(list, n);
	if (!m->n)
		m->bytes[m->n++] = m->pmd_bytes;
	qsort(m->bytes, m->n, sizeof(m->bytes[0]), by_bytes);
	if (m->pmd_bytes <= m->base_bytes || m->bytes[m->n - 1] != m->pmd_bytes)
		return err_set(e, THP "/hpage_pmd_size: expected the largest of "
			       "hugepages-*kB, got \"%s\"", text);
	return 0;
}

int64_t mthp_fault_alloc(uint64_t folio_bytes)
{
	char path[PATH_MAX_THP], text[32];

	size_file(folio_bytes, "stats/anon_fault_alloc", path);
	if (dev_read(path, text, sizeof(text)) < 0)
		return RECORD_NULL;
	return strtoll(text, NULL, 10);
}

/* --- one control -------------------------------------------------------- */

/* Does advised memory get this size now? 1, 0, or -1 with @e. */
static int active(uint64_t bytes, struct err *e)
{
	char path[PATH_MAX_THP], word[SETTINGS_VALUE];

	control(bytes, path);
	if (settings_get(path, word, e) ||
	    (!strcmp(word, "inherit") && settings_get(THP "/enabled", word, e)))
		return -1;
	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
		if (!strcmp(word, WORDS[i]))
			return strcmp(word, "never") != 0;
	return err_set(e, "%s: expected one of always, inherit, madvise, never "
		       "in brackets, got \"%s\"", path, word);
}

/* Is @folio_bytes the one active size already? 1, 0, or -1 with @e. */
static int is_set(const struct mthp *m, uint64_t folio_bytes, struct err *e)
{
	for (size_t i = 0; i < m->n; i++) {
		int on = active(m->bytes[i], e);

		if (on < 0 || on != (m->bytes[i] == folio_bytes))
			return on < 0 ? -1 : 0;
	}
	return 1;
}

int mthp_settable(const struct mthp *m, struct err *e)
{
	char path[PATH_MAX_THP];
	int fd;

	if (!m->n)
		return err_set(e, "this kernel has no transparent huge pages");
	if (!dev_state_dir())
		return err_set(e, "not root: cannot set folio sizes");
	control(m->bytes[0], path);
	fd = dev_open(path, O_WRONLY);
	if (fd < 0)
		return err_set(e, "cannot set folio sizes: %s: %s", path,
			       strerror(errno));
	close(fd);
	return 0;
}

int mthp_set(const struct mthp *m, uint64_t folio_bytes, struct err *e)
{
	int now = is_set(m, folio_bytes, e);
	char path[PATH_MAX_THP];

	if (now)
		return now < 0 ? -1 : 0;
	if (mthp_settable(m, e))
		return 1;
	for (size_t i = 0; i < m->n; i++) {
		control(m->bytes[i], path);
		if (m->bytes[i] != folio_bytes &&
		    settings_set(SETTINGS_RUN, path, "never", e) < 0)
			return -1;
	}
	if (folio_bytes == m->base_bytes)
		return 0;
	control(folio_bytes, path);
	return settings_set(SETTINGS_RUN, path, "madvise", e) < 0 ? -1 : 0;
}
