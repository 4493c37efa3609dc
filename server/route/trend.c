/* SPDX-License-Identifier: GPL-2.0-only */
/* /trend: one metric on one host over kernels, all folio sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/size.h"
#include "../history.h"
#include "../plot.h"
#include "../view.h"

#define MAX_ROWS	40	/* kernels in the text and HTML tables */
#define MAX_WHY		20	/* reasons told below them */

const struct param_spec trend_params[] = {
	{ .name = "host", .kind = PARAM_TEXT, .min = 1, .max = RECORD_MAX_NAME,
	  .help = "the host's label, as /hosts lists it" },
	{ .name = "bench", .kind = PARAM_TEXT, .min = 1,
	  .max = 2 * RECORD_MAX_NAME + 1,
	  .help = "a benchmark, or BENCHMARK/METRIC" },
	{ .name = "metric", .kind = PARAM_TEXT, .min = 1,
	  .max = RECORD_MAX_NAME, .help = "one of the benchmark's; the first" },
	{ .name = "params", .kind = PARAM_TEXT, .min = 1,
	  .help = "memory_bytes=268435456&...; those of the newest run" },
	{ .name = "size", .kind = PARAM_TEXT, .min = 1, .max = 20,
	  .help = "a folio size: base, pmd, 64k, 65536; all" },
	{ .name = "scale", .kind = PARAM_ENUM, .words = "linear|log",
	  .fallback = "linear", .help = "the y axis of the picture" },
	{ .name = "last", .kind = PARAM_INT, .min = 1, .max = 10000,
	  .fallback = "1000", .help = "newest kernels only" },
	{ 0 }
};

struct page {
	const struct request *q;
	struct response *r;
	const char *host, *bench, *metric, *size; /* as asked; NULL: not */
	char split[2 * RECORD_MAX_NAME + 2];	/* BENCHMARK/METRIC */
	struct store_trend t;
	size_t *pick, npick;		/* the series that are wanted */
	struct report_unit unit;	/* of all figures shown */
	char title[4 * RECORD_MAX_NAME];
	struct view_col *cols;		/* of all tables */
	char (*label)[SIZE_TEXT];	/* of each pick */
};

static const struct store_series *series_of(const struct page *p, size_t i)
{
	return &p->t.series[p->pick[i]];
}

static const struct store_point *point(const struct page *p, size_t i, size_t k)
{
	return &p->t.points[p->pick[i] * p->t.nkernels + k];
}

static bool any_run(const struct page *p, size_t from, size_t to, size_t k)
{
	while (from < to)
		if (view_measured(point(p, from++, k)))
			return true;
	return false;
}

/* Where the series of the epoch that begins or goes on at @from end. */
static size_t epoch_end(const struct page *p, size_t from)
{
	size_t to = from + 1;

	while (to < p->npick &&
	       !strcmp(series_of(p, to)->epoch, series_of(p, from)->epoch))
		to++;
	return to;
}

/* --- what was asked, and what there is -------------------------------- */

/* The bench, or the metric of a known bench, is missing or unknown; false:
 * neither is. */
static bool refuse_chart(const struct page *p, const struct store_charts *c)
{
	struct view_names benches = { 0 }, metrics = { 0 };
	bool known = !p->metric;

	for (size_t i = 0; i < c->n; i++) {
		view_name(&benches, c->v[i].bench);
		if (p->bench && !strcmp(c->v[i].bench, p->bench)) {
			view_name(&metrics, c->v[i].metric);
			known |= p->metric &&
				 !strcmp(c->v[i].metric, p->metric);
		}
	}
	if (!metrics.n)
		view_missing(p->q, p->r, "bench", p->bench, &benches);
	else if (!known)
		view_missing(p->q, p->r, "metric", p->metric, &metrics);
	known &= metrics.n > 0;
	buf_free(&benches.text);
	buf_free(&metrics.text);
	return !known;
}

/* Nothing matches: say which field it is and what it could be. */
static void refuse_query(const struct page *p, const struct err *why)
{
	struct store_charts c = { 0 };
	struct err e = { "" };
	int rc = 0;

	if (p->host)
		rc = store_charts(p->q->site->store, p->host, &c, &e);
	if (view_failed(p->q, p->r, rc, &e))
		;
	else if (!c.n)
		view_refuse_host(p->q, p->r, p->host);
	else if (!refuse_chart(p, &c))
		view_refused(p->q, p->r, STORE_MISSING, why);
	store_charts_free(&c);
}

