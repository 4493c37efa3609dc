/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bad network in front of a server on loopback, for tests: each connection
 * carries one request, and a dice that --seed fixes says what becomes of it.
 *
 * chaos --to PORT [--seed N] [--drop PM] [--lose PM] [--busy PM] [--cut PM]
 *       [--hang PM]          per mille of connections
 * chaos --redirect URL       answer every request 307 to URL
 *
 * Prints its own port, then serves until it is killed; says on stderr how it
 * spoils each connection.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_MAX (4u << 20)

enum fate { PASS, DROP, LOSE, BUSY, CUT, HANG, FATES };

static const char *const options[FATES] = {
	[DROP] = "--drop",	/* the request never arrives */
	[LOSE] = "--lose",	/* it arrives, the answer does not come back */
	[BUSY] = "--busy",	/* 503, Retry-After 0 or 1, nothing forwarded */
	[CUT] = "--cut",	/* half of the answer */
	[HANG] = "--hang",	/* passed, after a moment */
};
static int per_mille[FATES], to_port;
static unsigned seed = 1;
static const char *redirect;

static const char redirected[] = "HTTP/1.1 307 Temporary Redirect\r\n"
	"Content-Length: 0\r\nConnection: close\r\nLocation: ";
static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\n"
	"Content-Length: 0\r\nConnection: close\r\nRetry-After: ";

static enum fate roll(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	enum fate f;
	int dice;

	pthread_mutex_lock(&lock);
	dice = rand_r(&seed) % 1000;
	pthread_mutex_unlock(&lock);
	for (f = DROP; f < FATES; f++) {
		if (dice < per_mille[f])
			return f;
		dice -= per_mille[f];
	}
	return PASS;
}

static int put(int fd, const char *s, size_t len)
{
	while (len) {
		ssize_t n = send(fd, s, len, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		s += n;
		len -= (size_t)n;
	}
	return 0;
}

/* One whole request, by its Content-Length; 0: the client went away. */
static size_t read_request(int fd, char *buf, size_t *head)
{
	size_t len = 0, want = 0;

	*head = 0;
	while (!*head || len < *head + want) {
		ssize_t n = recv(fd, buf + len, MESSAGE_MAX - 1 - len, 0);
		const char *end, *cl;

		if (n <= 0)
			return 0;
		len += (size_t)n;
		buf[len] = '\0';
		end = strstr(buf, "\r\n\r\n");
		if (*head || !end)
			continue;
		*head = (size_t)(end - buf) + 4;
		cl = strcasestr(buf, "\r\nContent-Length:");
		if (cl && cl < end)
			want = strtoul(cl + 17, NULL, 10);
	}
	return len;
}

static int connect_to(int port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || !connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		return fd;
	close(fd);
	return -1;
}

/* Forward with "Connection: close", so that the answer ends with its stream. */
static size_t ask(char *buf, size_t len, size_t head)
{
	static const char close_it[] = "Connection: close\r\n";
	int fd = connect_to(to_port);
	size_t got = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	if (!put(fd, buf, head - 2) && !put(fd, close_it, strlen(close_it)) &&
	    !put(fd, buf + head - 2, len - head + 2))
		while ((n = recv(fd, buf + got, MESSAGE_MAX - got, 0)) > 0)
			got += (size_t)n;
	close(fd);
	return got;
}

static void serve(int fd, char *buf)
{
	enum fate fate = roll();
	size_t head, len;

	if (fate != PASS)
		fprintf(stderr, "%s\n", options[fate] + 2);
	if (fate == DROP || !(len = read_request(fd, buf, &head)))
		return;
	if (fate == HANG)
		nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	if (redirect)
		len = (size_t)snprintf(buf, MESSAGE_MAX, "%s%s\r\n\r\n",
				       redirected, redirect);
	else if (fate == BUSY)
		len = (size_t)snprintf(buf, MESSAGE_MAX, "%s%zu\r\n\r\n", busy,
				       len % 2);
	else
		len = ask(buf, len, head);
	if (fate == LOSE)
		return;
	put(fd, buf, fate == CUT ? len / 2 : len);
}

static void *connection(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char *buf = malloc(MESSAGE_MAX);

	if (buf)
		serve(fd, buf);
	free(buf);
	close(fd);
	return NULL;
}

static int listen_any(int *port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sin, sizeof(sin)) ||
	    listen(fd, 64) || getsockname(fd, (struct sockaddr *)&sin, &len))
		return -1;
	*port = ntohs(sin.sin_port);
	return fd;
}

static int parse(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		const char *v = argv[i + 1];
		bool known = true;

		if (!strcmp(argv[i], "--to"))
			to_port = atoi(v);
		else if (!strcmp(argv[i], "--seed"))
			seed = (unsigned)strtoul(v, NULL, 10);
		else if (!strcmp(argv[i], "--redirect"))
			redirect = v;
		else
			known = false;
		for (int f = DROP; f < FATES && !known; f++) {
			known = !strcmp(argv[i], options[f]);
			if (known)
				per_mille[f] = atoi(v);
		}
		if (!known)
			return -1;
	}
	return argc % 2 && (to_port || redirect) ? 0 : -1;
}

int main(int argc, char **argv)
{
	int fd, port;

	if (parse(argc, argv)) {
		fputs("usage: chaos --to PORT | --redirect URL [--seed N] "
		      "[--drop|--lose|--busy|--cut|--hang PER_MILLE]...\n", stderr);
		return 64;
	}
	fd = listen_any(&port);
	if (fd < 0) {
		perror("chaos");
		return 1;
	}
	printf("%d\n", port);
	fflush(stdout);
	for (;;) {
		int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		pthread_t t;

		if (c < 0)
			continue;
		if (pthread_create(&t, NULL, connection, (void *)(intptr_t)c))
			close(c);
		else
			pthread_detach(t);
	}
}
