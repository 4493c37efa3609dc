/* SPDX-License-Identifier: GPL-2.0-only */
/* Says what pairs of figures tell, in a mail's form and in JSON. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "bench.h"
#include "compare.h"
#include "pairs.h"
#include "show.h"

#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))

struct compare {
	const struct compare_opts *o;
	const struct form {
		const char *name;
		bool kernels, benches, machine;	/* beside the tables */
	} *form;
	struct sides sides;
	struct pairs pairs;
	struct buf obstacle;	/* why nothing can be judged; "": it can */
	enum compare_result result;
	bool small;		/* something is slower, and no alarm */
};

static const struct form forms[] = {
	{ "full", true, true, true },
	{ "commit-log", false, false, false },
	{ "cover", false, false, true },
};

/* --- words --------------------------------------------------------------- */

static void judge(struct compare *c)
{
	bool slower = false, bad = false, open = false, judged = false;

	for (size_t i = 0; i < c->pairs.nrows; i++) {
		const struct verdict_pair *p = &c->pairs.rows[i].pair;
		enum verdict v = verdict_of(p);

		slower |= verdict_alarm(p);
		bad |= v == VERDICT_NOT_VALID || p->status == RECORD_FAILED;
		open |= v == VERDICT_NOT_JUDGED;
		judged |= v < VERDICT_NOT_JUDGED;
		c->small |= v == VERDICT_SLOWER && !verdict_alarm(p);
	}
	c->result = slower ? COMPARE_SLOWER :
		    bad || !(judged || open) ? COMPARE_NOT_VALID :
		    open ? COMPARE_OPEN : COMPARE_FINE;
}

/* "after: 12 of 8192 folios fell back"; nothing if both are ok. */
static void reason_of(const struct row *row, struct buf *out)
{
	const struct figure *f = row->side;
	bool after = f[1].status > f[0].status;

	if (f[after].reason && sides_same(f[0].reason, f[1].reason))
		buf_str(out, f[0].reason);
	else if (f[after].reason)
		buf_printf(out, "%s: %s", sides_names[after], f[after].reason);
}

static bool is_measured(const struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].side[0].n || t->rows[i].side[1].n)
			return true;
	return false;
}

/* "1 boot x 5 launches x 16", of the most that a row has. An exact figure needs
 * one boot and one launch, which then go without saying. */
static void design_of(const struct table *t, int side, struct buf *out)
{
	const struct figure *most = &t->rows->side[side];
	size_t launches;

	for (size_t i = 1; i < t->n; i++)
		if (t->rows[i].side[side].n > most->n)
			most = &t->rows[i].side[side];
	if (!most->n) {
		buf_str(out, "nothing");
		return;
	}
	launches = most->n / most->boots;
	if (most->boots > 1 || !t->rows->pair.exact)
		buf_printf(out, "%zu boot%s x ", most->boots,
			   most->boots > 1 ? "s" : "");
	if (launches > 1 || !t->rows->pair.exact)
		buf_printf(out, "%zu launch%s x ", launches,
			   launches > 1 ? "es" : "");
	buf_printf(out, "%zu", most->iterations);
}

/* "get_ns, lower is better; median of 9 boots x 5 launches x 16" */
static void tell_metric(const struct compare *c, const struct table *t,
			struct buf *out)
{
	const struct record_metric *m = t->metric;
	struct buf line = BUF_INIT, design[2] = { BUF_INIT, BUF_INIT };

	for (int side = 0; side < 2; side++)
		design_of(t, side, &design[side]);
	if (!c->form->benches)
		buf_printf(&line, "%s ", t->bench->name);
	buf_printf(&line, "%s%s, %s is better; %s of ", m->name,
		   t->rows->pair.exact ? ", guest instructions" : "",
		   m->better == RECORD_LOWER ? "lower" : "higher",
		   m->reduce == RECORD_MIN ? "least" : "median");
	buf_add(&line, design[0].s, design[0].len);
	if (!sides_same(design[0].s, design[1].s))
		buf_printf(&line, ", after %s", design[1].s);
	for (int side = 0; side < 2; side++) {
		out->failed |= !buf_ok(&design[side]);
		buf_free(&design[side]);
	}
	report_take(out, &line);
}

static void add_figure(const struct row *row, int side, struct report_unit unit,
		       struct buf *cells)
{
	const struct figure *f = &row->side[side];
	char text[REPORT_VALUE];

	report_cell(cells, "%s%s%s", report_number(f->value, unit, text),
		    f->n ? " " : "", f->n ? unit.name : "");
	if (row->pair.exact)
		return;
	if (f->n > 1 && f->value > 0)
		report_cell(cells, "%.1f%%",
			    100 * (double)f->spread / (double)f->value);
	else
		report_cell(cells, "-");
}

