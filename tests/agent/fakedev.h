/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_AGENT_FAKEDEV_H
#define TESTS_AGENT_FAKEDEV_H
/*
 * The fake kernel: a tree of files under MMTREND_FAKE_ROOT (sys/, proc/,
 * run/) that answers as a kernel would, and lies as MMTREND_FAKE_LIE (names
 * from the table in fakedev.c, joined by commas) tells it. MMTREND_FAKE_PAGE is
 * its base page in bytes. Without a root it has no files at all.
 */
#include <stddef.h>

/* Make a new tree (what was there goes) with this base page's folio sizes (the
 * largest "inherit", the others "never", the top "madvise"), the proof files
 * and counters; point the fake kernel at it. */
void fake_tree(const char *dir, size_t base_page_bytes);
/* Replace or create one file of the tree. NULL text: remove it. */
void fake_file(const char *path, const char *text);
/* Switch lies; NULL or "": the truth. */
void fake_lie(const char *names);

#endif
