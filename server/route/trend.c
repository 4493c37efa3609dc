/* SPDX-License-Identifier: GPL-2.0-only */
/* /trend: one metric on one host over kernels, all folio sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/size.h"
#include "../history.h"
#include "../plot.h"
#include "../view.h"

#define MAX_ROWS	40	/* kernels in a table of text or HTML */
#define SAME_SOURCE	"same source as a kernel of another push"

const struct param_spec trend_params[] = {
	{ .name = "host", .kind = PARAM_TEXT, .min = 1, .max = RECORD_MAX_NAME,
	  .help = "the host's label, as /hosts lists it; the only one" },
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
	{ .name = "tree", .kind = PARAM_TEXT, .min = 1, .max = RECORD_MAX_NAME,
	  .help = "whose pushes are the x axis; that which holds most; -: "
		  "kernels that no push holds" },
	{ .name = "last", .kind = PARAM_INT, .min = 1, .max = 10000,
	  .fallback = "1000", .help = "newest kernels only" },
	{ 0 }
};

struct shown {			/* a series that is wanted */
	const struct store_series *s;
	const struct store_point *at;	/* one a kernel */
	char label[SIZE_TEXT];		/* "base 4k" */
	char head[SIZE_TEXT];		/* "base": of a narrow column */
};

/* A place on the x axis. */
struct column {
	size_t kernel;		/* NO_PUSH: none was measured */
	size_t push;		/* that this is, or stands before */
};

struct trend {
	const struct request *q;
	struct response *r;
	char host[VIEW_HOST];
	char split[2 * RECORD_MAX_NAME + 2];
	const char *bench, *metric, *size;	/* as asked; NULL: not */
	bool log;
	struct store_trend t;
	struct shown *v; size_t n;
	struct view_col *cols;		/* of all tables of figures */
	struct column *axis; size_t naxis;	/* kernels, bare pushes */
	struct report_unit unit;	/* of all figures shown */
	char title[4 * RECORD_MAX_NAME], desc[8 * RECORD_MAX_NAME];
};

static const char *better(const struct trend *p)
{
	return p->t.better == RECORD_LOWER ? "lower" : "higher";
}

/* Whether a kernel was measured in the series [from, to). */
static bool any_run(const struct trend *p, size_t from, size_t to, size_t k)
{
	while (from < to)
		if (view_measured(&p->v[from++].at[k]))
			return true;
	return false;
}

/* Where the series of the epoch that begins or goes on at @from end. */
static size_t epoch_end(const struct trend *p, size_t from)
{
	size_t to = from + 1;

	while (to < p->n && !strcmp(p->v[to].s->epoch, p->v[from].s->epoch))
		to++;
	return to;
}

static const struct store_push *push_of(const struct trend *p, size_t push)
{
	return push == NO_PUSH ? NULL : &p->t.pushes.v[push];
}

/* When the tree got kernel @k, or the kernel first ran. */
static const char *date_of(const struct trend *p, size_t k)
{
	const struct store_push *push = push_of(p, p->t.spots[k].push);

	return push ? push->pushed_at : p->t.spots[k].started_at;
}

static const char *order_text(const struct trend *p, char out[128])
{
	snprintf(out, 128, p->t.tree ? "pushes of %s, old to new" :
		 "kernels that stand in no push, by their first run",
		 p->t.tree);
	return out;
}

/* --- what was asked, and what there is -------------------------------- */

/* Nothing matches: say which field it is and what it could be. */
static void refuse_query(const struct trend *p, const struct err *why)
{
	struct buf benches = BUF_INIT, metrics = BUF_INIT;
	struct store_charts c = { 0 };
	bool known = !p->metric;
	struct err e = { "" };

	if (view_failed(p->q, p->r, store_charts(p->q->site->store, p->host,
						 &c, &e), &e))
		return;
	for (size_t i = 0; i < c.n; i++) {
		const struct store_chart *x = &c.v[i];

		if (!i || strcmp(x->bench, x[-1].bench) != 0)
			view_name(&benches, x->bench);
		if (!p->bench || strcmp(x->bench, p->bench) != 0)
			continue;
		if (!metrics.len || strcmp(x->metric, x[-1].metric) != 0)
			view_name(&metrics, x->metric);
		known |= p->metric && !strcmp(x->metric, p->metric);
	}
	if (!c.n)
		view_refuse_host(p->q, p->r, p->host);
	else if (!metrics.len)
		view_missing(p->q, p->r, "bench", p->bench, &benches);
	else if (!known)
		view_missing(p->q, p->r, "metric", p->metric, &metrics);
	else
		view_refused(p->q, p->r, STORE_MISSING, why);
	buf_free(&benches);
	buf_free(&metrics);
	store_charts_free(&c);
}