static void add_row(const struct table *t, const struct row *row,
		    struct report_unit unit, const char *why, struct buf *cells)
{
	const struct verdict_pair *p = &row->pair;
	char text[REPORT_VALUE], label[SIZE_TEXT];

	report_cell(cells, "%s", show_size(t->r, p->folio_bytes, label));
	for (int side = 0; side < 2; side++)
		add_figure(row, side, unit, cells);
	report_cell(cells, "%s", report_percent(p->before, p->after, text));
	if (p->exact)
		report_cell(cells, "%s", verdict_per_op(p, text));
	report_cell(cells, "%s%s%s", verdict_text(p, text), *why ? ": " : "",
		    why);
}

static void tell_rows(const struct table *t, struct buf *out)
{
	const struct report_col exact[] = {
		{ "folio", false }, { "before", true }, { "after", true },
		{ "insns", true },
		{ t->rows->pair.pages ? "a page" : "each", true },
		{ "verdict", false },
	}, time[] = {
		{ "folio", false }, { "before", true }, { "spread", true },
		{ "after", true }, { "spread", true },
		{ strcmp(t->metric->unit, "ns") ? "change" : "time", true },
		{ "verdict", false },
	};
	bool counts = t->rows->pair.exact;
	struct buf cells = BUF_INIT, last = BUF_INIT;
	struct report_unit unit;
	int64_t largest = 0;

	for (size_t i = 0; i < 2 * t->n; i++)
		if (t->rows[i / 2].side[i % 2].value > largest)
			largest = t->rows[i / 2].side[i % 2].value;
	unit = report_unit(largest, t->metric->unit);
	for (size_t i = 0; i < t->n; i++) {
		struct buf why = BUF_INIT;

		buf_str(&why, "");
		reason_of(&t->rows[i], &why);
		if (why.s)
			add_row(t, &t->rows[i], unit, why.len &&
				sides_same(why.s, last.s) ? "as above" : why.s,
				&cells);
		out->failed |= !buf_ok(&why);
		buf_free(&last);
		last = why;
	}
	report_cells(out, counts ? exact : time,
		     counts ? COUNT(exact) : COUNT(time), &cells);
	buf_free(&last);
}

static void tell_controls(const struct table *t, struct buf *out)
{
	struct verdict_pair *pairs = calloc(t->n, sizeof(*pairs));
	struct buf lines = BUF_INIT;

	out->failed |= !pairs;
	for (size_t i = 0; pairs && i < t->n; i++)
		pairs[i] = t->rows[i].pair;
	if (pairs)
		verdict_controls(pairs, t->n, t->r->host.epoch.base_page_bytes,
				 t->r->host.epoch.pmd_bytes, &lines);
	report_take(out, &lines);
	free(pairs);
}

/* The level of a PFN map is told by the driver; a range that PMDs fit may have
 * been mapped by base pages all the same. */
static void tell_level(const struct table *t, struct buf *out)
{
	const char *driver = NULL;
	char size[SIZE_TEXT];

	for (size_t i = 0; i < 2 * t->n; i++) {
		const struct row *row = &t->rows[i / 2];
		const char *says = row->side[i % 2].driver;
		const char *but = says ? strchr(says, ':') : NULL;

		driver = says ? says : driver;
		if (but)
			report_printf(out, "%s, the range fits %s: mapped by%s.",
				      i % 2 ? "After" : "Before",
				      size_text((uint64_t)row->pair.folio_bytes,
						size), but + 1);
	}
	if (driver)
		report_printf(out, "Levels told by the driver.");
}

/* By what every launch of every good cell was checked. */
static void tell_proof(const struct table *t, struct buf *out)
{
	bool counter = true, pagemap = true, pins = true;

	for (size_t i = 0; i < 2 * t->n; i++) {
		const struct figure *f = &t->rows[i / 2].side[i % 2];

		if (f->status != RECORD_OK)
			continue;
		counter &= f->counter;
		pagemap &= f->pagemap;
		pins &= f->pins;
	}
	if (!is_measured(t))
		return;
	tell_level(t, out);
	if (counter || pagemap)
		report_printf(out, "Sizes checked by %s%s%s%s.",
			      counter ? "anon_fault_alloc" : "",
			      counter && pagemap ? " and " : "",
			      pagemap ? "the page map" : "",
			      pins ? ", pages by nr_foll_pin_acquired" : "");
}

