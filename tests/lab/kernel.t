#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The lab, for real: patches applied, a kernel built, booted, measured and
# reported. Run by `make lab-check`; MMTREND_LAB keeps kernels between runs.
. "$SRC/tests/lib.sh"
cd "$SRC" || exit 1
lab=${MMTREND_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/mmtrend-lab}
groups=patches/linux-6.12

# --- errors: one line, before any work ------------------------------------
fails() { # STATUS TEXT WHAT COMMAND...
	want=$1 text=$2 what=$3
	shift 3
	said=$("$@" 2>&1); rc=$?
	is "$rc" "$want" "$what: exit $want"
	has "$said" "$text" "$what"
}
fails 64 "expected x86_64 or arm64, got 'sparc'" "an unknown architecture" \
	ci/lab/run --arch sparc
fails 64 "no patch group 'gup-bach'" "a misspelt group" \
	ci/lab/run --patches gup-bach
fails 64 "is no git tree" "--linux of no git tree" ci/lab/run --linux /tmp
fails 64 "expected two sides" "compare of one side" ci/lab/compare none
fails 64 "unknown option '--patches'" "an option of another command" \
	ci/lab/compare --patches gup-walk none none
fails 64 "expected BASE HEAD BENCH/SIZE" "why without a cell" \
	ci/lab/why none mincore-batch
mkdir "$tmp/bin"
for tool in sh dirname cat sed cut tr basename; do
	ln -s "$(command -v "$tool")" "$tmp/bin/"
done
fails 77 "no aarch64-linux-gnu-gcc: ci/deps lab installs it" "no compiler" \
	env PATH="$tmp/bin" ci/lab/run
ln -s "$(command -v aarch64-linux-gnu-gcc)" "$tmp/bin/"
fails 77 "no qemu-system-aarch64: ci/deps lab installs it" "no QEMU" \
	env PATH="$tmp/bin" ci/lab/run

# --- a real kernel ----------------------------------------------------------
said=$(ci/lab/run --bench mincore --size base,64k,pmd -o "$tmp/none.json" 2>&1)
is $? 0 "arm64 without patches: built, booted, measured"
[ -s "$tmp/none.json" ] || { printf '%s\n' "$said" | sed 's/^/# /'; done_testing; }
is "$(jq -c '[.cells[].status] | unique' "$tmp/none.json")" '["ok"]' \
	"every cell is ok, folios proven"
is "$(jq -r '.clock, .host.label, .kernel.hz' "$tmp/none.json" | tr '\n' ' ')" \
	"insns lab-arm64 100 " "the document says what counted"

said=$(ci/lab/compare --fresh --bench mincore --size base,64k,pmd -o "$tmp/c" \
	none mincore-batch 2>"$tmp/err"); rc=$?
case $rc in 0|1) ok 0 "compare of two patch sets" ;; *) ok 1 "compare: exit $rc" ;; esac
sed 's/^/# /' "$tmp/err"
printf '%s\n' "$said" | sed 's/^/# /'
has "$said" "faster, 1" "64k got faster by more than 10x"
has "$said" "instructions" "the report says what its figures are"
is "$(printf '%s\n' "$said" | awk 'length > 72 || /^[^ ]/')" "" \
	"72 columns, every line indented"
for d in none c/before; do
	jq -c '[.cells[] | [.bench, .folio_bytes, .launches]]' "$tmp/$d.json"
done >"$tmp/cells"
is "$(sort -u "$tmp/cells" | wc -l)" 1 "two boots, the same cells to the last instruction"
said=$(ci/lab/compare --bench mincore --size base,64k,pmd -o "$tmp/k" \
	none mincore-batch 2>&1)
has "$said" "as measured on" "a second compare boots nothing again"
ok "$(cmp -s "$tmp/c/after.json" "$tmp/k/after.json"; echo $?)" \
	"its documents are those of the first, run id and all"

said=$(ci/lab/why none mincore-batch mincore/base 2>&1)
is $? 0 "why: the functions sum to the figure within a tick"
printf '%s\n' "$said" | sed 's/^/# /'
has "$said" "mincore_pte_range" "why names the function"

# --- what can go wrong in a boot or a build ---------------------------------
fails 77 "time limit" "a guest that does not end" \
	env MMTREND_LAB_LIMIT=1 ci/lab/run --bench mincore --iterations 500 -o "$tmp/x"
echo CONFIG_ARM64_64K_PAGES=y >"$tmp/lost.config"
fails 77 "lost by olddefconfig: CONFIG_ARM64_4K_PAGES" "a lost config symbol" \
	ci/lab/run --config "$tmp/lost.config" -o "$tmp/x"

# --- patches: quilt, git am, checkpatch --------------------------------------
set -- "$lab"/linux-source-6.12*.git
repo=$1
git clone -q -s --no-checkout "$repo" "$tmp/linux" 2>/dev/null
# shellcheck disable=SC2046 # the folders that the patches touch
(cd "$tmp/linux" && git sparse-checkout set --cone scripts Documentation/mm \
	$(sed -n 's,^diff --git a/\(.*\)/[^/]* b/.*,\1,p' "$SRC/$groups"/*/*.patch |
		sort -u) && git checkout -q package) 2>/dev/null
ok $? "a work tree of linux-source-6.12"
cd "$tmp/linux" || exit 1
git config user.name lab
git config user.email lab@example.org
order() { # GROUP...: each after those that it needs
	for g; do
		# shellcheck disable=SC2046
		order $(sed -n 's/^# needs: //p' "$SRC/$groups/$g/series")
		case " $ordered " in *" $g "*) ;; *) ordered="$ordered $g" ;; esac
	done
}
for series in "$SRC/$groups"/*/series; do
	group=$(basename "$(dirname "$series")")
	ordered=
	order instruments "$group"
	git checkout -q -B try package
	rc=0
	for g in $ordered; do
		# shellcheck disable=SC2013
		for p in $(grep -v '^#' "$SRC/$groups/$g/series"); do
			git am -q "$SRC/$groups/$g/$p" 2>"$tmp/am" ||
				{ rc=1; sed 's/^/# /' "$tmp/am"; git am --abort; }
		done
	done
	ok $rc "$group applies by git am"
	git checkout -q -B try package
	rc=0
	for g in $ordered; do
		QUILT_PATCHES=$SRC/$groups/$g QUILT_PC=.pc-$g \
			quilt push -q -a >"$tmp/quilt" 2>&1 ||
			{ rc=1; sed 's/^/# /' "$tmp/quilt"; }
	done
	ok $rc "$group applies by quilt"
	git checkout -q -f try
	git clean -qfdx
	# shellcheck disable=SC2013
	for p in $(grep -v '^#' "$series"); do
		said=$(scripts/checkpatch.pl --no-tree --no-signoff --terse \
			--ignore FILE_PATH_CHANGES "$SRC/$groups/$group/$p" 2>&1)
		is "$(printf '%s\n' "$said" | grep -E 'ERROR|WARNING')" "" \
			"$group/$p: checkpatch has nothing to say"
		is "$(grep -c '^Signed-off-by: ' "$SRC/$groups/$group/$p")" 1 \
			"$group/$p is signed off"
	done
done
cd "$SRC" || exit 1
done_testing
