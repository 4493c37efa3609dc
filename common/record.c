/* SPDX-License-Identifier: GPL-2.0-only */
/* The run document: one field table makes its parser, writer and schema. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "record.h"
#include "record.def"

void *record_alloc(struct record *r, size_t bytes)
{
	return field_alloc(&r->mem, bytes);
}

char *record_dup(struct record *r, const char *s)
{
	return field_dup(&r->mem, s);
}

char *record_printf(struct record *r, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len >= 0)
		text = record_alloc(r, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(text, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return text;
}

int record_strings_add(struct record *r, struct record_strings *l,
		       const char *s)
{
	char *copy = record_dup(r, s);
	char **to = copy ? field_append(&r->mem, l, sizeof(*to)) : NULL;

	if (to)
		*to = copy;
	return to ? 0 : -1;
}

int record_unread(struct record *r, const char *path, const char *why)
{
	struct record_unread *to = NULL, u = { record_dup(r, path),
					       record_dup(r, why) };

	for (size_t i = 0; i < r->nunread; i++)
		if (!strcmp(r->unread[i].path, path))
			return 0;
	if (u.path && u.reason)
		to = field_append(&r->mem, &r->unread, sizeof(u));
	if (to)
		*to = u;
	return to ? 0 : -1;
}

struct record *record_new(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (r)
		field_null(&run, r);
	return r;
}

void record_free(struct record *r)
{
	if (r)
		field_free(&r->mem);
	free(r);
}

/* --- what no single field can tell ---------------------------------------- */

static const struct record_metric *find_metric(const struct record_bench *b,
					       const char *which)
{
	for (size_t i = 0; i < b->nmetrics; i++)
		if (!strcmp(b->metrics[i].name, which))
			return &b->metrics[i];
	return NULL;
}

static int check_bench(const struct record *r, size_t i, struct err *e)
{
	const struct record_bench *b = &r->benches[i];

	if (record_bench(r, b->name) != b)
		return err_set(e, "/benches/%zu/name: \"%s\" is listed twice",
			       i, b->name);
	for (size_t k = 0; k < b->nmetrics; k++) {
		const char *n = b->metrics[k].name, *unit = b->metrics[k].unit;
		size_t len = strlen(n), tail = strlen(unit) + 1;

		if (find_metric(b, n) != &b->metrics[k])
			return err_set(e, "/benches/%zu/metrics/%zu/name: "
				       "\"%s\" is listed twice", i, k, n);
		if (len <= tail || n[len - tail] != '_' ||
		    strcmp(n + len - tail + 1, unit) != 0)
			return err_set(e, "/benches/%zu/metrics/%zu/name: "
				       "expected a name that ends in \"_%s\", "
				       "got \"%s\"", i, k, unit, n);
	}
	return 0;
}

/* Launch @k of cell @i, which is of bench @b. */
static int check_launch(const struct record *r, size_t i, size_t k,
			const struct record_bench *b, struct err *e)
{
	const struct record_launch *l = &r->cells[i].launches[k];
	int64_t most = r->design.iterations;

	for (size_t s = 0; s < l->nsamples; s++) {
		const struct record_samples *v = &l->samples[s];

		if (!find_metric(b, v->metric))
			return err_set(e, "/cells/%zu/launches/%zu/samples/%s: "
				       "not a metric of \"%s\"", i, k,
				       v->metric, b->name);
		if (most != RECORD_NULL && v->values.n > (size_t)most)
			return err_set(e, "/cells/%zu/launches/%zu/samples/%s: "
				       "%zu iterations, design says %" PRId64,
				       i, k, v->metric, v->values.n, most);
	}
	if (r->cells[i].status == RECORD_OK && l->nsamples < b->nmetrics)
		return err_set(e, "/cells/%zu/launches/%zu/samples: expected "
			       "all %zu metrics in an ok cell, got %zu", i, k,
			       b->nmetrics, l->nsamples);
	return 0;
}

