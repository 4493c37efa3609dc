/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_PUSH_H
#define AGENT_PUSH_H
/*
 * Talk to a server: the only file that knows libcurl (the lab's static agent
 * leaves it out). Each POST carries the run's own id, so any number of retries makes
 * one run. Retries back off with full jitter and honour Retry-After. The token
 * comes from a 0600 file, never from argv; it never follows a redirect and
 * never travels over plain http off loopback unless @insecure.
 */
#include <stddef.h>
#include <stdint.h>

#include "../common/buf.h"
#include "../common/err.h"

struct push_opts {
	const char *url;	/* --url, else MMTREND_URL, else http://127.0.0.1:8080 */
	const char *token_file;	/* --token-file, else MMTREND_TOKEN_FILE */
	uint64_t insecure;	/* 1: plain http to other machines too */
};

/* Send @files, or with nfiles == 0 everything in the spool. A named file is
 * never deleted. Returns 0: all there; 4: something not sent; 3: refused by
 * the server for good; 64: usage (bad URL, token file unreadable or readable
 * by others). */
int push_send(const struct push_opts *o, char *const *files, size_t nfiles);

struct push_skip {		/* why a host did not measure: */
	const char *host, *reason;
	const char *commit, *push;	/* one of the two; the other is NULL */
};

/* Send a skip. Returns as push_send(); if not 0, @e says why. */
int push_skip(const struct push_opts *o, const struct push_skip *s, struct err *e);

/* Fetch @path, at most @cap bytes of it, without the token. @out is empty
 * before. Returns 0; 4 with @e: not there; 64 with @e: usage. */
int push_get(const struct push_opts *o, const char *path, size_t cap,
	     struct buf *out, struct err *e);

#endif
