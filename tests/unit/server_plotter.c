/* SPDX-License-Identifier: GPL-2.0-only */
/* The plotter and its jail: all that a script can make is a picture. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../server/jail.h"
#include "../../server/plotter.h"
#include "../tap.h"

#define GOOD "set terminal svg\n$d << EOD\n0 1\n1 2\nEOD\nplot $d with lines\n"

static struct plotter *plotter;
static char dir[] = "/tmp/mmtrend-plotter.XXXXXX";	/* anyone may write */

static int draw(const char *script, enum plotter_format f, struct err *e)
{
	struct buf out = BUF_INIT;
	bool busy;
	int ret;

	e->msg[0] = '\0';
	ret = plotter_draw(plotter, script, strlen(script), f, &out, &busy, e);
	if (ret && out.len)
		printf("# a failed drawing left %zu bytes\n", out.len);
	buf_free(&out);
	return ret;
}

static bool good(void)
{
	struct err e;

	if (!draw(GOOD, PLOTTER_SVG, &e))
		return true;
	printf("# %s\n", e.msg);
	return false;
}

/* It is refused, the reason contains @why, the next picture is drawn. */
static void refused(const char *script, const char *why, const char *what)
{
	struct err e;
	int ret = draw(script, PLOTTER_SVG, &e);

	if (!ok(ret == -1 && strstr(e.msg, why) && !strchr(e.msg, '\n'),
		"%s is refused", what))
		printf("# got %d: %s\n", ret, e.msg);
	ok(good(), "... and the next picture is drawn");
}

/* Counts them and takes them away, so that each check stands alone. */
static size_t files_in_dir(void)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	size_t n = 0;

	while (d && (f = readdir(d)))
		if (f->d_name[0] != '.') {
			printf("# there is %s\n", f->d_name);
			unlinkat(dirfd(d), f->d_name, 0);
			n++;
		}
	if (d)
		closedir(d);
	return n;
}

/* @ stands for a file in a directory that anyone may write. */
static const struct {
	const char *name, *script;
} vectors[] = {
	{ "system()", "system(\"touch @\")\n" },
	{ "system() in an expression", "set title system(\"touch @\")\n" },
	{ "!command", "!touch @\n" },
	{ "backticks in a double-quoted string", "set title \"`touch @`\"\n" },
	{ "backticks on the line", "set title `touch @`\n" },
	{ "plot '< command'", "plot '< touch @' using 1\n" },
	{ "load '< command'", "load '< touch @'\n" },
	{ "set output '| command'", "set output '| touch @'\nplot $d\n" },
	{ "set output 'file'", "set output '@'\nplot $d\n" },
	{ "set print '| command'", "set print '| touch @'\nprint 1\n" },
	{ "set print 'file'", "set print '@'\nprint 1\n" },
	{ "set table 'file'", "set table '@'\nplot $d\n" },
	{ "save 'file'", "save '@'\n" },
	{ "save '| command'", "save '| touch @'\n" },
	{ "history '| command'", "history '| touch @'\n" },
	{ "set fit logfile", "set fit logfile '@'\nf(x)=a*x\na=1\n"
		"fit f(x) $d using 1:2 via a\n" },
	{ "eval", "eval \"system('touch @')\"\n" },
	{ "@macro", "m = \"system('touch @')\"\n@m\n" },
	{ "call", "call '< touch @'\n" },
	{ "a newline in a double-quoted string", "set title \"a\n!touch @\n" },
	{ "the end of a data block in its data",
		"$x << EOD\n1\nEOD\n!touch @\nEOD\n" },
	{ "shell", "shell\ntouch @\nexit\n" },
	{ "cd and save", "cd '/tmp'\nsave '@'\n" },
	{ "set loadpath with backticks", "set loadpath \"`touch @`\"\n" },
};

