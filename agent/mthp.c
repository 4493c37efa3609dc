/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads and sets the THP controls, under a lock and a journal.
 *
 * A size's own control wins over the top-level one unless it says "inherit".
 * That is the trap: 64kB=madvise with 2048kB=inherit and the top at madvise
 * gives 2 MB folios. So every size is looked at as it takes effect.
 */
#include "mthp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../common/record.h"
#include "../common/size.h"
#include "dev.h"

#define THP		"/sys/kernel/mm/transparent_hugepage"
#define PATH_MAX_THP	128
#define JOURNAL_MAX	4096

static const char *const WORDS[] = { "always", "inherit", "madvise", "never" };

static struct {
	int dir, fd;		/* the state directory; its lock */
	pid_t owner;		/* 0: not held */
	bool journalled;
	size_t put_back;	/* from a killed agent's journal */
} lock = { .dir = -1, .fd = -1 };

/* --- what the kernel has ------------------------------------------------ */

static void size_file(uint64_t bytes, const char *name, char path[PATH_MAX_THP])
{
	snprintf(path, PATH_MAX_THP, THP "/hugepages-%llukB/%s",
		 (unsigned long long)bytes >> 10, name);
}

/* The file that rules one size; before 6.8 that is the top-level one. */
static void control(uint64_t bytes, char path[PATH_MAX_THP])
{
	size_file(bytes, "enabled", path);
	if (!dev_exists(path))
		snprintf(path, PATH_MAX_THP, THP "/enabled");
}

static int by_bytes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int mthp_probe(struct mthp *m, struct err *e)
{
	char text[64], path[PATH_MAX_THP], **names = NULL;
	unsigned long long kb;
	size_t n = 0;

	memset(m, 0, sizeof(*m));
	m->base_bytes = dev_page_bytes();
	if (dev_read(THP "/hpage_pmd_size", text, sizeof(text)) < 0 ||
	    dev_list(THP, &names, &n))
		return 0;
	m->pmd_bytes = strtoull(text, NULL, 10);
	for (size_t i = 0; i < n && m->n < MTHP_MAX; i++) {
		if (sscanf(names[i], "hugepages-%llukB", &kb) != 1)
			continue;
		size_file(kb << 10, "enabled", path);
		if (dev_exists(path))
			m->bytes[m->n++] = kb << 10;
	}
	dev_list_free(names, n);
	if (!m->n)
		m->bytes[m->n++] = m->pmd_bytes;
	qsort(m->bytes, m->n, sizeof(m->bytes[0]), by_bytes);
	if (m->pmd_bytes <= m->base_bytes || m->bytes[m->n - 1] != m->pmd_bytes)
		return err_set(e, THP "/hpage_pmd_size: expected the largest of "
			       "hugepages-*kB, got \"%s\"", text);
	return 0;
}

int64_t mthp_fault_alloc(uint64_t folio_bytes)
{
	char path[PATH_MAX_THP], text[32];

	size_file(folio_bytes, "stats/anon_fault_alloc", path);
	if (dev_read(path, text, sizeof(text)) < 0)
		return RECORD_NULL;
	return strtoll(text, NULL, 10);
}

/* --- one control -------------------------------------------------------- */

