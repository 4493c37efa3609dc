/* SPDX-License-Identifier: GPL-2.0-only */
/* The order of pushes, the lineage of patches, what a push changed. */
#include <stdlib.h>

#include "server/history.h"
#include "tests/tap.h"

static void names(void)
{
	char a40[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	char b40[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
	char id[HISTORY_ID];

	history_id("mm-unstable", NULL, a40, "2026-07-28T06:18:00Z", id);
	is(id, "4pxi6rc3z3", "a push has the id that its identity hashes to");
	history_id("mm-unstable", b40, a40, "2026-07-28T06:18:00Z", id);
	is(id, "baxlxoub5n", "which old is part of");
	ok(!history_key(NULL) && history_key("") && history_key("a"),
	   "only what is not there has no key");
	is_i(history_key_id("00000000000000ffaaaaaaaaaaaaaaaaaaaaaaaa"), 255,
	     "a patch-id's key is its first 16 digits");
}

/* --- order ------------------------------------------------------------- */

/* Pushes "old>new@time", separated by spaces: one letter each, '-' for null;
 * '+' behind it: linear, and what follows is its base. In any order they come
 * out as @want: "old>new" of each. */
#define MAX 8
static void parse(const char *text, struct history_step *v, char *room)
{
	for (size_t i = 0; *text; i++, text += *text == ' ') {
		char *s = room + 8 * i;

		memset(s, 0, 8);
		s[0] = text[0];
		s[2] = text[2];
		s[4] = text[4];
		text += 5;
		v[i] = (struct history_step){ s[0] == '-' ? NULL : s, NULL,
					      s + 2, s + 4, i };
		if (*text != '+')
			continue;
		s[6] = text[1];
		v[i].base = s + 6;
		text += 2;
	}
}

static bool next_permutation(size_t *p, size_t n)
{
	size_t i = n - 1, j = n - 1, swap;

	while (i && p[i - 1] > p[i])
		i--;
	if (!i)
		return false;
	while (p[j] < p[i - 1])
		j--;
	swap = p[j], p[j] = p[i - 1], p[i - 1] = swap;
	for (j = n - 1; i < j; i++, j--)
		swap = p[j], p[j] = p[i], p[i] = swap;
	return true;
}

static void order(const char *pushes, const char *want, const char *what)
{
	struct history_step v[MAX], now[MAX];
	size_t n = 1, p[MAX], all = 0, right = 0;
	char room[8 * MAX], got[8 * MAX] = "", wrong[8 * MAX] = "";

	for (const char *s = pushes; *s; s++)
		n += *s == ' ';
	parse(pushes, v, room);
	for (size_t i = 0; i < n; i++)
		p[i] = i;
	do {
		size_t len = 0;

		for (size_t i = 0; i < n; i++)
			now[i] = v[p[i]];
		if (history_order(now, n))
			break;
		for (size_t i = 0; i < n; i++)
			len += (size_t)sprintf(got + len, "%s%s>%s",
					       i ? " " : "", now[i].old ?
					       now[i].old : "-", now[i].new);
		all++;
		right += !strcmp(got, want);
		if (strcmp(got, want) != 0)
			strcpy(wrong, got);
	} while (next_permutation(p, n));
	if (!ok(all && right == all, "%s (in each of %zu orders)", what, all))
		printf("# got:  %s\n# want: %s\n", wrong, want);
}

static void orders(void)
{
	order("->A@1", "->A", "one push");
	order("A>B@1 B>C@2 C>D@3 D>E@4", "A>B B>C C>D D>E", "a chain");
	order("A>B@4 B>C@3 C>D@2 D>E@1", "A>B B>C C>D D>E",
	      "the chain is right where all clocks are wrong");
	order("A>B@5 B>C@1 C>D@6", "A>B B>C C>D", "or one of them");
	order("A>B@1 B>C@1 C>D@1", "A>B B>C C>D", "or all are the same");
	order("A>B@1 D>E@3 B>C@2 E>F@4", "A>B B>C D>E E>F",
	      "over a missing push, time");
	order("A>B@1 B>C@2 C>B@3 B>D@4", "A>B B>C C>B B>D",
	      "forced back to an old tip, and on from there");
	order("B>C@2 C>B@3 B>D@4", "B>C C>B B>D",
	      "the same where the first of them is missing");
	order("A>B@1 B>A@2 A>B@3 B>A@4", "A>B B>A A>B B>A",
	      "there and back again");
	order("A>B@1 B>A@1", "A>B B>A", "a ring at one instant");
	order("A>B@2 B>B@3 B>C@4", "A>B B>B B>C", "an empty push");
	order("B>B@1", "B>B", "that alone follows nothing");
	order("->B@1 B>C@2 ->D@3 D>E@4", "->B B>C ->D D>E",
	      "a tree that was reset");
	order("B>C@1 C>B@2 B>B@3 A>B@4", "A>B B>C C>B B>B",
	      "what would close a ring gives way to the next");
	order("A>B@1 B>C@2 A>C@3 C>D@4", "A>B B>C A>C C>D",
	      "two who follow one ref, one of them slower");
	order("->B@3+A A>A@1 ->A@2+Z", "A>A ->A ->B",
	      "on a linear tree base stands for an old that is not known");
	order("A>C@1 A>B@1 B>D@2", "A>B A>C B>D",
	      "of two at one instant, old and then new decide");
}

/* --- lineage ----------------------------------------------------------- */

#define KEYS(l, p, u, t) { .link = l, .patch = p, .u0 = u, .title = t }
#define LIST(t, ...) { .tree = t, \
	.patch = (const uint32_t[]){ __VA_ARGS__ }, \
	.n = sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t) }
