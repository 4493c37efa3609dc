/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file of tokens: who may post, and the command that edits it.
 */
#include <errno.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "token.h"

#define TOKEN_BYTES	32	/* random ones */
#define TOKEN_MARK	"mmt_"
#define TOKEN_LEN	(4 + 43) /* the mark and their base64url */
#define PREFIX_LEN	8	/* characters after the mark */
#define MAX_LINE	256

#define EXIT_USAGE	64

struct line {
	char prefix[PREFIX_LEN + 1];
	char hash[HASH_HEX];
	char scope[16];
	char host[80];		/* "*": any */
	char expires[16];	/* "never", or its last day */
};

void hash_hex(const void *data, size_t len, char hex[HASH_HEX])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	EVP_Digest(data, len, md, NULL, EVP_sha256(), NULL);
	for (size_t i = 0; i < HASH_HEX / 2; i++)
		snprintf(hex + 2 * i, 3, "%02x", md[i]);
}

/* --- the file ------------------------------------------------------------- */

static bool is_scope(const char *s)
{
	return !strcmp(s, "runs") || !strcmp(s, "pushes") ||
	       !strcmp(s, "triage");
}

static bool is_label(const char *s)
{
	size_t len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return !strcmp(s, "*") || (!s[len] && len > 0 && len <= 64);
}

static bool is_expiry(const char *s)
{
	struct tm tm = { 0 };
	const char *end = strptime(s, "%Y-%m-%d", &tm);

	return !strcmp(s, "never") || (end && !*end && strlen(s) == 10);
}

/* No file is an empty one. NULL with @e. */
static FILE *open_tokens(const char *path, struct err *e)
{
	FILE *f = fopen(path, "re");

	if (!f && errno == ENOENT)
		f = fopen("/dev/null", "re");
	if (!f)
		err_set(e, "%s: %s", path, strerror(errno));
	return f;
}

/* The next token of @f, but for blank lines and "# ...": 1, at the end 0, -1
 * with @e. @no counts the lines. */
static int next_token(FILE *f, const char *path, int *no, struct line *l,
		      struct err *e)
{
	char text[MAX_LINE], rest[2] = "";

	do {
		if (!fgets(text, sizeof(text), f))
			return ferror(f) ? err_set(e, "%s: cannot be read",
						   path) : 0;
		++*no;
	} while (!text[strspn(text, " \t\n")] || *text == '#');
	if (sscanf(text, "%8s %64s %15s %79s %15s %1s", l->prefix, l->hash,
		   l->scope, l->host, l->expires, rest) == 5 &&
	    strlen(l->prefix) == PREFIX_LEN && strlen(l->hash) == 64 &&
	    is_scope(l->scope) && is_label(l->host) && is_expiry(l->expires))
		return 1;
	return err_set(e, "%s:%d: expected prefix, SHA-256, scope, host label "
		       "or *, expiry or never", path, *no);
}

/* The token of @hash in @found, if it is there. The whole file is read, so
 * that a broken line anywhere is seen. */
static int find_token(const char *path, const char *hash, struct line *found,
		      struct err *e)
{
	FILE *f = open_tokens(path, e);
	struct line l;
	int got = -1, no = 0;

	while (f && (got = next_token(f, path, &no, &l, e)) > 0)
		if (!CRYPTO_memcmp(l.hash, hash, sizeof(l.hash)))
			*found = l;
	if (f)
		fclose(f);
	return got;
}

int token_file_check(const char *path, struct err *e)
{
	struct line found;

	return find_token(path, (char[HASH_HEX]){ "" }, &found, e);
}

int token_check(const char *path, const char *bearer, const char *scope,
		char host[80], struct err *e)
{
	char hash[HASH_HEX], today[16];
	struct line l = { 0 };
	time_t now = time(NULL);
	struct tm tm;
	struct err why;

	*host = '\0';
	if (!*bearer) {
		err_set(e, "expected a token: "
			"\"Authorization: Bearer mmt_...\"");
		return 401;
	}
	hash_hex(bearer, strlen(bearer), hash);
	if (find_token(path, hash, &l, &why)) {
		fprintf(stderr, "tokens: nobody may post: %s\n", why.msg);
		memset(&l, 0, sizeof(l));
	}
	strftime(today, sizeof(today), "%F", gmtime_r(&now, &tm));
	if (!*l.hash || (strcmp(l.expires, "never") != 0 &&
			 strcmp(l.expires, today) < 0)) {
		err_set(e, "this token %s; expected one of scope %s",
			*l.hash ? "has expired" : "is not known here", scope);
		return 401;
	}
	if (strcmp(l.scope, scope) != 0) {
		err_set(e, "this token has another scope; expected one of "
			"scope %s", scope);
		return 403;
	}
	if (strcmp(l.host, "*") != 0)
		snprintf(host, 80, "%s", l.host);
	return 0;
}

/* --- the command ---------------------------------------------------------- */

static void write_line(FILE *f, const struct line *l)
{
	fprintf(f, "%s %s %s %s %s\n", l->prefix, l->hash, l->scope, l->host,
		l->expires);
}

/* @old without the tokens of the prefix @revoke, then @add (or NULL). */
static int write_edited(FILE *f, FILE *old, const char *path,
			const char *revoke, const struct line *add,
			struct err *e)
{
	struct line l;
	int got, no = 0, gone = 0;