/* The form has one list for both, so that the two always fit. */
static int split_bench(struct trend *p)
{
	const char *asked = param_text(p->q->params, "bench");
	char *slash;

	p->metric = param_text(p->q->params, "metric");
	if (!asked)
		return 0;
	snprintf(p->split, sizeof(p->split), "%s", asked);
	p->bench = p->split;
	slash = strchr(p->split, '/');
	if (slash && p->metric) {
		response_error(p->q, p->r, 400,
			       "metric: given twice, in bench as well");
		return -1;
	}
	if (slash) {
		*slash = '\0';
		p->metric = slash + 1;
	}
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

static bool is_newest_epoch(const struct trend *p, size_t series)
{
	return !strcmp(p->t.series[series].epoch,
		       p->t.series[p->t.nseries - 1].epoch);
}

static void refuse_size(const struct trend *p)
{
	struct buf names = BUF_INIT;
	char text[SIZE_TEXT];

	for (size_t i = 0; i < p->t.nseries; i++)
		if (is_newest_epoch(p, i))
			view_name(&names, size_text((uint64_t)
				  p->t.series[i].folio_bytes, text));
	view_missing(p->q, p->r, "size", p->size, &names);
	buf_free(&names);
}

static void add_shown(struct trend *p, size_t i)
{
	struct shown *v = &p->v[p->n++];

	v->s = &p->t.series[i];
	v->at = &p->t.points[i * p->t.nkernels];
	label(v->s, v->label);
	snprintf(v->head, sizeof(v->head), "%.*s",
		 (int)strcspn(v->label, " "), v->label);
}

static void lay_axis(struct trend *p)
{
	const struct store_trend *t = &p->t;
	size_t k = 0;

	for (size_t i = 0; i < t->pushes.n; i++) {
		while (k < t->nkernels && t->spots[k].push <= i)
			p->axis[p->naxis++] = (struct column){ k++, i };
		if (t->pushes.v[i].kernel == NO_PUSH ||
		    t->spots[t->pushes.v[i].kernel].push != i)
			p->axis[p->naxis++] = (struct column){ NO_PUSH, i };
	}
	while (k < t->nkernels)
		p->axis[p->naxis++] = (struct column){ k++, NO_PUSH };
}

/* Which series are shown, and the unit for all of them. */
static int pick(struct trend *p)
{
	int64_t largest = 0;

	p->n = 0;
	p->v = calloc(p->t.nseries + 1, sizeof(*p->v));
	/* At most a table for each series; each begins with kernel and date. */
	p->cols = calloc(3 * p->t.nseries + 1, sizeof(*p->cols));
	p->axis = calloc(p->t.nkernels + p->t.pushes.n + 1, sizeof(*p->axis));
	if (!p->v || !p->cols || !p->axis) {
		response_error(p->q, p->r, 503, "out of memory");
		return -1;
	}
	for (size_t i = 0; i < p->t.nseries; i++)
		if (is_wanted(p->size, &p->t.series[i]))
			add_shown(p, i);
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->t.nkernels; k++)
			if (p->v[i].at[k].value > largest)
				largest = p->v[i].at[k].value;
	p->unit = report_unit(largest, p->t.unit);
	lay_axis(p);
	if (!p->n)
		refuse_size(p);
	return p->n ? 0 : -1;
}

static int load(struct trend *p)
{
	const struct params *in = p->q->params;
	enum store_answer a = STORE_MISSING;
	struct store_trend_query query = {
		.host = view_host(p->q, param_text(in, "host"), p->host),
		.params = param_text(in, "params"),
		.tree = param_text(in, "tree"),
		.last = (size_t)param_int(in, "last"),
	};
	struct err e = { "" };
	char order[128];

	p->size = param_text(in, "size");
	p->log = !strcmp(param_text(in, "scale"), "log");
	if (!query.host) {
		view_refuse_host(p->q, p->r, NULL);
		return -1;
	}
	if (split_bench(p))
		return -1;
	query.bench = p->bench;
	query.metric = p->metric;
	if (p->bench)
		a = store_trend(p->q->site->store, &query, &p->t, &e);
	if (a == STORE_MISSING) {
		refuse_query(p, &e);
		return -1;
	}
	if (view_refused(p->q, p->r, a, &e))
		return -1;
	snprintf(p->title, sizeof(p->title), "%s: %s %s (%s), %s is better",
		 p->t.host, p->t.bench, p->t.metric, p->t.unit, better(p));
	snprintf(p->desc, sizeof(p->desc), "%s; each folio size over %zu "
		 "kernels, %s.", p->title, p->t.nkernels, order_text(p, order));
	return pick(p);
}

