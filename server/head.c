/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Header fields, one by one.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "head.h"

#define LENGTH_DIGITS	12	/* far above every cap, far below overflow */

static bool is_token(const char *s, size_t len)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') && (!c || !strchr(marks, c)))
			return false;
	}
	return len > 0;
}

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
	else
		h->chunked = true;
}

static void on_host(struct head *h, const char *value)
{
	(void)value;
	if (h->hosts++)
		h->fault = "more than one Host";
}

static void on_authorization(struct head *h, const char *value)
{
	static const char scheme[] = "Bearer ";
	size_t len = strlen(scheme);

	if (strncasecmp(value, scheme, len) != 0)
		return;
	value += len + strspn(value + len, " ");
	if (strlen(value) < sizeof(h->bearer))
		memcpy(h->bearer, value, strlen(value) + 1);
}

static void on_type(struct head *h, const char *value)
{
	static const char json[] = "application/json";
	size_t len = strlen(json);

	h->json = !strncasecmp(value, json, len) &&
		  strchr("; \t", value[len]);
}

static void on_encoding(struct head *h, const char *value)
{
	h->encoded = *value && strcasecmp(value, "identity") != 0;
}

/* ";q=0.5" -> 500; no q: 1000. */
static int quality(const char *params, size_t len)
{
	const char *q = memmem(params, len, "q=", 2);
	double v = q ? strtod(q + 2, NULL) : 1;

	return v > 0 && v <= 1 ? (int)(v * 1000) : 0;
}

static void on_accept_encoding(struct head *h, const char *value)
{
	int gzip = -1, any = -1, identity = -1;

	while (*value) {
		size_t len, name;

		value += strspn(value, " \t,");
		len = strcspn(value, ",");
		name = strcspn(value, "; \t,");
		if (name == 4 && !strncasecmp(value, "gzip", 4))
			gzip = quality(value + name, len - name);
		else if (name == 8 && !strncasecmp(value, "identity", 8))
			identity = quality(value + name, len - name);
		else if (name == 1 && *value == '*')
			any = quality(value + name, len - name);
		value += len;
	}
	if (gzip < 0)
		gzip = any;
	h->gzip_ok = gzip > 0 && gzip >= identity;
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
	if (h->fault)
		return;
	if (!is_token(name, name_len)) {
		h->fault = "a header name that is no token";
		return;
	}
	if (!value)
		value = "";
	if (strlen(value) != value_len || strpbrk(value, "\r\n")) {
		h->fault = "a header value with NUL or a line break";
		return;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!strcasecmp(name, fields[i].name))
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

bool head_has_body(const struct head *h)
{
	return h->chunked || h->length > 0;
}
