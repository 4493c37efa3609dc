/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_TOKEN_H
#define SERVER_TOKEN_H
/*
 * Who may post. A token is "mmt_" and 32 random bytes in base64url, printed
 * once; the file keeps, one line each, its 8-character prefix, SHA-256, scope,
 * host label ("*": any) and expiry ("never" or a date). The file is replaced by
 * rename and reread when it changes.
 */
#include <stdbool.h>
#include <stddef.h>

#include "../common/err.h"

struct tokens;

/* Load; @path need not exist yet (then nobody may post). */
struct tokens *tokens_open(const char *path, struct err *e);
void tokens_close(struct tokens *t);

enum token_answer { TOKEN_OK, TOKEN_UNKNOWN, TOKEN_SCOPE, TOKEN_EXPIRED };
/* Constant time in the secret. On TOKEN_OK @host holds the bound label or "". */
enum token_answer token_check(struct tokens *t, const char *bearer,
			      const char *scope, char host[80]);

/* `mmtrendd token add|list|revoke`: 0, or the exit code with a message on
 * stderr. */
int token_command(int argc, char **argv);

#endif