	while ((got = next_token(old, path, &no, &l, e)) > 0) {
		if (!strcmp(l.prefix, revoke))
			gone++;
		else
			write_line(f, &l);
	}
	if (got)
		return -1;
	if (add)
		write_line(f, add);
	else if (!gone)
		return err_set(e, "%s: no token begins with " TOKEN_MARK "%s",
			       path, revoke);
	return 0;
}

/* The new file's fixed name is the lock: made before the old one is read. */
static int edit(const char *path, const char *revoke, const struct line *add,
		struct err *e)
{
	FILE *f = NULL, *old = NULL;
	char *new = NULL;
	int ret = -1;

	umask(077);
	if (asprintf(&new, "%s.new", path) < 0)
		return err_set(e, "no memory");
	f = fopen(new, "wxe");
	if (!f) {
		err_set(e, "%s: %s%s", new, strerror(errno), errno == EEXIST ?
			" (another edit is running, or one was killed)" : "");
		goto out;
	}
	old = open_tokens(path, e);
	if (!old || write_edited(f, old, path, revoke, add, e))
		goto out_unlink;
	if (!fflush(f) && !fsync(fileno(f)) && !rename(new, path))
		ret = 0;
	else
		err_set(e, "%s: %s", path, strerror(errno));
out_unlink:
	if (ret)
		unlink(new);
	if (old)
		fclose(old);
	fclose(f);
out:
	free(new);
	return ret;
}

static int token_add(const char *path, struct line *l, struct err *e)
{
	unsigned char raw[TOKEN_BYTES], text[4 * (TOKEN_BYTES + 2) / 3 + 1];
	char token[TOKEN_LEN + 1];

	if (!is_scope(l->scope))
		return err_set(e, "--scope: expected runs, pushes or triage");
	if (!is_label(l->host))
		return err_set(e, "--host: expected a label of letters, "
			       "digits, '.', '_' and '-', or *");
	if (!is_expiry(l->expires))
		return err_set(e, "--expires: expected YYYY-MM-DD or never");
	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return err_set(e, "getrandom: %s", strerror(errno));
	EVP_EncodeBlock(text, raw, sizeof(raw));
	for (size_t i = 0; text[i]; i++)
		text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
	snprintf(token, sizeof(token), TOKEN_MARK "%.43s", (char *)text);
	snprintf(l->prefix, sizeof(l->prefix), "%.8s", (char *)text);
	hash_hex(token, strlen(token), l->hash);
	if (edit(path, "", l, e))
		return -1;
	puts(token);
	return 0;
}

static int token_list(const char *path, struct err *e)
{
	FILE *f = open_tokens(path, e);
	struct line l;
	int got = -1, no = 0;

	if (!f)
		return -1;
	printf("%-12s  %-6s  %-10s  %s\n", "prefix", "scope", "expires",
	       "host");
	while ((got = next_token(f, path, &no, &l, e)) > 0)
		printf(TOKEN_MARK "%s  %-6s  %-10s  %s\n", l.prefix, l.scope,
		       l.expires, l.host);
	fclose(f);
	return got;
}

static int token_revoke(const char *path, const char *prefix, struct err *e)
{
	if (strncmp(prefix, TOKEN_MARK, 4) != 0 ||
	    strlen(prefix) != 4 + PREFIX_LEN)
		return err_set(e, "expected a token's prefix as list shows it: "
			       TOKEN_MARK " and %d characters", PREFIX_LEN);
	return edit(path, prefix + 4, NULL, e);
}

static int usage(void)
{
	fputs("usage: mmtrendd token add --tokens FILE [--scope SCOPE] "
	      "[--host LABEL] [--expires DATE]\n"
	      "       mmtrendd token list --tokens FILE\n"
	      "       mmtrendd token revoke PREFIX --tokens FILE\n", stderr);
	return EXIT_USAGE;
}

int token_command(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tokens", required_argument, NULL, 't' },
		{ "scope", required_argument, NULL, 's' },
		{ "host", required_argument, NULL, 'h' },
		{ "expires", required_argument, NULL, 'e' },
		{ 0 }
	};
	struct line l = { .scope = "runs", .host = "*", .expires = "never" };
	const char *path = NULL, *verb;
	int opt, n, ret;
	struct err e;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 't')
			path = optarg;
		else if (opt == 's')
			snprintf(l.scope, sizeof(l.scope), "%s", optarg);
		else if (opt == 'h')
			snprintf(l.host, sizeof(l.host), "%s", optarg);
		else if (opt == 'e')
			snprintf(l.expires, sizeof(l.expires), "%s", optarg);
		else
			return usage();
	}
	n = argc - optind;
	verb = n ? argv[optind] : "";
	if (path && n == 1 && !strcmp(verb, "add"))
		ret = token_add(path, &l, &e);
	else if (path && n == 1 && !strcmp(verb, "list"))
		ret = token_list(path, &e);
	else if (path && n == 2 && !strcmp(verb, "revoke"))
		ret = token_revoke(path, argv[optind + 1], &e);
	else
		return usage();
	if (ret)
		fprintf(stderr, "mmtrendd token %s: %s\n", verb, e.msg);
	return ret ? 1 : 0;
}
