/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What CI posts: pushes of trees, and why something was not measured; and
 * /pushes/ID: what a push changed against the one before it.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "../view.h"
#include "pushdoc.h"

#define RETRY_S	2	/* when the store is busy */

/* Answer what is neither STORE_NEW nor STORE_SAME. An internal reason goes to
 * the log only. */
static void refuse(const struct request *q, struct response *r,
		   enum store_answer a, const struct err *e)
{
	int status = a == STORE_CONFLICT ? 409 : a == STORE_BUSY ? 503 : 500;

	r->retry_after_s = a == STORE_BUSY ? RETRY_S : 0;
	response_error(q, r, status, "%s", a == STORE_ERROR ?
		       "the store failed; the server's log says why" : e->msg);
	if (a == STORE_ERROR)
		r->why = *e;
}

/* A document that could not be read, @error of errno; or a token that is bound
 * to another @name. */
static bool refused(const struct request *q, struct response *r, int rc,
		    int error, const char *field, const char *name,
		    const struct err *e)
{
	if (rc && error == ENOMEM)
		refuse(q, r, STORE_BUSY, e);
	else if (rc)
		response_error(q, r, 400, "%s", e->msg);
	else if (q->token_host && strcmp(q->token_host, name) != 0)
		response_error(q, r, 403, "%s: this token may post for \"%s\" "
			       "only, got \"%s\"", field, q->token_host, name);
	else
		return false;
	return true;
}

/* A parsed push is some 15 times its text: one at a time. */
static int parse_in_turn(const struct request *q, struct push *p, struct err *e,
			 int *error)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	int rc;

	pthread_mutex_lock(&turn);
	rc = push_parse((const char *)q->body, q->body_len, p, e);
	*error = errno;
	pthread_mutex_unlock(&turn);
	return rc;
}

void route_push_post(const struct request *q, struct response *r)
{
	const char *site = q->site->public_url ? q->site->public_url : "";
	char id[HISTORY_ID], link[512];
	struct err e = { "" };
	enum store_answer a;
	struct push p;
	int error, rc = parse_in_turn(q, &p, &e, &error);

	r->type = "application/json";
	if (refused(q, r, rc, error, "/tree", p.tree, &e))
		goto out;
	a = store_put_push(q->site->store, &p, id, &e);
	if (a != STORE_NEW && a != STORE_SAME) {
		refuse(q, r, a, &e);
		goto out;
	}
	r->status = a == STORE_NEW ? 201 : 200;
	snprintf(r->location, sizeof(r->location), "/pushes/%s", id);
	snprintf(link, sizeof(link), "%s%s", site, r->location);
	buf_printf(&r->body, "{\"id\":\"%s\",\"status\":\"%s\",\"url\":", id,
		   a == STORE_NEW ? "new" : "same");
	buf_json(&r->body, link);
	buf_str(&r->body, "}\n");
out:
	push_free(&p);
}

void route_skip_post(const struct request *q, struct response *r)
{
	struct err e = { "" };
	struct skip k;
	enum store_answer a;
	int rc = skip_parse((const char *)q->body, q->body_len, &k, &e);

	r->type = "application/json";
	if (refused(q, r, rc, errno, "/host", k.host, &e))
		goto out;
	a = store_put_skip(q->site->store, &k, &e);
	if (a != STORE_NEW && a != STORE_SAME) {
		refuse(q, r, a, &e);
		goto out;
	}
	r->status = a == STORE_NEW ? 201 : 200;
	buf_printf(&r->body, "{\"status\":\"%s\"}\n",
		   a == STORE_NEW ? "new" : "same");
out:
	skip_free(&k);
}

/* --- /pushes/ID -------------------------------------------------------- */

const struct param_spec push_params[] = {
	{ .name = "show", .kind = PARAM_ENUM, .words = "changed|all",
	  .fallback = "changed", .help = "what stayed the same, too" },
	{ 0 }
};

static const struct view_col change_cols[] = {
	{ "change", "change", VIEW_TEXT },
	{ "files", "files", VIEW_TEXT },
	{ "patch", "subject", VIEW_TEXT },
	{ "author", "author", VIEW_TEXT },
	{ NULL, "moved", VIEW_FIGURE },
	{ NULL, "place", VIEW_FIGURE },
	{ NULL, "was_place", VIEW_FIGURE },
	{ NULL, "sha", VIEW_TEXT },
	{ NULL, "was_sha", VIEW_TEXT },
	{ NULL, "patch_id", VIEW_TEXT },
	{ NULL, "link", VIEW_TEXT },
	{ NULL, "landed", VIEW_TEXT },
};

/* "mm/gup.c include/linux/pgtable.h" -> "gup.c pgtable.h" */
static void short_files(const char *files, struct buf *out)
{
	buf_str(out, "");
	while (files && *files) {
		size_t len = strcspn(files, " "), from = len;

		while (from && files[from - 1] != '/')
			from--;
		buf_str(out, out->len ? " " : "");
		buf_add(out, files + from, len - from);
		files += len + (files[len] == ' ');
	}
}

