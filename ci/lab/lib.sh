# SPDX-License-Identifier: GPL-2.0-only
# Sourced by ci/lab/*: a kernel's source, its image, a boot. A *side* is one
# kernel: REV[+GROUP,...] of --linux PATH (REV `worktree`: as PATH stands now,
# uncommitted changes with it), or GROUP,... or `none` on Debian's
# linux-source package. A group is a quilt series of patches/linux-6.12/; the
# instruments are in every kernel.
#
# All that is kept lies in $lab, outside the checkout; `rm -rf` of it costs
# time only:
#   KEY.git          the package as a git repository; or only the objects that
#                    are ours, beside those of PATH, which is never written to
#   KEY/             its one work tree, with o-ARCH/, the object folders
#   image/ID/        kernel, System.map, config, about: one per tree, arch,
#                    fragments, compiler
# shellcheck shell=sh disable=SC2034,SC2154 # shared with those who source it
lab=${MMTREND_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/mmtrend-lab}
top=$PWD
unset BUILD	# make's own folders, whoever calls
patches=$top/patches/linux-6.12
limit_s=${MMTREND_LAB_LIMIT:-1800}	# of one boot; of a build, six times that

die() { echo "$me: $*" >&2; exit 64; }
fail() { echo "$me: $*" >&2; exit 77; }
say() { [ ! -t 2 ] || printf '\r\033[K%s: %s' "$me" "$*" >&2; }
said() { [ ! -t 2 ] || printf '\r\033[K' >&2; }

# What is started in the background ends with us: timeout passes TERM on.
child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null || :; clean || :' EXIT
trap 'exit 130' INT TERM HUP
clean() { rm -rf "$lab"/*."$$"; }

# --- what is asked ---------------------------------------------------------

arch=arm64 linux='' groups='' out='' push='' json='' form=full fragments='' configs=''
benches='' sizes='' memory='' only='' reuse='' iterations=6 first='' second='' third='' words=''
# parse WORD...: options into their variables, the other words into $first,
# $second, $third, all in $words. $takes: what this command has beyond those of all.
parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--help) sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p;}' "$0"; exit 0 ;;
		--*) case " --arch --linux --config $takes " in
		     *" $1 "*) ;;
		     *) die "unknown option '$1'; see --help" ;;
		     esac ;;
		esac
		case $1 in
		--push) push=1; shift; continue ;;
		--json) json=1; shift; continue ;;
		--fresh) reuse=''; shift; continue ;;
		-*) [ $# -gt 1 ] || die "$1: expected a value" ;;
		esac
		case $1 in
		--arch) arch=$2 ;;
		--linux) linux=$(from_here "$2") ;;
		--config) fragments="$fragments $(from_here "$2")"
			configs="$configs --config $(from_here "$2")" ;;
		--patches) groups=$2 ;;
		--bench) benches=${benches:+$benches,}$2 ;;
		--size) sizes=${sizes:+$sizes,}$2 ;;
		--memory) memory=$2 ;;
		--iterations) iterations=$2 ;;
		--form) form=$2 ;;
		--why) third=$2 ;;
		--only) only=$2 ;;
		-o) out=$(from_here "$2") ;;
		-*) die "unknown option '$1'; see --help" ;;
		*) words="$words $1"
		   if [ -z "$first" ]; then first=$1
		   elif [ -z "$second" ]; then second=$1
		   elif [ -z "$third" ]; then third=$1
		   else case $takes in *HEADS*) ;; *) die "unexpected '$1'" ;; esac
		   fi
		   shift; continue ;;
		esac
		shift 2
	done
}
# from_here PATH: as the caller's folder ($here) understands it.
from_here() {
	case $1 in /*|-) echo "$1" ;; *) echo "$here/$1" ;; esac
}
# The agent's tables know the benchmarks; latency and copies cost the same
# instructions whatever the mapping, so they are left out unless asked for.
: "${benches_default:=gup.pin_longterm,mincore,populate,pvm,pfnmap.remap,pfnmap.fault,pfnmap.huge_fault}"

# check: what can be said before any work is done.
lab_check() {
	case $arch in
	arm64) cross=aarch64-linux-gnu- qemu=qemu-system-aarch64 image=Image ;;
	x86_64) cross='' qemu=qemu-system-x86_64 image=bzImage ;;
	*) die "--arch: expected x86_64 or arm64, got '$arch'" ;;
	esac
	for tool in "${cross}gcc" "$qemu" make flex bison bc cpio git flock xz \
		    timeout; do
		command -v "$tool" >/dev/null ||
			fail "no $tool: ci/deps lab installs it"
	done
	for f in $fragments; do
		[ -r "$f" ] || die "--config: cannot read '$f'"
	done
	for g in $(echo "$groups" | tr , ' '); do
		[ -r "$patches/$g/series" ] ||
			die "no patch group '$g': expected of" \
			    "$(cd "$patches" && echo ./*/ | tr -d ./)"
	done
	mkdir -p "$lab/image"
	agent=$top/build-static${cross:+-${cross%-}}/mmtrend
	"$top/ci/static" "$arch" >"$lab/agent.log" 2>&1 ||
		fail "the static agent does not build: $(tail -n 3 "$lab/agent.log")"
	emulator=$("$qemu" --version | sed -n 's/^QEMU emulator version \([0-9.]*\).*/QEMU \1/p')
	compiler=$("${cross}gcc" --version | head -n 1)
}

