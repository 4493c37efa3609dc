/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads what machine, kernel and config this is into a record. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <openssl/evp.h>
#include <zlib.h>

#include "dev.h"
#include "host.h"

#define CPUINFO_MAX	(4u << 20)	/* of 2,000 CPUs */
#define TEXT_MAX	16384		/* else; /proc/sys refuses large reads */
#define CONFIG_MAX	(1u << 20)	/* of config text: what a server takes */
#define NOTES_MAX	4096
#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))
#define LABEL_MAX	RECORD_MAX_NAME
#define SHA_HEX		40		/* digits of a commit */
#define SHA_HEX_MIN	7

#define CPU		"/sys/devices/system/cpu/"
#define CPUINFO		"/proc/cpuinfo"
#define STATE_DIR	"/var/lib/mmtrend"
#define ID_FILE		STATE_DIR "/host-id"

/*
 * Every fact that may be null. A row with a @file is read from it as it is, or
 * where @zero is set "0" and "1" are named; a later row fills what an earlier
 * one left. The rest is filled by the functions below. What is null in the end
 * gets @why, or that @file could not be read.
 */
static const struct fact {
	const char *path;
	enum { TEXT, NUMBER } kind;
	size_t at;
	const char *file, *zero, *one;
	const char *why;
} facts[] = {
#define AT(field) offsetof(struct record, field)
	{ "/host/epoch/cpu", TEXT, AT(host.epoch.cpu), .why =
	  CPUINFO " has none of the forms known" },
	{ "/host/epoch/family", NUMBER, AT(host.epoch.family), .why =
	  CPUINFO " does not say" },
	{ "/host/epoch/model", NUMBER, AT(host.epoch.model), .why =
	  CPUINFO " does not say" },
	{ "/host/epoch/stepping", NUMBER, AT(host.epoch.stepping), .why =
	  CPUINFO " does not say" },
	{ "/host/epoch/cpus", NUMBER, AT(host.epoch.cpus), .why =
	  CPU "online cannot be read" },
	{ "/host/epoch/nodes", NUMBER, AT(host.epoch.nodes), .why =
	  "/sys/devices/system/node/online cannot be read" },
	{ "/host/epoch/ram_bytes", NUMBER, AT(host.epoch.ram_bytes), .why =
	  "/proc/meminfo does not say MemTotal" },
	{ "/host/epoch/pmd_bytes", NUMBER, AT(host.epoch.pmd_bytes), .why =
	  "no transparent huge pages in this kernel" },
	{ "/host/epoch/hypervisor", TEXT, AT(host.epoch.hypervisor), .why =
	  "only x86 CPUID names one, and it names none that is known" },
	{ "/host/volatile/microcode", TEXT, AT(host.vol.microcode), .why =
	  CPUINFO " does not say" },
	{ "/host/volatile/mitigations", TEXT, AT(host.vol.mitigations), .why =
	  CPU "vulnerabilities cannot be read" },
	{ "/host/volatile/governor", TEXT, AT(host.vol.governor),
	  CPU "cpu0/cpufreq/scaling_governor", .why = "no cpufreq driver" },
	{ "/host/volatile/turbo", TEXT, AT(host.vol.turbo),
	  CPU "intel_pstate/no_turbo", "on", "off", "no cpufreq driver" },
	{ "/host/volatile/turbo", TEXT, AT(host.vol.turbo),
	  CPU "cpufreq/boost", "off", "on", "no cpufreq driver" },
	{ "/host/volatile/smt", TEXT, AT(host.vol.smt),
	  CPU "smt/active", "off", "on", NULL },
	{ "/host/volatile/swap_bytes", NUMBER, AT(host.vol.swap_bytes), .why =
	  "/proc/meminfo does not say SwapTotal" },
	{ "/host/volatile/clocksource", TEXT, AT(host.vol.clocksource),
	  "/sys/devices/system/clocksource/clocksource0/current_clocksource",
	  .why = NULL },
	{ "/host/volatile/cmdline_sha256", TEXT, AT(host.vol.cmdline_sha256),
	  .why = "/proc/cmdline cannot be read" },
	{ "/kernel/commit", TEXT, AT(kernel.commit), .why =
	  "not given, and not in the version string" },
	{ "/kernel/tree", TEXT, AT(kernel.tree), .why = "not given" },
	{ "/kernel/push", TEXT, AT(kernel.push), .why = "not given" },
	{ "/kernel/dirty", NUMBER, AT(kernel.dirty), .why =
	  "no commit in the version string" },
	{ "/kernel/build_id", TEXT, AT(kernel.build_id), .why =
	  "/sys/kernel/notes cannot be read, or holds no GNU build id" },
	{ "/kernel/tree_hash", TEXT, AT(kernel.tree_hash), .why = "not given" },
	{ "/kernel/compiler", TEXT, AT(kernel.compiler), .why =
	  "/proc/version does not say" },
	{ "/kernel/linker", TEXT, AT(kernel.linker), .why =
	  "/proc/version does not say" },
	{ "/kernel/config_sha256", TEXT, AT(kernel.config_sha256), .why =
	  "neither /proc/config.gz nor the config in /boot can be read" },
	{ "/kernel/hz", NUMBER, AT(kernel.hz), .why = "config not readable" },
	{ "/kernel/preempt", TEXT, AT(kernel.preempt), .why =
	  "config not readable" },
	{ "/boot/id", TEXT, AT(boot.id),
	  .why = "/proc/sys/kernel/random/boot_id cannot be read" },
	{ "/boot/uptime_ns", NUMBER, AT(boot.uptime_ns), .why =
	  "/proc/uptime cannot be read" },
#undef AT
};

