/* SPDX-License-Identifier: GPL-2.0-only */
/* Confines a gnuplot: Landlock for files, seccomp for calls, limits. */
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY		65534
#define X32_BIT		0x40000000u

#define FILE_R	LANDLOCK_ACCESS_FS_READ_FILE
#define FILE_X	(FILE_R | LANDLOCK_ACCESS_FS_EXECUTE)
#define DIR_R	(FILE_R | LANDLOCK_ACCESS_FS_READ_DIR)
#define DIR_X	(FILE_X | LANDLOCK_ACCESS_FS_READ_DIR)

/* What is not here can be neither read nor written; absent paths are fine. */
static const struct {
	const char *path;
	uint64_t access;
} paths[] = {
	{ "/lib", DIR_X },		/* the dynamic loader is executed */
	{ "/lib64", DIR_X },
	{ "/usr/lib", DIR_X },
	{ "/usr/lib64", DIR_X },
	{ "/usr/local/lib", DIR_X },
	{ "/usr/share", DIR_R },	/* fonts, gnuplot's own files */
	{ "/usr/local/share", DIR_R },
	{ "/etc/fonts", DIR_R },
	{ "/etc/ld.so.cache", FILE_R },
	{ "/var/cache/fontconfig", DIR_R },
	{ "/dev/null", FILE_R | LANDLOCK_ACCESS_FS_WRITE_FILE },
};

/* What a ruleset of each ABI handles, in numbers since headers may be older:
 * all of the file system, TCP, then sockets and signals of others. */
static const struct ruleset {
	uint64_t fs, net, scoped;
} rulesets[] = {
	{ 0, 0, 0 }, { 0x1fff, 0, 0 }, { 0x3fff, 0, 0 }, { 0x7fff, 0, 0 },
	{ 0x7fff, 3, 0 }, { 0xffff, 3, 0 }, { 0xffff, 3, 3 },
};

#define NEWEST	((long)(sizeof(rulesets) / sizeof(*rulesets)) - 1)

static int allow_path(int rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = access,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};
	int ret;

	if (rule.parent_fd < 0)
		return errno == ENOENT ? 0 : -1;
	ret = (int)syscall(SYS_landlock_add_rule, rules,
			   LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
	return ret;
}

/* The ABI in force, or -1 with errno. */
static long landlock(const char *program)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);
	int rules, failed;

	if (abi < 1)
		return -1;
	rules = (int)syscall(SYS_landlock_create_ruleset,
			     &rulesets[abi < NEWEST ? abi : NEWEST],
			     sizeof(*rulesets), 0);
	if (rules < 0)
		return -1;
	failed = allow_path(rules, program, FILE_X);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		failed |= allow_path(rules, paths[i].path, paths[i].access);
	if (!failed)
		failed = (int)syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
	return failed ? -1 : abi;
}

static bool drop_root(void)
{
	return getuid() == 0 && !setgroups(0, NULL) &&
	       !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(NOBODY, NOBODY, NOBODY);
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0		/* untried, so none */
#endif

static bool seccomp_works(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return ARCH && !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0,
				&action);
}

bool jail_files(const char *program, char what[JAIL_TEXT])
{
	bool nnp = !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	long abi = landlock(program);
	int why = errno;
	bool calls = nnp && seccomp_works();
	char number[24];

	snprintf(number, sizeof(number), "abi %ld", abi);
	snprintf(what, JAIL_TEXT, "%slandlock (%s), %sseccomp, limits%s",
		 abi > 0 ? "" : "NO ", abi > 0 ? number : strerror(why),
		 calls ? "" : "NO ", drop_root() ? ", user nobody" : "");
	return abi > 0 && calls;
}

static const struct {
	unsigned what;
	rlim_t max;
} limits[] = {
	{ RLIMIT_CPU, 10 },		/* seconds */
	{ RLIMIT_FSIZE, 16u << 20 },
	{ RLIMIT_NOFILE, 64 },
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_AS, 512u << 20 },
};

