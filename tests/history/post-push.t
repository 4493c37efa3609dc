#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ci/post-push: what it reads from a clone, what it says where it cannot, and
# that nothing is lost between a clone and the server.
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"
# shellcheck source=tests/history/repo.sh
. "$SRC/tests/history/repo.sh"

chaos_pid=
trap 'rc=$?; [ -z "$chaos_pid" ] || kill $chaos_pid; server_stop; rm -rf "$tmp"; exit $rc' EXIT

# run OPTION...: sets $out, $err, $rc
run() {
	"$SRC/ci/post-push" --tree mm-unstable --repo "$repo" "$@" \
		>"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	out=$(cat "$tmp/out"); err=$(cat "$tmp/err")
}
# field JQ-FILTER: of the one document in $out
field() { printf '%s\n' "$out" | jq -c "$1"; }
# refused WORDS OPTION...: usage, and what it says
refused() {
	words=$1; shift
	run "$@"
	is "$rc" 64 "a usage error: $*"
	has "$err" "$words" "... that says: $words"
}

repo_start
patch a ann 'mm: a' 'first%2Ba-1-ann@example.org' 'set_line mm/gup.c 10 a
	set_line mm/rmap.c 90 a'
patch b bob 'mm: b' '' 'set_line mm/rmap.c 50 b'
patch odd "odd" "$(printf 'mm: \342\200\256"odd" \\ \303\244')" '' 'set_line mm/slub.c 1 odd'
pushed 2026-07-28T06:00:00Z a b odd
first=$(sha unstable)

# --- what cannot be ----------------------------------------------------------
refused 'expected --base REF, or --linear' HEAD
refused 'expected --base REF, or --linear' --base stable --linear HEAD
refused "--base: no commit 'nope'" --base nope HEAD
refused 'expected [OLD] NEW, got 0 words' --base stable
refused 'expected [OLD] NEW, got 3 words' --base stable a b c
refused "no commit 'nope' in" --base stable -n nope
refused "no commit 'nope' in" --base stable -n nope unstable
refused "expected a time like 2026-07-28T06:18:00Z, got 'soon'" \
	--base stable -n --time soon unstable
refused "no ref 'nope'" --base stable -n --reflog nope
refused 'no file' --base stable -n --log "$tmp/nope"
refused 'not both' --base stable -n --log x --reflog y
refused 'no commit beside' --base stable -n --log x unstable
refused 'unknown option --bogus' --bogus
refused '--last: expected a number' --base stable --last few unstable
refused '--tree: expected a value' --tree
refused '--tree: expected at most 64' --tree "$(printf %065d 0)" --base stable HEAD
refused "got '99999999999999'" --base stable -n --time 99999999999999 unstable
refused 'not a git repository' --repo "$tmp" --base stable unstable
in_repo checkout -q --orphan other
in_repo commit -q -m other
refused 'shares no history with its base' --base other -n unstable
in_repo checkout -q -f stable
git clone -q --depth 2 "file://$repo" --branch unstable "$tmp/shallow"
git -C "$tmp/shallow" fetch -q --depth 1 origin stable:stable
refused 'git fetch --unshallow' --repo "$tmp/shallow" --base stable -n unstable
has "$("$SRC/ci/post-push" --help)" '--reflog REF' '--help is the manual'

# --- one push -------------------------------------------------------------------
in_repo tag mm-everything-2026-07-28-06-00 unstable
run --base stable -n --time 2026-07-28T06:00:00Z unstable
is "$rc$err" 0 'a document, and no noise in a pipe'
printf '%s\n' "$out" >"$tmp/doc.json"
python3 - "$SRC/schema/push.schema.json" "$tmp/doc.json" <<'END' >&2
import json, sys, jsonschema
schema, doc = (json.load(open(f)) for f in sys.argv[1:])
jsonschema.validate(doc, schema)
END
ok $? 'it is what push.schema.json describes'
is "$(field '[.schema, .tree, .pushed_at, .old, .linear, .tags]')" \
	'["mmtrend.push/1","mm-unstable","2026-07-28T06:00:00Z",null,0,["mm-everything-2026-07-28-06-00"]]' \
	'what is pushed'