static int check_cell(const struct record *r, size_t i, struct err *e)
{
	const struct record_cell *c = &r->cells[i];
	const struct record_bench *b = record_bench(r, c->bench);

	if (!b)
		return err_set(e, "/cells/%zu/bench: \"%s\" is not one of "
			       "benches", i, c->bench);
	for (size_t k = 0; k < i; k++)
		if (r->cells[k].folio_bytes == c->folio_bytes &&
		    !strcmp(r->cells[k].bench, c->bench))
			return err_set(e, "/cells/%zu: bench and folio_bytes "
				       "are those of /cells/%zu", i, k);
	if (c->status != RECORD_OK && !c->reasons.n)
		return err_set(e, "/cells/%zu/reasons: missing, expected why "
			       "the cell is \"%s\"", i,
			       status_words[c->status]);
	if (c->status == RECORD_OK && !c->nlaunches)
		return err_set(e, "/cells/%zu/launches: missing in an ok cell",
			       i);
	if (r->design.launches != RECORD_NULL &&
	    c->nlaunches > (size_t)r->design.launches)
		return err_set(e, "/cells/%zu/launches: %zu launches, design says "
			       "%" PRId64, i, c->nlaunches, r->design.launches);
	for (size_t k = 0; k < c->nlaunches; k++)
		if (check_launch(r, i, k, b, e))
			return -1;
	return 0;
}

/* Instructions compare only where these are equal, so they must be known. */
static int check_exact(const struct record *r, struct err *e)
{
	const struct { const char *path, *value; } needs[] = {
		{ "/host/volatile/emulator", r->host.vol.emulator },
		{ "/kernel/compiler", r->kernel.compiler },
		{ "/kernel/config_sha256", r->kernel.config_sha256 },
	};
	bool exact = r->clock && !strcmp(r->clock, "insns");

	for (size_t i = 0; i < r->nbenches; i++)
		for (size_t k = 0; k < r->benches[i].nmetrics; k++)
			exact |= record_is_exact(r->benches[i].metrics[k].unit);
	for (size_t i = 0; i < N(needs) && exact; i++)
		if (!needs[i].value)
			return err_set(e, "%s: missing, instruction counts are "
				       "comparable only where it is known",
				       needs[i].path);
	return 0;
}

static int check_document(const struct record *r, struct err *e)
{
	int ret = 0;

	for (size_t i = 0; i < r->nbenches && !ret; i++)
		ret = check_bench(r, i, e);
	if (!ret)
		ret = check_exact(r, e);
	for (size_t i = 0; i < r->ncells && !ret; i++)
		ret = check_cell(r, i, e);
	return ret;
}

/* --- the two ends --------------------------------------------------------- */

struct record *record_parse(const char *json, size_t len, struct err *e)
{
	struct record *r = record_new();

	if (!r)
		err_set(e, "out of memory");
	else if (!field_read(&run, json, len, RECORD_MAX_BODY, r, &r->mem, e) &&
		 !check_document(r, e))
		return r;
	record_free(r);
	return NULL;
}

int record_write(const struct record *r, struct buf *out, struct err *e)
{
	size_t before = out->len;
	struct record *again = NULL;

	field_write(out, &run, r);
	buf_char(out, '\n');
	errno = ENOMEM;
	if (!buf_ok(out))
		err_set(e, "out of memory");
	else	/* what the reader takes is right */
		again = record_parse(out->s + before, out->len - before, e);
	if (!again) {
		buf_reset(out, before);
		return -1;
	}
	record_free(again);
	return 0;
}

/* --- look-ups ------------------------------------------------------------- */

void record_patches(const struct record_kernel *k, struct buf *out)
{
	for (size_t i = 0; i < k->patches.n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", k->patches.v[i]);
}

bool record_shows_commit(const struct record_kernel *k)
{
	const char *at = k->release;

	for (; k->commit && (at = strstr(at, "-g")); at += 2) {
		size_t digits = strspn(at + 2, "0123456789abcdef");

		if (digits >= 7 && !strncmp(at + 2, k->commit, digits))
			return true;
	}
	return false;
}

bool record_is_exact(const char *unit)
{
	return !strcmp(unit, "insns");
}

const struct record_bench *record_bench(const struct record *r,
					const char *which)
{
	for (size_t i = 0; i < r->nbenches; i++)
		if (!strcmp(r->benches[i].name, which))
			return &r->benches[i];
	return NULL;
}

const char *record_status_name(enum record_status s)
{
	return status_words[s];
}

static int by_name(const void *a, const void *b)
{
	const struct record_param *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void record_params_text(const struct record_bench *b, struct buf *out)
{
	struct record_param p[RECORD_MAX_PARAMS] = { 0 };
	size_t n = 0;

	for (; n < b->nparams && n < RECORD_MAX_PARAMS; n++)
		p[n] = b->params[n];
	qsort(p, n, sizeof(*p), by_name);
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%s%s=", i ? "&" : "", p[i].name);
		if (p[i].kind == RECORD_PARAM_TEXT)
			buf_url(out, p[i].text);
		else
			buf_i64(out, p[i].i);
	}
}
