/* SPDX-License-Identifier: GPL-2.0-only */
/* Sorts documents by kernel and says what is known of both sides. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "../common/size.h"
#include "sides.h"

#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))

const char *const sides_names[2] = { "before", "after" };

/* --- which kernel -------------------------------------------------------- */

bool sides_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same_kernel(const struct record *x, const struct record *y)
{
	const struct record_kernel *a = &x->kernel, *b = &y->kernel;

	if (a->build_id && b->build_id)
		return sides_same(a->build_id, b->build_id);
	return sides_same(a->release, b->release) &&
	       sides_same(a->version, b->version) &&
	       sides_same(a->tree_hash, b->tree_hash) &&
	       sides_same(a->config_sha256, b->config_sha256);
}

/* Behind the last one of its boot that is on this side, which is the last side
 * so far and begins at @from. */
static void add_doc(struct sides *s, size_t from, const struct record *r)
{
	size_t at = s->n;

	while (at > from && !sides_same(s->docs[at - 1]->boot.id, r->boot.id))
		at--;
	at = at > from ? at : s->n;
	for (size_t i = s->n++; i > at; i--)
		s->docs[i] = s->docs[i - 1];
	s->docs[at] = r;
}

static bool counts(const struct record *r)
{
	for (size_t b = 0; b < r->nbenches; b++)
		for (size_t m = 0; m < r->benches[b].nmetrics; m++)
			if (record_is_exact(r->benches[b].metrics[m].unit))
				return true;
	return false;
}

static bool is_after(struct record *const *docs, size_t n, size_t i)
{
	return n == 2 ? i == 1 : !is_same_kernel(docs[0], docs[i]);
}

int sides_choose(struct sides *s, struct record *const *docs, size_t n,
		 struct err *e)
{
	const struct record *other = NULL;

	*s = (struct sides){ .docs = calloc(n + 1, sizeof(void *)) };
	if (!s->docs)
		return err_set(e, "no memory");
	for (size_t i = 0; i < n; i++) {
		s->exact |= counts(docs[i]);
		if (!is_after(docs, n, i))
			add_doc(s, 0, docs[i]);
		else if (!other)
			other = docs[i];
		else if (!is_same_kernel(other, docs[i]))
			return err_set(e, "compare: expected documents of two "
				       "kernels, got a third: %s",
				       docs[i]->kernel.release);
	}
	if (!other)
		return err_set(e, "compare: expected documents of two kernels, "
			       "these are all of one: %s",
			       docs[0]->kernel.release);
	s->nbefore = s->n;
	s->same_kernel = is_same_kernel(docs[0], other);
	for (size_t i = 1; i < n; i++)
		if (is_after(docs, n, i))
			add_doc(s, s->nbefore, docs[i]);
	return 0;
}

void sides_free(struct sides *s)
{
	free(s->docs);
}

void sides_kernel(const struct record_kernel *k, struct buf *out)
{
	if (k->commit)
		buf_printf(out, "%.*s", SIDES_DIGITS, k->commit);
	else
		buf_printf(out, "linux %s", k->release);
	if (k->dirty == 1)
		buf_str(out, " and changes");
	if (k->tree)
		buf_printf(out, " %s", k->tree);
	for (size_t i = 0; i < k->patches.n; i++)
		buf_printf(out, "%s%s", i ? ", " : " + ", k->patches.v[i]);
}

/* --- facts --------------------------------------------------------------- */

static const struct fact {
	const char *name;
	enum { TEXT, NUMBER, SIZE, HASH } kind;
	enum { SHOWN, EXACT, ALWAYS } needed;	/* equal, for a verdict */
	size_t at;
	const char *lead, *tail;	/* round it, where both sides agree;
					 * NULL: then it is not shown */
} facts[] = {
#define AT(field) offsetof(struct record, field)
	{ "arch", TEXT, ALWAYS, AT(host.epoch.arch), "", "" },
	{ "cpus", NUMBER, ALWAYS, AT(host.epoch.cpus), "", " CPU" },
	{ "cpu", TEXT, ALWAYS, AT(host.epoch.cpu), "", "" },
	{ "family", NUMBER, ALWAYS, AT(host.epoch.family), NULL, NULL },
	{ "model", NUMBER, ALWAYS, AT(host.epoch.model), NULL, NULL },
	{ "stepping", NUMBER, ALWAYS, AT(host.epoch.stepping), NULL, NULL },
	{ "hypervisor", TEXT, ALWAYS, AT(host.epoch.hypervisor),
	  "hypervisor ", "" },
	{ "nodes", NUMBER, ALWAYS, AT(host.epoch.nodes), "", " node" },
	{ "memory", SIZE, ALWAYS, AT(host.epoch.ram_bytes), "", "" },
	{ "base page", SIZE, ALWAYS, AT(host.epoch.base_page_bytes), NULL,
	  NULL },
	{ "pmd", SIZE, ALWAYS, AT(host.epoch.pmd_bytes), NULL, NULL },
	{ "compiler", TEXT, EXACT, AT(kernel.compiler), "", "" },
	{ "emulator", TEXT, EXACT, AT(host.vol.emulator), "", "" },
	{ "config", HASH, SHOWN, AT(kernel.config_sha256), "config ", "" },
	{ "hz", NUMBER, SHOWN, AT(kernel.hz), "HZ ", "" },
	{ "preempt", TEXT, SHOWN, AT(kernel.preempt), "preempt ", "" },
	{ "mitigations", TEXT, SHOWN, AT(host.vol.mitigations),
	  "mitigations ", "" },
	{ "governor", TEXT, SHOWN, AT(host.vol.governor), "governor ", "" },
	{ "turbo", TEXT, SHOWN, AT(host.vol.turbo), "turbo ", "" },
	{ "smt", TEXT, SHOWN, AT(host.vol.smt), "smt ", "" },
	{ "label", TEXT, SHOWN, AT(host.label), NULL, NULL },
	{ "linker", TEXT, SHOWN, AT(kernel.linker), NULL, NULL },
	{ "microcode", TEXT, SHOWN, AT(host.vol.microcode), NULL, NULL },
	{ "clocksource", TEXT, SHOWN, AT(host.vol.clocksource), NULL, NULL },
	{ "cmdline", HASH, SHOWN, AT(host.vol.cmdline_sha256), NULL, NULL },
	{ "mmtrend", TEXT, SHOWN, AT(agent.version), NULL, NULL },
#undef AT
};