static void test_vectors(void)
{
	files_in_dir();
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		struct buf s = BUF_INIT;
		struct err e;

		buf_str(&s, GOOD);
		for (const char *c = vectors[i].script; *c; c++)
			if (*c == '@' && c[1] != 'm')
				buf_printf(&s, "%s/mark", dir);
			else
				buf_char(&s, *c);
		draw(s.s, PLOTTER_SVG, &e);
		ok(files_in_dir() == 0, "%s: nothing is run or written",
		   vectors[i].name);
		buf_free(&s);
	}
	ok(good(), "after all of them a picture is drawn");
}

/* A file that anyone may read: its figures and commands stay where they are. */
static void test_reading(void)
{
	char path[64], script[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/data", dir);
	f = fopen(path, "w");
	fputs(GOOD, f);
	fclose(f);
	chmod(path, 0644);
	snprintf(script, sizeof(script), "load '%s'\n", path);
	refused(script, "gnuplot: ", "a file of commands");
	snprintf(script, sizeof(script), "set terminal svg\n"
		 "plot '%s' every 1::2::3 with lines\n", path);
	refused(script, "gnuplot: ", "a file of figures");
	unlink(path);
}

static void test_acceptance(void)
{
	refused("", "drew nothing", "an empty script");
	refused("print 1\n" GOOD, "gnuplot: 1", "noise on stderr");
	refused("nonsense\n" GOOD, "invalid command",
		"an error, then a picture");
	refused("set print '-'\nprint 'x'\n", "begins as no picture",
		"output that is no picture");
	refused("set print '-'\nprint '<?xml version'\n", "cut short",
		"a picture without its end");
	refused("set terminal svg\n$d << EOD\n1 1\n", "drew nothing",
		"an unterminated data block");
	refused("set terminal pngcairo\nplot '-'\n1 1\n2 2\ne\n",
		"begins as no picture",
		"a PNG where an SVG was asked for");
	refused("exit status 3\n", "status 3", "an exit status");
	refused("array A[100000000]\n" GOOD, "gnuplot", "a memory bomb");
	refused("set print '-'\ns='x'\ndo for [i=1:20] {s=s.s}\n"
		"do for [i=1:60] {print s}\n", "larger than 16 MB",
		"an output bomb");
}

static void test_script_cap(void)
{
	size_t len = PLOTTER_MAX_SCRIPT + 1;
	char *script = malloc(len);
	const size_t good_len = strlen(GOOD);
	struct buf out = BUF_INIT;
	struct err e;
	bool busy;

	memset(script, '\n', len);
	ok(plotter_draw(plotter, script, len, PLOTTER_SVG, &out, &busy, &e) &&
	   strstr(e.msg, "larger than 4 MB"),
	   "a script over the cap is refused");
	for (size_t i = 0; i < good_len; i++)
		script[len - 1 - good_len + i] = GOOD[i];
	ok(!plotter_draw(plotter, script, len - 1, PLOTTER_SVG, &out, &busy,
			 &e), "a script of the cap's size is drawn");
	buf_free(&out);
	free(script);
}

/* --- processes -------------------------------------------------------- */

static pid_t child_of(pid_t parent)
{
	DIR *proc = opendir("/proc");
	struct dirent *p;
	pid_t found = 0;

	while (proc && (p = readdir(proc))) {
		char path[300], line[512] = "", *after;
		pid_t pid = atoi(p->d_name);
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", p->d_name);
		if (pid <= 0 || !(f = fopen(path, "r")))
			continue;
		if (fgets(line, sizeof(line), f) &&
		    (after = strrchr(line, ')')) && atoi(after + 4) == parent &&
		    after[2] != 'Z')
			found = pid;
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return found;
}

/* The gnuplot of the plotter, once it has been executed. */
static pid_t gnuplot_of(pid_t parent)
{
	char path[64], name[32];

	for (int i = 0; i < 500; i++, usleep(10000)) {
		pid_t pid = child_of(parent);
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (!pid || !(f = fopen(path, "r")))
			continue;
		if (!fgets(name, sizeof(name), f))
			name[0] = '\0';
		fclose(f);
		if (!strncmp(name, "gnuplot", 7))
			return pid;
	}
	return 0;
}

static bool file_has(pid_t pid, const char *file, const char *text)
{
	char path[64], data[8192];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "r");
	if (!f)
		return true;
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	return memmem(data, n, text, strlen(text));
}

/* Once its libraries are loaded. */
static bool only_pipes(pid_t pid, bool last_try)
{
	char path[64], to[256];
	bool only = true;

	for (int fd = 0; fd < 64; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < 0 && fd > 2)
			continue;
		to[n < 0 ? 0 : n] = '\0';
		if (fd <= 2 ? !strncmp(to, "pipe:", 5) : false)
			continue;
		if (last_try)
			printf("# fd %d: %s\n", fd, to);
		only = false;
	}
	return only;
}