/* --- JSON: columns, by hand, since a chart waits for it --------------- */

static void json_key(struct buf *b, const char *key)
{
	if (b->len && b->s[b->len - 1] != '{')
		buf_char(b, ',');
	buf_printf(b, "\"%s\":", key);
}

static void json_text(struct buf *b, const char *key, const char *text)
{
	json_key(b, key);
	buf_json(b, text);
}

static void json_int(struct buf *b, int64_t v)
{
	if (v == RECORD_NULL)
		buf_str(b, "null");
	else
		buf_i64(b, v);
}

static void json_index(struct buf *b, size_t i)
{
	json_int(b, i == NO_PUSH ? RECORD_NULL : (int64_t)i);
}

/* "key":[...]: what @cell writes for each i below @n. */
#define JSON_LIST(b, key, n, cell) \
	do { \
		json_key(b, key); \
		buf_char(b, '['); \
		for (size_t i = 0; i < (n); i++) { \
			if (i) \
				buf_char(b, ','); \
			cell; \
		} \
		buf_char(b, ']'); \
	} while (0)

static void json_kernels(struct buf *b, const struct trend *p)
{
	const struct store_kernel *k = p->t.kernels;
	const struct store_spot *spot = p->t.spots;
	size_t n = p->t.nkernels;
	char name[VIEW_KERNEL];

	JSON_LIST(b, "key", n, buf_json(b, k[i].key));
	JSON_LIST(b, "short", n, buf_json(b, view_kernel(&k[i], name)));
	JSON_LIST(b, "release", n, buf_json(b, k[i].release));
	JSON_LIST(b, "version", n, buf_json(b, k[i].version));
	JSON_LIST(b, "commit", n, buf_json(b, k[i].commit));
	JSON_LIST(b, "date", n, buf_json(b, date_of(p, i)));
	JSON_LIST(b, "push", n, json_index(b, spot[i].push));
	JSON_LIST(b, "tip", n, json_int(b, spot[i].tip));
}

/* Where kernel is null, nothing measured the push: skip may say why. */
static void json_pushes(struct buf *b, const struct store_push *v, size_t n)
{
	JSON_LIST(b, "id", n, buf_json(b, v[i].key));
	JSON_LIST(b, "pushed_at", n, buf_json(b, v[i].pushed_at));
	JSON_LIST(b, "old", n, buf_json(b, v[i].old));
	JSON_LIST(b, "new", n, buf_json(b, v[i].new));
	JSON_LIST(b, "tags", n, buf_json(b, v[i].tags));
	JSON_LIST(b, "skip", n, buf_json(b, v[i].skip));
	JSON_LIST(b, "kernel", n, json_index(b, v[i].kernel));
}

static void json_use(struct buf *b, const struct store_tree_use *use)
{
	buf_char(b, '{');
	json_text(b, "name", use->name);
	json_key(b, "kernels");
	buf_i64(b, use->kernels);
	buf_char(b, '}');
}

static void json_unplaced(struct buf *b, const struct store_kernel *k)
{
	char name[VIEW_KERNEL];

	buf_char(b, '{');
	json_text(b, "key", k->key);
	json_text(b, "short", view_kernel(k, name));
	json_text(b, "commit", k->commit);
	json_text(b, "release", k->release);
	buf_char(b, '}');
}

static void json_series(struct buf *b, const struct trend *p,
			const struct shown *v)
{
	const struct store_point *at = v->at;
	size_t n = p->t.nkernels;

	buf_char(b, '{');
	json_key(b, "folio_bytes");
	buf_i64(b, v->s->folio_bytes);
	json_text(b, "label", v->label);
	json_text(b, "epoch", v->s->epoch);
	JSON_LIST(b, "value", n, json_int(b, at[i].value));
	JSON_LIST(b, "spread", n, json_int(b, at[i].spread));
	JSON_LIST(b, "n", n, buf_i64(b, at[i].n));
	JSON_LIST(b, "boots", n, buf_i64(b, at[i].boots));
	json_key(b, "not_ok");
	buf_char(b, '{');
	for (size_t k = 0; k < n; k++) {
		char key[24];

		if (at[k].status == RECORD_OK)
			continue;
		snprintf(key, sizeof(key), "%zu", k);
		json_key(b, key);
		buf_char(b, '{');
		json_text(b, "status", record_status_name(at[k].status));
		json_text(b, "reason", at[k].reason);
		buf_char(b, '}');
	}
	buf_str(b, "}}");
}

