/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads what machine, kernel and config this is into a record. */
#include <ctype.h>
#include <dirent.h>
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

#define OPENSSL_SUPPRESS_DEPRECATED	/* EVP brings a resolver and dlopen() */
#include <openssl/sha.h>			/* into a static agent, this does not */
#include <zlib.h>

#include "dev.h"
#include "facts.h"
#include "file.h"
#include "host.h"

#define CPUINFO_MAX	(4u << 20)	/* of 2,000 CPUs */
#define TEXT_MAX	16384		/* else; /proc/sys refuses large reads */
#define CONFIG_MAX	(1u << 20)	/* of config text: what a server takes */
#define NOTES_MAX	4096
#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))
#define SHA_HEX		40		/* digits of a commit */
#define SHA_HEX_MIN	7

#define CPU		"/sys/devices/system/cpu/"
#define NODE		"/sys/devices/system/node"
#define CPUINFO		"/proc/cpuinfo"
#define MEMINFO		"/proc/meminfo"
#define STATE_DIR	"/var/lib/mmtrend"

/*
 * Facts that a file has: the value of @key, or without one the whole text, "0"
 * and "1" by name where @zero and @one are set. A later row fills what an
 * earlier one left, the functions below the rest.
 */
static const struct source {
	enum { TEXT, NUMBER } kind;
	size_t at;
	const char *file, *key, *zero, *one;
} sources[] = {
#define EPOCH(k, field, ...) { .kind = k, \
	.at = offsetof(struct record, host.epoch.field), __VA_ARGS__ }
#define VOL(k, field, ...) { .kind = k, \
	.at = offsetof(struct record, host.vol.field), __VA_ARGS__ }
	EPOCH(TEXT, cpu, CPUINFO, "model name"),
	EPOCH(NUMBER, family, CPUINFO, "cpu family"),
	EPOCH(NUMBER, family, CPUINFO, "CPU implementer"),
	EPOCH(NUMBER, model, CPUINFO, "model"),
	EPOCH(NUMBER, model, CPUINFO, "CPU part"),
	EPOCH(NUMBER, stepping, CPUINFO, "stepping"),
	EPOCH(NUMBER, ram_bytes, MEMINFO, "MemTotal"),
	VOL(TEXT, microcode, CPUINFO, "microcode"),
	VOL(TEXT, governor, CPU "cpu0/cpufreq/scaling_governor"),
	VOL(TEXT, turbo, CPU "intel_pstate/no_turbo", NULL, "on", "off"),
	VOL(TEXT, turbo, CPU "cpufreq/boost", NULL, "off", "on"),
	VOL(TEXT, smt, CPU "smt/active", NULL, "off", "on"),
	VOL(NUMBER, swap_bytes, MEMINFO, "SwapTotal"),
	VOL(TEXT, clocksource,
	    "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
#undef EPOCH
#undef VOL
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
	int first, last, used;

	while (sscanf(list, "%d%n", &first, &used) == 1) {
		list += used;
		last = first;
		if (sscanf(list, "-%d%n", &last, &used) == 1)
			list += used;
		count += last - first + 1;
		list += *list == ',';
	}
	return *list || count < 1 ? RECORD_NULL : count;
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

/* What the table's rows leave to be made of /proc/cpuinfo. arm64 gives numbers
 * only: who made it, what, which. */
static void fill_cpu(struct record *r, char *info)
{
	struct record_epoch *ep = &r->host.epoch;
	int64_t variant, revision;

	if (dev_read(CPUINFO, info, CPUINFO_MAX) <= 0)
		return;
	ep->hypervisor = record_dup(r, hypervisor(info));
	variant = number_of(info, "CPU variant", ':');
	revision = number_of(info, "CPU revision", ':');
	if (ep->cpu || variant == RECORD_NULL || revision == RECORD_NULL)
		return;
	ep->stepping = variant << 4 | revision;
	ep->cpu = record_printf(r, "implementer 0x%02" PRIx64 " part 0x%03" PRIx64,
				ep->family, ep->model);
}

static void fill_topology(struct record *r, char *text)
{
	struct record_epoch *ep = &r->host.epoch;

	if (dev_read(CPU "online", text, TEXT_MAX) > 0)
		ep->cpus = list_count(text);
	if (dev_read(NODE "/online", text, TEXT_MAX) > 0)
		ep->nodes = list_count(text);
	else if (ep->cpus != RECORD_NULL && !dev_exists(NODE))
		ep->nodes = 1;	/* a kernel without NUMA sees one */
	ep->ram_bytes = ram_rounded(ep->ram_bytes);
	if (r->host.vol.swap_bytes != RECORD_NULL)
		r->host.vol.swap_bytes <<= 10;
}

/* "on": the kernel works round at least one flaw of this CPU. */
static void fill_mitigations(struct record *r, char *text)
{
	static const char dir[] = CPU "vulnerabilities";
	bool mitigated = false, open = false;
	struct dirent **list;
	char path[512];
	int n = dev_list(dir, &list);

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (dev_read(path, text, TEXT_MAX) <= 0)
			continue;
		mitigated |= strstr(text, "Mitigation") != NULL;
		open |= strstr(text, "Vulnerable") != NULL;
	}
	dev_list_free(list, n);
	if (n > 0)
		r->host.vol.mitigations = record_dup(r,
			mitigated ? "on" : open ? "off" : "not needed");
}