/* The word in brackets, from WORDS; NULL with @e. */
static const char *chosen(const char *path, struct err *e)
{
	char text[128], word[16] = "";
	const char *open;

	if (dev_read(path, text, sizeof(text)) < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	open = strchr(text, '[');
	if (open)
		sscanf(open, "[%15[a-z]]", word);
	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
		if (!strcmp(word, WORDS[i]))
			return WORDS[i];
	err_set(e, "%s: expected one of always, inherit, madvise, never in "
		"brackets, got \"%s\"", path, text);
	return NULL;
}

/* Does advised memory get this size now? 1, 0, or -1 with @e. */
static int active(uint64_t bytes, struct err *e)
{
	char path[PATH_MAX_THP];
	const char *word;

	control(bytes, path);
	word = chosen(path, e);
	if (word && !strcmp(word, "inherit"))
		word = chosen(THP "/enabled", e);
	return word ? strcmp(word, "never") != 0 : -1;
}

/* 1: set and read back. 0: it was so already. -1 with @e. */
static int choose(const char *path, const char *word, struct err *e)
{
	const char *now = chosen(path, e);

	if (!now || !strcmp(now, word))
		return now ? 0 : -1;
	if (dev_write(path, word))
		return err_set(e, "%s: writing \"%s\": %s", path, word,
			       strerror(errno));
	now = chosen(path, e);
	if (now && strcmp(now, word) != 0)
		return err_set(e, "%s: wrote \"%s\", it reads \"%s\"", path,
			       word, now);
	return now ? 1 : -1;
}

/* --- the journal: "path value" lines ------------------------------------ */

static int journal_write(const char *text, size_t len, struct err *e)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(lock.dir, "journal.new", flags, 0600);
	bool bad;

	if (fd < 0)
		return err_set(e, "%s/journal.new: %s", dev_state_dir(),
			       strerror(errno));
	bad = write(fd, text, len) != (ssize_t)len || fsync(fd);
	bad |= close(fd) != 0;
	if (bad || renameat(lock.dir, "journal.new", lock.dir, "journal") ||
	    fsync(lock.dir))
		return err_set(e, "%s/journal: %s", dev_state_dir(),
			       strerror(errno));
	return 0;
}

static int journal_save(const struct mthp *m, struct err *e)
{
	char text[JOURNAL_MAX], path[PATH_MAX_THP];
	size_t len = 0;

	for (size_t i = 0; i < m->n; i++) {
		const char *word;

		control(m->bytes[i], path);
		word = chosen(path, e);
		if (!word)
			return -1;
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s %s\n", path, word);
		if (len >= sizeof(text))
			return err_set(e, "more than %d bytes of settings", JOURNAL_MAX);
	}
	return journal_write(text, len, e);
}

/* Put back one line, as choose(); only what the agent could have written is
 * believed. */
static int journal_line(char *line, struct err *e)
{
	char *word = strchr(line, ' ');
	bool known = false;

	if (word)
		*word++ = '\0';
	for (size_t i = 0; word && i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
		known |= !strcmp(word, WORDS[i]);
	if (known && !strncmp(line, THP "/", sizeof(THP)) && !strstr(line, ".."))
		return choose(line, word, e);
	return err_set(e, "%s/journal: expected lines of \"path value\", got "
		       "\"%.80s\"", dev_state_dir(), line);
}

/* Put back everything that can be; the first error is told, and then the
 * journal stays. */
static int journal_put_back(size_t *count, struct err *e)
{
	char text[JOURNAL_MAX + 1], *save = NULL, *line;
	int fd = openat(lock.dir, "journal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len;
	int ret = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	len = fd < 0 ? -1 : read(fd, text, JOURNAL_MAX);
	if (len < 0)
		ret = err_set(e, "%s/journal: %s", dev_state_dir(), strerror(errno));
	if (fd >= 0)
		close(fd);
	if (ret)
		return ret;
	text[len] = '\0';
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		int done = journal_line(line, ret ? NULL : e);

		*count += done > 0;
		ret = done < 0 ? -1 : ret;
	}
	if (!ret && unlinkat(lock.dir, "journal", 0))
		ret = err_set(e, "%s/journal: %s", dev_state_dir(), strerror(errno));
	return ret;
}

/* --- the lock ----------------------------------------------------------- */

static void lock_close(void)
{
	if (lock.fd >= 0)
		close(lock.fd);
	if (lock.dir >= 0)
		close(lock.dir);
	lock.fd = lock.dir = -1;
	lock.owner = 0;
	lock.journalled = false;
}

/* The state directory, ours alone: what is in it is believed. */
static int state_open(const char *dir, struct err *e)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_set(e, "%s: %s", dir, strerror(errno));
	lock.dir = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (lock.dir < 0 || fstat(lock.dir, &st))
		return err_set(e, "%s: %s", dir, strerror(errno));
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return err_set(e, "%s: expected a directory of this user with "
			       "mode 0700, got user %u, mode %04o", dir,
			       (unsigned)st.st_uid,
			       (unsigned)st.st_mode & 07777);
	return 0;
}

