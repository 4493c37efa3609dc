/* SPDX-License-Identifier: GPL-2.0-only */
/* Pushes out: what one changed, which hosts measured them. */
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "store_priv.h"

/* --- all lists and keys ------------------------------------------------ */

void lists_free(struct lists *l)
{
	store_pushes_free(&l->pushes);
	free(l->v);
	free(l->ids);
	free(l->keys);
	free(l->lineage);
	free(l->landed);
}

/* Ids that a damaged file could hold are kept in bounds. */
static int unpack_lists(struct lists *l)
{
	size_t all = 0, at = 0, tree = 0;

	for (size_t i = 0; i < l->pushes.n; i++)
		all += (size_t)l->pushes.v[i].commits;
	l->v = calloc(l->pushes.n + 1, sizeof(*l->v));
	l->ids = calloc(all + 1, sizeof(*l->ids));
	if (!l->v || !l->ids)
		return -1;
	for (size_t i = 0; i < l->pushes.n; i++) {
		const struct store_push *p = &l->pushes.v[i];
		struct runs r = runs_of(p);

		tree += i && strcmp(p->tree, p[-1].tree) != 0;
		l->v[i] = (struct history_list){ tree, p->linear == 1,
						 &l->ids[at], 0 };
		while (runs_next(&r))
			for (int64_t k = 0; k < r.n && at < all; k++)
				if (r.first + k < (int64_t)l->nkeys) {
					l->ids[at++] = (uint32_t)(r.first + k);
					l->v[i].n++;
				}
	}
	return 0;
}

static int read_keys(sqlite3 *db, struct lists *l, struct err *e)
{
	sqlite3_stmt *st = store_query(db, "SELECT coalesce(max(id), 0) + 1"
				       " FROM patch", "");
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;

	if (rc == SQLITE_ROW)
		l->nkeys = (size_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	l->keys = calloc(l->nkeys + 1, sizeof(*l->keys));
	l->lineage = calloc(l->nkeys + 1, sizeof(*l->lineage));
	l->landed = calloc(l->nkeys + 1, sizeof(*l->landed));
	if (!l->keys || !l->lineage || !l->landed)
		return err_set(e, "out of memory");
	st = store_query(db, "SELECT id, key_link, key_quilt, key_patch,"
			 " key_u0, key_title FROM patch", "");
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW)
		l->keys[sqlite3_column_int64(st, 0)] = (struct history_keys){
			sqlite3_column_int64(st, 1),
			sqlite3_column_int64(st, 2),
			sqlite3_column_int64(st, 3),
			sqlite3_column_int64(st, 4),
			sqlite3_column_int64(st, 5),
		};
	return store_ended(db, st, rc, e);
}

int lists_read(sqlite3 *db, struct lists *out, struct err *e)
{
	if (store_pushes(db, NULL, "p.patches", &out->pushes, e) ||
	    read_keys(db, out, e))
		return -1;
	if (unpack_lists(out) ||
	    history_lineage(out->keys, out->nkeys, out->v, out->pushes.n,
			    out->lineage))
		return err_set(e, "out of memory");
	for (uint32_t i = 0; i < out->pushes.n; i++)
		for (size_t k = 0; out->v[i].linear && k < out->v[i].n; k++) {
			uint32_t *at = &out->landed[out->lineage[
						    out->v[i].patch[k]]];

			*at = *at ? *at : i + 1;
		}
	return 0;
}

/* --- who measured it --------------------------------------------------- */

static const struct column side_columns[] = {
	TEXT_(store_side, host), TEXT_(store_side, before),
	TEXT_(store_side, after), COL_END
};

char *sources(const struct store_pushes *all, const struct store_push *p)
{
	struct buf b = BUF_INIT;

	if (!p)
		return NULL;
	buf_printf(&b, "[\"%s\",\"%s\"", p->new, p->tree_hash);
	for (size_t i = 0; *p->tree_hash && all && i < all->n; i++)
		if (!strcmp(all->v[i].tree_hash, p->tree_hash))
			buf_printf(&b, ",\"%s\"", all->v[i].new);
	buf_char(&b, ']');
	return buf_detach(&b, NULL);
}