static void send_json(const struct trend *p)
{
	const struct store_trend *t = &p->t;
	struct buf *b = &p->r->body;
	char order[128];

	buf_str(b, "{\"view\":\"trend\"");
	json_text(b, "host", t->host);
	json_text(b, "bench", t->bench);
	json_text(b, "metric", t->metric);
	json_text(b, "unit", t->unit);
	json_text(b, "better", better(p));
	json_text(b, "scale", p->log ? "log" : "linear");
	buf_printf(b, ",\"quantum\":%lld,\"ops\":%lld", (long long)t->quantum,
		   (long long)t->ops);
	json_text(b, "same_as", t->same_as);
	json_text(b, "params", t->params);
	json_text(b, "title", p->title);
	json_text(b, "order", order_text(p, order));
	json_text(b, "tree", t->tree);
	JSON_LIST(b, "trees", t->ntrees, json_use(b, &t->trees[i]));
	buf_printf(b, ",\"elsewhere\":%zu,\"older\":%zu", t->elsewhere,
		   t->older);
	JSON_LIST(b, "unplaced", t->unplaced.n,
		  json_unplaced(b, &t->unplaced.v[i]));
	buf_str(b, ",\n\"kernels\":{");
	json_kernels(b, p);
	buf_str(b, "},\n\"pushes\":{");
	json_pushes(b, t->pushes.v, t->pushes.n);
	buf_char(b, '}');
	JSON_LIST(b, "series", p->n, json_series(b, p, &p->v[i]));
	buf_str(b, "}\n");
}

/* --- CSV: one line a figure ------------------------------------------- */

static void csv_row(struct view *v, const struct trend *p, size_t k,
		    const struct store_series *s, const struct store_point *pt)
{
	const struct store_kernel *kernel = &p->t.kernels[k];
	const struct store_push *push = push_of(p, p->t.spots[k].push);

	view_cell_text(v, kernel->key);
	view_cell_text(v, kernel->commit);
	view_cell_text(v, kernel->release);
	view_cell_text(v, date_of(p, k));
	view_cell_int(v, s->folio_bytes);
	view_cell_text(v, s->epoch);
	view_cell_int(v, pt->value);
	view_cell_int(v, pt->spread);
	view_cell_int(v, pt->n);
	view_cell_int(v, pt->boots);
	view_cell_text(v, record_status_name(pt->status));
	view_cell_text(v, pt->reason);
	view_cell_text(v, push ? push->key : NULL);
}

/* A push that has no figures. */
static void csv_gap(struct view *v, const struct store_push *push, size_t cols)
{
	bool gap = push->kernel == NO_PUSH;

	view_cell_text(v, NULL);
	view_cell_text(v, push->new);
	view_cell_text(v, NULL);
	view_cell_text(v, push->pushed_at);
	for (size_t i = 4; i < cols - 3; i++)
		view_cell_text(v, NULL);
	view_cell_text(v, gap ? "gap" : "same");
	view_cell_text(v, gap ? push->skip : SAME_SOURCE);
	view_cell_text(v, push->key);
}

static void send_csv(const struct trend *p)
{
	char value[RECORD_MAX_NAME + 16], spread[RECORD_MAX_NAME + 16];
	const struct view_col cols[] = {
		{ .key = "kernel" }, { .key = "commit" }, { .key = "release" },
		{ .key = "date" }, { .key = "folio_bytes" }, { .key = "epoch" },
		{ .key = value }, { .key = spread },
		{ .key = "n" }, { .key = "boots" }, { .key = "status" },
		{ .key = "reason" }, { .key = "push" },
	};
	struct view v;

	snprintf(value, sizeof(value), "value_%s", p->t.unit);
	snprintf(spread, sizeof(spread), "spread_%s", p->t.unit);
	view_begin(&v, p->q, p->r, p->title);
	view_cols(&v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t c = 0; c < p->naxis; c++) {
		size_t k = p->axis[c].kernel;

		if (k == NO_PUSH)
			csv_gap(&v, push_of(p, p->axis[c].push),
				sizeof(cols) / sizeof(*cols));
		for (size_t i = 0; k != NO_PUSH && i < p->n; i++)
			if (view_measured(&p->v[i].at[k]))
				csv_row(&v, p, k, p->v[i].s, &p->v[i].at[k]);
	}
	view_end(&v);
}

