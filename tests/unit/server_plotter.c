/* SPDX-License-Identifier: GPL-2.0-only */
/* The plotter and its jail: all that a script can make is a picture. */
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

static void start(void)
{
	char jail[160];
	struct err e = { "" };

	plotter = plotter_start(false, jail, &e);
	if (!ok(plotter && strstr(jail, "landlock") && strstr(jail, "seccomp")
		&& !strstr(jail, "NO "), "the jail is whole: %s", jail)) {
		printf("Bail out! %s\n", e.msg);
		exit(1);
	}
}

static int draw(const char *script, struct err *e)
{
	struct buf out = BUF_INIT;
	bool busy;
	int ret;

	e->msg[0] = '\0';
	ret = plotter_draw(plotter, script, strlen(script), PLOTTER_SVG, &out,
			   &busy, e);
	if (ret && out.len)
		printf("# a failed drawing left %zu bytes\n", out.len);
	buf_free(&out);
	return busy ? 1 : ret;
}

static bool good(void)
{
	struct err e;

	if (!draw(GOOD, &e))
		return true;
	printf("# %s\n", e.msg);
	return false;
}

/* --- scripts ---------------------------------------------------------- */

/* Each would make a file named mark in the working directory. */
static const struct {
	const char *name, *script;
} vectors[] = {
	{ "system()", "system(\"touch mark\")\n" },
	{ "system() in an expression", "set title system(\"touch mark\")\n" },
	{ "!command", "!touch mark\n" },
	{ "backticks in a double-quoted string",
		"set title \"`touch mark`\"\n" },
	{ "backticks on the line", "set title `touch mark`\n" },
	{ "plot '< command'", "plot '< touch mark' using 1\n" },
	{ "load '< command'", "load '< touch mark'\n" },
	{ "set output '| command'", "set output '| touch mark'\nplot $d\n" },
	{ "set output 'file'", "set output 'mark'\nplot $d\n" },
	{ "set print '| command'", "set print '| touch mark'\nprint 1\n" },
	{ "set print 'file'", "set print 'mark'\nprint 1\n" },
	{ "set table 'file'", "set table 'mark'\nplot $d\n" },
	{ "save 'file'", "save 'mark'\n" },
	{ "save '| command'", "save '| touch mark'\n" },
	{ "history '| command'", "history '| touch mark'\n" },
	{ "set fit logfile", "set fit logfile 'mark'\nf(x)=a*x\na=1\n"
		"fit f(x) $d using 1:2 via a\n" },
	{ "eval", "eval \"system('touch mark')\"\n" },
	{ "@macro", "m = \"system('touch mark')\"\n@m\n" },
	{ "call", "call '< touch mark'\n" },
	{ "a newline in a double-quoted string",
		"set title \"a\n!touch mark\n" },
	{ "the end of a data block in its data",
		"$x << EOD\n1\nEOD\n!touch mark\nEOD\n" },
	{ "shell", "shell\ntouch mark\nexit\n" },
	{ "cd and save", "cd '.'\nsave 'mark'\n" },
	{ "set loadpath with backticks", "set loadpath \"`touch mark`\"\n" },
};

static void test_vectors(void)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		char script[400];
		struct err e;

		snprintf(script, sizeof(script), GOOD "%s", vectors[i].script);
		draw(script, &e);
		ok(unlink("mark") && errno == ENOENT,
		   "%s: nothing is run or written", vectors[i].name);
	}
	ok(good(), "after all of them a picture is drawn");
}

