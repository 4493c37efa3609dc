#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What a reader sees: /, /trend, /compare, /hosts, /kernels in each form, from
# posted runs to curl and lynx. The forms must say the same.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# document N VALUE_NS [sed expression...] -> $tmp/N.json: another kernel, boot
# and run, whose mincore figure at 64k is VALUE_NS + 100, spread 148
document() {
	n=$1; v=$2; shift 2
	sed -e "s/0f2f9a11/0f2f9a1$n/; s/4d0b9c1e/${n}d0b9c1e/" \
		-e "s/9b1d5f0a/${n}b1d5f0a/" \
		-e "s/114020/$v/; s/114377/$v/" \
		-e "s/113870/$((v + 200))/; s/114102/$((v + 200))/" "$@" \
		"$SRC/tests/wire/valid/example.json" >"$tmp/$n.json"
}
posted() { is "$(post "$tmp/$1.json" | tail -1)" 201 "run $1 is kept"; }
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

# mailable TEXT "of what": can stand in a mail
mailable() {
	bad_lines=$(printf '%s\n' "$1" | awk 'length($0) > 72 || /[^ -~]/ ||
		(length($0) && !/^  /) { print }')
	is "$bad_lines" '' "$2: 72 columns, ASCII, indented by two"
}
# balanced FILE "of what": each element is closed where it must be
balanced() {
	grep -o '<[/a-zA-Z][^>]*>' "$1" | awk '
	{ name = tolower($0); gsub(/^<\/?|[ \/>].*$/, "", name) }
	name ~ /^(meta|link|img|input|br|hr)$/ { next }
	/^<\// { if (stack[n] != name) { print name " in " stack[n]; bad = 1 } n--; next }
	/\/>$/ { next }
	{ stack[++n] = name }
	END { exit bad || n }' >"$tmp/unbalanced"
	ok $? "$2: each element is closed ($(head -1 "$tmp/unbalanced"))"
	ok "$(grep -cE '<script>|<style| style=| on[a-z]+=' "$1")" \
		"$2: no inline script or style"
}

server_start --rate 0 || exit 1

# --- before anything is there ----------------------------------------------
for p in index hosts kernels; do
	mailable "$(get "$url/$p.txt")" "/$p.txt of an empty server"
	is "$(get "$url/$p.json" | jq -c .rows)" '[]' "/$p.json of an empty server"
done
is "$(get "$url/trend.txt")" 'host: missing; expected one of: nothing yet' \
	'/trend of an empty server says that nothing is there'
is "$(status "$url/compare")" 400 '/compare of an empty server'

# --- post --------------------------------------------------------------------
document 1 114000
document 2 120000 -e 's/"6.18.44"/"6.18.44<script>alert(1)<\/script>\&\\"q"/' \
	-e 's/"12 of 8192 folios fell back"/"=1+1, \\"quoted\\""/'
document 3 57000 -e 's/gcc 15.3.0/clang 19/'
document 4 58000 -e 's/"cpus": 2/"cpus": 4/'
document 5 90000 -e 's/"lab1"/"a.lab-2"/'
for n in 1 2 3; do posted $n; done
t="$url/trend"; q='host=lab1&bench=mincore'

# --- one trend, four forms ---------------------------------------------------
get "$t.json?$q" >"$tmp/trend.json"
get "$t.csv?$q" >"$tmp/trend.csv"
get "$t?$q" >"$tmp/trend.html"
txt=$(get "$t.txt?$q")
html=$(cat "$tmp/trend.html")
mailable "$txt" '/trend.txt'
balanced "$tmp/trend.html" '/trend'

is "$(jq -c '[.series[] | select(.folio_bytes == 65536) | .value, .spread, .n]' \
	"$tmp/trend.json")" '[[114100,120100,57100],[148,148,148],[2,2,2]]' \
	'JSON: the figures of 64k, in the order posted'
is "$(jq -r '.series[] | select(.folio_bytes == 32768) | .not_ok["1"].reason' \
	"$tmp/trend.json")" '=1+1, "quoted"' 'JSON: a figure that is not valid says why'
is "$(jq -r '.params, .unit, .better, .quantum' "$tmp/trend.json" |
	tr '\n' ' ')" 'memory_bytes=268435456 ns lower 1 ' 'JSON: what the figures are'
