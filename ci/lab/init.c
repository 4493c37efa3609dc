/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lab guest's /init: mounts what the agent reads, runs /plan line by line
 * (one command each, words split at blanks), sends their stdout to the host
 * by the virtio port named "results", after a line "# lab: COMMAND", and powers
 * off. Their stderr and its own words go to the console, which ci/lab/lib.sh
 * reads: "lab: up" and, after each command, "lab: exit N".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 128
#define RAM_DISK "/dev/ram0"	/* ramdisk_size= says how large */

static const struct { const char *type, *dir; } mounts[] = {
	{ "proc", "/proc" }, { "sysfs", "/sys" }, { "devtmpfs", "/dev" },
	{ "debugfs", "/sys/kernel/debug" }, { "tmpfs", "/run" },
	{ "tmpfs", "/tmp" }, { "tmpfs", "/dev/shm" },
};

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].dir, 0755);
		if (mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0, NULL) &&
		    errno != EBUSY)
			printf("lab: mount %s: %s\n", mounts[i].dir,
			       strerror(errno));
	}
}

/* The port called "results"; ports are numbered in order of discovery. */
static int open_results(void)
{
	char path[600], name[16];
	struct dirent *d;
	FILE *f;
	int fd = -1;
	DIR *dir = opendir("/sys/class/virtio-ports");

	while (fd < 0 && dir && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name",
			 d->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && !strcmp(name, "results\n")) {
			snprintf(path, sizeof(path), "/dev/%s", d->d_name);
			fd = open(path, O_WRONLY | O_CLOEXEC);
		}
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* Swap in memory, for the selftests that page out: only where the kernel's
 * command line asked for a RAM disk. The header is what mkswap(8) writes. */
static void swap_on(void)
{
	char page[65536] = { 0 }, cmdline[4096] = "";
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	FILE *f = fopen("/proc/cmdline", "r");
	int *info = (int *)(page + 1024), fd = -1;	/* version, last page */
	off_t bytes;

	if (f && fgets(cmdline, sizeof(cmdline), f) &&
	    strstr(cmdline, "ramdisk_size="))
		fd = open(RAM_DISK, O_RDWR | O_CLOEXEC);
	if (f)
		fclose(f);
	if (fd < 0)
		return;
	bytes = lseek(fd, 0, SEEK_END);
	info[0] = 1;
	info[1] = (int)(bytes / (off_t)len) - 1;
	memcpy(page + len - 10, "SWAPSPACE2", 10);
	if (pwrite(fd, page, len, 0) != (ssize_t)len || swapon(RAM_DISK, 0))
		printf("lab: swap on " RAM_DISK ": %s\n", strerror(errno));
	close(fd);
}

static int run(char *line, int results)
{
	char *words[MAX_WORDS + 1];
	int n = 0, status;
	pid_t pid;

	for (char *w = strtok(line, " \n"); w && n < MAX_WORDS;
	     w = strtok(NULL, " \n"))
		words[n++] = w;
	words[n] = NULL;
	if (!n)
		return 0;
	dprintf(results, "# lab: %s\n", words[0]);
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		dup2(results, STDOUT_FILENO);
		execv(words[0], words);
		fprintf(stderr, "lab: %s: %s\n", words[0], strerror(errno));
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void)
{
	char line[4096];
	int results;
	FILE *plan;

	setlinebuf(stdout);
	mount_all();
	swap_on();
	results = open_results();
	plan = fopen("/plan", "re");
	if (results < 0 || !plan)
		printf("lab: no %s\n", plan ? "port for the results" : "plan");
	else
		printf("\nlab: up\n");	/* not behind the firmware's words */
	while (results >= 0 && plan && fgets(line, sizeof(line), plan))
		printf("lab: exit %d\n", run(line, results));
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
