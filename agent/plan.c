/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns options into cells; refuses what cannot be before it is measured. */
#include "plan.h"

#include <string.h>

#include "../common/size.h"

#define SIZES_MAX	(MTHP_MAX + 8)
#define MIN_PMDS	4	/* smaller regions say more about their edges */
#define SAMPLE_TEXT	16	/* bytes of JSON a sample may take */

/* Parameters that travel with a benchmark, unless 0. An option changes one of
 * those benchmarks that have @of. */
static const struct param {
	const char *name;
	size_t at, of;			/* in struct bench_params */
	bool flag;
} PARAMS[] = {
#define AT(field) offsetof(struct bench_params, field)
	{ "memory_bytes", AT(memory_bytes), AT(memory_bytes), false },
	{ "pages_per_call", AT(pages_per_call), AT(pages_per_call), false },
	{ "read", AT(read), AT(pages_per_call), true },
	{ "shared", AT(shared), AT(pages_per_call), true },
	{ "hugetlb", AT(hugetlb), AT(pages_per_call), true },
	{ "stride_bytes", AT(stride_bytes), AT(stride_bytes), false },
#undef AT
};
#define NPARAMS (sizeof(PARAMS) / sizeof(PARAMS[0]))

/* A benchmark of the run, with what its cells have in common. */
struct part {
	const struct bench *bench;	/* NULL: not of this agent */
	struct bench_params params;
	unsigned launches, iterations;
	const char *cannot;		/* all its cells are skipped for this */
};

static uint64_t get(const struct bench_params *p, size_t at)
{
	return *(const uint64_t *)((const char *)p + at);
}

static void set(struct bench_params *p, size_t at, uint64_t v)
{
	*(uint64_t *)((char *)p + at) = v;
}

void plan_params_text(const struct bench_params *p, struct buf *out)
{
	char text[SIZE_TEXT];

	for (size_t i = 0; i < NPARAMS; i++) {
		const char *name = PARAMS[i].name, *unit = strstr(name, "_bytes");
		uint64_t v = get(p, PARAMS[i].at);

		if (v && unit)
			buf_printf(out, " %.*s=%s", (int)(unit - name), name,
				   size_text(v, text));
		else if (v)
			buf_printf(out, " %s=%llu", name, (unsigned long long)v);
	}
}

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

static int check_memory(const struct plan *pl, uint64_t bytes, struct err *e)
{
	uint64_t align = pl->mthp.pmd_bytes ? pl->mthp.pmd_bytes :
					      pl->mthp.base_bytes;
	char text[SIZE_TEXT], most[SIZE_TEXT];

	if (!(bytes % align) && bytes <= BENCH_MAX_MEMORY)
		return 0;
	return err_set(e, "--memory: expected a multiple of %s, at most %s",
		       size_text(align, text), size_text(BENCH_MAX_MEMORY, most));
}