is "$(field '[.new, .base]')" "[\"$first\",\"$(sha stable)\"]" \
	'the tip, and what the list stands on'
is "$(field '[.commits[].sha]')" \
	"$(in_repo rev-list --reverse stable..unstable | jq -R . | jq -sc .)" \
	'the commits, the oldest first'
is "$(field '.commits[0] | [.tree_hash, .parent, .subject, .author, .authored_at]')" \
	"[\"$(sha "unstable~2^{tree}")\",\"$(sha stable)\",\"mm: a\",\"ann <ann@example.org>\",\"2026-07-01T00:00:00Z\"]" \
	'what a commit is'
for context in 3 0; do
	want=$(in_repo log -p -U$context --first-parent --reverse stable..unstable |
		git patch-id --stable | cut -d ' ' -f 1 | jq -R . | jq -sc .)
	key=patch_id; [ $context = 3 ] || key=patch_id_u0
	is "$(field "[.commits[].$key]")" "$want" "git patch-id --stable of -U$context"
done
is "$(field '[.commits[].link]')" '["first+a-1-ann@example.org",null,null]' \
	'the Message-ID of the Link: trailer, plain'
is "$(field '[.commits[].files]')" '[["mm/gup.c"],[],[]]' 'the files of interest'
is "$(field '.commits[2].subject')" "$(printf '"mm: \357\277\275\\"odd\\" \\\\ \303\244"')" \
	'a code point that lies about a text is replaced, the rest is as it was'
in_repo config diff.context 9
in_repo config diff.noprefix true
in_repo config diff.algorithm patience
in_repo config diff.external false
in_repo config color.ui always
run --base stable -n --time 1785218400 unstable
is "$out" "$(cat "$tmp/doc.json")" "a user's git settings change nothing; nor does a time in seconds"
(cd "$repo" && GIT_DIR=/nowhere "$SRC/ci/post-push" --tree mm-unstable --repo . \
	--base stable -n --time 1785218400 unstable) >"$tmp/hook.json" 2>&1
is "$(cat "$tmp/hook.json")" "$out" "nor does a hook's GIT_DIR, beside --repo"
run --base stable -o "$tmp/o.json" --time 1785218400 unstable
is "$out$(cat "$tmp/o.json")" "$(cat "$tmp/doc.json")" '-o FILE: the same, into a file'
is "$(in_repo for-each-ref refs/mmtrend)" '' 'and without sending nothing is kept'

# --- Link: the mail of the patch itself, or none -------------------------------
links() {
	in_repo checkout -q --detach stable
	in_repo commit -q --allow-empty -F - <<-END
	mm: links

	It was found by Link: https://lkml.kernel.org/r/no-0@example.org

	[akpm: fix]
	  Link: https://lkml.kernel.org/r/no-1@example.org
	$(printf '%b' "$1")
	Signed-off-by: a <a@example.org>
	END
	run --base stable -n HEAD
	is "$(field '[.commits[] | .link, .patch_id]')" "[$2,null]" "$3"
}
links '' null 'no Link: in the trailers; an empty commit has no patch-id'
links 'Link: https://lore.kernel.org/all/ref@example.org/ [1]\nLink: https://lkml.kernel.org/r/own@example.org\nLink: https://lore.kernel.org/r/later@example.org' '"own@example.org"' \
	'the first that stands alone; not what an author refers to'
links 'Link: https://patch.msgid.link/own-2@example.org/' '"own-2@example.org"' \
	'whatever host the archive has'
links 'Link: https://bugzilla.kernel.org/show_bug.cgi?id=1' null 'a bug is no mail'

# --- merges, and trees that are never rebased -------------------------------------
in_repo checkout -q -b linear stable
in_repo commit -q --allow-empty -m one
in_repo checkout -q -b side stable
sed -i 's/^7$/seven/' "$repo/mm/memory.c"
in_repo commit -q -a -m side
in_repo checkout -q linear
in_repo merge -q --no-ff -m merge side
run --linear -n linear~1 linear
is "$(field '[.linear, .base, [.commits[].subject]]')" \
	"[1,\"$(sha linear~1)\",[\"merge\"]]" 'linear: the first-parent commits from OLD on'
