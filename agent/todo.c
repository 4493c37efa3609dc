/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a server's list of what to measure; believes none of it. */
#include "todo.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../common/size.h"
#include "bench.h"

#define LAST		"50"	/* newest pushes of each tree */
#define SIZE_DIGITS	15
#define LEFT_OUT_MAX	4096	/* bytes that are told */

#define DIGITS		"0123456789"
#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyz_." DIGITS
#define LABEL_CHARS	NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ-"

struct chosen {
	bool bench[RECORD_MAX_BENCHES];	/* by place in bench_all */
	bool size[MTHP_MAX + 1];	/* the base page, then by place in mthp */
};

static bool made_of(const char *s, const char *chars, size_t max)
{
	size_t n = s ? strspn(s, chars) : 0;

	return n && n <= max && !s[n];
}

int todo_path(const char *label, struct buf *path, struct err *e)
{
	if (!made_of(label, LABEL_CHARS, RECORD_MAX_NAME))
		return err_set(e, "--host: expected 1 to %d characters of a-z A-Z "
			       "0-9 . _ -", RECORD_MAX_NAME);
	buf_printf(path, "/todo/%s.json?last=" LAST, label);
	return buf_ok(path) ? 0 : err_set(e, "no memory");
}

/* A kernel with changes of its own is not its commit. */
static bool is_changed(const struct record_kernel *k)
{
	return k->dirty == 1 || k->patches.n;
}

/* By the whole commit if it is known, else by the digits in the release. */
static bool concerns(const struct record *here, const char *sha)
{
	struct record_kernel k = here->kernel;
	char copy[TODO_SHA];

	if (is_changed(&k))
		return false;
	if (k.commit)
		return !strcmp(k.commit, sha);
	snprintf(copy, sizeof(copy), "%s", sha);
	k.commit = copy;
	return record_shows_commit(&k);
}

__attribute__((format(printf, 2, 3)))
static void leave_out(struct todo *t, const char *fmt, ...)
{
	char line[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (t->left_out.len < LEFT_OUT_MAX)
		buf_printf(&t->left_out, "mmtrend: left out: %s\n", line);
}

/* The place of a size in struct chosen; -1: this kernel does not have it. */
static int size_place(const struct mthp *m, uint64_t bytes)
{
	if (bytes == m->base_bytes)
		return 0;
	for (size_t i = 0; i < m->n; i++)
		if (bytes == m->bytes[i])
			return (int)i + 1;
	return -1;
}

/* "16384 65536". -1: it is no such list. */
static int choose_sizes(const char *list, size_t b, const struct mthp *m,
			struct chosen *c, struct todo *t)
{
	char text[SIZE_TEXT];

	for (size_t n; *list; list += n + (list[n] == ' ')) {
		uint64_t bytes = strtoull(list, NULL, 10);
		int place = size_place(m, bytes);

		n = strspn(list, DIGITS);
		if (!n || n > SIZE_DIGITS)
			return -1;
		if (place >= 0)
			c->bench[b] = c->size[place] = true;
		else
			leave_out(t, "%s at %s: this kernel has no such folios",
				  bench_all[b]->name, size_text(bytes, text));
	}
	return 0;
}

static int read_row(const json_t *row, size_t i, const struct record *here,
		    const struct mthp *m, struct chosen *c, struct todo *t,
		    struct err *e)
{
	const char *sha = json_string_value(json_object_get(row, "commit"));
	const char *name = json_string_value(json_object_get(row, "bench"));
	const char *sizes = json_string_value(json_object_get(row, "sizes"));
	size_t b = 0;

	if (!made_of(sha, DIGITS "abcdef", 40) || strlen(sha) != 40)
		return err_set(e, "/rows/%zu/commit: expected 40 hex digits", i);
	if (!made_of(name, NAME_CHARS, RECORD_MAX_NAME))
		return err_set(e, "/rows/%zu/bench: expected a benchmark's name", i);
	if (!concerns(here, sha)) {
		if (!*t->next)
			snprintf(t->next, sizeof(t->next), "%s", sha);
		return 0;
	}
	if (*t->commit && strcmp(t->commit, sha) != 0)
		return err_set(e, "the running kernel could be %s or %s: give "
			       "--commit", t->commit, sha);
	snprintf(t->commit, sizeof(t->commit), "%s", sha);
	while (b < bench_count && strcmp(bench_all[b]->name, name) != 0)
		b++;
	if (b == bench_count)
		leave_out(t, "%s: this agent has no such benchmark", name);
	else if (!sizes || choose_sizes(sizes, b, m, c, t))
		return err_set(e, "/rows/%zu/sizes: expected bytes, with blanks "
			       "between", i);
	return 0;
}

static int write_lists(const struct chosen *c, const struct mthp *m,
		       struct todo *t, struct err *e)
{
	char text[SIZE_TEXT];

	for (size_t b = 0; b < bench_count; b++)
		if (c->bench[b])
			buf_printf(&t->bench, "%s%s", t->bench.len ? "," : "",
				   bench_all[b]->name);
	for (size_t i = 0; i <= m->n; i++)
		if (c->size[i])
			buf_printf(&t->size, "%s%s", t->size.len ? "," : "", i ?
				   size_text(m->bytes[i - 1], text) : "base");
	return buf_ok(&t->bench) && buf_ok(&t->size) && buf_ok(&t->left_out) ? 0 :
	       err_set(e, "no memory");
}

int todo_read(const struct buf *json, const struct record *here,
	      const struct mthp *m, struct todo *t, struct err *e)
{
	json_t *j = json_loadb(json->len ? json->s : "", json->len,
			       JSON_REJECT_DUPLICATES, NULL);
	const json_t *rows = json_object_get(j, "rows");
	struct chosen c = { 0 };
	int ret = 0;

	if (!json_is_array(rows))
		ret = err_set(e, "expected JSON with rows");
	for (size_t i = 0; !ret && i < json_array_size(rows); i++)
		ret = read_row(json_array_get(rows, i), i, here, m, &c, t, e);
	if (!ret)
		ret = write_lists(&c, m, t, e);
	json_decref(j);
	return ret;
}

void todo_nothing(const struct todo *t, const struct record *here, struct err *e)
{
	const struct record_kernel *k = &here->kernel;

	if (is_changed(k))
		err_set(e, "nothing to do: the running kernel (%.100s) has changes "
			"of its own, so that no push has it", k->release);
	else if (!k->commit && k->dirty == RECORD_NULL)
		err_set(e, "nothing to do: the running kernel's release (%.100s) "
			"shows no commit: give --commit", k->release);
	else
		err_set(e, "nothing to do for the running kernel (%.100s)%s%s",
			k->release, *t->next ? "; of others the newest is " : "",
			t->next);
}

void todo_free(struct todo *t)
{
	buf_free(&t->bench);
	buf_free(&t->size);
	buf_free(&t->left_out);
}