/* An ELF note: name size, description size, type, name, description. */
static void fill_build_id(struct record *r)
{
	static const struct { uint32_t type; char name[4]; } gnu = { 3, "GNU" };
	unsigned char notes[NOTES_MAX], *at;
	char hex[SHA_HEX + 1];
	uint32_t n = 0;
	ssize_t len;
	int fd;

	fd = dev_open("/sys/kernel/notes", O_RDONLY);
	if (fd < 0)
		return;
	len = dev_pread(fd, notes, sizeof(notes), 0);
	close(fd);
	at = len > 4 ? memmem(notes + 4, (size_t)len - 4, &gnu, sizeof(gnu)) : NULL;
	if (at)
		memcpy(&n, at - 4, sizeof(n));
	if (n < 8 || n > SHA_HEX / 2 || at + sizeof(gnu) + n > notes + len)
		return;
	for (size_t i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", at[sizeof(gnu) + i]);
	r->kernel.build_id = record_dup(r, hex);
}

/*
 * "Linux version R (who@where) (COMPILER, LINKER) #V": the second bracket. The
 * first names a person and a machine and is not read.
 */
static void fill_toolchain(struct record *r, char *text)
{
	char *start = NULL, *end = NULL, *comma;

	if (dev_read("/proc/version", text, TEXT_MAX) > 0)
		start = strstr(text, ") (");
	if (start)
		end = strstr(start + 3, ") #");
	if (!end)
		return;
	*end = '\0';
	comma = strstr(start + 3, ", ");
	if (comma) {
		*comma = '\0';
		r->kernel.linker = record_dup(r, comma + 2);
	}
	r->kernel.compiler = record_dup(r, start + 3);
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

/* Names with commas between; "" names none. */
static int fill_patches(struct record *r, const char *names)
{
	char *rest = record_dup(r, names), *name;

	if (!names || !*names)
		return 0;
	do {
		name = strsep(&rest, ",");
		if (!name || record_strings_add(r, &r->kernel.patches, name))
			return -1;
	} while (rest);
	return 0;
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
	k->tree_hash = record_dup(r, o->tree_hash);
	r->host.vol.emulator = record_dup(r, o->emulator);
	k->folio_bytes.v = record_alloc(r, (m->n + 1) * sizeof(int64_t));
	if (!k->release || !k->folio_bytes.v)
		return err_set(e, "no memory");
	for (size_t i = 0; i < m->n; i++)
		k->folio_bytes.v[k->folio_bytes.n++] = (int64_t)m->bytes[i];
	if (fill_patches(r, o->patches))
		return err_set(e, "no memory");
	fill_build_id(r);
	fill_toolchain(r, text);
	if (fill_config(r, text))
		return err_set(e, "no memory");
	return fill_commit(r, o->commit, e);
}

static void fill_boot(struct record *r, const char *given, char *text)
{
	static const char file[] = "/proc/sys/kernel/random/boot_id";
	char a[9], b[5], c[5];

	if (given)
		r->boot.id = record_dup(r, given);
	else if (dev_read(file, text, TEXT_MAX) > 0 &&
		 sscanf(text, "%8[0-9a-f]-%4[0-9a-f]-%4[0-9a-f]", a, b, c) == 3)
		r->boot.id = record_printf(r, "%s%s%s", a, b, c);
	if (dev_read("/proc/uptime", text, TEXT_MAX) > 0)
		r->boot.uptime_ns = (int64_t)(strtod(text, NULL) * 1e9);
}

/* The owner's label, or one of a random id that is kept for the runs to come. */
static int fill_label(struct record *r, const char *given, struct err *e)
{
	char id[16], why[ERR_MAX + 80];
	struct err not_kept;
	uint32_t word;

	if (given) {
		r->host.label = record_dup(r, given);
		return 0;
	}
	if (dev_read(STATE_DIR "/host-id", id, sizeof(id)) != 8 ||
	    strspn(id, "0123456789abcdef") != 8) {
		if (getrandom(&word, sizeof(word), 0) != sizeof(word))
			return err_set(e, "getrandom: %s", strerror(errno));
		snprintf(id, sizeof(id), "%08" PRIx32, word);
		mkdir(STATE_DIR, 0700);
		if (file_put(STATE_DIR, "host-id", id, 8, &not_kept)) {
			snprintf(why, sizeof(why), "%.400s: the label is of this "
				 "run only, --host gives a lasting one",
				 not_kept.msg);
			record_unread(r, "/host/label", why);
		}
	}
	r->host.label = record_printf(r, "host-%s", id);
	return 0;
}

static void read_source(struct record *r, const struct source *f, char *text)
{
	void *at = (char *)r + f->at;
	char value[128];

	if (f->kind == TEXT ? *(char **)at != NULL : *(int64_t *)at != RECORD_NULL)
		return;
	if (!f->key) {
		if (dev_read(f->file, text, RECORD_MAX_NAME) > 0)
			*(char **)at = record_dup(r, !f->zero ? text :
				!strcmp(text, "0") ? f->zero :
				!strcmp(text, "1") ? f->one : NULL);
		return;
	}
	if (dev_read(f->file, text, CPUINFO_MAX) <= 0)
		return;
	if (f->kind == NUMBER)
		*(int64_t *)at = number_of(text, f->key, ':');
	else if (value_of(text, f->key, ':', value, sizeof(value)))
		*(char **)at = record_dup(r, value);
}

static void explain_null(struct record *r, const struct fact *f)
{
	const struct source *from = sources;
	char why[256];

	if (!f->path || !fact_is_null(f, r))
		return;
	while (from < sources + COUNT(sources) - 1 && from->at != f->at)
		from++;
	snprintf(why, sizeof(why), "%s %s", from->file,
		 from->key ? "does not say" : "cannot be read");
	record_unread(r, f->path, f->why ? f->why : why);
}

int host_fill(struct record *r, const struct host_opts *o, const struct mthp *m,
	      struct err *e)
{
	char *text = malloc(CPUINFO_MAX), hex[65];
	int ret = -1;

	if (!text)
		return err_set(e, "no memory");
	for (size_t i = 0; i < COUNT(sources); i++)
		read_source(r, &sources[i], text);
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
	fill_boot(r, o->boot_id, text);
	if (!fill_label(r, o->label, e) && !fill_kernel(r, o, m, text, e))
		ret = 0;
	for (size_t i = 0; i < facts_count; i++)
		explain_null(r, &facts[i]);
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
	unsigned char md[SHA256_DIGEST_LENGTH];
	SHA256_CTX c;

	SHA256_Init(&c);
	SHA256_Update(&c, data, len);
	SHA256_Final(md, &c);
	for (size_t i = 0; i < sizeof(md); i++)
		sprintf(hex + 2 * i, "%02x", md[i]);
}
