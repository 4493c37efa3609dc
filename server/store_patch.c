/* SPDX-License-Identifier: GPL-2.0-only */
/* One patch over all its SHAs; what a host should measure next. */
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "store_priv.h"

#define MAX_MAILS	256	/* shown of a patch's series */

/* --- which patch a key is of ------------------------------------------- */

/* Of all patches that carry it; they may be of several lineages. */
static const char *const find_sql[] = {
	"SELECT patch FROM revision WHERE sha BETWEEN ?2 AND ?3",
	("SELECT id FROM patch WHERE patch_id BETWEEN ?1 AND ?1 || 'g'"
	" OR patch_id_u0 BETWEEN ?1 AND ?1 || 'g'"),
	"SELECT id FROM patch WHERE link = ?1 OR quilt = ?1",
};

/* One way of finding it: -1 with @e; 0: not; 1: *@lineage. */
static int find_by(sqlite3 *db, const char *sql, const char *key,
		   const struct lists *l, uint32_t *lineage, struct err *e)
{
	unsigned char from[20], to[20];
	sqlite3_stmt *st = NULL;
	int rc = SQLITE_ERROR, found = 0;

	store_sha(key, '0', from);
	store_sha(key, 'f', to);
	st = store_query(db, sql, "tbb", key, from, sizeof(from), to,
			 sizeof(to));
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		size_t id = (size_t)sqlite3_column_int64(st, 0);

		if (found && l->lineage[id] != *lineage)
			found = 2;
		if (found > 1)
			break;
		found = 1;
		*lineage = l->lineage[id];
	}
	if (rc == SQLITE_ROW)
		err_set(e, "key: more than one patch has \"%s\"", key);
	else if (rc != SQLITE_DONE)
		found = store_failed(db, e);
	sqlite3_finalize(st);
	return found;
}

static enum store_answer find_patch(sqlite3 *db, const char *key,
				    const struct lists *l, uint32_t *lineage,
				    struct err *e)
{
	size_t len = strlen(key);
	bool hex = len >= 8 && len <= 40 &&
		   strspn(key, "0123456789abcdef") == len;
	int found = 0;

	for (size_t i = hex ? 0 : 2; i < 3 && !found; i++)
		found = find_by(db, find_sql[i], key, l, lineage, e);
	return found < 0 ? STORE_ERROR : found == 1 ? STORE_SAME :
	       found ? STORE_CONFLICT : STORE_MISSING;
}

/* --- its revisions ----------------------------------------------------- */

static char *copy(const char *s, bool *failed)
{
	char *to = s ? strdup(s) : NULL;

	*failed |= s && !to;
	return to;
}

static int add_revision(sqlite3_stmt *st, const struct store_push *p,
			int64_t id, enum history_kind kind,
			struct store_patch *out)
{
	struct store_revision *r = ADD_ROW(&out->v, sizeof(*r));
	bool failed = false;

	if (!r || read_commit(st, id, &r->commit))
		return -1;
	r->kind = kind;
	r->tree = copy(p->tree, &failed);
	r->first_at = copy(p->pushed_at, &failed);
	snprintf(r->first, sizeof(r->first), "%s", p->key);
	return failed ? -1 : 0;
}

static int extend_revision(struct store_revision *r, const struct store_push *p)
{
	bool failed = false;

	free(r->last_at);
	r->last_at = copy(p->pushed_at, &failed);
	snprintf(r->last, sizeof(r->last), "%s", p->key);
	r->pushes++;
	return failed ? -1 : 0;
}

static const struct column touch_columns[] = {
	TEXT_(store_touch, tree), TEXT_(store_touch, pushed_at),
	TEXT_(store_touch, side.host), TEXT_(store_touch, side.before),
	TEXT_(store_touch, side.after), COL_END
};

/* A commit of the lineage in a push. */
struct live {
	int64_t revision, below;	/* in the list: 0: it is the first */
	uint32_t patch;
	size_t place, row;	/* in the list; in out->v, SIZE_MAX: not yet */
	enum history_kind kind;	/* against the push before */
};
struct lives { struct live *v; size_t n; };

/* Where the walk over pushes is. */
struct walk {
	sqlite3 *db;
	sqlite3_stmt *commit;
	const struct lists *l;
	uint32_t lineage;
	struct lives last;	/* of the tree's last push that had any */
	bool here;		/* which is the push before */
};

/* A row for each host that ran either side; one without, where a push did
 * something and nobody did. */
