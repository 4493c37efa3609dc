/* SPDX-License-Identifier: GPL-2.0-only */
/* /hosts: the machines that posted, and what they are. */
#include <stdio.h>

#include "../../common/size.h"
#include "../view.h"

static const struct view_col cols[] = {
	{ "host", "host", false, false, false },
	{ "cpus", "cpus", true, true, false },
	{ "ram", "ram_bytes", true, true, false },
	{ "runs", "runs", true, true, false },
	{ "kernels", "kernels", true, true, false },
	{ "last posted", "last_posted", false, false, false },
	{ "machine", "cpu", false, false, false },
	{ NULL, "arch", false, false, true },
	{ NULL, "hypervisor", false, false, true },
	{ NULL, "epoch", false, false, true },
	{ NULL, "epochs", false, true, true },
	{ NULL, "base_page_bytes", false, true, true },
	{ NULL, "pmd_bytes", false, true, true },
	{ NULL, "first_posted", false, false, true },
	{ NULL, "last_kernel", false, false, true },
};

static void size_cell(struct view *v, int64_t bytes)
{
	char raw[SIZE_TEXT], text[SIZE_TEXT];

	if (bytes == RECORD_NULL) {
		view_cell(v, NULL, NULL, NULL);
		return;
	}
	snprintf(raw, sizeof(raw), "%lld", (long long)bytes);
	view_cell(v, size_text((uint64_t)bytes, text), raw, NULL);
}

static void machine_cell(struct view *v, const struct store_host *h)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%s, %s%s%s", h->arch ? h->arch : "arch not known",
		   h->cpu ? h->cpu : "cpu not known",
		   h->hypervisor ? ", guest of " : "",
		   h->hypervisor ? h->hypervisor : "");
	if (h->epochs > 1)
		buf_printf(&b, "; %lld epochs", (long long)h->epochs);
	view_cell(v, b.s, h->cpu, NULL);
	buf_free(&b);
}

static void row(struct view *v, const struct store_host *h)
{
	struct buf href = BUF_INIT;

	buf_str(&href, "/kernels?host=");
	buf_url(&href, h->label);
	view_cell(v, h->label, h->label, href.s);
	view_cell_int(v, h->cpus);
	size_cell(v, h->ram_bytes);
	view_cell_int(v, h->runs);
	view_cell_int(v, h->kernels);
	view_cell_date(v, h->last_posted);
	machine_cell(v, h);
	view_cell_text(v, h->arch);
	view_cell_text(v, h->hypervisor);
	view_cell_text(v, h->epoch);
	view_cell_int(v, h->epochs);
	view_cell_int(v, h->base_page_bytes);
	view_cell_int(v, h->pmd_bytes);
	view_cell_text(v, h->first_posted);
	view_cell_text(v, h->last_kernel);
	buf_free(&href);
}

void view_refuse_host(const struct request *q, struct response *r,
		      const char *host)
{
	struct store_hosts hosts = { 0 };
	struct view_names there = { 0 };
	struct err e = { "" };

	if (view_failed(q, r, store_hosts(q->site->store, &hosts, &e), &e))
		goto out;
	for (size_t i = 0; i < hosts.n; i++)
		view_name(&there, hosts.v[i].label);
	view_missing(q, r, "host", host, &there);
out:
	store_hosts_free(&hosts);
}

handler_fn route_hosts;

void route_hosts(const struct request *q, struct response *r)
{
	struct store_hosts hosts = { 0 };
	struct view *v = view_new("Hosts");
	struct err e = { "" };

	if (view_failed(q, r, store_hosts(q->site->store, &hosts, &e), &e))
		goto out;
	view_cols(v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = 0; i < hosts.n; i++)
		row(v, &hosts.v[i]);
	if (!hosts.n)
		view_note(v, "No host has posted yet.");
	view_send(v, q, r);
out:
	view_free(v);
	store_hosts_free(&hosts);
}
