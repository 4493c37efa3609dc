/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SERVER_JAIL_H
#define SERVER_JAIL_H
/*
 * What a gnuplot may do, in two steps, since each holds for all children: the
 * plotter gives up files, network and its user once; each gnuplot gives up
 * processes, signals and resources just before it is executed.
 *
 * A gnuplot script can run a shell in a dozen ways and upstream offers no safe
 * mode, so nothing here relies on what the script says.
 */
#include <stdbool.h>

#define JAIL_TEXT 160

/*
 * No new privileges, Landlock (execute @program and read libraries and fonts,
 * write /dev/null, no TCP), another user if root. @what names what holds and
 * what this kernel lacks. False: Landlock or seccomp is missing.
 */
bool jail_files(const char *program, char what[JAIL_TEXT]);

/*
 * Limits on memory, CPU, output and open files, then seccomp: no new process,
 * socket, signal to others, mount or key; execve() only by this very @program
 * pointer. -1 with errno: the limits hold, seccomp does not.
 */
int jail_calls(const char *program);

#endif
