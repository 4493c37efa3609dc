/* SPDX-License-Identifier: GPL-2.0-only */
/* /hosts: the machines that posted, and what they are. */
#include <stdio.h>

#include "../../common/size.h"
#include "../view.h"

static const struct view_col cols[] = {
	{ "host", "host", VIEW_TEXT },
	{ "cpus", "cpus", VIEW_FIGURE },
	{ "ram", "ram_bytes", VIEW_FIGURE },
	{ "runs", "runs", VIEW_FIGURE },
	{ "kernels", "kernels", VIEW_FIGURE },
	{ "last posted", "last_posted", VIEW_TEXT },
	{ "machine", "cpu", VIEW_TEXT },
	{ NULL, "arch", VIEW_TEXT },
	{ NULL, "hypervisor", VIEW_TEXT },
	{ NULL, "epoch", VIEW_TEXT },
	{ NULL, "epochs", VIEW_FIGURE },
	{ NULL, "base_page_bytes", VIEW_FIGURE },
	{ NULL, "pmd_bytes", VIEW_FIGURE },
	{ NULL, "first_posted", VIEW_TEXT },
	{ NULL, "last_kernel", VIEW_TEXT },
};

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
	char ram[SIZE_TEXT] = "-";
	struct buf href = BUF_INIT;

	buf_str(&href, "/kernels?host=");
	buf_url(&href, h->label);
	if (h->ram_bytes != RECORD_NULL)
		size_text((uint64_t)h->ram_bytes, ram);
	view_cell(v, h->label, h->label, href.s);
	view_cell_int(v, h->cpus);
	view_cell_raw(v, ram, h->ram_bytes);
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

const char *view_host(const struct request *q, const char *asked,
		      char out[VIEW_HOST])
{
	struct store_hosts hosts = { 0 };

	if (!asked && !store_hosts(q->site->store, &hosts, NULL) &&
	    hosts.n == 1)
		asked = hosts.v[0].label;
	if (asked)
		snprintf(out, VIEW_HOST, "%s", asked);
	store_hosts_free(&hosts);
	return asked ? out : NULL;
}

void view_refuse_host(const struct request *q, struct response *r,
		      const char *host)
{
	struct store_hosts hosts = { 0 };
	struct buf names = BUF_INIT;
	struct err e = { "" };

	if (view_failed(q, r, store_hosts(q->site->store, &hosts, &e), &e))
		return;
	for (size_t i = 0; i < hosts.n; i++)
		view_name(&names, hosts.v[i].label);
	view_missing(q, r, "host", host, &names);
	buf_free(&names);
	store_hosts_free(&hosts);
}

void route_hosts(const struct request *q, struct response *r)
{
	struct store_hosts hosts = { 0 };
	struct err e = { "" };
	struct view v;

	if (view_failed(q, r, store_hosts(q->site->store, &hosts, &e), &e))
		return;
	view_begin(&v, q, r, "Hosts");
	view_cols(&v, cols, sizeof(cols) / sizeof(*cols));
	for (size_t i = 0; i < hosts.n; i++)
		row(&v, &hosts.v[i]);
	if (!hosts.n)
		view_note(&v, "No host has posted yet.");
	view_end(&v);
	store_hosts_free(&hosts);
}
