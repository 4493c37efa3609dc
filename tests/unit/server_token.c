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
	struct tokens *t;

	put(text);
	t = tokens_open(path, &e);
	ok(!t && strstr(e.msg, ":1: expected prefix"), "refused: %s", what);
	tokens_close(t);
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

static void test_answers(void)
{
	char host[80];
	struct err e;
	struct tokens *t;

	put("# comment\n\nAAAAAAAA " HASH " runs lab1 never\n");
	t = tokens_open(path, &e);
	if (!ok(t, "a good file opens")) {
		printf("# %s\n", e.msg);
		return;
	}
	is_i(token_check(t, TOKEN, "runs", host), TOKEN_OK, "known");
	is(host, "lab1", "... and bound to its host");
	is_i(token_check(t, TOKEN, "pushes", host), TOKEN_SCOPE,
	     "another scope");
	is(host, "", "... binds nothing");
	is_i(token_check(t, TOKEN "A", "runs", host), TOKEN_UNKNOWN, "longer");
	is_i(token_check(t, "", "runs", host), TOKEN_UNKNOWN, "empty");
	put("AAAAAAAA " HASH " runs * 2001-01-01\n");
	is_i(token_check(t, TOKEN, "runs", host), TOKEN_EXPIRED,
	     "expired, seen at once");
	put("AAAAAAAA " HASH " runs * 2999-01-01\n");
	is_i(token_check(t, TOKEN, "runs", host), TOKEN_OK, "not expired");
	is(host, "", "... and bound to no host");
	put("AAAAAAAA " HASH " runs * never\ngarbage\n");
	is_i(token_check(t, TOKEN, "runs", host), TOKEN_UNKNOWN,
	     "a broken file lets nobody in");
	unlink(path);
	is_i(token_check(t, TOKEN, "runs", host), TOKEN_UNKNOWN,
	     "no file lets nobody in");
	put("AAAAAAAA " HASH " runs * never\n");
	is_i(token_check(t, TOKEN, "runs", host), TOKEN_OK, "back again");
	tokens_close(t);
	tokens_close(NULL);
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