is "$(field '.commits[0] | [.patch_id, .parent, .files]')" \
	"[null,\"$(sha linear~1)\",[\"mm/memory.c\"]]" \
	'a merge: no patch of its own, what it brought to the files of interest'
run --linear -n linear
is "$(field '[.old, .base, [.commits[].subject]]')" \
	"[null,\"$(sha linear~1)\",[\"merge\"]]" 'linear, without OLD: the tip alone'
run --base stable -n unstable stable
is "$(field '[.base == .new, .commits]')" '[true,[]]' 'a tree that is its base again is an empty push'

# --- 04's table of keys, by git itself ----------------------------------------------
patch far bob far '' 'above_line mm/gup.c 40 far; above_line mm/rmap.c 1 far'
patch near bob near '' 'set_line mm/rmap.c 52 near'
on_stable far
pushed 2026-07-28T07:00:00Z a b
on_stable near
pushed 2026-07-28T08:00:00Z a b
patch b bob 'mm: b, in other words' '' 'set_line mm/rmap.c 50 b'
pushed 2026-07-28T09:00:00Z a b
patch b bob 'mm: b, in other words' '' 'set_line mm/rmap.c 50 b+fix'
pushed 2026-07-28T10:00:00Z a b
run --base stable -n --log "$tmp/log"
is "$rc" 0 'every push of a log'
is "$(printf '%s\n' "$out" | jq -sc 'map(.commits | map(select(.subject | test("mm: b")))[0]) |
	[.[1:], .[:-1]] | transpose | map([(.[0].sha == .[1].sha),
		(.[0].patch_id == .[1].patch_id), (.[0].patch_id_u0 == .[1].patch_id_u0),
		(.[0] | [.author, .subject]) == (.[1] | [.author, .subject])] |
	map(if . then "same" else "differs" end) | join(" "))[]')" \
	"$(printf '"differs %s"\n' 'same same same' 'differs same same' \
		'same same differs' 'differs differs same')" \
	'far change, near change, reworded, folded -fix: the keys that 04 says stay'
is "$(printf '%s\n' "$out" | jq -sc 'map(.old)[1:] == map(.new)[:-1]')" true \
	'each push begins where the one before ended'
is "$(printf '%s\n' "$out" | jq -r .pushed_at)" "$(cut -d ' ' -f 3 "$tmp/log")" 'at its time'
is "$(printf '%s\n' "$out" | jq -r .base)" "$(cut -d ' ' -f 4 "$tmp/log")" 'on its base'
all=$out
cut -d ' ' -f 1,2 "$tmp/log" | sed "1s/^[0-9a-f]*/-/" >"$tmp/short-log"
run --base stable -n --log "$tmp/short-log" --last 3
is "$(printf '%s\n' "$out" | jq -sc 'map(.pushed_at)')" \
	'["2026-07-01T00:00:00Z","2026-07-01T00:00:01Z","2026-07-01T00:00:02Z"]' \
	'no time in a log: the commit time, and always later; --last 3'

# --- a reflog: pushes that went by before anyone asked ------------------------------
in_repo config core.logAllRefUpdates always
printf '%s\n' "$all" | jq -r '[.old, .new, .base, .pushed_at] | join(" ")' |
while read -r old new base at; do
	GIT_COMMITTER_DATE=$at in_repo update-ref refs/remotes/mm/unstable "$new"
	GIT_COMMITTER_DATE=$at in_repo update-ref refs/remotes/mm/stable "$base"
done
on_stable a	# and the base moved on since
GIT_COMMITTER_DATE=2026-07-28T11:00:00Z in_repo update-ref refs/remotes/mm/stable stable
run --base mm/stable -n --reflog mm/unstable
is "$(printf '%s\n' "$out" | jq -c 'select(.old)')" "$(printf '%s\n' "$all" | tail -n +2)" \
	'a reflog gives the same documents, each on the base of its time'
run --base mm/stable -n --log "$repo/.git/logs/refs/remotes/mm/unstable"
is "$(printf '%s\n' "$out" | jq -c .pushed_at)" "$(printf '%s\n' "$all" | jq -c .pushed_at)" \
	"so does a copy of git's own log"
