/* SPDX-License-Identifier: GPL-2.0-only */
/* Sorts documents by kernel and says what is known of both sides. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../common/report.h"
#include "facts.h"
#include "sides.h"

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
	if (k->patches.n)
		buf_str(out, " + ");
	record_patches(k, out);
}

/* --- facts --------------------------------------------------------------- */

/* As one reads it: of a hash a few digits. */
static void add_text(const struct fact *f, const struct record *r, struct buf *out)
{
	struct buf text = BUF_INIT;

	fact_text(f, r, &text);
	buf_printf(out, "%.*s", f->kind == FACT_HASH ? 8 : INT_MAX,
		   text.len ? text.s : "not known");
	buf_free(&text);
}

/* The first document that differs from the first; NULL: none. */
static const struct record *differs(const struct sides *s, const struct fact *f)
{
	const struct record *other = NULL;
	struct buf first = BUF_INIT;

	fact_text(f, s->docs[0], &first);
	for (size_t i = 1; i < s->n && !other; i++) {
		struct buf text = BUF_INIT;

		fact_text(f, s->docs[i], &text);
		if (text.len != first.len ||
		    (text.len && memcmp(text.s, first.s, text.len) != 0))
			other = s->docs[i];
		buf_free(&text);
	}
	buf_free(&first);
	return other;
}

static void tell_differences(const struct sides *s, bool obstacles,
			     struct buf *out)
{
	for (const struct fact *f = facts; f < facts + facts_count; f++) {
		bool obstacle = f->side == FACT_NEEDED ||
				(f->side == FACT_EXACT && s->exact);
		const struct record *other;

		if (!f->side || obstacle != obstacles || !(other = differs(s, f)))
			continue;
		buf_printf(out, "%s differs: ", f->name);
		add_text(f, s->docs[0], out);
		buf_str(out, ", then ");
		add_text(f, other, out);
		buf_char(out, '\n');
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

	buf_str(&line, machine ? r->host.label : "");
	for (const struct fact *f = facts; f < facts + facts_count; f++) {
		if (!f->lead || (f->side == FACT_NEEDED) != machine ||
		    fact_is_null(f, r) || differs(s, f))
			continue;
		buf_printf(&line, "%s%s", comma, f->lead);
		add_text(f, r, &line);
		buf_str(&line, f->tail);
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