# --- source ----------------------------------------------------------------

g() { git --git-dir="$repo" "$@"; }

# source_open: sets $repo, $work, $rev0 (the package's commit), $origin.
source_open() {
	if [ -n "$linux" ]; then
		origin=$(git -C "$linux" rev-parse --absolute-git-dir 2>/dev/null) ||
			die "--linux: '$linux' is no git tree"
		linux=$(git -C "$linux" rev-parse --show-toplevel)
		key=$(basename "$linux")-$(echo "$linux" | sha256sum | cut -c 1-8)
	else
		origin='' tarball=/usr/src/linux-source-6.12.tar.xz
		[ -r $tarball ] || fail "no $tarball: ci/deps lab installs it;" \
			"or give any kernel's git tree by --linux PATH"
		key=$(dpkg-query -W -f '${Package}-${Version}' linux-source-6.12)
	fi
	repo=$lab/$key.git work=$lab/$key
	[ -e "$repo/ready" ] || { lock; [ -e "$repo/ready" ] || source_make; unlock; }
}

# One at a time makes a source or builds in its work tree; boots need no lock.
lock() {
	exec 9>"$lab/$key.lock"
	flock -n 9 || { say "waiting for another build of this source"; flock 9; }
}
unlock() { exec 9>&-; }

source_make() {
	rm -rf "$repo" "$work"
	git init -q --bare "$repo"
	if [ -n "$origin" ]; then
		objects=$(git --git-dir="$origin" rev-parse --path-format=absolute \
			--git-path objects)
		echo "$objects" >"$repo/objects/info/alternates"
	else
		say "unpacking $key"
		mkdir -p "$work"
		tar -xf "$tarball" -C "$work" --strip-components 1
		say "importing $key"
		GIT_INDEX_FILE=$repo/work.index g --work-tree="$work" \
			-c core.compression=0 -c core.fsync=none add -A -f
		tree=$(GIT_INDEX_FILE=$repo/work.index g write-tree)
		g update-ref refs/heads/package "$(
			GIT_AUTHOR_NAME=lab GIT_AUTHOR_EMAIL=lab \
			GIT_COMMITTER_NAME=lab GIT_COMMITTER_EMAIL=lab \
			GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' \
			GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
			g commit-tree -m "$key" "$tree")"
	fi
	: >"$repo/ready"
}

