/* SPDX-License-Identifier: GPL-2.0-only */
/* The one table of what is known of machine, kernel and quietness. */
#include "facts.h"

#include "../common/size.h"

#define AT(n, k, field) .name = (n), .kind = FACT_##k, \
	.at = offsetof(struct record, field)
#define HEAD(n)			{ .name = (n), .kind = FACT_HEAD }
#define OWN(n, k, field)	{ AT(n, k, field) }
#define SHARED(n, k, field)	{ AT(n, k, field), .side = FACT_SHARED }
/* Those that host.c fills; then: why, side, lead, tail. */
#define BOOT(n, k, field, ...) \
	{ AT(n, k, boot.field), .path = "/boot/" #field, __VA_ARGS__ }
#define EPOCH(n, k, field, y, ...) { AT(n, k, host.epoch.field), \
	.path = "/host/epoch/" #field, y, FACT_NEEDED, __VA_ARGS__ }
#define VOL(n, k, field, ...) { AT(n, k, host.vol.field), \
	.path = "/host/volatile/" #field, __VA_ARGS__ }
#define KERNEL(n, k, field, ...) \
	{ AT(n, k, kernel.field), .path = "/kernel/" #field, __VA_ARGS__ }

#define CPU	"/sys/devices/system/cpu/"

const struct fact facts[] = {
	HEAD("machine"),
	SHARED("label", TEXT, host.label),
	EPOCH("arch", TEXT, arch, NULL, "", ""),
	EPOCH("cpus", NUMBER, cpus, CPU "online cannot be read", "", " CPU"),
	EPOCH("cpu", TEXT, cpu, NULL, "", ""),
	EPOCH("family", NUMBER, family, NULL, NULL, NULL),
	EPOCH("model", NUMBER, model, NULL, NULL, NULL),
	EPOCH("stepping", NUMBER, stepping, NULL, NULL, NULL),
	EPOCH("hypervisor", TEXT, hypervisor, "only x86 CPUID names one, and it "
	      "names none that is known", "hypervisor ", ""),
	EPOCH("nodes", NUMBER, nodes,
	      "/sys/devices/system/node/online cannot be read", "", " node"),
	EPOCH("memory", SIZE, ram_bytes, NULL, "", ""),
	EPOCH("base page", SIZE, base_page_bytes, NULL, NULL, NULL),
	EPOCH("pmd", SIZE, pmd_bytes, "no transparent huge pages in this kernel",
	      NULL, NULL),
	HEAD("kernel"),
	OWN("release", TEXT, kernel.release),
	OWN("version", TEXT, kernel.version),
	KERNEL("commit", TEXT, commit, "not given, and not in the version string"),
	KERNEL("dirty", NUMBER, dirty, "no commit in the version string"),
	KERNEL("tree", TEXT, tree, "not given"),
	KERNEL("push", TEXT, push, "not given"),
	OWN("patches", WORDS, kernel.patches),
	KERNEL("build id", TEXT, build_id,
	       "/sys/kernel/notes cannot be read, or holds no GNU build id"),
	KERNEL("tree hash", TEXT, tree_hash, "not given"),
	OWN("folio sizes", SIZES, kernel.folio_bytes),
	KERNEL("compiler", TEXT, compiler, "/proc/version does not say",
	       FACT_EXACT, "", ""),
	KERNEL("linker", TEXT, linker, "/proc/version does not say", FACT_SHARED),
	KERNEL("hz", NUMBER, hz, "config not readable", FACT_SHARED, "HZ ", ""),
	KERNEL("config", HASH, config_sha256, NULL, FACT_SHARED, "config ", ""),
	KERNEL("preempt", TEXT, preempt, "config not readable", FACT_SHARED,
	       "preempt ", ""),
	HEAD("settings"),
	VOL("emulator", TEXT, emulator, "not given", FACT_EXACT, "", ""),
	VOL("mitigations", TEXT, mitigations,
	    CPU "vulnerabilities cannot be read", FACT_SHARED, "mitigations ", ""),
	VOL("governor", TEXT, governor, "no cpufreq driver", FACT_SHARED,
	    "governor ", ""),
	VOL("turbo", TEXT, turbo, "no cpufreq driver", FACT_SHARED, "turbo ", ""),
	VOL("smt", TEXT, smt, NULL, FACT_SHARED, "smt ", ""),
	VOL("swap", SIZE, swap_bytes, NULL),
	VOL("microcode", TEXT, microcode, NULL, FACT_SHARED),
	VOL("clocksource", TEXT, clocksource, NULL, FACT_SHARED),
	VOL("cmdline", HASH, cmdline_sha256, "/proc/cmdline cannot be read",
	    FACT_SHARED),
	SHARED("mmtrend", TEXT, agent.version),
	HEAD("quietness"),
	BOOT("boot", TEXT, id,
	     "/proc/sys/kernel/random/boot_id cannot be read"),
	BOOT("uptime ns", NUMBER, uptime_ns, "/proc/uptime cannot be read"),
	OWN("cpu", NUMBER, quiet.cpu),
	OWN("scheduler", TEXT, quiet.sched),
	OWN("order seed", NUMBER, quiet.order_seed),
	OWN("load", MILLI, quiet.load_1m_milli),
	OWN("steal ppm", NUMBER, quiet.steal_ppm),
	OWN("involuntary switches", NUMBER, quiet.involuntary_switches),
	OWN("rt throttled", NUMBER, quiet.rt_throttled),
	OWN("temperature C", MILLI, quiet.temperature_mc),
	OWN("taint", NUMBERS, quiet.taint),
};
const size_t facts_count = sizeof(facts) / sizeof(facts[0]);

bool fact_is_null(const struct fact *f, const struct record *r)
{
	const void *at = (const char *)r + f->at;

	return f->kind == FACT_TEXT || f->kind == FACT_HASH ?
	       !*(char *const *)at : *(const int64_t *)at == RECORD_NULL;
}

void fact_text(const struct fact *f, const struct record *r, struct buf *out)
{
	const void *at = (const char *)r + f->at;
	bool text = f->kind == FACT_TEXT || f->kind == FACT_HASH;
	const struct record_strings *words = at;
	const struct record_ints *list = at;
	struct record_ints one = { (int64_t[]){ 0 }, 0 };
	char s[SIZE_TEXT];

	if (text && *(char *const *)at)
		buf_str(out, *(char *const *)at);
	for (size_t i = 0; f->kind == FACT_WORDS && i < words->n; i++)
		buf_printf(out, "%s%s", i ? " " : "", words->v[i]);
	if (text || f->kind == FACT_WORDS)
		return;
	if (f->kind == FACT_NUMBER || f->kind == FACT_SIZE) {
		one.v[0] = *(const int64_t *)at;
		one.n = one.v[0] != RECORD_NULL;
		list = &one;
	}
	for (size_t i = 0; i < list->n; i++) {
		buf_str(out, i ? " " : "");
		if (f->kind == FACT_SIZE || f->kind == FACT_SIZES)
			buf_str(out, size_text((uint64_t)list->v[i], s));
		else if (f->kind == FACT_MILLI)
			buf_printf(out, "%.2f", (double)list->v[i] / 1e3);
		else
			buf_i64(out, list->v[i]);
	}
}