/* Answered with EPERM. New numbers stay allowed: Landlock bounds the harm. */
static const uint16_t denied[] = {
#ifdef SYS_fork
	SYS_fork, SYS_vfork,
#endif
	SYS_execveat, SYS_socket, SYS_socketpair, SYS_connect, SYS_bind,
	SYS_listen, SYS_accept, SYS_accept4, SYS_ptrace, SYS_kill, SYS_tkill,
	SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open,
	SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_mount, SYS_umount2,
	SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_fsopen,
	SYS_unshare, SYS_setns, SYS_bpf, SYS_io_uring_setup,
	SYS_io_uring_enter, SYS_io_uring_register, SYS_process_vm_readv,
	SYS_process_vm_writev, SYS_keyctl, SYS_add_key, SYS_request_key,
	SYS_perf_event_open, SYS_userfaultfd, SYS_init_module,
	SYS_finit_module, SYS_kexec_load,
};

#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
				 offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
				  offsetof(struct seccomp_data, field) + 4)
#define IF(op, k, skip_true, skip_false) \
	BPF_JUMP(BPF_JMP | (op) | BPF_K, (k), (skip_true), (skip_false))
#define ANSWER(action)	BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE(no)	ANSWER(SECCOMP_RET_ERRNO | (no))
#define ALLOW		ANSWER(SECCOMP_RET_ALLOW)
#define NDENIED		(sizeof(denied) / sizeof(*denied))

/*
 * Threads are allowed: pngcairo starts some. clone3() hides its flags in
 * memory, so it "does not exist" and libc falls back to clone(). abort() needs
 * tgkill() of oneself.
 */
static int seccomp_on(const char *program)
{
	const uint64_t exec = (uint64_t)(uintptr_t)program;
	const struct sock_filter head[] = {
		LOAD(arch),
		IF(BPF_JEQ, ARCH, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		IF(BPF_JGE, X32_BIT, 0, 1), REFUSE(EPERM),
		IF(BPF_JEQ, SYS_clone3, 0, 1), REFUSE(ENOSYS),
		IF(BPF_JEQ, SYS_clone, 0, 4), LOAD(args[0]),
			IF(BPF_JSET, CLONE_THREAD, 0, 1), ALLOW, REFUSE(EPERM),
		IF(BPF_JEQ, SYS_tgkill, 0, 4), LOAD(args[0]),
			IF(BPF_JEQ, (uint32_t)getpid(), 0, 1), ALLOW,
			REFUSE(EPERM),
		IF(BPF_JEQ, SYS_execve, 0, 6), LOAD(args[0]),
			IF(BPF_JEQ, (uint32_t)exec, 0, 3), LOAD_HIGH(args[0]),
			IF(BPF_JEQ, (uint32_t)(exec >> 32), 0, 1), ALLOW,
			REFUSE(EPERM),
	};
	const size_t nhead = sizeof(head) / sizeof(*head);
	struct sock_filter code[sizeof(head) / sizeof(*head) + 2 * NDENIED + 1];
	struct sock_filter *next = code + nhead;
	struct sock_fprog prog = { .filter = code };

	memcpy(code, head, sizeof(head));
	for (size_t i = 0; i < NDENIED; i++) {
		*next++ = (struct sock_filter)IF(BPF_JEQ, denied[i], 0, 1);
		*next++ = (struct sock_filter)REFUSE(EPERM);
	}
	*next++ = (struct sock_filter)ALLOW;
	prog.len = (unsigned short)(next - code);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

/* The memory limit comes last: a sanitizer's fork may still be over it. */
int jail_calls(const char *program)
{
	int ret = seccomp_works() ? seccomp_on(program) : -1;
	int why = errno;

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct rlimit l = { limits[i].max, limits[i].max };

		setrlimit(limits[i].what, &l);
	}
	errno = why;
	return ret;
}
