/* SPDX-License-Identifier: GPL-2.0-only */
/* The order of pushes, the lineage of patches, what a push changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/sha.h>

#include "history.h"

#define NONE	SIZE_MAX

/* --- names and keys ---------------------------------------------------- */

int64_t history_key_id(const char *hex)
{
	char first[17] = "";

	if (!hex)
		return 0;
	memcpy(first, hex, 16);
	return (int64_t)strtoull(first, NULL, 16);
}

int64_t history_key(const char *text)
{
	unsigned char sum[SHA256_DIGEST_LENGTH];
	uint64_t key = 0;

	if (!text)
		return 0;
	SHA256((const unsigned char *)text, strlen(text), sum);
	for (size_t i = 0; i < sizeof(key); i++)
		key = key << 8 | sum[i];
	return key ? (int64_t)key : 1;
}

void history_id(const char *tree, const char *old, const char *new,
		const char *pushed_at, char id[HISTORY_ID])
{
	static const char digit[] = "abcdefghijklmnopqrstuvwxyz234567";
	char text[256];
	uint64_t bits;

	snprintf(text, sizeof(text), "%s\n%s\n%s\n%s\n", tree, old ? old : "",
		 new, pushed_at);
	bits = (uint64_t)history_key(text);
	for (size_t i = 0; i < HISTORY_ID - 1; i++, bits <<= 5)
		id[i] = digit[bits >> 59];
	id[HISTORY_ID - 1] = '\0';
}

/* --- the order of pushes ----------------------------------------------- */

struct place {
	struct history_step step;
	size_t before, after;	/* in its chain; NONE */
	const char *at;		/* never earlier than the one before it */
	size_t root, depth;	/* the chain's first, steps since */
};

static const char *from(const struct place *p)
{
	return p->step.old ? p->step.old : p->step.base;
}

static int text_cmp(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !!a - !!b;
}

static int by_time(const void *a, const void *b)
{
	const struct history_step *x = &((const struct place *)a)->step;
	const struct history_step *y = &((const struct place *)b)->step;
	int c = strcmp(x->pushed_at, y->pushed_at);

	if (!c)
		c = text_cmp(x->old, y->old);
	return c ? c : strcmp(x->new, y->new);
}

static int by_chain(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = strcmp(x->at, y->at);

	if (!c)
		c = (x->root > y->root) - (x->root < y->root);
	return c ? c : (x->depth > y->depth) - (x->depth < y->depth);
}

/* A push by what it led to. */
struct tip { const char *to; size_t place; };

static int by_tip(const void *a, const void *b)
{
	const struct tip *x = a, *y = b;
	int c = strcmp(x->to, y->to);

	return c ? c : (x->place > y->place) - (x->place < y->place);
}