/* What a benchmark is, then its metrics; or why it has none. */
static void tell_table(const struct compare *c, const struct table *t,
		       struct buf *out)
{
	const struct table *end = c->pairs.tables + c->pairs.n;
	bool first = t == c->pairs.tables || t[-1].bench != t->bench;
	const struct bench *known = bench_match(t->bench->name, 0);
	struct buf why = BUF_INIT;

	if (!t->n || (!first && !is_measured(t)))
		return;
	buf_str(out, out->len ? "\n" : "");
	if (first && c->form->benches)
		show_bench(t->bench, known && known->rev == t->bench->rev ?
			   known->what : NULL, out);
	if (is_measured(t)) {
		tell_metric(c, t, out);
		buf_char(out, '\n');
		tell_rows(t, out);
		tell_controls(t, out);
		if (c->form->benches &&
		    (t + 1 == end || t[1].bench != t->bench))
			tell_proof(t, out);
	} else {
		if (!c->form->benches)
			buf_printf(&why, "%s: ", t->bench->name);
		buf_str(&why, "not measured: ");
		reason_of(t->rows, &why);
		report_take(out, &why);
	}
}

/* --- the report ---------------------------------------------------------- */

static void tell_kernels(const struct compare *c, struct buf *out)
{
	const struct record_kernel *k[] = {
		&sides_first(&c->sides, 0)->kernel,
		&sides_first(&c->sides, 1)->kernel,
	};
	struct buf name[2] = { BUF_INIT, BUF_INIT };
	struct buf title = BUF_INIT, line = BUF_INIT;
	bool alike;

	for (int side = 0; side < 2; side++)
		sides_kernel(k[side], &name[side]);
	alike = sides_same(name[0].s, name[1].s);
	for (int side = 0; side < 2 && alike; side++)
		if (k[side]->build_id)
			buf_printf(&name[side], ", build %.*s", SIDES_DIGITS,
				   k[side]->build_id);
	buf_str(&title, "mmtrend: ");
	if (c->o->title)
		buf_str(&title, c->o->title);
	else
		buf_printf(&title, "%s, against %s", name[1].s, name[0].s);
	report_take(out, &title);
	for (int side = 0; side < 2; side++) {
		buf_printf(&line, "%-6s  %s", sides_names[side], name[side].s);
		report_take(out, &line);
		out->failed |= !buf_ok(&name[side]);
		buf_free(&name[side]);
	}
	if (c->sides.same_kernel)
		report_text(out, "Both sides are the same kernel.");
}

static void tell_rerun(const struct compare *c, struct buf *out)
{
	const struct record_strings *argv =
		&sides_first(&c->sides, 1)->agent.argv;
	struct buf line = BUF_INIT;

	if (c->o->rerun)
		buf_printf(&line, "rerun: %s", c->o->rerun);
	else if (argv->n)
		buf_str(&line, "rerun, once per boot: mmtrend");
	for (size_t i = 0; i < argv->n && !c->o->rerun; i++)
		buf_printf(&line, " %s", argv->v[i]);
	report_take(out, &line);
}

static void tell_machine(const struct compare *c, struct buf *out)
{
	const char *emulator = c->sides.docs[0]->host.vol.emulator;

	buf_char(out, '\n');
	sides_machine(&c->sides, out);
	tell_rerun(c, out);
	if (c->sides.exact)
		report_printf(out, "Guest instructions, counted by %.64s, "
			      "never microseconds: no cache, TLB, memory "
			      "latency or branch miss is in them, and they can "
			      "contradict time. Another compiler, emulator or "
			      "config makes another series.",
			      emulator ? emulator : "-");
}

static void tell(const struct compare *c, struct buf *out)
{
	struct buf obstacle = BUF_INIT;

	if (c->form->kernels)
		tell_kernels(c, out);
	if (c->obstacle.len)
		buf_printf(&obstacle, "No verdict: %s", c->obstacle.s);
	report_take(out, &obstacle);
	for (size_t i = 0; i < c->pairs.n; i++)
		tell_table(c, &c->pairs.tables[i], out);
	if (c->small)
		report_text(out, "SLOWER by less than 2 % is no alarm.");
	if (c->form->machine)
		tell_machine(c, out);
}

/* --- for programs -------------------------------------------------------- */

static json_t *number(int64_t v)
{
	return v == RECORD_NULL ? json_null() : json_integer(v);
}

