/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns a run document into the rows and hashes that are kept of it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <openssl/sha.h>
#include <zlib.h>

#include "../common/stats.h"
#include "store_pack.h"
#include "store_priv.h"

void pack_sha256(const void *data, size_t len, unsigned char out[32])
{
	SHA256(data ? data : "", len, out);
}

void pack_hex(const unsigned char sha256[32], char out[PACK_HEX])
{
	static const char digit[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < 32; i++) {
		out[2 * i] = digit[sha256[i] >> 4];
		out[2 * i + 1] = digit[sha256[i] & 15];
	}
	out[64] = '\0';
}

void pack_now(char out[24])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void *pack_deflate(const void *data, size_t len, size_t *out_len)
{
	uLongf n = compressBound(len);
	unsigned char *out = malloc(n);

	if (!out)
		return NULL;
	if (compress2(out, &n, data, len, 1) != Z_OK) {
		free(out);
		return NULL;
	}
	*out_len = n;
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

static void fact_text(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, ",\"%s\":", key);
	buf_json(b, text);
}

static void fact_int(struct buf *b, const char *key, int64_t v)
{
	buf_printf(b, ",\"%s\":", key);
	if (v == RECORD_NULL)
		buf_str(b, "null");
	else
		buf_i64(b, v);
}

/* Any change of this text, be it of key order, starts every series anew. */
static void pack_epoch(struct pack *p)
{
	const struct record_epoch *f = &p->r->host.epoch;
	unsigned char sha256[32];
	struct buf *b = &p->facts;

	buf_str(b, "{\"label\":");
	buf_json(b, p->r->host.label);
	fact_text(b, "arch", f->arch);
	fact_text(b, "cpu", f->cpu);
	fact_int(b, "family", f->family);
	fact_int(b, "model", f->model);
	fact_int(b, "stepping", f->stepping);
	fact_int(b, "cpus", f->cpus);
	fact_int(b, "nodes", f->nodes);
	fact_int(b, "ram_bytes", f->ram_bytes);
	fact_int(b, "base_page_bytes", f->base_page_bytes);
	fact_int(b, "pmd_bytes", f->pmd_bytes);
	fact_text(b, "hypervisor", f->hypervisor);
	buf_char(b, '}');
	pack_sha256(b->s, b->len, sha256);
	pack_hex(sha256, p->epoch_sha256);
}

static int pack_kernel_key(struct pack *p)
{
	const struct record_kernel *k = &p->r->kernel;
	const char *a = k->release, *b = k->version;
	unsigned char sha256[32];
	struct buf text = BUF_INIT;
	char hex[PACK_HEX];
	int ret;

	if (k->build_id) {
		snprintf(p->kernel_key, STORE_KEY, "%s", k->build_id);
		return 0;
	}
	if (k->tree_hash && k->config_sha256) {
		a = k->tree_hash;
		b = k->config_sha256;
	}
	buf_str(&text, a);
	buf_char(&text, '\n');
	buf_str(&text, b ? b : "");
	pack_sha256(text.s, text.len, sha256);
	pack_hex(sha256, hex);
	snprintf(p->kernel_key, STORE_KEY, "v-%.16s", hex);
	ret = buf_ok(&text) ? 0 : -1;
	buf_free(&text);
	return ret;
}

/*
 * The build itself says which commit it is: "-g" and at least 7 digits of it
 * in the release. A dirty tree is not its commit.
 */
static bool commit_proven(const struct record_kernel *k)
{
	const char *at = k->release;
	size_t digits;

	if (!k->commit || k->dirty == 1)
		return false;
	for (; (at = strstr(at, "-g")); at += 2) {
		digits = strspn(at + 2, "0123456789abcdef");
		if (digits >= 7 && !strncmp(at + 2, k->commit, digits))
			return true;
	}
	return false;
}