in_repo update-ref -d refs/remotes/mm/unstable
in_repo update-ref refs/remotes/fresh unstable
rm "$repo/.git/logs/refs/remotes/fresh"
run --base mm/stable -n --reflog fresh
is "$(field '[.old, .new]')" "[null,\"$(sha unstable)\"]" 'a ref without a reflog is one push'
old=$(in_repo commit-tree -m gone 'HEAD^{tree}')
echo "$(echo "$old" | tr 0-9a-f 1-9a-f0) $(sha unstable) 2026-07-28T12:00:00Z" >"$tmp/gone"
run --base stable -n --log "$tmp/gone"
is "$rc" 0 'an OLD that git gc took is a name all the same'

# --- sending: usage first, which sends nothing --------------------------------------
server_start --rate 0 || { ok 1 'the server starts'; done_testing; }
"$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes --host mm-unstable >"$tmp/ptoken"
refused '--token-file' --base stable unstable
MMTREND_TOKEN_FILE=$tmp/ptoken; export MMTREND_TOKEN_FILE
chmod 644 "$tmp/ptoken"
refused 'chmod 600' --base stable unstable
chmod 600 "$tmp/ptoken"
printf 'mmt_one\nmmt_two\n' >"$tmp/two"; chmod 600 "$tmp/two"
refused 'one token only' --base stable --token-file "$tmp/two" unstable
hasnt "$err" mmt_one '... and a token is never printed'
refused 'expected a plain file' --base stable --token-file "$tmp" unstable
for u in http://mmtrend.example http://127.0.0.1.example/ "http://[::2]" http://localhost.example:80; do
	refused '--insecure' --base stable --url "$u" unstable
done
for u in ftp://127.0.0.1/ http://me:pw@127.0.0.1/ "$url/?a=b" 'not a url' https://; do
	refused '--url: expected http' --base stable --url "$u" unstable
done
spool=$repo/.git/mmtrend
waiting() { find "$spool" -maxdepth 1 -name '*.json' | wc -l; }
is "$(find "$spool" 2>/dev/null)$(in_repo for-each-ref refs/mmtrend)" '' 'nothing waits, nothing is kept'

# --- one push, and one that waits -----------------------------------------------------
push() { at=$1; shift; run --base stable --time "2026-07-29T0$at:00:00Z" --url "$url" "$@"; }
push 1 unstable~1 unstable
is "$rc$err" 0 'one push goes'
has "$out" "$url/pushes/" 'its page is printed'
is "$(waiting)" 0 'nothing waits'
page=$out
push 1 unstable~1 unstable
is "$rc$err$out" "0$page" 'the same again is the same push'

url=http://127.0.0.1:9 push 2 unstable~1
is "$rc $(waiting)" '4 1' 'no server: the push waits'
has "$err" "Couldn't connect" '... and the reason is said'
url=http://127.0.0.1:9 push 3 unstable
is "$rc $(waiting)" '4 2' 'so does the next'
url=$url/healthz push 3 unstable
is "$rc $(waiting)" '4 2' "what is no mmtrendd's address loses nothing"
has "$err" "address?" '... and is suspected'
push 4 --token-file "$tmp/token" unstable
is "$rc $(waiting)" '4 3' 'a token of another scope loses nothing'
push 5 unstable
is "$rc $(waiting)" '0 0' 'the server is back: all of it goes'
is "$(printf '%s\n' "$out" | sort -u | wc -l)" 4 '... each once'

push 6 -n unstable
printf '%s\n' "$out" | jq -c '.commits[0].subject = "forged"' >"$spool/2026-07-29T060000Z-x.json"
push 7 unstable
is "$rc $(waiting) $(find "$spool/dead" -type f | wc -l)" '3 0 2' \
	'what the server refuses for good is laid aside, and stops nothing'