#define LINEAR(t, ...) { .tree = t, .linear = true, \
	.patch = (const uint32_t[]){ __VA_ARGS__ }, \
	.n = sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t) }

/* The lineage of each patch, a letter each. */
static void lineage(const struct history_keys *k, size_t n,
		    const struct history_list *l, size_t nl, const char *want,
		    const char *what)
{
	uint32_t *of = calloc(n, sizeof(*of));
	char got[16] = "";

	if (history_lineage(k, n, l, nl, of))
		strcpy(got, "no memory");
	else
		for (size_t i = 0; i < n; i++)
			got[i] = (char)('a' + of[i]);
	is(got, want, what);
	free(of);
}
#define LINEAGE(want, what, ...) \
	do { \
		const struct history_list l[] = { __VA_ARGS__ }; \
		lineage(k, sizeof(k) / sizeof(*k), l, \
			sizeof(l) / sizeof(*l), want, what); \
	} while (0)

static void lineages(void)
{
	{
		const struct history_keys k[] = {
			KEYS(9, 1, 1, 1), KEYS(9, 2, 2, 2), KEYS(0, 3, 3, 3),
			KEYS(0, 4, 3, 4), KEYS(0, 5, 5, 5), KEYS(0, 5, 6, 6),
		};

		LINEAGE("aaccee", "a link, a patch-id, one without context join",
			LIST(0, 0, 2, 4), LIST(1, 1, 3, 5));
		LINEAGE("aaccee", "of whatever tree, in whatever push",
			LIST(0, 0), LIST(0, 2), LIST(1, 1, 3, 5), LIST(2, 4));
		LINEAGE("abccee", "but no link that two commits of a push share",
			LIST(0, 0, 1, 2), LIST(1, 3, 5), LIST(2, 4));
		LINEAGE("abccee", "nor in any other push",
			LIST(0, 0), LIST(0, 1), LIST(1, 0, 1));
	}
	{
		const struct history_keys k[] = {
			{ .quilt = 7, .patch = 1, .u0 = 1, .title = 1 },
			{ .quilt = 7, .patch = 2, .u0 = 2, .title = 2 },
		};

		LINEAGE("aa", "a quilt name joins", LIST(0, 0), LIST(0, 1));
		LINEAGE("ab", "but if two of a push have it",
			LIST(0, 0, 1));
	}
	{
		const struct history_keys k[] = {
			KEYS(1, 1, 1, 1), KEYS(2, 2, 2, 1), KEYS(3, 3, 3, 1),
			KEYS(4, 1, 1, 4),
		};

		LINEAGE("aaca", "author and subject join two pushes in a row",
			LIST(0, 0), LIST(0, 1));
		LINEAGE("aaaa", "and on", LIST(0, 0), LIST(0, 1), LIST(0, 2));
		LINEAGE("abca", "not over a push between",
			LIST(0, 0), LIST(0, 3), LIST(0, 2));
		LINEAGE("abca", "not of two trees", LIST(0, 0), LIST(1, 1));
		LINEAGE("abca", "not on linear trees",
			LINEAR(0, 0), LINEAR(0, 1), LIST(0, 2));
		LINEAGE("abca", "not where one push has both",
			LIST(0, 0), LIST(0, 1, 2));
		LINEAGE("abca", "nor the push before",
			LIST(0, 0, 1), LIST(0, 2));
		LINEAGE("abca", "not what has a surer fellow in the other push",
			LIST(0, 0), LIST(0, 1, 3));
		LINEAGE("abca", "on either side",
			LIST(0, 1, 3), LIST(0, 0));
	}
	{
		const struct history_keys k[] = {
			KEYS(0, 0, 0, 1), KEYS(0, 0, 0, 1), KEYS(0, 0, 0, 2),
		};

		LINEAGE("abc", "what has no key but its name joins nothing",
			LIST(0, 0, 1, 2));
		LINEAGE("aac", "but the next push's of that name",
			LIST(0, 0, 2), LIST(0, 1, 2));
		lineage(k, 3, NULL, 0, "abc", "and nothing without pushes");
	}
}