static void test_inheritance(void)
{
	pid_t gnuplot = gnuplot_of(child_of(getpid()));

	ok(gnuplot > 0, "a gnuplot waits for its work");
	for (int i = 0, calm = 0; i < 500 && calm < 20; i++, usleep(10000))
		calm = only_pipes(gnuplot, false) ? calm + 1 : 0;
	ok(only_pipes(gnuplot, true),
	   "it holds its three pipes and nothing else");
	ok(!file_has(gnuplot, "environ", "MMTREND_SECRET"),
	   "it does not have the server's environment");
	ok(file_has(gnuplot, "status", "NoNewPrivs:\t1") &&
	   file_has(gnuplot, "status", "Seccomp:\t2"),
	   "it has no new privileges and a seccomp filter");
	if (getuid())
		skip("root is given up", "not root");
	else
		ok(file_has(gnuplot, "status", "Uid:\t65534\t65534\t65534"),
		   "root is given up");
}

static void *draw_slowly(void *out)
{
	struct err *e = out;

	draw("pause 20\n", PLOTTER_SVG, e);
	return NULL;
}

static void test_crashes(void)
{
	pid_t gnuplot = gnuplot_of(child_of(getpid()));
	pthread_t t;
	struct err e;

	kill(gnuplot, SIGKILL);
	usleep(50000);
	ok(good(), "a gnuplot that died waiting is replaced");
	gnuplot = gnuplot_of(child_of(getpid()));
	pthread_create(&t, NULL, draw_slowly, &e);
	usleep(300000);
	kill(gnuplot, SIGKILL);
	pthread_join(t, NULL);
	is(e.msg, "gnuplot was ended by signal 9",
	   "one that dies at work is named");
	ok(good(), "... and the next picture is drawn");
}

static void *draw_for_ever(void *out)
{
	struct err *e = out;

	draw("while (1) {}\n" GOOD, PLOTTER_SVG, e);
	return NULL;
}

static void *draw_queued(void *out)
{
	struct buf b = BUF_INIT;
	struct err e;
	bool busy;
	int ret = plotter_draw(plotter, GOOD, strlen(GOOD), PLOTTER_SVG, &b,
			       &busy, &e);

	*(int *)out = busy ? 1 : ret;
	buf_free(&b);
	return NULL;
}

static void test_queue_and_time(void)
{
	enum { N = PLOTTER_QUEUE + 3 };
	pthread_t slow, t[N];
	int got[N], busy = 0, drawn = 0;
	struct err e;

	pthread_create(&slow, NULL, draw_for_ever, &e);
	usleep(500000);
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, draw_queued, &got[i]);
	pthread_join(slow, NULL);
	for (int i = 0; i < N; i++) {
		pthread_join(t[i], NULL);
		busy += got[i] == 1;
		drawn += got[i] == 0;
	}
	if (!ok(strstr(e.msg, "longer than 10 s") || strstr(e.msg, "signal"),
		"a script without end is ended"))
		printf("# %s\n", e.msg);
	is_i(busy, 3, "what exceeds the queue is told so at once");
	is_i(drawn, PLOTTER_QUEUE, "what is in the queue is drawn");
}

