/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_HEAD_H
#define SERVER_HEAD_H
/*
 * What the header fields of a request say, and whether they may be believed.
 * A proxy in front and this server must never disagree on where a request
 * ends: whatever could be read in two ways is refused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_BEARER	128	/* bytes of a token; ours have 47 */

struct head {			/* zeroed before the first field */
	unsigned lengths, transfers, hosts;	/* how many of each */
	int64_t length;			/* Content-Length */
	char bearer[HEAD_BEARER];	/* "": none */
	bool json;		/* Content-Type is application/json */
	bool encoded;		/* Content-Encoding is anything but identity */
	bool gzip_ok;		/* the client takes gzip */
	const char *fault;	/* the first thing wrong */
};

/* Note one field, in the order of arrival. */
void head_field(struct head *h, const char *name, size_t name_len,
		const char *value, size_t value_len);
/* After the last field: why this request must be refused; NULL: it may go on */
const char *head_fault(const struct head *h, const char *version);

#endif