static int touch(struct walk *w, size_t push, enum history_kind kind,
		 const struct store_push *before,
		 const struct store_push *after, struct store_patch *out,
		 struct err *e)
{
	const struct store_push *p = &w->l->pushes.v[push];
	bool failed = false;
	struct store_sides s;
	size_t n;

	if (read_sides(w->db, &w->l->pushes, before, after, &s, e))
		return -1;
	n = s.n || kind == HISTORY_SAME ? s.n : 1;
	for (size_t i = 0; i < n && !failed; i++) {
		struct store_touch *t = ADD_ROW(&out->touched, sizeof(*t));

		failed = !t;
		if (failed)
			break;
		t->kind = kind;
		t->tree = copy(p->tree, &failed);
		t->pushed_at = copy(p->pushed_at, &failed);
		snprintf(t->push, sizeof(t->push), "%s", p->key);
		if (s.n) {
			t->side = s.v[i];
			s.v[i] = (struct store_side){ NULL, NULL, NULL };
		}
	}
	sides_free(&s);
	return failed ? err_set(e, "out of memory") : 0;
}

/* A tip is told by its push; what was measured of the commit alone, as by a
 * bisection, against the commit below it. */
static int touch_commit(struct walk *w, size_t push, const struct live *is,
			struct store_patch *out, struct err *e)
{
	const struct store_push *p = &w->l->pushes.v[push];
	struct store_commit below = { 0 };
	char *sha = out->v[is->row].commit.sha, none[] = "";
	struct store_push after = { .new = sha, .tree_hash = none };
	struct store_push before = after;
	int ret = 0;

	if (!strcmp(sha, p->new))
		return 0;
	for (size_t i = 0; i < is->row; i++)
		if (!strcmp(sha, out->v[i].commit.sha))
			return 0;
	if (is->below && read_commit(w->commit, is->below, &below))
		return err_set(e, "out of memory");
	before.new = is->below ? below.sha : p->base;
	ret = touch(w, push, HISTORY_SAME, before.new ? &before : NULL, &after,
		    out, e);
	commit_free(&below);
	return ret;
}

static int find_lives(const struct walk *w, size_t push, struct lives *out,
		      struct err *e)
{
	const struct history_list *list = &w->l->v[push];
	int64_t *ids = NULL;

	for (size_t i = 0; i < list->n; i++) {
		struct live *x;

		if (w->l->lineage[list->patch[i]] != w->lineage)
			continue;
		x = ADD_ROW(out, sizeof(*x));
		if (!x)
			return err_set(e, "out of memory");
		x->patch = list->patch[i];
		x->place = i;
		x->row = SIZE_MAX;
	}
	if (out->n)
		ids = read_revisions(w->db, w->l->pushes.v[push].id, list->n,
				     e);
	for (size_t i = 0; ids && i < out->n; i++) {
		size_t place = out->v[i].place;

		out->v[i].revision = ids[place];
		out->v[i].below = place ? ids[place - 1] : 0;
	}
	free(ids);
	return out->n && !ids ? -1 : 0;
}

static const struct live *find_revision(const struct lives *l, int64_t revision)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].revision == revision)
			return &l->v[i];
	return NULL;
}

/* What became of those that did not stay the same commit, as /pushes has it;
 * @most: what this was for the lineage. */
static int compare_lives(const struct walk *w, bool linear, struct lives *now,
			 enum history_kind *most)
{
	size_t n = w->last.n + now->n, k = 0;
	uint32_t *ids = calloc(n + 1, sizeof(*ids));
	struct history_change *c = calloc(n + 1, sizeof(*c));
	struct history_list was = { .patch = ids }, is = {
		.linear = linear, .patch = ids ? ids + w->last.n : NULL };
	int ret = ids && c ? 0 : -1;

	for (size_t i = 0; !ret && i < w->last.n; i++)
		if (!find_revision(now, w->last.v[i].revision))
			ids[was.n++] = w->last.v[i].patch;
	for (size_t i = 0; !ret && i < now->n; i++)
		if (now->v[i].row == SIZE_MAX)
			ids[w->last.n + is.n++] = now->v[i].patch;
	if (!ret)
		ret = history_diff(w->l->keys, w->l->lineage, w->l->nkeys, &was,
				   &is, c, &n);
	*most = HISTORY_SAME;
	for (size_t i = 0; !ret && i < n; i++) {
		if (c[i].kind == HISTORY_MOVED)
			c[i].kind = HISTORY_SAME;
		if (c[i].kind < *most)
			*most = c[i].kind;
	}
	for (size_t i = 0; !ret && i < now->n; i++)
		if (now->v[i].row == SIZE_MAX)
			now->v[i].kind = c[k++].kind;
	free(ids);
	free(c);
	return ret;
}