static int lock_held(struct err *e)
{
	char who[64] = "";
	ssize_t n = read(lock.fd, who, sizeof(who) - 1);

	who[n > 0 ? strcspn(who, "\n") : 0] = '\0';
	return err_set(e, "another mmtrend (%s) holds the lock", who);
}

static int lock_take(const char *dir, struct err *e)
{
	time_t now = time(NULL);
	struct tm tm;
	char who[64], at[16];

	lock.fd = openat(lock.dir, "lock",
			 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock.fd < 0)
		return err_set(e, "%s/lock: %s", dir, strerror(errno));
	if (flock(lock.fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? lock_held(e) :
		       err_set(e, "%s/lock: %s", dir, strerror(errno));
	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&now, &tm));
	snprintf(who, sizeof(who), "pid %ld, since %s\n", (long)getpid(), at);
	if (ftruncate(lock.fd, 0) || write(lock.fd, who, strlen(who)) < 0)
		return err_set(e, "%s/lock: %s", dir, strerror(errno));
	return 0;
}

int mthp_lock(struct err *e)
{
	const char *dir = dev_state_dir();

	if (!dir || lock.owner == getpid())
		return 0;
	lock.put_back = 0;
	if (state_open(dir, e) || lock_take(dir, e) ||
	    journal_put_back(&lock.put_back, e)) {
		lock_close();
		return -1;
	}
	lock.owner = getpid();
	return 0;
}

void mthp_forked(void)
{
	lock_close();
}

/* --- set, restore ------------------------------------------------------- */

/* Is @folio_bytes the one active size already? 1, 0, or -1 with @e. */
static int is_set(const struct mthp *m, uint64_t folio_bytes, struct err *e)
{
	for (size_t i = 0; i < m->n; i++) {
		int on = active(m->bytes[i], e);

		if (on < 0 || on != (m->bytes[i] == folio_bytes))
			return on < 0 ? -1 : 0;
	}
	return 1;
}

int mthp_settable(const struct mthp *m, struct err *e)
{
	char path[PATH_MAX_THP];
	int fd;

	if (!m->n)
		return err_set(e, "this kernel has no transparent huge pages");
	if (!dev_state_dir())
		return err_set(e, "not root: cannot set folio sizes");
	control(m->bytes[0], path);
	fd = dev_open(path, O_WRONLY);
	if (fd < 0)
		return err_set(e, "cannot set folio sizes: %s: %s", path,
			       strerror(errno));
	close(fd);
	return 0;
}

int mthp_set(const struct mthp *m, uint64_t folio_bytes, struct err *e)
{
	int now = is_set(m, folio_bytes, e);
	char path[PATH_MAX_THP];

	if (now)
		return now < 0 ? -1 : 0;
	if (mthp_settable(m, e))
		return 1;
	if (lock.owner != getpid())
		return err_set(e, "folio sizes are set under the lock only");
	if (!lock.journalled && journal_save(m, e))
		return -1;
	lock.journalled = true;
	for (size_t i = 0; i < m->n; i++) {
		control(m->bytes[i], path);
		if (m->bytes[i] != folio_bytes &&
		    choose(path, "never", e) < 0)
			return -1;
	}
	if (folio_bytes == m->base_bytes)
		return 0;
	control(folio_bytes, path);
	return choose(path, "madvise", e) < 0 ? -1 : 0;
}

int mthp_restore(struct err *e)
{
	size_t count = 0;
	int ret;

	if (lock.owner != getpid())
		return 0;
	ret = journal_put_back(&count, e);
	lock_close();
	return ret;
}

int mthp_undo(size_t *count, struct err *e)
{
	if (!dev_state_dir())
		return err_set(e, "not root: nothing can have been changed");
	if (mthp_lock(e))
		return -1;
	*count = lock.put_back;
	return mthp_restore(e);
}