/* The form has one list for both, so that the two always fit. */
static int split_bench(struct page *p)
{
	size_t n;

	p->bench = param_text(p->q->params, "bench");
	p->metric = param_text(p->q->params, "metric");
	n = p->bench ? strcspn(p->bench, "/") : 0;
	if (!p->bench || !p->bench[n])
		return 0;
	if (p->metric) {
		response_error(p->q, p->r, 400,
			       "metric: given twice, in bench as well");
		return -1;
	}
	snprintf(p->split, sizeof(p->split), "%s", p->bench);
	p->split[n] = '\0';
	p->bench = p->split;
	p->metric = p->split + n + 1;
	return 0;
}

static bool is_wanted(const char *size, const struct store_series *s)
{
	uint64_t bytes;

	if (!size)
		return true;
	if (!strcmp(size, "base"))
		return s->folio_bytes == s->base_page_bytes;
	if (!strcmp(size, "pmd"))
		return s->folio_bytes == s->pmd_bytes;
	return !size_parse(size, &bytes) && (uint64_t)s->folio_bytes == bytes;
}

static const char *label(const struct store_series *s, char out[SIZE_TEXT])
{
	return size_label((uint64_t)s->folio_bytes,
			  (uint64_t)s->base_page_bytes,
			  (uint64_t)s->pmd_bytes, out);
}

static bool is_newest_epoch(const struct page *p, size_t series)
{
	return !strcmp(p->t.series[series].epoch,
		       p->t.series[p->t.nseries - 1].epoch);
}

static void refuse_size(const struct page *p)
{
	struct view_names there = { 0 };
	char text[SIZE_TEXT];

	for (size_t i = 0; i < p->t.nseries; i++) {
		uint64_t bytes = (uint64_t)p->t.series[i].folio_bytes;

		there.last = NULL;	/* @text is one and the same */
		if (is_newest_epoch(p, i))
			view_name(&there, size_text(bytes, text));
	}
	view_missing(p->q, p->r, "size", p->size, &there);
}

/* Which series are shown, their labels, and the unit for all of them. */
static int pick(struct page *p)
{
	int64_t largest = 0;
	size_t n = p->t.nseries;

	p->pick = calloc(n + 1, sizeof(*p->pick));
	p->label = calloc(n + 1, sizeof(*p->label));
	p->cols = calloc(2 * n + 1, sizeof(*p->cols));
	if (!p->pick || !p->label || !p->cols) {
		response_error(p->q, p->r, 503, "out of memory");
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		if (!is_wanted(p->size, &p->t.series[i]))
			continue;
		label(&p->t.series[i], p->label[p->npick]);
		p->pick[p->npick++] = i;
		for (size_t k = 0; k < p->t.nkernels; k++)
			if (point(p, p->npick - 1, k)->value > largest)
				largest = point(p, p->npick - 1, k)->value;
	}
	p->unit = report_unit(largest, p->t.unit);
	if (!p->npick)
		refuse_size(p);
	return p->npick ? 0 : -1;
}

static int load(struct page *p)
{
	const struct params *in = p->q->params;
	struct store_trend_query query = { 0 };
	enum store_answer a = STORE_MISSING;
	struct err e = { "" };

	query.host = p->host = param_text(in, "host");
	query.params = param_text(in, "params");
	query.last = (size_t)param_int(in, "last");
	p->size = param_text(in, "size");
	if (split_bench(p))
		return -1;
	query.bench = p->bench;
	query.metric = p->metric;
	if (p->host && p->bench)
		a = store_trend(p->q->site->store, &query, &p->t, &e);
	if (a == STORE_MISSING) {
		refuse_query(p, &e);
		return -1;
	}
	if (view_refused(p->q, p->r, a, &e))
		return -1;
	snprintf(p->title, sizeof(p->title), "%s: %s %s (%s), %s is better",
		 p->t.host, p->t.bench, p->t.metric, p->t.unit,
		 p->t.better == RECORD_LOWER ? "lower" : "higher");
	return pick(p);
}

/* --- JSON: columns, by hand, since a chart waits for it --------------- */

static void json_int(struct buf *b, int64_t v)
{
	if (v == RECORD_NULL)
		buf_str(b, "null");
	else
		buf_i64(b, v);
}

