#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ci/bisect, for real: 40 commits on Debian's linux-source-6.12 as a git tree, one
# of which slows the slow GUP walk for folios of 64k only, and one does not build.
# The tree lies in the lab's folder, always at one place: kernels are kept.
. "$SRC/tests/lib.sh"
lab=${MMTREND_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/mmtrend-lab}
set -- "$lab"/linux-source-6.12*.git/ready
[ -e "$1" ] || skip_all 'no kernel source in the lab yet: ci/lab/run makes it'
package=${1%/ready}
linux=$lab/bisect-linux
GIT_AUTHOR_NAME=lab GIT_AUTHOR_EMAIL=lab@example.org
GIT_COMMITTER_NAME=lab GIT_COMMITTER_EMAIL=lab@example.org
GIT_AUTHOR_DATE='2026-07-01T00:00:00Z' GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL \
	GIT_AUTHOR_DATE GIT_COMMITTER_DATE
g() { git -C "$linux" "$@"; }

# change FILE SED SUBJECT: a commit on the one before
change() {
	blob=$(g show ":$1" | sed "$2" | g hash-object -w --stdin)
	g update-index --cacheinfo "100644,$blob,$1"
	head=$(g commit-tree -p "$head" -m "$3" "$(g write-tree)")
}
rm -rf "$linux"
git init -q "$linux"
echo "$package/objects" >"$linux/.git/objects/info/alternates"
old=$(git --git-dir="$package" rev-parse package)
head=$old
g read-tree "$old"
n=1
while [ $n -le 40 ]; do
	# shellcheck disable=SC2016 # sed's own
	case $n in
	17) change mm/gup.c '/^static struct page .follow_page_pte/,/^}/{
		/^	folio = page_folio(page);$/a\
	if (folio_order(folio) == 4) {\
		int spin;\
\
		for (spin = 0; spin < 8; spin++)\
			barrier();\
	}
		}' 'mm/gup: spin on folios of order 4'
	    planted=$head ;;
	20) change mm/util.c '$a\
#error' 'mm/util: does not build' ;;
	21) change mm/util.c '/^#error$/d' 'mm/util: builds again' ;;
	*) set -- mm/util.c mm/mincore.c lib/sort.c Documentation/mm/index.rst
	   shift $((n % 4))
	   change "$1" "\$a\\
/* $n */" "note $n" ;;
	esac
	n=$((n + 1))
done
g update-ref refs/heads/tip "$head"
is "$(g rev-list --count "$old..tip")" 40 'forty commits'
is "$(g diff --shortstat "$planted^" "$planted")" \
	' 1 file changed, 6 insertions(+)' 'one of them is the regression'

unset BUILD	# the lab builds agents of its own
"$SRC/ci/bisect" --linux "$linux" "$old" tip populate.read 64k >"$tmp/out" 2>"$tmp/err"
is $? 0 'one commit is found'
sed 's/^/# /' "$tmp/err" "$tmp/out"
has "$(cat "$tmp/out")" \
	"first slower: $(g log -1 --format='%h ("%s")' "$planted")" 'it is the one that was planted'
has "$(cat "$tmp/out")" SLOWER 'the report of it against its parent'
done_testing
