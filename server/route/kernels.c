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
	{ "kernel", "kernel", false, false, false },
	{ "posted", "first_posted", false, false, false },
	{ "runs", "runs", true, true, false },
	{ "hosts", "hosts", true, true, false },
	{ "commit", "commit", false, false, false },
	{ "release", "release", false, false, false },
	{ NULL, "version", false, false, true },
	{ NULL, "commit_proven", false, true, true },
	{ NULL, "tree", false, false, true },
	{ NULL, "build_id", false, false, true },
	{ NULL, "config_sha256", false, false, true },
	{ NULL, "compiler", false, false, true },
};

static void commit_cell(struct view *v, const struct store_kernel *k)
{
	char text[32];

	if (!k->commit) {
		view_cell(v, "not known", NULL, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%.12s%s", k->commit,
		 k->commit_proven == 1 ? "" : "?");
	view_cell(v, text, k->commit, NULL);
}

static void row(struct view *v, const struct store_kernels *kernels, size_t i,
		const char *host)
{
	const struct store_kernel *k = &kernels->v[i];
	struct buf href = BUF_INIT;
	char key[VIEW_KERNEL];

	snprintf(key, sizeof(key), "%.12s", k->key);
	if (i && host)
		view_compare_url(&href, host, &kernels->v[i - 1], k);
	view_cell(v, key, k->key, href.s);
	view_cell_date(v, k->first_posted);
	view_cell_int(v, k->runs);
	view_cell_int(v, k->hosts);
	commit_cell(v, k);
	view_cell_text(v, k->release);
	view_cell_text(v, k->version);
	view_cell_int(v, k->commit_proven);
	view_cell_text(v, k->tree);
	view_cell_text(v, k->build_id);
	view_cell_text(v, k->config_sha256);
	view_cell_text(v, k->compiler);
	buf_free(&href);
}

void view_kernels(struct view *v, const struct store_kernels *kernels,
		  const char *host)
{
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = kernels->n; i--;)
		row(v, kernels, i, host);
	if (kernels->n)
		view_note(v, "Newest first: %s. ?: commit not proven.",
			  history_order_text());
	else
		view_note(v, "No kernel has been measured yet.");
}

handler_fn route_kernels;

void route_kernels(const struct request *q, struct response *r)
{
	const char *host = param_text(q->params, "host");
	struct store_kernels kernels = { 0 };
	struct err e = { "" };
	struct view *v = NULL;
	struct buf title = BUF_INIT;
	size_t last = (size_t)param_int(q->params, "last");

	if (view_failed(q, r, store_kernels(q->site->store, host, last,
					    &kernels, &e), &e))
		goto out;
	if (host && !kernels.n) {
		view_refuse_host(q, r, host);
		goto out;
	}
	buf_printf(&title, "Kernels%s%s", host ? " measured on " : "",
		   host ? host : "");
	v = view_new(title.s);
	view_kernels(v, &kernels, host);
	if (kernels.n == last)
		view_note(v, "Older ones: ask with a larger last=.");
	view_send(v, q, r);
out:
	buf_free(&title);
	view_free(v);
	store_kernels_free(&kernels);
}
