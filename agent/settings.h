/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_SETTINGS_H
#define AGENT_SETTINGS_H
/*
 * The only code that changes a kernel setting, so that every one can be put
 * back. The old value goes to a journal in /run/mmtrend (0700) before the
 * first change; /run lives exactly as long as the values do, so a new boot has
 * nothing to put back.
 *
 * A run's settings are put back when it ends, on a signal, and after SIGKILL
 * by the next run or by `mmtrend undo`. Those of `check --tune` stay, for the
 * runs to come, until `mmtrend undo`.
 */
#include <stddef.h>

#include "../common/err.h"

#define SETTINGS_VALUE 128	/* bytes of a value, with its NUL */

enum settings_life { SETTINGS_RUN, SETTINGS_TUNED };

/*
 * Take the lock (flock) that run, --tune and undo share, then put back what a
 * killed run left behind. -1: another agent holds it (@e names its pid and
 * start) or the journal is unusable. The lock lasts until settings_restore()
 * or exit. A user who may not change settings takes none.
 */
int settings_lock(struct err *e);

/* After fork(), in the child: let go of the parent's lock. */
void settings_forked(void);

/* What a setting is now: the word in brackets, or all of it. -1 with @e. */
int settings_get(const char *path, char value[SETTINGS_VALUE], struct err *e);

/* Journal the old value, write the new one, read it back. 1: done. 0: it was
 * so already. -1 with @e. Under the lock only. */
int settings_set(enum settings_life life, const char *path, const char *value,
		 struct err *e);

/* Put the run's settings back as found, release the lock. Safe to call twice,
 * and from a forked child (there it does nothing). On failure the journal
 * stays, and @e tells the first reason. */
int settings_restore(struct err *e);

/* `mmtrend undo`: put back all that a killed run and --tune left. @count:
 * values written. */
int settings_undo(size_t *count, struct err *e);

#endif
