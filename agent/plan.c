/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns options into cells; refuses what cannot be before it is measured. */
#include "plan.h"

#include <string.h>

#include "../common/size.h"

#define SIZES_MAX	(MTHP_MAX + 8)
#define MIN_PMDS	4	/* smaller regions say more about their edges */
#define SAMPLE_TEXT	16	/* bytes of JSON a sample may take */

/* Parameters that travel with a benchmark, unless 0. */
static const struct { const char *name; size_t offset; } PARAMS[] = {
	{ "memory_bytes", offsetof(struct bench_params, memory_bytes) },
};
#define NPARAMS (sizeof(PARAMS) / sizeof(PARAMS[0]))

/* Cut the next name off a comma-separated list. */
static bool next_word(const char **list, char word[RECORD_MAX_NAME])
{
	size_t n = strcspn(*list, ",");

	if (!**list)
		return false;
	snprintf(word, RECORD_MAX_NAME, "%.*s", (int)(n < 1024 ? n : 1024), *list);
	*list += n + ((*list)[n] == ',');
	return true;
}

static int choose_benches(const char *list, bool *chosen, struct err *e)
{
	char word[RECORD_MAX_NAME];

	while (list && next_word(&list, word)) {
		if (!bench_match(word, 0))
			return err_set(e, "--bench: expected names of `mmtrend "
				       "list`, got \"%s\"", word);
		for (size_t b = 0; b < bench_count; b++)
			for (size_t i = 0; bench_match(word, i); i++)
				chosen[b] |= bench_match(word, i) == bench_all[b];
	}
	return 0;
}

static void add_size(uint64_t *sizes, size_t *n, uint64_t bytes)
{
	for (size_t i = 0; i < *n; i++)
		if (sizes[i] == bytes)
			return;
	sizes[(*n)++] = bytes;
}

static int choose_sizes(const struct mthp *m, const char *list, uint64_t *sizes,
			size_t *n, struct err *e)
{
	char word[RECORD_MAX_NAME];
	uint64_t bytes;

	*n = 0;
	list = list ? list : "all";
	while (next_word(&list, word) && *n < SIZES_MAX - MTHP_MAX) {
		bool all = !strcmp(word, "all"), pmd = !strcmp(word, "pmd");

		if (pmd && !m->pmd_bytes)
			return err_set(e, "--size: this kernel has no transparent "
				       "huge pages, so no pmd");
		if (all || !strcmp(word, "base"))
			bytes = m->base_bytes;
		else if (pmd)
			bytes = m->pmd_bytes;
		else if (size_parse(word, &bytes) || bytes & (bytes - 1) ||
			 bytes < m->base_bytes)
			return err_set(e, "--size: expected base, pmd, all, or a "
				       "size like 64k, got \"%s\"", word);
		add_size(sizes, n, bytes);
		for (size_t i = 0; all && i < m->n; i++)
			add_size(sizes, n, m->bytes[i]);
	}
	return *n ? 0 : err_set(e, "--size: expected at least one size");
}

static int resolve_params(const struct plan *pl, const struct bench *b,
			  struct bench_params *p, struct err *e)
{
	uint64_t align = pl->mthp.pmd_bytes ? pl->mthp.pmd_bytes :
					      pl->mthp.base_bytes;
	char text[SIZE_TEXT], most[SIZE_TEXT];

	*p = b->defaults;
	if (!p->memory_bytes)
		return 0;
	if (p->memory_bytes < MIN_PMDS * align)
		p->memory_bytes = MIN_PMDS * align;
	if (pl->o->memory_bytes)
		p->memory_bytes = pl->o->memory_bytes;
	if (!(p->memory_bytes % align) && p->memory_bytes <= BENCH_MAX_MEMORY)
		return 0;
	return err_set(e, "--memory: expected a multiple of %s, at most %s",
		       size_text(align, text), size_text(BENCH_MAX_MEMORY, most));
}

void plan_settle(struct plan *pl, struct record_cell *c, enum record_status status,
		 const char *reason)
{
	if (status > c->status)
		c->status = status;
	for (size_t i = 0; i < c->reasons.n; i++)
		if (!strcmp(c->reasons.v[i], reason))
			return;
	if (c->reasons.n < RECORD_MAX_REASONS)
		record_strings_add(pl->r, &c->reasons, reason);
}

static bool has_size(const struct mthp *m, uint64_t bytes)
{
	bool has = bytes == m->base_bytes;

	for (size_t i = 0; i < m->n; i++)
		has |= m->bytes[i] == bytes;
	return has;
}

/* What is known without trying. */
static void foresee(struct plan *pl, const struct job *j, const char *cannot)
{
	uint64_t memory = j->params.memory_bytes;
	uint64_t least = MIN_PMDS * pl->mthp.pmd_bytes;
	uint64_t folio = (uint64_t)j->cell->folio_bytes;
	char a[SIZE_TEXT], b[SIZE_TEXT], text[128];

	if (cannot)
		plan_settle(pl, j->cell, RECORD_SKIP, cannot);
	if (!j->bench->sized)
		return;
	if (!has_size(&pl->mthp, folio)) {
		snprintf(text, sizeof(text),
			 "this kernel has no anonymous folios of %s",
			 size_text(folio, a));
		plan_settle(pl, j->cell, RECORD_SKIP, text);
	}
	if (memory < least) {
		snprintf(text, sizeof(text),
			 "region of %s is smaller than %d PMDs (%s)",
			 size_text(memory, a), MIN_PMDS, size_text(least, b));
		plan_settle(pl, j->cell, RECORD_NOT_APPLICABLE, text);
	}
}