static json_t *side_json(const struct sides *s, int side)
{
	size_t n;
	const struct record **docs = sides_docs(s, side, &n);
	const struct record_kernel *k = &docs[0]->kernel;
	json_t *patches = json_array(), *runs = json_array(), *j;
	struct buf name = BUF_INIT;

	sides_kernel(k, &name);
	for (size_t i = 0; i < k->patches.n; i++)
		json_array_append_new(patches, json_string(k->patches.v[i]));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(runs, json_string(docs[i]->id));
	j = json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o}",
		      "kernel", buf_ok(&name) ? name.s : NULL,
		      "release", k->release, "commit", k->commit,
		      "build_id", k->build_id,
		      "config_sha256", k->config_sha256,
		      "compiler", k->compiler,
		      "emulator", docs[0]->host.vol.emulator,
		      "host", docs[0]->host.label,
		      "patches", patches, "runs", runs);
	buf_free(&name);
	return j;
}

static json_t *figure_json(const struct figure *f)
{
	return json_pack("{s:o, s:o, s:I, s:I, s:s, s:s?}",
			 "value", number(f->value), "spread", number(f->spread),
			 "launches", (json_int_t)f->n,
			 "boots", (json_int_t)f->boots,
			 "status", record_status_name(f->status),
			 "reason", f->reason);
}

static json_t *row_json(const struct table *t, const struct row *row)
{
	const struct verdict_pair *p = &row->pair;
	double change = 100 * ((double)p->after - (double)p->before) /
			(double)p->before;
	bool changes = p->before > 0 && p->after != RECORD_NULL;
	struct buf params = BUF_INIT;
	char text[REPORT_VALUE];
	json_t *j;

	buf_str(&params, "");
	record_params_text(t->bench, &params);
	j = json_pack("{s:s, s:I, s:s?, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o,"
		      " s:s, s:b}", "bench", t->bench->name,
		      "rev", (json_int_t)t->bench->rev, "params", params.s,
		      "metric", t->metric->name,
		      "unit", p->exact ? "insns" : t->metric->unit,
		      "better", p->better == RECORD_LOWER ? "lower" : "higher",
		      "ops", (json_int_t)p->ops,
		      "folio_bytes", (json_int_t)p->folio_bytes,
		      sides_names[0], figure_json(&row->side[0]),
		      sides_names[1], figure_json(&row->side[1]),
		      "change_percent", changes ?
		      json_real(round(change * 1e4) / 1e4) : json_null(),
		      "verdict", verdict_text(p, text),
		      "alarm", verdict_alarm(p));
	buf_free(&params);
	return j;
}

static void tell_json(struct compare *c, struct buf *b)
{
	static const char *const results[] = {
		[COMPARE_FINE] = "nothing slower", [COMPARE_SLOWER] = "SLOWER",
		[COMPARE_OPEN] = "not judged yet",
		[COMPARE_NOT_VALID] = "not valid",
	};
	json_t *rows = json_array(), *j;
	char *text;

	for (size_t i = 0; i < c->pairs.n; i++)
		for (size_t k = 0; k < c->pairs.tables[i].n; k++)
			json_array_append_new(rows,
				row_json(&c->pairs.tables[i],
					 &c->pairs.tables[i].rows[k]));
	buf_reset(&c->obstacle, c->obstacle.len - (c->obstacle.len > 0));
	j = json_pack("{s:s, s:s, s:s?, s:b, s:o, s:o, s:o}",
		      "schema", "mmtrend.compare/1", "result", results[c->result],
		      "no_verdict", c->obstacle.s,
		      "same_kernel", c->sides.same_kernel,
		      sides_names[0], side_json(&c->sides, 0),
		      sides_names[1], side_json(&c->sides, 1), "rows", rows);
	text = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(12));
	if (text)
		buf_printf(b, "%s\n", text);
	b->failed |= !text;
	free(text);
	json_decref(j);
}

/* --- the whole ----------------------------------------------------------- */

int compare_documents(const struct compare_opts *o, struct record *const *docs,
		      size_t n, struct buf *out, struct err *e)
{
	struct compare c = { .o = o, .form = forms };
	int ret = -1;

	while (o->form && c.form < forms + COUNT(forms) &&
	       strcmp(c.form->name, o->form) != 0)
		c.form++;
	if (c.form == forms + COUNT(forms)) {
		err_set(e, "--form: expected full, commit-log or cover, got "
			"\"%.40s\"", o->form);
		goto out;
	}
	if (sides_choose(&c.sides, docs, n, e))
		goto out;
	sides_obstacles(&c.sides, &c.obstacle);
	if (!buf_ok(&c.obstacle) ||
	    pairs_make(&c.pairs, &c.sides, !c.obstacle.len)) {
		err_set(e, "no memory");
		goto out;
	}
	judge(&c);
	ret = (int)c.result;
	if (o->json)
		tell_json(&c, out);
	else
		tell(&c, out);
out:
	pairs_free(&c.pairs);
	sides_free(&c.sides);
	buf_free(&c.obstacle);
	return ret;
}
