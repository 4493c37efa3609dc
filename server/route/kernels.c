/* SPDX-License-Identifier: GPL-2.0-only */
/* /kernels: what was measured, newest first. */
#include <stdio.h>

#include "../history.h"
#include "../view.h"

const struct param_spec kernels_params[] = {
	{ .name = "host", .kind = PARAM_TEXT, .min = 1, .max = RECORD_MAX_NAME,
	  .help = "kernels of this host only" },
	{ .name = "last", .kind = PARAM_INT, .min = 1, .max = 10000,
	  .fallback = "100", .help = "newest kernels only" },
	{ 0 }
};

static const struct view_col cols[] = {
	{ "kernel", "kernel", VIEW_TEXT },
	{ "posted", "first_posted", VIEW_TEXT },
	{ "runs", "runs", VIEW_FIGURE },
	{ "hosts", "hosts", VIEW_FIGURE },
	{ "commit", "commit", VIEW_TEXT },
	{ "release", "release", VIEW_TEXT },
	{ NULL, "version", VIEW_TEXT },
	{ NULL, "commit_proven", VIEW_FIGURE },
	{ NULL, "tree", VIEW_TEXT },
	{ NULL, "build_id", VIEW_TEXT },
	{ NULL, "config_sha256", VIEW_TEXT },
	{ NULL, "compiler", VIEW_TEXT },
	{ NULL, "patches", VIEW_TEXT },
};

/* The kernel's name leads to what it changed: @before is NULL or the one
 * before it on @host. */
static void row(struct view *v, const struct store_kernel *k,
		const struct store_kernel *before, const char *host)
{
	struct buf href = BUF_INIT, release = BUF_INIT;
	char key[VIEW_KERNEL], commit[32] = "not known";

	snprintf(key, sizeof(key), "%.12s", k->key);
	if (k->commit)
		snprintf(commit, sizeof(commit), "%.12s%s", k->commit,
			 k->commit_proven == 1 ? "" : "?");
	if (before)
		view_compare_url(&href, host, before, k);
	view_cell(v, key, k->key, href.s);
	view_cell_date(v, k->first_posted);
	view_cell_int(v, k->runs);
	view_cell_int(v, k->hosts);
	view_cell(v, commit, k->commit, NULL);
	buf_printf(&release, "%s%s%s", k->release, k->patches ? " + " : "",
		   k->patches ? k->patches : "");
	view_cell(v, release.s, k->release, NULL);
	view_cell_text(v, k->version);
	view_cell_int(v, k->commit_proven);
	view_cell_text(v, k->tree);
	view_cell_text(v, k->build_id);
	view_cell_text(v, k->config_sha256);
	view_cell_text(v, k->compiler);
	view_cell_text(v, k->patches);
	buf_free(&href);
	buf_free(&release);
}

void view_kernels(struct view *v, const struct store_kernels *kernels,
		  const char *host)
{
	const struct store_kernel *k = kernels->v;

	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = kernels->n; i--;)
		row(v, &k[i], i && host ? &k[i - 1] : NULL, host);
	if (kernels->n)
		view_note(v, "Newest first: %s. ?: commit not proven.",
			  history_order_text());
	else
		view_note(v, "No kernel has been measured yet.");
}

void route_kernels(const struct request *q, struct response *r)
{
	char name[VIEW_HOST], title[32 + VIEW_HOST] = "Kernels";
	const char *host = view_host(q, param_text(q->params, "host"), name);
	size_t last = (size_t)param_int(q->params, "last");
	struct store_kernels kernels = { 0 };
	struct err e = { "" };
	struct view v;

	if (view_failed(q, r, store_kernels(q->site->store, host, last,
					    &kernels, &e), &e))
		return;
	if (host && !kernels.n) {
		view_refuse_host(q, r, host);
		return;
	}
	if (host)
		snprintf(title, sizeof(title), "Kernels measured on %s", host);
	view_begin(&v, q, r, title);
	view_kernels(&v, &kernels, host);
	if (kernels.n == last)
		view_note(&v, "Older ones: ask with a larger last=.");
	view_end(&v);
	store_kernels_free(&kernels);
}