static void test_death(void)
{
	pid_t pid = child_of(getpid()), gnuplot;
	bool gone = false;
	struct err e;

	kill(pid, SIGTERM);
	kill(pid, SIGINT);
	ok(good(), "the group's SIGTERM and SIGINT do not end the plotter");
	gnuplot = gnuplot_of(pid);
	kill(pid, SIGKILL);
	ok(draw(GOOD, PLOTTER_SVG, &e) && strstr(e.msg, "gone"),
	   "a dead plotter is an error, not a hang");
	ok(draw(GOOD, PLOTTER_SVG, &e) && strstr(e.msg, "gone"),
	   "... and stays one");
	for (int i = 0; i < 200 && !gone; i++, usleep(10000))
		gone = kill(gnuplot, 0) && errno == ESRCH;
	ok(gone, "its gnuplot ended with it");
	plotter_stop(plotter);
	ok(child_of(getpid()) == 0, "no child is left");
	plotter_stop(NULL);
}

/* --- other gnuplots, other machines ----------------------------------- */

static void with_program(const char *target, const char *why, const char *what)
{
	char link[64], jail[160];
	struct err e;

	snprintf(link, sizeof(link), "%s/gnuplot", dir);
	if (target && symlink(target, link))
		printf("# %s: %s\n", link, strerror(errno));
	setenv("PATH", dir, 1);
	plotter = plotter_start(false, jail, &e);
	ok(plotter && draw(GOOD, PLOTTER_SVG, &e) == -1 && strstr(e.msg, why),
	   "%s: \"%s\"", what, e.msg);
	plotter_stop(plotter);
	unlink(link);
}

static void test_programs(void)
{
	const char *before = getenv("PATH");
	char *path = strdup(before ? before : "/usr/bin:/bin"), file[64];
	FILE *f;

	with_program(NULL, "no gnuplot in PATH", "gnuplot is not there");
	with_program("/bin/true", "drew nothing", "gnuplot draws nothing");
	with_program("/bin/false", "status 1", "gnuplot fails");
	snprintf(file, sizeof(file), "%s/text", dir);
	f = fopen(file, "w");
	fputs("no program\n", f);
	fclose(f);
	chmod(file, 0755);
	with_program(file, "cannot run gnuplot", "gnuplot is no program");
	unlink(file);
	setenv("PATH", path, 1);
	free(path);
}

