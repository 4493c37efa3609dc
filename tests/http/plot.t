#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Pictures over HTTP: what they show, who may read them, and what a client is
# told when too many are wanted at once.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# document N VALUE_NS [sed expression...]: another kernel, boot and run
document() {
	n=$1; v=$2; shift 2
	sed -e "s/0f2f9a11/0f2f9a1$n/; s/4d0b9c1e/${n}d0b9c1e/" \
		-e "s/9b1d5f0a/${n}b1d5f0a/" \
		-e "s/114020/$v/; s/114377/$v/; s/113870/$v/; s/114102/$v/" \
		"$@" "$SRC/tests/wire/valid/example.json" >"$tmp/$n.json"
	is "$(post "$tmp/$n.json" | tail -1)" 201 "run $n is kept"
}
# picture URL FILE -> "STATUS TYPE"
picture() { curl -sS -o "$2" -w '%{http_code} %{content_type}' "$1"; }

server_start --rate 0 || exit 1
document 1 114000
document 2 120000
document 3 57000 -e 's/"cpus": 2/"cpus": 4/'
document 4 57500
t="$url/trend"; q='host=lab1&bench=mincore'
c="$url/compare"; ab='a=1d0b9c1e&b=2d0b9c1e'

# --- SVG: text that can be read and searched ---------------------------------
is "$(picture "$t.svg?$q" "$tmp/trend.svg")" '200 image/svg+xml' '/trend.svg'
svg=$(cat "$tmp/trend.svg")
has "$svg" '<title>lab1: mincore time_ns (ns), lower is better' \
	'its title: host, benchmark, metric, unit, direction'
has "$svg" '<desc>' 'its description'
has "$svg" '</svg>' 'it is whole'
for text in 64k 32k 1d0b9c1e2f3a 3d0b9c1e2f3a us; do
	has "$svg" ">$text<" "it says $text"
done
is "$(printf '%s\n' "$svg" | grep -c '>64k<')" 1 \
	'a size stands once in the legend, whatever the number of epochs'
is "$(printf '%s\n' "$svg" | grep stroke-dasharray | head -1 | grep -o M | wc -l)" 2 \
	'a break where another machine begins, and where the first one is back'
hasnt "$svg" '<script' 'no script in it'
picture "$t.svg?$q&size=64k" "$tmp/one.svg" >/dev/null
hasnt "$(cat "$tmp/one.svg")" '>32k<' 'size=64k: the others are not drawn'
is "$(picture "$t.svg?$q&scale=log" "$tmp/log.svg")" '200 image/svg+xml' 'scale=log'
cmp -s "$tmp/log.svg" "$tmp/trend.svg"
is $? 1 'a logarithmic scale is another picture'

# --- PNG ----------------------------------------------------------------------
is "$(picture "$t.png?$q" "$tmp/trend.png")" '200 image/png' '/trend.png'
is "$(head -c 8 "$tmp/trend.png" | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a \
	'it is a PNG'

# --- compare -------------------------------------------------------------------
is "$(picture "$c.svg?$ab" "$tmp/compare.svg")" '200 image/svg+xml' '/compare.svg'
has "$(cat "$tmp/compare.svg")" 'mincore time_ns 64k' 'a cell is named'
hasnt "$(cat "$tmp/compare.svg")" 'time_ns 32k' 'what is not valid is no change'
is "$(picture "$c.png?$ab" "$tmp/compare.png")" '200 image/png' '/compare.png'
is "$(picture "$c.svg?$ab&bench=gup.pin_longterm" "$tmp/none")" \
	'404 text/plain; charset=utf-8' 'nothing to draw is a 404'
has "$(cat "$tmp/none")" 'nothing to draw' '... that says so'

# --- not everything has a picture -----------------------------------------------
for p in index hosts kernels; do
	is "$(picture "$url/$p.svg" "$tmp/none")" '404 text/plain; charset=utf-8' \
		"/$p.svg is a 404"
done
is "$(picture "$t.svg?host=nope&bench=mincore" "$tmp/none")" \
	'404 text/plain; charset=utf-8' 'an unknown host is a 404 in words'

# --- the same picture is drawn once ------------------------------------------------
headers() { curl -s -o /dev/null -D - "$@" | tr -d '\r'; }
tag=$(headers "$t.svg?$q" | sed -n 's/^[Ee][Tt]ag: //p')
has "$(headers -H "If-None-Match: $tag" "$t.svg?$q")" ' 304 ' 'an ETag is good for a 304'

# --- more at once than may wait ------------------------------------------------------
i=100
while [ $i -lt 140 ]; do
	curl -s -o /dev/null -D "$tmp/head.$i" "$t.png?$q&last=$i" &
	pids="${pids:-} $!"
	i=$((i + 1))
done
# shellcheck disable=SC2086
wait $pids
cat "$tmp"/head.* | tr -d '\r' >"$tmp/heads"
drawn=$(grep -c '^HTTP/1.1 200' "$tmp/heads")
busy=$(grep -c '^HTTP/1.1 503' "$tmp/heads")
is "$((drawn + busy))" 40 "of 40 at once $drawn are drawn, $busy told to come back"
is "$(grep -ci '^retry-after: 2' "$tmp/heads")" "$busy" 'each of those is told when'
[ "$drawn" -ge 16 ]; ok $? 'what may wait is drawn'
has "$(get "$t.txt?$q")" 'lab1: mincore' 'the server still answers'
server_stop TERM
is "$server_rc" 0 'and ends well'
done_testing