/* Options that make every figure of a kernel one of its debugging. */
static const char *const debug_options[] = {
	"KASAN", "KCSAN", "KMSAN", "UBSAN", "LOCKDEP", "DEBUG_VM",
	"DEBUG_PAGEALLOC", "FAULT_INJECTION", "KCOV", "GCOV_KERNEL",
	"PAGE_OWNER", "SLUB_DEBUG_ON",
};

/*
 * The value of the first line "KEY <blanks> SEP VALUE", as /proc/cpuinfo,
 * /proc/meminfo and a kernel config have it; cut at @cap.
 */
static bool value_of(const char *text, const char *key, char sep,
		     char *out, size_t cap)
{
	size_t len = strlen(key), n;
	const char *p;

	for (p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *v = p + len;

		if (strncmp(p, key, len) != 0)
			continue;
		v += strspn(v, " \t");
		if (*v++ != sep)
			continue;
		v += strspn(v, " \t\"");
		n = strcspn(v, "\"\n");
		n = n < cap ? n : cap - 1;
		while (n && v[n - 1] == ' ')
			n--;
		memcpy(out, v, n);
		out[n] = '\0';
		return n > 0;
	}
	return false;
}

static int64_t number_of(const char *text, const char *key, char sep)
{
	char v[32], *end;
	long long n;

	if (!value_of(text, key, sep, v, sizeof(v)))
		return RECORD_NULL;
	n = strtoll(v, &end, 0);
	return end == v || n < 0 ? RECORD_NULL : n;
}

/* CPUs in "0-3,8,10-11"; RECORD_NULL if it is no such list. */
static int64_t list_count(const char *list)
{
	int64_t count = 0;
	char *end;

	do {
		long first = strtol(list, &end, 10), last = first;

		if (end == list)
			return RECORD_NULL;
		if (*end == '-') {
			list = end + 1;
			last = strtol(list, &end, 10);
		}
		if (first < 0 || last < first)
			return RECORD_NULL;
		count += last - first + 1;
		list = end + 1;
	} while (*end == ',');
	return *end ? RECORD_NULL : count;
}

