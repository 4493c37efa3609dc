/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel over a fake tree, in place of agent/dev.c: see fakedev.h. It keeps
 * what a launch's process did (advice, touched memory, pins) in memory, as the
 * agent compares counters within one process only.
 */
#include "../../agent/dev.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../agent/bench/pfnmap_test.h"
#include "../../common/record.h"
#include "fakedev.h"

#define THP "/sys/kernel/mm/transparent_hugepage"
#define GUP_TEST "/sys/kernel/debug/gup_test"
#define PFN0 (1ul << 24)	/* of the touched memory's first page */
#define FALLEN 3		/* folios that the lie "fallback" loses */
#define TABLES 5		/* page tables more, each time they are asked */
#define SIZES_MAX 24

enum lie {
	FALLBACK, STUCK, INHERIT, OTHER, SHORTPIN, SHORTMINCORE, EINVALS,
	NOTROOT, READONLY, HANG, CRASH, SMALLMAP, NOTABLES, NOPERF, OLDPERF,
	GUPFEW, GUPHALF, GUPTRUNC, GUPZERO, GUPEINVAL, GUPOTHER, GUPMIGRATE,
	GUPTWICE, GUPWRITE, SHMEMHUGE,
};
static const char *const LIES[] = {
	[FALLBACK] = "fallback",	/* some folios come as base pages */
	[STUCK] = "stuck",		/* a 64 kB setting does not stick */
	[INHERIT] = "inherit",		/* the largest size wins, whatever is set */
	[OTHER] = "other",		/* other processes move the counters */
	[SHORTPIN] = "shortpin",	/* a pin stops half-way */
	[SHORTMINCORE] = "shortmincore", /* the last page is not resident */
	[EINVALS] = "einval",		/* madvise(POPULATE) is not known */
	[NOTROOT] = "notroot",		/* no state, nothing can be set */
	[READONLY] = "readonly",	/* /sys is mounted read-only */
	[HANG] = "hang",		/* mincore never returns */
	[CRASH] = "crash",		/* mincore kills the process */
	[SMALLMAP] = "smallmap",	/* the driver maps no PMDs, if asked or not */
	[NOTABLES] = "notables",	/* a driver without PFNMAP_TEST_TABLES */
	[NOPERF] = "noperf",		/* no CONFIG_PERF_EVENTS */
	[OLDPERF] = "oldperf",		/* a perf ring is mapped by fault */
	[GUPFEW] = "gupfew",		/* the last page is not pinned */
	[GUPHALF] = "guphalf",		/* half is not mapped; all, says the size */
	[GUPTRUNC] = "guptrunc",	/* half is walked, as the size says */
	[GUPZERO] = "gupzero",		/* it takes 0 us */
	[GUPEINVAL] = "gupeinval",	/* another kernel's struct */
	[GUPOTHER] = "gupother",	/* another process pins 5 pages */
	[GUPMIGRATE] = "gupmigrate",	/* the first call counts its pins twice */
	[GUPTWICE] = "guptwice",	/* each does */
	[GUPWRITE] = "gupwrite",	/* nothing may be pinned for writing */
	[SHMEMHUGE] = "shmemhuge",	/* shared memory comes in large folios */
};

static struct {
	size_t addr, len, folio;	/* the last dev_touch() */
	bool huge;			/* the last advice */
	int64_t pins, gups, shmem;
	size_t level;			/* that PFN maps are asked to have */
	uint64_t tables;		/* page tables, by maps of the driver */
	struct { size_t bytes; int64_t allocs; } moved[SIZES_MAX];
	enum { PLAIN, PAGEMAP, KPAGEFLAGS, GUP } kind[1024];	/* by fd */
} fake;

static bool lie(enum lie which)
{
	const char *env = getenv("MMTREND_FAKE_LIE"), *name = LIES[which];
	size_t n = strlen(name);

	while (env && *env) {
		if (!strncmp(env, name, n) && (!env[n] || env[n] == ','))
			return true;
		env = strchr(env, ',');
		if (env)
			env++;
	}
	return false;
}

static const char *real(const char *path)
{
	static char full[PATH_MAX];
	const char *root = getenv("MMTREND_FAKE_ROOT");

	snprintf(full, sizeof(full), "%s%s", root ? root : "/nonexistent", path);
	return full;
}