/* The first of @tips that is not before (@to, @place). */
static size_t first_tip(const struct tip *tips, size_t n, const char *to,
			size_t place)
{
	const struct tip key = { to, place };
	size_t lo = 0;

	while (lo < n) {
		size_t mid = lo + (n - lo) / 2;

		if (by_tip(&tips[mid], &key) < 0)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

static bool closes_ring(const struct place *v, size_t at, size_t first)
{
	while (at != first && v[at].before != NONE)
		at = v[at].before;
	return at == first;
}

static void follow(struct place *v, size_t before, size_t after)
{
	v[before].after = after;
	v[after].before = before;
}

/* @q follows the last before it that leads to where it starts. */
static void follow_earlier(struct place *v, size_t q, const struct tip *tips,
			   size_t n)
{
	size_t i = first_tip(tips, n, from(&v[q]), q);

	while (i-- && !strcmp(tips[i].to, from(&v[q])))
		if (v[tips[i].place].after == NONE) {
			follow(v, tips[i].place, q);
			return;
		}
}

/* Or the first after it that would close no ring. Only the end of its own chain
 * would: all but one of those that are asked end the walk. */
static void follow_later(struct place *v, size_t q, const struct tip *tips,
			 size_t n)
{
	size_t i = first_tip(tips, n, from(&v[q]), q + 1);

	for (; i < n && !strcmp(tips[i].to, from(&v[q])); i++)
		if (v[tips[i].place].after == NONE &&
		    !closes_ring(v, tips[i].place, q)) {
			follow(v, tips[i].place, q);
			return;
		}
}

static void walk_chain(struct place *v, size_t root)
{
	const char *at = v[root].step.pushed_at;
	size_t depth = 0;

	for (size_t i = root; i != NONE; i = v[i].after) {
		if (strcmp(v[i].step.pushed_at, at) > 0)
			at = v[i].step.pushed_at;
		v[i].at = at;
		v[i].root = root;
		v[i].depth = depth++;
	}
}

static void order(struct place *v, size_t n, struct tip *tips)
{
	qsort(v, n, sizeof(*v), by_time);
	for (size_t i = 0; i < n; i++)
		tips[i] = (struct tip){ v[i].step.new, i };
	qsort(tips, n, sizeof(*tips), by_tip);
	for (size_t i = 0; i < n; i++)
		if (from(&v[i]))
			follow_earlier(v, i, tips, n);
	for (size_t i = 0; i < n; i++)
		if (from(&v[i]) && v[i].before == NONE)
			follow_later(v, i, tips, n);
	for (size_t i = 0; i < n; i++)
		if (v[i].before == NONE)
			walk_chain(v, i);
	qsort(v, n, sizeof(*v), by_chain);
}

int history_order(struct history_step *steps, size_t n)
{
	struct place *v = calloc(n + 1, sizeof(*v));
	struct tip *tips = calloc(n + 1, sizeof(*tips));
	int ret = v && tips ? 0 : -1;

	for (size_t i = 0; !ret && i < n; i++)
		v[i] = (struct place){ steps[i], NONE, NONE, NULL, 0, 0 };
	if (!ret)
		order(v, n, tips);
	for (size_t i = 0; !ret && i < n; i++)
		steps[i] = v[i].step;
	free(v);
	free(tips);
	return ret;
}

/* --- lineage ----------------------------------------------------------- */

/* The root of a set; roots point to themselves, and are the smallest. */
static uint32_t find(uint32_t *set, uint32_t i)
{
	while (set[i] != i)
		i = set[i] = set[set[i]];
	return i;
}

static void join(uint32_t *set, uint32_t a, uint32_t b)
{
	a = find(set, a);
	b = find(set, b);
	set[a > b ? a : b] = a < b ? a : b;
}

struct key { int64_t value; uint32_t patch; };

static int by_value(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->patch > y->patch) - (x->patch < y->patch);
}

/* group[patch]: equal for equal keys, the smallest patch of them; UINT32_MAX:
 * it has none. */
static void group_by(const struct history_keys *keys, size_t n, size_t offset,
		     struct key *room, uint32_t *group)
{
	for (uint32_t i = 0; i < n; i++) {
		const void *at = (const char *)&keys[i] + offset;

		room[i] = (struct key){ *(const int64_t *)at, i };
	}
	qsort(room, n, sizeof(*room), by_value);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (room[i].value != room[first].value)
			first = i;
		group[room[i].patch] = room[i].value ? room[first].patch :
						       UINT32_MAX;
	}
}

/* In whichever list two commits share a group, that group joins nothing. */
static void void_shared(const struct history_list *lists, size_t nlists,
			uint32_t *group, uint32_t *seen, size_t n)
{
	memset(seen, 0, n * sizeof(*seen));
	for (uint32_t l = 0; l < nlists; l++)
		for (size_t i = 0; i < lists[l].n; i++) {
			uint32_t g = group[lists[l].patch[i]];

			if (g == UINT32_MAX || seen[g] == UINT32_MAX)
				continue;
			seen[g] = seen[g] == l + 1 ? UINT32_MAX : l + 1;
		}
	for (size_t i = 0; i < n; i++)
		if (group[i] != UINT32_MAX && seen[group[i]] == UINT32_MAX)
			group[i] = UINT32_MAX;
}

