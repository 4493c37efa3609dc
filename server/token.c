/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file of tokens: who may post, and the command that edits it.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
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
#define MAX_LINES	1024
#define MAX_LINE	256
#define HASH_HEX	64u	/* digits of a SHA-256 */
#define MAX_LABEL	64	/* RECORD_MAX_NAME */

#define EXIT_USAGE	64

static const char *const scopes[] = { "runs", "pushes", "triage" };

struct line {
	char prefix[PREFIX_LEN + 1];
	char hash[HASH_HEX + 1];
	char scope[16];
	char host[MAX_LABEL + 1];	/* "*": any */
	char expires[16];		/* "never", or its last day */
};

struct tokens {
	pthread_mutex_t lock;
	char *path;
	struct line *line;
	size_t n;
	struct stat seen;	/* of the file that was read; zero: none */
};

static int hash_text(const char *s, char hex[HASH_HEX + 1])
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int len;

	if (!EVP_Digest(s, strlen(s), md, &len, EVP_sha256(), NULL))
		return -1;
	for (size_t i = 0; i < HASH_HEX / 2; i++)
		snprintf(hex + 2 * i, 3, "%02x", md[i]);
	return 0;
}

static bool is_scope(const char *s)
{
	for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++)
		if (!strcmp(s, scopes[i]))
			return true;
	return false;
}

static bool is_label(const char *s)
{
	size_t len = strlen(s);

	if (!strcmp(s, "*"))
		return true;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
			return false;
	return len > 0 && len <= MAX_LABEL;
}

static bool is_expiry(const char *s)
{
	struct tm tm = { 0 };
	const char *end;

	if (!strcmp(s, "never"))
		return true;
	end = strlen(s) == 10 ? strptime(s, "%Y-%m-%d", &tm) : NULL;
	return end && !*end;
}

static int parse_line(const char *text, struct line *l)
{
	char rest[2] = "";
	int n = sscanf(text, "%8s %64s %15s %64s %15s %1s", l->prefix, l->hash,
		       l->scope, l->host, l->expires, rest);

	if (n != 5 || strlen(l->prefix) != PREFIX_LEN ||
	    strspn(l->hash, "0123456789abcdef") != HASH_HEX ||
	    !is_scope(l->scope) || !is_label(l->host) || !is_expiry(l->expires))
		return -1;
	return 0;
}

/* Every line of @f, or none. Blank lines and "# ..." are left out. */
static struct line *read_lines(FILE *f, const char *path, size_t *count,
			       struct err *e)
{
	struct line *v = calloc(MAX_LINES, sizeof(*v));
	char text[MAX_LINE];
	size_t n = 0;
	int no = 0;

	if (!v) {
		err_set(e, "%s: no memory", path);
		return NULL;
	}
	while (fgets(text, sizeof(text), f)) {
		no++;
		if (text[strspn(text, " \t\n")] == '\0' || *text == '#')
			continue;
		if (n == MAX_LINES || parse_line(text, &v[n])) {
			err_set(e, "%s:%d: expected prefix, SHA-256, scope, "
				"host label or *, expiry or never; at most %d "
				"such lines", path, no, MAX_LINES);
			free(v);
			return NULL;
		}
		n++;
	}
	*count = n;
	return v;
}

/* Read @path again; on any failure nobody may post. No file: no tokens. */
static int load(struct tokens *t, struct err *e)
{
	FILE *f = fopen(t->path, "re");

	free(t->line);
	t->line = NULL;
	t->n = 0;
	memset(&t->seen, 0, sizeof(t->seen));
	if (!f && errno == ENOENT)
		return 0;
	if (!f)
		return err_set(e, "%s: %s", t->path, strerror(errno));
	if (fstat(fileno(f), &t->seen))
		err_set(e, "%s: %s", t->path, strerror(errno));
	else
		t->line = read_lines(f, t->path, &t->n, e);
	fclose(f);
	return t->line ? 0 : -1;
}

static bool has_changed(const struct tokens *t)
{
	struct stat now = { 0 };

	if (stat(t->path, &now))
		memset(&now, 0, sizeof(now));
	return now.st_ino != t->seen.st_ino || now.st_size != t->seen.st_size ||
	       now.st_mtim.tv_sec != t->seen.st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != t->seen.st_mtim.tv_nsec;
}

