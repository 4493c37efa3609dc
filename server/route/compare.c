/* SPDX-License-Identifier: GPL-2.0-only */
/* /compare: two kernels on one host, every figure that either has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/size.h"
#include "../plot.h"
#include "../view.h"

const struct param_spec compare_params[] = {
	{ .name = "host", .kind = PARAM_TEXT, .min = 1, .max = RECORD_MAX_NAME,
	  .help = "the host's label; the only one there is" },
	{ .name = "a", .kind = PARAM_KERNEL,
	  .help = "the kernel before; the newest but one" },
	{ .name = "b", .kind = PARAM_KERNEL,
	  .help = "the kernel after; the newest" },
	{ .name = "bench", .kind = PARAM_TEXT, .min = 1, .max = RECORD_MAX_NAME,
	  .help = "this benchmark only" },
	{ 0 }
};

static const struct view_col cols[] = {
	{ "folio", "folio_bytes", false, true, false },
	{ "before", "before", true, true, false },
	{ "spread", "before_spread", true, true, false },
	{ "n", "before_n", true, true, false },
	{ "after", "after", true, true, false },
	{ "spread", "after_spread", true, true, false },
	{ "n", "after_n", true, true, false },
	{ "change", "change_percent", true, true, false },
	{ "verdict", "verdict", false, false, false },
	{ NULL, "before_boots", true, true, true },
	{ NULL, "before_status", false, false, true },
	{ NULL, "before_reason", false, false, true },
	{ NULL, "after_boots", true, true, true },
	{ NULL, "after_status", false, false, true },
	{ NULL, "after_reason", false, false, true },
	{ NULL, "bench", false, false, true },
	{ NULL, "metric", false, false, true },
	{ NULL, "unit", false, false, true },
	{ NULL, "better", false, false, true },
	{ NULL, "quantum", true, true, true },
	{ NULL, "ops", true, true, true },
	{ NULL, "rev", true, true, true },
	{ NULL, "params", false, false, true },
	{ NULL, "epoch", false, false, true },
	{ NULL, "before_kernel", false, false, true },
	{ NULL, "after_kernel", false, false, true },
};

struct page {
	const struct request *q;
	struct response *r;
	char *host;
	char a[65], b[65];		/* as asked, or the newest two */
	struct store_pairs t;
	char title[2 * RECORD_MAX_NAME + 64];
};

/* --- what was asked --------------------------------------------------- */

static int choose_host(struct page *p)
{
	const char *asked = param_text(p->q->params, "host");
	struct store_hosts hosts = { 0 };
	struct err e = { "" };

	if (asked) {
		p->host = strdup(asked);
	} else if (!view_failed(p->q, p->r, store_hosts(p->q->site->store,
							&hosts, &e), &e)) {
		if (hosts.n == 1)
			p->host = strdup(hosts.v[0].label);
		else
			view_refuse_host(p->q, p->r, NULL);
	}
	store_hosts_free(&hosts);
	return p->host ? 0 : -1;
}

/* Two on this host, or say what is missing. */
static int choose_kernels(struct page *p)
{
	const char *a = param_text(p->q->params, "a");
	const char *b = param_text(p->q->params, "b");
	struct store_kernels newest = { 0 };
	struct err e = { "" };
	int ret = -1;

	if (view_failed(p->q, p->r, store_kernels(p->q->site->store, p->host, 2,
						  &newest, &e), &e))
		goto out;
	if (!newest.n) {
		view_refuse_host(p->q, p->r, p->host);
		goto out;
	}
	if (!a && newest.n < 2) {
		response_error(p->q, p->r, 404, "a: %s has one kernel only: %s",
			       p->host, newest.v[0].key);
		goto out;
	}
	snprintf(p->a, sizeof(p->a), "%s", a ? a : newest.v[0].key);
	snprintf(p->b, sizeof(p->b), "%s", b ? b : newest.v[newest.n - 1].key);
	/* "b" alone may be the one that "a" would be. */
	if (!a && b && !strncmp(b, p->a, strlen(b)))
		snprintf(p->a, sizeof(p->a), "%s", newest.v[1].key);
	ret = 0;
out:
	store_kernels_free(&newest);
	return ret;
}

