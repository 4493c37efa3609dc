#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# virtme-ng.sh REV...: build each REV of the kernel in this folder, boot it in a
# virtual machine by virtme-ng, measure in it. An example: checked by shellcheck,
# never run by the project's tests.
#
# WARNING. Wall time in a virtual machine is the noise of its host: steal time,
# nested page tables, and the neighbour on the same core stand in every figure.
# Such a run is good for seeing that a benchmark works on a kernel. It is no
# evidence that a kernel got slower: mmtrend stores what it saw of the
# hypervisor, and a host label of its own keeps such figures away from real ones.
# Exact figures come out of a virtual machine only under QEMU's -icount, which
# counts instructions in place of time: ci/lab/run does that, on any laptop.
set -eu
: "${HOST:=vm-$(hostname)}"
: "${MMTREND:=$(command -v mmtrend)}"
[ $# -gt 0 ] || { echo "virtme-ng.sh: expected a REV" >&2; exit 64; }

# What the benchmarks need beyond virtme-ng's own small config.
needs="CONFIG_TRANSPARENT_HUGEPAGE=y CONFIG_GUP_TEST=y CONFIG_DEBUG_FS=y
	CONFIG_PERF_EVENTS=y CONFIG_LOCALVERSION_AUTO=y CONFIG_IKCONFIG_PROC=y"
items=
for symbol in $needs; do items="$items --configitem $symbol"; done

spool=$(mktemp -d)
for rev; do
	sha=$(git rev-parse --verify "$rev^{commit}")
	git checkout --quiet --detach "$sha"
	# shellcheck disable=SC2086 # words
	vng --build $items
	# The guest's root is a copy of the host's that forgets; what is to stay is
	# named by --rwdir.
	vng --run . --user root --cpus 2 --memory 4G --rwdir "$spool" \
		--exec "MMTREND_SPOOL=$spool $MMTREND run --host $HOST --commit $sha"
done
MMTREND_SPOOL=$spool "$MMTREND" push
rm -rf "$spool"
