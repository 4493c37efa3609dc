/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of tokens, read and reread. */
#include <stdlib.h>
#include <unistd.h>

#include "server/token.h"
#include "tests/tap.h"

/* SHA-256 of the token below. */
#define TOKEN	"mmt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define HASH	"3149c797e13f2e2f4f79ef8e3fb7175d" \
	"90721cf043f67d6190e668185ba367a1"

static char path[] = "/tmp/mmtrend-token.XXXXXX";

static void put(const char *text)
{
	char new[64];
	FILE *f;

	snprintf(new, sizeof(new), "%s.new", path);
	f = fopen(new, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) || rename(new, path)) {
		perror(path);
		exit(1);
	}
}

static void refused(const char *text, const char *what)
{
	struct err e = { "" };

	put(text);
	ok(token_file_check(path, &e) && strstr(e.msg, ":1: expected prefix"),
	   "refused: %s", what);
}

static void test_files(void)
{
	refused("AAAAAAAA " HASH " runs *\n", "a field is missing");
	refused("AAAAAAAA " HASH " runs * never more\n", "one too many");
	refused("AAAAAAA " HASH " runs * never\n", "a short prefix");
	refused("AAAAAAAA " HASH "0 runs * never\n", "a long hash");
	refused("AAAAAAAA XY runs * never\n", "a hash that is none");
	refused("AAAAAAAA " HASH " root * never\n", "an unknown scope");
	refused("AAAAAAAA " HASH " runs a/b never\n", "a label that is none");
	refused("AAAAAAAA " HASH " runs * 2026-13-01\n", "a date that is none");
	refused("AAAAAAAA " HASH " runs * soon\n", "a word for a date");
}

/* The answer to TOKEN with the file's text; @host as it was bound. */
static int check(const char *text, const char *bearer, const char *scope,
		 char host[80])
{
	struct err e;

	put(text);
	return token_check(path, bearer, scope, host, &e);
}

static void test_answers(void)
{
	const char *lab1 = "# comment\n\nAAAAAAAA " HASH " runs lab1 never\n";
	char host[80];
	struct err e;

	put(lab1);
	is_i(token_file_check(path, &e), 0, "a good file");
	is_i(check(lab1, TOKEN, "runs", host), 0, "known");
	is(host, "lab1", "... and bound to its host");
	is_i(check(lab1, TOKEN, "pushes", host), 403, "another scope");
	is(host, "", "... binds nothing");
	is_i(check(lab1, TOKEN "A", "runs", host), 401, "longer");
	is_i(check(lab1, "", "runs", host), 401, "none");
	is_i(check("AAAAAAAA " HASH " runs * 2001-01-01\n", TOKEN, "runs",
		   host), 401, "expired");
	is_i(check("AAAAAAAA " HASH " runs * 2999-01-01\n", TOKEN, "runs",
		   host), 0, "not expired");
	is(host, "", "... and bound to no host");
	is_i(check("AAAAAAAA " HASH " runs * never\ngarbage\n", TOKEN, "runs",
		   host), 401, "a broken file lets nobody in");
	unlink(path);
	is_i(token_file_check(path, &e), 0, "no file is a good file");
	is_i(token_check(path, TOKEN, "runs", host, &e), 401,
	     "... which lets nobody in");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	test_files();
	test_answers();
	unlink(path);
	return tap_done();
}
