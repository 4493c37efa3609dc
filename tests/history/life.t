#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Twelve pushes of a tree like mm-unstable, from git to the pages: every patch is
# one patch through all its SHAs, each push says what happened in it, and none of
# it depends on when a push or a run arrived.
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"
# shellcheck source=tests/history/repo.sh
. "$SRC/tests/history/repo.sh"

# --- the life ------------------------------------------------------------------
# Patches without a Link: are known by what they change, or by their name; each
# key of 04 is the only one that survives somewhere below.
repo_start
patch moved1 ann 'mm: moved to stable' 1-moved@x 'set_line mm/gup.c 10 a'
patch moved2 ann 'mm: moved as well' '' 'set_line mm/mincore.c 10 a'
patch word bob 'mm: wrod' '' 'set_line mm/gup.c 30 a'
patch near bob 'mm: near' '' 'set_line mm/rmap.c 50 a'
patch fold cat 'mm: to be fixed' '' 'set_line mm/memory.c 50 a'
patch fix dan 'mm-to-be-fixed-fix' '' 'set_line mm/memory.c 51 fix'
patch away cat 'mm: away for a while' 1-away@x 'set_line mm/slub.c 10 a'
patch first eve 'mm: first of two' '' 'set_line mm/slub.c 30 a'
patch second eve 'mm: second of two' '' 'set_line mm/slub.c 50 a'
patch series1 fay 'mm: one of a series' cover@x 'set_line mm/rmap.c 10 a'
patch series2 fay 'mm: two of a series' cover@x 'set_line mm/rmap.c 90 a'
patch version gil 'mm: new version' v1-1@x 'set_line mm/memory.c 20 a'
patch mail hal 'mm: only the mail stays' 1-mail@x 'set_line mm/gup.c 70 a'
patch twin1 ida 'mm: fix typo' '' 'set_line mm/rmap.c 30 a'
patch twin2 ida 'mm: fix typo' '' 'set_line mm/slub.c 80 a'

pushed 2026-07-01T06:00:00Z moved1 moved2 word near fold away first second \
	series1 series2 version mail twin1 twin2
# 2: rebased over a far change: all SHAs are new, all patches the same
# shellcheck disable=SC2016
patch far bob 'far' '' 'for f in gup mincore memory rmap slub; do
	above_line mm/$f.c 1 far; done'
on_stable far
pushed 2026-07-02T06:00:00Z moved1 moved2 word near fold away first second \
	series1 series2 version mail twin1 twin2
# 3: reworded
patch word bob 'mm: word' '' 'set_line mm/gup.c 30 a'
pushed 2026-07-03T06:00:00Z moved1 moved2 word near fold away first second \
	series1 series2 version mail twin1 twin2
# 4: a line two lines away changed, and the name too: the -U0 patch-id stays
patch beside bob 'beside' '' 'set_line mm/rmap.c 52 beside'
on_stable beside
patch near bob 'mm: near, renamed' '' 'set_line mm/rmap.c 50 a'
pushed 2026-07-04T06:00:00Z moved1 moved2 word near fold away first second \
	series1 series2 version mail twin1 twin2
# 5: a -fix on top of what it fixes
pushed 2026-07-05T06:00:00Z moved1 moved2 word near fold fix away first second \
	series1 series2 version mail twin1 twin2
# 6: ... folded in
patch fold cat 'mm: to be fixed' '' 'set_line mm/memory.c 50 a
	set_line mm/memory.c 51 fix'
pushed 2026-07-06T06:00:00Z moved1 moved2 word near fold away first second \
	series1 series2 version mail twin1 twin2
# 7: dropped
pushed 2026-07-07T06:00:00Z moved1 moved2 word near fold first second \
	series1 series2 version mail twin1 twin2
# 8: reordered
pushed 2026-07-08T06:00:00Z moved1 moved2 word near fold second first \
	series1 series2 version mail twin1 twin2
# 9: replaced by v3
patch version gil 'mm: new version' v3-1@x 'set_line mm/memory.c 20 v3'
pushed 2026-07-09T06:00:00Z moved1 moved2 word near fold second first \
	series1 series2 version mail twin1 twin2
# 10: the first two moved to mm-stable, and the others onto it
patch later bob 'later' '' 'above_line mm/slub.c 1 later'
on_stable moved1 moved2 later
pushed 2026-07-10T06:00:00Z word near fold second first \
	series1 series2 version mail twin1 twin2