struct tokens *tokens_open(const char *path, struct err *e)
{
	struct tokens *t = calloc(1, sizeof(*t));

	if (t)
		t->path = strdup(path);
	if (!t || !t->path) {
		free(t);
		err_set(e, "%s: no memory", path);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	if (load(t, e)) {
		tokens_close(t);
		return NULL;
	}
	return t;
}

void tokens_close(struct tokens *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->line);
	free(t->path);
	free(t);
}

static void today(char out[16])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(out, 16, "%Y-%m-%d", gmtime_r(&now, &tm));
}

/* Every line is compared in full, so time tells nothing about a secret. */
static const struct line *find(const struct tokens *t, const char *hash)
{
	const struct line *found = NULL;

	for (size_t i = 0; i < t->n; i++)
		if (!CRYPTO_memcmp(t->line[i].hash, hash, HASH_HEX))
			found = &t->line[i];
	return found;
}

enum token_answer token_check(struct tokens *t, const char *bearer,
			      const char *scope, char host[80])
{
	enum token_answer answer = TOKEN_UNKNOWN;
	char hash[HASH_HEX + 1], day[16];
	const struct line *l;
	struct err e;

	*host = '\0';
	if (strlen(bearer) != TOKEN_LEN || hash_text(bearer, hash))
		return TOKEN_UNKNOWN;
	today(day);
	pthread_mutex_lock(&t->lock);
	if (has_changed(t) && load(t, &e))
		fprintf(stderr, "tokens: nobody may post: %s\n", e.msg);
	l = find(t, hash);
	if (l && strcmp(l->expires, "never") != 0 &&
	    strcmp(l->expires, day) < 0) {
		answer = TOKEN_EXPIRED;
	} else if (l && strcmp(l->scope, scope) != 0) {
		answer = TOKEN_SCOPE;
	} else if (l) {
		answer = TOKEN_OK;
		if (strcmp(l->host, "*") != 0)
			snprintf(host, 80, "%s", l->host);
	}
	pthread_mutex_unlock(&t->lock);
	return answer;
}

/* --- the command ---------------------------------------------------------- */

struct edit {
	const char *file, *scope, *host, *expires;
	char token[TOKEN_LEN + 1];	/* add: the new one */
	const char *revoke;		/* a prefix, or NULL */
};

static int make_token(char out[TOKEN_LEN + 1])
{
	unsigned char raw[TOKEN_BYTES];
	unsigned char text[4 * (TOKEN_BYTES + 2) / 3 + 1];

	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return -1;
	EVP_EncodeBlock(text, raw, sizeof(raw));
	for (size_t i = 0; text[i]; i++)
		text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
	snprintf(out, TOKEN_LEN + 1, TOKEN_MARK "%.43s", (char *)text);
	OPENSSL_cleanse(raw, sizeof(raw));
	OPENSSL_cleanse(text, sizeof(text));
	return 0;
}

static void write_line(FILE *f, const struct line *l)
{
	fprintf(f, "%s %s %s %s %s\n", l->prefix, l->hash, l->scope, l->host,
		l->expires);
}

/* The old lines without those revoked, then the new one. */
static int write_edited(FILE *f, const struct tokens *t, const struct edit *c,
			struct err *e)
{
	struct line new = { 0 };
	size_t gone = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (c->revoke && !strcmp(t->line[i].prefix, c->revoke))
			gone++;
		else
			write_line(f, &t->line[i]);
	}
	if (c->revoke)
		return gone ? 0 : err_set(e, "%s: no token begins with %s%s",
					  c->file, TOKEN_MARK, c->revoke);
	if (t->n >= MAX_LINES)
		return err_set(e, "%s: expected at most %d tokens", c->file,
			       MAX_LINES);
	if (hash_text(c->token, new.hash))
		return err_set(e, "SHA-256 failed");
	snprintf(new.prefix, sizeof(new.prefix), "%.8s", c->token + 4);
	snprintf(new.scope, sizeof(new.scope), "%s", c->scope);
	snprintf(new.host, sizeof(new.host), "%s", c->host);
	snprintf(new.expires, sizeof(new.expires), "%s", c->expires);
	write_line(f, &new);
	return 0;
}

