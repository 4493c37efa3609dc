/* SPDX-License-Identifier: GPL-2.0-only */
/* Pushes in and out: their lists of commits, their order, what is on them. */
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "route/pushdoc.h"
#include "store_priv.h"

#define SHA_BYTES	20

int store_ended(sqlite3 *db, sqlite3_stmt *st, int rc, struct err *e)
{
	if (rc == SQLITE_ROW || rc == SQLITE_NOMEM)
		err_set(e, "out of memory");
	else if (rc != SQLITE_DONE)
		store_failed(db, e);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* --- lists of ids, packed: runs of ids that rise by one ---------------- */

static void put_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_char(b, (char)(v | 0x80));
	buf_char(b, (char)v);
}

static void pack_ids(struct buf *b, const int64_t *id, size_t n)
{
	int64_t next = 0;

	for (size_t i = 0, run; i < n; i += run) {
		uint64_t step = (uint64_t)(id[i] - next);

		for (run = 1; i + run < n && id[i + run] == id[i] +
		     (int64_t)run; run++)
			;
		put_varint(b, step << 1 ^ -(step >> 63));
		put_varint(b, run);
		next = id[i] + (int64_t)run;
	}
}

uint64_t varint_next(const unsigned char **at, const unsigned char *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		v |= (uint64_t)(**at & 0x7f) << shift;
		if (*(*at)++ < 0x80)
			break;
	}
	return v;
}

bool runs_next(struct runs *r)
{
	uint64_t step;

	if (r->at == r->end)
		return false;
	step = varint_next(&r->at, r->end);
	r->first = r->next + (int64_t)(step >> 1 ^ -(step & 1));
	r->n = (int64_t)varint_next(&r->at, r->end);
	r->next = r->first + r->n;
	return true;
}

struct runs runs_of(const struct store_push *p)
{
	return (struct runs){ .at = p->list, .end = p->list + p->list_len };
}

/* --- a push in --------------------------------------------------------- */

void store_sha(const char *hex, char pad, unsigned char out[SHA_BYTES])
{
	char two[3] = "";

	for (size_t i = 0; i < SHA_BYTES; i++) {
		two[0] = *hex ? *hex++ : pad;
		two[1] = *hex ? *hex++ : pad;
		out[i] = (unsigned char)strtoul(two, NULL, 16);
	}
}

/* A commit as the writer wants it. */
struct commit {
	const struct push_commit *c;
	unsigned char sha[SHA_BYTES], tree_hash[SHA_BYTES];
	struct history_keys keys;
	int64_t content;
	char *files;		/* NULL: none */
};

struct push_job {
	struct job job;
	const struct push *p;
	char id[HISTORY_ID], sha256[PACK_HEX];
	char *tags;
	struct commit *commits;
	int64_t *revision, *patch;	/* ids; 0: none */
	bool known;		/* it was posted before */
	sqlite3_stmt *st[4];	/* by enum */
};

/* NULL for none; *@failed without memory. */
static char *words(const struct record_strings *w, bool *failed)
{
	struct buf b = BUF_INIT;
	char *s = NULL;

	for (size_t i = 0; i < w->n; i++)
		buf_printf(&b, "%s%s", i ? " " : "", w->v[i]);
	if (w->n)
		s = buf_detach(&b, NULL);
	*failed |= w->n && !s;
	return s;
}

/* Fields that cannot hold a newline, one a line. */
static int64_t key_of(struct buf *b, const char *const *field, size_t n)
{
	buf_reset(b, 0);
	for (size_t i = 0; i < n; i++) {
		buf_str(b, field[i] ? field[i] : "");
		buf_char(b, '\n');
	}
	return buf_ok(b) ? history_key(b->s) : 0;
}

static void make_commit(struct commit *m, const struct push_commit *c,
			struct buf *b, bool *failed)
{
	const char *const title[] = { c->author, c->subject };

	m->c = c;
	m->files = words(&c->files, failed);
	store_sha(c->sha, '0', m->sha);
	store_sha(c->tree_hash, '0', m->tree_hash);
	m->keys = (struct history_keys){
		history_key(c->link), history_key(c->quilt),
		history_key_id(c->patch_id), history_key_id(c->patch_id_u0),
		key_of(b, title, 2),
	};
	m->content = key_of(b, (const char *const[]){
		c->subject, c->author, c->authored_at, c->patch_id,
		c->patch_id_u0, c->link, c->quilt, m->files,
		c->patch_id ? NULL : c->sha,
	}, 9);
}