has "$(cat "$spool"/dead/*.why)" 'the server answered 409' '... with the reason'
rm -r "$spool/dead"
"$SRC/ci/post-push" --tree other --repo "$repo" --base stable --url "$url" unstable 2>"$tmp/err"
is "$? $(waiting)" '4 1' "a tree that this token may not post waits for one that may"
push 8 unstable
is "$rc $(waiting)" '4 1' '... and stops no other'
has "$out" "$url/pushes/" '... which is there'
rm "$spool"/*.json

# --- the server's caps: a cut, or a word, never a push that is refused for ever --------
# many N BYTES: a branch of N commits, each with a subject of BYTES
many() {
	awk -v n="$1" -v bytes="$2" 'BEGIN {
		while (length(text) < bytes)
			text = text "\360\237\220\247"
		print "reset refs/heads/many\nfrom refs/heads/stable\n"
		for (i = 1; i <= n; i++) {
			subject = i " " text
			printf("commit refs/heads/many\nauthor %s <a@example.org> %s +0000\n" \
				"committer c <c@example.org> 1785218400 +0000\n" \
				"data %d\n%s\n", substr(text, 1, 1200), i > 1 ? "0" : "253402300800",
				length(subject), subject)
		}
	}' | in_repo fast-import --quiet --force
}
many 2 1200
push 9 many
is "$rc$err$(waiting)" 00 'long subjects and authors, a date of the year 10000: the push goes'
is "$(in_repo log -1 --format=%s many | wc -c)" 1203 '... which are longer than 1024 bytes'
push 9 -n many
is "$(field '.commits[0] | [(.subject | length), (.author | length), .authored_at]')" \
	'[256,256,"1970-01-01T00:00:00Z"]' '... cut'
many 4096 1
push 9 many
is "$rc$err$(waiting)" 00 '4096 commits go'
many 4097 1
push 9 many
is "$rc $(waiting)" '64 0' 'one more is an error, not a push that waits'
has "$err" "over 4096 commits above its base $(sha stable): the right --base?" '... that says why'
"$SRC/ci/post-push" --tree linear --repo "$repo" --linear -n stable many >"$tmp/out" 2>"$tmp/err"
is "$? $(jq -c '[.base, (.commits | length)]' "$tmp/out")" "0 [\"$(sha many~4096)\",4096]" \
	'of a linear tree the newest 4096'
has "$(cat "$tmp/err")" 'only its newest 4096 commits are sent' '... and that is said'
many 3000 1020
push 9 many
is "$rc $(waiting)" '64 0' 'so is a document over 4 MB'
has "$err" 'and the server takes 4194304' '... that says so'
in_repo update-ref -d refs/heads/many

# --- a log, twice; a bad network ------------------------------------------------------
run --base stable --log "$tmp/log" --url "$url"
is "$rc $(printf '%s\n' "$out" | sort -u | wc -l)" '0 5' 'each push of a log'
run --base stable --log "$tmp/log" --url "$url"
is "$rc$out$err" 0 'again: nothing to do'
rm "$spool/posted"
: >"$tmp/chaos.port"
"$BUILD/tests/bench/chaos" --to "${url##*:}" --seed 4 --drop 150 --lose 150 --busy 150 \
	--cut 150 >"$tmp/chaos.port" 2>"$tmp/chaos.log" &
chaos_pid=$!
while [ ! -s "$tmp/chaos.port" ]; do sleep 0.1; done
tries=0
while [ $tries -lt 30 ]; do
	tries=$((tries + 1))
	run --base stable --log "$tmp/log" --url "http://127.0.0.1:$(cat "$tmp/chaos.port")"
	[ $rc -ne 0 ] || break
done
is "$rc $(waiting)" '0 0' "over a bad network all of it arrives ($tries calls)"
for spoilt in drop lose busy cut; do
	ok "$(grep -q "$spoilt" "$tmp/chaos.log"; echo $?)" "... which did $spoilt"
done
is "$(sqlite3 "$db" "SELECT count(*) FROM push WHERE pushed_at < '2026-07-29'")" 5 '... and each once'

measured=$(sha unstable)
in_repo checkout -q -f stable
in_repo update-ref -d refs/heads/unstable
in_repo update-ref -d refs/remotes/fresh
in_repo reflog expire --expire=now --all
in_repo gc -q --prune=now
is "$(in_repo cat-file -t "$measured")" commit 'a posted tip outlives git gc'
done_testing
