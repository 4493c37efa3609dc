/* SPDX-License-Identifier: GPL-2.0-only */
/* host.c and quiet.c over a fake machine: facts, reasons, refusals, privacy. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "../../agent/host.h"
#include "../../agent/quiet.h"
#include "../agent/fakedev.h"
#include "../tap.h"

#define SHA "0123456789abcdef0123456789abcdef01234567"

static char root[] = "/tmp/mmtrend-host.XXXXXX";
static struct err e;
static const struct mthp sizes = {
	.base_bytes = 4096, .pmd_bytes = 2097152, .bytes = { 65536, 2097152 }, .n = 2,
};

static const char x86_cpuinfo[] =
	"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
	"model\t\t: 17\nmodel name\t: AMD EPYC 9654   \nstepping\t: 1\n"
	"microcode\t: 0xa101148\nflags\t\t: fpu vme sse2\n\n"
	"processor\t: 1\ncpu family\t: 99\n";

static const char arm_cpuinfo[] =
	"processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n"
	"CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
	"CPU part\t: 0xd0c\nCPU revision\t: 1\n";

static const char config[] =
	"# Linux/x86 6.18.44\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n"
	"CONFIG_PREEMPT_NONE=y\n# CONFIG_KASAN is not set\n";

/* A file of exact bytes in the fake tree; gzip'd if asked. */
static void bytes(const char *path, const void *data, unsigned len, bool gz)
{
	char full[512];
	gzFile f;

	fake_file(path, "");
	snprintf(full, sizeof(full), "%s%s", root, path);
	f = gzopen(full, gz ? "wb" : "wbT");
	gzwrite(f, data, len);
	gzclose(f);
}

static void machine(void)
{
	static const unsigned char notes[] =
		"\4\0\0\0\4\0\0\0\1\0\0\0Xen\0\1\2\3\4"		/* not it */
		"\4\0\0\0\10\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef\0\1\2\12";

	fake_tree(root, 4096);
	fake_file("/var/lib/mmtrend/host-id", "0badcafe");
	fake_file("/proc/cpuinfo", x86_cpuinfo);
	fake_file("/proc/meminfo", "MemTotal:       24684096 kB\nSwapTotal:  1024 kB");
	fake_file("/proc/cmdline", "root=/dev/vda quiet");
	fake_file("/proc/uptime", "5123.25 9000.00");
	fake_file("/proc/version", "Linux version 6.18.44 (jane@doe.example) "
		  "(gcc (GCC) 15.3.0, GNU ld (GNU Binutils) 2.46) #1 SMP");
	fake_file("/proc/loadavg", "0.25 0.10 0.05 1/90 1234");
	fake_file("/proc/sys/kernel/arch", "x86_64");
	fake_file("/proc/sys/kernel/osrelease", "6.18.44");
	fake_file("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC");
	fake_file("/proc/sys/kernel/tainted", "0");
	fake_file("/proc/sys/kernel/hostname", "doe.example");
	fake_file("/proc/sys/kernel/random/boot_id",
		  "9b1d5f0a-7c3e-42d8-aaaa-bbbbccccdddd");
	fake_file("/sys/devices/system/cpu/online", "0-3,8");
	fake_file("/sys/devices/system/node/online", "0-1");
	fake_file("/sys/devices/system/cpu/vulnerabilities/mds", "Not affected");
	fake_file("/sys/devices/system/cpu/vulnerabilities/meltdown",
		  "Mitigation: PTI");
	fake_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
	fake_file("/sys/devices/system/cpu/intel_pstate/no_turbo", "1");
	fake_file("/sys/devices/system/cpu/smt/active", "0");
	fake_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  "tsc");
	bytes("/sys/kernel/notes", notes, sizeof(notes) - 1, false);
	bytes("/proc/config.gz", config, sizeof(config) - 1, true);
}

static struct record *fill(const char *label, const char *commit)
{
	struct host_opts o = { .label = label, .commit = commit, .tree = "mm" };
	struct record *r = record_new();

	e.msg[0] = '\0';
	if (!host_fill(r, &o, &sizes, &e))
		return r;
	record_free(r);
	return NULL;
}

