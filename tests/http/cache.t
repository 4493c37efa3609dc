#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ETags, 304, gzip: an answer is sent again only when it changed.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
server_start --rate 0 || exit 1
run=$SRC/tests/wire/valid/example.json
sed 's/"id": *"[^"]*"/"id": "01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a12"/' "$run" >"$tmp/second.json"
sed 's/"label": *"[^"]*"/"label": "otherhost"/;s/"id": *"[^"]*"/"id": "01a22c21-17c0-7d0b-9f5e-1f7f0f2f9a13"/' "$run" >"$tmp/other.json"
host=$(sed -n 's/.*"label": *"\([^"]*\)".*/\1/p' "$run")
# etag CURL-ARGUMENT...; status CURL-ARGUMENT...
etag() { curl -sSI "$@" | tr -d '\r' | sed -n 's/^ETag: //p'; }
status() { curl -sS -o /dev/null -w '%{http_code}' "$@"; }
is "$(post "$run" | tail -1)" 201 "a run is posted"

trend="$url/trend.json?host=$host&bench=mincore"
tag=$(etag "$trend")
[ ${#tag} -gt 20 ]; ok $? "a view has an ETag: $tag"
is "$(etag "$url/trend.json?bench=mincore&&host=$host")" "$tag" "the order of parameters does not matter"
is "$(status -H "If-None-Match: $tag" "$trend")" 304 "304: the same tag"
is "$(status -H "If-None-Match: W/$tag" "$trend")" 304 "304: a weak tag"
is "$(status -H "If-None-Match: \"x\", $tag, \"y\"" "$trend")" 304 "304: in a list"
is "$(status -H 'If-None-Match: "x"' "$trend")" 200 "200: another tag"
got=$(curl -sSi -H "If-None-Match: $tag" "$trend")
has "$got" "ETag: $tag" "a 304 repeats the tag"
has "$got" "Cache-Control: no-cache" "a view is asked for each time"
[ "$(etag "$url/trend.txt?host=$host&bench=mincore")" != "$tag" ]; ok $? "each form has its own tag"

all=$(etag "$url/hosts.json")
is "$(post "$tmp/other.json" | tail -1)" 201 "another host posts"
is "$(status -H "If-None-Match: $tag" "$trend")" 304 "... this host's trend stays"
is "$(status -H "If-None-Match: $all" "$url/hosts.json")" 200 "... the list of hosts does not"
is "$(post "$tmp/second.json" | tail -1)" 201 "this host posts"
is "$(status -H "If-None-Match: $tag" "$trend")" 200 "... and its trend is new"
[ "$(etag "$trend")" != "$tag" ]; ok $? "... with a new tag"
tag=$(etag "$trend")
is "$(post "$tmp/second.json" | tail -1)" 200 "the same run again"
is "$(status -H "If-None-Match: $tag" "$trend")" 304 "... changes nothing"

# --- memory ---
before=$(get "$url/metrics" | sed -n 's/^mmtrend_http_cache_hits_total //p')
a=$(get "$trend"); b=$(get "$trend")
is "$a" "$b" "the second answer is the first one"
after=$(get "$url/metrics" | sed -n 's/^mmtrend_http_cache_hits_total //p')
[ "$after" -gt "$before" ]; ok $? "... from memory"

# --- gzip ---
page="$url/style.css"
is "$(curl -sS --compressed "$page" | cksum)" "$(get "$page" | cksum)" "an embedded file, gzipped, is the same"
html="$url/trend?host=$host&bench=mincore"
is "$(curl -sS --compressed "$html" | cksum)" "$(get "$html" | cksum)" "a view, gzipped, is the same"
# coded ACCEPT-ENCODING WANT
coded() {
	got=$(curl -sSI -H "Accept-Encoding: $1" "$html" | grep -ci '^content-encoding: gzip')
	is "$got" "$2" "Accept-Encoding: $1"
}
coded gzip 1; coded 'gzip;q=0' 0; coded 'gzip;q=0.5' 1; coded '*' 1
coded '*;q=0' 0; coded 'identity' 0; coded 'br, gzip' 1; coded 'GZIP' 1
coded 'xgzip' 0
has "$(curl -sSI "$html")" "Vary: Accept-Encoding" "Vary is there without gzip too"
plain=$(etag "$html"); gz=$(etag -H 'Accept-Encoding: gzip' "$html")
[ "$plain" != "$gz" ]; ok $? "gzip has a tag of its own"
is "$(status -H 'Accept-Encoding: gzip' -H "If-None-Match: $gz" "$html")" 304 "... which gives 304"
has "$(curl -sSI -H 'Accept-Encoding: gzip' -H "If-None-Match: $gz" "$html")" "ETag: $gz" "... and is repeated"

# --- what is never kept, and what is for ever ---
id=$(sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' "$run" | head -1)
has "$(curl -sSI "$url/api/v1/runs/$id")" "immutable" "a run by its id never changes"
hasnt "$(curl -sSI "$url/api/v1/runs/01a22c21-17c0-7d0b-9f5e-000000000000")" "immutable" "a missing run may come"
has "$(curl -sSI "$url/nope")" "Cache-Control: no-store" "an error is not kept"
has "$(curl -sSI "$url/healthz")" "Cache-Control: no-store" "health is not kept"
has "$(curl -sSI "$url/schema/run.schema.json")" "Cache-Control: no-cache" "the schema may change with the program"
has "$(curl -sSI "$url/style.css?v=1")" "Cache-Control: no-cache" "an unknown version is not for ever"
is "$(status -H "If-None-Match: $(etag "$page")" "$page")" 304 "an embedded file gives 304"

server_stop TERM; server_start --rate 0 || exit 1
trend="$url/trend.json?host=$host&bench=mincore"
is "$(status -H "If-None-Match: $tag" "$trend")" 304 "a tag outlives a restart"
server_stop TERM
done_testing