is "$(jq -r '.kernels | map_values(length) | unique | tostring' "$tmp/trend.json" \
	2>/dev/null || jq -c '[.kernels[] | length] | unique' "$tmp/trend.json")" \
	'[3]' 'JSON: each column has all kernels'
is "$(awk -F, '$5 == 65536 { print $7, $8, $9, $11 }' "$tmp/trend.csv")" \
	"$(printf '114100 148 2 ok\n120100 148 2 ok\n57100 148 2 ok')" \
	'CSV: the same figures'
has "$(head -1 "$tmp/trend.csv")" 'value_ns,spread_ns' 'CSV: units in the header'
has "$(cat "$tmp/trend.csv")" '"=1+1, ""quoted"""' 'CSV: RFC 4180, data unchanged'
is "$(grep -c "$(printf '\r')\$" "$tmp/trend.csv")" "$(wc -l <"$tmp/trend.csv")" \
	'CSV: each line ends in CRLF'
for v in 114 120 57.1; do
	has "$txt" " $v" "text: $v us is there"
	has "$html" "<td class=\"num\">$v</td>" "HTML: $v us is there"
done
has "$txt" '120!' 'text: a figure that is not valid is marked'
has "$txt" '! not valid: =1+1, "quoted"' 'text: ... with its reason'
has "$html" '! not valid: =1+1, &quot;quoted&quot;' 'HTML: ... with its reason'
has "$txt" 'lab1: mincore time_ns (ns), lower is better' \
	'text: host, benchmark, metric, unit, direction'
hasnt "$html" '<script>alert' 'HTML: a hostile release stays text'
has "$html" '<noscript><img src="/trend.svg?bench=mincore&amp;host=lab1"' \
	'HTML: the picture for those without script'
has "$html" 'data-json="/trend.json?bench=mincore&amp;host=lab1"' \
	'HTML: the data for those with it'
k() { echo "${1}d0b9c1e2f3a4b5c6d7e8f90a1b2c3d4e5f60718"; }
has "$html" "/compare?a=$(k 1)&amp;b=$(k 2)&amp;host=lab1" \
	'HTML: a kernel leads to what it changed'

# --- lynx: complete without script -------------------------------------------
seen=$(lynx -dump -nolist -width=200 "$t?$q")
for v in '1d0b9c1e2f3a 120! 114' '2d0b9c1e2f3a 120! 120' '3d0b9c1e2f3a 120! 57.1'; do
	has "$(printf '%s\n' "$seen" | tr -s ' ')" "$v" "lynx: the row $v"
done
has "$seen" '[mincore/time_ns' 'lynx: the form'

# --- a skip is a row too -------------------------------------------------------
q2='host=lab1&bench=gup.pin_longterm'
why='no CONFIG_GUP_TEST: /sys/kernel/debug/gup_test is not there'
flat() { tr -s ' \n' ' '; }
has "$(get "$t.txt?$q2" | flat)" "s skipped: $why" 'text: a skip and its reason'
has "$(get "$t?$q2")" "s skipped: $why" 'HTML: a skip and its reason'
has "$(get "$t.csv?$q2")" "skip,$why" 'CSV: a skip and its reason'
is "$(get "$t.json?$q2" | jq -r '.series[0].not_ok["2"].reason')" "$why" \
	'JSON: a skip and its reason'
has "$(get "$t.txt?$q2" | flat)" "- - 0 0 skipped (1) (1) skipped: $why" \
	'text: a reason stands once below the newest figures'
is "$(get "$t.json?$q2&metric=put_ns" | jq -r .metric)" put_ns 'another metric'
is "$(get "$t.json?host=lab1&bench=gup.pin_longterm/put_ns" | jq -r .metric)" \
	put_ns 'the form gives both in one value'

# --- less of it ----------------------------------------------------------------
is "$(get "$t.json?$q&size=64k" | jq -c '[.series[].folio_bytes]')" '[65536]' 'size=64k'
is "$(get "$t.json?$q&size=65536" | jq -c '[.series[].label]')" '["64k"]' 'size in bytes'
is "$(get "$t.json?$q&last=1" | jq -c '[.older, .series[1].value]')" '[2,[57100]]' \
	'last=1: the newest, and how many are older'
