/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs on disk that wait for the server: one file each, whole or not there. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "spool.h"

#define SPOOL_MAX_FILES	4096		/* waiting: the disk is not ours to fill */

const char *spool_dir(void)
{
	const char *dir = getenv("MMTREND_SPOOL");

	return dir && *dir ? dir : "/var/lib/mmtrend/spool";
}

/* Whoever can write here can have any figure posted under our token. */
static int check_dir(const char *dir, struct err *e)
{
	struct stat st;

	if (lstat(dir, &st))
		return err_set(e, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, "%s: expected a directory", dir);
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, "%s: expected a directory that is ours and that "
			       "no other may write (chmod 700)", dir);
	return 0;
}

static int make_dir(const char *dir, struct err *e)
{
	char parent[PATH_MAX];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", dir);
	slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = '\0';
		if (mkdir(parent, 0700) && errno != EEXIST)
			return err_set(e, "%s: %s", parent, strerror(errno));
	}
	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_set(e, "%s: %s", dir, strerror(errno));
	return check_dir(dir, e);
}

static int join(char path[PATH_MAX], const char *dir, const char *name,
		struct err *e)
{
	if (snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX)
		return 0;
	return err_set(e, "%s: path too long", dir);
}

static bool is_run(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > 5 && !strcmp(name + n - 5, ".json");
}

/* The first name after @after in @next ("" if none), and how many there are. */
static int scan(const char *after, char next[NAME_MAX + 1], size_t *count,
		struct err *e)
{
	DIR *d = opendir(spool_dir());
	struct dirent *de;

	next[0] = '\0';
	*count = 0;
	if (!d)
		return err_set(e, "%s: %s", spool_dir(), strerror(errno));
	while ((de = readdir(d))) {
		if (!is_run(de->d_name))
			continue;
		++*count;
		if (after && strcmp(de->d_name, after) <= 0)
			continue;
		if (!next[0] || strcmp(de->d_name, next) < 0)
			snprintf(next, NAME_MAX + 1, "%s", de->d_name);
	}
	closedir(d);
	return 0;
}

int spool_add(const struct record *r, char path[PATH_MAX], struct err *e)
{
	const char *dir = spool_dir();
	char name[64], next[NAME_MAX + 1];
	struct buf b = BUF_INIT;
	size_t count;
	int ret = -1;

	if (make_dir(dir, e) || scan(NULL, next, &count, e))
		return -1;
	if (count >= SPOOL_MAX_FILES)
		return err_set(e, "%s: %zu runs wait already: send them "
			       "(mmtrend push) or delete them", dir, count);
	if (!record_write(r, &b, e)) {
		snprintf(name, sizeof(name), "%.40s.json", r->id);
		ret = join(path, dir, name, e) ||
		      file_put(dir, name, b.s, b.len, e) ? -1 : 0;
	}
	buf_free(&b);
	return ret;
}

int spool_next(const char *after, char path[PATH_MAX], struct err *e)
{
	const char *dir = spool_dir(), *name = after;
	char next[NAME_MAX + 1];
	size_t count;

	if (access(dir, F_OK) && errno == ENOENT)
		return 0;
	if (after && strrchr(after, '/'))
		name = strrchr(after, '/') + 1;
	if (check_dir(dir, e) || scan(name, next, &count, e))
		return -1;
	if (!next[0])
		return 0;
	return join(path, dir, next, e) ? -1 : 1;
}

int spool_drop(const char *path, struct err *e)
{
	if (unlink(path))
		return err_set(e, "%s: %s", path, strerror(errno));
	return file_sync_dir(spool_dir(), e);
}

int spool_bury(const char *path, const char *answer, struct err *e)
{
	char dead[PATH_MAX], to[PATH_MAX], why[NAME_MAX + 1];
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (join(dead, spool_dir(), "dead", e) || make_dir(dead, e) ||
	    join(to, dead, name, e))
		return -1;
	snprintf(why, sizeof(why), "%.*s.why", (int)strlen(name) - 5, name);
	if (file_put(dead, why, answer, strlen(answer), e))
		return -1;
	if (rename(path, to))
		return err_set(e, "%s: %s", to, strerror(errno));
	return file_sync_dir(dead, e) ? -1 : file_sync_dir(spool_dir(), e);
}