/* All hashing is done here, on the caller's thread. */
static int make_push(struct push_job *k)
{
	const struct push *p = k->p;
	struct buf line = BUF_INIT, all = BUF_INIT;
	bool failed = false;

	history_id(p->tree, p->old, p->new, p->pushed_at, k->id);
	k->tags = words(&p->tags, &failed);
	k->commits = calloc(p->ncommits + 1, sizeof(*k->commits));
	k->revision = calloc(p->ncommits + 1, sizeof(*k->revision));
	k->patch = calloc(p->ncommits + 1, sizeof(*k->patch));
	if (!k->commits || !k->revision || !k->patch)
		return -1;
	buf_printf(&all, "%s\n%s\n%s\n%s\n%s\n%d\n%s\n", p->tree,
		   p->old ? p->old : "", p->new, p->pushed_at,
		   p->base ? p->base : "", p->linear == 1,
		   k->tags ? k->tags : "");
	for (size_t i = 0; i < p->ncommits; i++) {
		make_commit(&k->commits[i], &p->commits[i], &line, &failed);
		buf_add(&all, k->commits[i].sha, SHA_BYTES);
		buf_add(&all, k->commits[i].tree_hash, SHA_BYTES);
		buf_add(&all, &k->commits[i].content,
			sizeof(k->commits[i].content));
	}
	failed |= !buf_ok(&line) || !buf_ok(&all);
	if (!failed)
		pack_sha256(all.s, all.len, k->sha256);
	buf_free(&line);
	buf_free(&all);
	return failed ? -1 : 0;
}

/* One step of @st, which is left to be bound again. The row's first column; 0:
 * no row; -1. */
static int64_t step(sqlite3_stmt *st, const char *format, ...)
{
	int64_t value = 0;
	va_list ap;

	va_start(ap, format);
	store_bind(st, format, ap);
	va_end(ap);
	if (sqlite3_step(st) == SQLITE_ROW)
		value = sqlite3_column_int64(st, 0);
	return sqlite3_reset(st) == SQLITE_OK ? value : -1;
}

/* The same of a statement that ends here. */
static int64_t once(sqlite3_stmt *st)
{
	int64_t value = st ? step(st, "") : -1;

	sqlite3_finalize(st);
	return value;
}

/* Any page may name what a push or a skip brings. */
static int raise_all(struct store *s)
{
	return once(store_query(s->db, "UPDATE host SET generation ="
				" generation + 1", "")) < 0 ||
	       once(store_query(s->db, "UPDATE tree SET generation ="
				" generation + 1", "")) < 0 ? -1 : 0;
}

/* No RETURNING: it opens a statement journal, which costs more with each page
 * that the transaction has changed. */
enum { REVISION_FIND, REVISION_ADD, PATCH_FIND, PATCH_ADD };
static const char *const commit_sql[] = {
	/* its patch, and the first of the facts in which it differs that git
	 * hashes: what was derived of them stands as it came first */
	[REVISION_FIND] = "SELECT v.id, v.patch, CASE WHEN v.tree_hash <> ?2"
		" THEN 'tree_hash' WHEN p.subject <> ?3 THEN 'subject'"
		" WHEN p.author <> ?4 THEN 'author' WHEN p.authored_at <> ?5"
		" THEN 'authored_at' END FROM revision v"
		" JOIN patch p ON p.id = v.patch WHERE v.sha = ?1",
	[REVISION_ADD] = "INSERT INTO revision(sha, tree_hash, patch)"
		" VALUES(?1, ?2, ?3)",
	[PATCH_FIND] = "SELECT id FROM patch WHERE content = ?1",
	[PATCH_ADD] = "INSERT INTO patch(content, key_link, key_quilt,"
		" key_patch, key_u0, key_title, subject, author, authored_at,"
		" patch_id, patch_id_u0, link, quilt, files) VALUES(?1, ?2, ?3,"
		" ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
};

