/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_ASSET_H
#define SERVER_ASSET_H
/*
 * The files of web/ and schema/, embedded at build time (no file is opened at
 * run time), each also gzipped at level 9 by the Makefile.
 */
#include <stddef.h>

struct asset {
	const char *path;	/* "/style.css"; the shell is "shell.html", SQL "001-base.sql" */
	const char *type;
	const unsigned char *data; size_t len;
	const unsigned char *gz; size_t gz_len;
};

/* NULL: no such asset. */
const struct asset *asset_find(const char *path);

#endif