# side REV_OR_GROUPS: sets $commit ('' if it is in no public tree), $tree (what
# is compiled), $with (its patch groups, with commas), $label.
side() {
	case ${linux:+git} in
	git)
		rev=${1%%+*} with=${1#"$rev"}
		with=${with#+} ;;
	*)
		rev=package with=$1
		[ "$1" != none ] || with='' ;;
	esac
	index=$lab/index.$$
	rm -f "$index"
	if [ "$rev" = worktree ]; then
		commit=$(git -C "$linux" rev-parse HEAD)
		cp "$origin/index" "$index" 2>/dev/null || :
		GIT_INDEX_FILE=$index GIT_OBJECT_DIRECTORY=$repo/objects \
		GIT_ALTERNATE_OBJECT_DIRECTORIES=$(cat "$repo/objects/info/alternates") \
			git -C "$linux" add -u
	else
		commit=$(git --git-dir="${origin:-$repo}" rev-parse -q --verify \
			"$rev^{commit}") || die "'$rev': no such commit in ${linux:-$key}"
		GIT_INDEX_FILE=$index g read-tree "$commit"
	fi
	own=$(GIT_INDEX_FILE=$index g write-tree)
	suffix=
	if [ -n "$linux" ]; then
		suffix=-g$(echo "$commit" | cut -c 1-12)
		[ "$own" = "$(g rev-parse "$commit^{tree}")" ] || suffix=$suffix-dirty
	else
		commit=
	fi
	label=${commit:-$key}
	applied=' '
	if ! apply instruments; then
		[ -n "$linux" ] || fail "instruments: $(cat "$index.err")"
		echo "$me: the instruments do not apply to this tree:" \
		     "pfnmap will be skipped" >&2
	fi
	for group in $(echo "$with" | tr , ' '); do
		[ -r "$patches/$group/series" ] ||
			die "no patch group '$group' in patches/linux-6.12"
		apply "$group" || fail "$group does not apply to $label:" \
			"$(head -n 3 "$index.err")"
	done
	tree=$(GIT_INDEX_FILE=$index g write-tree)
	rm -f "$index" "$index.err"
}

# apply GROUP: into the index, after those that it needs; once.
apply() {
	case $applied in *" $1 "*) return 0 ;; esac
	# shellcheck disable=SC2013 # words
	for need in $(sed -n 's/^# needs: //p' "$patches/$1/series"); do
		apply "$need" || return 1
	done
	# shellcheck disable=SC2013
	for p in $(grep -v '^#' "$patches/$1/series"); do
		GIT_INDEX_FILE=$index g apply --cached "$patches/$1/$p" \
			2>"$index.err" || return 1
	done
	applied="$applied$1 "
}

# --- image -----------------------------------------------------------------

mk() {
	timeout $((limit_s * 6)) make -s -C "$work" O="$obj" ARCH="$arch" \
		CROSS_COMPILE="$cross" LOCALVERSION="$suffix" KBUILD_BUILD_TIMESTAMP=2026-01-01 \
		KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1 \
		"$@" 9>&-
}

# The fragments one after another, a later line wins; $fragments is words.
# shellcheck disable=SC2086
fragments() {
	cat "$patches/instruments/common.config" \
	    "$patches/instruments/$arch.config" $fragments
}

