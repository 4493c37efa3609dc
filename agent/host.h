/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_HOST_H
#define AGENT_HOST_H
/*
 * What machine, kernel and config this is, and what about it makes every
 * figure invalid. Read from files, never from another program's text. No host
 * name, serial, address or user is read or recorded; the label is the owner's
 * choice, by default "host-" and 8 hex digits of a random id kept in
 * /var/lib/mmtrend/host-id.
 */
#include "../common/err.h"
#include "../common/record.h"
#include "mthp.h"

struct host_opts {
	const char *label;	/* --host; NULL: the default label */
	const char *commit;	/* --commit; NULL: from the version string, if there */
	const char *tree;	/* --tree */
	const char *tree_hash;	/* --tree-hash: of what was built */
	const char *patches;	/* --patches: "gup-batch,mincore-batch" */
	const char *emulator;	/* --emulator */
	const char *boot_id;	/* --boot-id; NULL: the kernel's */
};

/*
 * Fill host, kernel and boot of @r, with a record_unread() reason for each
 * null, and r->invalid for debug options (KASAN, LOCKDEP, DEBUG_VM, ...).
 * -1: a --commit that contradicts the running kernel's -gSHA.
 */
int host_fill(struct record *r, const struct host_opts *o, const struct mthp *m,
	      struct err *e);

/* The kernel's config text, if readable (malloc'd), whose hash is in
 * r->kernel.config_sha256; NULL with @e. push sends it when asked. */
char *host_config(size_t *len, struct err *e);

/* A fresh UUIDv7 (RFC 9562), lower case. */
void host_uuid(char out[37]);

/* Lower-case hex SHA-256 of @data. */
void host_sha256(const void *data, size_t len, char hex[65]);

#endif