static const char *why(const struct record *r, const char *path)
{
	for (size_t i = 0; i < r->nunread; i++)
		if (!strcmp(r->unread[i].path, path))
			return r->unread[i].reason;
	return NULL;
}

/* The rest of a document, so that it can be written. */
static bool writes(struct record *r, struct buf *b)
{
	char id[37];

	host_uuid(id);
	r->schema = record_dup(r, "mmtrend.run/1");
	r->id = record_dup(r, id);
	r->clock = record_dup(r, "monotonic");
	return ok(!record_write(r, b, &e), "what host.c fills keeps to the schema") ||
	       (printf("# %s\n", e.msg), false);
}

static void test_facts(void)
{
	struct record *r = fill(NULL, NULL);
	struct record_epoch *ep = &r->host.epoch;
	char hex[65];

	is(r->host.label, "host-0badcafe", "the label comes from the kept id");
	is(ep->arch, "x86_64", "arch");
	is(ep->cpu, "AMD EPYC 9654", "model name without trailing blanks");
	is_i(ep->family, 25, "family is of the first CPU");
	is_i(ep->model, 17, "\"model\" is not \"model name\"");
	is_i(ep->stepping, 1, "stepping");
	is_i(ep->cpus, 5, "0-3,8 are five CPUs");
	is_i(ep->nodes, 2, "nodes");
	is_i(ep->ram_bytes, 25769803776, "24684096 kB round up to 24 GiB");
	is_i(ep->pmd_bytes, 2097152, "pmd");
	is(ep->hypervisor, "none", "no hypervisor flag, no hypervisor");
	is(r->host.vol.microcode, "0xa101148", "microcode");
	is(r->host.vol.mitigations, "on", "one mitigation is on");
	is(r->host.vol.governor, "performance", "governor");
	is(r->host.vol.turbo, "off", "no_turbo 1 is turbo off");
	is(r->host.vol.smt, "off", "smt");
	is_i(r->host.vol.swap_bytes, 1 << 20, "swap in bytes");
	is(r->kernel.release, "6.18.44", "release");
	is(r->kernel.build_id, "deadbeef0001020a",
	   "GNU note, not the one before; a last byte that is a newline counts");
	is(r->kernel.compiler, "gcc (GCC) 15.3.0", "compiler");
	is(r->kernel.linker, "GNU ld (GNU Binutils) 2.46", "linker");
	is_i(r->kernel.hz, 250, "CONFIG_HZ, not CONFIG_HZ_250");
	is(r->kernel.preempt, "none", "preempt from the config");
	host_sha256(config, sizeof(config) - 1, hex);
	is(r->kernel.config_sha256, hex, "hash of the uncompressed config");
	is_i((long long)r->kernel.folio_bytes.n, 2, "folio sizes");
	is(r->boot.id, "9b1d5f0a7c3e42d8", "boot id: 16 hex digits");
	is_i(r->boot.uptime_ns, 5123250000000, "uptime in ns");
	is(why(r, "/kernel/commit"), "not given, and not in the version string",
	   "no commit: the reason is stored");
	is_i((long long)r->invalid.n, 0, "a plain config distrusts nothing");
	record_free(r);
}

static void test_arm(void)
{
	struct record *r;

	fake_file("/proc/cpuinfo", arm_cpuinfo);
	r = fill("lab", NULL);
	is(r->host.epoch.cpu, "implementer 0x41 part 0xd0c", "arm64 has no model name");
	is_i(r->host.epoch.family, 0x41, "implementer stands as family");
	is_i(r->host.epoch.model, 0xd0c, "part stands as model");
	is_i(r->host.epoch.stepping, 0x31, "r3p1 stands as stepping");
	ok(!r->host.epoch.hypervisor && why(r, "/host/epoch/hypervisor"),
	   "no CPUID: hypervisor is null with a reason, not \"none\"");
	ok(why(r, "/host/volatile/microcode") != NULL, "arm64 shows no microcode");
	record_free(r);
	machine();
}