has "$(get "$t.txt?$q&last=1" | flat)" '2 kernels before these' 'text says so too'

# --- what is not there -----------------------------------------------------------
# asks URL STATUS TEXT
asks() {
	is "$(get -w ' %{http_code}' "$1" | tr -d '\n')" "$3 $2" "$2: ${1#"$url"}"
}
asks "$t.txt" 400 'bench: missing; expected one of: gup.pin_longterm, mincore'
asks "$t.txt?host=x&bench=mincore" 404 'host: there is no "x"; there is: lab1'
asks "$t.txt?host=lab1" 400 'bench: missing; expected one of: gup.pin_longterm, mincore'
asks "$t.txt?host=lab1&bench=x" 404 \
	'bench: there is no "x"; there is: gup.pin_longterm, mincore'
asks "$t.txt?$q&metric=x" 404 'metric: there is no "x"; there is: time_ns'
asks "$t.txt?$q&size=x" 404 'size: there is no "x"; there is: 32k, 64k'
asks "$t.txt?$q&size=pmd" 404 'size: there is no "pmd"; there is: 32k, 64k'
asks "$t.txt?host=lab1&bench=a/b&metric=c" 400 'metric: given twice, in bench as well'
asks "$url/kernels.txt?host=x" 404 'host: there is no "x"; there is: lab1'
asks "$url/compare.txt?host=x" 404 'host: there is no "x"; there is: lab1'
is "$(get "$t.json?host=lab1&bench=x" | jq -r .error)" \
	'bench: there is no "x"; there is: gup.pin_longterm, mincore' \
	'JSON: an error is JSON'
has "$(get "$t?host=%3Cb%3E&bench=x")" '&lt;b&gt;' 'HTML: an error repeats nothing raw'
is "$(status "$t.txt?$q&last=0")" 400 'last=0'
is "$(status "$t.txt?$q&nope=1")" 400 'an unknown parameter'

is "$(get "$t.json?bench=mincore" | jq -r .host)" lab1 'the only host needs no name'

# --- compare -----------------------------------------------------------------------
c="$url/compare"; ab="a=$(k 1)&b=$(k 3)"
txt=$(get "$c.txt?$ab&bench=mincore")
mailable "$txt" '/compare.txt'
row=$(printf '%s\n' "$txt" | tr -s ' ' | grep '^ 64k')
is "$row" ' 64k 114 0.1% 2 57.1 0.3% 2 -50.0% not judged yet' 'text: one row'
has "$(printf '%s' "$txt" | flat)" \
	'32k 120! 0.0% 1 120! 0.0% 1 - not valid (1) 64k' \
	'text: no change and no verdict of what is not valid'
has "$txt" '(1) not valid: 12 of 8192 folios fell back' 'text: ... and why, once'
is "$(get "$c.json?$ab" | jq -r '.rows[] | select(.folio_bytes == 32768).verdict')" \
	'not valid: 12 of 8192 folios fell back' 'JSON: ... in the row itself'
has "$txt" 'compiler differs: gcc 15.3.0, then clang 19' 'text: what differs'
has "$txt" 'memory_bytes=268435456' 'text: the parameters'
is "$(get "$c.json?$ab" | jq -c '.rows[] | select(.folio_bytes == 65536 and
	.bench == "mincore") | [.before, .after, .change_percent, .before_n]')" \
	'[114100,57100,-49.9562,2]' 'JSON: raw figures'
is "$(get "$c.json?$ab" | jq -c '[.rows[0] | keys_unsorted] == [[.columns[].key]]')" \
	true 'JSON: rows have the columns that are announced'
has "$(get "$c.csv?$ab" | tr -d '\r')" '65536,114100,148,2,57100,148,2,-49.9562' \
	'CSV: the same'
get "$c?$ab" >"$tmp/compare.html"
balanced "$tmp/compare.html" '/compare'
has "$(cat "$tmp/compare.html")" '<td class="num">-50.0%</td>' 'HTML: the same'
has "$(get "$c.txt")" 'before 2d0b9c1e2f3a' 'by itself: the newest but one'
has "$(get "$c.txt")" 'after  3d0b9c1e2f3a' '... and the newest'
has "$(get "$c.txt?b=2d0b9c1e")" 'before 3d0b9c1e2f3a' 'b alone, by a prefix'
has "$(get "$c.txt?b=$(k 3)")" 'before 2d0b9c1e2f3a' 'b alone, the newest'
has "$(get "$c.txt?a=$(k 1)&b=$(k 1)")" 'same kernel' 'a kernel against itself'
is "$(status "$c?a=ffffffff")" 404 'a kernel that is not there'
is "$(status "$c?a=ff")" 400 'a prefix that is too short'
has "$(get "$c.txt?$ab&bench=x")" 'bench: ' 'a benchmark that neither has'