/* The new file's fixed name is the lock: O_EXCL before the old one is read. */
static int edit_file(const struct edit *c, struct err *e)
{
	struct tokens *t = NULL;
	char *new = NULL;
	FILE *f = NULL;
	int fd = -1, ret = -1;

	if (asprintf(&new, "%s.new", c->file) < 0)
		return err_set(e, "no memory");
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		err_set(e, "%s: %s%s", new, strerror(errno), errno == EEXIST ?
			" (another edit is running, or one was killed)" : "");
		free(new);
		return -1;
	}
	t = tokens_open(c->file, e);
	if (!t)
		goto out;
	f = fdopen(fd, "w");
	if (!f) {
		err_set(e, "%s: %s", new, strerror(errno));
		goto out;
	}
	if (write_edited(f, t, c, e))
		goto out;
	if (fflush(f) || fsync(fd) || rename(new, c->file))
		err_set(e, "%s: %s", c->file, strerror(errno));
	else
		ret = 0;
out:
	if (ret)
		unlink(new);
	if (f)
		fclose(f);
	else
		close(fd);
	tokens_close(t);
	free(new);
	return ret;
}

static int token_add(struct edit *c, struct err *e)
{
	if (!is_scope(c->scope))
		return err_set(e, "--scope: expected runs, pushes or triage");
	if (!is_label(c->host))
		return err_set(e, "--host: expected a label of letters, "
			       "digits, '.', '_' and '-', or *");
	if (!is_expiry(c->expires))
		return err_set(e, "--expires: expected YYYY-MM-DD or never");
	if (make_token(c->token))
		return err_set(e, "getrandom: %s", strerror(errno));
	if (edit_file(c, e))
		return -1;
	puts(c->token);
	return 0;
}

static int token_list(struct edit *c, struct err *e)
{
	struct tokens *t = tokens_open(c->file, e);

	if (!t)
		return -1;
	printf("%-12s  %-6s  %-10s  %s\n", "prefix", "scope", "expires",
	       "host");
	for (size_t i = 0; i < t->n; i++)
		printf(TOKEN_MARK "%s  %-6s  %-10s  %s\n", t->line[i].prefix,
		       t->line[i].scope, t->line[i].expires, t->line[i].host);
	tokens_close(t);
	return 0;
}

static int token_revoke(struct edit *c, struct err *e)
{
	size_t mark = strlen(TOKEN_MARK);

	if (c->revoke && !strncmp(c->revoke, TOKEN_MARK, mark))
		c->revoke += mark;
	if (!c->revoke || strlen(c->revoke) != PREFIX_LEN)
		return err_set(e, "expected a token's prefix as list shows it: "
			       TOKEN_MARK " and %d characters", PREFIX_LEN);
	return edit_file(c, e);
}

static const struct {
	const char *name;
	int (*run)(struct edit *c, struct err *e);
} commands[] = {
	{ "add", token_add },
	{ "list", token_list },
	{ "revoke", token_revoke },
};

static int parse_options(int argc, char **argv, struct edit *c)
{
	static const struct option options[] = {
		{ "tokens", required_argument, NULL, 't' },
		{ "scope", required_argument, NULL, 's' },
		{ "host", required_argument, NULL, 'h' },
		{ "expires", required_argument, NULL, 'e' },
		{ 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 't')
			c->file = optarg;
		else if (opt == 's')
			c->scope = optarg;
		else if (opt == 'h')
			c->host = optarg;
		else if (opt == 'e')
			c->expires = optarg;
		else
			return -1;
	}
	c->revoke = optind < argc ? argv[optind++] : NULL;
	return c->file && optind == argc ? 0 : -1;
}

int token_command(int argc, char **argv)
{
	struct edit c = { .scope = "runs", .host = "*", .expires = "never" };
	struct err e;

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		bool takes_prefix = commands[i].run == token_revoke;

		if (argc < 2 || strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (parse_options(argc - 1, argv + 1, &c) ||
		    takes_prefix != (c.revoke != NULL))
			break;
		if (!commands[i].run(&c, &e))
			return 0;
		fprintf(stderr, "mmtrendd token %s: %s\n", commands[i].name,
			e.msg);
		return 1;
	}
	fputs("usage: mmtrendd token add --tokens FILE [--scope SCOPE] "
	      "[--host LABEL] [--expires DATE]\n"
	      "       mmtrendd token list --tokens FILE\n"
	      "       mmtrendd token revoke PREFIX --tokens FILE\n", stderr);
	return EXIT_USAGE;
}
