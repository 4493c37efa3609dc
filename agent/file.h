/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_FILE_H
#define AGENT_FILE_H
/* Whole files: read up to a cap, written whole or not at all. */
#include "../common/buf.h"
#include "../common/err.h"

/* Append all of a file to @b; one of more than @cap bytes is an error. */
int file_read(const char *path, size_t cap, struct buf *b, struct err *e);
/* DIR/NAME of mode 0600: written beside as a hidden file, synced, renamed. */
int file_put(const char *dir, const char *name, const char *data, size_t len,
	     struct err *e);
int file_sync_dir(const char *dir, struct err *e);

#endif
