/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_BENCH_PFNMAP_TEST_H
#define AGENT_BENCH_PFNMAP_TEST_H
/*
 * What the agent and the kernel's PFN map test driver (CONFIG_PFNMAP_TEST,
 * patches/linux-6.12/instruments) promise each other; the driver carries a
 * copy.
 *
 * The driver owns ordinary memory, contiguous and zeroed, and one node. Who
 * opens it (read and write) says with PFNMAP_TEST_SETUP how that open file is
 * to be mapped, then maps it: MAP_SHARED, offset 0, at most memory_bytes, at
 * any address, as often as wished. Every map is of the same memory, cached as
 * ordinary memory is.
 */
#include <linux/ioctl.h>
#include <linux/types.h>

#define PFNMAP_TEST_NODE "/dev/pfnmap_test"

enum pfnmap_test_how {
	/* mmap() calls remap_pfn_range() once, for the whole range. */
	PFNMAP_TEST_REMAP,
	/* .fault calls vmf_insert_pfn(); there is no .huge_fault. */
	PFNMAP_TEST_FAULT,
	/*
	 * .huge_fault calls vmf_insert_pfn_pmd() where a whole PMD fits, and
	 * else falls back to .fault as above.
	 */
	PFNMAP_TEST_HUGE_FAULT,
};

struct pfnmap_test_info {
	__u64 memory_bytes;		/* that can be mapped */
};

/*
 * EINVAL: @how or @level_bytes is not one of those below, or @reserved is not
 * 0; EBUSY: the file is mapped; ENOMEM: there is no such contiguous memory.
 * Without a setup, mmap() fails with EINVAL.
 */
struct pfnmap_test_setup {
	__u32 how;			/* enum pfnmap_test_how */
	__u32 reserved;			/* 0 */
	/*
	 * The largest level that is wanted. The PMD's size: the memory is as
	 * aligned as the address, and the kernel may map PMDs. The base page's:
	 * the memory that is mapped begins one page past a PMD boundary (the
	 * driver has that page to spare), so that the same single call cannot
	 * take the PMD level.
	 */
	__u64 level_bytes;
};

/*
 * How [addr, addr + len) of the caller is mapped now, by a walk of its page
 * table; what is not mapped is in neither count. EINVAL: not all of it is one
 * map of this file.
 */
struct pfnmap_test_levels {
	__u64 addr, len;		/* in; multiples of the base page */
	__u64 pte_bytes, pmd_bytes;	/* out */
};

/*
 * Page tables apart from what is done to their entries: allocate @nr of them,
 * as a map of that many PMDs does whatever its level (for PTEs, or to be there
 * when a PMD is split), then free them. EINVAL: more than a map of all the
 * memory can need.
 */
struct pfnmap_test_tables {
	__u64 nr;			/* in */
	__u64 held;			/* out: page tables the caller has now */
	__u64 alloc_ns, free_ns;	/* out: CLOCK_MONOTONIC, all @nr */
};

#define PFNMAP_TEST_INFO	_IOR('N', 0xb0, struct pfnmap_test_info)
#define PFNMAP_TEST_SETUP	_IOW('N', 0xb1, struct pfnmap_test_setup)
#define PFNMAP_TEST_LEVELS	_IOWR('N', 0xb2, struct pfnmap_test_levels)
#define PFNMAP_TEST_TABLES	_IOWR('N', 0xb3, struct pfnmap_test_tables)

#endif
