/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schema/run.schema.json is made from the field table: that it still is, and by
 * `common_schema --write` anew after a change of the table.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../../common/buf.h"
#include "../../common/field.h"
#include "../../common/record.h"
#include "../../common/record.def"
#include "../tap.h"

static void schema_value(struct buf *out, const struct field *f, size_t depth);

static void schema_object(struct buf *out, const struct field *f, size_t depth)
{
	const char *comma = "";

	buf_str(out, ", \"additionalProperties\": false, \"required\": [");
	for (int64_t i = 0; i < f->max; i++) {
		if (!(f->sub[i].flags & REQUIRED))
			continue;
		buf_printf(out, "%s\"%s\"", comma, f->sub[i].key);
		comma = ", ";
	}
	buf_str(out, "], \"properties\": {");
	for (int64_t i = 0; i < f->max; i++) {
		buf_printf(out, "%s\n%*s\"%s\": ", i ? "," : "",
			   (int)depth + 1, "", f->sub[i].key);
		schema_value(out, &f->sub[i], depth + 1);
	}
	buf_char(out, '}');
}

/* {"type": [...], what the kind adds, "description": ...} */
static void schema_value(struct buf *out, const struct field *f, size_t depth)
{
	static const struct { const char *type, *bound; } kind[] = {
		[INT] = { "integer", "imum" },
		[TEXT] = { "string", "Length" },
		[WORD] = { "string", NULL },
		[PARAM] = { "integer\", \"boolean\", \"string", "imum" },
		[OBJECT] = { "object", NULL },
		[ARRAY] = { "array", "Items" },
		[MAP] = { "object", "Properties" },
	};
	const char *bound = kind[f->kind].bound;

	buf_printf(out, "{\"type\": [\"%s\"%s]", kind[f->kind].type,
		   f->flags & REQUIRED ? "" : ", \"null\"");
	if (bound)
		buf_printf(out, ", \"min%s\": %" PRId64 ", \"max%s\": %" PRId64,
			   bound, f->min, bound, f->max);
	if (f->kind == TEXT || f->kind == PARAM)
		buf_str(out, ", \"$ref\": \"#/$defs/text\"");
	if (f->format)
		buf_printf(out, ", \"pattern\": \"%s\"", f->format->pattern);
	for (size_t i = 0; f->words && f->words[i]; i++)
		buf_printf(out, "%s\"%s\"%s", i ? ", " : ", \"enum\": [",
			   f->words[i], f->words[i + 1] ? "" : "]");
	if (f->kind == OBJECT)
		schema_object(out, f, depth);
	if (f->kind == ARRAY || f->kind == MAP) {
		buf_str(out, f->kind == MAP ? ", \"propertyNames\": " :
					      ", \"items\": ");
		schema_value(out, f->sub, depth);
	}
	if (f->kind == MAP) {
		buf_str(out, ", \"additionalProperties\": ");
		schema_value(out, f->sub + 1, depth);
	}
	if (f->doc) {
		buf_str(out, ", \"description\": ");
		buf_json(out, f->doc);
	}
	buf_char(out, '}');
}

static void make_schema(struct buf *out)
{
	buf_printf(out, "{\"$schema\": "
		   "\"https://json-schema.org/draft/2020-12/schema\",\n"
		   " \"$id\": \"run.schema.json\",\n"
		   " \"title\": \"mmtrend.run/1\",\n"
		   " \"description\": \"What one run measured. Durations are "
		   "whole ns, sizes bytes; null is unknown, and unread says "
		   "why. The server also checks what fields say of each "
		   "other.\",\n"
		   " \"$defs\": {\"text\": {\"maxLength\": %d, "
		   "\"pattern\": \"^[^", RECORD_MAX_TEXT);
	for (size_t i = 0; i < FIELD_REFUSED; i++) {
		if (field_refused[i].last > 0xffff)	/* as JSON writes U+E0000 */
			buf_str(out, "\\udb40\\udc00-\\udb40\\udc7f");
		else
			buf_printf(out, "\\\\u%04x-\\\\u%04x",
				   field_refused[i].first, field_refused[i].last);
	}
	buf_str(out, "]*$\"},\n  \"run\": ");
	schema_value(out, &run, 2);
	buf_str(out, "},\n \"$ref\": \"#/$defs/run\"}\n");
}

static const char *schema_path(void)
{
	static char path[4096];
	const char *src = getenv("SRC");

	snprintf(path, sizeof(path), "%s/schema/run.schema.json",
		 src ? src : ".");
	return path;
}

static int write_schema(void)
{
	struct buf b = BUF_INIT;
	FILE *f = fopen(schema_path(), "w");
	int ret = 1;

	make_schema(&b);
	if (f && buf_ok(&b) && fwrite(b.s, 1, b.len, f) == b.len)
		ret = 0;
	if (f && fclose(f))
		ret = 1;
	buf_free(&b);
	return ret;
}

static void schema(void)
{
	struct buf want = BUF_INIT, have = BUF_INIT;
	FILE *f = fopen(schema_path(), "rb");
	int c;

	make_schema(&want);
	while (f && (c = getc(f)) != EOF)
		buf_char(&have, (char)c);
	if (!ok(have.s && !strcmp(have.s, want.s),
		"schema/run.schema.json is made from the field table"))
		printf("# make it anew: common_schema --write\n");
	if (f)
		fclose(f);
	buf_free(&want);
	buf_free(&have);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--write"))
		return write_schema();
	schema();
	return tap_done();
}