static ssize_t slurp(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(real(path), "re");
	size_t len;

	if (!f)
		return -1;
	len = fread(buf, 1, cap, f);
	fclose(f);
	if (len >= cap) {
		errno = EFBIG;
		return -1;
	}
	while (len && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = '\0';
	return (ssize_t)len;
}

/* --- anonymous folio sizes ---------------------------------------------- */

static size_t folio_of(const char *path)
{
	size_t kb = 0;

	return sscanf(path, THP "/hugepages-%zukB/", &kb) == 1 ? kb << 10 : 0;
}

static int64_t *moved(size_t folio)
{
	for (size_t i = 0; i < SIZES_MAX; i++) {
		if (!fake.moved[i].bytes)
			fake.moved[i].bytes = folio;
		if (fake.moved[i].bytes == folio)
			return &fake.moved[i].allocs;
	}
	abort();
}

static bool enabled(const char *path)
{
	char text[128];

	if (slurp(path, text, sizeof(text)) < 0)
		return false;
	if (strstr(text, "[inherit]"))
		return enabled(THP "/enabled");
	return strstr(text, "[always]") || strstr(text, "[madvise]");
}

/* What a fault in advised memory gets: the largest size that is enabled. */
static size_t chosen_folio(void)
{
	size_t best = 0, largest = 0;
	struct dirent **list;
	char path[PATH_MAX];
	int n = dev_list(THP, &list);

	for (int i = 0; i < n; i++) {
		size_t folio;

		snprintf(path, sizeof(path), THP "/%s/enabled", list[i]->d_name);
		folio = folio_of(path);
		if (folio > largest)
			largest = folio;
		if (folio > best && enabled(path))
			best = folio;
	}
	dev_list_free(list, n);
	return best && lie(INHERIT) ? largest : best;
}

void dev_touch(void *addr, size_t len, size_t base_page_bytes)
{
	size_t folio = fake.huge ? chosen_folio() : 0;
	int64_t fallen = lie(FALLBACK) ? FALLEN : 0;

	for (size_t off = 0; off < len; off += base_page_bytes)
		((volatile unsigned char *)addr)[off] = 1;
	fake.addr = (size_t)addr;
	fake.len = len;
	fake.folio = folio ? folio : base_page_bytes;
	fake.shmem += lie(SHMEMHUGE);
	if (folio)
		*moved(folio) += (int64_t)(len / folio) - fallen;
	if (lie(OTHER)) {
		*moved(16 * base_page_bytes) += 5;
		*moved(8 * base_page_bytes) += 7;
	}
}

/* --- the proof files: pages in a row from PFN0 -------------------------- */

static uint64_t pagemap(size_t page)
{
	size_t base = dev_page_bytes(), first = fake.addr / base;

	if (page < first || page >= first + fake.len / base)
		return 0;
	return 1ull << 63 | (PFN0 + page - first);
}

static uint64_t kpageflags(size_t pfn)
{
	size_t base = dev_page_bytes(), off = (pfn - PFN0) * base;

	if (pfn < PFN0 || off >= fake.len)
		return 0;
	if (fake.folio == base || (lie(FALLBACK) && off < FALLEN * fake.folio))
		return 1 << 12;
	return 1 << 22 | 1 << 12 | (off % fake.folio ? 1 << 16 : 1 << 15);
}

ssize_t dev_pread(int fd, void *buf, size_t len, off_t off)
{
	uint64_t *out = buf;
	size_t at = (size_t)off / 8;

	if (fake.kind[fd] == PLAIN)
		return pread(fd, buf, len, off);
	for (size_t i = 0; i < len / 8; i++, at++)
		out[i] = fake.kind[fd] == PAGEMAP ? pagemap(at) : kpageflags(at);
	return (ssize_t)len;
}

/* --- files -------------------------------------------------------------- */

ssize_t dev_read(const char *path, char *buf, size_t cap)
{
	ssize_t len = slurp(path, buf, cap);

	if (len < 0 || !strstr(path, "/anon_fault_alloc"))
		return len;
	return snprintf(buf, cap, "%lld",
			strtoll(buf, NULL, 10) + (long long)*moved(folio_of(path)));
}

/* Move the brackets to the chosen word, as sysfs shows it. */
static int choose(const char *path, const char *word)
{
	char text[128], out[160] = "", *save, *w;
	bool found = false;

	if (slurp(path, text, sizeof(text)) < 0)
		return -1;
	for (w = strtok_r(text, " []", &save); w;
	     w = strtok_r(NULL, " []", &save)) {
		bool this = !strcmp(w, word);
		size_t len = strlen(out);

		found |= this;
		snprintf(out + len, sizeof(out) - len,
			 this ? "%s[%s]" : "%s%s", len ? " " : "", w);
	}
	if (found) {
		fake_file(path, out);
		return 0;
	}
	errno = EINVAL;
	return -1;
}

int dev_write(const char *path, const char *text)
{
	size_t n = strlen(path);
	int fd;

	if (lie(STUCK) && strstr(path, "-64kB/enabled"))
		return 0;
	fd = dev_open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	close(fd);
	if (n > 8 && !strcmp(path + n - 8, "/enabled"))
		return choose(path, text);
	fake_file(path, text);
	return 0;
}

int dev_open(const char *path, int flags)
{
	int fd;

	if (lie(READONLY) && flags & O_ACCMODE) {
		errno = EROFS;
		return -1;
	}
	fd = open(real(path), flags | O_CLOEXEC);
	if (fd >= (int)(sizeof(fake.kind) / sizeof(fake.kind[0])))
		abort();
	if (fd >= 0)
		fake.kind[fd] = !strcmp(path, "/proc/self/pagemap") ? PAGEMAP :
				!strcmp(path, "/proc/kpageflags") ? KPAGEFLAGS :
				!strcmp(path, GUP_TEST) ? GUP :
				PLAIN;
	return fd;
}

/* The node is a sparse file, as large as the driver's memory. */
static int pfnmap_ioctl(int fd, unsigned long request, void *arg)
{
	bool small = lie(SMALLMAP) || fake.level == dev_page_bytes();
	struct pfnmap_test_levels *is = arg;
	struct pfnmap_test_tables *tables = arg;
	struct stat st;

	if (fstat(fd, &st) || !st.st_size)
		return -1;
	if (request == PFNMAP_TEST_INFO)
		((struct pfnmap_test_info *)arg)->memory_bytes = (size_t)st.st_size;
	else if (request == PFNMAP_TEST_SETUP)
		fake.level = ((struct pfnmap_test_setup *)arg)->level_bytes;
	else if (request == PFNMAP_TEST_LEVELS) {
		is->pte_bytes = small ? is->len : 0;
		is->pmd_bytes = is->len - is->pte_bytes;
	} else if (request == PFNMAP_TEST_TABLES && !lie(NOTABLES)) {
		tables->held = fake.tables += tables->nr ? 0 : TABLES;
		tables->alloc_ns = 100 * tables->nr;
		tables->free_ns = 10 * tables->nr;
	} else
		return -1;
	return 0;
}

/* As mm/gup_test.c: a call of no pages, or outside what was touched, ends the
 * walk and is no error. */
static int gup_ioctl(unsigned long request, void *arg)
{
	struct {
		uint64_t get_us, put_us, addr, size;
		uint32_t per_call, flags, test_flags, which[8];
	} *g = arg;
	size_t nr = _IOC_NR(request), pages;

	errno = EINVAL;
	if (lie(GUPEINVAL) || nr < 1 || nr > 5 ||
	    request != _IOC(_IOC_READ | _IOC_WRITE, 'g', nr, 80))
		return -1;
	if ((lie(GUPWRITE) && g->flags & 1) || !g->per_call || g->addr != fake.addr || g->size > fake.len)
		g->size = 0;
	if (lie(GUPTRUNC))
		g->size /= 2;
	pages = g->size / dev_page_bytes() / (lie(GUPHALF) ? 2 : 1) - lie(GUPFEW);
	g->get_us = lie(GUPZERO) ? 0 : pages / 16;
	g->put_us = lie(GUPZERO) ? 0 : pages / 64;
	if (nr == 2 || nr == 3 || nr == 5)	/* the PIN modes */
		fake.pins += (int64_t)pages << (lie(GUPTWICE) ||
					(lie(GUPMIGRATE) && !fake.gups));
	fake.pins += lie(GUPOTHER) ? 5 : 0;
	fake.gups++;
	return 0;
}

int dev_ioctl(int fd, unsigned long request, void *arg)
{
	if (fake.kind[fd] == GUP)
		return gup_ioctl(request, arg);
	errno = ENOTTY;
	return pfnmap_ioctl(fd, request, arg);
}

bool dev_exists(const char *path)
{
	return !access(real(path), F_OK);
}

static int not_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

int dev_list(const char *dir, struct dirent ***list)
{
	return scandir(real(dir), list, not_hidden, alphasort);
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
	static char dir[PATH_MAX];

	if (lie(NOTROOT))
		return NULL;
	snprintf(dir, sizeof(dir), "%s", real("/run/mmtrend"));
	return dir;
}

size_t dev_page_bytes(void)
{
	const char *page = getenv("MMTREND_FAKE_PAGE");

	return page ? strtoul(page, NULL, 10) : (size_t)sysconf(_SC_PAGESIZE);
}

/* --- time and timed calls ----------------------------------------------- */

int64_t dev_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int dev_mincore(void *addr, size_t len, unsigned char *vec)
{
	size_t pages = len / dev_page_bytes();

	(void)addr;
	if (lie(CRASH))
		raise(SIGKILL);
	while (lie(HANG))
		pause();
	memset(vec, 1, pages);
	if (lie(SHORTMINCORE))
		vec[pages - 1] = 0;
	return 0;
}

int dev_madvise(void *addr, size_t len, int advice)
{
	(void)addr, (void)len;
	if (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE)
		fake.huge = advice == MADV_HUGEPAGE;
	if (lie(EINVALS) &&
	    (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

/* As the kernel: at most two pages full of pointers are pinned in one call. */
ssize_t dev_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
		     const struct iovec *remote, unsigned long nremote)
{
	size_t base = dev_page_bytes(), limit = 2 * base / sizeof(void *);
	size_t pages = remote->iov_len / base;

	(void)pid, (void)local, (void)nlocal, (void)nremote;
	pages = pages ? pages : 1;
	pages = pages > limit ? limit : pages;
	fake.pins += (int64_t)(lie(SHORTPIN) ? pages / 2 : pages);
	return 1;
}

int dev_perf_open(struct perf_event_attr *attr)
{
	int fd = lie(NOPERF) ? -1 : memfd_create("perf", MFD_CLOEXEC);

	(void)attr;
	if (fd >= 0 && ftruncate(fd, 1 << 30))
		abort();
	errno = ENOENT;
	return fd;
}

int dev_vm_flag(const void *addr, const char *flag)
{
	(void)addr;
	return !strcmp(flag, "pf") && !lie(OLDPERF);
}

int64_t dev_vmstat(const char *name)
{
	char text[32 << 10], key[80];
	const char *at;

	text[0] = '\n';
	if (slurp("/proc/vmstat", text + 1, sizeof(text) - 1) < 0)
		return RECORD_NULL;
	snprintf(key, sizeof(key), "\n%s ", name);
	at = strstr(text, key);
	if (!at)
		return RECORD_NULL;
	return strtoll(at + strlen(key), NULL, 10) +
	       (!strcmp(name, "nr_foll_pin_acquired") ? fake.pins :
		!strcmp(name, "thp_file_alloc") ? fake.shmem : 0);
}

/* --- the tree ----------------------------------------------------------- */

void fake_file(const char *path, const char *text)
{
	char dir[PATH_MAX];
	FILE *f;

	snprintf(dir, sizeof(dir), "%s", real(path));
	for (char *s = dir + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = '\0';
		mkdir(dir, 0755);
	}
	if (!text) {
		unlink(dir);
		return;
	}
	f = fopen(dir, "we");
	if (!f || fprintf(f, "%s\n", text) < 0 || fclose(f)) {
		perror(dir);
		abort();
	}
}

void fake_lie(const char *names)
{
	setenv("MMTREND_FAKE_LIE", names ? names : "", 1);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

void fake_tree(const char *dir, size_t base_page_bytes)
{
	size_t pmd = base_page_bytes * base_page_bytes / 8;
	char text[64], path[PATH_MAX];

	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	memset(&fake, 0, sizeof(fake));
	setenv("MMTREND_FAKE_ROOT", dir, 1);
	snprintf(text, sizeof(text), "%zu", base_page_bytes);
	setenv("MMTREND_FAKE_PAGE", text, 1);
	fake_lie("");
	fake_file(THP "/enabled", "always [madvise] never");
	snprintf(text, sizeof(text), "%zu", pmd);
	fake_file(THP "/hpage_pmd_size", text);
	for (size_t size = 4 * base_page_bytes; size <= pmd; size *= 2) {
		snprintf(path, sizeof(path), THP "/hugepages-%zukB/enabled", size >> 10);
		fake_file(path, size == pmd ? "always [inherit] madvise never" :
					      "always inherit madvise [never]");
		snprintf(path, sizeof(path),
			 THP "/hugepages-%zukB/stats/anon_fault_alloc", size >> 10);
		fake_file(path, "100");
	}
	fake_file("/proc/vmstat", "nr_free_pages 1\nnr_foll_pin_acquired 7000\n"
				  "thp_file_alloc 3");
	fake_file("/proc/mounts", "sysfs /sys sysfs rw 0 0\n"
				  "debugfs /sys/kernel/debug debugfs rw 0 0");
	fake_file(GUP_TEST, "");
	fake_file("/proc/sys/vm/stat_refresh", "");
	fake_file("/proc/self/pagemap", "");
	fake_file("/proc/kpageflags", "");
	fake_file("/run/.keep", "");
}