# --- the other views ---------------------------------------------------------------
for p in index hosts kernels; do
	mailable "$(get "$url/$p.txt")" "/$p.txt"
	is "$(get "$url/$p.json" | jq -c '[.rows[0] | keys_unsorted] == [[.columns[].key]]')" \
		true "/$p.json: rows have the columns that are announced"
	is "$(get "$url/$p.csv" | head -1 | tr -d '\r')" \
		"$(get "$url/$p.json" | jq -r '[.columns[].key] | join(",")')" \
		"/$p.csv has the same columns"
done
for p in '' hosts kernels 'kernels?host=lab1'; do
	get "$url/$p" >"$tmp/page.html"
	balanced "$tmp/page.html" "/$p"
	hasnt "$(cat "$tmp/page.html")" '<script>alert' "/$p: a hostile release stays text"
done
is "$(get "$url/hosts.json" | jq -c '.rows[0] | [.host, .cpus, .runs, .kernels]')" \
	'["lab1",2,3,3]' '/hosts.json'
is "$(get "$url/kernels.json" | jq -r '.rows[1].release')" \
	'6.18.44<script>alert(1)</script>&"q' '/kernels.json: newest first, as posted'
is "$(get "$url/kernels.json?last=1" | jq '.rows | length')" 1 '/kernels?last=1'
has "$(get "$url/")" '/trend?bench=mincore&amp;host=lab1&amp;metric=time_ns' \
	'/ leads to each chart'
for p in '' kernels; do
	has "$(get "$url/$p")" "/compare?a=$(k 1)&amp;b=$(k 2)&amp;host=lab1" \
		"/$p: a kernel of the only host leads to what it changed"
done
is "$(get "$url/index.json" | jq -c '[.rows[] | [.bench, .metric, .kernels_valid]]')" \
	'[["gup.pin_longterm","get_ns",0],["gup.pin_longterm","put_ns",0],["mincore","time_ns",3]]' \
	'/index.json counts the kernels with a valid figure'
has "$(get "$url/index.txt")" 'mmtrend push --url' '/ says how to post'

# --- ETag: the same until a run of that host comes ---------------------------------
etag() { curl -s -o /dev/null -D - "$1" | tr -d '\r' | sed -n 's/^[Ee][Tt]ag: //p'; }
tag=$(etag "$t.txt?$q")
is "$(status -H "If-None-Match: $tag" "$t.txt?$q")" 304 'an ETag is good for a 304'
posted 5
is "$(status -H "If-None-Match: $tag" "$t.txt?$q")" 304 \
	"another host's run leaves it"
posted 4
is "$(status -H "If-None-Match: $tag" "$t.txt?$q")" 200 "the host's own ends it"

# --- another epoch, another host ----------------------------------------------------
is "$(get "$t.json?$q" | jq -c '[.series[] | select(.folio_bytes == 65536) | .value]')" \
	'[[114100,120100,57100,null],[null,null,null,58100]]' \
	'JSON: another machine is another series'
txt=$(get "$t.txt?$q")
mailable "$txt" '/trend.txt over two epochs'
is "$(printf '%s\n' "$txt" | grep -c 'machine [0-9a-f]\{12\}')" 2 \
	'text: a table for each machine'
for v in "$c" "$t"; do
	asks "$v.txt" 400 'host: missing; expected one of: a.lab-2, lab1'
done
hasnt "$(get "$url/kernels")" '/compare?' 'a kernel of either leads nowhere'
has "$(get "$url/hosts")" 'href="/kernels?host=a.lab-2"' 'another host can be followed'
is "$(get "$t.json?host=a.lab-2&bench=mincore" | jq -c '.series[1].value')" \
	'[90100]' '... and drawn'
server_stop TERM
is "$server_rc" 0 "the server ends well"
done_testing