/* --- pictures --------------------------------------------------------- */

/* As web/trend.js: where a kernel has points, and none of the epoch before. */
static void find_breaks(const struct trend *p, unsigned char *breaks)
{
	size_t last = p->n;	/* where the epoch before begins; n: none */

	for (size_t c = 0; c < p->naxis; c++) {
		size_t from = 0, k = p->axis[c].kernel;

		if (k == NO_PUSH)
			continue;
		if (last < p->n && any_run(p, last, epoch_end(p, last), k))
			continue;
		while (from < p->n && !any_run(p, from, epoch_end(p, from), k))
			from = epoch_end(p, from);
		if (from == p->n)
			continue;
		breaks[c] = last < p->n;
		last = from;
	}
}

struct drawn {
	struct plot_series series[PLOT_MAX_SERIES];
	int64_t bytes[PLOT_MAX_SERIES];	/* the folio size of each */
	size_t n;
	int64_t *value, *spread;		/* of each at each place */
	unsigned char *apart;
};

/* A size is one line over all epochs, which the breaks cut. */
static void draw_size(const struct trend *p, struct drawn *d,
		      const struct shown *v)
{
	size_t i = 0, at;

	while (i < d->n && d->bytes[i] != v->s->folio_bytes)
		i++;
	if (i == PLOT_MAX_SERIES)
		return;
	at = i * p->naxis;
	for (size_t c = 0; i == d->n && c < p->naxis; c++)
		d->value[at + c] = RECORD_NULL;
	d->n += i == d->n;
	d->bytes[i] = v->s->folio_bytes;
	d->series[i] = (struct plot_series){
		v->label, &d->value[at], &d->spread[at], &d->apart[at],
	};
	for (size_t c = 0; c < p->naxis; c++, at++) {
		size_t k = p->axis[c].kernel;
		const struct store_point *pt = &v->at[k == NO_PUSH ? 0 : k];

		if (k == NO_PUSH || !view_measured(pt))
			continue;
		d->value[at] = pt->value;
		d->spread[at] = pt->spread == RECORD_NULL ? 0 : pt->spread;
		d->apart[at] = pt->status != RECORD_OK;
	}
}

static const char *column_name(const struct trend *p, const struct column *c,
			       char out[VIEW_KERNEL])
{
	if (c->kernel != NO_PUSH)
		return view_kernel(&p->t.kernels[c->kernel], out);
	snprintf(out, VIEW_KERNEL, "%.12s", p->t.pushes.v[c->push].new);
	return out;
}

static void send_picture(const struct trend *p)
{
	size_t nx = p->naxis + 1, n = p->n * nx;
	char (*name)[VIEW_KERNEL] = calloc(nx, sizeof(*name));
	const char **x = calloc(nx, sizeof(*x));
	unsigned char *breaks = calloc(nx, 1);
	struct drawn d = {
		.value = calloc(n, sizeof(*d.value)),
		.spread = calloc(n, sizeof(*d.spread)),
		.apart = calloc(n, 1),
	};
	struct plot plot = {
		.kind = PLOT_TREND, .title = p->title, .desc = p->desc,
		.unit = p->t.unit, .n = p->naxis, .x = x,
		.log_scale = p->log, .breaks = breaks, .series = d.series,
	};

	if (name && x && breaks && d.value && d.spread && d.apart) {
		for (size_t c = 0; c < plot.n; c++)
			x[c] = column_name(p, &p->axis[c], name[c]);
		for (size_t i = 0; i < p->n; i++)
			draw_size(p, &d, &p->v[i]);
		plot.nseries = d.n;
		find_breaks(p, breaks);
		view_draw(&plot, p->q, p->r);
	} else {
		response_error(p->q, p->r, 503, "out of memory");
	}
	free(name);
	free(x);
	free(breaks);
	free(d.value);
	free(d.spread);
	free(d.apart);
}

/* --- the form: works without script ----------------------------------- */

static void option(struct buf *b, const char *value, const char *text,
		   bool selected)
{
	buf_str(b, "<option value=\"");
	buf_html(b, value);
	buf_str(b, selected ? "\" selected>" : "\">");
	buf_html(b, text);
	buf_str(b, "</option>\n");
}