/* The reason contains @why. The file "data" is there for anyone to read. */
static const struct {
	const char *what, *script, *why;
} refused[] = {
	{ "a file of commands", "load 'data'\n", "gnuplot: " },
	{ "a file of figures", "set terminal svg\n"
		"plot 'data' every 1::2::3 with lines\n", "gnuplot: " },
	{ "an empty script", "", "drew nothing" },
	{ "noise on stderr", "print 1\n" GOOD, "gnuplot: 1" },
	{ "a blank line on stderr", "print ''\n" GOOD,
		"gnuplot: noise on stderr" },
	{ "an error, then a picture", "nonsense\n" GOOD, "invalid command" },
	{ "output that is no picture", "set print '-'\nprint 'x'\n",
		"begins as no picture" },
	{ "a picture without its end",
		"set print '-'\nprint '<?xml version'\n", "cut short" },
	{ "an unterminated data block",
		"set terminal svg\n$d << EOD\n1 1\n", "drew nothing" },
	{ "a PNG where an SVG was asked for",
		"set terminal pngcairo\nplot '-'\n1 1\n2 2\ne\n",
		"begins as no picture" },
	{ "an exit status", "exit status 3\n", "status 3" },
	{ "a memory bomb", "array A[100000000]\n" GOOD, "gnuplot" },
	{ "an output bomb", "set print '-'\ns='x'\n"
		"do for [i=1:20] {s=s.s}\ndo for [i=1:60] {print s}\n",
		"larger than 16 MB" },
};

static void test_acceptance(void)
{
	FILE *f = fopen("data", "w");

	fputs(GOOD, f);
	fclose(f);
	chmod("data", 0644);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct err e;
		int ret = draw(refused[i].script, &e);

		if (!ok(ret == -1 && strstr(e.msg, refused[i].why) &&
			!strchr(e.msg, '\n'), "%s is refused", refused[i].what))
			printf("# got %d: %s\n", ret, e.msg);
		ok(good(), "... and the next picture is drawn");
	}
	unlink("data");
}

static void test_script_cap(void)
{
	size_t len = PLOTTER_MAX_SCRIPT + 1, good_len = strlen(GOOD);
	char *script = malloc(len + 1);
	struct err e;

	memset(script, '#', len);		/* comments */
	for (size_t i = 0; i < len; i += 1000)
		script[i] = '\n';
	script[len] = '\0';
	ok(draw(script, &e) == -1 && strstr(e.msg, "larger than 4 MB"),
	   "a script over the cap is refused");
	memcpy(script + len - 2 - good_len, "\n" GOOD, good_len + 2);
	is_i(draw(script, &e), 0, "a script of the cap's size is drawn");
	free(script);
}

/* --- processes -------------------------------------------------------- */

/* Up to @size - 1 bytes of a file of a process; "" if it is gone. */
static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	f = fopen(path, "r");
	if (f) {
		n = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	return n;
}

/* The youngest; 0: there is none. */
static pid_t child_of(pid_t parent)
{
	char name[64], text[256], *last;

	snprintf(name, sizeof(name), "task/%d/children", parent);
	if (!read_proc(parent, name, text, sizeof(text)))
		return 0;
	text[strlen(text) - 1] = '\0';
	last = strrchr(text, ' ');
	return atoi(last ? last : text);
}

/* The gnuplot of the plotter, once it has been executed. */
static pid_t gnuplot_now(void)
{
	for (int i = 0; i < 500; i++, usleep(10000)) {
		pid_t pid = child_of(child_of(getpid()));
		char name[32];

		read_proc(pid, "comm", name, sizeof(name));
		if (!strncmp(name, "gnuplot", 7))
			return pid;
	}
	return 0;
}

/* While it starts it also reads what the jail lets it. */
static bool holds_only_its_own(pid_t pid)
{
	bool only = true;

	for (int fd = 0; fd < 64; fd++) {
		char path[64], to[256] = "";

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		if (readlink(path, to, sizeof(to) - 1) < 0 && fd > 2)
			continue;
		if (fd > 2 ? !strncmp(to, "/usr/", 5) ||
			     !strncmp(to, "/etc/", 5) :
		    !strncmp(to, fd ? "/memfd:" : "pipe:", fd ? 7 : 5))
			continue;
		printf("# fd %d: %s\n", fd, to);
		only = false;
	}
	return only;
}

