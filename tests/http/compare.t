#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# /compare of kernels that are a commit and patch groups on top of it: judged
# as `mmtrend compare` does with the same documents.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# document N JQ: another build, boot and run of the lab's kernel -> $tmp/N.json
document() {
	jq --arg n "$1" '.id = .id[:-1] + $n | .boot.id = .boot.id[:-1] + $n |
		.kernel.build_id = (.kernel.build_id // ("0" * 40))[:-1] + $n |
		.kernel.tree_hash = null | .kernel.commit = "c" * 40 |
		.kernel.release = "6.12.117-gcccccccccccc" | .kernel.dirty = 0 |
		.kernel.tree = null | .kernel.patches = [] | .unread = {} | '"$2" \
		"$SRC/tests/agent/compare/${3:-before}.json" >"$tmp/$1.json"
}
posted() { is "$(post "$tmp/$1.json" | tail -1)" 201 "run $1 is kept"; }
key() { jq -r .kernel.build_id "$tmp/$1.json"; }
# both A B VERDICT WHAT: the server's word for a pin at 64k, and the agent's
both() {
	pin='.rows[] | select(.metric == "get_insns" and .folio_bytes == 65536) | .verdict'
	server=$(get "$url/compare.json?a=$(key "$1")&b=$(key "$2")" | jq -r "$pin")
	agent=$("$BUILD/mmtrend" compare --json "$tmp/$1.json" "$tmp/$2.json" |
		jq -r ".no_verdict // ($pin)")
	has "$server" "$3" "server: $4"
	has "$agent" "$3" "agent: $4"
}

server_start --rate 0 || exit 1
document 1 .
document 2 '.kernel.patches = ["instruments", "gup-walk"]' after
document 3 '.kernel.patches = ["gup-batch"] | .kernel.tree = "mm-unstable"'
document 4 '.kernel.dirty = 1' after
document 5 '.kernel.release = "6.12.117" | .kernel.patches = ["gup-batch"]' after
document 6 '.kernel.commit = null | .kernel.release = "6.12.117" |
	.kernel.patches = ["gup-batch"]'
document 7 '.kernel.commit = null | .kernel.release = "6.12.117"' after
for n in 1 2 3 4 5 6 7; do posted $n; done

both 1 2 faster 'patches on top of a proven commit are judged'
both 2 1 SLOWER '... either way'
both 3 4 faster 'so are groups that differ, and nameless changes'
has "$(get "$url/compare.txt?a=$(key 1)&b=$(key 4)" | tr -s ' \n' ' ')" 'commit cccccccccccc and changes' \
	'the page says that there are some'
both 1 5 'commit not proven' 'a release that does not show its commit proves none'
both 6 7 faster 'no commit at all claims none'
has "$(get "$url/compare.txt?a=$(key 1)&b=$(key 2)" | tr -s ' \n' ' ')" \
	'+ instruments, gup-walk, commit' 'the page names the groups on top'
has "$(get "$url/kernels.txt")" '6.12.117 + gup-batch' '/kernels too'
is "$(get "$url/kernels.json" | jq -c '[.rows[].patches] | unique')" \
	'[null,"gup-batch","instruments, gup-walk"]' '... and its JSON'
has "$(get "$url/trend.json?host=lab-arm64&bench=gup.pin_longterm" |
	jq -c '[.. | .short? // empty] | flatten')" "\"$(key 6 | cut -c 1-7)+gup-batch\"" \
	'on the axis of /trend a release goes by its groups'
is "$(get "$url/compare.csv?a=$(key 1)&b=$(key 2)" | tail -1 | tr -d '\r' | awk -F, '{ print $(NF - 1), $NF }')" \
	"$(key 1) $(key 2)" 'CSV: kernels by their keys'
server_stop TERM
done_testing