static void test_empty(void)
{
	static const char *const paths[] = {
		"/host/epoch/cpu", "/host/epoch/family", "/host/epoch/cpus",
		"/host/epoch/nodes", "/host/epoch/ram_bytes", "/host/epoch/hypervisor",
		"/host/volatile/mitigations", "/host/volatile/governor",
		"/host/volatile/turbo", "/host/volatile/swap_bytes",
		"/host/volatile/cmdline_sha256", "/kernel/build_id",
		"/kernel/compiler", "/kernel/config_sha256", "/kernel/hz",
		"/boot/id", "/boot/uptime_ns",
	};
	char dir[] = "/tmp/mmtrend-empty.XXXXXX";
	struct buf b = BUF_INIT;
	struct record *r;
	size_t silent = 0;

	setenv("MMTREND_FAKE_ROOT", mkdtemp(dir), 1);
	r = fill("empty", NULL);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!why(r, paths[i]) && ++silent)
			printf("# no reason: %s\n", paths[i]);
	is_i((long long)silent, 0, "with no file at all, every null has a reason");
	ok(r->host.epoch.ram_bytes == RECORD_NULL, "unknown RAM is null, not 0");
	ok(r->kernel.release && r->host.epoch.arch, "uname(2) still names the kernel");
	writes(r, &b);
	record_free(r);
	buf_free(&b);
	rmdir(dir);
	machine();
}

