/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starts jailed gnuplots and carries scripts in and pictures out. The upper
 * half runs in the forked plotter, the lower half in the server's threads.
 * Between them lie memory that both share, and a socket that says when it is
 * whose; one question is in flight.
 */
#include "plotter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail.h"

#define MAX_STDERR	4096
#define SPARE_TIME_S	10	/* past a picture's time the plotter is gone */

int plotter_time_s = 10;

static const struct form {
	const char *head, *tail, *terminal;
} forms[] = {
	[PLOTTER_SVG] = { "<?xml", "</svg>", "svg" },
	[PLOTTER_PNG] = { "\x89PNG\r\n\x1a\n", "IEND\xae\x42\x60\x82",
			  "pngcairo" },
};

struct shared {			/* pages that are never used cost nothing */
	char script[PLOTTER_MAX_SCRIPT];
	char picture[PLOTTER_MAX_PICTURE];
	struct err e;		/* why there is none */
	char jail[JAIL_TEXT];
};

struct turn {			/* said when it is the other's */
	enum plotter_format format;
	int failed;
	size_t len;		/* of script or picture */
};

static int tell(int sock, const struct turn *t)
{
	ssize_t n = TEMP_FAILURE_RETRY(send(sock, t, sizeof(*t), MSG_NOSIGNAL));

	return n == sizeof(*t) ? 0 : -1;
}

static int hear(int sock, struct turn *t)
{
	ssize_t n = TEMP_FAILURE_RETRY(recv(sock, t, sizeof(*t), 0));

	return n == sizeof(*t) ? 0 : -1;
}

/* --- the plotter ------------------------------------------------------ */

/* Its stdin is a pipe, since it starts ahead of its script. What it writes goes
 * to memory, where its limit on the size of files holds. */
struct gnuplot {
	pid_t pid;
	int pidfd, in, out, err;
};

/* Does not return. */
static void run_gnuplot(const char *program, bool allow_unjailed)
{
	char name[] = "gnuplot", defaults[] = "-d";
	char home[] = "HOME=/nonexistent", path[] = "PATH=/nonexistent";
	char locale[] = "LC_ALL=C.UTF-8";
	char *argv[] = { name, defaults, NULL };
	char *env[] = { home, path, locale, NULL };

	closefrom(3);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!jail_calls(program) || allow_unjailed)
		execve(program, argv, env);
	dprintf(2, "cannot run gnuplot: %s\n", strerror(errno));
	_exit(127);
}

static void gnuplot_stop(struct gnuplot *g)
{
	const int fds[] = { g->pidfd, g->in, g->out, g->err };

	if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		waitpid(g->pid, NULL, 0);
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*g = (struct gnuplot){ -1, -1, -1, -1, -1 };
}

/* -1 with errno. */
static int gnuplot_start(struct gnuplot *g, const char *program,
			 bool allow_unjailed)
{
	int in[2];

	gnuplot_stop(g);
	if (pipe2(in, O_CLOEXEC))
		return -1;
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	g->in = in[1];
	g->out = memfd_create("picture", MFD_CLOEXEC);
	g->err = memfd_create("errors", MFD_CLOEXEC);
	if (g->out >= 0 && g->err >= 0)
		g->pid = fork();
	if (g->pid == 0) {
		dup2(in[0], 0);
		dup2(g->out, 1);
		dup2(g->err, 2);
		run_gnuplot(program, allow_unjailed);
	}
	close(in[0]);
	if (g->pid > 0)
		g->pidfd = (int)syscall(SYS_pidfd_open, g->pid, 0);
	return g->pidfd < 0 ? -1 : 0;
}

/* One that waits for work may have died since it was started. */
static bool gnuplot_waits(const struct gnuplot *g)
{
	struct pollfd ended = { g->pidfd, POLLIN, 0 };

	return g->pidfd >= 0 && !poll(&ended, 1, 0);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000 + t.tv_nsec / 1000000;
}

/* The script goes in; 0: it ended by itself, in time. */
static int feed(struct gnuplot *g, const char *script, size_t len,
		struct err *e)
{
	int64_t deadline = now_ms() + plotter_time_s * INT64_C(1000), left;

	while ((left = deadline - now_ms()) > 0) {
		struct pollfd fds[] = {
			{ g->pidfd, POLLIN, 0 },
			{ g->in, POLLOUT, 0 },
		};
		ssize_t n;

		poll(fds, 2, (int)left);
		if (fds[0].revents)
			return 0;
		if (!fds[1].revents)
			continue;
		n = write(g->in, script, len);
		if (n > 0) {
			script += n;
			len -= (size_t)n;
		}
		if (!len || (n < 0 && errno != EAGAIN)) {
			close(g->in);
			g->in = -1;
		}
	}
	return err_set(e, "gnuplot took longer than %d s", plotter_time_s);
}

