#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Posting a run: what is answered, kept, refused, and given back.
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"

doc=$tmp/doc.json
cp "$SRC/tests/wire/valid/example.json" "$doc"
id=01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a11
config=$tmp/config
echo CONFIG_GUP_TEST=y >"$config"
sha=$(sha256sum "$config" | cut -d ' ' -f 1)
sed -i "s/\"config_sha256\": \"[0-9a-f]*\"/\"config_sha256\": \"$sha\"/" "$doc"

status() { printf '%s\n' "$1" | tail -n 1; }
put() {	# FILE SHA256
	curl -sS -w '\n%{http_code}\n' -X PUT --data-binary "@$1" \
		-H "Authorization: Bearer $token" "$url/api/v1/files/$2"
}

server_start --rate 0 --url https://trend.example || exit 1

# --- a run ---------------------------------------------------------------
got=$(post "$doc")
is "$(status "$got")" 201 "a new run is 201"
has "$got" "\"id\":\"$id\"" "with its id"
has "$got" '"status":"new"' "and that it is new"
has "$got" '"want_config":true' "and that its kernel config is wanted"
has "$got" '"url":"https://trend.example/trend?host=lab1&bench=mincore&metric=time_ns"' \
	"and where to look: the first bench that was measured, at --url"
has "$got" 'bench=gup.pin_longterm&metric=put_ns"' "and each other metric"

got=$(post "$doc")
is "$(status "$got")" 200 "the same again is 200"
has "$got" '"status":"same"' "and says so"

get "$url/api/v1/runs/$id" >"$tmp/back.json"
cmp -s "$doc" "$tmp/back.json"
ok $? "the run comes back byte for byte"
type=$(get -o /dev/null -w '%{content_type}' "$url/api/v1/runs/$id")
is "$type" application/json "as JSON"

sed 's/114020/114021/' "$doc" >"$tmp/other.json"
got=$(post "$tmp/other.json")
is "$(status "$got")" 422 "the same id with another body is 422"
has "$got" '{"error":"/id: ' "and names /id"

sed "s/$id/01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a12/; s/\"quantum\": 1,/\"quantum\": 7,/" \
	"$doc" >"$tmp/quantum.json"
got=$(post "$tmp/quantum.json")
is "$(status "$got")" 422 "a metric that contradicts its series is 422"
has "$got" "/benches/0/metrics/0/quantum: 7 contradicts the series' 1" \
	"and says which field and how"

# --- what is no run --------------------------------------------------------
sed 's/"folio_bytes": 65536/"folio_bytes": "64k"/' "$doc" >"$tmp/bad.json"
got=$(post "$tmp/bad.json")
is "$(status "$got")" 400 "a document that breaks the schema is 400"
has "$got" '{"error":"/cells/0/folio_bytes: ' "and names the path"
printf '{"schema": "mmtrend.run/1",,}' >"$tmp/syntax.json"
got=$(post "$tmp/syntax.json")
is "$(status "$got")" 400 "broken JSON is 400"
has "$got" 'line 1, column ' "and names line and column"
got=$(get -w '\n%{http_code}\n' "$url/api/v1/runs/none")
is "$(status "$got")" 404 "an unknown run is 404"

# --- its config --------------------------------------------------------------
is "$(status "$(put "$config" "$sha")")" 201 "a file under its hash is 201"
is "$(status "$(put "$config" "$sha")")" 200 "again it is 200"
is "$(status "$(put "$doc" "$sha")")" 422 "another file under that hash is 422"
got=$(put "$config" XYZ)
is "$(status "$got")" 400 "what is no hash is 400"
has "$got" 'sha256: expected 64 lower-case hex digits' "and says what was expected"
is "$(get "$url/api/v1/files/$sha")" CONFIG_GUP_TEST=y "a file comes back"
has "$(post "$doc")" '"want_config":false' "and is not wanted again"

# --- a token of one host -------------------------------------------------------
any=$token
token=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope runs \
	--host elsewhere)
sed "s/$id/01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a13/" "$doc" >"$tmp/third.json"
got=$(post "$tmp/third.json")
is "$(status "$got")" 403 "a token of another host may not post for this one"
has "$got" '/host/label: ' "and the field is named"
token=$any

# --- large bodies: parsed alone, and nobody waits for ever -----------------------
n=0
pids=
while [ $n -lt 6 ]; do
	{
		sed "s/$id/01a22c21-17c0-7d0b-9f5e-1f7f0f2f9b0$n/" "$doc"
		[ $((n % 2)) -eq 1 ] || head -c 1500000 /dev/zero | tr '\0' ' '
	} >"$tmp/large$n.json"
	post "$tmp/large$n.json" >"$tmp/answer$n" &
	pids="$pids $!"
	n=$((n + 1))
done
# shellcheck disable=SC2086
wait $pids
is "$(cat "$tmp"/answer[0-9] | grep -c '^201$')" 6 \
	"1.5 MB bodies and small ones at the same time are all kept"
head -c 2200000 /dev/zero | tr '\0' ' ' >"$tmp/huge.json"
is "$(status "$(post "$tmp/huge.json" 2>/dev/null)")" 413 "a body over 2 MB is 413"

server_stop
is "$server_rc" 0 "the server ends cleanly"
done_testing