static void form_benches(struct buf *b, const struct trend *p,
			 const struct store_charts *c)
{
	char value[2 * RECORD_MAX_NAME + 2], last[sizeof(value)] = "";

	for (size_t i = 0; i < c->n; i++) {
		const struct store_chart *x = &c->v[i];

		snprintf(value, sizeof(value), "%s/%s", x->bench, x->metric);
		if (strcmp(value, last) != 0)
			option(b, value, value,
			       !strcmp(x->bench, p->t.bench) &&
			       !strcmp(x->metric, p->t.metric));
		memcpy(last, value, sizeof(last));
	}
}

static void form_sizes(struct buf *b, const struct trend *p)
{
	char value[SIZE_TEXT], text[SIZE_TEXT];

	option(b, "", "all", !p->size);
	for (size_t i = 0; i < p->t.nseries; i++) {
		const struct store_series *s = &p->t.series[i];

		if (is_newest_epoch(p, i))
			option(b, size_text((uint64_t)s->folio_bytes, value),
			       label(s, text),
			       p->size && is_wanted(p->size, s));
	}
}

/* The same metric with other parameters is another chart. */
static void form_params(struct buf *b, const struct trend *p,
			const struct store_charts *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct store_chart *x = &c->v[i];
		struct buf url = BUF_INIT;

		if (strcmp(x->bench, p->t.bench) != 0 ||
		    strcmp(x->metric, p->t.metric) != 0 ||
		    !strcmp(x->params, p->t.params))
			continue;
		view_chart_url(&url, x);
		buf_str(b, "<p>Also with <a href=\"");
		buf_html(b, url.s ? url.s : "");
		buf_str(b, "\">");
		buf_html(b, x->params);
		buf_str(b, "</a></p>\n");
		buf_free(&url);
	}
}

#define LIST(text, name) "<label>" text " <select name=\"" name "\">\n"
#define LIST_END "</select></label>\n"

static void form(struct buf *b, const struct trend *p,
		 const struct store_hosts *hosts, const struct store_charts *c)
{
	buf_str(b, "<form method=\"get\" action=\"/trend\">\n"
		LIST("Host", "host"));
	for (size_t i = 0; i < hosts->n; i++)
		option(b, hosts->v[i].label, hosts->v[i].label,
		       !strcmp(hosts->v[i].label, p->t.host));
	buf_str(b, LIST_END LIST("Benchmark", "bench"));
	form_benches(b, p, c);
	buf_str(b, LIST_END LIST("Folio size", "size"));
	form_sizes(b, p);
	if (p->t.ntrees) {
		buf_str(b, LIST_END LIST("Tree", "tree"));
		for (size_t i = 0; i < p->t.ntrees; i++)
			option(b, p->t.trees[i].name, p->t.trees[i].name,
			       p->t.tree && !strcmp(p->t.trees[i].name,
						    p->t.tree));
		option(b, "-", "in no tree", !p->t.tree);
	}
	buf_str(b, LIST_END LIST("Scale", "scale"));
	option(b, "linear", "linear", !p->log);
	option(b, "log", "logarithmic", p->log);
	buf_printf(b, LIST_END "<label>Newest kernels <input name=\"last\" "
		   "type=\"number\" min=\"1\" max=\"10000\" "
		   "value=\"%s\"></label>\n<button>Show</button>\n</form>\n",
		   param_text(p->q->params, "last"));
	form_params(b, p, c);
}

static void add_form(struct view *v, const struct trend *p)
{
	struct store *s = p->q->site->store;
	struct store_hosts hosts = { 0 };
	struct store_charts charts = { 0 };

	/* A page without its form is still the page that was asked for. */
	if (!store_hosts(s, &hosts, NULL) &&
	    !store_charts(s, p->t.host, &charts, NULL)) {
		view_null_last(&charts);
		form(&v->body, p, &hosts, &charts);
	}
	view_picture(v, p->desc);
	store_hosts_free(&hosts);
	store_charts_free(&charts);
}

/* --- tables: text and HTML -------------------------------------------- */

/* Stands where there is no figure. */
static const char *const mark[] = {
	[RECORD_OK] = "-", [RECORD_INVALID] = "!", [RECORD_SKIP] = "s",
	[RECORD_NOT_APPLICABLE] = "n/a", [RECORD_FAILED] = "f",
};