/*
 * gnuplot says where, shows a caret, and then why: the last line counts.
 * fontconfig says its line, and draws, where its cache is older than the fonts.
 * NULL: there was nothing else.
 */
static const char *complaint(char *noise, size_t len)
{
	const char *why = NULL;
	char *line;

	for (size_t i = 0; i < len; i++)
		if (noise[i] != '\n' && (noise[i] < ' ' || noise[i] > '~'))
			noise[i] = '?';
	while ((line = strsep(&noise, "\n")) && (*line || noise)) {
		if (!strcmp(line, "Fontconfig error: "
			    "No writable cache directories"))
			continue;
		line += strspn(line, " ");
		if (*line || !why)
			why = *line ? line : "noise on stderr";
	}
	return why;
}

static int accept_picture(const char *s, size_t len, const struct form *f,
			  struct err *e)
{
	size_t head = strlen(f->head), tail = strlen(f->tail);

	while (len && s[len - 1] == '\n')
		len--;
	if (!len)
		return err_set(e, "gnuplot drew nothing");
	if (len < head || memcmp(s, f->head, head) != 0)
		return err_set(e, "gnuplot's output begins as no picture");
	if (len < head + tail || memcmp(s + len - tail, f->tail, tail) != 0)
		return err_set(e, "gnuplot's picture is cut short");
	return 0;
}

/* Turns the question @t into its answer. */
static int draw(struct gnuplot *g, struct shared *m, struct turn *t)
{
	char noise[MAX_STDERR + 1] = "";
	struct err *e = &m->e;
	ssize_t len, noise_len;
	const char *why;
	int status = 0;

	if (feed(g, m->script, t->len, e))
		return -1;
	waitpid(g->pid, &status, 0);
	g->pid = -1;
	noise_len = pread(g->err, noise, MAX_STDERR, 0);
	len = pread(g->out, m->picture, sizeof(m->picture), 0);
	if (noise_len < 0 || len < 0)
		return err_set(e, "cannot read the picture: %s",
			       strerror(errno));
	why = complaint(noise, (size_t)noise_len);
	if (why)
		return err_set(e, "gnuplot: %.200s", why);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
		return err_set(e, "the picture is larger than %u MB",
			       PLOTTER_MAX_PICTURE >> 20);
	if (WIFSIGNALED(status))
		return err_set(e, "gnuplot was ended by signal %d",
			       WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(e, "gnuplot ended with status %d",
			       WEXITSTATUS(status));
	t->len = (size_t)len;
	return accept_picture(m->picture, t->len, &forms[t->format], e);
}

/* The real path of PATH's gnuplot, since Landlock is told files; or "". */
static void find_gnuplot(char out[PATH_MAX])
{
	const char *path = getenv("PATH"), *end;
	char name[PATH_MAX];

	for (; path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(name, sizeof(name), "%.*s/gnuplot", (int)(end - path),
			 path);
		if (*path == '/' && !access(name, X_OK) && realpath(name, out))
			return;
	}
	out[0] = '\0';
}

/*
 * It lives until the server's end of the socket closes: a signal meant for the
 * whole group must not take the pictures from requests in flight.
 */
static void plotter_main(int sock, struct shared *m, bool allow_unjailed)
{
	struct gnuplot g = { -1, -1, -1, -1, -1 };
	char program[PATH_MAX];
	struct turn t = { 0 };

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	find_gnuplot(program);
	t.failed = !jail_files(program, m->jail);
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* a new user resets it */
	while (!tell(sock, &t)) {
		gnuplot_start(&g, program, allow_unjailed);
		if (hear(sock, &t))
			break;
		if (!*program)
			t.failed = err_set(&m->e, "no gnuplot in PATH");
		else if (!gnuplot_waits(&g) &&
			 gnuplot_start(&g, program, allow_unjailed))
			t.failed = err_set(&m->e, "cannot start gnuplot: %s",
					   strerror(errno));
		else
			t.failed = draw(&g, m, &t);
	}
	gnuplot_stop(&g);
	_exit(0);
}

/* --- the server ------------------------------------------------------- */

struct plotter {
	pid_t pid;
	int sock;
	struct shared *shared;
	sem_t places;		/* to draw and to wait */
	pthread_mutex_t lock;	/* of socket and memory: one draws */
};

/* The descriptors of who starts us without them must not be ours. */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	close(fd);
}