/* MemTotal changes with every kernel; this does not. */
static int64_t ram_rounded(int64_t kib)
{
	int64_t bytes, power = 16;

	if (kib <= 0 || kib > INT64_MAX >> 12)
		return RECORD_NULL;
	bytes = kib << 10;
	while (power < bytes)
		power <<= 1;
	power >>= 4;
	return (bytes + power - 1) / power * power;
}

#if defined(__x86_64__) || defined(__i386__)
static const char *hypervisor_signed(void)
{
	static const struct { const char *signature, *name; } known[] = {
		{ "KVMKVMKVM", "kvm" }, { "TCGTCGTCGTCG", "tcg" },
		{ "VMwareVMware", "vmware" }, { "Microsoft Hv", "hyperv" },
		{ "XenVMMXenVMM", "xen" }, { "bhyve bhyve ", "bhyve" },
		{ "ACRNACRNACRN", "acrn" }, { "VBoxVBoxVBox", "virtualbox" },
	};
	unsigned int eax, signature[4] = { 0 };

	__cpuid(0x40000000, eax, signature[0], signature[1], signature[2]);
	for (size_t i = 0; eax && i < COUNT(known); i++)
		if (!strcmp((const char *)signature, known[i].signature))
			return known[i].name;
	return NULL;
}
#else
static const char *hypervisor_signed(void) { return NULL; }
#endif

static const char *hypervisor(const char *cpuinfo)
{
	char flags[8192];

	if (!value_of(cpuinfo, "flags", ':', flags, sizeof(flags)))
		return NULL;
	return strstr(flags, " hypervisor") ? hypervisor_signed() : "none";
}

static void fill_cpu(struct record *r, const char *info)
{
	struct record_epoch *ep = &r->host.epoch;
	char v[128];

	ep->hypervisor = record_dup(r, hypervisor(info));
	if (value_of(info, "microcode", ':', v, sizeof(v)))
		r->host.vol.microcode = record_dup(r, v);
	if (value_of(info, "model name", ':', v, sizeof(v))) {
		ep->cpu = record_dup(r, v);
		ep->family = number_of(info, "cpu family", ':');
		ep->model = number_of(info, "model", ':');
		ep->stepping = number_of(info, "stepping", ':');
	} else if (number_of(info, "CPU part", ':') != RECORD_NULL) {
		int64_t variant = number_of(info, "CPU variant", ':');
		int64_t revision = number_of(info, "CPU revision", ':');

		/* arm64 gives numbers only: who made it, what, which. */
		ep->family = number_of(info, "CPU implementer", ':');
		ep->model = number_of(info, "CPU part", ':');
		if (variant != RECORD_NULL && revision != RECORD_NULL)
			ep->stepping = variant << 4 | revision;
		ep->cpu = record_printf(r, "implementer 0x%02" PRIx64
					" part 0x%03" PRIx64,
					ep->family, ep->model);
	}
}

static void fill_topology(struct record *r, char *text)
{
	struct record_epoch *ep = &r->host.epoch;
	int64_t swap;

	if (dev_read(CPU "online", text, TEXT_MAX) > 0)
		ep->cpus = list_count(text);
	if (dev_read("/sys/devices/system/node/online", text, TEXT_MAX) > 0)
		ep->nodes = list_count(text);
	else if (ep->cpus != RECORD_NULL &&
		 !dev_exists("/sys/devices/system/node"))
		ep->nodes = 1;	/* a kernel without NUMA sees one */
	if (dev_read("/proc/meminfo", text, TEXT_MAX) > 0) {
		ep->ram_bytes = ram_rounded(number_of(text, "MemTotal", ':'));
		swap = number_of(text, "SwapTotal", ':');
		if (swap != RECORD_NULL)
			r->host.vol.swap_bytes = swap << 10;
	}
}

