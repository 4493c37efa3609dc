/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_TOKEN_H
#define SERVER_TOKEN_H
/*
 * Who may post. A token is "mmt_" and 32 random bytes in base64url, printed
 * once; the file keeps, one line each, its 8-character prefix, SHA-256, scope,
 * host label ("*": any) and expiry ("never" or a date). It is replaced by
 * rename and read at each use; no file: nobody may post.
 */
#include <stddef.h>

#include "../common/err.h"

#define HASH_HEX 65	/* 64 digits and a NUL */

/* SHA-256; also for ETags and the build id. */
void hash_hex(const void *data, size_t len, char hex[HASH_HEX]);

/* -1 with @e: not a file of tokens. */
int token_file_check(const char *path, struct err *e);

/* 0, and @host holds the bound label or ""; else 401 or 403 with @e. @bearer
 * "": none was sent. Constant time in the secret. Any thread. */
int token_check(const char *path, const char *bearer, const char *scope,
		char host[80], struct err *e);

/* `mmtrendd token add|list|revoke`: 0, or the exit code with a message on
 * stderr. */
int token_command(int argc, char **argv);

#endif