# 11: only the Link: of one stays; one comes back
patch mail hal 'mm: only its mail stays' 1-mail@x 'set_line mm/gup.c 60 b'
pushed 2026-07-11T06:00:00Z word near fold away second first \
	series1 series2 version mail twin1 twin2
# 12: forced back to what push 9 was
sed -n 9p "$tmp/log" | {
	read -r _ new _ base
	echo "$(sha unstable) $new 2026-07-12T06:00:00Z $base" >>"$tmp/log"
}

# --- posted ----------------------------------------------------------------------
server_start --rate 0 || { ok 1 'the server starts'; done_testing; }
"$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes >"$tmp/ptoken"
chmod 600 "$tmp/ptoken"
post_push() { # OPTION...
	"$SRC/ci/post-push" --repo "$repo" --url "$url" --token-file "$tmp/ptoken" "$@"
}
post_push --tree mm-unstable --base stable --log "$tmp/log" >"$tmp/pages"
is "$? $(wc -l <"$tmp/pages")" '0 12' 'twelve pushes are posted'
stable="--tree mm-stable --linear --time 2026-07-10T05:00:00Z stable~3 stable"
# shellcheck disable=SC2086 # words
post_push $stable >/dev/null
ok $? 'and the one of mm-stable that took two of the patches'

# happened N EXPECTED "guards": what /pushes/ID says of push N, "change subject" a
# row, sorted; "*" behind it: it moved as well
happened() {
	page=$(sed -n "$1p" "$tmp/pages")
	is "$(get "$page.json" | jq -r '.rows[] | .change
			+ if .moved == 1 and .change != "moved" then "*" else "" end
			+ " " + .subject + if .landed then " -> " + .landed else "" end' |
		sort)" "$(printf '%s' "$2" | sed 's/^	*//')" "push $1: $3"
}
happened 1 '' 'nothing is known before it'
happened 2 '' 'rebased over a far change: nothing happened to a patch'
happened 3 'reworded mm: word' 'reworded'
happened 4 'context mm: near, renamed' 'a line nearby changed, and the name'
happened 5 'added mm-to-be-fixed-fix' 'a -fix'
happened 6 'dropped mm-to-be-fixed-fix
	replaced mm: to be fixed' 'the -fix folded in'
happened 7 'dropped mm: away for a while' 'dropped'
happened 8 'moved mm: second of two' 'reordered'
happened 9 'replaced mm: new version' 'replaced by v3'
happened 10 'dropped mm: moved as well -> mm-stable
	dropped mm: moved to stable -> mm-stable' 'moved to mm-stable'
happened 11 'added mm: away for a while
	replaced mm: only its mail stays' 'one came back, of one only the mail stays'
happened 12 'added mm: moved as well
	added mm: moved to stable
	dropped mm: away for a while
	replaced mm: only the mail stays' 'forced back to what push 9 was'

# --- one patch through all its SHAs ----------------------------------------------------
# Every commit that was made of a patch, and no other, whichever key it is asked by.
patch_shas() { get "$url/patches/$1.json" | jq -r '.rows[].sha' | sort -u; }
made_of() { grep -h "^$1 " "$tmp/shas" | cut -d ' ' -f 2 | sort -u; }
for name in moved1 moved2 word near fold fix away first second series1 series2 \
	version mail twin1 twin2; do
	of=$(made_of $name)
	is "$(patch_shas "$(echo "$of" | tail -n 1)")" "$of" \
		"one lineage, $(echo "$of" | wc -l) SHAs: $(head -n 1 "$tmp/patches/$name.msg")"
done
for key in v1-1@x v3-1%40x "$(made_of version | head -n 1 | cut -c 1-12)" \
	"$(in_repo show "$(made_of version | head -n 1)" | git patch-id --stable | cut -d ' ' -f 1)"; do
	is "$(patch_shas "$key")" "$(made_of version)" "asked as $key"
done
is "$(get "$url/patches/1-mail@x.json" | jq -r '.rows[] | select(.change != "rebased") |
	.change + " " + .subject' | tr '\n' ';')" \
	'added mm: only the mail stays;replaced mm: only its mail stays;replaced mm: only the mail stays;' \
	'and its story'
is "$(get -o "$tmp/none" -w '%{http_code}' "$url/patches/nobody@x")" 404 'an unknown mail'
server_stop