static void json_field(struct buf *b, const char *before, const char *text)
{
	buf_str(b, before);
	buf_json(b, text);
}

/* {"memory_bytes":268435456} from its canonical text. */
static void json_params(struct buf *b, const char *s)
{
	char name[PARAM_MAX_LEN], value[PARAM_MAX_LEN], *end;
	const char *sep = "{";

	buf_str(b, *s ? "" : sep);
	while (*s) {
		size_t len = strcspn(s, "&"), n = strcspn(s, "=&");

		if (n < len && !param_decode(s, n, false, name, sizeof(name)) &&
		    !param_decode(s + n + 1, len - n - 1, false, value,
				  sizeof(value))) {
			json_field(b, sep, name);
			buf_char(b, ':');
			if (*value && (strtoll(value, &end, 10), !*end))
				buf_str(b, value);
			else
				buf_json(b, value);
			sep = ",";
		}
		s += len + (s[len] == '&');
	}
	buf_char(b, '}');
}

static void json_kernels(struct buf *b, const struct store_trend *t)
{
	static const char *const key[] = {
		"\"key\":[", "],\"short\":[", "],\"release\":[",
		"],\"version\":[", "],\"commit\":[", "],\"first_posted\":[",
	};
	char name[VIEW_KERNEL];

	for (size_t f = 0; f < sizeof(key) / sizeof(*key); f++) {
		buf_str(b, key[f]);
		for (size_t k = 0; k < t->nkernels; k++) {
			const struct store_kernel *v = &t->kernels[k];
			const char *const field[] = {
				v->key, view_kernel(v, name), v->release,
				v->version, v->commit, v->first_posted,
			};

			json_field(b, k ? "," : "", field[f]);
		}
	}
	buf_char(b, ']');
}

static void json_not_ok(struct buf *b, const struct page *p, size_t i)
{
	const char *sep = "";

	for (size_t k = 0; k < p->t.nkernels; k++) {
		const struct store_point *pt = point(p, i, k);

		if (pt->status == RECORD_OK)
			continue;
		buf_printf(b, "%s\"%zu\":{\"status\":\"%s\",\"reason\":",
			   sep, k, record_status_name(pt->status));
		buf_json(b, pt->reason);
		buf_char(b, '}');
		sep = ",";
	}
}

static void json_series(struct buf *b, const struct page *p, size_t i)
{
	static const char *const key[] = {
		",\"value\":[", "],\"spread\":[", "],\"n\":[", "],\"boots\":[",
	};

	buf_str(b, i ? ",\n{\"folio_bytes\":" : "\n{\"folio_bytes\":");
	buf_i64(b, series_of(p, i)->folio_bytes);
	json_field(b, ",\"label\":", p->label[i]);
	json_field(b, ",\"epoch\":", series_of(p, i)->epoch);
	for (size_t f = 0; f < sizeof(key) / sizeof(*key); f++) {
		buf_str(b, key[f]);
		for (size_t k = 0; k < p->t.nkernels; k++) {
			const struct store_point *pt = point(p, i, k);
			const int64_t field[] = {
				pt->value, pt->spread, pt->n, pt->boots,
			};

			buf_str(b, k ? "," : "");
			json_int(b, field[f]);
		}
	}
	buf_str(b, "],\"not_ok\":{");
	json_not_ok(b, p, i);
	buf_str(b, "}}");
}

static void send_json(const struct page *p, struct buf *b)
{
	const struct store_trend *t = &p->t;

	json_field(b, "{\"view\":\"trend\",\"host\":", t->host);
	json_field(b, ",\"bench\":", t->bench);
	json_field(b, ",\"metric\":", t->metric);
	json_field(b, ",\"unit\":", t->unit);
	json_field(b, ",\"better\":",
		   t->better == RECORD_LOWER ? "lower" : "higher");
	json_field(b, ",\"scale\":", param_text(p->q->params, "scale"));
	buf_str(b, ",\"quantum\":");
	json_int(b, t->quantum);
	buf_str(b, ",\"ops\":");
	json_int(b, t->ops);
	json_field(b, ",\"same_as\":", t->same_as);
	buf_str(b, ",\"params\":");
	json_params(b, t->params);
	json_field(b, ",\"title\":", p->title);
	json_field(b, ",\"order\":", history_order_text());
	buf_printf(b, ",\"older\":%zu,\n\"kernels\":{", t->older);
	json_kernels(b, t);
	buf_str(b, "},\n\"series\":[");
	for (size_t i = 0; i < p->npick; i++)
		json_series(b, p, i);
	buf_str(b, "]}\n");
}

