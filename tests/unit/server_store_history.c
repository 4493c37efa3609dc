/* SPDX-License-Identifier: GPL-2.0-only */
/* Pushes in the store: once, all or nothing, and no page outlives them. */
#include "server/route/pushdoc.h"
#include "tests/unit/store_doc.h"

#define SHA(digit) digit digit digit digit digit digit digit digit digit \
	digit digit digit digit digit digit digit digit digit digit digit \
	digit digit digit digit digit digit digit digit digit digit digit \
	digit digit digit digit digit digit digit digit digit

static struct store *s;
static struct err e;
static char id[HISTORY_ID];

/* Two commits; the subject of the second is @subject. */
static enum store_answer put(const char *tree, const char *at,
			     const char *subject)
{
	struct push_commit c[] = {
		{ SHA("a"), SHA("0"), SHA("9"), "one", "A <a@b>",
		  "2026-07-01T00:00:00Z", SHA("1"), SHA("2"), NULL, NULL,
		  { NULL, 0 } },
		{ SHA("b"), SHA("0"), SHA("a"), subject, "A <a@b>",
		  "2026-07-01T00:00:00Z", NULL, NULL, NULL, NULL, { NULL, 0 } },
	};
	struct push p = {
		.tree = tree, .pushed_at = at, .new = SHA("b"), .commits = c,
		.ncommits = 2,
	};

	return store_put_push(s, &p, id, &e);
}

static void open_store(void)
{
	s = store_open(db_path, &e);
	if (!s)
		printf("# %s\n", e.msg);
}

int main(void)
{
	struct store_trees trees;
	struct store_diff d;
	uint64_t before;

	dir_start();
	open_store();
	before = store_generation(s, NULL);
	is_i(put("t", "2026-07-01T06:00:00Z", "two"), STORE_NEW,
	     "a push is new");
	ok(store_generation(s, NULL) > before, "which any page may show");
	is_i(put("t", "2026-07-01T06:00:00Z", "two"), STORE_SAME,
	     "and then known");
	is_i(put("t", "2026-07-01T06:00:00Z", "2"), STORE_CONFLICT,
	     "with another subject it contradicts itself");
	before = store_generation(s, NULL);
	is_i(put("u", "2026-07-02T06:00:00Z", "2"), STORE_CONFLICT,
	     "and so does a SHA in another tree");
	is(e.msg, "/commits/1/subject: \"" SHA("b") "\" is here already with "
	   "another", "which is named");
	is_i((long long)store_generation(s, NULL), (long long)before,
	     "what is refused changes no page");
	ok(!store_trees(s, &trees, &e) && trees.n == 1, "nor leaves a tree");
	store_trees_free(&trees);
	is_i(put("t", "2026-07-02T06:00:00Z", "two"), STORE_NEW,
	     "the same commits at another time are another push");
	is_i(store_diff(s, id, true, &d, &e), STORE_SAME, "which is found");
	is_i((long long)d.count[HISTORY_SAME], 2, "and changed nothing");
	store_diff_free(&d);
	for (int i = 3; i < 9; i++) {
		char at[] = "2026-07-01T06:00:00Z";

		at[9] = (char)('0' + i);
		put(i % 2 ? "u" : "v", at, "two");
	}
	before = store_generation(s, NULL);
	store_close(s);
	open_store();
	ok(store_generation(s, NULL) >= before,
	   "no page of before a restart passes for a later one");
	store_close(s);
	dir_end();
	return tap_done();
}
