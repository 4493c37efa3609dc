/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_SPOOL_H
#define AGENT_SPOOL_H
/*
 * Runs that wait on disk until the server has them: DIR/<uuid>.json. Written
 * beside, fsync'd, renamed in, the directory fsync'd; deleted only after a
 * 2xx; what the server refuses for good moves to DIR/dead/ with its answer.
 * DIR: MMTREND_SPOOL, else /var/lib/mmtrend/spool (created 0700).
 */
#include <limits.h>

#include "../common/err.h"
#include "../common/record.h"

const char *spool_dir(void);
int spool_add(const struct record *r, char path[PATH_MAX], struct err *e);
/* The oldest waiting file after @after (NULL: the first), into @path. 1: one
 * found, 0: none left, -1: error. */
int spool_next(const char *after, char path[PATH_MAX], struct err *e);
int spool_drop(const char *path, struct err *e);
/* To dead/, with the answer beside it in <uuid>.why. */
int spool_bury(const char *path, const char *answer, struct err *e);

#endif