/* "on": the kernel works round at least one flaw of this CPU. */
static void fill_mitigations(struct record *r, char *text)
{
	static const char dir[] = CPU "vulnerabilities";
	bool any = false, mitigated = false, open = false;
	char **names, path[512];
	size_t n;

	if (dev_list(dir, &names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (dev_read(path, text, TEXT_MAX) <= 0)
			continue;
		any = true;
		mitigated |= strstr(text, "Mitigation") != NULL;
		open |= strstr(text, "Vulnerable") != NULL;
	}
	dev_list_free(names, n);
	if (any)
		r->host.vol.mitigations = record_dup(r,
			mitigated ? "on" : open ? "off" : "not needed");
}

/* An ELF note: name size, description size, type, then both padded to 4. */
static void fill_build_id(struct record *r)
{
	unsigned char notes[NOTES_MAX];
	char hex[SHA_HEX + 1] = "";
	uint32_t head[3];
	ssize_t len = -1;
	size_t at, desc = 0;
	int fd;

	fd = dev_open("/sys/kernel/notes", O_RDONLY);
	if (fd < 0)
		return;
	len = dev_pread(fd, notes, sizeof(notes), 0);
	close(fd);
	for (at = 0; len > 0 && at + sizeof(head) <= (size_t)len; at = desc +
	     ((head[1] + 3u) & ~3u)) {
		memcpy(head, notes + at, sizeof(head));
		if (head[0] > NOTES_MAX || head[1] > NOTES_MAX)
			return;
		desc = at + sizeof(head) + ((head[0] + 3u) & ~3u);
		if (desc + head[1] > (size_t)len)
			return;
		if (head[2] != 3 || head[0] != 4 || head[1] < 8 ||
		    head[1] > SHA_HEX / 2 ||
		    memcmp(notes + at + sizeof(head), "GNU", 4) != 0)
			continue;
		for (size_t i = 0; i < head[1]; i++)
			sprintf(hex + 2 * i, "%02x", notes[desc + i]);
		r->kernel.build_id = record_dup(r, hex);
		return;
	}
}

/*
 * "Linux version R (who@where) (COMPILER, LINKER) V": the second bracket. The
 * first names a person and a machine and is not read.
 */
static void fill_toolchain(struct record *r, char *text)
{
	char *p, *start = NULL, *comma = NULL;
	int depth = 0, groups = 0;

	if (dev_read("/proc/version", text, TEXT_MAX) <= 0)
		return;
	for (p = text; *p; p++) {
		if (*p == '(' && depth++ == 0 && ++groups == 2)
			start = p + 1;
		if (*p == ',' && start && depth == 1)
			comma = p;
		if (*p == ')' && depth > 0 && --depth == 0 && start)
			break;
	}
	if (!*p || !start)
		return;
	*p = '\0';
	if (comma) {
		*comma = '\0';
		comma += 1 + strspn(comma + 1, " ");
		r->kernel.linker = record_dup(r, comma);
	}
	r->kernel.compiler = record_dup(r, start);
}

/* The running model if debugfs shows it, else asked for at boot, else built. */
static void fill_preempt(struct record *r, const char *config, char *text)
{
	static const struct { const char *option, *name; } models[] = {
		{ "CONFIG_PREEMPT_RT", "rt" },
		{ "CONFIG_PREEMPT_LAZY", "lazy" },
		{ "CONFIG_PREEMPT_VOLUNTARY", "voluntary" },
		{ "CONFIG_PREEMPT_NONE", "none" }, { "CONFIG_PREEMPT", "full" },
	};
	char v[32], *p = NULL;

	if (dev_read("/sys/kernel/debug/sched/preempt", text, TEXT_MAX) > 0)
		p = strchr(text, '(');
	if (!p && dev_read("/proc/cmdline", text, TEXT_MAX) > 0) {
		p = strstr(text, "preempt=");
		p = !p || (p != text && p[-1] != ' ') ? NULL : p + 7;
	}
	if (p)
		r->kernel.preempt = record_printf(r, "%.*s",
						  (int)strcspn(p + 1, ") "), p + 1);
	for (size_t i = 0; config && i < COUNT(models) && !r->kernel.preempt; i++)
		if (value_of(config, models[i].option, '=', v, sizeof(v)))
			r->kernel.preempt = record_dup(r, models[i].name);
}

static int fill_config(struct record *r, char *text)
{
	char option[64], v[8], *config;
	struct err e = { "" };
	char hex[65];
	size_t len;
	int ret = 0;

	config = host_config(&len, &e);
	fill_preempt(r, config, text);
	if (!config)
		return record_unread(r, "/kernel/config_sha256", e.msg);
	host_sha256(config, len, hex);
	r->kernel.config_sha256 = record_dup(r, hex);
	r->kernel.hz = number_of(config, "CONFIG_HZ", '=');
	for (size_t i = 0; i < COUNT(debug_options); i++) {
		snprintf(option, sizeof(option), "CONFIG_%s", debug_options[i]);
		if (!value_of(config, option, '=', v, sizeof(v)) || v[0] != 'y')
			continue;
		snprintf(option, sizeof(option), "debug kernel: CONFIG_%s=y",
			 debug_options[i]);
		ret |= record_strings_add(r, &r->invalid, option);
	}
	free(config);
	return ret;
}

/* Hex digits after the last "-g" of a release, if it ends a word; else 0. */
static size_t release_sha(const char *release, char sha[SHA_HEX + 1])
{
	size_t found = 0;

	for (const char *p = release; (p = strstr(p, "-g")); p += 2) {
		size_t n = strspn(p + 2, "0123456789abcdef");

		if (n < SHA_HEX_MIN || n > SHA_HEX ||
		    isalnum((unsigned char)p[2 + n]))
			continue;
		memcpy(sha, p + 2, n);
		sha[n] = '\0';
		found = n;
	}
	return found;
}

static int fill_commit(struct record *r, const char *given, struct err *e)
{
	const char *release = r->kernel.release;
	char sha[SHA_HEX + 1], asked[SHA_HEX + 1] = "";
	size_t n = release_sha(release, sha), len = given ? strlen(given) : 0;

	if (given && (len < SHA_HEX_MIN || len > SHA_HEX ||
		      given[strspn(given, "0123456789abcdefABCDEF")]))
		return err_set(e, "--commit: expected %d to %d hex digits, "
			       "got \"%.60s\"", SHA_HEX_MIN, SHA_HEX, given);
	for (size_t i = 0; i < len; i++)
		asked[i] = (char)tolower((unsigned char)given[i]);
	if (given && n && strncmp(asked, sha, len < n ? len : n) != 0)
		return err_set(e, "--commit %s contradicts the running kernel, "
			       "whose release is %s", asked, release);
	if (n == SHA_HEX || len == SHA_HEX)
		r->kernel.commit = record_dup(r, n == SHA_HEX ? sha : asked);
	else if (given)
		record_unread(r, "/kernel/commit",
			      "--commit is short: a full SHA has 40 digits");
	else if (n)
		record_unread(r, "/kernel/commit",
			      "the version string has only its first digits");
	if (n)
		r->kernel.dirty = strstr(release, "-dirty") != NULL;
	else if (release[strlen(release) - 1] == '+')
		record_unread(r, "/kernel/dirty",
			      "the release ends in +: past its tag, or with changes");
	return 0;
}

/* By file where there is one, so that a fake tree answers; else by uname(2). */
static char *kernel_name(struct record *r, const char *file, const char *uts)
{
	char text[512];

	if (dev_read(file, text, sizeof(text)) > 0)
		return record_dup(r, text);
	return record_dup(r, uts);
}

static int fill_kernel(struct record *r, const struct host_opts *o,
		       const struct mthp *m, char *text, struct err *e)
{
	struct record_kernel *k = &r->kernel;
	struct utsname u;

	uname(&u);
	r->host.epoch.arch = kernel_name(r, "/proc/sys/kernel/arch", u.machine);
	k->release = kernel_name(r, "/proc/sys/kernel/osrelease", u.release);
	k->version = kernel_name(r, "/proc/sys/kernel/version", u.version);
	k->tree = record_dup(r, o->tree);
	k->folio_bytes.v = record_alloc(r, (m->n + 1) * sizeof(int64_t));
	if (!k->release || !k->folio_bytes.v)
		return err_set(e, "no memory");
	for (size_t i = 0; i < m->n; i++)
		k->folio_bytes.v[k->folio_bytes.n++] = (int64_t)m->bytes[i];
	fill_build_id(r);
	fill_toolchain(r, text);
	if (fill_config(r, text))
		return err_set(e, "no memory");
	return fill_commit(r, o->commit, e);
}

static void fill_boot(struct record *r, const char *given, char *text)
{
	size_t n = 0;

	if (given) {
		r->boot.id = record_dup(r, given);
	} else if (dev_read("/proc/sys/kernel/random/boot_id", text, TEXT_MAX) > 0) {
		for (const char *p = text; *p && n < 16; p++)
			if (isxdigit((unsigned char)*p))
				text[n++] = *p;
		text[n] = '\0';
		if (n == 16)
			r->boot.id = record_dup(r, text);
	}
	if (dev_read("/proc/uptime", text, TEXT_MAX) > 0)
		r->boot.uptime_ns = (int64_t)(strtod(text, NULL) * 1e9);
}

static bool label_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n > 0 && n <= LABEL_MAX && !s[n];
}