static void change_row(struct view *v, const struct store_change *c)
{
	const struct store_commit *m = &c->commit;
	char word[128], who[64];
	struct buf href = BUF_INIT, files = BUF_INIT;

	snprintf(word, sizeof(word), "%s%s%s%s", history_words[c->kind],
		 c->moved && c->kind != HISTORY_MOVED ? ", moved" : "",
		 c->landed ? ", in " : "", c->landed ? c->landed : "");
	snprintf(who, sizeof(who), "%.*s", (int)strcspn(m->author, "<"),
		 m->author);
	buf_printf(&href, "/patches/%s", c->place == RECORD_NULL ? c->was_sha :
								   m->sha);
	short_files(m->files, &files);
	view_cell(v, word, history_words[c->kind], NULL);
	view_cell(v, files.len ? files.s : "-", m->files, NULL);
	view_cell(v, m->subject, m->subject, href.s);
	view_cell(v, who, m->author, NULL);
	view_cell_int(v, c->moved);
	view_cell_int(v, c->place);
	view_cell_int(v, c->was);
	view_cell_text(v, c->place == RECORD_NULL ? NULL : m->sha);
	view_cell_text(v, c->was_sha);
	view_cell_text(v, m->patch_id);
	view_cell_text(v, m->link);
	view_cell_text(v, c->landed);
	buf_free(&href);
	buf_free(&files);
}

static void tell_push(struct view *v, const struct store_diff *d)
{
	const struct store_push *p = &d->push;

	view_head(v, "tree %s, pushed %s", p->tree, p->pushed_at);
	view_head(v, "new  %s", p->new);
	if (p->old)
		view_head(v, "old  %s", p->old);
	if (p->base)
		view_head(v, "base %s", p->base);
	if (p->tags)
		view_head(v, "tags %s", p->tags);
	view_head(v, "%lld commits%s", (long long)p->commits,
		  p->linear ? " since the push before" : " above the base");
	if (*d->before.key)
		view_head(v, "before: /pushes/%s of %s", d->before.key,
			  d->before.pushed_at);
	if (*d->after)
		view_head(v, "after:  /pushes/%s", d->after);
}

static void tell_changes(struct view *v, const struct store_diff *d)
{
	view_cols(v, change_cols, sizeof(change_cols) / sizeof(*change_cols));
	for (size_t i = 0; i < d->n; i++)
		change_row(v, &d->v[i]);
	if (!*d->before.key) {
		view_note(v, "The first push of this tree that is known: there "
			  "is none to compare it with.");
		return;
	}
	if (d->push.old && strcmp(d->push.old, d->before.new) != 0)
		view_note(v, "Pushes between are missing: this one began at "
			  "%.12s.", d->push.old);
	for (size_t k = 0; k <= HISTORY_SAME; k++)
		if (d->count[k])
			view_note(v, "%zu %s", d->count[k], history_words[k]);
	if (d->count[HISTORY_SAME] == (size_t)d->push.commits &&
	    !d->count[HISTORY_DROPPED])
		view_note(v, "Nothing changed.");
}

void view_side(struct view *v, const struct store_side *s)
{
	char before[VIEW_KERNEL], after[VIEW_KERNEL];
	struct buf href = BUF_INIT;

	if (s->before && s->after && strcmp(s->before, s->after) != 0) {
		buf_printf(&href, "/compare?a=%s&b=%s&host=", s->before,
			   s->after);
		buf_url(&href, s->host);
	}
	snprintf(before, sizeof(before), "%.12s", s->before ? s->before : "-");
	snprintf(after, sizeof(after), "%.12s", s->after ? s->after : "-");
	view_cell(v, s->host, s->host, href.s);
	view_cell(v, before, s->before, NULL);
	view_cell(v, after, s->after, NULL);
	buf_free(&href);
}

static void tell_measured(struct view *v, const struct store_diff *d)
{
	static const struct view_col cols[] = {
		{ .name = "host" }, { .name = "before" }, { .name = "this" },
	};

	view_section(v, "Measured");
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = 0; i < d->sides.n; i++)
		view_side(v, &d->sides.v[i]);
	view_note(v, d->sides.n ? "A host's name leads to what changed there." :
		  "No host has measured this push or the one before.");
	if (v->q->form != FORM_HTML)
		return;
	buf_printf(&v->body, "<p><a href=\"/trees/%s\">all pushes</a>",
		   d->push.tree);
	if (*d->before.key)
		buf_printf(&v->body, " <a href=\"/pushes/%s\">the push before"
			   "</a>", d->before.key);
	if (*d->after)
		buf_printf(&v->body, " <a href=\"/pushes/%s\">the push after"
			   "</a>", d->after);
	buf_str(&v->body, "</p>\n");
}

void route_push(const struct request *q, struct response *r)
{
	bool all = !strcmp(param_text(q->params, "show"), "all");
	struct store_diff d = { .n = 0 };
	struct err e = { "" };
	char title[96];
	struct view v;

	if (view_refused(q, r, store_diff(q->site->store, q->arg, all, &d, &e),
			 &e))
		return;
	snprintf(title, sizeof(title), "%s, push of %.10s", d.push.tree,
		 d.push.pushed_at);
	view_begin(&v, q, r, title);
	tell_push(&v, &d);
	tell_changes(&v, &d);
	tell_measured(&v, &d);
	view_end(&v);
	store_diff_free(&d);
}