static void test_inheritance(void)
{
	pid_t pid = gnuplot_now();
	char text[8192];
	size_t n;

	ok(pid > 0, "a gnuplot waits for its work");
	ok(holds_only_its_own(pid),
	   "it holds its stdin, stdout, stderr and nothing of the server's");
	n = read_proc(pid, "environ", text, sizeof(text));
	ok(n && !memmem(text, n, "MMTREND_SECRET", 14),
	   "it does not have the server's environment");
	read_proc(pid, "status", text, sizeof(text));
	ok(strstr(text, "NoNewPrivs:\t1") && strstr(text, "Seccomp:\t2"),
	   "it has no new privileges and a seccomp filter");
	if (getuid())
		skip("root is given up", "not root");
	else
		ok(strstr(text, "Uid:\t65534\t65534\t65534"),
		   "root is given up");
}

struct job {
	pthread_t thread;
	const char *script;
	struct err e;
	int ret;
};

static void *run_job(void *arg)
{
	struct job *j = arg;

	j->ret = draw(j->script, &j->e);
	return NULL;
}

static void test_crashes(void)
{
	struct job j = { .script = "pause 20\n" };

	kill(gnuplot_now(), SIGKILL);
	usleep(50000);
	ok(good(), "a gnuplot that died waiting is replaced");
	pthread_create(&j.thread, NULL, run_job, &j);
	usleep(300000);
	kill(gnuplot_now(), SIGKILL);
	pthread_join(j.thread, NULL);
	is(j.e.msg, "gnuplot was ended by signal 9",
	   "one that dies at work is named");
	ok(good(), "... and the next picture is drawn");
}

static void test_queue_and_time(void)
{
	enum { N = PLOTTER_QUEUE + 3 };
	struct job slow = { .script = "while (1) {}\n" GOOD }, j[N];
	int busy = 0, drawn = 0;

	plotter_stop(plotter);
	plotter_time_s = 2;
	start();
	pthread_create(&slow.thread, NULL, run_job, &slow);
	usleep(500000);
	for (int i = 0; i < N; i++) {
		j[i].script = GOOD;
		pthread_create(&j[i].thread, NULL, run_job, &j[i]);
	}
	pthread_join(slow.thread, NULL);
	for (int i = 0; i < N; i++) {
		pthread_join(j[i].thread, NULL);
		busy += j[i].ret == 1;
		drawn += j[i].ret == 0;
	}
	is(slow.e.msg, "gnuplot took longer than 2 s",
	   "a script without end is ended");
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
	gnuplot = gnuplot_now();
	kill(pid, SIGKILL);
	ok(draw(GOOD, &e) && strstr(e.msg, "gone"),
	   "a dead plotter is an error, not a hang");
	ok(draw(GOOD, &e) && strstr(e.msg, "gone"), "... and stays one");
	for (int i = 0; i < 200 && !gone; i++, usleep(10000))
		gone = kill(gnuplot, 0) && errno == ESRCH;
	ok(gone, "its gnuplot ended with it");
	plotter_stop(plotter);
	is_i(child_of(getpid()), 0, "no child is left");
	plotter_stop(NULL);
}

/* --- other gnuplots, other machines ----------------------------------- */

static void with_program(const char *target, const char *why, const char *what)
{
	char jail[160];
	struct err e;

	if (target && symlink(target, "gnuplot"))
		printf("# %s: %s\n", target, strerror(errno));
	plotter = plotter_start(false, jail, &e);
	ok(plotter && draw(GOOD, &e) == -1 && strstr(e.msg, why),
	   "%s: \"%s\"", what, e.msg);
	plotter_stop(plotter);
	unlink("gnuplot");
}

static void test_programs(void)
{
	const char *before = getenv("PATH");
	char *path = strdup(before ? before : "/usr/bin:/bin");
	int text = open("text", O_WRONLY | O_CREAT, 0755);

	close(text);
	setenv("PATH", dir, 1);
	with_program(NULL, "no gnuplot in PATH", "gnuplot is not there");
	with_program("/bin/true", "drew nothing", "gnuplot draws nothing");
	with_program("/bin/false", "status 1", "gnuplot fails");
	with_program("text", "cannot run gnuplot", "gnuplot is no program");
	unlink("text");
	setenv("PATH", path, 1);
	free(path);
}

