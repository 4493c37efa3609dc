#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Pushes of a tree that is rebased: who may post them, every odd case of their
# order, and that nothing depends on the order in which they or the runs came.
# shellcheck source=tests/lib.sh disable=SC2119,SC2154 # push() sets tipN
. "$SRC/tests/lib.sh"

sha() { printf '%s' "$*" | sha1sum | cut -c 1-40; }

# A push is a list of patches: NAME, or NAME/LINES, NAME/LINES/CONTEXT,
# NAME/LINES/CONTEXT/SUBJECT, as they were edited. Its commits are what git would
# make of them: their SHAs depend on all below. Patches a... touch mm/gup.c.
# push N TREE TIME OLD BASE PATCH... -> $tmp/pushN.json, its tip in $tip
push() {
	n=$1 tree=$2 at=$3 old=$4 base=$(sha "$5"); shift 5
	tip=$base
	: >"$tmp/commits"
	for p; do
		name=${p%%/*}; rest=${p#"$name"}; lines=${rest#/}; lines=${lines%%/*}
		rest=${rest#"/$lines"}; context=${rest#/}; context=${context%%/*}
		subject=${rest#"/$context"}; subject=${subject#/}
		parent=$tip; tip=$(sha "$parent $p")
		case $name in a*) files=mm/gup.c ;; *) files= ;; esac
		printf '%s\t' "$tip" "$(sha "tree $p $parent")" "$parent" \
			"${subject:-mm: $name}" "$(sha "$name/$lines/$context")" \
			"$(sha "$name/$lines")"
		echo "$files"
	done >"$tmp/commits"
	[ $# -eq 0 ] || tip=$(tail -1 "$tmp/commits" | cut -f 1)
	jq -Rn --arg tree "$tree" --arg at "$at" --arg old "$old" --arg new "$tip" \
		--arg base "$base" --argjson linear "${linear:-0}" '
		{ schema: "mmtrend.push/1", tree: $tree, pushed_at: $at,
		  old: (if $old == "" then null else $old end), new: $new,
		  base: $base, linear: $linear, tags: [], commits: [inputs | split("\t") |
		  { sha: .[0], tree_hash: .[1], parent: .[2], subject: .[3],
		    author: "A B <a@example.org>", authored_at: "2026-07-01T00:00:00Z",
		    patch_id: .[4], patch_id_u0: .[5], link: null, quilt: null,
		    files: (if .[6] == "" then [] else [.[6]] end) }] }' \
		<"$tmp/commits" >"$tmp/push$n.json"
	eval "tip$n=$tip"
}
# run N COMMIT VALUE [jq program] -> $tmp/runN.json: started N minutes after 11
run() {
	jq --arg n "$(printf %02d "$1")" --arg commit "$2" --argjson v "$3" '
		.id = "01a22c21-17c0-7d0b-9f5e-0000000000" + $n |
		.started_at = "2026-07-30T11:" + $n + ":00Z" |
		.kernel.commit = $commit | .kernel.release = "6.18.0-g" + $commit[0:12] |
		.kernel.build_id = "00000000000000000000000000000000000000" + $n |
		.kernel.tree_hash = null | .boot.id = "boot-" + $n |
		.cells = [.cells[] | select(.status == "ok" and .bench == "mincore")] |
		.benches = [.benches[] | select(.name == "mincore")] |
		.cells += [.cells[0] | .folio_bytes = 32768] |
		.cells[].launches[].samples.time_ns = [$v] | '"${4:-.}" \
		"$SRC/tests/wire/valid/example.json" >"$tmp/run$1.json"
}
# send WHAT FILE [curl option...]: the body, then the status
send() {
	w=$1 f=$2; shift 2
	curl -sS -w '\n%{http_code}\n' -H "Authorization: Bearer $push_token" \
		-H 'Content-Type: application/json' --data-binary "@$f" "$@" \
		"$url/api/v1/$w"
}
status() { tail -1; }
sent() { is "$(send pushes "$tmp/push$1.json" | status)" 201 "push $1 is kept"; }
json() { get "$url/$1.json${2:-}"; }
axis() {	# what stands on the x axis, oldest first: short SHAs
	json trend "?host=lab1&bench=mincore${1:-}" | jq -r '[.kernels.short[]] | join(" ")'
}
# names SHA...: as short SHAs
shorts() { for s; do printf '%.12s ' "$s"; done | sed 's/ $//'; }
# changes ID: "change subject" of each row
changes() { json "pushes/$1" | jq -r '.rows[] | .change + (if .moved == 1 then "* " else " " end) + .subject'; }

server_start --rate 0 || exit 1
push_token=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes)
t=mm-unstable

# --- an empty server -----------------------------------------------------------
is "$(json trees | jq -c .rows)" '[]' "no trees yet"
has "$(get "$url/trees.txt")" 'ci/post-push' "and how to post one"
is "$(get -o /dev/null -w '%{http_code}' "$url/trees/x")" 404 "an unknown tree"
is "$(get -o /dev/null -w '%{http_code}' "$url/pushes/aaaaaaaaaa.json")" 404 "an unknown push"

# --- who may post, and what ------------------------------------------------------
push 1 $t 2026-07-01T06:00:00Z '' b1 a b c d
is "$(push_token=$token; send pushes "$tmp/push1.json" | status)" 403 "a token for runs posts no push"
answer=$(send pushes "$tmp/push1.json" -D "$tmp/head")
is "$(echo "$answer" | status)" 201 "201: a push"
id1=$(echo "$answer" | head -1 | jq -r .id)
is "$(printf %s "$id1" | tr -d 'a-z2-7' | wc -c) ${#id1}" "0 10" "its id is short and can be said"
is "$(echo "$answer" | head -1 | jq -r .url)" "$url/pushes/$id1" "it says where it is"
has "$(cat "$tmp/head")" "/pushes/$id1" "in Location too"
is "$(send pushes "$tmp/push1.json" | status)" 200 "200: the same again"
jq -S . "$tmp/push1.json" >"$tmp/other.json"
answer=$(send pushes "$tmp/other.json")
is "$(echo "$answer" | status)" 200 "200: the same, its keys in another order"
is "$(echo "$answer" | head -1 | jq -r .id)" "$id1" "with the same id"
refused() {	# JQ STATUS TEXT
	jq "$1" "$tmp/push1.json" >"$tmp/other.json"
	answer=$(send pushes "$tmp/other.json")
	is "$(echo "$answer" | status)" "$2" "$2: $1"
	has "$(echo "$answer" | head -1 | jq -r .error)" "$3" "... and why"
}
for what in subject author; do
	refused ".commits[2].$what = \"x\"" 409 "/commits/2/$what: \""
done
refused '.commits[3].authored_at = "2026-07-09T00:00:00Z"' 409 '/commits/3/authored_at: "'
refused '.pushed_at = "2026-07-01T07:00:00Z" | .commits[2].tree_hash = .new' 409 '/commits/2/tree_hash: "'
refused '.commits[1].sha = "1111111111111111111111111111111111111111" |
	.commits[2].parent = .commits[1].sha' 409 '/commits/2/parent: "'
refused 'del(.commits[0:2]) | .commits[0].parent = .new' 409 '/commits/0/parent: "'
again() {	# JQ: posted again it is the same
	jq "$1" "$tmp/push1.json" >"$tmp/other.json"
	answer=$(send pushes "$tmp/other.json")
	is "$(echo "$answer" | status) $(echo "$answer" | jq -r '.status?' 2>/dev/null)" "200 same" "the same: $1"
}
seen() { json "pushes/$id1" '?show=all' | jq -cS .; }
seen=$(seen)
again '.commits[2].patch_id = null'
again '.commits[2].patch_id_u0 = .new | .commits[2].files = ["mm/memory.c"]'
again '.commits[1].link = "1@x" | .commits[1].quilt = "b.patch"'
again '.base = .new | .linear = 1'
again 'del(.commits[0:2])'
again '.commits |= [(.[0] | .sha = "2222222222222222222222222222222222222222")] + . |
	.commits[1].parent = .commits[0].sha'
is "$(seen)" "$seen" "of what is derived the first stands"
again '.tags = ["v2", "v1"]'
again '.tags = ["a\"b"]'
again '.tags = ["v1"]'
is "$(json trees/$t | jq -r '.rows[0].tags')" 'a"b v1 v2' "tags add up"
again '.tags = ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]'
for n in 1 2 3; do again ".tags = [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\"] | .tags[] |= \"$n\" + ."; done
is "$(json trees/$t | jq -r '.rows[0].tags' | wc -w)" 32 "32 of them"
refused '.commits[2].parent = .new' 400 '/commits/2/parent: expected the sha of /commits/1'
refused '.new = .base' 400 '/new: expected the last of commits'
refused '.commits[1].sha = "x"' 400 '/commits/1/sha: expected a string of 40 lower-case hex digits, got "x"'
refused 'del(.commits[3].author)' 400 '/commits/3/author: missing, expected'
refused '.commits[0].surprise = 1' 400 '/commits/0/surprise: unknown key'
refused '.pushed_at = "2026-02-30T00:00:00Z"' 400 '/pushed_at: expected a string of 20 bytes, a time that exists'
refused '.commits[0].subject = "a\u202eb"' 400 '/commits/0/subject: control or invisible character U+202E'
refused '.tree = "../x"' 400 '/tree: expected a string of 1 to 64 characters'
head -c 4194305 /dev/zero | tr '\0' ' ' >"$tmp/big"
is "$(send pushes "$tmp/big" -H Expect: | status)" 413 "413: over 4 MB"
bound=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes --host mm-new)
is "$(push_token=$bound; send pushes "$tmp/push1.json" | status)" 403 "403: a token that is bound to another tree"
is "$(json trees | jq -r '.rows[].pushes')" 1 "what was refused left nothing behind"

# --- a life, in order ------------------------------------------------------------
# 2: a line near to b changed, c's own lines, d reworded, e added, on a new base
push 2 $t 2026-07-02T06:00:00Z "$tip1" b2 a b//near c/v2 d///reworded e
# 3: a dropped, e moved to the front
push 3 $t 2026-07-03T06:00:00Z "$tip2" b2 e b//near c/v2 d///reworded
# 4: forced back to what 2 was
push 4 $t 2026-07-04T06:00:00Z "$tip3" b2 a b//near c/v2 d///reworded e
# 5: empty: nothing became nothing else
push 5 $t 2026-07-05T06:00:00Z "$tip4" b2 a b//near c/v2 d///reworded e
# 6: everything went to the base
push 6 $t 2026-07-06T06:00:00Z "$tip5" b6
# 7: reset: what was before is not known
push 7 $t 2026-07-07T06:00:00Z "$(sha elsewhere)" b7 x y
# 8: its clock is wrong, by a month: the chain knows better
push 8 $t 2026-06-08T06:00:00Z "$tip7" b7 x y z
# 9: mm-new shares commits with 8
push 9 mm-new 2026-07-08T07:00:00Z '' b7 x y z w
# 10 to 12: mm-stable is never rebased: each list goes on where the last ended
linear=1
push 10 mm-stable 2026-07-01T00:00:00Z "$(sha b0)" b0 s1 s2
b10=$tip10
push 11 mm-stable 2026-07-01T00:00:00Z "$b10" b10x s3
jq --arg p "$b10" '.base = $p | .commits[0].parent = $p' "$tmp/push11.json" >"$tmp/other.json"
mv "$tmp/other.json" "$tmp/push11.json"
linear=0

# Measured: the tips of 1, 2, 3 and 8, c inside 2, one that no push has, one
# with changes on top, and 7 on another host.
inside=$(jq -r '.commits[2].sha' "$tmp/push2.json")
run 1 "$tip1" 100; run 2 "$tip2" 200; run 3 "$tip3" 300; run 8 "$tip8" 800
run 4 "$inside" 250; run 5 "$(sha nowhere)" 999
run 6 "$tip1" 111 '.kernel.dirty = 1 | .kernel.build_id = "0000000000000000000000000000000000000000"'
run 7 "$tip7" 700 '.host.label = "lab2"'
run 9 "$tip10" 90
run 10 "$tip11" 91
jq -n --arg p "$tip6" '{ schema: "mmtrend.skip/1", host: "lab1", push: null, commit: $p,
	reason: "build failed" }' >"$tmp/skip1.json"
jq '.reason = "a second try hung"' "$tmp/skip1.json" >"$tmp/skip2.json"

for n in 2 3 4 5 6 7 8 9 10 11; do sent $n; done
for n in 1 2 3 4 5 6 7 8 9 10; do
	is "$(post "$tmp/run$n.json" | status)" 201 "run $n is kept"
done
is "$(push_token=$token; send skips "$tmp/skip1.json" | status)" 201 "a skip is kept"
is "$(push_token=$token; send skips "$tmp/skip1.json" | status)" 200 "once"
is "$(push_token=$token; send skips "$tmp/skip2.json" | status)" 201 "another reason adds to it"
is "$(send skips "$tmp/skip1.json" | status)" 403 "but not with a token for pushes"
jq '.push = "aaaaaaaaaa"' "$tmp/skip1.json" >"$tmp/other.json"
has "$(push_token=$token; send skips "$tmp/other.json")" '/commit: expected either this or push' "either a push or a commit"

is "$(axis)" "$(shorts "$tip1" "$inside" "$tip2" "$tip3" "$tip8")" \
	"the axis: pushes in order, what is inside a push before its tip, dropped SHAs stay"
json trend '?host=lab1&bench=mincore' >"$tmp/trend.json"
is "$(jq -r .tree "$tmp/trend.json")" $t "of the tree that holds most"
is "$(jq -c '.kernels.tip' "$tmp/trend.json")" '[1,0,1,1,1]' "which are tips"
is "$(jq -c '.kernels.push' "$tmp/trend.json")" '[0,1,1,2,7]' "of which push"
is "$(jq -c '.pushes.kernel' "$tmp/trend.json")" '[0,2,3,2,2,null,null,4]' \
	"forced back and empty are the kernel they were; what was not measured is a gap"
is "$(jq -c '.pushes.skip' "$tmp/trend.json")" \
	'[null,null,null,null,null,"a second try hung; build failed",null,null]' \
	"with the reasons that there are"
is "$(jq -r '.unplaced[].commit' "$tmp/trend.json" | sort | tr '\n' ' ')" \
	"$(printf '%s\n' "$tip1" "$(sha nowhere)" | sort | tr '\n' ' ')" \
	"unplaced: what no push has, and what is not its commit"
is "$(jq -c '[.elsewhere, .trees]' "$tmp/trend.json")" \
	'[2,[{"name":"mm-new","kernels":1},{"name":"mm-stable","kernels":2},{"name":"mm-unstable","kernels":5}]]' \
	"and what stands in other trees"
is "$(jq -r '.kernels.date[0,4]' "$tmp/trend.json" | tr '\n' ' ')" \
	'2026-07-01T06:00:00Z 2026-06-08T06:00:00Z ' "a kernel's date is its push's"
is "$(jq -c '[.series[0].value[]]' "$tmp/trend.json")" '[100,250,200,300,800]' "the figures follow"
is "$(axis '&tree=mm-stable')" "$(shorts "$tip10" "$tip11")" "a linear tree: first-parent order"
is "$(axis '&tree=mm-new')" "$(shorts "$tip8")" "a commit that two refs share stands in both"
is "$(axis '&tree=-' | wc -w)" 2 "tree=-: what no push holds"
is "$(axis '&last=2')" "$(shorts "$tip3" "$tip8")" "last=2"
is "$(json trend '?host=lab1&bench=mincore&last=2' | jq -c '[.older, (.pushes.id | length)]')" \
	'[3,6]' "with the pushes from there on"
has "$(json trend '?host=lab1&bench=mincore&tree=x' | jq -r .error)" 'tree: no push of "x" is known' "an unknown tree"
csv=$(get "$url/trend.csv?host=lab1&bench=mincore" | tr -d '\r')
has "$csv" ",$tip6,,2026-07-06T06:00:00Z,,,,,,,gap,a second try hung; build failed," "CSV: a gap and why"
txt=$(get "$url/trend.txt?host=lab1&bench=mincore")
has "$txt" "gap $(shorts "$tip6"): a second try hung; build failed" "text: a gap and why"
has "$txt" '2 kernels stand in no push that is known' "text: what is unplaced"
has "$txt" '2 kernels of mm-stable: tree=mm-stable' "text: other trees"
is "$(printf '%s\n' "$txt" | awk 'length($0) > 72 || /[^ -~]/ || (length($0) && !/^  /)')" '' "text: can stand in a mail"

# --- /pushes/ID ------------------------------------------------------------------
ids=$(json trees/$t | jq -r '.rows[].push')
id() { echo "$ids" | tail -n "$1" | head -1; }
is "$(changes "$(id 2)")" "$(printf '%s\n' 'added mm: e' 'replaced mm: c' 'context mm: b' \
	'reworded reworded')" "push 2: what was done to each"
is "$(json "pushes/$(id 1)" | jq -c '.rows')" '[]' "the first push has none to compare with"
is "$(changes "$(id 3)")" "$(printf '%s\n' 'dropped mm: a' 'moved* mm: e')" \
	"push 3: files of interest first"
is "$(changes "$(id 4)")" "$(printf '%s\n' 'added mm: a' 'moved* mm: e')" "push 4: back again"
is "$(changes "$(id 5)")" '' "push 5: nothing"
has "$(get "$url/pushes/$(id 5).txt")" 'Nothing changed.' "... and says so"
is "$(changes "$(id 6)" | sort -u | cut -d ' ' -f 1 | uniq -c | tr -s ' ')" ' 5 dropped' "push 6: all dropped"
is "$(changes "$(id 7)")" "$(printf '%s\n' 'added mm: x' 'added mm: y')" "push 7: all new"
has "$(get "$url/pushes/$(id 7).txt" | tr -s ' \n' ' ')" 'Pushes between are missing' "... and one is missing before it"
is "$(changes "$(id 8)")" 'added mm: z' "push 8: after 7, whatever its clock says"
is "$(json "pushes/$(id 8)" '?show=all' | jq -r '.rows[] | .change' | tr '\n' ' ')" 'added same same ' "show=all"
json "pushes/$(id 3)" | jq '.rows[0]' >"$tmp/row.json"
is "$(jq -c '[.place, .was_place, .sha, .was_sha, .files]' "$tmp/row.json")" \
	"[null,1,null,\"$(jq -r '.commits[0].sha' "$tmp/push2.json")\",\"mm/gup.c\"]" "a row knows what it was"
html=$(get "$url/pushes/$(id 3)")
has "$html" '<a href="/compare?a=' "HTML: a host leads to what changed there"
has "$html" ">the push before</a>" "HTML: the push before"
id10=$(json trees/mm-stable | jq -r '.rows[0].push')
is "$(changes "$id10")" 'added mm: s3' "a linear tree adds"

# --- /trees ----------------------------------------------------------------------
is "$(json trees | jq -c '[.rows[] | [.tree, .pushes, .linear]]')" \
	'[["mm-new",1,0],["mm-stable",2,1],["mm-unstable",8,0]]' "/trees"
is "$(json trees/$t | jq -c '[.rows[] | .["host.lab1"][0:7]] | map(if test("^0") then "k" else . end)')" \
	'["k","missing","skipped","k","k","k","k","k"]' "/trees/NAME: measured, skipped, missing"
is "$(json trees/$t | jq -r '.rows[7]["host.lab1"][-2:]')" 01 "measured: not by a build with changes on top"
is "$(json trees/$t | jq -r '.rows[2]["host.lab1"]')" 'skipped: a second try hung; build failed' "with the reasons"
is "$(json trees/$t | jq -c '[.rows[] | .["host.lab2"] != "missing"] | index(true)')" 1 "for each host"
is "$(json trees/$t "?last=2&before=$(id 4)" | jq -r '.rows[].push' | tr '\n' ' ')" "$(id 3) $(id 2) " "paged"
has "$(get "$url/trees/$t?last=2")" "<a href=\"?before=$(id 7)\">older pushes</a>" "HTML: the older ones"
for v in trees trees/$t "pushes/$(id 2)"; do
	is "$(get "$url/$v.txt" | awk 'length($0) > 72 || /[^ -~]/ || (length($0) && !/^  /)')" '' "$v.txt can stand in a mail"
	is "$(get -o /dev/null -w '%{http_code} %{content_type}' "$url/$v.csv")" '200 text/csv; charset=utf-8' "$v.csv"
	is "$(get -o /dev/null -w '%{http_code}' "$url/$v.svg")" 404 "$v has no picture"
done
if command -v lynx >/dev/null; then
	has "$(lynx -dump -nolist -width 200 "$url/pushes/$(id 3)" | tr -s ' ')" 'dropped gup.c mm: a' "lynx reads it"
else
	skip "lynx reads it" "no lynx"
fi

# --- /patches/KEY ------------------------------------------------------------------
sha_of() { jq -r ".commits[$2].sha" "$tmp/push$1.json"; }
patch_of() { json "patches/$1" | jq -r '.rows[] | "\(.tree) \(.change) \(.sha)"'; }
patch_of "$(sha_of 1 2)" >"$tmp/c"
is "$(cat "$tmp/c")" "$(printf '%s\n' "$t added $(sha_of 1 2)" "$t replaced $(sha_of 2 2)" \
	"$t rebased $(sha_of 3 2)" "$t rebased $(sha_of 2 2)")" "a patch over its SHAs, push after push"
for key in "$(sha_of 2 2)" "$(sha_of 3 2 | head -c 9)" "$(jq -r '.commits[2].patch_id' "$tmp/push2.json")" \
	"$(jq -r '.commits[2].patch_id_u0' "$tmp/push1.json")"; do
	is "$(patch_of "$key")" "$(cat "$tmp/c")" "the same by $key"
done
is "$(get -o /dev/null -w '%{http_code}' "$url/patches/$(sha nothing)")" 404 "an unknown SHA"
is "$(get -o /dev/null -w '%{http_code}' "$url/patches/a@b.txt")" 404 "an unknown Message-ID"
has "$(get "$url/patches/$(sha_of 1 2)")" '<a href="/compare?a=' "HTML: figures before and since"
is "$(get "$url/patches/$(sha_of 2 2).txt" | grep '  this commit  ' | tr -s ' ' | cut -d ' ' -f 2,6)" \
	'2026-07-02 lab1' "what was measured of the commit alone"
# Mailed: two versions of a series of two, the first by its cover letter too.
push 20 mails 2026-07-01T00:00:00Z '' m m1 m2
jq '.commits[0].link = "2026.77-2-a@x" | .commits[1].link = "2026.77-3-a@x"' "$tmp/push20.json" >"$tmp/other.json"
is "$(send pushes "$tmp/other.json" | status)" 201 "push 20 is kept"
push 21 mails 2026-07-02T00:00:00Z "$tip20" m m1/v2 m2
jq '.commits[0].link = "2027.1-2-a@x" | .commits[1].link = "2026.77-3-a@x" |
	.commits[1].quilt = "m2.patch"' "$tmp/push21.json" >"$tmp/other.json"
is "$(send pushes "$tmp/other.json" | status)" 201 "push 21 is kept"
is "$(json patches/2027.1-2-a@x | jq -r '.rows[] | .link + " " + .change' | tr '\n' ' ')" \
	'2026.77-2-a@x added 2027.1-2-a@x replaced ' "two versions are one patch"
is "$(json patches/2026.77-3-a%40x | jq -r '.rows[].sha')" "$(json patches/m2.patch | jq -r '.rows[].sha')" \
	"by its Message-ID, escaped, or by its quilt name"
is "$(get "$url/patches/2027.1-2-a@x.txt" | grep '^  mm:' | grep -o '20[0-9.]*-[23]-a@x' | tr '\n' ' ')" \
	'2026.77-2-a@x 2026.77-3-a@x 2027.1-2-a@x ' "each version with what was mailed with it"
has "$(get "$url/patches/2026.77-1-a@x.txt")" '2026.77-3-a@x' "the cover letter leads to its patches"
is "$(get "$url/patches/$(sha_of 1 2).txt" | awk 'length($0) > 72 || /[^ -~]/ || (length($0) && !/^  /)')" '' "it can stand in a mail"

# --- /todo/HOST --------------------------------------------------------------------
todo() { json "todo/$1" "${2:-}" | jq -r '.rows[] | "\(.commit) \(.bench) \(.sizes) \(.why)"'; }
sizes=$(jq -r '[.cells[].folio_bytes] | sort | map(tostring) | join(" ")' "$tmp/run1.json")
is "$(todo lab2)" "$(for n in 8 6 5 3 1; do
	eval "echo \"\$tip$n mincore $sizes not measured\""; done)" \
	"to measure: pushes of the tree that it follows, newest first"
is "$(todo lab1)" "$tip7 mincore $sizes not measured" "not what was skipped, nor another host's"
run 11 "$tip7" 710 '.cells |= .[:1]'
n=11
is "$(post "$tmp/run11.json" | status)" 201 "run 11 is kept"
is "$(todo lab1)" "$tip7 mincore ${sizes%% *} missing or not valid" "one size is still missing"
is "$(todo lab1 '?last=1')" '' "last=1"
for status in invalid failed invalid; do
	n=$((n + 1))
	is "$(todo lab1)" "$tip7 mincore ${sizes%% *} missing or not valid" "try $((n - 11)) of 3 at it"
	run 2$((n - 11)) "$tip7" 720 ".cells |= .[1:] | .cells[].status = \"$status\" |
		.cells[].reasons = [\"noise\"]"
	post "$tmp/run2$((n - 11)).json" >/dev/null
done
is "$(todo lab1)" '' "which was tried often enough"
has "$(get "$url/todo/lab1.txt?last=1" | tr -s ' \n' ' ')" 'Nothing: all pushes' "... says that there is none"
is "$(get -o /dev/null -w '%{http_code}' "$url/todo/nobody")" 404 "an unknown host"

# --- one source ----------------------------------------------------------------------
# Push 31 only rewords 30: what no run says of a tree, the commits say.
push 30 src 2026-07-01T00:00:00Z '' s x
push 31 src 2026-07-02T00:00:00Z "$tip30" s x///reworded
tree=$(jq '.commits[0].tree_hash' "$tmp/push30.json")
jq ".commits[0].tree_hash = $tree" "$tmp/push31.json" >"$tmp/other.json"
mv "$tmp/other.json" "$tmp/push31.json"
lab3='.host.label = "lab3"'
run 30 "$tip30" 300 "$lab3"; run 31 "$tip31" 340 "$lab3"
sent 30; sent 31
is "$(post "$tmp/run30.json" | status)" 201 "run 30 is kept"
one_source() { json trend '?host=lab3&bench=mincore' |
	jq -c '[.kernels.commit, .pushes.kernel, .series[0].value, .series[0].boots]'; }
is "$(one_source)" "[[\"$tip30\"],[0,0],[300],[1]]" "/trend: the next push is the same source"
is "$(json trees/src | jq -c '[.rows[] | .["host.lab3"][-2:]]')" '["30","30"]' "/trees: and measured"
is "$(todo lab3)" '' "/todo: and not asked for"
is "$(post "$tmp/run31.json" | status)" 201 "run 31 is kept"
is "$(one_source)" "[[\"$tip30\"],[0,0],[319],[2]]" "measured all the same, it is one kernel of two boots"

# --- in whatever order it comes -----------------------------------------------------
# state: everything that a reader can see, but for the addresses
state() {
	for v in "trend?host=lab1&bench=mincore" "trend?host=lab1&bench=mincore&tree=-" \
		"trend?host=lab1&bench=mincore&tree=mm-stable" "trend?host=lab2&bench=mincore" \
		"trend?host=lab3&bench=mincore" todo/lab1 todo/lab2 todo/lab3 trees/src \
		trees trees/$t trees/mm-stable $(for i in $ids; do echo "pushes/$i"; done); do
		for form in txt json csv; do
			get "$url/$(echo "$v" | sed "s/?/.$form?/; t; s/\$/.$form/")"
		done
	done | sed "s,$url,,"
}
server_stop
db=$tmp/in-order.db
server_start --rate 0 || exit 1
for n in 1 2 3 4 5 6 7 8 9 10 11 30 31; do send pushes "$tmp/push$n.json"; done >/dev/null
# Two builds of one source, of other machines, and with other parameters before.
one='.kernel.tree_hash = "1111111111111111111111111111111111111111"'
run 12 "$tip3" 310 "$one"; run 13 "$tip3" 330 "$one"
run 14 "$tip8" 810 '.host.epoch.cpus = 99'
run 15 "$tip8" 820 '.benches[0].params.memory_bytes = 1024 | .started_at = "2026-07-30T10:00:00Z"'
# Two that cannot be trusted, each for another reason.
for n in 16 17; do
	run $n "$inside" $n ".host.label = \"lab2\" | .cells[].status = \"invalid\" |
		.kernel.build_id = \"0000000000000016\" | .cells[].reasons = [\"reason $((33 - n))\"]"
done
for n in 1 2 3 4 5 6 7 8 9 10 12 13 14 15 16 17 30 31; do post "$tmp/run$n.json"; done >/dev/null
for n in 1 2; do (push_token=$token; send skips "$tmp/skip$n.json"); done >/dev/null
json trend '?host=lab1&bench=mincore' >"$tmp/trend.json"
is "$(jq -r '.params' "$tmp/trend.json")" memory_bytes=268435456 "the parameters of the newest run, not of the last to come"
is "$(jq -c '[.series[0].epoch != .series[-1].epoch, .series[0].value[-1], .series[-1].value[-1]]' "$tmp/trend.json")" \
	'[true,800,810]' "machines stand old to new"
is "$(jq -c '[.series[0].value[3:5][], .series[0].boots[3:5][]]' "$tmp/trend.json")" '[300,320,1,2]' \
	"two builds of one source are one, beside another"
is "$(get "$url/trend.txt?host=lab1&bench=mincore" | grep -c "  gap *gap")" 2 "a gap is told once, whatever machines there were"
is "$(json trend '?host=lab2&bench=mincore' | jq -r '.series[0].not_ok[].reason')" 'reason 16' \
	"of two reasons the first in the alphabet is shown, not the first that came"
state >"$tmp/in-order"
etag=$(get -o /dev/null -D - "$url/trees.json" | tr -d '\r' | sed -n 's/^ETag: //Ip')
server_stop
server_start --rate 0 || exit 1
state >"$tmp/again"
cmp -s "$tmp/in-order" "$tmp/again"; ok $? "a restart changes nothing"
push 12 mm-new 2026-07-09T07:00:00Z "$tip9" b7 x y
sent 12
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
	jq --arg n "$n" '.pushed_at = "2026-08-" + ("0" + $n)[-2:] + "T00:00:00Z"' "$tmp/push12.json" >"$tmp/other.json"
	send pushes "$tmp/other.json" >/dev/null
	get -o /dev/null -w '%{http_code}\n' -H "If-None-Match: $etag" "$url/trees.json"
done | sort | uniq -c >"$tmp/codes"
is "$(tr -s ' \n' ' ' <"$tmp/codes")" ' 30 200 ' "nor does it let an old page pass for new"
for seed in 1 2 3; do
	server_stop
	db=$tmp/shuffled$seed.db
	server_start --rate 0 || exit 1
	{
		for n in 1 2 3 4 5 6 7 8 9 10 11 30 31; do echo "push $n"; done
		for n in 1 2 3 4 5 6 7 8 9 10 12 13 14 15 16 17 30 31; do echo "run $n"; done
		printf '%s\n' 'skip 1' 'skip 2' 'push 4' 'run 2'
	} |
	awk -v seed=$seed 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort | cut -f 2 >"$tmp/shuffled"
	while read -r what n; do
		case $what in
		push) send pushes "$tmp/push$n.json" ;;
		skip) (push_token=$token; send skips "$tmp/skip$n.json") ;;
		run) post "$tmp/run$n.json" ;;
		esac
	done <"$tmp/shuffled" | grep -E '^[0-9]+$' | sort | uniq -c >"$tmp/codes"
	state >"$tmp/now"
	cmp "$tmp/in-order" "$tmp/now" >&2
	ok $? "shuffled, some of it twice, the same bytes ($(tr -s ' \n' ' ' <"$tmp/codes"))"
done

# --- a push that comes late -----------------------------------------------------------
server_stop
db=$tmp/late.db
server_start --rate 0 || exit 1
post "$tmp/run14.json" >/dev/null
for n in 1 3 8 5; do post "$tmp/run$n.json" >/dev/null; done
is "$(json trend '?host=lab1&bench=mincore' | jq -c '[.series[0, -1].value[-1]]')" '[null,810]' \
	"the older machine stands first, though it came last"
is "$(json trend '?host=lab1&bench=mincore' | jq -c '[.tree, (.kernels.key | length), .unplaced]')" \
	'[null,5,[]]' "without pushes: kernels by their first run"
sent 3
is "$(json trend '?host=lab1&bench=mincore' | jq -c '[.tree, (.kernels.key | length), (.unplaced | length)]')" \
	'["mm-unstable",1,4]' "with one: what it does not have is unplaced"
sent 8
is "$(axis)" "$(shorts "$tip8" "$tip3")" "two with a hole between: by their clocks"
sent 7; sent 1
is "$(axis)" "$(shorts "$tip1" "$tip3" "$tip8")" "each lands where it belongs when its push arrives"
is "$(json trend '?host=lab1&bench=mincore' | jq -c '.unplaced | length')" 1 "and one stays unplaced"
done_testing
