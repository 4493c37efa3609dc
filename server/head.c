/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Header fields, one by one.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "head.h"

#define LENGTH_DIGITS	12	/* far above every cap, far below overflow */
#define TOKEN_CHARS	"!#$%&'*+-.^_`|~0123456789" \
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static void on_length(struct head *h, const char *value)
{
	size_t digits = strspn(value, "0123456789");

	if (h->lengths++)
		h->fault = "more than one Content-Length";
	else if (!digits || value[digits] || digits > LENGTH_DIGITS)
		h->fault = "Content-Length: expected a plain number";
	else
		h->length = strtoll(value, NULL, 10);
}

static void on_transfer(struct head *h, const char *value)
{
	if (h->transfers++)
		h->fault = "more than one Transfer-Encoding";
	else if (strcasecmp(value, "chunked") != 0)
		h->fault = "Transfer-Encoding: expected chunked";
}

static void on_host(struct head *h, const char *value)
{
	(void)value;
	if (h->hosts++)
		h->fault = "more than one Host";
}

static void on_authorization(struct head *h, const char *value)
{
	if (strncasecmp(value, "Bearer ", 7) != 0)
		return;
	value += 7 + strspn(value + 7, " ");
	if (strlen(value) < sizeof(h->bearer))
		memcpy(h->bearer, value, strlen(value) + 1);
}

static void on_type(struct head *h, const char *value)
{
	h->json = !strncasecmp(value, "application/json", 16) &&
		  strchr("; \t", value[16]);
}

static void on_encoding(struct head *h, const char *value)
{
	h->encoded = *value && strcasecmp(value, "identity") != 0;
}

/* "gzip" or "*", and no ";q=0" after it. */
static void on_accept_encoding(struct head *h, const char *value)
{
	bool named = false;
	size_t len;

	for (; *value; value += len) {
		size_t name = strcspn(value, "; \t,");
		bool gzip = name == 4 && !strncasecmp(value, "gzip", name);
		const char *q;
		double v;

		len = strcspn(value, ",");
		q = memmem(value, len, "q=", 2);
		v = q ? strtod(q + 2, NULL) : 1;
		if (gzip || (*value == '*' && !named))
			h->gzip_ok = v > 0 && v <= 1;
		named |= gzip;
		len += strspn(value + len, ", \t");
	}
}

static const struct {
	const char *name;
	void (*note)(struct head *h, const char *value);
} fields[] = {
	{ "Content-Length", on_length },
	{ "Transfer-Encoding", on_transfer },
	{ "Host", on_host },
	{ "Authorization", on_authorization },
	{ "Content-Type", on_type },
	{ "Content-Encoding", on_encoding },
	{ "Accept-Encoding", on_accept_encoding },
};

void head_field(struct head *h, const char *name, size_t name_len,
		const char *value, size_t value_len)
{
	if (!value)
		value = "";
	if (h->fault)
		return;
	if (!name_len || strspn(name, TOKEN_CHARS) != name_len)
		h->fault = "a header name that is no token";
	else if (strlen(value) != value_len || strpbrk(value, "\r\n"))
		h->fault = "a header value with NUL or a line break";
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!h->fault && !strcasecmp(name, fields[i].name))
			fields[i].note(h, value);
}

const char *head_fault(const struct head *h, const char *version)
{
	bool http_1_0 = !strcmp(version, "HTTP/1.0");

	if (h->fault)
		return h->fault;
	if (!http_1_0 && strcmp(version, "HTTP/1.1") != 0)
		return "expected HTTP/1.1";
	if (h->lengths && h->transfers)
		return "Content-Length and Transfer-Encoding";
	if (h->transfers && http_1_0)
		return "Transfer-Encoding in HTTP/1.0";
	if (!h->hosts && !http_1_0)
		return "expected a Host header";
	return NULL;
}