/* --- CSV: one line a figure ------------------------------------------- */

static void csv_int(struct buf *b, int64_t v)
{
	if (v != RECORD_NULL)
		buf_i64(b, v);
	buf_char(b, ',');
}

static void csv_text(struct buf *b, const char *s, const char *after)
{
	if (s)
		buf_csv(b, s);
	buf_str(b, after);
}

static void csv_unit(struct buf *b, const char *what, const char *unit)
{
	char name[RECORD_MAX_NAME + 16];

	snprintf(name, sizeof(name), "%s_%s", what, unit);
	csv_text(b, name, ",");
}

static void send_csv(const struct page *p, struct buf *b)
{
	buf_str(b, "kernel,commit,release,first_posted,folio_bytes,epoch,");
	csv_unit(b, "value", p->t.unit);
	csv_unit(b, "spread", p->t.unit);
	buf_str(b, "n,boots,status,reason\r\n");
	for (size_t k = 0; k < p->t.nkernels; k++) {
		const struct store_kernel *v = &p->t.kernels[k];

		for (size_t i = 0; i < p->npick; i++) {
			const struct store_point *pt = point(p, i, k);

			if (!view_measured(pt))
				continue;
			csv_text(b, v->key, ",");
			csv_text(b, v->commit, ",");
			csv_text(b, v->release, ",");
			csv_text(b, v->first_posted, ",");
			csv_int(b, series_of(p, i)->folio_bytes);
			csv_text(b, series_of(p, i)->epoch, ",");
			csv_int(b, pt->value);
			csv_int(b, pt->spread);
			csv_int(b, pt->n);
			csv_int(b, pt->boots);
			csv_text(b, record_status_name(pt->status), ",");
			csv_text(b, pt->reason, "\r\n");
		}
	}
}

/* --- pictures --------------------------------------------------------- */

static void describe(const struct page *p, struct buf *b)
{
	buf_printf(b, "%s; each folio size over %zu kernels, %s.", p->title,
		   p->t.nkernels, history_order_text());
}

/* The kernels at which another epoch than the oldest begins. */
static void find_breaks(const struct page *p, unsigned char *breaks)
{
	size_t from = 0, to, k;

	for (; from < p->npick; from = to) {
		to = epoch_end(p, from);
		for (k = 0; k < p->t.nkernels && !any_run(p, from, to, k);)
			k++;
		if (from && k < p->t.nkernels)
			breaks[k] = 1;
	}
}

struct drawn {		/* arrays of struct plot, by size and kernel */
	int64_t *value, *spread;
	unsigned char *apart, *breaks;
	char (*name)[VIEW_KERNEL];
	const char **x;
	struct plot_series series[PLOT_MAX_SERIES];
};

/* A size is one line over all epochs, which the breaks cut: is @i its last? */
static bool is_last_of_size(const struct page *p, size_t i)
{
	int64_t bytes = series_of(p, i)->folio_bytes;

	while (++i < p->npick)
		if (series_of(p, i)->folio_bytes == bytes)
			return false;
	return true;
}

static void draw_size(const struct page *p, struct drawn *d, size_t last,
		      struct plot_series *out)
{
	int64_t bytes = series_of(p, last)->folio_bytes;
	int64_t *value = d->value + last * p->t.nkernels;
	int64_t *spread = d->spread + last * p->t.nkernels;
	unsigned char *apart = d->apart + last * p->t.nkernels;

	*out = (struct plot_series){ p->label[last], value, spread, apart };
	for (size_t k = 0; k < p->t.nkernels; k++) {
		const struct store_point *pt = point(p, last, k);

		for (size_t i = last; i-- && !view_measured(pt);)
			if (series_of(p, i)->folio_bytes == bytes)
				pt = point(p, i, k);
		value[k] = pt->value;
		spread[k] = pt->spread == RECORD_NULL ? 0 : pt->spread;
		apart[k] = pt->status != RECORD_OK;
	}
}