static int64_t keep_patch(struct store *s, struct push_job *k,
			  const struct commit *m)
{
	const struct push_commit *c = m->c;
	int64_t id = step(k->st[PATCH_FIND], "i", m->content);

	if (id)
		return id;
	id = step(k->st[PATCH_ADD], "iiiiiitttttttt", m->content, m->keys.link,
		  m->keys.quilt, m->keys.patch, m->keys.u0, m->keys.title,
		  c->subject, c->author, c->authored_at, c->patch_id,
		  c->patch_id_u0, c->link, c->quilt, m->files);
	return id < 0 ? id : sqlite3_last_insert_rowid(s->db);
}

static enum store_answer contradicts(const struct push_job *k, size_t i,
				     const char *field)
{
	err_set(k->job.e, "/commits/%zu/%s: \"%s\" is here already with "
		"another", i, field, k->p->commits[i].sha);
	return STORE_CONFLICT;
}

/* The ids of commit @i and its patch, if it is there. */
static enum store_answer find_commit(struct store *s, struct push_job *k,
				     size_t i)
{
	const struct commit *m = &k->commits[i];
	sqlite3_stmt *st = k->st[REVISION_FIND];
	enum store_answer a = STORE_NEW;
	const char *differs;

	sqlite3_bind_blob(st, 1, m->sha, SHA_BYTES, SQLITE_STATIC);
	sqlite3_bind_blob(st, 2, m->tree_hash, SHA_BYTES, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, m->c->subject, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 4, m->c->author, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 5, m->c->authored_at, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW) {
		k->revision[i] = sqlite3_column_int64(st, 0);
		k->patch[i] = sqlite3_column_int64(st, 1);
		differs = (const char *)sqlite3_column_text(st, 2);
		if (differs)
			a = contradicts(k, i, differs);
	}
	return sqlite3_reset(st) == SQLITE_OK ? a : store_broke(s, &k->job);
}

static enum store_answer keep_commit(struct store *s, struct push_job *k,
				     size_t i)
{
	const struct commit *m = &k->commits[i];
	enum store_answer a = find_commit(s, k, i);

	if (a != STORE_NEW || k->revision[i])
		return a;
	k->patch[i] = keep_patch(s, k, m);
	if (k->patch[i] < 0 ||
	    step(k->st[REVISION_ADD], "bbi", m->sha, (size_t)SHA_BYTES,
		 m->tree_hash, (size_t)SHA_BYTES, k->patch[i]) < 0)
		return store_broke(s, &k->job);
	k->revision[i] = sqlite3_last_insert_rowid(s->db);
	return a;
}

#define MAX_TAGS	32	/* kept of one push: the first by name */
#define WORDS(text) \
	"SELECT value FROM json_each('[' || replace(json_quote(" text ")," \
	" ' ', '\",\"') || ']') WHERE value NOT NULL"
/* Tags come late and add up. -1; else whether there is a new one. */
static int keep_tags(struct store *s, const struct push_job *k)
{
	if (once(store_query(s->db, "WITH all_of(tags) AS ("
			     "SELECT group_concat(value, ' ') FROM ("
			     WORDS("(SELECT tags FROM push WHERE key = ?1)")
			     " UNION " WORDS("?2") " ORDER BY 1 LIMIT ?3))"
			     " UPDATE push SET tags = (SELECT tags FROM all_of)"
			     " WHERE key = ?1 AND tags IS NOT (SELECT tags"
			     " FROM all_of)", "tti", k->id, k->tags,
			     (int64_t)MAX_TAGS)) < 0)
		return -1;
	return sqlite3_changes(s->db) > 0;
}

static enum store_answer keep_push(struct store *s, struct push_job *k)
{
	const struct push *p = k->p;
	struct buf revisions = BUF_INIT, patches = BUF_INIT;
	enum store_answer a = STORE_NEW;
	int64_t tree;

