/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns a run document into the rows and hashes that are kept of it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <openssl/sha.h>
#include <zlib.h>

#include "../common/stats.h"
#include "store_priv.h"

/* 96 kB of tables instead of 256, and quicker on documents of some 30 kB. */
#define DEFLATE_WINDOW	14
#define DEFLATE_MEMORY	6

void pack_sha256(const void *data, size_t len, char hex[PACK_HEX])
{
	static const char digit[] = "0123456789abcdef";
	unsigned char sum[32];

	SHA256(data, len, sum);
	for (size_t i = 0; i < sizeof(sum); i++) {
		hex[2 * i] = digit[sum[i] >> 4];
		hex[2 * i + 1] = digit[sum[i] & 15];
	}
	hex[PACK_HEX - 1] = '\0';
}

void *pack_deflate(const void *data, size_t len, size_t *out_len)
{
	z_stream z = { .next_in = (void *)(uintptr_t)data,
		       .avail_in = (uInt)len };
	void *out;

	if (deflateInit2(&z, 1, Z_DEFLATED, DEFLATE_WINDOW, DEFLATE_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	z.avail_out = (uInt)deflateBound(&z, len);
	z.next_out = out = malloc(z.avail_out);
	if (out)
		deflate(&z, Z_FINISH);	/* ends: there is room */
	*out_len = z.total_out;
	deflateEnd(&z);
	return out;
}

int pack_inflate(const void *data, size_t data_len, size_t len, struct buf *out)
{
	unsigned char *text = malloc(len + 1);
	uLongf n = len;
	int ret = -1;

	if (text && uncompress(text, &n, data, data_len) == Z_OK && n == len) {
		buf_add(out, text, len);
		ret = buf_ok(out) ? 0 : -1;
	}
	free(text);
	return ret;
}

/* --- identity ------------------------------------------------------------ */

/* Any change of this text, be it of key order, starts every series anew. */
static void pack_epoch(struct pack *p)
{
	const struct record_epoch *f = &p->r->host.epoch;
	const struct { const char *key, *text; int64_t n; } fact[] = {
		{ "label", p->r->host.label, RECORD_NULL },
		{ "arch", f->arch, RECORD_NULL },
		{ "cpu", f->cpu, RECORD_NULL },
		{ "family", NULL, f->family },
		{ "model", NULL, f->model },
		{ "stepping", NULL, f->stepping },
		{ "cpus", NULL, f->cpus },
		{ "nodes", NULL, f->nodes },
		{ "ram_bytes", NULL, f->ram_bytes },
		{ "base_page_bytes", NULL, f->base_page_bytes },
		{ "pmd_bytes", NULL, f->pmd_bytes },
		{ "hypervisor", f->hypervisor, RECORD_NULL },
	};
	struct buf *b = &p->facts;

	for (size_t i = 0; i < sizeof(fact) / sizeof(fact[0]); i++) {
		buf_printf(b, "%c\"%s\":", i ? ',' : '{', fact[i].key);
		if (fact[i].n != RECORD_NULL)
			buf_i64(b, fact[i].n);
		else
			buf_json(b, fact[i].text);
	}
	buf_char(b, '}');
	if (buf_ok(b))
		pack_sha256(b->s, b->len, p->epoch_sha256);
}

static void pack_kernel_key(struct pack *p)
{
	const struct record_kernel *k = &p->r->kernel;
	bool tree = k->tree_hash && k->config_sha256;
	const char *a = tree ? k->tree_hash : k->release;
	const char *b = tree ? k->config_sha256 : k->version;
	char text[2 * RECORD_MAX_TEXT + 2], hex[PACK_HEX];
	int len;

	if (k->build_id) {
		snprintf(p->kernel_key, STORE_KEY, "%s", k->build_id);
		return;
	}
	len = snprintf(text, sizeof(text), "%s\n%s", a, b ? b : "");
	pack_sha256(text, (size_t)len, hex);
	snprintf(p->kernel_key, STORE_KEY, "v-%.16s", hex);
}

/* The build itself says which commit it is. With changes on top it is not. */
static bool commit_proven(const struct record_kernel *k)
{
	return k->dirty != 1 && !k->patches.n && record_shows_commit(k);
}

/* Instruction counts compare only within one compiler, emulator and config. */
static void pack_exact(struct pack *p)
{
	const struct record_kernel *k = &p->r->kernel;

	buf_str(&p->exact, "compiler=");
	buf_url(&p->exact, k->compiler);
	buf_str(&p->exact, "&emulator=");
	buf_url(&p->exact, p->r->host.vol.emulator);
	buf_str(&p->exact, "&config=");
	buf_str(&p->exact, k->config_sha256 ? k->config_sha256 : "");
}

/* --- rows ---------------------------------------------------------------- */

static void pack_launches(struct pack *p, const struct stats_summary *sum)
{
	for (size_t i = 0; i < sum->n; i++) {
		uint64_t v = (uint64_t)sum->launch[i];

		for (; v >= 0x80; v >>= 7)
			buf_char(&p->launches, (char)(v | 0x80));
		buf_char(&p->launches, (char)v);
	}
}

static void pack_row(struct pack *p, struct pack_metric *m,
		     const struct record_cell *cell)
{
	struct pack_row *row = &p->rows[p->nrows];
	struct stats_summary sum;

	stats_summarise(cell, m->metric, &sum);
	row->folio_bytes = cell->folio_bytes;
	row->status = cell->status;
	row->reason = cell->reasons.n ? cell->reasons.v[0] : NULL;
	if (cell->status == RECORD_OK && p->r->invalid.n) {
		row->status = RECORD_INVALID;
		row->reason = p->r->invalid.v[0];
	}
	row->n = (int64_t)sum.n;
	row->value = sum.value;
	row->spread = sum.spread;
	row->first = sum.first;
	row->launches = p->launches.len;
	pack_launches(p, &sum);
	row->launches_len = p->launches.len - row->launches;
	m->valid |= row->status == RECORD_OK;
	m->measured |= sum.n > 0;
	m->rows++;
	p->nrows++;
}

static int pack_metric(struct pack *p, const struct record_bench *b,
		       const struct record_metric *metric)
{
	struct pack_metric *m = &p->metrics[p->nmetrics++];
	const struct record *r = p->r;

	m->bench = b;
	m->metric = metric;
	m->exact = record_is_exact(metric->unit) ? p->exact.s : "";
	buf_str(&m->params, "");
	record_params_text(b, &m->params);
	for (size_t i = 0; i < r->ncells; i++)
		if (!strcmp(r->cells[i].bench, b->name))
			pack_row(p, m, &r->cells[i]);
	return buf_ok(&m->params) ? 0 : -1;
}

static int pack_metrics(struct pack *p)
{
	const struct record *r = p->r;
	size_t metrics = 0, rows = 0;

	for (size_t i = 0; i < r->nbenches; i++)
		metrics += r->benches[i].nmetrics;
	for (size_t i = 0; i < r->ncells; i++)
		rows += record_bench(r, r->cells[i].bench)->nmetrics;
	p->metrics = calloc(metrics + 1, sizeof(*p->metrics));
	p->rows = calloc(rows + 1, sizeof(*p->rows));
	if (!p->metrics || !p->rows)
		return -1;
	for (size_t i = 0; i < r->nbenches; i++)
		for (size_t m = 0; m < r->benches[i].nmetrics; m++)
			if (pack_metric(p, &r->benches[i],
					&r->benches[i].metrics[m]))
				return -1;
	return buf_ok(&p->launches) ? 0 : -1;
}

int pack_run(struct pack *p, const struct record *r, const void *body,
	     size_t len)
{
	time_t now = time(NULL);
	struct tm tm;

	memset(p, 0, sizeof(*p));
	p->r = r;
	p->len = len;
	strftime(p->posted_at, sizeof(p->posted_at), "%Y-%m-%dT%H:%M:%SZ",
		 gmtime_r(&now, &tm));
	pack_sha256(body, len, p->sha256);
	pack_epoch(p);
	pack_kernel_key(p);
	p->commit_proven = commit_proven(&r->kernel);
	pack_exact(p);
	p->deflated = pack_deflate(body, len, &p->deflated_len);
	if (!p->deflated || !buf_ok(&p->facts) || !buf_ok(&p->exact))
		return -1;
	return pack_metrics(p);
}

void pack_free(struct pack *p)
{
	for (size_t i = 0; i < p->nmetrics; i++)
		buf_free(&p->metrics[i].params);
	free(p->metrics);
	free(p->rows);
	free(p->deflated);
	buf_free(&p->facts);
	buf_free(&p->exact);
	buf_free(&p->launches);
}