/* How often a list has each title, and which lineages it has. */
struct census { uint32_t *stamp, *count, *last, *lineage; };

static void count_list(struct census *c, const struct history_list *l,
		       uint32_t stamp, const uint32_t *title,
		       const uint32_t *lineage)
{
	for (size_t i = 0; i < l->n; i++) {
		uint32_t p = l->patch[i], t = title[p];

		if (c->stamp[t] != stamp)
			c->count[t] = 0;
		c->stamp[t] = stamp;
		c->count[t]++;
		c->last[t] = p;
		c->lineage[lineage[p]] = stamp;
	}
}

/* What author and subject join of two pushes in a row. */
static void join_titles(uint32_t *set, const struct history_list *next,
			const struct census *a, const struct census *b,
			uint32_t stamp, const uint32_t *title,
			const uint32_t *lineage)
{
	for (size_t i = 0; i < next->n; i++) {
		uint32_t p = next->patch[i], t = title[p];

		if (a->lineage[lineage[p]] != stamp - 1 &&
		    a->stamp[t] == stamp - 1 && a->count[t] == 1 &&
		    b->count[t] == 1 &&
		    b->lineage[lineage[a->last[t]]] != stamp)
			join(set, a->last[t], p);
	}
}

int history_lineage(const struct history_keys *keys, size_t n,
		    const struct history_list *lists, size_t nlists,
		    uint32_t *lineage)
{
	static const size_t offset[] = {
		offsetof(struct history_keys, link),
		offsetof(struct history_keys, quilt),
		offsetof(struct history_keys, patch),
		offsetof(struct history_keys, u0),
	};
	struct key *room = calloc(n + 1, sizeof(*room));
	uint32_t *mem = calloc(11 * n + 1, sizeof(*mem));
	uint32_t *group = mem, *set = mem + n, *title = mem + 2 * n;
	struct census c[2];
	int ret = room && mem ? 0 : -1;

	if (ret)
		goto out;
	for (uint32_t i = 0; i < n; i++)
		set[i] = i;
	for (size_t k = 0; k < 4; k++) {
		group_by(keys, n, offset[k], room, group);
		if (k < 2)	/* lineage is not needed yet: room */
			void_shared(lists, nlists, group, lineage, n);
		for (uint32_t i = 0; i < n; i++)
			if (group[i] != UINT32_MAX)
				join(set, i, group[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		lineage[i] = find(set, i);
	group_by(keys, n, offsetof(struct history_keys, title), room, title);
	for (size_t i = 0; i < 2; i++)
		c[i] = (struct census){ mem + (3 + 4 * i) * n,
			mem + (4 + 4 * i) * n, mem + (5 + 4 * i) * n,
			mem + (6 + 4 * i) * n };
	for (uint32_t l = 0; l < nlists; l++) {
		const struct history_list *next = &lists[l];

		count_list(&c[l % 2], next, l + 1, title, lineage);
		if (l && next->tree == next[-1].tree && !next->linear &&
		    !next[-1].linear)
			join_titles(set, next, &c[(l + 1) % 2], &c[l % 2],
				    l + 1, title, lineage);
	}
	for (uint32_t i = 0; i < n; i++)
		lineage[i] = find(set, i);
out:
	free(room);
	free(mem);
	return ret;
}

/* --- what a push changed ----------------------------------------------- */

const char *const history_words[] = {
	[HISTORY_ADDED] = "added", [HISTORY_DROPPED] = "dropped",
	[HISTORY_REPLACED] = "replaced", [HISTORY_CONTEXT] = "context",
	[HISTORY_REWORDED] = "reworded", [HISTORY_MOVED] = "moved",
	[HISTORY_SAME] = "same",
};

/* Pair what is single so far and equal by @name; NULL: the same patch. @head:
 * for each name, @next: for each of @before. */
static void pair(const struct history_list *before,
		 const struct history_list *after, const uint32_t *name,
		 size_t *head, size_t *next, size_t *pair_of,
		 struct history_change *out)
{
	for (size_t i = 0; i < after->n; i++)
		head[name ? name[after->patch[i]] : after->patch[i]] = NONE;
	for (size_t i = before->n; i--;) {
		uint32_t p = before->patch[i];
		size_t *at = &head[name ? name[p] : p];

		if (pair_of[i] != NONE)
			continue;
		next[i] = *at;
		*at = i;
	}
	for (size_t i = 0; i < after->n; i++) {
		uint32_t p = after->patch[i];
		size_t *at = &head[name ? name[p] : p];

		if (out[i].before != NONE || *at == NONE)
			continue;
		out[i].before = *at;
		pair_of[*at] = i;
		*at = next[*at];
	}
}

/* @top: of each pile, a place in @out; @under: the one before it in its run. */
static void mark_moved(struct history_change *out, size_t n, size_t *top,
		       size_t *under)
{
	size_t piles = 0, at;

	for (size_t i = 0; i < n; i++) {
		size_t lo = 0, hi = piles;

		if (out[i].before == NONE)
			continue;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (out[top[mid]].before < out[i].before)
				lo = mid + 1;
			else
				hi = mid;
		}
		out[i].moved = true;
		under[i] = lo ? top[lo - 1] : NONE;
		top[lo] = i;
		piles += lo == piles;
	}
	for (at = piles ? top[piles - 1] : NONE; at != NONE; at = under[at])
		out[at].moved = false;
}

enum history_kind history_compare(const struct history_keys *a,
				  const struct history_keys *b)
{
	if (a->u0 != b->u0 || (!a->u0 && a->patch != b->patch))
		return HISTORY_REPLACED;
	if (a->patch != b->patch)
		return HISTORY_CONTEXT;
	return a->title != b->title ? HISTORY_REWORDED : HISTORY_SAME;
}

static void set_kind(const struct history_keys *keys,
		     const struct history_list *before,
		     const struct history_list *after,
		     struct history_change *c)
{
	c->kind = history_compare(&keys[before->patch[c->before]],
				  &keys[after->patch[c->after]]);
	if (c->kind == HISTORY_SAME && c->moved)
		c->kind = HISTORY_MOVED;
}

int history_diff(const struct history_keys *keys, const uint32_t *lineage,
		 size_t npatches, const struct history_list *before,
		 const struct history_list *after, struct history_change *out,
		 size_t *n)
{
	static const struct history_list nothing = { .n = 0 };
	const struct history_list *from = before && !after->linear ? before :
								    &nothing;
	size_t room = npatches + 2 * from->n + 2 * after->n + 1;
	size_t *head = malloc(room * sizeof(*head)), *next, *pair_of;

	if (!head)
		return -1;
	next = head + npatches;
	pair_of = next + from->n;
	for (size_t i = 0; i < npatches; i++)
		head[i] = NONE;
	for (size_t i = 0; i < from->n; i++)
		pair_of[i] = NONE;
	for (size_t i = 0; i < after->n; i++)
		out[i] = (struct history_change){ .before = NONE, .after = i };
	pair(from, after, NULL, head, next, pair_of, out);
	pair(from, after, lineage, head, next, pair_of, out);
	mark_moved(out, after->n, pair_of + from->n,
		   pair_of + from->n + after->n);
	for (size_t i = 0; i < after->n; i++)
		if (out[i].before < from->n)
			set_kind(keys, from, after, &out[i]);
		else
			out[i].kind = before ? HISTORY_ADDED : HISTORY_SAME;
	*n = after->n;
	for (size_t i = 0; i < from->n; i++)
		if (pair_of[i] == NONE)
			out[(*n)++] = (struct history_change){
				HISTORY_DROPPED, false, i, NONE };
	free(head);
	return 0;
}