static int load(struct page *p)
{
	enum store_answer answer;
	char a[VIEW_KERNEL], b[VIEW_KERNEL];
	struct err e = { "" };

	if (choose_host(p) || choose_kernels(p))
		return -1;
	answer = store_compare(p->q->site->store, p->host, p->a, p->b,
			       param_text(p->q->params, "bench"), &p->t, &e);
	if (answer == STORE_MISSING)
		response_error(p->q, p->r, 404, "%s; /kernels?host=%s lists "
			       "what there is", e.msg, p->host);
	else if (!view_refused(p->q, p->r, answer, &e)) {
		snprintf(p->title, sizeof(p->title), "%s: %s, then %s", p->host,
			 view_kernel(&p->t.a, a), view_kernel(&p->t.b, b));
		return 0;
	}
	return -1;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The same source built the same way, if not the same build. */
static bool is_same_kernel(const struct store_kernel *a,
			   const struct store_kernel *b)
{
	if (!strcmp(a->key, b->key))
		return true;
	return a->commit && a->commit_proven == 1 && b->commit_proven == 1 &&
	       a->config_sha256 && is_same(a->commit, b->commit) &&
	       is_same(a->config_sha256, b->config_sha256) &&
	       is_same(a->compiler, b->compiler);
}

/* Both sides can be held against each other. */
static bool has_change(const struct store_pair *p)
{
	return p->a.status == RECORD_OK && p->b.status == RECORD_OK &&
	       p->a.value != RECORD_NULL && p->b.value != RECORD_NULL &&
	       p->a.value;
}

static double change(const struct store_pair *p)
{
	return ((double)p->b.value - (double)p->a.value) / (double)p->a.value;
}

/* --- tables ----------------------------------------------------------- */

static void raw_cell(struct view *v, const char *text, int64_t raw)
{
	char s[REPORT_VALUE];

	snprintf(s, sizeof(s), "%lld", (long long)raw);
	view_cell(v, text, raw == RECORD_NULL ? NULL : s, NULL);
}

static void side_cells(struct view *v, const struct store_point *pt,
		       struct report_unit unit)
{
	char text[REPORT_VALUE];

	raw_cell(v, view_figure(pt, unit, text), pt->value);
	raw_cell(v, view_spread(pt, text), pt->spread);
	view_cell_int(v, pt->n);
}

static void side_facts(struct view *v, const struct store_point *pt)
{
	view_cell_int(v, pt->boots);
	view_cell_text(v, view_measured(pt) ? record_status_name(pt->status) :
		       NULL);
	view_cell_text(v, pt->reason);
}

static void change_cell(struct view *v, const struct store_pair *x)
{
	char text[REPORT_VALUE], raw[REPORT_VALUE];

	if (!has_change(x)) {
		view_cell(v, NULL, NULL, NULL);
		return;
	}
	snprintf(raw, sizeof(raw), "%.4f", 100 * change(x));
	view_cell(v, report_percent(x->a.value, x->b.value, text), raw, NULL);
}

static void row(struct view *v, const struct page *p,
		const struct store_pair *x, struct report_unit unit)
{
	bool bad = x->a.status != RECORD_OK || !view_measured(&x->a);
	char text[SIZE_TEXT];

	raw_cell(v, size_label((uint64_t)x->folio_bytes,
			       (uint64_t)x->base_page_bytes,
			       (uint64_t)x->pmd_bytes, text), x->folio_bytes);
	side_cells(v, &x->a, unit);
	side_cells(v, &x->b, unit);
	change_cell(v, x);
	view_cell_status(v, bad ? &x->a : &x->b,
			 is_same_kernel(&p->t.a, &p->t.b) ? "same kernel" :
			 "not judged yet");
	side_facts(v, &x->a);
	side_facts(v, &x->b);
	view_cell_text(v, x->bench);
	view_cell_text(v, x->metric);
	view_cell_text(v, x->unit);
	view_cell_text(v, x->better == RECORD_LOWER ? "lower" : "higher");
	view_cell_int(v, x->quantum);
	view_cell_int(v, x->ops);
	view_cell_int(v, x->rev);
	view_cell_text(v, x->params);
	view_cell_text(v, x->epoch);
	view_cell_text(v, p->t.a.key);
	view_cell_text(v, p->t.b.key);
}

static bool is_one_table(const struct store_pair *a, const struct store_pair *b)
{
	return !strcmp(a->bench, b->bench) && !strcmp(a->metric, b->metric) &&
	       !strcmp(a->params, b->params) && !strcmp(a->epoch, b->epoch) &&
	       a->rev == b->rev;
}

/* The well-known command that measures the same stands with the trend. */
static void same_as(struct view *v, const struct page *p,
		    const struct store_pair *x)
{
	struct store_trend_query query = {
		.host = p->host, .bench = x->bench, .metric = x->metric,
		.params = x->params, .last = 1,
	};
	struct store_trend t = { 0 };

	if (store_trend(p->q->site->store, &query, &t, NULL) <= STORE_SAME &&
	    t.same_as)
		view_head(v, "same as: %s", t.same_as);
	store_trend_free(&t);
}

/* The table that begins at @from. Returns where the next one does. */
static size_t table(struct view *v, const struct page *p, size_t from)
{
	const struct store_pair *x = &p->t.v[from];
	struct report_unit unit;
	int64_t largest = 0;
	size_t to;

	for (to = from; to < p->t.n && is_one_table(x, &p->t.v[to]); to++) {
		if (p->t.v[to].a.value > largest)
			largest = p->t.v[to].a.value;
		if (p->t.v[to].b.value > largest)
			largest = p->t.v[to].b.value;
	}
	unit = report_unit(largest, x->unit);
	view_section(v, "%s %s in %s, %s is better", x->bench, x->metric,
		     unit.name, x->better == RECORD_LOWER ? "lower" : "higher");
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	view_head_params(v, x->params);
	view_head(v, "machine %s", x->epoch);
	same_as(v, p, x);
	for (; from < to; from++)
		row(v, p, &p->t.v[from], unit);
	return to;
}

static void kernel_line(struct view *v, const char *side,
			const struct store_kernel *k)
{
	view_head(v, "%s %.12s  %s, %s%.12s%s", side, k->key, k->release,
		  k->commit ? "commit " : "commit not known",
		  k->commit ? k->commit : "",
		  k->commit && k->commit_proven != 1 ? " not proven" : "");
}

static void differ(struct view *v, const char *what, const char *a,
		   const char *b)
{
	if (!is_same(a, b))
		view_head(v, "%s differs: %.40s, then %.40s", what,
			  a ? a : "not known", b ? b : "not known");
}

static void add_form(struct view *v, const struct page *p)
{
	struct buf b = BUF_INIT;
	const struct { const char *name, *text, *value; } field[] = {
		{ "host", "Host", p->host }, { "a", "Before", p->a },
		{ "b", "After", p->b },
	};

	buf_str(&b, "<form method=\"get\" action=\"/compare\">\n");
	for (size_t i = 0; i < sizeof(field) / sizeof(*field); i++) {
		buf_printf(&b, "<label>%s <input name=\"%s\" value=\"",
			   field[i].text, field[i].name);
		buf_html(&b, field[i].value);
		buf_str(&b, "\"></label>\n");
	}
	buf_str(&b, "<button>Compare</button>\n</form>\n");
	view_html(v, b.s);
	view_picture(v, "/compare", "change in percent, each cell with its "
		     "spread; the tables below hold the figures");
	buf_free(&b);
}

static void send_table(const struct page *p)
{
	const struct store_kernel *a = &p->t.a, *b = &p->t.b;
	struct view *v = view_new(p->title);

	kernel_line(v, "before", a);
	kernel_line(v, "after ", b);
	if (is_same_kernel(a, b))
		view_head(v, "The same kernel: there is nothing to judge.");
	differ(v, "compiler", a->compiler, b->compiler);
	differ(v, "config", a->config_sha256, b->config_sha256);
	if (p->q->form == FORM_HTML)
		add_form(v, p);
	for (size_t i = 0; i < p->t.n;)
		i = table(v, p, i);
	if (!p->t.n)
		view_note(v, "Neither has a figure here.");
	view_note(v, "change = (after - before) / before; spread = 1.4826 MAD "
		  "of n launches in percent of the value; ! not valid.");
	view_send(v, p->q, p->r);
	view_free(v);
}

/* --- pictures --------------------------------------------------------- */

/* Hundredths of a percent: the change, and the spreads of both sides in it. */
static void draw_pair(const struct store_pair *x, int64_t *value,
		      int64_t *spread)
{
	double a = (double)x->a.spread / (double)x->a.value;
	double b = x->b.value ? (double)x->b.spread / (double)x->b.value : 0;

	*value = llround(1e4 * change(x));
	*spread = llround(1e4 * (1 + change(x)) * hypot(a, b));
}

static void draw(const struct page *p, int64_t *value, int64_t *spread,
		 const char **x, char (*name)[96])
{
	struct plot_series series = { "change", value, spread, NULL };
	struct plot plot = {
		.kind = PLOT_COMPARE, .title = p->title, .unit = "%", .x = x,
		.desc = "change in percent, each cell with its spread",
		.nseries = 1, .series = &series,
	};
	char size[SIZE_TEXT];

	for (size_t i = 0; i < p->t.n; i++) {
		const struct store_pair *pair = &p->t.v[i];

		if (!has_change(pair))
			continue;
		snprintf(name[plot.n], sizeof(*name), "%.40s %.30s %s",
			 pair->bench, pair->metric,
			 size_label((uint64_t)pair->folio_bytes,
				    (uint64_t)pair->base_page_bytes,
				    (uint64_t)pair->pmd_bytes, size));
		x[plot.n] = name[plot.n];
		draw_pair(pair, &value[plot.n], &spread[plot.n]);
		plot.n++;
	}
	if (plot.n)
		view_draw(&plot, p->q, p->r);
	else
		response_error(p->q, p->r, 404, "there is nothing to draw: no "
			       "figure is valid on both sides");
}

static void send_picture(const struct page *p)
{
	int64_t *value = calloc(p->t.n + 1, sizeof(*value));
	int64_t *spread = calloc(p->t.n + 1, sizeof(*spread));
	const char **x = calloc(p->t.n + 1, sizeof(*x));
	char (*name)[96] = calloc(p->t.n + 1, sizeof(*name));

	if (value && spread && x && name)
		draw(p, value, spread, x, name);
	else
		response_error(p->q, p->r, 503, "out of memory");
	free(value);
	free(spread);
	free(x);
	free(name);
}

handler_fn route_compare;

void route_compare(const struct request *q, struct response *r)
{
	struct page p = { .q = q, .r = r };

	if (load(&p))
		;
	else if (q->form & FORM_PICTURE)
		send_picture(&p);
	else
		send_table(&p);
	free(p.host);
	store_pairs_free(&p.t);
}
