/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_STORE_PACK_H
#define SERVER_STORE_PACK_H
/*
 * A run as the writer wants it: all hashing, compressing and reducing done, so
 * that the one writing thread only binds and steps.
 */
#include "store.h"

#define PACK_HEX	65	/* SHA-256 in hex, and its NUL */

struct pack_row {		/* one metric of one cell */
	const struct record_bench *bench;
	const struct record_metric *metric;
	size_t bench_index, metric_index;	/* in the document */
	const char *params, *exact;
	int64_t folio_bytes;
	enum record_status status;
	const char *reason;			/* NULL if ok */
	int64_t n, value, spread, first;
	size_t launches, launches_len;		/* where in pack.launches */
};

struct pack {
	const struct record *r;
	unsigned char body_sha256[32];
	void *deflated;
	size_t len, deflated_len;
	char posted_at[24];
	struct buf facts;		/* of the host epoch, canonical JSON */
	char epoch_sha256[PACK_HEX];
	char kernel_key[STORE_KEY];
	int64_t commit_proven;
	char *params[RECORD_MAX_BENCHES];
	char *exact;
	struct buf launches;		/* varints, row after row */
	struct pack_row *rows;
	size_t nrows;
};

/* -1: no memory. pack_free() either way. */
int pack_run(struct pack *p, const struct record *r, const void *body,
	     size_t len);
void pack_free(struct pack *p);

void pack_sha256(const void *data, size_t len, unsigned char out[32]);
void pack_hex(const unsigned char sha256[32], char out[PACK_HEX]);
/* "2026-11-30T11:04:56Z", now. */
void pack_now(char out[24]);
/* The owner frees; NULL: no memory. */
void *pack_deflate(const void *data, size_t len, size_t *out_len);
/* Append @len bytes to @out. -1: damaged. */
int pack_inflate(const void *data, size_t data_len, size_t len,
		 struct buf *out);

#endif