	for (size_t i = 0; a == STORE_NEW && i < p->ncommits; i++)
		a = keep_commit(s, k, i);
	if (a != STORE_NEW)
		return a;
	buf_str(&revisions, "");	/* empty, not null */
	buf_str(&patches, "");
	pack_ids(&revisions, k->revision, p->ncommits);
	pack_ids(&patches, k->patch, p->ncommits);
	tree = once(store_query(s->db, "INSERT INTO tree(name, generation)"
				" VALUES(?1, 1) ON CONFLICT(name) DO UPDATE"
				" SET generation = generation + 1"
				" RETURNING id", "t", p->tree));
	if (tree < 0 || !buf_ok(&revisions) || !buf_ok(&patches) ||
	    raise_all(s) ||
	    once(store_query(s->db, "INSERT INTO push(key, tree, pushed_at,"
			     " old, new, base, linear, commits, tip, sha256,"
			     " revisions, patches) VALUES(?1, ?2, ?3, ?4, ?5,"
			     " ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
			     "tittttiiitbb", k->id, tree, p->pushed_at,
			     p->old, p->new, p->base, p->linear,
			     (int64_t)p->ncommits, p->ncommits ?
			     k->revision[p->ncommits - 1] : RECORD_NULL,
			     k->sha256, revisions.s, revisions.len, patches.s,
			     patches.len)) < 0 || keep_tags(s, k) < 0)
		a = store_broke(s, &k->job);
	buf_free(&revisions);
	buf_free(&patches);
	return a;
}

/* That its commits stand on each other as those of push @id do, which holds
 * @n: what both have ends in the same tip. */
static enum store_answer check_parents(struct store *s, struct push_job *k,
				       int64_t id, size_t n)
{
	const struct push *p = k->p;
	int64_t *was = read_revisions(s->db, id, n, k->job.e), below = 0;
	enum store_answer a = STORE_NEW;
	unsigned char sha[SHA_BYTES];

	if (!was)
		return store_broke(s, &k->job);
	if (p->ncommits && p->commits->parent) {
		store_sha(p->commits->parent, '0', sha);
		below = once(store_query(s->db, "SELECT id FROM revision"
					 " WHERE sha = ?1", "b", sha,
					 sizeof(sha)));
	}
	for (size_t i = 0; a == STORE_NEW && i < p->ncommits; i++) {
		if (n + i > p->ncommits &&
		    below != was[n + i - p->ncommits - 1])
			a = contradicts(k, i, "parent");
		below = k->revision[i];
	}
	free(was);
	return a;
}

/* The same push as @id: only what git hashes can contradict it. */
static enum store_answer check_again(struct store *s, struct push_job *k,
				     int64_t id, size_t n)
{
	enum store_answer a = STORE_NEW;
	int tags;

	k->known = true;
	for (size_t i = 0; a == STORE_NEW && i < k->p->ncommits; i++)
		a = find_commit(s, k, i);
	if (a == STORE_NEW)
		a = check_parents(s, k, id, n);
	if (a != STORE_NEW)
		return a;
	tags = keep_tags(s, k);
	if (tags < 0 || (tags && raise_all(s)))
		return store_broke(s, &k->job);
	return tags ? STORE_NEW : STORE_SAME;
}

static enum store_answer apply_push(struct store *s, struct job *j)
{
	struct push_job *k = (struct push_job *)j;	/* its first member */
	sqlite3_stmt *st = store_query(s->db, "SELECT id, commits, sha256 = ?2"
				       " FROM push WHERE key = ?1", "tt", k->id,
				       k->sha256);
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;
	enum store_answer a = STORE_NEW;

	if (rc == SQLITE_ROW && sqlite3_column_int(st, 2))
		a = STORE_SAME;
	else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		a = store_broke(s, j);
	for (size_t i = 0; i < 4 && a == STORE_NEW; i++)
		if (sqlite3_prepare_v2(s->db, commit_sql[i], -1, &k->st[i],
				       NULL) != SQLITE_OK)
			a = store_broke(s, j);
	if (a == STORE_NEW)
		a = rc == SQLITE_DONE ? keep_push(s, k) :
			check_again(s, k, sqlite3_column_int64(st, 0),
				    (size_t)sqlite3_column_int64(st, 1));
	sqlite3_finalize(st);
	for (size_t i = 0; i < 4; i++)
		sqlite3_finalize(k->st[i]);
	j->host = k->p->tree;
	j->all_hosts = true;
	return a;
}

enum store_answer store_put_push(struct store *s, const struct push *p,
				 char id[HISTORY_ID], struct err *e)
{
	struct push_job k = { .job = { .apply = apply_push, .e = e }, .p = p };
	enum store_answer a = STORE_BUSY;

	if (make_push(&k))
		err_set(e, "out of memory");
	else
		a = store_submit(s, &k.job);
	snprintf(id, HISTORY_ID, "%s", k.id);
	for (size_t i = 0; k.commits && i < p->ncommits; i++)
		free(k.commits[i].files);
	free(k.commits);
	free(k.revision);
	free(k.patch);
	free(k.tags);
	return a == STORE_NEW && k.known ? STORE_SAME : a;
}