static int in_child(int (*f)(const char *arg), const char *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int ret = f(arg);

		fflush(stdout);
		_exit(ret);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Where @path is empty. 1: no fonts; 77: not permitted here. */
static int self_test_without(const char *path)
{
	char jail[160];
	struct err e = { "" };
	int ret;

	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", path, "tmpfs", 0, "mode=755"))
		return 77;
	plotter = plotter_start(false, jail, &e);
	ret = plotter ? plotter_self_test(plotter, &e) : -1;
	plotter_stop(plotter);
	if (!ret)
		return 0;
	printf("# %s\n", e.msg);
	return !strcmp(e.msg, "PNG pictures lack text: no fonts are installed")
		? 1 : 2;
}

static void test_fonts(void)
{
	int ret = in_child(self_test_without, "/usr/share/fonts");

	if (ret == 77) {
		skip("missing fonts are found at the start",
		     "a mount namespace is not permitted");
		return;
	}
	is_i(ret, 1, "missing fonts are found at the start, and named");
	is_i(in_child(self_test_without, "/var/cache/fontconfig"), 0,
	     "a font cache that is out of date does no harm");
}

/* --- the jail itself, without gnuplot --------------------------------- */

static void *nothing(void *arg)
{
	return arg;
}

static int escape(const char *program)
{
	char what[JAIL_TEXT], *none[] = { NULL };
	unsigned bad = 0;
	pthread_t t;
	pid_t pid;

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
	bad |= open("mark", O_WRONLY | O_CREAT, 0644) < 0 ? 0 : 1u << 7;
	bad |= open("/dev/null", O_WRONLY) >= 0 ? 0 : 1u << 8;
	bad |= open("/usr/share", O_RDONLY) >= 0 ? 0 : 1u << 9;
	bad |= mkdir("mark", 0755) ? 0 : 1u << 10;
	bad |= !raise(SIGWINCH) ? 0 : 1u << 11;
	bad |= mmap(NULL, 600u << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0) == MAP_FAILED ? 0 : 1u << 12;
	bad |= !pthread_create(&t, NULL, nothing, NULL) ? 0 : 1u << 13;
	if (bad)
		printf("# not as it should be: bits %#x\n", bad);
	return bad != 0;
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
	static const char what[] =
		"no process, socket, program, signal, file or memory";

	if (SANITIZED)
		skip(what, "a sanitizer needs more memory than the jail gives");
	else
		is_i(in_child(escape, "/bin/true"), 0, what);
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

static int start_without_landlock(const char *says)
{
	char jail[160];
	struct err e = { "" };
	bool drawn;

	if (!hide_landlock())
		return 1;
	plotter = plotter_start(false, jail, &e);
	if (plotter || !strstr(e.msg, says))
		return 2;
	plotter = plotter_start(true, jail, &e);
	drawn = plotter && good();
	plotter_stop(plotter);
	return drawn && !strncmp(jail, says, strlen(says)) ? 0 : 3;
}

int main(void)
{
	struct err e = { "" };

	if (!mkdtemp(dir) || chmod(dir, 0777) || chdir(dir))
		return 1;
	setenv("MMTREND_SECRET", "1", 1);
	if (open("/dev/zero", O_RDONLY) < 0)	/* to be leaked, were it so */
		return 1;
	test_programs();
	test_fonts();
	test_jail();
	is_i(in_child(start_without_landlock, "NO landlock (Function not"), 0,
	     "without Landlock it starts only if allowed to, and says what is "
	     "missing");
	start();
	if (!is_i(plotter_self_test(plotter, &e), 0, "the self test passes"))
		printf("# %s\n", e.msg);
	test_inheritance();
	test_vectors();
	test_acceptance();
	test_script_cap();
	test_crashes();
	test_queue_and_time();
	test_death();
	ok(!rmdir(dir), "nothing was written anywhere else");
	return tap_done();
}
