/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_MIGRATE_H
#define SERVER_MIGRATE_H
/*
 * Bring a database up to this program's schema: the files of schema/, each
 * once, in order, each in its own transaction together with the version it
 * leads to. A landed file is never edited; a change is a new file and a row in
 * migrate.c.
 */
#include <stddef.h>

#include "../common/err.h"

#define MIGRATE_APPLICATION	0x6d6d7472	/* "mmtr", in the file's header */

struct sqlite3;

/* -1 with @e: not ours, newer than this program, or a step that failed (the
 * database is then as it was before that step). */
int migrate(struct sqlite3 *db, struct err *e);

/* The same with other steps: sql[i] leads from version i to i + 1. */
int migrate_steps(struct sqlite3 *db, const char *const *sql, size_t n,
		  struct err *e);

#endif
