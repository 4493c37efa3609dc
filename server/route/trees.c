/* SPDX-License-Identifier: GPL-2.0-only */
/* /trees: the refs that are followed. /trees/NAME: its pushes by hosts. */
#include <stdlib.h>
#include <string.h>

#include "../view.h"

static const struct view_col tree_cols[] = {
	{ "tree", "tree", VIEW_TEXT },
	{ "pushes", "pushes", VIEW_FIGURE },
	{ "newest", "newest_at", VIEW_TEXT },
	{ "tip", "new", VIEW_TEXT },
	{ "commits", "commits", VIEW_FIGURE },
	{ "kind", "linear", VIEW_SIZE },
	{ NULL, "newest", VIEW_TEXT },
};

static void tree_row(struct view *v, const struct store_tree *t)
{
	const struct store_push *p = &t->newest;
	struct buf tree = BUF_INIT, push = BUF_INIT;
	char tip[VIEW_KERNEL];

	buf_printf(&tree, "/trees/%s", t->name);
	buf_printf(&push, "/pushes/%s", p->key);
	snprintf(tip, sizeof(tip), "%.12s", p->new);
	view_cell(v, t->name, t->name, tree.s);
	view_cell_int(v, t->pushes);
	view_cell_date(v, p->pushed_at);
	view_cell(v, tip, p->new, push.s);
	view_cell_int(v, p->commits);
	view_cell_raw(v, t->linear ? "linear" : "rebased", t->linear);
	view_cell_text(v, p->key);
	buf_free(&tree);
	buf_free(&push);
}

void route_trees(const struct request *q, struct response *r)
{
	struct store_trees trees = { NULL, 0 };
	struct err e = { "" };
	struct view v;

	if (view_failed(q, r, store_trees(q->site->store, &trees, &e), &e))
		return;
	view_begin(&v, q, r, "Trees");
	view_cols(&v, tree_cols, sizeof(tree_cols) / sizeof(*tree_cols));
	for (size_t i = 0; i < trees.n; i++)
		tree_row(&v, &trees.v[i]);
	if (!trees.n)
		view_note(&v, "No push has been posted yet: ci/post-push does, "
			  "from any clone.");
	view_end(&v);
	store_trees_free(&trees);
}

/* --- /trees/NAME ------------------------------------------------------- */

const struct param_spec tree_params[] = {
	{ .name = "before", .kind = PARAM_TEXT, .min = HISTORY_ID - 1,
	  .max = HISTORY_ID - 1, .help = "pushes older than this one" },
	{ .name = "last", .kind = PARAM_INT, .min = 1, .max = 1000,
	  .fallback = "50", .help = "newest pushes only" },
	{ 0 }
};

static const struct view_col push_cols[] = {
	{ "push", "push", VIEW_TEXT },
	{ "pushed", "pushed_at", VIEW_TEXT },
	{ "commits", "commits", VIEW_FIGURE },
	{ NULL, "new", VIEW_TEXT },
	{ NULL, "old", VIEW_TEXT },
	{ NULL, "tags", VIEW_TEXT },
};
#define NPUSH (sizeof(push_cols) / sizeof(*push_cols))

static void grid_cell(struct view *v, const struct store_grid_cell *c,
		      const char *host)
{
	char text[VIEW_KERNEL];
	struct buf href = BUF_INIT, raw = BUF_INIT;

	if (c->key) {
		snprintf(text, sizeof(text), "%.12s", c->key);
		buf_str(&href, "/kernels?host=");
		buf_url(&href, host);
		view_cell(v, text, c->key, href.s);
	} else if (c->skip) {
		buf_printf(&raw, "skipped: %s", c->skip);
		view_cell(v, "skipped", raw.s, NULL);
	} else {
		view_cell(v, "missing", "missing", NULL);
	}
	buf_free(&href);
	buf_free(&raw);
}

static void grid_row(struct view *v, const struct store_grid *g, size_t i)
{
	const struct store_push *p = &g->pushes.v[i];
	struct buf href = BUF_INIT;
	char tip[VIEW_KERNEL];

	buf_printf(&href, "/pushes/%s", p->key);
	snprintf(tip, sizeof(tip), "%.12s", p->new);
	view_cell(v, tip, p->key, href.s);
	view_cell_date(v, p->pushed_at);
	view_cell_int(v, p->commits);
	view_cell_text(v, p->new);
	view_cell_text(v, p->old);
	view_cell_text(v, p->tags);
	for (size_t h = 0; h < g->nhosts; h++)
		grid_cell(v, &g->cells[(i - g->from) * g->nhosts + h],
			  g->hosts[h].name);
	buf_free(&href);
}

/* Each reason once, the newest first. */
static void tell_skips(struct view *v, const struct store_grid *g)
{
	size_t told = 0;

	for (size_t i = g->to; i-- > g->from;)
		for (size_t h = 0; h < g->nhosts; h++) {
			const struct store_grid_cell *c =
				&g->cells[(i - g->from) * g->nhosts + h];

			if (!c->key && c->skip && ++told <= VIEW_REASONS)
				view_note(v, "skipped %.12s on %s: %s",
					  g->pushes.v[i].new, g->hosts[h].name,
					  c->skip);
		}
	if (told > VIEW_REASONS)
		view_note(v, "%zu more were skipped: .csv and .json say why.",
			  told - VIEW_REASONS);
}

void route_tree(const struct request *q, struct response *r)
{
	struct store_grid g = { .from = 0 };
	struct view_col *cols = NULL;
	char (*key)[VIEW_HOST + 8] = NULL, title[80];
	struct err e = { "" };
	struct view v;

	if (view_refused(q, r, store_grid(q->site->store, q->arg,
					  param_text(q->params, "before"),
					  (size_t)param_int(q->params, "last"),
					  &g, &e), &e))
		return;
	cols = calloc(NPUSH + g.nhosts, sizeof(*cols));
	key = calloc(g.nhosts + 1, sizeof(*key));
	if (!cols || !key) {
		response_error(q, r, 503, "out of memory");
		goto out;
	}
	memcpy(cols, push_cols, sizeof(push_cols));
	for (size_t h = 0; h < g.nhosts; h++) {
		snprintf(key[h], sizeof(key[h]), "host.%s",
			 g.hosts[h].name);
		cols[NPUSH + h] = (struct view_col){
			.name = g.hosts[h].name, .key = key[h] };
	}
	snprintf(title, sizeof(title), "%s: pushes by hosts", q->arg);
	view_begin(&v, q, r, title);
	view_cols(&v, cols, NPUSH + g.nhosts);
	for (size_t i = g.to; i-- > g.from;)
		grid_row(&v, &g, i);
	tell_skips(&v, &g);
	if (g.from)
		view_note(&v, "%zu older pushes: ask with before=%s.", g.from,
			  g.pushes.v[g.from].key);
	else
		view_note(&v, "Newest first.");
	if (g.from && q->form == FORM_HTML)
		buf_printf(&v.body, "<p><a href=\"?before=%s\">older pushes</a>"
			   "</p>\n", g.pushes.v[g.from].key);
	view_end(&v);
out:
	free(cols);
	free(key);
	store_grid_free(&g);
}