int read_sides(sqlite3 *db, const struct store_pushes *all,
	       const struct store_push *before, const struct store_push *after,
	       struct store_sides *out, struct err *e)
{
	/* Of several builds any, but always the same one. */
	static const char sql[] =
		"SELECT h.label, min(k.key) FILTER (WHERE " OF_SOURCE("?1") "),"
		" min(k.key) FILTER (WHERE " OF_SOURCE("?2") ") FROM kernel k"
		" CROSS JOIN run u ON u.kernel = k.id"
		" JOIN epoch x ON x.id = u.epoch JOIN host h ON h.id = x.host"
		" WHERE (" OF_SOURCE("?1") " OR " OF_SOURCE("?2") ")"
		" AND NOT k.changed GROUP BY h.label ORDER BY h.label";
	char *was = sources(all, before), *is = sources(all, after);
	int ret = -1;

	*out = (struct store_sides){ NULL, 0 };
	if (!is || (before && !was))
		err_set(e, "out of memory");
	else
		ret = rows_read(db, store_query(db, sql, "tt", was, is),
				side_columns, sizeof(*out->v), out, e);
	free(was);
	free(is);
	return ret;
}

void sides_free(struct store_sides *s)
{
	rows_free(s, side_columns, sizeof(*s->v));
}

/* --- one push against the one before ----------------------------------- */

static const struct column commit_columns[] = {
	TEXT_(store_commit, sha), TEXT_(store_commit, subject),
	TEXT_(store_commit, author), TEXT_(store_commit, authored_at),
	TEXT_(store_commit, patch_id), TEXT_(store_commit, link),
	TEXT_(store_commit, quilt), TEXT_(store_commit, files), COL_END
};

int64_t *read_revisions(sqlite3 *db, int64_t id, size_t n, struct err *e)
{
	sqlite3_stmt *st = store_query(db, "SELECT revisions FROM push"
				       " WHERE id = ?1", "i", id);
	int64_t *v = calloc(n + 1, sizeof(*v));
	int rc = !v ? SQLITE_NOMEM : st ? sqlite3_step(st) : SQLITE_ERROR;
	struct runs r = { .n = 0 };
	size_t at = 0;

	if (rc == SQLITE_ROW) {
		r.at = r.end = sqlite3_column_blob(st, 0);
		if (r.at)
			r.end += sqlite3_column_bytes(st, 0);
		while (runs_next(&r))
			for (int64_t k = 0; k < r.n && at < n; k++)
				v[at++] = r.first + k;
		rc = SQLITE_DONE;
	}
	if (!store_ended(db, st, rc, e))
		return v;
	free(v);
	return NULL;
}

int read_commit(sqlite3_stmt *st, int64_t revision, struct store_commit *out)
{
	int ret = -1;

	sqlite3_bind_int64(st, 1, revision);
	if (sqlite3_step(st) == SQLITE_ROW)
		ret = row_read(st, 0, commit_columns, out);
	sqlite3_reset(st);
	return ret;
}

void commit_free(struct store_commit *c)
{
	row_free(commit_columns, c);
}

/* What fills a struct store_change. */
struct filler {
	sqlite3_stmt *st;
	const struct lists *l;
	const struct history_list *before, *after;
	const int64_t *was, *is;	/* revisions, by place */
};

static int fill_change(const struct filler *f, const struct history_change *c,
		       struct store_change *out)
{
	const char *landed = NULL;
	uint32_t push;
	struct store_commit was = { 0 };
	int ret = 0;

	out->kind = c->kind;
	out->moved = c->moved;
	out->place = c->after == SIZE_MAX ? RECORD_NULL : (int64_t)c->after + 1;
	out->was = c->before == SIZE_MAX ? RECORD_NULL : (int64_t)c->before + 1;
	if (f->was && c->before != SIZE_MAX)
		ret = read_commit(f->st, f->was[c->before], &was);
	if (c->after != SIZE_MAX)
		ret |= read_commit(f->st, f->is[c->after], &out->commit);
	out->was_sha = was.sha ? strdup(was.sha) : NULL;
	if (f->before && c->kind == HISTORY_DROPPED) {
		push = f->l->landed[f->l->lineage[
				    f->before->patch[c->before]]];
		landed = push ? f->l->pushes.v[push - 1].tree : NULL;
		out->commit = was;
	} else {
		commit_free(&was);
	}
	out->landed = landed ? strdup(landed) : NULL;
	return ret || (was.sha && !out->was_sha) || (landed && !out->landed) ?
		-1 : 0;
}

/* What a person looks at first. */
static int by_interest(const void *a, const void *b)
{
	const struct store_change *x = a, *y = b;

	if (!x->commit.files != !y->commit.files)
		return x->commit.files ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->was < y->was ? -1 : x->was > y->was;
}