/* The defaults, and what the options change. */
static int resolve_params(const struct plan *pl, struct part *part, struct err *e)
{
	const struct bench_params *defaults = &part->bench->defaults;
	uint64_t least = MIN_PMDS * (pl->mthp.pmd_bytes ? pl->mthp.pmd_bytes :
							  pl->mthp.base_bytes), most;

	part->params = *defaults;
	if (defaults->memory_bytes && defaults->memory_bytes < least)
		part->params.memory_bytes = least;
	for (size_t i = 0; i < NPARAMS; i++) {
		uint64_t asked = get(&pl->o->params, PARAMS[i].at);

		if (asked && get(defaults, PARAMS[i].of))
			set(&part->params, PARAMS[i].at, asked);
	}
	most = part->params.memory_bytes / pl->mthp.base_bytes;
	if (part->params.pages_per_call > most)
		part->params.pages_per_call = most;	/* as the kernel does */
	return check_memory(pl, part->params.memory_bytes, e);
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
	if (!j->bench || !j->bench->sized)
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

static int describe(struct plan *pl, const struct part *part,
		    struct record_bench *rb)
{
	const struct bench *b = part->bench;
	bool usual = !memcmp(&part->params, &b->defaults, sizeof(part->params));

	rb->name = record_dup(pl->r, b->name);
	rb->same_as = record_dup(pl->r, usual ? b->same_as : NULL);
	rb->rev = b->rev;
	rb->params = record_alloc(pl->r, NPARAMS * sizeof(*rb->params));
	rb->nmetrics = bench_nmetrics(b, &part->params);
	rb->metrics = record_alloc(pl->r, rb->nmetrics * sizeof(*rb->metrics));
	if (!rb->name || !rb->params || !rb->metrics)
		return -1;
	for (size_t i = 0; i < NPARAMS; i++) {
		uint64_t v = get(&part->params, PARAMS[i].at);

		if (v)
			rb->params[rb->nparams++] = (struct record_param){
				.name = record_dup(pl->r, PARAMS[i].name),
				.kind = PARAMS[i].flag ? RECORD_PARAM_BOOL :
							 RECORD_PARAM_INT,
				.i = (int64_t)v };
	}
	for (size_t i = 0; i < rb->nmetrics; i++) {
		const struct bench_metric *m = &b->metrics[i];
		bool ns = !strcmp(m->unit, "ns");

		rb->metrics[i] = (struct record_metric){
			.name = plan_metric_name(pl, m),
			.unit = record_dup(pl->r, pl->exact && ns ? "insns" : m->unit),
			.better = m->better,
			.reduce = pl->exact ? RECORD_MIN : RECORD_MEDIAN,
			.quantum = m->quantum,
			.ops = bench_ops(b, &part->params, &pl->mthp) };
	}
	return 0;
}

/* A cell of the document's last benchmark. */
static int add_cell(struct plan *pl, const struct part *part, int64_t folio_bytes)
{
	struct record *r = pl->r;
	struct record_bench *rb = &r->benches[r->nbenches - 1];
	struct job *j = &pl->jobs[r->ncells];
	struct record_cell *c = &r->cells[r->ncells++];
	size_t samples = part->iterations * rb->nmetrics;

	*j = (struct job){ .bench = part->bench, .params = part->params,
			   .launches = part->launches,
			   .iterations = part->iterations, .cell = c };
	if (samples > pl->most_samples)
		pl->most_samples = samples;
	pl->text += j->launches * (samples + 16) * SAMPLE_TEXT;
	if (r->design.launches < j->launches)
		r->design.launches = j->launches;
	if (r->design.iterations < j->iterations)
		r->design.iterations = j->iterations;
	c->bench = rb->name;
	c->folio_bytes = folio_bytes;
	c->launches = record_alloc(r, j->launches * sizeof(*c->launches));
	if (!c->launches)
		return -1;
	foresee(pl, j, part->cannot);
	pl->total += c->status == RECORD_OK ? j->launches : 0;
	return 0;
}

/* --- what to measure: by the options ------------------------------------ */

static int add_bench(struct plan *pl, const struct bench *b, const uint64_t *sizes,
		     size_t nsizes, struct err *e)
{
	struct part part = {
		.bench = b,
		.launches = pl->o->launches ? (unsigned)pl->o->launches : b->launches,
		.iterations = pl->o->iterations ? (unsigned)pl->o->iterations :
						  b->iterations,
	};
	struct err why;

	if (resolve_params(pl, &part, e))
		return -1;
	if (b->can_run && b->can_run(&part.params, &why))
		part.cannot = why.msg;
	if (describe(pl, &part, &pl->r->benches[pl->r->nbenches++]))
		return err_set(e, "no memory");
	for (size_t i = 0; i < (b->sized ? nsizes : 1); i++)
		if (add_cell(pl, &part, (int64_t)(b->sized ? sizes[i] :
						  pl->mthp.base_bytes)))
			return err_set(e, "no memory");
	return 0;
}

static int by_options(struct plan *pl, const uint64_t *sizes, size_t nsizes,
		      struct err *e)
{
	bool chosen[RECORD_MAX_BENCHES] = { false };

	if (choose_benches(pl->o->bench, chosen, e))
		return -1;
	for (size_t b = 0; b < bench_count; b++)
		if ((!pl->o->bench || chosen[b]) &&
		    add_bench(pl, bench_all[b], sizes, nsizes, e))
			return -1;
	return 0;
}

/* --- what to measure: by a document ------------------------------------- */

/* The benchmark and parameters that @old has. -1 with @e: not here. */
static int recall(const struct plan *pl, const struct record_bench *old,
		  struct part *part, struct err *e)
{
	const struct bench *b = bench_match(old->name, 0);

	if (!b || strcmp(b->name, old->name) != 0)
		return err_set(e, "this agent has no benchmark %s", old->name);
	if (b->rev != old->rev)
		return err_set(e, "%s: this agent has revision %d, not %lld",
			       old->name, b->rev, (long long)old->rev);
	for (size_t i = 0; i < old->nparams; i++) {
		const char *name = old->params[i].name;
		size_t k = 0;

		while (k < NPARAMS && strcmp(PARAMS[k].name, name) != 0)
			k++;
		if (k == NPARAMS)
			return err_set(e, "%s: this agent has no parameter %s",
				       old->name, name);
		set(&part->params, PARAMS[k].at, (uint64_t)old->params[i].i);
	}
	if (check_memory(pl, part->params.memory_bytes, e))
		return -1;
	part->bench = b;
	return b->can_run ? b->can_run(&part->params, e) : 0;
}

static int again(struct plan *pl, const struct record_bench *old, struct err *e)
{
	const struct record *more = pl->o->more;
	struct record_bench *rb = &pl->r->benches[pl->r->nbenches++];
	struct part part = { .bench = NULL };
	struct err why;

	for (size_t i = 0; i < more->ncells; i++) {
		const struct record_cell *c = &more->cells[i];

		if (strcmp(c->bench, old->name) != 0 || !c->nlaunches)
			continue;
		if (part.launches < c->nlaunches)
			part.launches = (unsigned)c->nlaunches;
		if (c->launches->nsamples &&
		    part.iterations < c->launches->samples->values.n)
			part.iterations = (unsigned)c->launches->samples->values.n;
	}
	if (recall(pl, old, &part, &why))
		part.cannot = why.msg;
	if (part.bench && !part.launches) {	/* it could not be measured then */
		part.launches = part.bench->launches;
		part.iterations = part.bench->iterations;
	}
	if (!part.bench)
		*rb = *old;
	else if (describe(pl, &part, rb))
		return err_set(e, "no memory");
	for (size_t i = 0; i < more->ncells; i++)
		if (!strcmp(more->cells[i].bench, old->name) &&
		    add_cell(pl, &part, more->cells[i].folio_bytes))
			return err_set(e, "no memory");
	return 0;
}

static int by_document(struct plan *pl, struct err *e)
{
	const struct run_opts *o = pl->o;
	const struct bench_params none = { 0 };

	if (o->bench || o->size || o->launches || o->iterations ||
	    memcmp(&o->params, &none, sizeof(none)) != 0)
		return err_set(e, "--more: benchmarks, sizes, parameters and counts "
			       "come from its document, not from options");
	for (size_t i = 0; i < o->more->nbenches; i++)
		if (again(pl, &o->more->benches[i], e))
			return -1;
	return 0;
}

int plan_make(struct plan *pl, struct err *e)
{
	const struct record *more = pl->o->more;
	struct record *r = pl->r;
	uint64_t sizes[SIZES_MAX];
	size_t nsizes, nbenches, cells;

	if (choose_sizes(&pl->mthp, pl->o->size, sizes, &nsizes, e))
		return -1;
	nbenches = more ? more->nbenches : bench_count;
	cells = more ? more->ncells : bench_count * nsizes;
	r->benches = record_alloc(r, nbenches * sizeof(*r->benches));
	r->cells = record_alloc(r, cells * sizeof(*r->cells));
	pl->jobs = record_alloc(r, cells * sizeof(*pl->jobs));
	if (!r->benches || !r->cells || !pl->jobs)
		return err_set(e, "no memory");
	if (more ? by_document(pl, e) : by_options(pl, sizes, nsizes, e))
		return -1;
	if (pl->text > RECORD_MAX_BODY)
		return err_set(e, "--launches, --iterations: the document would "
			       "have %zu bytes, at most %u can be sent",
			       pl->text, RECORD_MAX_BODY);
	return 0;
}