/* What it says first is what it is jailed in. */
static int greet(struct plotter *p, bool allow_unjailed, char jail[160],
		 struct err *e)
{
	const struct timeval limit = {
		.tv_sec = plotter_time_s + SPARE_TIME_S
	};
	struct turn t;

	setsockopt(p->sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (hear(p->sock, &t))
		return err_set(e, "the plotter ended at its start");
	memcpy(jail, p->shared->jail, JAIL_TEXT);
	if (t.failed && !allow_unjailed)
		return err_set(e, "gnuplot cannot be jailed: %s", jail);
	return 0;
}

struct plotter *plotter_start(bool allow_unjailed, char jail[160],
			      struct err *e)
{
	struct plotter *p = calloc(1, sizeof(*p));
	struct shared *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
				-1, 0);
	int pair[2];

	fill_standard_fds();
	if (!p || m == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err_set(e, "cannot start the plotter: %s", strerror(errno));
		free(p);
		return NULL;
	}
	p->sock = pair[0];
	p->shared = m;
	sem_init(&p->places, 0, PLOTTER_QUEUE + 1);
	pthread_mutex_init(&p->lock, NULL);
	p->pid = fork();
	if (p->pid == 0) {
		close(pair[0]);
		plotter_main(pair[1], m, allow_unjailed);
	}
	close(pair[1]);
	if (!greet(p, allow_unjailed, jail, e))
		return p;
	plotter_stop(p);
	return NULL;
}

void plotter_stop(struct plotter *p)
{
	if (!p)
		return;
	close(p->sock);
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);	/* its gnuplot goes with it */
		waitpid(p->pid, NULL, 0);
	}
	pthread_mutex_destroy(&p->lock);
	sem_destroy(&p->places);
	munmap(p->shared, sizeof(*p->shared));
	free(p);
}

int plotter_draw(struct plotter *p, const char *script, size_t len,
		 enum plotter_format f, struct buf *out, bool *busy,
		 struct err *e)
{
	struct turn t = { f, -1, len };

	*busy = false;
	if (len > PLOTTER_MAX_SCRIPT)
		return err_set(e, "the script is larger than %u MB",
			       PLOTTER_MAX_SCRIPT >> 20);
	*busy = sem_trywait(&p->places) != 0;
	if (*busy)
		return err_set(e, "%d pictures are waiting already",
			       PLOTTER_QUEUE);
	pthread_mutex_lock(&p->lock);
	memcpy(p->shared->script, script, len);
	if (tell(p->sock, &t) || hear(p->sock, &t)) {
		shutdown(p->sock, SHUT_RDWR);	/* a late answer fits no more */
		t.failed = err_set(e, "the plotter is gone; restart mmtrendd");
	} else if (t.failed) {
		*e = p->shared->e;
	} else {
		buf_add(out, p->shared->picture, t.len);
		if (!buf_ok(out))
			t.failed = err_set(e, "no memory for the picture");
	}
	pthread_mutex_unlock(&p->lock);
	sem_post(&p->places);
	return t.failed;
}

/* Without fonts pngcairo draws nothing, or the same box for every letter. */
int plotter_self_test(struct plotter *p, struct err *e)
{
	static const enum plotter_format formats[] = {
		PLOTTER_SVG, PLOTTER_PNG, PLOTTER_PNG,
	};
	static const char letters[] = "HHT";
	struct buf got[3] = { BUF_INIT, BUF_INIT, BUF_INIT };
	int ret = 0;

	for (int i = 0; i < 3 && !ret; i++) {
		char script[300];
		bool busy;
		int len = snprintf(script, sizeof(script),
			"set terminal %s size 99,60 font \"sans-serif,12\"\n"
			"set label 1 \"%c\" at screen 0.1,0.5\n"
			"unset tics\nunset border\nunset key\n"
			"$d << EOD\n0 0\n1 1\nEOD\nplot $d with dots\n",
			forms[formats[i]].terminal, letters[i]);

		ret = plotter_draw(p, script, (size_t)len, formats[i],
				   &got[i], &busy, e);
	}
	if (!ret && (!got[0].s || !memmem(got[0].s, got[0].len, ">H<", 3)))
		ret = err_set(e, "gnuplot's SVG lacks its text");
	if (!ret && got[1].s && got[2].s && got[1].len == got[2].len &&
	    !memcmp(got[1].s, got[2].s, got[1].len))
		ret = err_set(e, "PNG pictures lack text: no fonts are "
			      "installed");
	for (int i = 0; i < 3; i++)
		buf_free(&got[i]);
	return ret;
}
