/* SPDX-License-Identifier: GPL-2.0-only */
/* Folio and memory sizes: bytes <-> text. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "size.h"

static const char letters[] = "kmgt";	/* letters[i] means << 10 * (i + 1) */

int size_parse(const char *text, uint64_t *bytes)
{
	const char *hit;
	unsigned shift = 0;
	uint64_t v;
	char *p;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	v = strtoull(text, &p, 10);
	hit = *p ? strchr(letters, tolower((unsigned char)*p)) : NULL;
	if (hit) {
		shift = 10 * (unsigned)(hit - letters + 1);
		p++;
	}
	if (!strcasecmp(p, "b") || (hit && !strcasecmp(p, "ib")))
		p += strlen(p);
	if (*p || errno || !v || v > UINT64_MAX >> shift)
		return -1;
	*bytes = v << shift;
	return 0;
}

const char *size_text(uint64_t bytes, char out[SIZE_TEXT])
{
	size_t i = 0;

	while (i < strlen(letters) && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, SIZE_TEXT, "%" PRIu64 "%.*s", bytes, i > 0,
		 letters + i - (i > 0));
	return out;
}

const char *size_label(uint64_t bytes, uint64_t base_bytes, uint64_t pmd_bytes,
		       char out[SIZE_TEXT])
{
	char text[SIZE_TEXT];

	size_text(bytes, text);
	/* Precision: 20 digits, a letter; tells the compiler that it fits. */
	if (bytes == base_bytes)
		snprintf(out, SIZE_TEXT, "base %.18s", text);
	else if (bytes == pmd_bytes)
		snprintf(out, SIZE_TEXT, "%.19s pmd", text);
	else
		snprintf(out, SIZE_TEXT, "%s", text);
	return out;
}