/* --- a skip in --------------------------------------------------------- */

struct skip_job {
	struct job job;
	const struct skip *k;
};

static enum store_answer apply_skip(struct store *s, struct job *j)
{
	const struct skip *k = ((struct skip_job *)j)->k;
	int64_t new = once(store_query(s->db, "INSERT INTO skip(host, what,"
				       " reason) VALUES(?1, ?2, ?3)"
				       " ON CONFLICT DO NOTHING RETURNING 1",
				       "ttt", k->host, k->push ? k->push :
				       k->commit, k->reason));

	j->all_hosts = true;
	if (new < 0 || (new && raise_all(s)))
		return store_broke(s, j);
	return new ? STORE_NEW : STORE_SAME;
}

enum store_answer store_put_skip(struct store *s, const struct skip *k,
				 struct err *e)
{
	struct skip_job j = { .job = { .apply = apply_skip, .e = e }, .k = k };

	return store_submit(s, &j.job);
}

/* --- pushes out, in order ---------------------------------------------- */

static const struct column push_columns[] = {
	INT_(store_push, id), NAME_(store_push, key), TEXT_(store_push, tree),
	TEXT_(store_push, pushed_at), TEXT_(store_push, old),
	TEXT_(store_push, new), TEXT_(store_push, base),
	INT_(store_push, linear), TEXT_(store_push, tags),
	INT_(store_push, commits), TEXT_(store_push, tree_hash), COL_END
};
#define PUSH_LIST 11	/* the column behind them */

void store_push_free(struct store_push *p)
{
	row_free(push_columns, p);
	free(p->list);
	free(p->skip);
	*p = (struct store_push){ 0 };
}

void store_pushes_free(struct store_pushes *p)
{
	for (size_t i = 0; i < p->n; i++)
		store_push_free(&p->v[i]);
	free(p->v);
	*p = (struct store_pushes){ NULL, 0 };
}

/* The pushes [from, to) are those of one tree. */
static int order_tree(struct store_pushes *p, size_t from, size_t to)
{
	struct history_step *steps = calloc(to - from, sizeof(*steps));
	struct store_push *v = calloc(to - from, sizeof(*v));
	int ret = -1;

	if (!steps || !v)
		goto out;
	for (size_t i = from; i < to; i++) {
		const struct store_push *x = &p->v[i];

		steps[i - from] = (struct history_step){
			x->old, x->linear ? x->base : NULL, x->new,
			x->pushed_at, i,
		};
	}
	if (history_order(steps, to - from))
		goto out;
	for (size_t i = 0; i < to - from; i++)
		v[i] = p->v[steps[i].index];
	memcpy(&p->v[from], v, (to - from) * sizeof(*v));
	ret = 0;
out:
	free(steps);
	free(v);
	return ret;
}

static int order_trees(struct store_pushes *p)
{
	for (size_t from = 0, to; from < p->n; from = to) {
		for (to = from + 1; to < p->n &&
		     !strcmp(p->v[to].tree, p->v[from].tree); to++)
			;
		if (order_tree(p, from, to))
			return -1;
	}
	return 0;
}

static int read_list(sqlite3_stmt *st, struct store_push *p)
{
	p->list_len = (size_t)sqlite3_column_bytes(st, PUSH_LIST);
	p->list = malloc(p->list_len + 1);
	if (p->list && p->list_len)
		memcpy(p->list, sqlite3_column_blob(st, PUSH_LIST),
		       p->list_len);
	return p->list ? 0 : -1;
}

int store_pushes(sqlite3 *db, const char *tree, const char *list,
		 struct store_pushes *out, struct err *e)
{
	char sql[512];
	sqlite3_stmt *st;
	int rc = SQLITE_ERROR;

	snprintf(sql, sizeof(sql), "SELECT p.id, p.key, t.name, p.pushed_at,"
		 " p.old, p.new, p.base, p.linear, p.tags, p.commits,"
		 " lower(hex(v.tree_hash)), %s FROM tree t"
		 " CROSS JOIN push p ON p.tree = t.id"
		 " LEFT JOIN revision v ON v.id = p.tip"
		 " WHERE ?1 IS NULL OR t.name = ?1 ORDER BY t.name", list);
	*out = (struct store_pushes){ NULL, 0 };
	st = store_query(db, sql, "t", tree);
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct store_push *p = ADD_ROW(out, sizeof(*p));