static void draw(const struct page *p, struct drawn *d, const char *desc)
{
	struct plot plot = {
		.kind = PLOT_TREND, .title = p->title, .desc = desc,
		.unit = p->t.unit, .n = p->t.nkernels, .x = d->x,
		.log_scale = !strcmp(param_text(p->q->params, "scale"), "log"),
		.breaks = d->breaks, .series = d->series,
	};

	for (size_t k = 0; k < plot.n; k++)
		d->x[k] = view_kernel(&p->t.kernels[k], d->name[k]);
	for (size_t i = 0; i < p->npick && plot.nseries < PLOT_MAX_SERIES; i++)
		if (is_last_of_size(p, i))
			draw_size(p, d, i, &d->series[plot.nseries++]);
	find_breaks(p, d->breaks);
	view_draw(&plot, p->q, p->r);
}

static void send_picture(const struct page *p)
{
	size_t nk = p->t.nkernels + 1, n = p->npick * nk;
	struct drawn d = {
		.value = calloc(n, sizeof(*d.value)),
		.spread = calloc(n, sizeof(*d.spread)),
		.apart = calloc(n, 1), .breaks = calloc(nk, 1),
		.name = calloc(nk, sizeof(*d.name)),
		.x = calloc(nk, sizeof(*d.x)),
	};
	struct buf desc = BUF_INIT;

	describe(p, &desc);
	if (d.value && d.spread && d.apart && d.breaks && d.name && d.x &&
	    buf_ok(&desc))
		draw(p, &d, desc.s);
	else
		response_error(p->q, p->r, 503, "out of memory");
	buf_free(&desc);
	free(d.value);
	free(d.spread);
	free(d.apart);
	free(d.breaks);
	free(d.name);
	free(d.x);
}

/* --- the form: works without script ----------------------------------- */

static void list(struct buf *b, const char *label_text, const char *name)
{
	buf_printf(b, "<label>%s <select name=\"%s\">\n", label_text, name);
}

static void list_end(struct buf *b)
{
	buf_str(b, "</select></label>\n");
}

static void option(struct buf *b, const char *value, const char *text,
		   bool selected)
{
	buf_str(b, "<option value=\"");
	buf_html(b, value);
	buf_str(b, selected ? "\" selected>" : "\">");
	buf_html(b, text);
	buf_str(b, "</option>\n");
}

static void form_benches(struct buf *b, const struct page *p,
			 const struct store_charts *c)
{
	char value[2 * RECORD_MAX_NAME + 2], shown[sizeof(value)];
	char last[sizeof(value)] = "";

	snprintf(shown, sizeof(shown), "%s/%s", p->t.bench, p->t.metric);
	list(b, "Benchmark", "bench");
	for (size_t i = 0; i < c->n; i++) {
		snprintf(value, sizeof(value), "%s/%s", c->v[i].bench,
			 c->v[i].metric);
		if (strcmp(value, last) != 0)
			option(b, value, value, !strcmp(value, shown));
		memcpy(last, value, sizeof(last));
	}
	list_end(b);
}

static void form_sizes(struct buf *b, const struct page *p)
{
	const struct store_trend *t = &p->t;
	char value[SIZE_TEXT], text[SIZE_TEXT];

	list(b, "Folio size", "size");
	option(b, "", "all", !p->size);
	for (size_t i = 0; i < t->nseries; i++) {
		if (!is_newest_epoch(p, i))
			continue;
		option(b, size_text((uint64_t)t->series[i].folio_bytes, value),
		       label(&t->series[i], text),
		       p->size && is_wanted(p->size, &t->series[i]));
	}
	list_end(b);
}

/* The same metric with other parameters is another chart. */
static void form_params(struct buf *b, const struct page *p,
			const struct store_charts *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct store_chart *v = &c->v[i];
		struct buf url = BUF_INIT;

		if (strcmp(v->bench, p->t.bench) != 0 ||
		    strcmp(v->metric, p->t.metric) != 0 ||
		    !strcmp(v->params, p->t.params))
			continue;
		view_chart_url(&url, v);
		buf_str(b, "<p>Also with <a href=\"");
		buf_html(b, url.s ? url.s : "");
		buf_str(b, "\">");
		buf_html(b, v->params);
		buf_str(b, "</a></p>\n");
		buf_free(&url);
	}
}

