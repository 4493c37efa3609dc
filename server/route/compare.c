/* SPDX-License-Identifier: GPL-2.0-only */
/* /compare: two kernels on one host, every figure that either has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/size.h"
#include "../../common/verdict.h"
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
	{ "folio", "folio_bytes", VIEW_SIZE },
	{ "before", "before", VIEW_FIGURE },
	{ "spread", "before_spread", VIEW_FIGURE },
	{ "n", "before_n", VIEW_FIGURE },
	{ "after", "after", VIEW_FIGURE },
	{ "spread", "after_spread", VIEW_FIGURE },
	{ "n", "after_n", VIEW_FIGURE },
	{ "change", "change_percent", VIEW_FIGURE },
	{ "verdict", "verdict", VIEW_TEXT },
	{ NULL, "before_boots", VIEW_FIGURE },
	{ NULL, "before_status", VIEW_TEXT },
	{ NULL, "before_reason", VIEW_TEXT },
	{ NULL, "after_boots", VIEW_FIGURE },
	{ NULL, "after_status", VIEW_TEXT },
	{ NULL, "after_reason", VIEW_TEXT },
	{ NULL, "bench", VIEW_TEXT },
	{ NULL, "metric", VIEW_TEXT },
	{ NULL, "unit", VIEW_TEXT },
	{ NULL, "better", VIEW_TEXT },
	{ NULL, "quantum", VIEW_FIGURE },
	{ NULL, "ops", VIEW_FIGURE },
	{ NULL, "rev", VIEW_FIGURE },
	{ NULL, "params", VIEW_TEXT },
	{ NULL, "epoch", VIEW_TEXT },
	{ NULL, "before_kernel", VIEW_TEXT },
	{ NULL, "after_kernel", VIEW_TEXT },
};

#define VERDICT	96	/* bytes of a verdict */

struct compare {
	const struct request *q;
	struct response *r;
	char host[VIEW_HOST];
	char a[65], b[65];		/* as asked, or the newest two */
	struct store_pairs t;
	char title[2 * RECORD_MAX_NAME + 64];
};

/* --- what was asked --------------------------------------------------- */

/* Two on this host, or say what is missing. */
static int choose_kernels(struct compare *p)
{
	const char *a = param_text(p->q->params, "a");
	const char *b = param_text(p->q->params, "b");
	struct store_kernels newest = { 0 };
	struct err e = { "" };
	int ret = -1;

	if (view_failed(p->q, p->r, store_kernels(p->q->site->store, p->host, 2,
						  &newest, &e), &e)) {
		;
	} else if (!newest.n) {
		view_refuse_host(p->q, p->r, p->host);
	} else if (!a && newest.n < 2) {
		response_error(p->q, p->r, 404, "a: %s has one kernel only: %s",
			       p->host, newest.v[0].key);
	} else {
		b = b ? b : newest.v[newest.n - 1].key;
		/* "b" alone may be the one that "a" would be. */
		if (!a)
			a = newest.v[!strncmp(b, newest.v[0].key,
					      strlen(b))].key;
		snprintf(p->a, sizeof(p->a), "%s", a);
		snprintf(p->b, sizeof(p->b), "%s", b);
		ret = 0;
	}
	store_kernels_free(&newest);
	return ret;
}