/* The rows of those that a push has. */
static int tell_lives(struct walk *w, size_t push, struct lives *now,
		      struct store_patch *out)
{
	const struct store_push *p = &w->l->pushes.v[push];

	for (size_t i = 0; i < now->n; i++) {
		struct live *x = &now->v[i];

		if (x->row == SIZE_MAX) {
			x->row = out->n;
			if (add_revision(w->commit, p, x->revision, x->kind,
					 out))
				return -1;
		}
		if (extend_revision(&out->v[x->row], p))
			return -1;
	}
	return 0;
}

static int visit_push(struct walk *w, size_t push, struct lives *now,
		      struct store_patch *out, struct err *e)
{
	const struct history_list *list = &w->l->v[push];
	const struct store_push *p = &w->l->pushes.v[push];
	size_t rows = out->n;
	enum history_kind most;
	int ret = 0;

	for (size_t i = 0; i < now->n; i++) {
		const struct live *was = find_revision(&w->last,
						       now->v[i].revision);

		if (was)
			now->v[i].row = was->row;
	}
	if (compare_lives(w, list->linear, now, &most) ||
	    tell_lives(w, push, now, out))
		return err_set(e, "out of memory");
	if (!w->here || most != HISTORY_SAME)
		ret = touch(w, push, w->here ? most : HISTORY_ADDED,
			    push && list->tree == list[-1].tree ? p - 1 : NULL,
			    p, out, e);
	for (size_t i = 0; !ret && i < now->n; i++)
		if (now->v[i].row >= rows)
			ret = touch_commit(w, push, &now->v[i], out, e);
	return ret;
}

/* Push after push, tree after tree. */
static int read_life(struct walk *w, struct store_patch *out, struct err *e)
{
	int ret = 0;

	for (size_t i = 0; i < w->l->pushes.n && !ret; i++) {
		const struct store_push *p = &w->l->pushes.v[i];
		struct lives now = { NULL, 0 };

		if (!i || w->l->v[i].tree != w->l->v[i - 1].tree) {
			w->last.n = 0;
			w->here = false;
		}
		ret = find_lives(w, i, &now, e);
		if (!ret && now.n)
			ret = visit_push(w, i, &now, out, e);
		else if (!ret && w->here && !w->l->v[i].linear)
			ret = touch(w, i, HISTORY_DROPPED, p - 1, p, out, e);
		w->here = now.n;
		if (now.n) {
			free(w->last.v);
			w->last = now;
		} else {
			free(now.v);
		}
	}
	free(w->last.v);
	return ret;
}

/* --- the mails that it came in ----------------------------------------- */

static const struct column mail_columns[] = {
	TEXT_(store_mail, link), TEXT_(store_mail, subject), COL_END
};

/* The length of "2026.2063-" in "2026.2063-2-a@example.org", and where "-a@..."
 * begins; NULL: its number is not to be seen. */
static const char *mail_number(const char *link, size_t *prefix)
{
	const char *at = strchr(link, '@'), *dash = NULL;

	for (const char *s = link; at && s < at; s++)
		if (*s == '-' && s[1 + strspn(s + 1, "0123456789")] == '-' &&
		    s[1] != '-')
			dash = s;
	if (!dash)
		return NULL;
	*prefix = (size_t)(dash + 1 - link);
	return dash + 1 + strspn(dash + 1, "0123456789");
}

/* All that came with @link, which it names itself if it has no number. */
static int read_mails(sqlite3 *db, const char *link, struct store_patch *out,
		      struct err *e)
{
	static const char sql[] =
		"SELECT DISTINCT link, subject FROM patch WHERE link = ?1 OR"
		" (substr(link, 1, length(?2)) = ?2 AND"
		" ltrim(substr(link, length(?2) + 1), '0123456789') = ?3)"
		" ORDER BY length(link), link, subject";
	size_t prefix = 0;
	const char *suffix = mail_number(link, &prefix);
	char *head = suffix ? strndup(link, prefix) : NULL;
	sqlite3_stmt *st = store_query(db, sql, "ttt", link, head, suffix);
	int rc = SQLITE_ERROR;

	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct store_mail *m = NULL;

		if (out->nmails < MAX_MAILS)
			m = ADD_ROW(&out->mails, sizeof(*m));
		else
			rc = SQLITE_DONE;
		if (!m || row_read(st, 0, mail_columns, m))
			break;
	}
	free(head);
	return store_ended(db, st, rc, e);
}