static void form(struct buf *b, const struct page *p,
		 const struct store_hosts *hosts, const struct store_charts *c)
{
	bool log = !strcmp(param_text(p->q->params, "scale"), "log");

	buf_str(b, "<form method=\"get\" action=\"/trend\">\n");
	list(b, "Host", "host");
	for (size_t i = 0; i < hosts->n; i++)
		option(b, hosts->v[i].label, hosts->v[i].label,
		       !strcmp(hosts->v[i].label, p->t.host));
	list_end(b);
	form_benches(b, p, c);
	form_sizes(b, p);
	list(b, "Scale", "scale");
	option(b, "linear", "linear", !log);
	option(b, "log", "logarithmic", log);
	list_end(b);
	buf_printf(b, "<label>Newest kernels <input name=\"last\" "
		   "type=\"number\" min=\"1\" max=\"10000\" "
		   "value=\"%s\"></label>\n<button>Show</button>\n</form>\n",
		   param_text(p->q->params, "last"));
	form_params(b, p, c);
}

static void add_form(struct view *v, const struct page *p)
{
	struct store *s = p->q->site->store;
	struct store_hosts hosts = { 0 };
	struct store_charts charts = { 0 };
	struct buf b = BUF_INIT, desc = BUF_INIT;

	/* A page without its form is still the page that was asked for. */
	if (!store_hosts(s, &hosts, NULL) &&
	    !store_charts(s, p->t.host, &charts, NULL))
		form(&b, p, &hosts, &charts);
	describe(p, &desc);
	if (b.s)
		view_html(v, b.s);
	view_picture(v, "/trend", desc.s);
	buf_free(&b);
	buf_free(&desc);
	store_hosts_free(&hosts);
	store_charts_free(&charts);
}

/* --- tables: text and HTML -------------------------------------------- */

/* A figure; with "!" one that is not judged; a letter where there is none. */
static void cell(struct view *v, const struct page *p,
		 const struct store_point *pt)
{
	static const char *const mark[] = {
		[RECORD_OK] = "-", [RECORD_INVALID] = "!", [RECORD_SKIP] = "s",
		[RECORD_NOT_APPLICABLE] = "n/a", [RECORD_FAILED] = "f",
	};
	char text[REPORT_VALUE];

	view_cell_text(v, pt->value == RECORD_NULL ? mark[pt->status] :
		       view_figure(pt, p->unit, text));
}

/* The link of a kernel's name: what it changed. */
static void kernel_cell(struct view *v, const struct page *p, size_t from,
			size_t to, size_t k)
{
	char name[VIEW_KERNEL];
	struct buf href = BUF_INIT;
	size_t before = k;

	while (before-- && !any_run(p, from, to, before))
		;
	if (before < k)
		view_compare_url(&href, p->t.host, &p->t.kernels[before],
				 &p->t.kernels[k]);
	view_cell(v, view_kernel(&p->t.kernels[k], name), NULL, href.s);
	buf_free(&href);
}

struct why {
	const struct store_point *pt;	/* the first with this reason */
	const char *label;
	size_t kernel, count;
};

struct whys { struct why v[MAX_WHY]; size_t n, more; };

static void add_why(struct whys *w, const struct store_point *pt,
		    const char *of, size_t k)
{
	size_t i;

	if (pt->status == RECORD_OK)
		return;
	for (i = 0; i < w->n; i++)
		if (pt->status == w->v[i].pt->status &&
		    !strcmp(pt->reason ? pt->reason : "", w->v[i].pt->reason ?
			    w->v[i].pt->reason : ""))
			break;
	if (i == MAX_WHY) {
		w->more++;
		return;
	}
	if (i == w->n)
		w->v[w->n++] = (struct why){ pt, of, k, 0 };
	w->v[i].count++;
}

static void tell_whys(struct view *v, const struct page *p,
		      const struct whys *w)
{
	static const char *const mark[] = {
		[RECORD_INVALID] = "! not valid", [RECORD_SKIP] = "s skipped",
		[RECORD_NOT_APPLICABLE] = "n/a not applicable",
		[RECORD_FAILED] = "f failed",
	};
	char name[VIEW_KERNEL];

	for (size_t i = 0; i < w->n; i++) {
		const struct why *y = &w->v[i];

		view_note(v, "%s: %s (%s of %s%s)", mark[y->pt->status],
			  y->pt->reason ? y->pt->reason : "no reason given",
			  y->label, view_kernel(&p->t.kernels[y->kernel], name),
			  y->count > 1 ? " and others" : "");
	}
	if (w->more)
		view_note(v, "%zu more are not ok: .csv and .json say why.",
			  w->more);
}