char *plan_metric_name(const struct plan *pl, const struct bench_metric *m)
{
	size_t n = strlen(m->name);

	if (!pl->exact || n < 3 || strcmp(m->name + n - 3, "_ns") != 0)
		return record_dup(pl->r, m->name);
	return record_printf(pl->r, "%.*s_insns", (int)n - 3, m->name);
}

static int describe(struct plan *pl, const struct bench *b,
		    const struct bench_params *p, struct record_bench *rb)
{
	rb->name = record_dup(pl->r, b->name);
	rb->same_as = record_dup(pl->r, b->same_as);
	rb->rev = b->rev;
	rb->params = record_alloc(pl->r, NPARAMS * sizeof(*rb->params));
	rb->metrics = record_alloc(pl->r, b->nmetrics * sizeof(*rb->metrics));
	if (!rb->name || !rb->params || !rb->metrics)
		return -1;
	for (size_t i = 0; i < NPARAMS; i++) {
		uint64_t v = *(const uint64_t *)((const char *)p + PARAMS[i].offset);

		if (v)
			rb->params[rb->nparams++] = (struct record_param){
				.name = record_dup(pl->r, PARAMS[i].name),
				.kind = RECORD_PARAM_INT, .i = (int64_t)v };
	}
	for (size_t i = 0; i < b->nmetrics; i++) {
		const struct bench_metric *m = &b->metrics[i];
		bool ns = !strcmp(m->unit, "ns");

		rb->metrics[rb->nmetrics++] = (struct record_metric){
			.name = plan_metric_name(pl, m),
			.unit = record_dup(pl->r, pl->exact && ns ? "insns" : m->unit),
			.better = m->better,
			.reduce = pl->exact ? RECORD_MIN : RECORD_MEDIAN,
			.quantum = m->quantum,
			.ops = bench_ops(b, p, &pl->mthp) };
	}
	return 0;
}

static int add_cell(struct plan *pl, const struct bench *b,
		    const struct bench_params *p, uint64_t folio_bytes,
		    const char *cannot)
{
	struct record *r = pl->r;
	struct job *j = &pl->jobs[r->ncells];
	struct record_cell *c = &r->cells[r->ncells++];
	size_t samples;

	j->bench = b;
	j->params = *p;
	j->cell = c;
	j->launches = pl->o->launches ? pl->o->launches : b->launches;
	j->iterations = pl->o->iterations ? pl->o->iterations : b->iterations;
	samples = j->iterations * b->nmetrics;
	if (samples > pl->most_samples)
		pl->most_samples = samples;
	pl->text += j->launches * (samples + 16) * SAMPLE_TEXT;
	if (r->design.launches < j->launches)
		r->design.launches = j->launches;
	if (r->design.iterations < j->iterations)
		r->design.iterations = j->iterations;
	c->bench = record_dup(r, b->name);
	c->folio_bytes = (int64_t)folio_bytes;
	c->launches = record_alloc(r, j->launches * sizeof(*c->launches));
	if (!c->bench || !c->launches)
		return -1;
	foresee(pl, j, cannot);
	pl->total += c->status == RECORD_OK ? j->launches : 0;
	return 0;
}

static int add_bench(struct plan *pl, const struct bench *b, const uint64_t *sizes,
		     size_t nsizes, struct err *e)
{
	struct bench_params p;
	struct err why;
	bool can;

	if (resolve_params(pl, b, &p, e))
		return -1;
	can = !b->can_run || !b->can_run(&p, &why);
	if (describe(pl, b, &p, &pl->r->benches[pl->r->nbenches++]))
		return err_set(e, "no memory");
	for (size_t i = 0; i < (b->sized ? nsizes : 1); i++)
		if (add_cell(pl, b, &p, b->sized ? sizes[i] : pl->mthp.base_bytes,
			     can ? NULL : why.msg))
			return err_set(e, "no memory");
	return 0;
}

int plan_make(struct plan *pl, struct err *e)
{
	bool chosen[RECORD_MAX_BENCHES] = { false };
	struct record *r = pl->r;
	uint64_t sizes[SIZES_MAX];
	size_t nsizes, cells;

	if (choose_benches(pl->o->bench, chosen, e) ||
	    choose_sizes(&pl->mthp, pl->o->size, sizes, &nsizes, e))
		return -1;
	cells = bench_count * nsizes;
	r->benches = record_alloc(r, bench_count * sizeof(*r->benches));
	r->cells = record_alloc(r, cells * sizeof(*r->cells));
	pl->jobs = record_alloc(r, cells * sizeof(*pl->jobs));
	if (!r->benches || !r->cells || !pl->jobs)
		return err_set(e, "no memory");
	for (size_t b = 0; b < bench_count; b++)
		if ((!pl->o->bench || chosen[b]) &&
		    add_bench(pl, bench_all[b], sizes, nsizes, e))
			return -1;
	if (pl->text > RECORD_MAX_BODY)
		return err_set(e, "--launches, --iterations: the document would "
			       "have %zu bytes, at most %u can be sent",
			       pl->text, RECORD_MAX_BODY);
	return 0;
}
