/* SPDX-License-Identifier: GPL-2.0-only */
/* /: what this is, every chart, the newest kernels, and how to post. */
#include "../view.h"

#define KERNELS	10	/* newest ones shown */

static const struct view_col cols[] = {
	{ "benchmark", "bench", VIEW_TEXT },
	{ "metric", "metric", VIEW_TEXT },
	{ "sizes", "sizes", VIEW_FIGURE },
	{ "valid", "kernels_valid", VIEW_FIGURE },
	{ "last posted", "last_posted", VIEW_TEXT },
	{ "host", "host", VIEW_TEXT },
	{ NULL, "unit", VIEW_TEXT },
	{ NULL, "params", VIEW_TEXT },
};

static void row(struct view *v, const struct store_chart *c)
{
	struct buf href = BUF_INIT;

	view_chart_url(&href, c);
	view_cell(v, c->bench, c->bench, href.s);
	view_cell_text(v, c->metric);
	view_cell_int(v, c->sizes);
	view_cell_int(v, c->points);
	view_cell_date(v, c->last_posted);
	view_cell_text(v, c->host);
	view_cell_text(v, c->unit);
	view_cell_text(v, c->params);
	buf_free(&href);
}

static void charts_table(struct view *v, struct store_charts *charts)
{
	view_section(v, "Charts");
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	view_null_last(charts);
	for (size_t i = 0; i < charts->n; i++)
		row(v, &charts->v[i]);
	view_note(v, charts->n ? "valid: kernels with a valid figure." :
		  "Nothing has been posted yet.");
}

static void how_to_post(struct view *v, const char *url)
{
	view_section(v, "Post figures");
	view_head(v, "mmtrend check");
	view_head(v, "mmtrend run");
	view_head(v, "mmtrend push --url %s --token-file FILE",
		  url && *url ? url : "URL");
	view_note(v, "The token is made on the server: mmtrendd token add "
		  "--tokens FILE --scope runs.");
}

void route_index(const struct request *q, struct response *r)
{
	struct store *s = q->site->store;
	struct store_charts charts = { 0 };
	struct store_kernels kernels = { 0 };
	char host[VIEW_HOST];
	struct err e = { "" };
	struct view v;

	if (view_failed(q, r, store_charts(s, NULL, &charts, &e) ||
			store_kernels(s, NULL, KERNELS, &kernels, &e), &e))
		goto out;
	view_begin(&v, q, r, "mmtrend");
	view_note(&v, "How fast Linux memory management is, per kernel commit "
		  "and folio size. Hosts that run patched kernels measure "
		  "themselves and post here.");
	charts_table(&v, &charts);
	view_section(&v, "Newest kernels");
	view_kernels(&v, &kernels, view_host(q, NULL, host));
	how_to_post(&v, q->site->public_url);
	view_end(&v);
out:
	store_kernels_free(&kernels);
	store_charts_free(&charts);
}
