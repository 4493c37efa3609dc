/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A QEMU plugin: guest instructions by kernel function, exact. ci/lab/why cuts
 * them into sections at the agent's reading of the clock:
 *     -plugin insns.so,map=System.map,mark=HEX,out=FILE
 * At each call of the function at address @mark, FILE gets a line
 * "section TOTAL" and a line "COUNT FUNCTION" for each function that ran since
 * the call before; what lies below the kernel's addresses is "(user space)".
 *
 * QEMU's packages carry no header; the few declarations below are those of its
 * documented plugin interface, tried with 7.2 (version 1). -DPLUGIN_VERSION=2
 * is what QEMU 9 and later ask for; the calls used here are the same there.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif
#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*tb_trans_fn)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*tb_exec_fn)(unsigned int cpu, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_fn fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  tb_exec_fn fn,
					  enum qemu_plugin_cb_flags flags,
					  void *data);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);

EXPORT int qemu_plugin_version = PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			       char **argv);

static struct function {
	uint64_t addr, insns;
	char name[64];
} *functions;			/* by address; [0] is user space */
static size_t nfunctions;
static uint64_t mark;
static FILE *out;

/* What one execution of a translated block adds; blocks live as long as QEMU
 * does. */
struct block {
	struct function *of;
	uint64_t insns;
};

static void dump(void)
{
	uint64_t total = 0;

	for (size_t i = 0; i < nfunctions; i++)
		total += functions[i].insns;
	fprintf(out, "section %" PRIu64 "\n", total);
	for (size_t i = 0; i < nfunctions; i++) {
		if (functions[i].insns)
			fprintf(out, "%" PRIu64 " %s\n", functions[i].insns,
				functions[i].name);
		functions[i].insns = 0;
	}
	fflush(out);
}

static void count(unsigned int cpu, void *data)
{
	const struct block *b = data;

	(void)cpu;
	b->of->insns += b->insns;
}

static void cut(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	dump();
}

static struct function *find(uint64_t addr)
{
	size_t low = 0, high = nfunctions;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (functions[mid].addr <= addr)
			low = mid;
		else
			high = mid;
	}
	return &functions[low];
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	struct block *b = malloc(sizeof(*b));

	(void)id;
	if (!b)
		abort();
	b->of = find(addr);
	b->insns = qemu_plugin_tb_n_insns(tb);
	if (addr == mark)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, cut,
						     QEMU_PLUGIN_CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count, QEMU_PLUGIN_CB_NO_REGS, b);
}

static int by_addr(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* The text symbols of System.map; of several at one address, one. */
static int read_map(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512], type;
	struct function fn = { .name = "(user space)" };
	size_t room = 1 << 18;

	functions = calloc(room, sizeof(*functions));
	if (!f || !functions)
		return -1;
	functions[nfunctions++] = fn;
	while (nfunctions < room && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %c %63s", &fn.addr, &type,
			   fn.name) == 3 && strchr("tTwW", type) &&
		    fn.addr >> 63)
			functions[nfunctions++] = fn;
	fclose(f);
	qsort(functions, nfunctions, sizeof(*functions), by_addr);
	return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			char **argv)
{
	const char *map = NULL;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "map=", 4))
			map = argv[i] + 4;
		else if (!strncmp(argv[i], "mark=", 5))
			mark = strtoull(argv[i] + 5, NULL, 16);
		else if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	}
	if (!map || !mark || !out || read_map(map)) {
		fprintf(stderr, "insns: expected map=, mark= and out=\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