static int read_changes(const struct filler *f, bool all,
			struct store_diff *out)
{
	size_t n = f->after->n + (f->before ? f->before->n : 0);
	struct history_change *c = calloc(n + 1, sizeof(*c));
	int ret = -1;

	out->v = calloc(n + 1, sizeof(*out->v));
	if (!c || !out->v ||
	    history_diff(f->l->keys, f->l->lineage, f->l->nkeys, f->before,
			 f->after, c, &n))
		goto out;
	for (size_t i = 0; i < n; i++) {
		out->count[c[i].kind]++;
		if (c[i].kind == HISTORY_SAME && !all)
			continue;
		if (fill_change(f, &c[i], &out->v[out->n++]))
			goto out;
	}
	qsort(out->v, out->n, sizeof(*out->v), by_interest);
	ret = 0;
out:
	free(c);
	return ret;
}

/* Of push number @at. */
static int read_diff(sqlite3 *db, struct lists *l, size_t at, bool all,
		     struct store_diff *out, struct err *e)
{
	struct store_push *p = &l->pushes.v[at];
	bool first = !at || l->v[at].tree != l->v[at - 1].tree;
	struct filler f = {
		.st = store_query(db, COMMIT, ""), .l = l, .after = &l->v[at],
		.before = first ? NULL : &l->v[at - 1],
	};
	int64_t *is = read_revisions(db, p->id, f.after->n, e);
	int64_t *was = first ? NULL : read_revisions(db, p[-1].id,
						     f.before->n, e);
	int ret = -1;

	f.is = is;
	f.was = was;
	if (!is || (!first && !was))
		goto out;
	if (!f.st || read_changes(&f, all, out)) {
		err_set(e, "out of memory");
		goto out;
	}
	if (read_sides(db, &l->pushes, first ? NULL : p - 1, p, &out->sides,
		       e))
		goto out;
	if (at + 1 < l->pushes.n && l->v[at].tree == l->v[at + 1].tree)
		snprintf(out->after, sizeof(out->after), "%s", p[1].key);
	out->push = *p;
	*p = (struct store_push){ 0 };
	if (!first) {
		out->before = p[-1];
		p[-1] = (struct store_push){ 0 };
	}
	ret = 0;
out:
	sqlite3_finalize(f.st);
	free(is);
	free(was);
	return ret;
}

enum store_answer store_diff(struct store *s, const char *key, bool all,
			     struct store_diff *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	enum store_answer a = STORE_ERROR;
	struct lists l = { .v = NULL };
	size_t at = 0;

	memset(out, 0, sizeof(*out));
	if (lists_read(db, &l, e))
		goto out;
	while (at < l.pushes.n && strcmp(l.pushes.v[at].key, key) != 0)
		at++;
	if (at == l.pushes.n) {
		err_set(e, "id: no push \"%s\"", key);
		a = STORE_MISSING;
	} else if (l.v && !read_diff(db, &l, at, all, out, e)) {
		a = STORE_SAME;
	}
out:
	store_reader_back(s, db);
	lists_free(&l);
	if (a != STORE_SAME)
		store_diff_free(out);
	return a;
}

void store_diff_free(struct store_diff *d)
{
	for (size_t i = 0; d->v && i < d->n; i++) {
		commit_free(&d->v[i].commit);
		free(d->v[i].was_sha);
		free(d->v[i].landed);
	}
	free(d->v);
	store_push_free(&d->push);
	store_push_free(&d->before);
	sides_free(&d->sides);
	memset(d, 0, sizeof(*d));
}

/* --- trees ------------------------------------------------------------- */

int store_trees(struct store *s, struct store_trees *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	struct store_pushes all;
	int ret = store_pushes(db, NULL, "NULL", &all, e);

	store_reader_back(s, db);
	*out = (struct store_trees){ NULL, 0 };
	for (size_t i = 0; i < all.n && !ret; i++) {
		struct store_push *p = &all.v[i];
		struct store_tree *t = out->n ? &out->v[out->n - 1] : NULL;

		if (!t || strcmp(t->name, p->tree) != 0) {
			t = ADD_ROW(out, sizeof(*t));
			if (!t || !(t->name = strdup(p->tree))) {
				ret = err_set(e, "out of memory");
				break;
			}
		}
		store_push_free(&t->newest);
		t->newest = *p;
		t->linear = p->linear;
		t->pushes++;
		*p = (struct store_push){ 0 };
	}
	store_pushes_free(&all);
	if (ret)
		store_trees_free(out);
	return ret;
}

