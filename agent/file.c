/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and writes files as a whole. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int file_read(const char *path, size_t cap, struct buf *b, struct err *e)
{
	FILE *f = fopen(path, "re");
	char chunk[16384];
	int ret = 0;
	size_t n;

	if (!f)
		return err_set(e, "%s: %s", path, strerror(errno));
	while (b->len <= cap && (n = fread(chunk, 1, sizeof(chunk), f)))
		buf_add(b, chunk, n);
	if (ferror(f))
		ret = err_set(e, "%s: %s", path, strerror(errno));
	else if (b->len > cap)
		ret = err_set(e, "%s: more than %zu bytes", path, cap);
	else if (!buf_ok(b))
		ret = err_set(e, "no memory");
	fclose(f);
	return ret;
}

int file_sync_dir(const char *dir, struct err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 || fsync(fd) ?
		  err_set(e, "%s: %s", dir, strerror(errno)) : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

int file_put(const char *dir, const char *name, const char *data, size_t len,
	     struct err *e)
{
	char path[PATH_MAX], temp[PATH_MAX];
	bool bad;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= PATH_MAX ||
	    snprintf(temp, sizeof(temp), "%s/.%s", dir, name) >= PATH_MAX)
		return err_set(e, "%s: path too long", dir);
	unlink(temp);		/* of a killed process */
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, "%s: %s", temp, strerror(errno));
	bad = write(fd, data, len) != (ssize_t)len || fsync(fd);
	if (close(fd) || bad || rename(temp, path)) {
		err_set(e, "%s: %s", path, strerror(errno));
		unlink(temp);
		return -1;
	}
	return file_sync_dir(dir, e);
}