/* Each version's mail once, as the patch got it. */
static int read_versions(sqlite3 *db, struct store_patch *out, struct err *e)
{
	for (size_t i = 0; i < out->n; i++) {
		const char *link = out->v[i].commit.link;
		bool known = !link;

		for (size_t k = 0; k < out->nmails && !known; k++)
			known = !strcmp(out->mails[k].link, link);
		if (!known && read_mails(db, link, out, e))
			return -1;
	}
	return 0;
}

/* --- all of it --------------------------------------------------------- */

static enum store_answer read_patch(sqlite3 *db, const char *key,
				    struct lists *l, struct store_patch *out,
				    struct err *e)
{
	struct walk w = { .db = db, .l = l };
	enum store_answer a = STORE_ERROR;
	int ret;

	if (lists_read(db, l, e))
		return a;
	a = find_patch(db, key, l, &w.lineage, e);
	/* A link that several patches share leads to all of them. */
	if (a == STORE_MISSING || (a == STORE_CONFLICT && strchr(key, '@'))) {
		ret = read_mails(db, key, out, e);
		if (!ret && !out->nmails)
			err_set(e, "key: no patch has \"%s\" (expected a SHA, "
				"a patch-id, 8 or more digits of one, a "
				"Message-ID or a quilt name)", key);
		return ret ? STORE_ERROR : out->nmails ? STORE_SAME :
			STORE_MISSING;
	}
	if (a != STORE_SAME)
		return a;
	w.commit = store_query(db, COMMIT, "");
	ret = w.commit ? read_life(&w, out, e) : store_failed(db, e);
	sqlite3_finalize(w.commit);
	return ret || read_versions(db, out, e) ? STORE_ERROR : a;
}

enum store_answer store_patch(struct store *s, const char *key,
			      struct store_patch *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	struct lists l = { .v = NULL };
	enum store_answer a;

	memset(out, 0, sizeof(*out));
	a = read_patch(db, key, &l, out, e);
	store_reader_back(s, db);
	lists_free(&l);
	if (a != STORE_SAME)
		store_patch_free(out);
	return a;
}

void store_patch_free(struct store_patch *p)
{
	for (size_t i = 0; i < p->n; i++) {
		commit_free(&p->v[i].commit);
		free(p->v[i].tree);
		free(p->v[i].first_at);
		free(p->v[i].last_at);
	}
	free(p->v);
	rows_free(&p->touched, touch_columns, sizeof(*p->touched));
	rows_free(&p->mails, mail_columns, sizeof(*p->mails));
	memset(p, 0, sizeof(*p));
}

/* --- what a host should measure next ----------------------------------- */

static const struct column todo_columns[] = {
	TEXT_(store_todo, bench), TEXT_(store_todo, sizes),
	INT_(store_todo, whole), COL_END
};
#define TRIES	3	/* at a figure that turns out invalid or fails */
/*
 * What the newest machine of a host can measure, but for what is settled of the
 * source @2: known to be right or not to be had, or tried often enough. Nothing
 * if it was skipped (@6) and nothing of it is there.
 */
#define WANTED \
	"SELECT bench, group_concat(folio_bytes, ' '), NOT EXISTS (SELECT 1" \
	" FROM kernel k CROSS JOIN run u ON u.kernel = k.id" \
	" JOIN epoch x ON x.id = u.epoch WHERE " OF_SOURCE("?2") \
	" AND NOT k.changed AND x.host = (SELECT host FROM epoch" \
	" WHERE id = ?1)) AS whole FROM (" \
	"SELECT DISTINCT m.bench, s.folio_bytes FROM metric m" \
	" CROSS JOIN series s ON s.metric = m.id" \
	" WHERE m.epoch = ?1 AND m.valid AND ?3 > (SELECT" \
	" count(DISTINCT r.run) + ?3 * total(r.status NOT IN (?4, ?5))" \
	" FROM kernel k" \
	" CROSS JOIN metric o ON o.epoch = m.epoch AND o.bench = m.bench" \
	" CROSS JOIN series z ON z.metric = o.id" \
	" AND z.folio_bytes = s.folio_bytes" \
	" CROSS JOIN result r ON r.metric = o.id AND r.pool = k.pool" \
	" AND r.series = z.id WHERE " OF_SOURCE("?2") \
	" AND NOT k.changed) ORDER BY m.bench, s.folio_bytes) GROUP BY bench" \
	" HAVING NOT whole OR NOT ?6"
