#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What a stranger may send: request smuggling, odd paths, odd methods.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
server_start --rate 0 || exit 1
port=${url##*:}

# raw FORMAT: the bytes, and what came back.
raw() {
	# shellcheck disable=SC2059
	printf "$1" | "$BUILD/tests/bench/rawhttp" -t 3 "$port"
}
# refused HEAD "what": 400 or 413, then closed; what follows is no second
# request. (libmicrohttpd 0.9.75 answers a bad length itself, with its header
# twice.)
refused() {
	got=$(raw "POST /api/v1/runs HTTP/1.1\r\nHost: x\r\n$1\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	case $got in "HTTP/1.1 400 "* | "HTTP/1.1 413 "*) ok 0 "refused: $2" ;;
	*) has "$got" "HTTP/1.1 400 " "refused: $2" ;; esac
	has "$got" "# closed" "... and the connection is closed"
	hasnt "$got" " 200 OK" "... and nothing after it is answered"
}
refused 'Content-Length: 5\r\nTransfer-Encoding: chunked' "Content-Length with Transfer-Encoding"
refused 'Transfer-Encoding: chunked\r\nContent-Length: 5' "the same, other order"
refused 'Content-Length: 5\r\nContent-Length: 6' "two Content-Lengths that differ"
refused 'Content-Length: 5\r\nContent-Length: 5' "two Content-Lengths that agree"
refused 'Transfer-Encoding: gzip' "Transfer-Encoding: gzip"
refused 'Transfer-Encoding: gzip, chunked' "Transfer-Encoding: gzip, chunked"
refused 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked' "two Transfer-Encodings"
refused 'Transfer-Encoding: xchunked' "Transfer-Encoding: xchunked"
refused 'Content-Length: 5, 5' "a list of lengths"
refused 'Content-Length: +5' "a length with a sign"
refused 'Content-Length: -1' "a negative length"
refused 'Content-Length: 0x5' "a length in hex"
refused 'Content-Length: 99999999999999999999' "a length past 64 bits"
refused 'Content-Length : 5' "a space before the colon"
refused 'Host: y\r\nContent-Length: 0' "two Hosts"

got=$(raw 'POST /api/v1/runs HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
has "$got" " 400 " "400: chunks in HTTP/1.0"
got=$(raw 'GET /healthz HTTP/1.1\r\n\r\n')
has "$got" "HTTP/1.1 400 " "400: HTTP/1.1 without Host"
got=$(raw 'GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n')
hasnt "$got" " 200 " "HTTP/2.0 in a request line is not served"
got=$(raw 'DELETE /trend HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n\r\n\r\n\r\n')
is "$(printf '%s\n' "$got" | grep -c '^HTTP/1.1 ')" 1 \
	"a refused DELETE's body is never read as a request"
got=$(raw 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
is "$(printf '%s\n' "$got" | grep -c '^HTTP/1.1 200')" 2 \
	"two pipelined requests are both answered"

# status PATH...: each one's status.
status() { curl -sS -o /dev/null -w '%{http_code}' --path-as-is "$url$1"; }
is "$(status /healthz)" 200 "/healthz is there"
is "$(status '/healthz%00.txt')" 400 "400: %00 in a path"
is "$(status '/healthz?a=%00')" 400 "400: %00 in a query"
is "$(status '/%zz')" 400 "400: a broken escape"
is "$(status '/healthz%2')" 400 "400: an escape cut short"
for p in /../etc/passwd /%2e%2e/etc/passwd /%2e%2e%2fetc%2fpasswd //healthz \
	/./healthz /healthz/ /a//b '/..%5c..' /%0d%0aSet-Cookie:%20a /%c3%a9; do
	is "$(status "$p")" 404 "404: $p"
done
is "$(status '/api/v1/runs/a%2fb')" 404 "an escaped slash does not hide in an id"
is "$(status /healthz?x=1)" 400 "400: a parameter nobody knows"
has "$(curl -sS "$url/trend.txt?hots=a")" "hots: unknown parameter" "... which is named"
is "$(status /hosts.svg)" 404 "404: no picture of a list"
has "$(curl -sS "$url/hosts.svg")" "it has a page, .txt, .json, .csv" "... and the forms are named"
is "$(status /index.txt)" 200 "/index.txt is the text of /"
is "$(status /index)" 404 "/index is nothing"
is "$(status /healthz.txt)" 404 "a form is cut off only where there are forms"
is "$(status /shell.html)" 404 "the shell is no page"
is "$(status /001-base.sql)" 404 "the SQL is no page"
got=$(raw 'GET http://evil.example/healthz HTTP/1.1\r\nHost: x\r\n\r\n')
hasnt "$got" " 200 " "an absolute address is not served"
hasnt "$got" evil.example "... nor repeated"
got=$(curl -sS -H 'Host: evil.example' "$url/" "$url/trend.txt" "$url/nope")
hasnt "$got" evil.example "the Host header is never repeated"

got=$(curl -sSi -X DELETE "$url/api/v1/files/x")
has "$got" "405 " "405: DELETE"
has "$got" "Allow: PUT, GET, HEAD" "... with Allow"
has "$(curl -sSi -X OPTIONS "$url/style.css")" "Allow: GET, HEAD" "405 for an embedded file too"
has "$(curl -sS -X POST "$url/hosts.json")" '{"error":' "an error of .json is JSON"
hasnt "$(curl -sS -X POST "$url/hosts.txt")" '<' "an error of .txt is text"
has "$(curl -sS "$url/nope")" '<h1>Error 404</h1>' "an error of a page is a page"

head=$(curl -sSI "$url/healthz")
has "$head" "HTTP/1.1 200" "HEAD is answered"
has "$head" "Content-Length: 3" "... with the length that GET has"
got=$(raw 'HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
hasnt "$got" "ok" "... and without a body"
for h in "X-Content-Type-Options: nosniff" "Content-Security-Policy: default-src 'self'" \
	"Referrer-Policy: "; do
	has "$(curl -sSI "$url/")" "$h" "a page has $h"
done
has "$(curl -sSI "$url/favicon.svg")" "Content-Security-Policy: sandbox; default-src 'none'" \
	"an SVG is sandboxed"

status "/%22%0a2026%20forged" >/dev/null
status "/x?q=%0aforged" >/dev/null
raw 'GET /\033[31mred HTTP/1.1\r\nHost: x\r\n\r\n' >/dev/null
raw 'GET /"quoted HTTP/1.1\r\nHost: x\r\n\r\n' >/dev/null
raw 'B\033D /healthz HTTP/1.1\r\nHost: x\r\n\r\n' >/dev/null
sleep 0.2
is "$(LC_ALL=C tr -d '\n -~' <"$log" | wc -c)" 0 "no control character reaches the log"
is "$(grep -c '^2026 *forged\|^forged' "$log")" 0 "no line of the log is forged"
has "$(cat "$log")" '/\x22quoted' "a quote is escaped"

for p in /nope.txt /api/v1/runs/nope /api/v1/files/nope /schema/nope /trend.txt; do
	got="$got$(curl -sS "$url$p")"
done
hasnt "$got" "$tmp" "no error tells a path of this machine"
hasnt "$got" "$SRC" "... nor a path of the sources"
server_stop TERM
done_testing