/* A row of figures; the kernel's name leads to what it changed. */
static void epoch_row(struct view *v, const struct trend *p, size_t from,
		      size_t to, size_t k)
{
	char text[REPORT_VALUE];
	struct buf href = BUF_INIT;
	size_t before = k;

	while (before-- && !any_run(p, from, to, before))
		;
	if (before < k)
		view_compare_url(&href, p->t.host, &p->t.kernels[before],
				 &p->t.kernels[k]);
	view_cell(v, view_kernel(&p->t.kernels[k], text), NULL, href.s);
	if (p->t.tree)
		view_cell_date(v, date_of(p, k));
	for (size_t i = from; i < to; i++) {
		const struct store_point *pt = &p->v[i].at[k];

		view_cell_text(v, pt->value == RECORD_NULL ? mark[pt->status] :
			       view_figure(pt, p->unit, text));
	}
	buf_free(&href);
}

/* A push without a point leads to what it changed. */
static void gap_row(struct view *v, const struct trend *p, size_t n,
		    const struct column *c)
{
	const struct store_push *push = push_of(p, c->push);
	char name[VIEW_KERNEL];
	struct buf href = BUF_INIT;

	buf_printf(&href, "/pushes/%s", push->key);
	view_cell(v, column_name(p, c, name), NULL, href.s);
	view_cell_date(v, push->pushed_at);
	while (n--)
		view_cell_text(v, push->kernel == NO_PUSH ? "gap" : "=");
	buf_free(&href);
}

/* Why pushes have no point; the newest first. */
static void tell_gaps(struct view *v, const struct trend *p)
{
	size_t gaps = 0, told = 0;
	bool same = false;

	for (size_t i = p->t.pushes.n; i--;) {
		const struct store_push *push = &p->t.pushes.v[i];

		same |= push->kernel != NO_PUSH &&
			p->t.spots[push->kernel].push != i;
		if (push->kernel != NO_PUSH)
			continue;
		gaps++;
		if (push->skip && ++told <= VIEW_REASONS)
			view_note(v, "gap %.12s: %s", push->new, push->skip);
	}
	if (gaps)
		view_note(v, "gap: %zu pushes of %zu were not measured here; "
			  "%zu with a reason.", gaps, p->t.pushes.n, told);
	if (same)
		view_note(v, "=: " SAME_SOURCE ".");
}

/* "! not valid: why (64k of 4d0b9c1e2f3a and others)" */
static void tell_marks(struct view *v, const struct trend *p,
		       const struct view_reasons *why)
{
	char name[VIEW_KERNEL], size[SIZE_TEXT];
	size_t nk = p->t.nkernels;

	for (size_t i = 0; nk && i < why->n; i++) {
		const struct store_point *pt = why->v[i].p;
		size_t at = (size_t)(pt - p->t.points);

		view_note(v, "%s %s: %s (%s of %s%s)", mark[pt->status],
			  view_status(pt), view_why(pt),
			  label(&p->t.series[at / nk], size),
			  view_kernel(&p->t.kernels[at % nk], name),
			  why->v[i].count > 1 ? " and others" : "");
	}
	if (why->more)
		view_note(v, "%zu more are not ok: .csv and .json say why.",
			  why->more);
}

/* The series [from, to) of one epoch. */
static void epoch_table(struct view *v, const struct trend *p, size_t from,
			size_t to)
{
	struct view_col *cols = p->cols + 3 * from;
	bool whole = from == 0 && to == p->n;
	size_t first = p->t.tree ? 2 : 1;	/* column of figures */
	struct view_reasons why = { .n = 0 };
	size_t rows = 0;

	view_section(v, "%s in %s by folio size, newest kernel first%s%s",
		     p->t.metric, p->unit.name, whole ? "" : ", machine ",
		     whole ? "" : p->v[from].s->epoch);
	cols[0].name = "kernel";
	cols[1].name = "pushed";
	for (size_t i = from; i < to; i++)
		cols[first + i - from] = (struct view_col){
			.name = p->v[i].head, .kind = VIEW_FIGURE,
		};
	view_cols(v, cols, first + to - from);
	for (size_t c = p->naxis; c--;) {
		size_t k = p->axis[c].kernel;
		bool gap = k == NO_PUSH;

		/* A gap is of no machine: told with the newest. */
		if (gap ? to < p->n : !any_run(p, from, to, k))
			continue;
		if (++rows > MAX_ROWS)
			continue;
		if (gap) {
			gap_row(v, p, to - from, &p->axis[c]);
			continue;
		}
		epoch_row(v, p, from, to, k);
		for (size_t i = from; i < to; i++)
			view_reason(&why, &p->v[i].at[k]);
	}
	tell_marks(v, p, &why);
	if (to == p->n)
		tell_gaps(v, p);
	if (rows > MAX_ROWS)
		view_note(v, "%zu older rows: .csv and .json hold all.",
			  rows - MAX_ROWS);
}

