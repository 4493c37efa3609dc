#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ci/bisect over a git tree of 40 commits with a stand-in for the lab, whose
# kernels cost what the file `cost` of their commit says: finds one, names a range
# where it cannot know, and never blames a commit that it did not measure.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
# shellcheck source=tests/history/repo.sh
. "$SRC/tests/history/repo.sh"
MMTREND_LAB=$tmp/lab MMTREND_BISECT_RUN=$tmp/run
export MMTREND_LAB MMTREND_BISECT_RUN

cat >"$tmp/run" <<'END'
#!/bin/sh
set -e
while [ $# -gt 1 ]; do
	case $1 in --linux) linux=$2 ;; -o) out=$2 ;; --push) push=1; shift; continue ;; esac
	shift 2
done
cost=$(git -C "$linux" show "$1:cost")
echo "${push:+pushed }$1" >>"$MMTREND_LAB/measured"
case $cost in
build) echo "the kernel does not build" >&2; exit 77 ;;
qemu) echo "QEMU ended with 1" >&2; exit 77 ;;
invalid) invalid='"the guest was watched"' cost=1000000 ;;
esac
jq --arg sha "$1" --argjson cost "$cost" --argjson invalid "[${invalid:-}]" '
	.kernel.commit = $sha | .kernel.build_id = $sha | .invalid = $invalid
	| .kernel.release = "6.12.117-g" + $sha[:12]
	| .boot.id = $sha
	| .benches |= map(select(.name == "mincore"))
	| .cells |= map(select(.bench == "mincore" and .folio_bytes == 65536)
		| .launches[].samples.time_insns[] = $cost)
	' "$SRC/tests/agent/compare/before.json" >"$out"
[ -z "${push:-}" ] || exit 4	# and the server is away
END
chmod +x "$tmp/run"
mkdir "$tmp/lab"

# tree COST...: 40 commits on a base of cost 1000000; "N:COST" is what it costs
# from commit N on, "N=COST" what it costs at N only
tree() {
	rm -rf "$repo" "$tmp/lab"; mkdir "$tmp/lab"
	git init -q "$repo"
	level=1000000 n=0
	while [ $n -le 40 ]; do
		at=
		for c; do case $c in $n:*) level=${c#*:} ;; $n=*) at=${c#*=} ;; esac; done
		echo "${at:-$level}" >"$repo/cost"
		echo $n >"$repo/n"
		in_repo add . && in_repo commit -q -m "commit $n"
		in_repo tag "c$n"
		n=$((n + 1))
	done
}
# bisect: sets $out, $err, $rc
bisect() {
	"$SRC/ci/bisect" --linux "$repo" c0 c40 mincore 64k \
		>"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	out=$(cat "$tmp/out"); err=$(cat "$tmp/err")
}
listed() { printf '%s\n' "$out" | sed -n 's/^  [0-9a-f]* commit //p' | tr '\n' ' '; }

tree 23:1400000
bisect
is "$rc" 0 'a planted regression is found'
has "$out" "first slower: $(in_repo log -1 --format=%h c23) (\"commit 23\")" 'the commit is named'
has "$out" SLOWER 'the report of it against its parent'
has "$out" "$(sha c22 | cut -c 1-12)" '... which names the parent'
has "$err" '("commit 20"): as before' 'each step is told'
steps=$(wc -l <"$tmp/lab/measured")
ok "$((steps > 9))" "in few kernels: $steps of 41"
is "$(in_repo status --porcelain; in_repo for-each-ref refs/bisect)" '' 'the tree itself is left alone'
bisect
is "$rc $(wc -l <"$tmp/lab/measured")" "0 $steps" 'asked again, nothing is measured again'

tree 23:1400000 22=build 23=build
bisect
is "$rc" 2 'next to what does not build, a range'
is "$(listed)" '24 23 22 ' 'all that it may be'
has "$out" 'one of these' 'named as a range'
hasnt "$out" 'first slower' 'and nobody is blamed'
has "$err" 'skipped: the kernel does not build' 'with the reason of each skip'
hasnt "$err" '(known: ' 'which is news'
steps=$(wc -l <"$tmp/lab/measured")
bisect
is "$rc $(wc -l <"$tmp/lab/measured")" "2 $steps" 'asked again, nothing is built again'
has "$err" "skipped: the kernel does not build (known: $tmp/lab/bisect-" 'and the skip is told as known'
rm "$tmp"/lab/bisect-*/*.unbuilt
bisect
is "$(wc -l <"$tmp/lab/measured")" $((steps + 2)) 'until that word is removed'

tree 23:1400000 22=qemu
bisect
bisect
is "$rc $(grep -c "$(sha c22)" "$tmp/lab/measured")" '2 2' \
	'what failed for another reason is tried again'

tree 23:1400000 20=invalid 10=build
in_repo checkout -q --orphan nothing	# a HEAD that is no commit
bisect
is "$rc" 0 'what has no verdict, or does not build, is stepped around'
has "$out" '("commit 23")' 'and the commit found all the same'
has "$err" 'skipped: no verdict' 'a figure that is not valid is no answer'

tree 10:1012000 20:1024000 30:1036000
bisect
is "$rc" 2 'a slowdown that adds up'
has "$out" 'no one commit alone' 'is said to add up'
is "$(listed | wc -w)" 20 'over the commits that it may lie in'

tree 23:990000
bisect
is "$rc" 1 'NEW is not slower'
has "$out" 'is not slower than' 'and that is said'
tree 40:build
bisect
is "$rc" 77 'NEW cannot be measured'
has "$err" 'the kernel does not build' 'with the reason'

# A rebased tree: the two tips share no more than their base.
tree 23:1400000
in_repo checkout -q -b other c5
in_repo commit -q --allow-empty -m 'old tip'
"$SRC/ci/bisect" --linux "$repo" --push other c40 mincore 64k >"$tmp/out" 2>&1
is "$?" 0 'OLD need not be an ancestor of NEW'
has "$(cat "$tmp/out")" 'first slower' 'and the commit is found'
is "$(grep -vc '^pushed' "$tmp/lab/measured")" 0 \
	'--push sends each step, and a server that is away stops nothing'

for words in '' 'c0' 'c0 c40 mincore' 'c0 nope mincore 64k' '--bogus c0 c40 mincore 64k'; do
	# shellcheck disable=SC2086
	"$SRC/ci/bisect" --linux "$repo" $words >"$tmp/out" 2>&1
	is "$?" 64 "usage: $(tail -n 1 "$tmp/out")"
done
done_testing