/* NULL: not known. */
static const char *fact_text(const struct fact *f, const struct record *r,
			     char out[SIZE_TEXT])
{
	const void *at = (const char *)r + f->at;
	bool number = f->kind == NUMBER || f->kind == SIZE;

	if (number ? *(const int64_t *)at == RECORD_NULL : !*(char *const *)at)
		return NULL;
	if (f->kind == TEXT)
		return *(char *const *)at;
	if (f->kind == NUMBER)
		snprintf(out, SIZE_TEXT, "%" PRId64, *(const int64_t *)at);
	else if (f->kind == SIZE)
		size_text((uint64_t)*(const int64_t *)at, out);
	else
		snprintf(out, SIZE_TEXT, "%.8s", *(char *const *)at);
	return out;
}

/* The first document that differs from the first; NULL: none. */
static const struct record *differs(const struct sides *s, const struct fact *f)
{
	char a[SIZE_TEXT], b[SIZE_TEXT];
	const char *first = fact_text(f, s->docs[0], a);

	for (size_t i = 1; i < s->n; i++)
		if (!sides_same(first, fact_text(f, s->docs[i], b)))
			return s->docs[i];
	return NULL;
}

static void tell_differences(const struct sides *s, bool obstacles,
			     struct buf *out)
{
	char a[SIZE_TEXT], b[SIZE_TEXT];

	for (const struct fact *f = facts; f < facts + COUNT(facts); f++) {
		const struct record *other = differs(s, f);
		bool obstacle = f->needed == ALWAYS ||
				(f->needed == EXACT && s->exact);
		const char *x, *y;

		if (!other || obstacle != obstacles)
			continue;
		x = fact_text(f, s->docs[0], a);
		y = fact_text(f, other, b);
		buf_printf(out, "%s differs: %s, then %s\n", f->name,
			   x ? x : "not known", y ? y : "not known");
	}
}

void sides_obstacles(const struct sides *s, struct buf *out)
{
	tell_differences(s, true, out);
	for (int side = 0; side < 2; side++) {
		const struct record_kernel *k = &sides_first(s, side)->kernel;

		if (k->commit && !record_shows_commit(k))
			buf_printf(out, "%s: commit not proven, the kernel's "
				   "release is %s\n", sides_names[side],
				   k->release);
	}
}

/* The facts of the machine, or the others, that both sides share. */
static void tell_facts(const struct sides *s, bool machine, struct buf *out)
{
	const struct record *r = s->docs[0];
	const char *comma = machine ? ": " : "";
	struct buf line = BUF_INIT;
	char text[SIZE_TEXT];

	buf_str(&line, machine ? r->host.label : "");
	for (const struct fact *f = facts; f < facts + COUNT(facts); f++) {
		const char *value = fact_text(f, r, text);

		if (!f->lead || !value || (f->needed == ALWAYS) != machine ||
		    differs(s, f))
			continue;
		buf_printf(&line, "%s%s%s%s", comma, f->lead, value, f->tail);
		comma = ", ";
	}
	report_take(out, &line);
}

/* What would make figures false, in any document. */
static void tell_checks(const struct sides *s, struct buf *out)
{
	bool known = true, debug = false, swap = false;
	int64_t taint = 0, load = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct record *r = s->docs[i];
		const struct record_quiet *q = &r->quiet;

		known &= r->kernel.config_sha256 && q->taint.n &&
			 r->host.vol.swap_bytes != RECORD_NULL;
		swap |= r->host.vol.swap_bytes > 0;
		for (size_t k = 0; k < r->invalid.n; k++)
			debug |= !strncmp(r->invalid.v[k], "debug ", 6);
		for (size_t k = 0; k < q->taint.n; k++)
			taint |= q->taint.v[k];
		for (size_t k = 0; k < q->load_1m_milli.n; k++)
			if (q->load_1m_milli.v[k] > load)
				load = q->load_1m_milli.v[k];
	}
	report_printf(out, "Checks: %sdebug options, taint %" PRId64 ", swap "
		      "%s, load %.1f%s", debug ? "" : "no ", taint,
		      swap ? "on" : "off", (double)load / 1e3,
		      known ? "" : "; not all could be read");
}

void sides_machine(const struct sides *s, struct buf *out)
{
	struct buf differ = BUF_INIT;

	tell_facts(s, true, out);
	tell_facts(s, false, out);
	tell_differences(s, false, &differ);
	report_take(out, &differ);
	tell_checks(s, out);
}