static void test_commit(void)
{
	static const struct {
		const char *release, *given, *commit;
		long long dirty;
		const char *error;
	} cases[] = {
		{ "6.18.0-rc1", SHA, SHA, RECORD_NULL, NULL },
		{ "6.18.0-rc1-00012-g0123456789ab", NULL, NULL, 0, NULL },
		{ "6.18.0-rc1-00012-g0123456789ab", SHA, SHA, 0, NULL },
		{ "6.18.0-g0123456789ab-dirty", SHA, SHA, 1, NULL },
		{ "6.18.0-g" SHA, "0123456", SHA, 0, NULL },
		{ "6.18.0-generic", "0123456", NULL, RECORD_NULL, NULL },
		{ "6.18.0+", NULL, NULL, RECORD_NULL, NULL },
		{ "6.18.0-gfedcba9876543", SHA, NULL, 0, "contradicts" },
		{ "6.18.0", "01234", NULL, 0, "hex digits" },
		{ "6.18.0", "v6.18-rc1", NULL, 0, "hex digits" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record *r;

		fake_file("/proc/sys/kernel/osrelease", cases[i].release);
		r = fill("lab", cases[i].given);
		if (cases[i].error) {
			ok(!r && strstr(e.msg, cases[i].error), "%s refuses --commit %s",
			   cases[i].release, cases[i].given);
			continue;
		}
		is(r->kernel.commit, cases[i].commit, cases[i].release);
		is_i(r->kernel.dirty, cases[i].dirty, "dirty");
		ok(r->kernel.commit || why(r, "/kernel/commit"), "a null has its reason");
		record_free(r);
	}
	machine();
}

static void test_config(void)
{
	static const char debug[] = "CONFIG_KASAN=y\nCONFIG_DEBUG_VM=y\n"
		"CONFIG_DEBUG_VM_PGTABLE=y\nCONFIG_LOCKDEP=y\nCONFIG_HZ=1000\n";
	struct record *r;

	bytes("/proc/config.gz", debug, sizeof(debug) - 1, true);
	r = fill("lab", NULL);
	is_i((long long)r->invalid.n, 3, "three debug options make the run invalid");
	is(r->invalid.v[0], "debug kernel: CONFIG_KASAN=y", "the option is named");
	record_free(r);

	fake_file("/proc/config.gz", NULL);
	bytes("/boot/config-6.18.44", config, sizeof(config) - 1, false);
	r = fill("lab", NULL);
	is_i(r->kernel.hz, 250, "a plain text config in /boot serves as well");
	record_free(r);

	fake_file("/boot/config-6.18.44", NULL);
	r = fill("lab", NULL);
	ok(why(r, "/kernel/config_sha256") &&
	   strstr(why(r, "/kernel/config_sha256"), "/boot/config-6.18.44"),
	   "no config: the reason names the file that was wanted");
	record_free(r);
	machine();
}

static void test_notes(void)
{
	static const unsigned char endless[] = "\4\0\0\0\377\377\377\377\3\0\0\0GNU\0";
	struct record *r;

	bytes("/sys/kernel/notes", endless, sizeof(endless) - 1, false);
	r = fill("lab", NULL);
	ok(!r->kernel.build_id && why(r, "/kernel/build_id"),
	   "a note longer than its file is no build id");
	record_free(r);
	machine();
}

static void test_privacy(void)
{
	struct record *r = fill(NULL, NULL);
	struct buf b = BUF_INIT;
	struct utsname u;

	uname(&u);
	if (!writes(r, &b))
		goto out;
	ok(!strstr(b.s, "jane") && !strstr(b.s, "doe.example"),
	   "who built the kernel, and where, is not recorded");
	ok(!strstr(b.s, "/dev/vda"), "the command line travels as a hash only");
	ok(strlen(u.nodename) < 3 || !strstr(b.s, u.nodename), "nor the node name");
	ok(!strstr(b.s, "aaaa-bbbb"), "the boot id travels cut");
out:
	buf_free(&b);
	record_free(r);
}

static void test_uuid(void)
{
	char a[37], b[37];

	host_uuid(a);
	usleep(3000);
	host_uuid(b);
	ok(strlen(a) == 36 && a[14] == '7' && strchr("89ab", a[19]), "version 7");
	ok(strcmp(a, b) < 0, "a later id sorts later: %s %s", a, b);
}

/* /proc/stat of the CPU that quiet_begin() chose. */
static void stat_file(int cpu, int idle, int steal)
{
	char text[256];

	snprintf(text, sizeof(text), "cpu  9 9 9 9 9 9 9 9 0 0\n"
		 "cpu%d 100 0 50 %d 0 0 0 %d 0 0", cpu, idle, steal);
	fake_file("/proc/stat", text);
}

static bool distrusted(const struct record *r, const char *word)
{
	for (size_t i = 0; i < r->invalid.n; i++)
		if (strstr(r->invalid.v[i], word))
			return true;
	return false;
}

static void test_quiet(void)
{
	struct record *r = record_new();
	struct quiet q;
	char heat[128];

	is_i(quiet_begin(&q, &e), 0, "quiet_begin");
	snprintf(heat, sizeof(heat), "/sys/devices/system/cpu/cpu%d/thermal_throttle/"
		 "core_throttle_count", q.cpu);
	stat_file(q.cpu, 1000, 5);
	fake_file("/proc/vmstat", "nr_free_pages 1\npswpin 7\npswpout 7");
	fake_file(heat, "4");
	fake_file("/sys/class/thermal/thermal_zone0/temp", "41000");
	fake_file("/sys/class/thermal/thermal_zone1/temp", "52000");
	quiet_begin(&q, &e);
	quiet_end(&q, "other", 3, r);
	is_i((long long)r->invalid.n, 0, "nothing moved, nothing is distrusted");
	is_i(r->quiet.steal_ppm, 0, "no steal");
	is_i(r->quiet.load_1m_milli.v[1], 250, "load 0.25 is 250");
	is_i(r->quiet.temperature_mc.v[0], 52000, "the hottest zone");
	ok(r->quiet.rt_throttled == RECORD_NULL && why(r, "/quiet/rt_throttled"),
	   "throttling has no count: null, with a reason");
	stat_file(q.cpu, 1100, 7);
	fake_file("/proc/vmstat", "nr_free_pages 1\npswpin 9\npswpout 7");
	fake_file(heat, "5");
	fake_file("/proc/sys/kernel/tainted", "512");
	quiet_end(&q, "other", 3, r);
	is_i(r->quiet.steal_ppm, 19607, "2 of 102 ticks were stolen");
	ok(distrusted(r, "steal"), "steal above 1 %% is no ground for a verdict");
	ok(distrusted(r, "2 pages were swapped in"), "nor swap traffic");
	ok(distrusted(r, "throttled for heat"), "nor a hot CPU");
	ok(distrusted(r, "a warning"), "nor a kernel that warned");
	is_i((long long)r->invalid.n, 4, "and nothing else is held against it");
	record_free(r);
}

int main(void)
{
	char command[128];

	if (!mkdtemp(root))
		return 1;
	machine();
	test_facts();
	test_arm();
	test_empty();
	test_commit();
	test_config();
	test_notes();
	test_privacy();
	test_uuid();
	test_quiet();
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command) || tap_done();
}