		if (!p || row_read(st, 0, push_columns, p) || read_list(st, p))
			break;
		p->kernel = NO_PUSH;
	}
	if (rc == SQLITE_DONE && order_trees(out))
		rc = SQLITE_NOMEM;
	if (!store_ended(db, st, rc, e))
		return 0;
	store_pushes_free(out);
	return -1;
}

/* Reasons of @host against one push, or against its tip. */
int store_skips(sqlite3 *db, const char *host, struct store_pushes *p,
		struct err *e)
{
	sqlite3_stmt *st = store_query(db, "SELECT group_concat(reason, '; ')"
				       " FROM (SELECT DISTINCT reason FROM skip"
				       " WHERE host = ?1 AND what IN (?2, ?3)"
				       " ORDER BY reason)", "t", host);
	int ret = st ? 0 : store_failed(db, e);

	for (size_t i = 0; i < p->n && !ret; i++) {
		if (p->v[i].kernel != NO_PUSH)
			continue;
		sqlite3_bind_text(st, 2, p->v[i].key, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 3, p->v[i].new, -1, SQLITE_STATIC);
		if (sqlite3_step(st) != SQLITE_ROW)
			ret = store_failed(db, e);
		else if (store_text(st, 0, &p->v[i].skip))
			ret = err_set(e, "out of memory");
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return ret;
}

/* --- where commits stand ----------------------------------------------- */

static int by_sha(const void *a, const void *b)
{
	return strcmp((*(struct spot *const *)a)->sha,
		      (*(struct spot *const *)b)->sha);
}

void spots_sort(struct spot **spots, size_t n)
{
	qsort(spots, n, sizeof(struct spot *), by_sha);
}

static int by_revision(const void *a, const void *b)
{
	int64_t x = (*(struct spot *const *)a)->revision;
	int64_t y = (*(struct spot *const *)b)->revision;

	return (x > y) - (x < y);
}

/* Those whose tip it is. */
static void place_tip(const struct store_push *p, size_t push,
		      struct spot **spots, size_t n)
{
	struct spot key = { .sha = p->new }, *k = &key;
	struct spot **at = n ? bsearch(&k, spots, n, sizeof(struct spot *),
					 by_sha) : NULL;

	while (at && at > spots && !strcmp(at[-1]->sha, key.sha))
		at--;
	for (; at && at < spots + n && !strcmp((*at)->sha, key.sha); at++)
		if ((*at)->push == NO_PUSH) {
			(*at)->push = push;
			(*at)->pos = INT64_MAX;
		}
}

/* Those that stand in the list of @p, which is number @push. */
static void place_list(const struct store_push *p, size_t push,
		       struct spot **spots, size_t n)
{
	struct runs r = runs_of(p);
	int64_t pos = 0;

	for (; runs_next(&r); pos += r.n) {
		size_t lo = 0, hi = n;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (spots[mid]->revision < r.first)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; lo < n && spots[lo]->revision < r.first + r.n; lo++)
			if (spots[lo]->push == NO_PUSH) {
				spots[lo]->push = push;
				spots[lo]->pos = pos + spots[lo]->revision -
						 r.first;
			}
	}
}

int spots_place(const struct store_push *v, size_t n, struct spot **spots,
		size_t nspots)
{
	struct spot **inside = calloc(nspots + 1, sizeof(struct spot *));
	size_t ninside = 0;

	if (!inside)
		return -1;
	for (size_t i = 0; i < nspots; i++)
		spots[i]->push = NO_PUSH;
	for (size_t i = 0; i < n; i++)
		place_tip(&v[i], i, spots, nspots);
	for (size_t i = 0; i < nspots; i++)
		if (spots[i]->revision && spots[i]->push == NO_PUSH)
			inside[ninside++] = spots[i];
	qsort(inside, ninside, sizeof(struct spot *), by_revision);
	for (size_t i = 0; i < n && ninside; i++)
		place_list(&v[i], i, inside, ninside);
	free(inside);
	return 0;
}