/* Instruction counts compare only within one compiler and config. */
static char *exact_text(const struct record_kernel *k)
{
	struct buf b = BUF_INIT;

	buf_str(&b, "compiler=");
	buf_url(&b, k->compiler ? k->compiler : "");
	buf_str(&b, "&config=");
	buf_str(&b, k->config_sha256 ? k->config_sha256 : "");
	return buf_detach(&b, NULL);
}

/* --- rows ---------------------------------------------------------------- */

static void pack_launches(struct pack *p, struct pack_row *row,
			  const struct stats_summary *sum)
{
	unsigned char bytes[VARINT_MAX];
	size_t i;

	row->launches = p->launches.len;
	for (i = 0; i < sum->n; i++)
		buf_add(&p->launches, bytes, varint_put(bytes, sum->launch[i]));
	row->launches_len = p->launches.len - row->launches;
}

static void pack_row(struct pack *p, const struct record_cell *cell,
		     struct pack_row *row)
{
	struct stats_summary sum;

	stats_summarise(cell, row->metric, &sum);
	row->params = p->params[row->bench_index];
	row->exact = row->metric->reduce == RECORD_MIN ? p->exact : "";
	row->folio_bytes = cell->folio_bytes;
	row->status = cell->status;
	row->reason = cell->reasons.n ? cell->reasons.v[0] : NULL;
	if (cell->status == RECORD_OK && p->r->invalid.n) {
		row->status = RECORD_INVALID;
		row->reason = p->r->invalid.v[0];
	}
	row->n = (int64_t)sum.n;
	row->value = row->spread = row->first = RECORD_NULL;
	if (sum.n) {
		row->value = sum.value;
		row->spread = sum.spread;
		row->first = sum.first;
	}
	pack_launches(p, row, &sum);
	/* An ok cell may lack a metric: that is no figure and no failure. */
	p->nrows += sum.n || row->status != RECORD_OK;
}

static int pack_rows(struct pack *p)
{
	const struct record *r = p->r;
	size_t i, m, n = 0;

	for (i = 0; i < r->ncells; i++)
		n += record_bench(r, r->cells[i].bench)->nmetrics;
	p->rows = calloc(n + 1, sizeof(*p->rows));
	if (!p->rows)
		return -1;
	for (i = 0; i < r->ncells; i++) {
		const struct record_cell *c = &r->cells[i];
		const struct record_bench *b = record_bench(r, c->bench);

		for (m = 0; m < b->nmetrics; m++) {
			struct pack_row *row = &p->rows[p->nrows];

			row->bench = b;
			row->bench_index = (size_t)(b - r->benches);
			row->metric = &b->metrics[m];
			row->metric_index = m;
			pack_row(p, c, row);
		}
	}
	return buf_ok(&p->launches) ? 0 : -1;
}

static int pack_params(struct pack *p)
{
	size_t i;

	for (i = 0; i < p->r->nbenches; i++) {
		struct buf b = BUF_INIT;

		buf_str(&b, "");
		record_params_text(&p->r->benches[i], &b);
		p->params[i] = buf_detach(&b, NULL);
		if (!p->params[i])
			return -1;
	}
	p->exact = exact_text(&p->r->kernel);
	return p->exact ? 0 : -1;
}

int pack_run(struct pack *p, const struct record *r, const void *body,
	     size_t len)
{
	memset(p, 0, sizeof(*p));
	p->r = r;
	p->len = len;
	pack_sha256(body, len, p->body_sha256);
	p->deflated = pack_deflate(body, len, &p->deflated_len);
	pack_now(p->posted_at);
	pack_epoch(p);
	p->commit_proven = commit_proven(&r->kernel);
	if (!p->deflated || !buf_ok(&p->facts) || pack_kernel_key(p) ||
	    pack_params(p))
		return -1;
	return pack_rows(p);
}

void pack_free(struct pack *p)
{
	size_t i;

	free(p->deflated);
	free(p->exact);
	free(p->rows);
	for (i = 0; i < RECORD_MAX_BENCHES; i++)
		free(p->params[i]);
	buf_free(&p->facts);
	buf_free(&p->launches);
}