static void epoch_cols(struct view *v, const struct page *p, size_t from,
		       size_t to)
{
	/* One column more than series: there is room for two per series. */
	struct view_col *cols = p->cols + 2 * from;

	cols[0] = (struct view_col){ .name = "kernel" };
	for (size_t i = from; i < to; i++)
		cols[1 + i - from] = (struct view_col){
			.name = p->label[i], .right = true,
		};
	view_cols(v, cols, 1 + to - from);
}

/* The series [from, to) of one epoch. Returns how many of @rows are left. */
static size_t epoch_table(struct view *v, const struct page *p, size_t from,
			  size_t to, size_t rows)
{
	bool whole = from == 0 && to == p->npick;
	struct whys whys = { .n = 0 };
	size_t hidden = 0;

	view_section(v, "%s in %s by folio size, newest kernel first%s%s",
		     p->t.metric, p->unit.name, whole ? "" : ", machine ",
		     whole ? "" : series_of(p, from)->epoch);
	epoch_cols(v, p, from, to);
	for (size_t k = p->t.nkernels; k--;) {
		if (!any_run(p, from, to, k))
			continue;
		if (!rows) {
			hidden++;
			continue;
		}
		rows--;
		kernel_cell(v, p, from, to, k);
		for (size_t i = from; i < to; i++) {
			cell(v, p, point(p, i, k));
			add_why(&whys, point(p, i, k), p->label[i], k);
		}
	}
	tell_whys(v, p, &whys);
	if (hidden)
		view_note(v, "%zu older kernels: .csv and .json hold all.",
			  hidden);
	return rows;
}

static void newest_row(struct view *v, const struct page *p, size_t i)
{
	const struct store_point *pt = point(p, i, p->t.nkernels - 1);
	char text[REPORT_VALUE];

	view_cell_text(v, p->label[i]);
	view_cell_text(v, report_number(pt->value, p->unit, text));
	view_cell_text(v, view_spread(pt, text));
	view_cell_int(v, pt->n);
	view_cell_int(v, pt->boots);
	view_cell_status(v, pt, "ok");
}

static void newest_table(struct view *v, const struct page *p)
{
	static const struct view_col cols[] = {
		{ .name = "folio" }, { .name = "value", .right = true },
		{ .name = "spread", .right = true },
		{ .name = "n", .right = true },
		{ .name = "boots", .right = true }, { .name = "status" },
	};
	const struct store_kernel *k = &p->t.kernels[p->t.nkernels - 1];
	char name[VIEW_KERNEL];

	view_section(v, "Newest kernel: %s, %s, in %s", view_kernel(k, name),
		     k->release, p->unit.name);
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = 0; i < p->npick; i++)
		if (view_measured(point(p, i, p->t.nkernels - 1)))
			newest_row(v, p, i);
}

static void send_table(const struct page *p)
{
	const struct store_trend *t = &p->t;
	struct view *v = view_new(p->title);
	size_t from, to, rows = MAX_ROWS;

	view_head_params(v, t->params);
	view_head(v, "one figure is %lld operations; resolution %lld %s",
		  (long long)t->ops, (long long)t->quantum, t->unit);
	if (t->same_as)
		view_head(v, "same as: %s", t->same_as);
	if (p->q->form == FORM_HTML)
		add_form(v, p);
	if (t->nkernels)
		newest_table(v, p);
	/* The newest epoch first. */
	for (to = p->npick; to; to = from) {
		for (from = to - 1; from && epoch_end(p, from - 1) == to;)
			from--;
		rows = epoch_table(v, p, from, to, rows);
	}
	view_note(v, "Spread: 1.4826 MAD of n launches in percent of the "
		  "value. Order: %s.", history_order_text());
	if (t->older)
		view_note(v, "%zu kernels before these: ask with a larger "
			  "last=.", t->older);
	view_send(v, p->q, p->r);
	view_free(v);
}

handler_fn route_trend;

void route_trend(const struct request *q, struct response *r)
{
	struct page p = { .q = q, .r = r };

	if (load(&p))
		goto out;
	if (q->form & FORM_PICTURE)
		send_picture(&p);
	else if (q->form == FORM_JSON)
		send_json(&p, &r->body);
	else if (q->form == FORM_CSV)
		send_csv(&p, &r->body);
	else
		send_table(&p);
out:
	free(p.pick);
	free(p.label);
	free(p.cols);
	store_trend_free(&p.t);
}