#define NEWEST_EPOCH \
	"SELECT e.id FROM host h CROSS JOIN epoch e ON e.host = h.id" \
	" WHERE h.label = ?1 ORDER BY (SELECT max(started_at) FROM run" \
	" WHERE epoch = e.id) DESC, e.sha256 LIMIT 1"

/* Trees of which the host ran a tip, with their newest @last pushes. */
#define FOLLOWED \
	"SELECT DISTINCT t.name FROM tree t" \
	" CROSS JOIN push p ON p.tree = t.id" \
	" CROSS JOIN kernel k ON k.commit_sha = p.new AND NOT k.changed" \
	" CROSS JOIN run u ON u.kernel = k.id JOIN epoch x ON x.id = u.epoch" \
	" JOIN host h ON h.id = x.host WHERE h.label = ?1 ORDER BY t.name"

static int add_todo(sqlite3 *db, int64_t epoch, const struct store_pushes *all,
		    const struct store_push *p, struct store_todos *out,
		    struct err *e)
{
	char *source = sources(all, p);
	sqlite3_stmt *st = store_query(db, WANTED, "itiiii", epoch, source,
				       (int64_t)TRIES, (int64_t)RECORD_INVALID,
				       (int64_t)RECORD_FAILED,
				       (int64_t)(p->skip != NULL));
	int rc = !source ? SQLITE_NOMEM : SQLITE_ERROR;

	while (source && st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct store_todo *t = ADD_ROW(out, sizeof(*t));
		bool failed = !t || row_read(st, 0, todo_columns, t);

		if (failed)
			break;
		t->tree = copy(p->tree, &failed);
		t->pushed_at = copy(p->pushed_at, &failed);
		t->commit = copy(p->new, &failed);
		snprintf(t->push, sizeof(t->push), "%s", p->key);
		if (failed)
			break;
	}
	free(source);
	return store_ended(db, st, rc, e);
}

/* A tip that the tree went back to is one thing to do. */
static bool told(const struct store_pushes *p, size_t i)
{
	for (size_t k = i + 1; k < p->n; k++)
		if (!strcmp(p->v[k].new, p->v[i].new))
			return true;
	return false;
}

static int read_tree(sqlite3 *db, const char *host, const char *tree,
		     int64_t epoch, size_t last, struct store_todos *out,
		     struct err *e)
{
	struct store_pushes p, newest;
	int ret = store_pushes(db, tree, "NULL", &p, e);
	size_t from = p.n > last ? p.n - last : 0;

	newest = (struct store_pushes){ p.v + from, p.n - from };
	if (!ret)
		ret = store_skips(db, host, &newest, e);
	for (size_t i = p.n; !ret && i-- > from;)
		if (!told(&p, i))
			ret = add_todo(db, epoch, &p, &p.v[i], out, e);
	store_pushes_free(&p);
	return ret;
}

static int read_todo(sqlite3 *db, const char *host, int64_t epoch, size_t last,
		     struct store_todos *out, struct err *e)
{
	sqlite3_stmt *st = store_query(db, FOLLOWED, "t", host);
	int rc = SQLITE_ERROR, ret = 0;

	while (st && !ret && (rc = sqlite3_step(st)) == SQLITE_ROW)
		ret = read_tree(db, host,
				(const char *)sqlite3_column_text(st, 0),
				epoch, last, out, e);
	if (!ret && rc != SQLITE_DONE)
		ret = store_failed(db, e);
	sqlite3_finalize(st);
	return ret;
}

enum store_answer store_todo(struct store *s, const char *host, size_t last,
			     struct store_todos *out, struct err *e)
{
	sqlite3 *db = store_reader(s);
	sqlite3_stmt *st = store_query(db, NEWEST_EPOCH, "t", host);
	enum store_answer a = STORE_ERROR;
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;

	*out = (struct store_todos){ NULL, 0 };
	if (rc == SQLITE_DONE) {
		err_set(e, "host: no host \"%s\"", host);
		a = STORE_MISSING;
	} else if (rc != SQLITE_ROW) {
		store_failed(db, e);
	} else if (!read_todo(db, host, sqlite3_column_int64(st, 0), last, out,
			      e)) {
		a = STORE_SAME;
	}
	sqlite3_finalize(st);
	store_reader_back(s, db);
	if (a != STORE_SAME)
		store_todo_free(out);
	return a;
}

void store_todo_free(struct store_todos *t)
{
	for (size_t i = 0; i < t->n; i++) {
		row_free(todo_columns, &t->v[i]);
		free(t->v[i].tree);
		free(t->v[i].pushed_at);
		free(t->v[i].commit);
	}
	free(t->v);
	*t = (struct store_todos){ NULL, 0 };
}
