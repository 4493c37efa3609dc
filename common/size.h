/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMON_SIZE_H
#define COMMON_SIZE_H
/*
 * Folio and memory sizes: bytes <-> text. Sizes are bytes everywhere; "64k",
 * "2m" only at the edge. A base page may be 4, 16 or 64 kB: never assume.
 */
#include <stdint.h>

#define SIZE_TEXT 24

/* "64k", "2m", "1g", "4096" -> bytes (binary multiples, any case, an optional
 * trailing "B" or "iB"). Returns -1 on anything else, on 0 and on overflow. */
int size_parse(const char *text, uint64_t *bytes);

/* 65536 -> "64k", 2097152 -> "2m", 1000 -> "1000". Returns @out. */
const char *size_text(uint64_t bytes, char out[SIZE_TEXT]);

/* As a row label: "base 4k", "64k", "2m pmd" (see base_bytes, pmd_bytes of the
 * document's epoch). Returns @out. */
const char *size_label(uint64_t bytes, uint64_t base_bytes, uint64_t pmd_bytes,
		       char out[SIZE_TEXT]);

#endif