void store_trees_free(struct store_trees *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].name);
		store_push_free(&t->v[i].newest);
	}
	free(t->v);
	*t = (struct store_trees){ NULL, 0 };
}

/* --- pushes by hosts --------------------------------------------------- */

/* Hosts that ran or skipped any push of the tree. */
#define GRID_HOSTS \
	"SELECT DISTINCT h.label FROM tree t" \
	" CROSS JOIN push p ON p.tree = t.id" \
	" CROSS JOIN kernel k ON k.commit_sha = p.new" \
	" CROSS JOIN run u ON u.kernel = k.id JOIN epoch x ON x.id = u.epoch" \
	" JOIN host h ON h.id = x.host WHERE t.name = ?1" \
	" UNION SELECT s.host FROM skip s WHERE s.what IN (SELECT p.key" \
	" FROM tree t JOIN push p ON p.tree = t.id WHERE t.name = ?1" \
	" UNION ALL SELECT p.new FROM tree t JOIN push p ON p.tree = t.id" \
	" WHERE t.name = ?1) ORDER BY 1"

static const struct column host_columns[] = {
	TEXT_(store_grid_host, name), COL_END
};

/* Which of its pushes are shown: the newest @last before @before. */
static enum store_answer choose_page(struct store_grid *g, const char *before,
				     size_t last, struct err *e)
{
	size_t to = g->pushes.n;

	while (before && to && strcmp(g->pushes.v[to - 1].key, before) != 0)
		to--;
	if (before && !to) {
		err_set(e, "before: no push \"%s\" in this tree", before);
		return STORE_MISSING;
	}
	g->to = to - (before != NULL);
	g->from = g->to > last ? g->to - last : 0;
	return STORE_SAME;
}

/* Which hosts measured one push, into its cells. */
static int fill_row(sqlite3 *db, const struct store_push *p,
		    const struct store_grid *g, struct store_grid_cell *cells,
		    struct err *e)
{
	struct store_sides s;
	int ret = read_sides(db, &g->pushes, NULL, p, &s, e);

	for (size_t i = 0; i < s.n; i++)
		for (size_t h = 0; h < g->nhosts; h++)
			if (!strcmp(g->hosts[h].name, s.v[i].host)) {
				cells[h].key = s.v[i].after;
				s.v[i].after = NULL;
			}
	sides_free(&s);
	return ret;
}

static int fill_grid(sqlite3 *db, struct store_grid *g, struct err *e)
{
	size_t n = g->to - g->from;
	struct store_pushes page = { &g->pushes.v[g->from], n };

	g->cells = calloc(n * g->nhosts + 1, sizeof(*g->cells));
	if (!g->cells)
		return err_set(e, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (fill_row(db, &page.v[i], g, &g->cells[i * g->nhosts], e))
			return -1;
	for (size_t h = 0; h < g->nhosts; h++) {
		if (store_skips(db, g->hosts[h].name, &page, e))
			return -1;
		for (size_t i = 0; i < n; i++) {
			g->cells[i * g->nhosts + h].skip = page.v[i].skip;
			page.v[i].skip = NULL;
		}
	}
	return 0;
}

enum store_answer store_grid(struct store *s, const char *tree,
			     const char *before, size_t last,
			     struct store_grid *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	enum store_answer a = STORE_ERROR;

	memset(out, 0, sizeof(*out));
	if (!store_pushes(db, tree, "NULL", &out->pushes, e) &&
	    !rows_read(db, store_query(db, GRID_HOSTS, "t", tree), host_columns,
		       sizeof(*out->hosts), &out->hosts, e))
		a = out->pushes.n ? choose_page(out, before, last, e) :
				    STORE_MISSING;
	if (!out->pushes.n && a == STORE_MISSING)
		err_set(e, "name: no push of \"%s\" is known", tree);
	if (a == STORE_SAME && fill_grid(db, out, e))
		a = STORE_ERROR;
	store_reader_back(s, db);
	if (a != STORE_SAME)
		store_grid_free(out);
	return a;
}

void store_grid_free(struct store_grid *g)
{
	for (size_t i = 0; g->cells && i < (g->to - g->from) * g->nhosts; i++) {
		free(g->cells[i].key);
		free(g->cells[i].skip);
	}
	free(g->cells);
	rows_free(&g->hosts, host_columns, sizeof(*g->hosts));
	store_pushes_free(&g->pushes);
	memset(g, 0, sizeof(*g));
}