/* Keep a new random id for the runs to come. */
static int keep_id(const char *id)
{
	int fd, ret = -1;

	if (mkdir(STATE_DIR, 0700) && errno != EEXIST)
		return -1;
	fd = open(ID_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return -1;
	if (write(fd, id, 8) == 8 && !fsync(fd))
		ret = 0;
	return close(fd) ? -1 : ret;
}

static int fill_label(struct record *r, const char *given, struct err *e)
{
	char id[64], why[256];
	uint32_t word;

	if (given && !label_ok(given))
		return err_set(e, "--host: expected 1 to %d of a-z A-Z 0-9 . _ -, "
			       "got \"%.80s\"", LABEL_MAX, given);
	if (given) {
		r->host.label = record_dup(r, given);
		return 0;
	}
	if (dev_read(ID_FILE, id, sizeof(id)) != 8 || !label_ok(id)) {
		if (getrandom(&word, sizeof(word), 0) != sizeof(word))
			return err_set(e, "getrandom: %s", strerror(errno));
		snprintf(id, sizeof(id), "%08" PRIx32, word);
		if (keep_id(id)) {
			snprintf(why, sizeof(why), "%s: %s: the label is of this "
				 "run only, --host gives a lasting one", ID_FILE,
				 strerror(errno));
			record_unread(r, "/host/label", why);
		}
	}
	r->host.label = record_printf(r, "host-%s", id);
	return 0;
}

static void *slot(struct record *r, const struct fact *f)
{
	return (char *)r + f->at;
}

static bool is_null(struct record *r, const struct fact *f)
{
	return f->kind == TEXT ? !*(char **)slot(r, f) :
	       *(int64_t *)slot(r, f) == RECORD_NULL;
}

/* Read the facts that are a file each, then say why what is null is null. */
static void fill_facts(struct record *r, char *text)
{
	const struct fact *f;
	char why[256];

	for (f = facts; f < facts + COUNT(facts); f++)
		if (f->file && is_null(r, f) &&
		    dev_read(f->file, text, RECORD_MAX_NAME) > 0)
			*(char **)slot(r, f) = record_dup(r, !f->zero ? text :
				!strcmp(text, "0") ? f->zero :
				!strcmp(text, "1") ? f->one : NULL);
	for (f = facts; f < facts + COUNT(facts); f++) {
		if (!is_null(r, f))
			continue;
		if (!f->why)
			snprintf(why, sizeof(why), "%s cannot be read", f->file);
		record_unread(r, f->path, f->why ? f->why : why);
	}
}

int host_fill(struct record *r, const struct host_opts *o, const struct mthp *m,
	      struct err *e)
{
	char *text = malloc(CPUINFO_MAX), hex[65];
	int ret = -1;

	if (!text)
		return err_set(e, "no memory");
	if (o->boot_id && !label_ok(o->boot_id)) {
		err_set(e, "--boot-id: expected 1 to %d of a-z A-Z 0-9 . _ -, "
			"got \"%.80s\"", LABEL_MAX, o->boot_id);
		goto out;
	}
	if (fill_label(r, o->label, e))
		goto out;
	if (dev_read(CPUINFO, text, CPUINFO_MAX) > 0)
		fill_cpu(r, text);
	fill_topology(r, text);
	r->host.epoch.base_page_bytes = (int64_t)m->base_bytes;
	if (m->pmd_bytes)
		r->host.epoch.pmd_bytes = (int64_t)m->pmd_bytes;
	fill_mitigations(r, text);
	if (dev_read("/proc/cmdline", text, TEXT_MAX) >= 0) {
		host_sha256(text, strlen(text), hex);
		r->host.vol.cmdline_sha256 = record_dup(r, hex);
	}
	if (fill_kernel(r, o, m, text, e))
		goto out;
	fill_boot(r, o->boot_id, text);
	fill_facts(r, text);
	ret = 0;
out:
	free(text);
	return ret;
}

/* gzread() passes text that is not compressed as it is. */
static char *read_config(const char *path, size_t *len, struct err *e)
{
	char *text = NULL;
	gzFile gz = NULL;
	int fd, n = -1;

	fd = dev_open(path, O_RDONLY);
	if (fd < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	gz = gzdopen(fd, "rb");
	text = malloc(CONFIG_MAX + 1);
	if (gz && text)
		n = gzread(gz, text, CONFIG_MAX + 1);
	if (gz)
		gzclose(gz);
	else
		close(fd);
	if (n > 0 && n <= (int)CONFIG_MAX) {
		text[n] = '\0';
		*len = (size_t)n;
		return text;
	}
	err_set(e, "%s: not gzip or text of at most %u bytes", path, CONFIG_MAX);
	free(text);
	return NULL;
}

char *host_config(size_t *len, struct err *e)
{
	char release[128], path[256], *text;
	struct utsname u;

	text = read_config("/proc/config.gz", len, e);
	if (text)
		return text;
	uname(&u);
	if (dev_read("/proc/sys/kernel/osrelease", release, sizeof(release)) <= 0)
		snprintf(release, sizeof(release), "%s", u.release);
	snprintf(path, sizeof(path), "/boot/config-%s", release);
	return read_config(path, len, e);
}

void host_uuid(char out[37])
{
	unsigned char b[16];
	struct timespec ts;
	uint64_t ms;
	char *p = out;

	clock_gettime(CLOCK_REALTIME, &ts);
	ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	while (getrandom(b, sizeof(b), 0) != sizeof(b))
		;
	for (int i = 0; i < 6; i++)
		b[i] = (unsigned char)(ms >> (40 - 8 * i));
	b[6] = (unsigned char)(0x70 | (b[6] & 0x0f));	/* version 7 */
	b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));	/* variant */
	for (int i = 0; i < 16; i++)
		p += sprintf(p, i == 4 || i == 6 || i == 8 || i == 10 ?
			     "-%02x" : "%02x", b[i]);
}

void host_sha256(const void *data, size_t len, char hex[65])
{
	unsigned char md[EVP_MAX_MD_SIZE] = { 0 };

	EVP_Digest(data, len, md, NULL, EVP_sha256(), NULL);
	for (size_t i = 0; i < 32; i++)
		sprintf(hex + 2 * i, "%02x", md[i]);
}
