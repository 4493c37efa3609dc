/* SPDX-License-Identifier: GPL-2.0-only */
/* The seam over the real kernel: plain system calls. */
#include "dev.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../common/record.h"

#define VMSTAT_MAX (32 << 10)

ssize_t dev_read(const char *path, char *buf, size_t cap)
{
	ssize_t got = 0, len = 0;
	int fd = dev_open(path, O_RDONLY), saved;

	if (fd < 0)
		return -1;
	while ((size_t)len < cap &&
	       (got = read(fd, buf + len, cap - (size_t)len)) > 0)
		len += got;
	saved = got < 0 ? errno : EFBIG;
	close(fd);
	if (got < 0 || (size_t)len >= cap) {
		errno = saved;
		return -1;
	}
	while (len && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = '\0';
	return len;
}

int dev_write(const char *path, const char *text)
{
	int fd = dev_open(path, O_WRONLY), saved;
	ssize_t put;

	if (fd < 0)
		return -1;
	put = write(fd, text, strlen(text));
	saved = put < 0 ? errno : EIO;
	close(fd);
	if (put == (ssize_t)strlen(text))
		return 0;
	errno = saved;
	return -1;
}

int dev_open(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC);
}

int dev_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg);
}

ssize_t dev_pread(int fd, void *buf, size_t len, off_t off)
{
	return pread(fd, buf, len, off);
}

bool dev_exists(const char *path)
{
	return !access(path, F_OK);
}

static int not_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

int dev_list(const char *dir, struct dirent ***list)
{
	return scandir(dir, list, not_hidden, alphasort);
}

void dev_list_free(struct dirent **list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n >= 0)
		free(list);
}

const char *dev_state_dir(void)
{
	return geteuid() ? NULL : "/run/mmtrend";
}

size_t dev_page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int64_t dev_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int dev_mincore(void *addr, size_t len, unsigned char *vec)
{
	return mincore(addr, len, vec);
}

int dev_madvise(void *addr, size_t len, int advice)
{
	return madvise(addr, len, advice);
}

ssize_t dev_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
		     const struct iovec *remote, unsigned long nremote)
{
	return process_vm_readv(pid, local, nlocal, remote, nremote, 0);
}

int dev_perf_open(struct perf_event_attr *attr)
{
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

int dev_vm_flag(const void *addr, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, to, at = (unsigned long)addr;
	char line[512], word[8];
	bool here = false;
	int has = -1;

	snprintf(word, sizeof(word), " %s", flag);
	while (f && has < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= at && at < to;
		else if (here && !strncmp(line, "VmFlags:", 8))
			has = strstr(line, word) != NULL;
	if (f)
		fclose(f);
	return has;
}

void dev_touch(void *addr, size_t len, size_t base_page_bytes)
{
	volatile unsigned char *p = addr;

	for (size_t off = 0; off < len; off += base_page_bytes)
		p[off] = 1;
}

int64_t dev_vmstat(const char *name)
{
	char text[VMSTAT_MAX], key[80];
	const char *at;

	(void)dev_write("/proc/sys/vm/stat_refresh", "1");
	text[0] = '\n';
	if (dev_read("/proc/vmstat", text + 1, sizeof(text) - 1) < 0)
		return RECORD_NULL;
	snprintf(key, sizeof(key), "\n%s ", name);
	at = strstr(text, key);
	return at ? strtoll(at + strlen(key), NULL, 10) : RECORD_NULL;
}
