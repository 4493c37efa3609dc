/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /patches/KEY: one patch over all its SHAs, and the mails that it came in.
 * /todo/HOST: what a host should measure next.
 */
#include <string.h>

#include "../view.h"

static const struct view_col revision_cols[] = {
	{ "commit", "sha", VIEW_TEXT },
	{ "change", "change", VIEW_TEXT },
	{ "first pushed", "first_at", VIEW_TEXT },
	{ "last pushed", "last_at", VIEW_TEXT },
	{ "pushes", "pushes", VIEW_FIGURE },
	{ "tree", "tree", VIEW_TEXT },
	{ NULL, "subject", VIEW_TEXT },
	{ NULL, "author", VIEW_TEXT },
	{ NULL, "patch_id", VIEW_TEXT },
	{ NULL, "link", VIEW_TEXT },
	{ NULL, "quilt", VIEW_TEXT },
	{ NULL, "files", VIEW_TEXT },
	{ NULL, "first_push", VIEW_TEXT },
	{ NULL, "last_push", VIEW_TEXT },
};

/* Another SHA of the same patch, on another place or base. */
static const char *change_word(enum history_kind kind)
{
	return kind == HISTORY_SAME ? "rebased" : history_words[kind];
}

static void revision_row(struct view *v, const struct store_revision *r)
{
	struct buf href = BUF_INIT;
	char sha[VIEW_KERNEL];

	buf_printf(&href, "/pushes/%s", r->first);
	snprintf(sha, sizeof(sha), "%.12s", r->commit.sha);
	view_cell(v, sha, r->commit.sha, href.s);
	view_cell_text(v, change_word(r->kind));
	view_cell_date(v, r->first_at);
	view_cell_date(v, r->last_at);
	view_cell_int(v, r->pushes);
	view_cell_text(v, r->tree);
	view_cell_text(v, r->commit.subject);
	view_cell_text(v, r->commit.author);
	view_cell_text(v, r->commit.patch_id);
	view_cell_text(v, r->commit.link);
	view_cell_text(v, r->commit.quilt);
	view_cell_text(v, r->commit.files);
	view_cell_text(v, r->first);
	view_cell_text(v, r->last);
	buf_free(&href);
}

static void tell_touched(struct view *v, const struct store_patch *p)
{
	static const struct view_col cols[] = {
		{ .name = "pushed" }, { .name = "tree" }, { .name = "change" },
		{ .name = "host" }, { .name = "before" }, { .name = "since" },
	};

	view_section(v, "Measured around each change");
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = 0; i < p->ntouched; i++) {
		const struct store_touch *t = &p->touched[i];

		view_cell_date(v, t->pushed_at);
		view_cell_text(v, t->tree);
		view_cell_text(v, t->kind == HISTORY_SAME ?
			       "this commit" : history_words[t->kind]);
		view_side(v, &t->side);
	}
	view_note(v, "A host's name leads to its figures before and since. "
		  "\"this commit\": its own, against the commit below it.");
}

static void tell_mails(struct view *v, const struct store_patch *p)
{
	static const struct view_col cols[] = {
		{ .name = "patch" }, { .name = "Message-ID" },
	};

	view_section(v, "Mailed with it, each version");
	view_cols(v, cols, 2);
	for (size_t i = 0; i < p->nmails; i++) {
		struct buf href = BUF_INIT;

		buf_str(&href, "/patches/");
		buf_url(&href, p->mails[i].link);
		view_cell(v, p->mails[i].subject, NULL, href.s);
		view_cell_text(v, p->mails[i].link);
		buf_free(&href);
	}
}

void route_patch(const struct request *q, struct response *r)
{
	bool table = q->form == FORM_HTML || q->form == FORM_TXT;
	struct store_patch p = { .n = 0 };
	const struct store_commit *newest;
	struct err e = { "" };
	size_t left_out = 0;
	struct view v;

	if (view_refused(q, r, store_patch(q->site->store, q->arg, &p, &e), &e))
		return;
	newest = p.v && p.n ? &p.v[p.n - 1].commit : NULL;
	view_begin(&v, q, r, newest ? newest->subject : q->arg);
	if (newest) {
		view_head(&v, "%s", newest->author);
		view_head(&v, "patch-id %s", newest->patch_id ?
			  newest->patch_id : "not known");
	}
	if (newest && newest->files)
		view_head(&v, "touches %s", newest->files);
	view_cols(&v, revision_cols,
		  sizeof(revision_cols) / sizeof(*revision_cols));
	for (size_t i = 0; newest && i < p.n; i++)
		if (table && i + 1 < p.n && p.v[i].kind == HISTORY_SAME)
			left_out++;
		else
			revision_row(&v, &p.v[i]);
	if (left_out)
		view_note(&v, "%zu more SHAs by rebase alone: .csv and .json "
			  "hold all.", left_out);
	if (!p.n)
		view_note(&v, "No patch has this Message-ID; these came in the "
			  "same series.");
	if (p.ntouched)
		tell_touched(&v, &p);
	if (p.nmails)
		tell_mails(&v, &p);
	view_end(&v);
	store_patch_free(&p);
}

/* --- /todo/HOST -------------------------------------------------------- */

const struct param_spec todo_params[] = {
	{ .name = "last", .kind = PARAM_INT, .min = 1, .max = 100,
	  .fallback = "10", .help = "newest pushes of each tree only" },
	{ 0 }
};

static const struct view_col todo_cols[] = {
	{ "commit", "commit", VIEW_TEXT },
	{ "benchmark", "bench", VIEW_TEXT },
	{ "folio bytes", "sizes", VIEW_TEXT },
	{ "why", "why", VIEW_TEXT },
	{ "pushed", "pushed_at", VIEW_TEXT },
	{ "tree", "tree", VIEW_TEXT },
	{ NULL, "push", VIEW_TEXT },
};

static void todo_row(struct view *v, const struct store_todo *t)
{
	struct buf href = BUF_INIT;
	char sha[VIEW_KERNEL];

	buf_printf(&href, "/pushes/%s", t->push);
	snprintf(sha, sizeof(sha), "%.12s", t->commit);
	view_cell(v, sha, t->commit, href.s);
	view_cell_text(v, t->bench);
	view_cell_text(v, t->sizes);
	view_cell_text(v, t->whole ? "not measured" :
		       "missing or not valid");
	view_cell_date(v, t->pushed_at);
	view_cell_text(v, t->tree);
	view_cell_text(v, t->push);
	buf_free(&href);
}

void route_todo(const struct request *q, struct response *r)
{
	size_t last = (size_t)param_int(q->params, "last");
	struct store_todos todo = { NULL, 0 };
	struct err e = { "" };
	char title[96];
	struct view v;

	if (view_refused(q, r, store_todo(q->site->store, q->arg, last, &todo,
					  &e), &e))
		return;
	snprintf(title, sizeof(title), "%s: to measure next", q->arg);
	view_begin(&v, q, r, title);
	view_cols(&v, todo_cols, sizeof(todo_cols) / sizeof(*todo_cols));
	for (size_t i = 0; i < todo.n; i++)
		todo_row(&v, &todo.v[i]);
	view_note(&v, todo.n ? "Newest push first, of the trees of which this "
		  "host ran a tip." : "Nothing: all pushes of the trees that "
		  "this host follows are measured or skipped, or it follows "
		  "none.");
	view_end(&v);
	store_todo_free(&todo);
}
