/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starts jailed gnuplots and carries scripts in and pictures out. The upper
 * half runs in the forked plotter, the lower half in the server's threads; one
 * stream socket lies between, with one question in flight.
 */
#include "plotter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail.h"

#define MAX_STDERR	4096
#define REPLY_TIME_S	(PLOTTER_TIME_S + 10)	/* then it is given up */

struct hello {
	int32_t whole;
	char jail[JAIL_TEXT];
};

struct question {
	uint32_t len;
	uint32_t format;
};

struct reply {
	int32_t failed;
	uint32_t len;		/* of the picture, or of the reason */
};

static const struct {
	const char *head, *tail;
	size_t head_len, tail_len;
} forms[] = {
	[PLOTTER_SVG] = { "<?xml", "</svg>", 5, 6 },
	[PLOTTER_PNG] = { "\x89PNG\r\n\x1a\n", "IEND\xae\x42\x60\x82", 8, 8 },
};

static int send_all(int sock, const void *data, size_t len)
{
	const char *s = data;

	while (len) {
		ssize_t n = send(sock, s, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		s += n;
		len -= (size_t)n;
	}
	return 0;
}

static int recv_all(int sock, void *data, size_t len)
{
	char *s = data;

	while (len) {
		ssize_t n = recv(sock, s, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		s += n;
		len -= (size_t)n;
	}
	return 0;
}

/* NUL-terminated, for free(); NULL: no memory, or the peer is gone. */
static char *recv_text(int sock, size_t len)
{
	char *s = malloc(len + 1);

	if (s && recv_all(sock, s, len)) {
		free(s);
		return NULL;
	}
	if (s)
		s[len] = '\0';
	return s;
}

/* --- the plotter ------------------------------------------------------ */

struct gnuplot {
	pid_t pid;		/* 0: none */
	int in, out, err;	/* its stdin, stdout, stderr; -1: closed */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void run_gnuplot(const char *program, bool allow_unjailed)
{
	char name[] = "gnuplot", defaults[] = "-d";
	char home[] = "HOME=/nonexistent", path[] = "PATH=/nonexistent";
	char locale[] = "LC_ALL=C.UTF-8";
	char *argv[] = { name, defaults, NULL };
	char *env[] = { home, path, locale, NULL };

	closefrom(3);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (jail_calls(program) && !allow_unjailed)
		dprintf(2, "no jail for gnuplot: %s\n", strerror(errno));
	else if (!execve(program, argv, env) || true)
		dprintf(2, "cannot run gnuplot: %s\n", strerror(errno));
	_exit(127);
}

/* -1 with errno. */
static int gnuplot_start(struct gnuplot *g, const char *program,
			 bool allow_unjailed)
{
	int p[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int ret = -1;

	for (int i = 0; i < 3; i++)
		if (pipe2(p[i], O_CLOEXEC))
			goto out;
	g->pid = fork();
	if (g->pid == 0) {
		if (dup2(p[0][0], 0) == 0 && dup2(p[1][1], 1) == 1 &&
		    dup2(p[2][1], 2) == 2)
			run_gnuplot(program, allow_unjailed);
		_exit(127);
	}
	if (g->pid < 0)
		goto out;
	g->in = p[0][1];
	g->out = p[1][0];
	g->err = p[2][0];
	p[0][1] = p[1][0] = p[2][0] = -1;
	fcntl(g->in, F_SETFL, O_NONBLOCK);
	ret = 0;
out:
	for (int i = 0; i < 3; i++) {
		close_fd(&p[i][0]);
		close_fd(&p[i][1]);
	}
	if (ret)
		g->pid = 0;
	return ret;
}

static void gnuplot_stop(struct gnuplot *g)
{
	if (!g->pid)
		return;
	close_fd(&g->in);
	close_fd(&g->out);
	close_fd(&g->err);
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, 0);
	g->pid = 0;
}

/* One that waits for work: it may have died since it was started. */
static int gnuplot_ready(struct gnuplot *g, const char *program,
			 bool allow_unjailed)
{
	siginfo_t dead = { 0 };

	if (g->pid && (waitid(P_PID, (id_t)g->pid, &dead,
			      WEXITED | WNOHANG | WNOWAIT) || dead.si_pid))
		gnuplot_stop(g);
	return g->pid ? 0 : gnuplot_start(g, program, allow_unjailed);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000 + t.tv_nsec / 1000000;
}

static void write_some(int *fd, const char *script, size_t len, size_t *done)
{
	ssize_t n = write(*fd, script + *done, len - *done);

	if (n > 0)
		*done += (size_t)n;
	if (*done == len || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(fd);
}

/* What exceeds @max is read and dropped; the caller sees b->len > max. */
static void read_some(int *fd, struct buf *b, size_t max)
{
	char chunk[65536];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n > 0 && b->len <= max)
		buf_add(b, chunk, (size_t)n);
	if (n == 0 || (n < 0 && errno != EINTR))
		close_fd(fd);
}

/* Feed the script, collect both outputs until they end. */
static int talk(struct gnuplot *g, const char *script, size_t len,
		int64_t deadline, struct buf *out, struct buf *noise,
		struct err *e)
{
	size_t done = 0;

	while (g->out >= 0 || g->err >= 0) {
		struct pollfd fds[] = {
			{ g->in, POLLOUT, 0 },
			{ g->out, POLLIN, 0 },
			{ g->err, POLLIN, 0 },
		};
		int64_t left = deadline - now_ms();

		if (left <= 0)
			return err_set(e, "gnuplot took longer than %d s",
				       PLOTTER_TIME_S);
		if (poll(fds, 3, (int)left) < 0 && errno != EINTR)
			return err_set(e, "poll: %s", strerror(errno));
		if (fds[0].revents)
			write_some(&g->in, script, len, &done);
		if (fds[1].revents)
			read_some(&g->out, out, PLOTTER_MAX_PICTURE);
		if (fds[2].revents)
			read_some(&g->err, noise, MAX_STDERR);
		if (out->len > PLOTTER_MAX_PICTURE)
			return err_set(e, "the picture is larger than %u MB",
				       PLOTTER_MAX_PICTURE >> 20);
	}
	return 0;
}

/* Its outputs have ended, so it is about to end; but it need not. */
static int reap(struct gnuplot *g, int64_t deadline, int *status)
{
	pid_t pid;

	while (!(pid = waitpid(g->pid, status, WNOHANG)) && now_ms() < deadline)
		usleep(500);
	if (pid != g->pid)
		return -1;
	g->pid = 0;
	return 0;
}

/* fontconfig says this, and draws, where its cache is older than the fonts. */
static void drop_harmless(struct buf *noise)
{
	static const char line[] =
		"Fontconfig error: No writable cache directories\n";
	const size_t len = sizeof(line) - 1;
	char *s;

	while (noise->s && (s = strstr(noise->s, line))) {
		memmove(s, s + len, strlen(s + len) + 1);
		buf_reset(noise, noise->len - len);
	}
}

/* gnuplot says where, shows a caret, and then why: the last line counts. */
static int say_noise(const struct buf *noise, struct err *e)
{
	const char *end = noise->s + noise->len, *s;
	char line[200];
	size_t n = 0;

	while (end > noise->s && (unsigned char)end[-1] <= ' ')
		end--;
	for (s = end; s > noise->s && s[-1] != '\n'; s--)
		;
	while (s < end && *s == ' ')
		s++;
	for (; s < end && n < sizeof(line) - 1; s++)
		line[n++] = (char)(*s >= ' ' && *s <= '~' ? *s : '?');
	line[n] = '\0';
	return err_set(e, "gnuplot: %s", n ? line : "noise on stderr");
}

static int accept_picture(const struct buf *b, uint32_t format, struct err *e)
{
	size_t head = forms[format].head_len, tail = forms[format].tail_len;
	size_t len = b->len;

	while (len && b->s[len - 1] == '\n')
		len--;
	if (!len)
		return err_set(e, "gnuplot drew nothing");
	if (len < head || memcmp(b->s, forms[format].head, head) != 0)
		return err_set(e, "gnuplot's output begins as no picture");
	if (len < head + tail ||
	    memcmp(b->s + len - tail, forms[format].tail, tail) != 0)
		return err_set(e, "gnuplot's picture is cut short");
	return 0;
}

static int draw(struct gnuplot *g, const char *script, struct question q,
		struct buf *out, struct err *e)
{
	int64_t deadline = now_ms() + PLOTTER_TIME_S * INT64_C(1000);
	struct buf noise = BUF_INIT;
	int status = 0, ret = -1;

	if (talk(g, script, q.len, deadline, out, &noise, e))
		goto out;
	drop_harmless(&noise);
	if (reap(g, deadline, &status))
		err_set(e, "gnuplot does not end");
	else if (noise.len)
		say_noise(&noise, e);
	else if (WIFSIGNALED(status))
		err_set(e, "gnuplot was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		err_set(e, "gnuplot ended with status %d", WEXITSTATUS(status));
	else if (!buf_ok(out) || !buf_ok(&noise))
		err_set(e, "no memory for the picture");
	else
		ret = accept_picture(out, q.format, e);
out:
	buf_free(&noise);
	return ret;
}

/* One question, one answer. False: the server is gone. */
static bool serve_one(int sock, const char *program, bool allow_unjailed)
{
	static struct gnuplot g = { 0, -1, -1, -1 };
	struct buf out = BUF_INIT;
	struct question q;
	struct reply r = { -1, 0 };
	struct err e;
	char *script = NULL;
	bool alive = false;

	if (*program)		/* ahead of its work */
		gnuplot_ready(&g, program, allow_unjailed);
	if (recv_all(sock, &q, sizeof(q)) || !(script = recv_text(sock, q.len)))
		goto out;
	if (!*program)
		err_set(&e, "no gnuplot in PATH");
	else if (gnuplot_ready(&g, program, allow_unjailed))
		err_set(&e, "cannot start gnuplot: %s", strerror(errno));
	else
		r.failed = draw(&g, script, q, &out, &e);
	if (r.failed) {
		buf_free(&out);
		buf_str(&out, e.msg);
	}
	r.len = (uint32_t)out.len;
	alive = !send_all(sock, &r, sizeof(r)) &&
		!send_all(sock, out.s, out.len);
out:
	gnuplot_stop(&g);
	free(script);
	buf_free(&out);
	return alive;
}

/* Only stdin, stdout, stderr and the socket, as 3, stay open. */
static int only_fds(int sock)
{
	int high = fcntl(sock, F_DUPFD, 10);
	int null = open("/dev/null", O_RDWR);

	if (high < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    (fcntl(2, F_GETFD) < 0 && dup2(null, 2) < 0) ||
	    dup3(high, 3, O_CLOEXEC) < 0)
		return -1;
	closefrom(4);
	return 3;
}

/*
 * It lives until the server's end of the socket closes: a signal meant for the
 * whole group must not take the pictures from requests in flight.
 */
static void plotter_main(int sock, const char *program, bool allow_unjailed)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct hello hello = { 0 };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sock = only_fds(sock);
	hello.whole = jail_files(program, hello.jail);
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* a new user resets it */
	if (sock < 0 || send_all(sock, &hello, sizeof(hello)))
		_exit(1);
	while (serve_one(sock, program, allow_unjailed))
		;
	_exit(0);
}

/* --- the server ------------------------------------------------------- */

struct plotter {
	pid_t pid;
	int sock;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t idle;
	unsigned waiting;
	bool drawing;
	bool gone;		/* it died, or its answers no longer fit */
};

/* The real path of PATH's gnuplot, since Landlock is told files; or "". */
static void find_gnuplot(char out[PATH_MAX])
{
	const char *path = getenv("PATH"), *end;
	char name[PATH_MAX];

	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(name, sizeof(name), "%.*s/gnuplot", (int)(end - path),
			 path);
		if (*path == '/' && !access(name, X_OK) && realpath(name, out))
			return;
	}
	out[0] = '\0';
}

static int greet(struct plotter *p, bool allow_unjailed, char jail[160],
		 struct err *e)
{
	static const struct timeval limit = { .tv_sec = REPLY_TIME_S };
	struct hello hello;

	setsockopt(p->sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(p->sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (recv_all(p->sock, &hello, sizeof(hello)))
		return err_set(e, "the plotter ended at its start");
	memcpy(jail, hello.jail, sizeof(hello.jail));
	if (!hello.whole && !allow_unjailed)
		return err_set(e, "gnuplot cannot be jailed: %s", jail);
	return 0;
}

struct plotter *plotter_start(bool allow_unjailed, char jail[160],
			      struct err *e)
{
	static char program[PATH_MAX];
	struct plotter *p = calloc(1, sizeof(*p));
	int pair[2] = { -1, -1 };

	jail[0] = '\0';
	if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		err_set(e, "cannot start the plotter: %s", strerror(errno));
		free(p);
		return NULL;
	}
	find_gnuplot(program);
	p->sock = pair[0];
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->idle, NULL);
	p->pid = fork();
	if (p->pid == 0)
		plotter_main(pair[1], program, allow_unjailed);
	close(pair[1]);
	if (p->pid < 0)
		err_set(e, "cannot fork the plotter: %s", strerror(errno));
	else if (!greet(p, allow_unjailed, jail, e))
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
	pthread_cond_destroy(&p->idle);
	free(p);
}

/* One thread at a time. NULL: the socket is of no more use. For free(). */
static char *ask(int sock, const char *script, size_t len,
		 enum plotter_format f, struct reply *r)
{
	struct question q = { (uint32_t)len, f };

	if (send_all(sock, &q, sizeof(q)) || send_all(sock, script, len) ||
	    recv_all(sock, r, sizeof(*r)) || r->len > PLOTTER_MAX_PICTURE)
		return NULL;
	return recv_text(sock, r->len);
}

/* True: it is this thread's turn; end it with leave(). */
static bool enter(struct plotter *p)
{
	bool mine = false;

	pthread_mutex_lock(&p->lock);
	if (!p->drawing || p->waiting < PLOTTER_QUEUE) {
		p->waiting++;
		while (p->drawing)
			pthread_cond_wait(&p->idle, &p->lock);
		p->waiting--;
		mine = p->drawing = true;
	}
	pthread_mutex_unlock(&p->lock);
	return mine;
}

static void leave(struct plotter *p)
{
	pthread_mutex_lock(&p->lock);
	p->drawing = false;
	pthread_cond_signal(&p->idle);
	pthread_mutex_unlock(&p->lock);
}

int plotter_draw(struct plotter *p, const char *script, size_t len,
		 enum plotter_format f, struct buf *out, bool *busy,
		 struct err *e)
{
	struct reply r = { -1, 0 };
	char *answer = NULL;

	*busy = false;
	if (len > PLOTTER_MAX_SCRIPT)
		return err_set(e, "the script is larger than %u MB",
			       PLOTTER_MAX_SCRIPT >> 20);
	if (!enter(p)) {
		*busy = true;
		return err_set(e, "%d pictures are waiting already",
			       PLOTTER_QUEUE);
	}
	if (!p->gone)
		answer = ask(p->sock, script, len, f, &r);
	p->gone = !answer;
	if (p->gone)
		r.failed = err_set(e, "the plotter is gone; restart mmtrendd");
	else if (r.failed)
		err_set(e, "%s", answer);
	leave(p);
	if (!r.failed)
		buf_add(out, answer, r.len);
	free(answer);
	return r.failed;
}

/* A picture that is nothing but @text. */
static int draw_text(struct plotter *p, enum plotter_format f,
		     const char *text, struct buf *out, struct err *e)
{
	struct buf script = BUF_INIT;
	bool busy;
	int ret;

	buf_printf(&script,
		   "set terminal %s size 99,60 font \"sans-serif,12\"\n"
		   "unset tics\nunset border\nunset key\n"
		   "set yrange [0:1]\nset xrange [0:1]\n"
		   "set label 1 \"%s\" at screen 0.1,0.5\n"
		   "$d << EOD\n0 0\nEOD\nplot $d with dots\n",
		   f == PLOTTER_SVG ? "svg" : "pngcairo", text);
	ret = buf_ok(&script) ?
		plotter_draw(p, script.s, script.len, f, out, &busy, e) :
		err_set(e, "no memory");
	buf_free(&script);
	return ret;
}

/* Without fonts pngcairo draws nothing, or the same box for every letter. */
int plotter_self_test(struct plotter *p, struct err *e)
{
	struct buf svg = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
	int ret = -1;

	if (draw_text(p, PLOTTER_SVG, "HH", &svg, e) ||
	    draw_text(p, PLOTTER_PNG, "HH", &one, e) ||
	    draw_text(p, PLOTTER_PNG, "TT", &two, e))
		goto out;
	if (!svg.s || !one.s || !two.s)
		err_set(e, "no memory for the self test");
	else if (!strstr(svg.s, ">HH<"))
		err_set(e, "gnuplot's SVG lacks its text");
	else if (one.len == two.len && !memcmp(one.s, two.s, one.len))
		err_set(e, "PNG pictures lack text: no fonts are installed");
	else
		ret = 0;
out:
	buf_free(&svg);
	buf_free(&one);
	buf_free(&two);
	return ret;
}