/* In a mount namespace where @empty is empty. 77: not permitted here. */
static int self_test_without(const char *empty, char *why, size_t size)
{
	int status, p[2];
	pid_t pid;

	if (pipe(p))
		return -1;
	pid = fork();
	if (pid == 0) {
		char jail[160];
		struct err e = { "" };
		int ret;

		if (unshare(CLONE_NEWNS) ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", empty, "tmpfs", 0, "mode=755"))
			_exit(77);
		plotter = plotter_start(false, jail, &e);
		ret = plotter ? plotter_self_test(plotter, &e) : -1;
		dprintf(p[1], "%s", ret ? e.msg : "");
		plotter_stop(plotter);
		_exit(ret ? 1 : 0);
	}
	close(p[1]);
	memset(why, 0, size);
	if (read(p[0], why, size - 1) < 0)
		why[0] = '\0';
	close(p[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_fonts(void)
{
	char why[ERR_MAX];
	int ret = self_test_without("/usr/share/fonts", why, sizeof(why));

	if (ret == 77) {
		skip("missing fonts are found at the start",
		     "a mount namespace is not permitted");
		return;
	}
	is_i(ret, 1, "missing fonts are found at the start");
	is(why, "PNG pictures lack text: no fonts are installed",
	   "... and named");
	ret = self_test_without("/var/cache/fontconfig", why, sizeof(why));
	if (!ok(ret == 0, "a font cache that is out of date does no harm"))
		printf("# %s\n", why);
}

/* --- the jail itself, without gnuplot --------------------------------- */

static void *nothing(void *arg)
{
	return arg;
}

/* Bits of what should have been refused, or allowed, and was not. */
static unsigned escape(void)
{
	static const char program[] = "/bin/true";
	char what[JAIL_TEXT], path[64];
	char *none[] = { NULL };
	unsigned bad = 0;
	pthread_t t;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/mark", dir);
	if (!jail_files(program, what) || jail_calls(program))
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(0);
	bad |= (pid < 0 && errno == EPERM) ? 0 : 1u << 1;
#ifdef SYS_fork
	pid = (pid_t)syscall(SYS_fork);
	if (pid == 0)
		_exit(0);
	bad |= pid < 0 ? 0 : 1u << 2;
#endif
	bad |= socket(AF_INET, SOCK_STREAM, 0) < 0 ? 0 : 1u << 3;
	bad |= execve("/bin/sh", none, none) && errno == EPERM ? 0 : 1u << 4;
	bad |= kill(getppid(), 0) && errno == EPERM ? 0 : 1u << 5;
	bad |= open("/etc/passwd", O_RDONLY) < 0 ? 0 : 1u << 6;
	bad |= open(path, O_WRONLY | O_CREAT, 0644) < 0 ? 0 : 1u << 7;
	bad |= open("/dev/null", O_WRONLY) >= 0 ? 0 : 1u << 8;
	bad |= open("/usr/share", O_RDONLY) >= 0 ? 0 : 1u << 9;
	bad |= mkdir(path, 0755) ? 0 : 1u << 10;
	bad |= !raise(SIGWINCH) ? 0 : 1u << 11;
	bad |= mmap(NULL, 600u << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0) == MAP_FAILED ? 0 : 1u << 12;
	bad |= !pthread_create(&t, NULL, nothing, NULL) ? 0 : 1u << 13;
	return bad;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || \
		   __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static void test_jail(void)
{
	unsigned bad = ~0u;
	int p[2];
	pid_t pid;

	if (SANITIZED) {
		skip("no process, socket, program, signal, file or memory",
		     "a sanitizer needs more memory than the jail gives");
		return;
	}
	if (pipe(p))
		return;
	pid = fork();
	if (pid == 0) {
		bad = escape();
		if (write(p[1], &bad, sizeof(bad)) < 0)
			_exit(2);
		_exit(0);
	}
	close(p[1]);
	if (read(p[0], &bad, sizeof(bad)) != sizeof(bad))
		bad = ~0u;
	close(p[0]);
	waitpid(pid, NULL, 0);
	if (!ok(bad == 0,
		"no process, socket, program, signal, file or memory"))
		printf("# escaped by bits %#x\n", bad);
}

/* As on a kernel without Landlock: its first call is ENOSYS. */
static bool hide_landlock(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 SYS_landlock_create_ruleset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void test_no_landlock(void)
{
	char jail[160];
	struct err e = { "" };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (!hide_landlock())
			_exit(1);
		plotter = plotter_start(false, jail, &e);
		if (plotter || !strstr(e.msg, "NO landlock (Function not"))
			_exit(2);
		plotter = plotter_start(true, jail, &e);
		if (!plotter || !good() ||
		    strncmp(jail, "NO landlock", 11) != 0)
			_exit(3);
		plotter_stop(plotter);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	is_i(WEXITSTATUS(status), 0, "without Landlock it starts only if "
	     "allowed to, and says what is missing");
}

int main(void)
{
	char jail[160] = "";
	struct err e = { "" };

	if (!mkdtemp(dir) || chmod(dir, 0777))
		return 1;
	setenv("MMTREND_SECRET", "1", 1);
	if (open("/dev/zero", O_RDONLY) < 0)	/* to be leaked, were it so */
		return 1;
	test_programs();
	test_fonts();
	test_jail();
	test_no_landlock();
	plotter = plotter_start(false, jail, &e);
	if (!ok(plotter != NULL, "the plotter starts in: %s", jail)) {
		printf("# %s\n", e.msg);
		return tap_done();
	}
	ok(strstr(jail, "landlock") && strstr(jail, "seccomp") &&
	   !strstr(jail, "NO "), "the jail is whole");
	if (!is_i(plotter_self_test(plotter, &e), 0, "the self test passes"))
		printf("# %s\n", e.msg);
	test_inheritance();
	test_vectors();
	test_reading();
	test_acceptance();
	test_script_cap();
	test_crashes();
	test_queue_and_time();
	test_death();
	rmdir(dir);
	return tap_done();
}