static int load(struct compare *p)
{
	const struct params *in = p->q->params;
	char a[VIEW_KERNEL], b[VIEW_KERNEL];
	enum store_answer answer;
	struct err e = { "" };

	if (!view_host(p->q, param_text(in, "host"), p->host)) {
		view_refuse_host(p->q, p->r, NULL);
		return -1;
	}
	if (choose_kernels(p))
		return -1;
	answer = store_compare(p->q->site->store, p->host, p->a, p->b,
			       param_text(in, "bench"), &p->t, &e);
	if (answer == STORE_MISSING) {
		response_error(p->q, p->r, 404, "%s; /kernels?host=%s lists "
			       "what there is", e.msg, p->host);
		return -1;
	}
	if (view_refused(p->q, p->r, answer, &e))
		return -1;
	snprintf(p->title, sizeof(p->title), "%s: %s, then %s", p->host,
		 view_kernel(&p->t.a, a), view_kernel(&p->t.b, b));
	return 0;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The same source built the same way, if not the same build. */
static bool is_same_kernel(const struct store_kernel *a,
			   const struct store_kernel *b)
{
	if (a->pool == b->pool)
		return true;
	return a->commit && a->commit_proven == 1 && b->commit_proven == 1 &&
	       a->config_sha256 && is_same(a->commit, b->commit) &&
	       is_same(a->config_sha256, b->config_sha256) &&
	       is_same(a->compiler, b->compiler);
}

static const char *label(const struct store_pair *x, char out[SIZE_TEXT])
{
	return size_label((uint64_t)x->folio_bytes,
			  (uint64_t)x->base_page_bytes,
			  (uint64_t)x->pmd_bytes, out);
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

static void side_cells(struct view *v, const struct store_point *pt,
		       struct report_unit unit)
{
	char text[REPORT_VALUE];

	view_cell_raw(v, view_figure(pt, unit, text), pt->value);
	view_cell_raw(v, view_spread(pt, text), pt->spread);
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
		view_cell_text(v, NULL);
		return;
	}
	snprintf(raw, sizeof(raw), "%.4f", 100 * change(x));
	view_cell(v, report_percent(x->a.value, x->b.value, text), raw, NULL);
}

/* The side that stands in the way of a verdict. */
static const struct store_point *worse(const struct store_pair *x)
{
	bool bad = x->a.status != RECORD_OK || !view_measured(&x->a);

	return bad ? &x->a : &x->b;
}

static struct verdict_pair judge(const struct store_pair *x)
{
	const char *memory = strstr(x->params, "memory_bytes=");
	int64_t bytes = memory ? strtoll(strchr(memory, '=') + 1, NULL, 10) : 0;

	return (struct verdict_pair){
		.before = x->a.value, .after = x->b.value,
		.status = worse(x)->status, .exact = record_is_exact(x->unit),
		.better = x->better, .quantum = x->quantum, .hz = RECORD_NULL,
		.folio_bytes = x->folio_bytes, .ops = x->ops,
		.pages = x->base_page_bytes > 0 &&
			 x->ops == bytes / x->base_page_bytes,
	};
}

/* As `mmtrend compare` has it: changes on top do not make a commit a claim. */
static bool is_claim(const struct store_kernel *k)
{
	const struct record_kernel is = {
		.release = k->release, .commit = k->commit,
	};

	return k->commit && !record_shows_commit(&is);
}

/* What stands instead of @v: two kernels of which nothing can be said. */
static const char *unfit(const struct compare *p, enum verdict v)
{
	if (v <= VERDICT_NOT_JUDGED && is_same_kernel(&p->t.a, &p->t.b))
		return "same kernel";
	if (v < VERDICT_NOT_JUDGED && (is_claim(&p->t.a) || is_claim(&p->t.b)))
		return "commit not proven";
	return NULL;
}

/* "faster, 7.5x"; "SLOWER, +20 insns a page" */
static const char *verdict(const struct compare *p, const struct store_pair *x,
			   char out[VERDICT])
{
	const struct verdict_pair pair = judge(x);
	char word[REPORT_VALUE], each[REPORT_VALUE];
	enum verdict v = verdict_of(&pair);

	if (unfit(p, v))
		return unfit(p, v);
	snprintf(out, VERDICT, "%s%s%s%s", verdict_text(&pair, word),
		 v == VERDICT_SLOWER ? ", " : "",
		 v == VERDICT_SLOWER ? verdict_per_op(&pair, each) : "",
		 v != VERDICT_SLOWER ? "" : pair.pages ? " insns a page" :
		 " insns each");
	return out;
}

static void row(struct view *v, const struct compare *p,
		const struct store_pair *x, struct report_unit unit,
		struct view_reasons *why)
{
	char text[SIZE_TEXT], word[VERDICT];

	view_cell_raw(v, label(x, text), x->folio_bytes);
	side_cells(v, &x->a, unit);
	side_cells(v, &x->b, unit);
	change_cell(v, x);
	view_cell_why(v, verdict(p, x, word), worse(x), why);
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

static size_t table_end(const struct compare *p, size_t from)
{
	size_t to = from + 1;

	while (to < p->t.n && is_one_table(&p->t.v[from], &p->t.v[to]))
		to++;
	return to;
}

/* What base pages and PMD say of the other sizes. */
static void controls(struct view *v, const struct store_pair *x, size_t n)
{
	struct verdict_pair *rows = calloc(n, sizeof(*rows));
	struct buf lines = BUF_INIT;

	for (size_t i = 0; rows && i < n; i++)
		rows[i] = judge(&x[i]);
	if (rows)
		verdict_controls(rows, n, x->base_page_bytes, x->pmd_bytes,
				 &lines);
	if (lines.len)
		view_note(v, "%.*s", (int)lines.len - 1, lines.s);
	buf_free(&lines);
	free(rows);
}

static void table(struct view *v, const struct compare *p, size_t from,
		  size_t to)
{
	const struct store_pair *x = &p->t.v[from];
	struct view_reasons why = { .n = 0 };
	struct report_unit unit;
	int64_t largest = 0;

	for (size_t i = from; i < to; i++) {
		if (p->t.v[i].a.value > largest)
			largest = p->t.v[i].a.value;
		if (p->t.v[i].b.value > largest)
			largest = p->t.v[i].b.value;
		view_reason(&why, worse(&p->t.v[i]));
	}
	unit = report_unit(largest, x->unit);
	view_section(v, "%s %s in %s, %s is better", x->bench, x->metric,
		     unit.name, x->better == RECORD_LOWER ? "lower" : "higher");
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	view_head_params(v, x->params);
	view_head(v, "machine %s", x->epoch);
	if (x->same_as)
		view_head(v, "same as: %s", x->same_as);
	for (size_t i = from; i < to; i++)
		row(v, p, &p->t.v[i], unit, &why);
	if (!unfit(p, VERDICT_SAME))
		controls(v, x, to - from);
	view_tell_reasons(v, &why);
}

/* The null benchmark measures nothing: it comes last. */
static void tables(struct view *v, const struct compare *p)
{
	for (int null = 0; null < 2; null++)
		for (size_t i = 0, to; i < p->t.n; i = to) {
			to = table_end(p, i);
			if (null == !strcmp(p->t.v[i].bench, "null"))
				table(v, p, i, to);
		}
}

static void kernel_line(struct view *v, const char *side,
			const struct store_kernel *k)
{
	view_head(v, "%s %.12s  %s%s%s, %s%.12s%s", side, k->key, k->release,
		  k->patches ? " + " : "", k->patches ? k->patches : "",
		  k->commit ? "commit " : "commit not known",
		  k->commit ? k->commit : "",
		  is_claim(k) ? " not proven" :
		  k->commit && k->commit_proven != 1 && !k->patches ?
		  " and changes" : "");
}

static void differ(struct view *v, const char *what, const char *a,
		   const char *b)
{
	if (!is_same(a, b))
		view_head(v, "%s differs: %.40s, then %.40s", what,
			  a ? a : "not known", b ? b : "not known");
}

static void add_form(struct view *v, const struct compare *p)
{
	const struct { const char *name, *text, *value; } field[] = {
		{ "host", "Host", p->host }, { "a", "Before", p->a },
		{ "b", "After", p->b },
	};

	buf_str(&v->body, "<form method=\"get\" action=\"/compare\">\n");
	for (size_t i = 0; i < sizeof(field) / sizeof(*field); i++) {
		buf_printf(&v->body, "<label>%s <input name=\"%s\" value=\"",
			   field[i].text, field[i].name);
		buf_html(&v->body, field[i].value);
		buf_str(&v->body, "\"></label>\n");
	}
	buf_str(&v->body, "<button>Compare</button>\n</form>\n");
	view_picture(v, "change in percent, each cell with its spread; the "
		     "tables below hold the figures");
}

static void send_table(const struct compare *p)
{
	const struct store_kernel *a = &p->t.a, *b = &p->t.b;
	struct view v;

	view_begin(&v, p->q, p->r, p->title);
	if (p->q->form == FORM_HTML)
		add_form(&v, p);
	kernel_line(&v, "before", a);
	kernel_line(&v, "after ", b);
	if (is_same_kernel(a, b))
		view_head(&v, "The same kernel: there is nothing to judge.");
	differ(&v, "compiler", a->compiler, b->compiler);
	differ(&v, "config", a->config_sha256, b->config_sha256);
	tables(&v, p);
	view_note(&v, "change = (after - before) / before; spread = 1.4826 MAD "
		  "of n launches in percent of the value; ! not valid.");
	view_end(&v);
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

static void send_picture(const struct compare *p)
{
	int64_t *value = calloc(p->t.n + 1, sizeof(*value));
	int64_t *spread = calloc(p->t.n + 1, sizeof(*spread));
	const char **x = calloc(p->t.n + 1, sizeof(*x));
	char (*name)[96] = calloc(p->t.n + 1, sizeof(*name));
	struct plot_series series = { "change", value, spread, NULL };
	struct plot plot = {
		.kind = PLOT_COMPARE, .title = p->title, .unit = "%", .x = x,
		.desc = "change in percent, each cell with its spread",
		.nseries = 1, .series = &series,
	};
	bool memory = value && spread && x && name;
	char size[SIZE_TEXT];

	for (size_t i = 0; memory && i < p->t.n; i++) {
		const struct store_pair *pair = &p->t.v[i];

		if (!has_change(pair))
			continue;
		snprintf(name[plot.n], sizeof(*name), "%.40s %.30s %s",
			 pair->bench, pair->metric, label(pair, size));
		x[plot.n] = name[plot.n];
		draw_pair(pair, &value[plot.n], &spread[plot.n]);
		plot.n++;
	}
	if (!memory)
		response_error(p->q, p->r, 503, "out of memory");
	else if (plot.n)
		view_draw(&plot, p->q, p->r);
	else
		response_error(p->q, p->r, 404, "there is nothing to draw: no "
			       "figure is valid on both sides");
	free(value);
	free(spread);
	free(x);
	free(name);
}

void route_compare(const struct request *q, struct response *r)
{
	struct compare p = { .q = q, .r = r };

	if (load(&p))
		;
	else if (q->form & FORM_PICTURE)
		send_picture(&p);
	else
		send_table(&p);
	store_pairs_free(&p.t);
}
