/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_DEV_H
#define AGENT_DEV_H
/*
 * The one seam to the kernel: its files, its ioctls, its clock. Everything the
 * agent learns from /sys, /proc and /dev, and everything it changes there,
 * goes through here. Tests link tests/agent/fakedev.c in place of dev.c: a
 * kernel over a fake tree, that also lies. Nothing in the shipped program
 * knows of it.
 *
 * Paths are absolute, as on the host ("/sys/kernel/mm/..."). Errors: -1 with
 * errno set, as the system call left it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Read a whole small file; NUL-terminated, trailing white space cut. Returns
 * its length; EFBIG if it does not fit in @cap - 1. */
ssize_t dev_read(const char *path, char *buf, size_t cap);
/* Write text to a file that exists (no create, no truncate). */
int dev_write(const char *path, const char *text);
/* open(2) with O_CLOEXEC, for devices and files read in pieces. */
int dev_open(const char *path, int flags);
int dev_ioctl(int fd, unsigned long request, void *arg);
ssize_t dev_pread(int fd, void *buf, size_t len, off_t off);
bool dev_exists(const char *path);
/* What is in a directory, sorted by name: how many, or -1. Free the list with
 * dev_list_free(), which takes -1 too. */
struct dirent;
int dev_list(const char *dir, struct dirent ***list);
void dev_list_free(struct dirent **list, int n);

/* Where lock and journal live: "/run/mmtrend". NULL: this user may change no
 * setting, so there is nothing to lock. */
const char *dev_state_dir(void);
/* The base page of the kernel. */
size_t dev_page_bytes(void);

/* CLOCK_MONOTONIC in ns. In the lab's guest this counts instructions. */
int64_t dev_now_ns(void);

/* The system calls that benchmarks time, so that a fake kernel can answer. */
int dev_mincore(void *addr, size_t len, unsigned char *vec);
int dev_madvise(void *addr, size_t len, int advice);
ssize_t dev_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
		     const struct iovec *remote, unsigned long nremote);

/* perf_event_open(2) for this process on any CPU: a file descriptor. */
struct perf_event_attr;
int dev_perf_open(struct perf_event_attr *attr);
/* Does the mapping at @addr have this flag ("pf") in VmFlags of smaps? 1, 0, or
 * -1: not to be seen. */
int dev_vm_flag(const void *addr, const char *flag);

/*
 * Populate @len bytes by writing a non-zero byte to each base page (never the
 * zero page). The fake kernel counts its folios here.
 */
void dev_touch(void *addr, size_t len, size_t base_page_bytes);

/* One value of /proc/vmstat, after asking the kernel to fold per-CPU counts
 * (vm.stat_refresh). RECORD_NULL if there is no such counter. */
int64_t dev_vmstat(const char *name);

#endif