# --- the same life in any order ------------------------------------------------------
# Runs of nine kernels: tips, two commits inside a push as a bisection leaves them,
# one built by somebody who pushed it nowhere.
tip() { sed -n "$1p" "$tmp/log" | cut -d ' ' -f 2; }
n=0
for commit in "$(tip 1)" "$(tip 2)" "$(tip 4)" "$(tip 6)" "$(tip 9)" "$(tip 11)" \
	"$(tip 8)~3" "$(tip 8)~6" "$(echo nowhere | git hash-object --stdin)"; do
	n=$((n + 1))
	commit=$(in_repo rev-parse "$commit")
	tree=$(in_repo rev-parse -q --verify "$commit^{tree}")
	jq --arg sha "$commit" --arg tree "$tree" --argjson n $n '
		.id = "01a22c21-17c0-7d0b-9f5e-00000000000\($n)"
		| .started_at = "2026-08-0\($n)T00:00:00Z" | .boot.id = "boot-\($n)"
		| .kernel |= (.commit = $sha | .build_id = $sha
			| .release = "6.18.0-g" + $sha[:12]
			| .tree_hash = (if $tree == "" then null else $tree end))
		| .cells[].launches[]?.samples[]? |= map(. + $n * 1000)
		' "$SRC/tests/wire/valid/example.json" >"$tmp/post.run.$n"
done
{
	post_push --tree mm-unstable --base stable --log "$tmp/log" -n
	# shellcheck disable=SC2086 # words
	post_push -n $stable
} | split -l 1 - "$tmp/post.push."

# told FILE: every text form of every page that says nothing of arrival
told() {
	pages="trees trees/mm-unstable trees/mm-stable patches/v1-1@x todo/lab1
		patches/$(made_of fold | head -n 1)"
	for form in json csv txt html; do
		for page in $pages $(sed 's|.*/\(pushes/.*\)|\1|' "$tmp/pages"); do
			echo "== $page.$form"; get "$url/$page.$form"; echo
		done
		for query in '' '&tree=mm-stable' '&tree=-' '&last=3'; do
			echo "== trend.$form$query"; get "$url/trend.$form?host=lab1&bench=mincore$query"; echo
		done
	done >"$1"
}
# lived NAME FILE...: a server to which they are posted in this order; what it
# tells is in $tmp/NAME
lived() {
	name=$1; shift
	db=$tmp/$name.db
	server_start --rate 0 --url https://trend.example || return 1
	for f; do
		case $f in
		*.push.*) to=pushes as=$tmp/ptoken ;;
		*) to=runs as=$tmp/token ;;
		esac
		curl -sS -w '%{http_code}\n' -o "$tmp/answer" \
			-H "Authorization: Bearer $(cat "$as")" \
			-H 'Content-Type: application/json' --data-binary "@$f" \
			"$url/api/v1/$to" | grep -v '^20[01]$' && cat "$tmp/answer"
	done >"$tmp/refused"
	told "$tmp/$name"
	server_stop
	is "$(cat "$tmp/refused")" '' "$name: all is kept"
}
lived as-it-was "$tmp"/post.push.* "$tmp"/post.run.*
trend=$(sed -n '/^== trend.json$/,/^== /{/^== /!p;}' "$tmp/as-it-was")
is "$(printf '%s\n' "$trend" | jq -c '[.kernels.push, .kernels.tip]')" \
	'[[0,1,3,5,7,7,8,10],[1,1,1,1,0,0,1,1]]' 'tips at their pushes, bisected ones before the tip'
is "$(printf '%s\n' "$trend" | jq -c '.pushes.kernel')" '[0,1,1,2,3,3,null,null,6,null,7,6]' \
	'reworded, folded, forced back: a push whose source was measured at another push'
for seed in 1 2 3; do
	# shellcheck disable=SC2046 # a list of files
	lived "shuffled-$seed" $(printf '%s\n' "$tmp"/post.* "$tmp"/post.run.1 \
		"$tmp"/post.push.aa | awk -v seed=$seed 'BEGIN { srand(seed) }
			{ print rand(), $0 }' | sort | cut -d ' ' -f 2)
	cmp "$tmp/as-it-was" "$tmp/shuffled-$seed" >&2
	ok $? "posted in another order, some of it twice, every page is the same (order $seed)"
done
done_testing
