#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Who may post: tokens made, refused, bound, expired and revoked.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
server_start --rate 0 || exit 1
run=$SRC/tests/wire/valid/example.json
host=$(sed -n 's/.*"label": *"\([^"]*\)".*/\1/p' "$run")
d=$BUILD/mmtrendd
# as TOKEN: the status of a post with it
as() {
	curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" \
		-H 'Content-Type: application/json' --data-binary "@$run" "$url/api/v1/runs"
}
add() { "$d" token add --tokens "$tmp/tokens" "$@"; }

is "${#token}" 47 "a token has 47 characters"
is "$(stat -c %a "$tmp/tokens")" 600 "the file is the owner's only"
hasnt "$(cat "$tmp/tokens")" "$token" "the file does not hold the token"
has "$("$d" token list --tokens "$tmp/tokens")" "$(printf '%s' "$token" | head -c 12)" "list shows the prefix"
is "$(as "$token")" 201 "201: the token posts"
is "$(as "mmt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")" 401 "401: an unknown token"
is "$(as "$(printf '%s' "$token" | head -c 46)$(printf '%s' "$token" | tail -c 1 | tr 'A-Za-z0-9' 'B-ZAb-za1-90')")" 401 "401: all but the last character"
is "$(as "${token}A")" 401 "401: one character more"
is "$(as x)" 401 "401: no token at all"
is "$(curl -sS -o /dev/null -w '%{http_code}' -u "mmt:$token" -H 'Content-Type: application/json' \
	-d '{}' "$url/api/v1/runs")" 401 "401: Basic"
is "$(curl -sS -o /dev/null -w '%{http_code}' -H "authorization: bearer $token" \
	-H 'Content-Type: application/json' -d '{}' "$url/api/v1/runs")" 400 "the scheme's case does not matter"

is "$(as "$(add --scope triage)")" 403 "403: another scope"
is "$(as "$(add --host "$host")")" 200 "a token bound to this host posts"
is "$(as "$(add --host other)")" 403 "403: a token bound to another host"
is "$(as "$(add --expires 2001-01-01)")" 401 "401: an expired token"
is "$(as "$(add --expires "$(date -u +%F)")")" 200 "the last day counts"

prefix=$(printf '%s' "$token" | head -c 12)
"$d" token revoke "$prefix" --tokens "$tmp/tokens"; ok $? "revoke"
is "$(as "$token")" 401 "401: a revoked token, without a restart"
"$d" token revoke "$prefix" --tokens "$tmp/tokens" 2>"$tmp/err"; is $? 1 "it is gone"
has "$(cat "$tmp/err")" "no token begins with" "... and says so"
new=$(add)
is "$(as "$new")" 200 "a new token, without a restart"

: >"$tmp/tokens.new"
add 2>"$tmp/err"; is $? 1 "two edits at once: one waits for a person"
has "$(cat "$tmp/err")" "another edit is running" "... and says why"
rm "$tmp/tokens.new"
for args in "add" "frob --tokens $tmp/tokens" "revoke --tokens $tmp/tokens" \
	"add --tokens $tmp/tokens extra" "list" ""; do
	# shellcheck disable=SC2086
	"$d" token $args 2>/dev/null; is $? 64 "usage: token $args"
done
add --scope root 2>/dev/null; is $? 1 "an unknown scope"
add --expires tomorrow 2>/dev/null; is $? 1 "an expiry that is no date"
add --host 'a b' 2>/dev/null; is $? 1 "a host label with a space"

cp "$tmp/tokens" "$tmp/good"
echo "garbage" >>"$tmp/tokens"
is "$(as "$new")" 401 "a broken file: nobody posts"
has "$(cat "$log")" "nobody may post: $tmp/tokens:" "... and the log names its line"
mv "$tmp/good" "$tmp/tokens"
is "$(as "$new")" 200 "mended: they post again"
rm "$tmp/tokens"
is "$(as "$new")" 401 "no file: nobody posts"
hasnt "$(cat "$log")" "$new" "no token is logged"
server_stop TERM
echo garbage >"$tmp/tokens"
"$d" --db "$tmp/x.db" --tokens "$tmp/tokens" --listen 127.0.0.1:0 2>"$tmp/err"
is $? 1 "a broken file is no start"
has "$(cat "$tmp/err")" "tokens:1: expected prefix" "... and it says where"
done_testing