static void newest_row(struct view *v, const struct trend *p,
		       const struct shown *s, const struct store_point *pt,
		       struct view_reasons *why)
{
	char text[REPORT_VALUE];

	view_cell_text(v, s->label);
	view_cell_text(v, report_number(pt->value, p->unit, text));
	view_cell_text(v, view_spread(pt, text));
	view_cell_int(v, pt->n);
	view_cell_int(v, pt->boots);
	view_cell_why(v, view_status(pt), pt, why);
}

static void newest_table(struct view *v, const struct trend *p)
{
	static const struct view_col cols[] = {
		{ .name = "folio" }, { .name = "value", .kind = VIEW_FIGURE },
		{ .name = "spread", .kind = VIEW_FIGURE },
		{ .name = "n", .kind = VIEW_FIGURE },
		{ .name = "boots", .kind = VIEW_FIGURE }, { .name = "status" },
	};
	size_t newest = p->t.nkernels - 1;
	const struct store_kernel *k = &p->t.kernels[newest];
	struct view_reasons why = { .n = 0 };
	char name[VIEW_KERNEL];

	view_section(v, "Newest kernel: %s, %s, in %s", view_kernel(k, name),
		     k->release, p->unit.name);
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = 0; i < p->n; i++)
		view_reason(&why, &p->v[i].at[newest]);
	for (size_t i = 0; i < p->n; i++)
		if (view_measured(&p->v[i].at[newest]))
			newest_row(v, p, &p->v[i], &p->v[i].at[newest], &why);
	view_tell_reasons(v, &why);
}

/* Kernels that are not on the axis, and where they are. */
static void tell_unplaced(struct view *v, const struct store_trend *t)
{
	char name[VIEW_KERNEL];

	for (size_t i = 0; i < t->ntrees; i++)
		if (!t->tree || strcmp(t->trees[i].name, t->tree) != 0)
			view_note(v, "%lld kernels of %s: tree=%s",
				  (long long)t->trees[i].kernels,
				  t->trees[i].name, t->trees[i].name);
	if (!t->unplaced.n)
		return;
	view_note(v, "%zu kernels stand in no push that is known (tree=- "
		  "shows them):", t->unplaced.n);
	for (size_t i = 0; i < t->unplaced.n && i < VIEW_REASONS; i++)
		view_note(v, "%s %s", view_kernel(&t->unplaced.v[i], name),
			  t->unplaced.v[i].release);
}

static void send_table(const struct trend *p)
{
	const struct store_trend *t = &p->t;
	size_t from, to;
	char order[128];
	struct view v;

	view_begin(&v, p->q, p->r, p->title);
	if (p->q->form == FORM_HTML)
		add_form(&v, p);
	view_head_params(&v, t->params);
	view_head(&v, "one figure is %lld operations; resolution %lld %s",
		  (long long)t->ops, (long long)t->quantum, t->unit);
	if (t->same_as)
		view_head(&v, "same as: %s", t->same_as);
	if (t->nkernels)
		newest_table(&v, p);
	/* The newest epoch first. */
	for (to = p->n; to; to = from) {
		for (from = to - 1; from && epoch_end(p, from - 1) == to;)
			from--;
		epoch_table(&v, p, from, to);
	}
	view_note(&v, "Spread: 1.4826 MAD of n launches in percent of the "
		  "value. Order: %s.", order_text(p, order));
	if (t->older)
		view_note(&v, "%zu kernels before these: ask with a larger "
			  "last=.", t->older);
	tell_unplaced(&v, t);
	view_end(&v);
}

void route_trend(const struct request *q, struct response *r)
{
	struct trend p = { .q = q, .r = r };

	if (load(&p))
		;
	else if (q->form & FORM_PICTURE)
		send_picture(&p);
	else if (q->form == FORM_JSON)
		send_json(&p);
	else if (q->form == FORM_CSV)
		send_csv(&p);
	else
		send_table(&p);
	free(p.v);
	free(p.cols);
	free(p.axis);
	store_trend_free(&p.t);
}
