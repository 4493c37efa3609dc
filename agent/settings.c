/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes kernel settings under a lock and a journal. */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dev.h"
#include "file.h"

#define JOURNAL_MAX (256u << 10)	/* five settings of each of 700 CPUs */

static const char *const JOURNALS[] = {
	[SETTINGS_RUN] = "journal", [SETTINGS_TUNED] = "tuned"
};

static struct {
	int dir, fd;		/* the state directory; its lock */
	pid_t owner;		/* 0: not held */
	size_t put_back;	/* from a killed run's journal */
} lock = { .dir = -1, .fd = -1 };

/* --- one setting -------------------------------------------------------- */

int settings_get(const char *path, char value[SETTINGS_VALUE], struct err *e)
{
	char text[SETTINGS_VALUE], *open, *end;

	if (dev_read(path, text, sizeof(text)) < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	open = strchr(text, '[');
	end = open ? strchr(open, ']') : NULL;
	if (end)
		*end = '\0';
	snprintf(value, SETTINGS_VALUE, "%s", end ? open + 1 : text);
	return 0;
}

/* 1: written and read back. 0: it was so already. -1 with @e. */
static int put(const char *path, const char *value, struct err *e)
{
	char now[SETTINGS_VALUE];

	if (settings_get(path, now, e))
		return -1;
	if (!strcmp(now, value))
		return 0;
	if (dev_write(path, value))
		return err_set(e, "%s: writing \"%s\": %s", path, value,
			       strerror(errno));
	if (settings_get(path, now, e))
		return -1;
	if (strcmp(now, value) != 0)
		return err_set(e, "%s: wrote \"%s\", it reads \"%s\"", path,
			       value, now);
	return 1;
}

/* --- a journal: "path value" lines -------------------------------------- */

/* Its text, "" where there is none. -1 with @e. */
static int journal_read(const char *name, char text[JOURNAL_MAX], struct err *e)
{
	int fd = openat(lock.dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len = 0;

	if (fd >= 0) {
		len = read(fd, text, JOURNAL_MAX - 1);
		close(fd);
	}
	if (len < 0 || (fd < 0 && errno != ENOENT))
		return err_set(e, "%s/%s: %s", dev_state_dir(), name,
			       strerror(errno));
	text[len] = '\0';
	return 0;
}

/* Note what @path holds now, unless it is noted already. */
static int journal_note(const char *name, const char *path, struct err *e)
{
	char text[JOURNAL_MAX], line[SETTINGS_VALUE * 3], now[SETTINGS_VALUE];
	size_t len;

	snprintf(line, sizeof(line), "%s ", path);
	if (journal_read(name, text, e))
		return -1;
	for (char *at = text; (at = strstr(at, line)); at++)
		if (at == text || at[-1] == '\n')
			return 0;
	if (settings_get(path, now, e))
		return -1;
	len = strlen(text);
	len += (size_t)snprintf(text + len, JOURNAL_MAX - len, "%s%s\n", line, now);
	if (len >= JOURNAL_MAX)
		return err_set(e, "more than %u bytes of settings", JOURNAL_MAX);
	return file_put(dev_state_dir(), name, text, len, e);
}

/* Put back one line, as put(); only what the agent could have written is
 * believed. */
static int journal_line(const char *name, char *line, struct err *e)
{
	char *value = strchr(line, ' ');

	if (value)
		*value++ = '\0';
	if (value && !strstr(line, "..") && (!strncmp(line, "/sys/", 5) ||
					     !strncmp(line, "/proc/sys/", 10)))
		return put(line, value, e);
	return err_set(e, "%s/%s: expected lines of \"path value\", got \"%.80s\"",
		       dev_state_dir(), name, line);
}

/* Put back everything that can be; the first error is told, and then the
 * journal stays. */
static int journal_put_back(const char *name, size_t *count, struct err *e)
{
	char text[JOURNAL_MAX], *save = NULL, *line;
	int ret = 0;

	if (journal_read(name, text, e))
		return -1;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		int done = journal_line(name, line, ret ? NULL : e);

		*count += done > 0;
		ret = done < 0 ? -1 : ret;
	}
	if (!ret && unlinkat(lock.dir, name, 0) && errno != ENOENT)
		ret = err_set(e, "%s/%s: %s", dev_state_dir(), name, strerror(errno));
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

int settings_lock(struct err *e)
{
	const char *dir = dev_state_dir();

	if (!dir || lock.owner == getpid())
		return 0;
	lock.put_back = 0;
	if (state_open(dir, e) || lock_take(dir, e) ||
	    journal_put_back(JOURNALS[SETTINGS_RUN], &lock.put_back, e)) {
		lock_close();
		return -1;
	}
	lock.owner = getpid();
	return 0;
}

void settings_forked(void)
{
	lock_close();
}

/* --- set, restore ------------------------------------------------------- */

int settings_set(enum settings_life life, const char *path, const char *value,
		 struct err *e)
{
	char now[SETTINGS_VALUE];

	if (!dev_state_dir())
		return err_set(e, "not root: nothing can be changed");
	if (lock.owner != getpid())
		return err_set(e, "settings are changed under the lock only");
	if (settings_get(path, now, e))
		return -1;
	if (!strcmp(now, value))
		return 0;
	return journal_note(JOURNALS[life], path, e) ? -1 : put(path, value, e);
}

int settings_restore(struct err *e)
{
	size_t count = 0;
	int ret;

	if (lock.owner != getpid())
		return 0;
	ret = journal_put_back(JOURNALS[SETTINGS_RUN], &count, e);
	lock_close();
	return ret;
}

int settings_undo(size_t *count, struct err *e)
{
	int ret;

	if (!dev_state_dir())
		return err_set(e, "not root: nothing can have been changed");
	if (settings_lock(e))
		return -1;
	*count = lock.put_back;
	ret = journal_put_back(JOURNALS[SETTINGS_TUNED], count, e);
	lock_close();
	return ret;
}