/* --- what a push changed ----------------------------------------------- */

/* Changes as "patch:kind", '*' where it moved: of patches 0 to 9. */
static void diff(const struct history_keys *k, size_t n,
		 const struct history_list *before,
		 const struct history_list *after, const char *want,
		 const char *what)
{
	struct history_list both[2] = { { .n = 0 }, *after };
	uint32_t *of = calloc(n, sizeof(*of));
	struct history_change c[32];
	size_t changes = 0, len = 0;
	char got[512] = "";

	if (before)
		both[0] = *before;
	if (history_lineage(k, n, both, 2, of) ||
	    history_diff(k, of, n, before, after, c, &changes))
		strcpy(got, "no memory");
	for (size_t i = 0; i < changes; i++)
		len += (size_t)snprintf(got + len, sizeof(got) - len,
			"%s%u:%s%s", i ? " " : "",
			c[i].after != SIZE_MAX ? after->patch[c[i].after] :
			before->patch[c[i].before], history_words[c[i].kind],
			c[i].moved ? "*" : "");
	is(got, want, what);
	free(of);
}

static void diffs(void)
{
	const struct history_keys k[] = {
		KEYS(0, 1, 1, 1), KEYS(0, 2, 2, 2), KEYS(0, 3, 3, 3),
		KEYS(0, 4, 4, 4),
		KEYS(0, 5, 2, 2),	/* 1 in another context */
		KEYS(0, 6, 6, 2),	/* 1 with other lines */
		KEYS(0, 2, 2, 7),	/* 1 reworded */
		KEYS(0, 2, 2, 7),	/* the same, as a patch of its own */
	};
	const struct history_list abcd = LIST(0, 0, 1, 2, 3);
	const struct history_list next[] = {
		LIST(0, 0, 1, 2, 3), LIST(0, 0, 4, 2, 3), LIST(0, 0, 5, 2, 3),
		LIST(0, 0, 6, 2, 3), LIST(0, 0, 2, 3), LIST(0, 3, 0, 1, 2),
		LIST(0, 1, 2, 3, 0), LIST(0, 0, 2, 3, 5), LIST(0, 3, 2, 1, 0),
		LIST(0, 0, 1, 2), LINEAR(0, 0, 4), LIST(0, 6, 1, 7),
		LIST(0, 1, 6), LIST(0, 6), LIST(0, 1, 0),
	};
	const size_t n = sizeof(k) / sizeof(*k);

	diff(k, n, &abcd, &next[0], "0:same 1:same 2:same 3:same", "nothing");
	diff(k, n, &abcd, &next[1], "0:same 4:context 2:same 3:same",
	     "a line near to it");
	diff(k, n, &abcd, &next[2], "0:same 5:replaced 2:same 3:same",
	     "its own lines");
	diff(k, n, &abcd, &next[3], "0:same 6:reworded 2:same 3:same",
	     "its words");
	diff(k, n, &abcd, &next[4], "0:same 2:same 3:same 1:dropped",
	     "one dropped: the others did not move");
	diff(k, n, &abcd, &next[5], "3:moved* 0:same 1:same 2:same",
	     "the last became the first");
	diff(k, n, &abcd, &next[6], "1:same 2:same 3:same 0:moved*",
	     "the first became the last");
	diff(k, n, &abcd, &next[7], "0:same 2:same 3:same 5:replaced*",
	     "one replaced and moved is both");
	diff(k, n, &abcd, &next[8], "3:moved* 2:moved* 1:moved* 0:same",
	     "turned round, all but one moved");
	diff(k, n, &next[9], &abcd, "0:same 1:same 2:same 3:added",
	     "one added");
	diff(k, n, &abcd, &next[10], "0:added 4:added",
	     "a linear tree's list is what is new");
	diff(k, n, NULL, &abcd, "0:same 1:same 2:same 3:same",
	     "the first push that is known changed nothing");
	diff(k, n, &next[12], &next[13], "6:same 1:dropped",
	     "of two of one lineage, that which is the same stayed");
	diff(k, n, &next[12], &next[11], "6:moved* 1:same 7:added",
	     "and a third one is added");
	diff(k, n, &next[14], &next[9], "0:moved* 1:same 2:added",
	     "of two that changed places one moved");
}

int main(void)
{
	names();
	orders();
	lineages();
	diffs();
	return tap_done();
}
