/* SPDX-License-Identifier: GPL-2.0-only */
/* The loops of chase.h. */
#include "chase.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/size.h"
#include "../dev.h"

/* Knuth's MMIX generator: modulo any power of two its period is full. */
#define MULTIPLY 6364136223846793005u
#define ADD 1442695040888963407u

#define STRIDE_MIN (2 * sizeof(uint64_t))
#define STRIDE_MAX (64u << 10)

int chase_check(uint64_t stride_bytes, struct err *e)
{
	char least[SIZE_TEXT], most[SIZE_TEXT], is[SIZE_TEXT];

	if (stride_bytes >= STRIDE_MIN && stride_bytes <= STRIDE_MAX &&
	    !(stride_bytes & (stride_bytes - 1)))
		return 0;
	return err_set(e, "stride: expected a power of two from %s to %s, got "
		       "%s", size_text(STRIDE_MIN, least),
		       size_text(STRIDE_MAX, most),
		       size_text(stride_bytes, is));
}

void chase_init(struct chase *c, const void *memory, uint64_t bytes,
		uint64_t stride_bytes)
{
	unsigned shift = (unsigned)__builtin_ctzll(stride_bytes);
	unsigned bits = 63 - (unsigned)__builtin_clzll(bytes) - shift;

	*c = (struct chase){
		.from = (const unsigned char *)memory + sizeof(uint64_t),
		.mask = (1ull << bits) - 1,
		.line_shift = shift,
		.mix_shift = (bits + 1) / 2,
	};
}

/* The generator's low bits repeat soon, and are the line within a page: so the
 * high ones are mixed into them, which keeps every line distinct. */
uint64_t chase_loads(struct chase *c, uint64_t loads)
{
	uint64_t at = c->at, line = 0;

	for (uint64_t i = 0; i < loads; i++) {
		at = (at * MULTIPLY + ADD) & c->mask;
		line = at ^ at >> c->mix_shift;
		at += *(const volatile uint64_t *)(c->from +
						   (line << c->line_shift));
	}
	c->at = at;
	return line;
}

void chase_copy(unsigned char *memory, size_t len)
{
	memcpy(memory + len / 2, memory, len / 2);
	memcpy(memory, memory + len / 2, len / 2);
}

void chase_copy_out(const unsigned char *memory, size_t len, unsigned char *to,
		    size_t to_len)
{
	for (size_t off = 0; off < len; off += to_len) {
		size_t left = len - off;

		memcpy(to, memory + off, left < to_len ? left : to_len);
	}
}

int chase_fork(int64_t *ns, struct err *e)
{
	int64_t start = dev_now_ns();
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	*ns = chase_lap(&start);
	if (pid < 0)
		return err_set(e, "fork: %s", strerror(errno));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

int64_t chase_lap(int64_t *start)
{
	int64_t was = *start;

	*start = dev_now_ns();
	return *start - was;
}