# The fragments over tinyconfig; what olddefconfig loses
# must not go unnoticed. A symbol that this tree does not know is only said.
configure() {
	config=$obj/.config.lab
	mk KCONFIG_CONFIG="$config" tinyconfig >/dev/null 2>"$log" ||
		fail "tinyconfig: $(tail -n 5 "$log")"
	fragments >"$obj/fragments"
	cat "$obj/fragments" >>"$config"
	mk KCONFIG_CONFIG="$config" olddefconfig >/dev/null 2>"$log" ||
		fail "olddefconfig: $(tail -n 5 "$log")"
	lost=$(grep -o '^CONFIG_[^=]*=.*' "$obj/fragments" |
		grep -vxF -f "$config" || :)
	for l in $lost; do
		symbol=${l%%=*} symbol=${symbol#CONFIG_}
		if (cd "$work" && git grep --no-index -qE \
		    "^(menu)?config $symbol\$" -- '*Kconfig*'); then
			fail "config symbol lost by olddefconfig: $l"
		fi
		echo "$me: this tree has no CONFIG_$symbol" >&2
	done
	cmp -s "$config" "$obj/.config" || mv "$config" "$obj/.config"
}

# image_of: sets $img, the folder of the kernel of $tree.
image_of() {
	img=$lab/image/$({ echo "$arch $tree $suffix $compiler"; fragments; } | sha256sum |
		cut -c 1-20)
	[ ! -e "$img/about" ] || return 0
	lock
	[ ! -e "$img/about" ] || { unlock; return 0; }
	obj=$work/o-$arch log=$lab/build-$arch.log
	mkdir -p "$obj"
	say "checking out ${with:-$label}"
	GIT_INDEX_FILE=$repo/work.index g --work-tree="$work" read-tree \
		--reset -u "$tree" 2>"$log" || fail "checkout: $(tail -n 3 "$log")"
	configure
	mk -j"$(nproc)" "$image" >"$log" 2>&1 &
	child=$! began=$(date +%s)
	while kill -0 "$child" 2>/dev/null; do
		say "building $arch ${with:-$label}: $(($(date +%s) - began)) s"
		sleep 1
	done
	wait "$child" || fail "the kernel does not build; the end of $log:
$(tail -n 20 "$log")"
	child=
	said
	rm -rf "$img.new"
	mkdir -p "$img.new"
	cp "$obj/arch/${arch%_64}/boot/$image" "$obj/System.map" "$img.new/"
	cp "$obj/.config" "$img.new/config"
	echo "$arch $tree ${with:-none} $compiler" >"$img.new/about"
	rm -rf "$img"
	mv "$img.new" "$img"
	unlock
}

# --- boot ------------------------------------------------------------------

# boot PLAN RESULTS [FILE...]: one guest, its /plan from file PLAN, stdout of
# the plan's commands into RESULTS; the agent and FILEs lie in the guest's root.
# $qemu_more: further words for QEMU; $kernel_more: for the kernel.
boot() {
	plan=$1 results=$2
	shift 2
	root=$lab/root.$$
	console=$lab/console.$$
	mkdir -p "$root"
	"${cross}gcc" -static -O2 -o "$root/init" "$top/ci/lab/init.c" ||
		fail "the guest's init does not compile"
	cp "$plan" "$root/plan"
	cp "$agent" "$@" "$root/"
	(cd "$root" && mkdir -p dev proc sys run tmp && touch -d @0 ./* . &&
	 find . | LC_ALL=C sort | cpio -o -H newc -R 0:0 --reproducible \
		--quiet) >"$lab/cpio.$$"
	rm -rf "$root"
	more="nokaslr norandmaps quiet panic=-1 ${kernel_more:-}"
	# A device bus only where the architecture's fragment has one. No fast
	# string instructions: TCG counts one for each byte of a `rep stosb`, so
	# that clearing a page would cost 4,096, and drown what is measured. The
	# TSC is the instruction counter, so its rate need not be measured. No
	# ioeventfd: QEMU's main loop would serve the port when the host lets it,
	# and interrupts come where they did not in another boot.
	case $arch in
	arm64) set -- -M virt,gic-version=3,dtb-randomness=off -cpu cortex-a76 \
		-device virtio-serial-device -append "console=ttyAMA0 $more" ;;
	x86_64) set -- -M pc -cpu max,-rdrand,-rdseed,-erms,-fsrm \
		-device virtio-serial-pci,ioeventfd=off \
		-append "console=ttyS0 tsc_early_khz=1000000 hpet=disable pmtmr=0 $more" ;;
	esac
	: >"$results"
	# shellcheck disable=SC2086 # words for QEMU
	timeout "$limit_s" "$qemu" "$@" -accel tcg -smp 1 -m "${guest_mb:-1280}" \
		-icount shift=0,sleep=off \
		-rtc base=2026-01-01T00:00:00,clock=vm -nographic -no-reboot \
		-nodefaults -serial "file:$console" -monitor none \
		-chardev "file,id=results,path=$results" \
		-device virtserialport,chardev=results,name=results \
		-kernel "$img/$image" -initrd "$lab/cpio.$$" ${qemu_more:-} \
		>"$lab/qemu.$$" 2>&1 &
	child=$! began=$(date +%s)
	while kill -0 "$child" 2>/dev/null; do
		say "measuring $arch ${with:-$label}: $(($(date +%s) - began)) s"
		sleep 0.2
	done
	rc=0
	wait "$child" || rc=$?
	child=
	said
	[ $rc -ne 124 ] || died "time limit: the guest ran for $limit_s s"
	[ $rc -eq 0 ] || fail "QEMU ended with $rc: $(tail -n 3 "$lab/qemu.$$")"
	grep -q '^lab: up' "$console" || died "the kernel did not boot"
	! grep -q 'Kernel panic' "$console" || died "the guest died"
	exits=$(sed -n 's/^lab: exit \([0-9]*\).*/\1/p' "$console")
	[ "$(echo "$exits" | wc -l)" -eq "$(wc -l <"$plan")" ] ||
		died "the guest ended before its plan did"
}
died() {
	fail "$1; the console's last lines:
$(tr -d '\r' <"$console" | tail -n "${console_lines:-20}")"
}

# measure FILE: what the options ask of the kernel in $img, into FILE. The guest
# is given the same ids and time always, since other digits would take other
# instructions and shift each timer tick after them; the real ones are written
# into its document here. With $reuse, what this very guest gave before is taken
# as it is, its ids and time too: another boot would give the same figures.
measure() {
	echo /mmtrend run --clock insns --host "lab-$arch" --seed 1 \
		--emulator "$(echo "$emulator" | tr ' ' -)" \
		--id 00000000-0000-7000-8000-000000000000 \
		--boot-id 00000000-0000-4000-8000-000000000000 \
		--time 2026-01-01T00:00:00Z \
		${commit:+--commit $commit} ${with:+--patches $with} \
		--tree-hash "$tree" \
		--bench "${benches:-$benches_default}" ${sizes:+--size $sizes} \
		${memory:+--memory $memory} --launches 1 \
		--iterations "$iterations" -o - >"$lab/plan.$$"
	known=$img/$({ cat "$lab/plan.$$" "$agent" "$top"/ci/lab/init.c \
		"$top"/ci/lab/lib.sh; "$qemu" --version; } | sha256sum |
		cut -c 1-20).json
	if [ -n "$reuse" ] && [ -e "$known" ]; then
		echo "$me: ${with:-$label}: as measured on" \
			"$(date -r "$known" '+%F at %R'); --fresh boots it again" >&2
		cp "$known" "$1"
		return
	fi
	boot "$lab/plan.$$" "$1.new"
	case $exits in 0|3|77) ;; *) died "the agent ended with $exits" ;; esac
	[ "$(wc -c <"$1.new")" -gt 100 ] ||
		died "no document came out of the guest"
	sed -e 1d -e "s/00000000-0000-7000-8000-000000000000/$(uuid 7)/" \
		-e "s/00000000-0000-4000-8000-000000000000/$(uuid 4)/" \
		-e "s/2026-01-01T00:00:00Z/$(date -u +%Y-%m-%dT%H:%M:%SZ)/" \
		"$1.new" >"$1"
	cp "$1" "$known.$$"
	mv "$known.$$" "$known"
	rm "$1.new"
}

# uuid 4|7: of version 7 with the time, or of version 4.
uuid() {
	hex=$(od -An -N 16 -tx1 /dev/urandom | tr -d ' \n')
	[ "$1" = 4 ] || hex=$(printf %012x "$(date +%s%3N)")${hex#????????????}
	echo "$hex" | sed -E "s/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/\1-\2-$1\3-8\4-\5/"
}
