/* SPDX-License-Identifier: GPL-2.0-only */
/* Files by their SHA-256: kernel configs, asked for when a run names one. */
#include <string.h>

#include "refuse.h"

static bool is_sha256(const struct request *q, struct response *r)
{
	if (strlen(q->arg) == 64 && strspn(q->arg, "0123456789abcdef") == 64)
		return true;
	response_error(q, r, 400, "sha256: expected 64 lower-case hex digits");
	return false;
}

void route_file_put(const struct request *q, struct response *r)
{
	struct err e = { "" };
	enum store_answer a;

	r->type = "application/json";
	if (!is_sha256(q, r))
		return;
	a = store_put_file(q->site->store, q->arg, q->body, q->body_len, &e);
	if (a != STORE_NEW && a != STORE_SAME) {
		refuse(q, r, a, &e);
		return;
	}
	r->status = a == STORE_NEW ? 201 : 200;
	buf_printf(&r->body, "{\"sha256\":\"%s\",\"status\":\"%s\"}\n", q->arg,
		   a == STORE_NEW ? "new" : "same");
}

void route_file_get(const struct request *q, struct response *r)
{
	struct err e = { "" };
	enum store_answer a;

	r->type = "text/plain; charset=utf-8";
	if (!is_sha256(q, r))
		return;
	a = store_get_file(q->site->store, q->arg, &r->body, &e);
	if (a == STORE_SAME)
		r->frozen = true;
	else
		refuse(q, r, a, &e);
}
