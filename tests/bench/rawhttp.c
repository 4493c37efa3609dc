/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Send the bytes of stdin to a port of loopback as they are, print what comes
 * back, and say on the last line how the connection ended:
 *     # closed 12 ms      the server closed it
 *     # open 3000 ms      it was still open after -t seconds
 * What no decent HTTP client can send: doubled headers, drips, silence.
 *
 * rawhttp [-d MS] [-c BYTES] [-t SECONDS] PORT
 *   -d, -c   send BYTES (default 1), wait MS, and so on; default: all at once
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_INPUT (4u << 20)

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static int connect_to(const char *port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror("rawhttp: connect");
		exit(2);
	}
	return fd;
}

/* Print what is there within @wait_ms; -1: the server closed. */
static int receive(int fd, int64_t wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t until = now_ms() + wait_ms;
	char chunk[65536];

	do {
		int64_t left = until - now_ms();
		ssize_t n;

		if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0)
			return 0;
		n = recv(fd, chunk, sizeof(chunk), 0);
		if (n <= 0)
			return -1;
		fwrite(chunk, 1, (size_t)n, stdout);
	} while (now_ms() < until);
	return 0;
}

int main(int argc, char **argv)
{
	int64_t start = now_ms(), drip_ms = 0, limit_s = 10;
	size_t step = 0, len, at = 0;
	char *input = malloc(MAX_INPUT);
	int opt, fd, closed = 0;

	while ((opt = getopt(argc, argv, "d:c:t:")) != -1) {
		if (opt == 'd')
			drip_ms = strtoll(optarg, NULL, 10);
		else if (opt == 'c')
			step = strtoul(optarg, NULL, 10);
		else if (opt == 't')
			limit_s = strtoll(optarg, NULL, 10);
		else
			return 2;
	}
	if (!input || optind + 1 != argc)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	len = fread(input, 1, MAX_INPUT, stdin);
	fd = connect_to(argv[optind]);
	if (!step)
		step = drip_ms ? 1 : len;
	while (at < len && !closed) {
		size_t n = len - at < step ? len - at : step;
		ssize_t sent = send(fd, input + at, n, 0);

		at += sent > 0 ? (size_t)sent : 0;
		closed = sent <= 0 || receive(fd, at < len ? drip_ms : 0);
	}
	while (!closed && now_ms() - start < limit_s * 1000)
		closed = receive(fd, 100);
	printf("\n# %s %lld ms\n", closed ? "closed" : "open",
	       (long long)(now_ms() - start));
	close(fd);
	free(input);
	return 0;
}
