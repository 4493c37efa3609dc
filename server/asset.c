/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The embedded files, by the assembler's .incbin.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "asset.h"

/* name in here, path that finds it, file in the tree, media type */
#define ASSETS(X) \
	X(shell, "shell.html", "web/shell.html", HTML) \
	X(style, "/style.css", "web/style.css", CSS) \
	X(trend, "/trend.js", "web/trend.js", JS) \
	X(compare, "/compare.js", "web/compare.js", JS) \
	X(icon, "/favicon.svg", "web/favicon.svg", "image/svg+xml") \
	X(uplot, "/vendor/uPlot.iife.min.js", "web/vendor/uPlot.iife.min.js", \
	  JS) \
	X(uplot_css, "/vendor/uPlot.min.css", "web/vendor/uPlot.min.css", CSS) \
	X(run_schema, "run.schema.json", "schema/run.schema.json", \
	  "application/schema+json") \
	X(push_schema, "push.schema.json", "schema/push.schema.json", \
	  "application/schema+json") \
	X(base_sql, "001-base.sql", "schema/001-base.sql", "text/plain") \
	X(history_sql, "002-history.sql", "schema/002-history.sql", \
	  "text/plain") \
	X(patches_sql, "003-patches.sql", "schema/003-patches.sql", \
	  "text/plain")

#define HTML	"text/html; charset=utf-8"
#define CSS	"text/css; charset=utf-8"
#define JS	"text/javascript; charset=utf-8"

/* A NUL follows each, so that text may be read as a C string too. */
#define EMBED(name, path, file, type) \
	__asm__(".pushsection .rodata\n" \
		"asset_" #name ":\n.incbin \"" file "\"\n" \
		"asset_" #name "_end:\n.byte 0\n" \
		"asset_" #name "_gz:\n.incbin \"" ASSET_GZ file ".gz\"\n" \
		"asset_" #name "_gz_end:\n.byte 0\n" \
		".popsection\n"); \
	extern const unsigned char asset_##name[], asset_##name##_end[], \
		asset_##name##_gz[], asset_##name##_gz_end[];
ASSETS(EMBED)

/* The linker knows the lengths, the compiler does not: filled in once. */
#define ROOM(name, path, file, type) { 0 },
static struct asset assets[] = { ASSETS(ROOM) };

static void fill(void)
{
	struct asset *a = assets;

#define FILL(name, path_, file, type_) \
	*a++ = (struct asset){ \
		path_, type_, asset_##name, \
		(uintptr_t)asset_##name##_end - (uintptr_t)asset_##name, \
		asset_##name##_gz, (uintptr_t)asset_##name##_gz_end - \
				   (uintptr_t)asset_##name##_gz };
	ASSETS(FILL)
}

const struct asset *asset_find(const char *path)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill);
	for (size_t i = 0; i < sizeof(assets) / sizeof(*assets); i++)
		if (!strcmp(assets[i].path, path))
			return &assets[i];
	return NULL;
}
