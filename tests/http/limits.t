#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every size, number and time that a stranger controls has an end.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
server_start --rate 0 --connections 6 --head-seconds 2 --idle-seconds 3 \
	--request-seconds 3 || exit 1
port=${url##*:}
rawhttp=$BUILD/tests/bench/rawhttp
type='Content-Type: application/json'
auth="Authorization: Bearer $token"
# ms OUTPUT: after how long it ended
ms() { printf '%s\n' "$1" | sed -n 's/^# [a-z]* \([0-9]*\) ms$/\1/p'; }
# between LOW HIGH OUTPUT "what": it was closed, within these ms
between() {
	has "$3" "# closed" "$4: closed"
	t=$(ms "$3")
	[ "$t" -ge "$1" ] && [ "$t" -le "$2" ]
	ok $? "$4: after $t ms (wanted $1 to $2)"
}

# --- bodies ---
head -c 2097153 /dev/zero >"$tmp/big"
head -c 2097152 /dev/zero >"$tmp/full"
is "$(post "$tmp/big" | tail -1)" 413 "413: a body over the cap, by its length"
is "$(post "$tmp/big" -H 'Transfer-Encoding: chunked' | tail -1)" 413 \
	"413: a body over the cap, in chunks"
is "$(post "$tmp/full" -H 'Transfer-Encoding: chunked' | tail -1)" 400 \
	"a body of just the cap is read (and is no JSON)"
push_token=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes)
for to in runs skips pushes; do
	bearer=$token; [ $to = pushes ] && bearer=$push_token
	is "$(curl -sS -w ' %{http_code}' -H "Authorization: Bearer $bearer" -H "$type" \
		--data-binary @/dev/null "$url/api/v1/$to" | tr -d '\n')" \
		'{"error":"the body is empty, expected a JSON object"} 400' "400: an empty body for $to"
done
is "$(post "$tmp/full" -H 'Content-Encoding: gzip' | tail -1)" 415 \
	"415: an encoded body"
is "$(curl -sS -o /dev/null -w '%{http_code}' -H "$auth" -H 'Content-Type: text/plain' \
	-d '{}' "$url/api/v1/runs")" 415 "415: a POST that is not JSON"
is "$(curl -sS -o /dev/null -w '%{http_code}' -H "$auth" -H 'Content-Type: application/jsonp' \
	-d '{}' "$url/api/v1/runs")" 415 "415: application/jsonp"
is "$(curl -sS -o /dev/null -w '%{http_code}' -X GET -d x "$url/healthz")" 413 \
	"413: a GET with a body"

# --- refused before the body: the answer comes while none was sent ---
got=$(printf 'POST /api/v1/runs HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 1000000\r\n\r\n' "$type" |
	"$rawhttp" -t 3 "$port")
has "$got" "HTTP/1.1 401 " "401 before a byte of the body"
has "$got" "WWW-Authenticate: Bearer" "... with WWW-Authenticate"
has "$got" "Connection: close" "... and the connection ends"
hasnt "$got" "100 Continue" "... and the body was not asked for"
got=$(printf 'POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n%s\r\nContent-Length: 1000000\r\n\r\n' "$type" |
	"$rawhttp" -t 3 "$port")
has "$got" "HTTP/1.1 401 " "401 instead of 100 Continue"
hasnt "$got" "100 Continue" "... which is not sent"
n=0
for i in 1 2 3 4 5 6 7 8; do
	code=$(curl -sS -o /dev/null -w '%{http_code}' -H "$type" -H 'Expect:' \
		--data-binary "@$tmp/full" "$url/api/v1/runs" 2>/dev/null)
	[ "$code" = 401 ] && n=$((n + 1))
done
is "$n" 8 "a client that sends all the same gets the 401, not a reset"

# --- long things ---
long=$(head -c 600 /dev/zero | tr '\0' a)
is "$(curl -sS -o /dev/null -w '%{http_code}' "$url/$long")" 414 "414: a path of 600 bytes"
long=$(head -c 5000 /dev/zero | tr '\0' a)
is "$(curl -sS -o /dev/null -w '%{http_code}' "$url/trend?host=$long")" 414 "414: a query of 5,000 bytes"
long=$(head -c 60000 /dev/zero | tr '\0' a)
case $(curl -sS -o /dev/null -w '%{http_code}' "$url/$long") in 414 | 431) ok 0 "a path of 60 kB is refused" ;;
*) ok 1 "a path of 60 kB is refused" ;; esac
case $(curl -sS -o /dev/null -w '%{http_code}' -H "X: $long" "$url/healthz") in 413 | 431) ok 0 "a header of 60 kB is refused" ;;
*) ok 1 "a header of 60 kB is refused" ;; esac
is "$(curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(printf '%s' "$long" | head -c 3000)" -H "$type" \
	-d '{}' "$url/api/v1/runs")" 401 "401: a token of 3,000 bytes"

# --- drips ---
got=$(printf 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drip: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' |
	"$rawhttp" -d 500 -t 9 "$port")
between 1500 2800 "$got" "a head, a byte each half second"
got=$(printf 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drip: aaaaaaaaa' | "$rawhttp" -t 9 "$port")
between 1500 2800 "$got" "a head that stops"
got=$("$rawhttp" -t 9 "$port" </dev/null)
between 1500 2800 "$got" "a connection that says nothing"
got=$(printf 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' | "$rawhttp" -t 9 "$port")
has "$got" "200 OK" "a request is answered"
between 2500 5300 "$got" "... and the idle connection after it"
{ printf 'POST /api/v1/runs HTTP/1.1\r\nHost: x\r\n%s\r\n%s\r\nContent-Length: 8000\r\n\r\n' "$auth" "$type"
	head -c 8000 "$tmp/full"; } >"$tmp/drip"
got=$("$rawhttp" -d 150 -c 250 -t 20 "$port" <"$tmp/drip")
between 2500 4500 "$got" "a body that drips"
has "$(get "$url/metrics")" "mmtrend_http_reaped_total 4" "the metrics count what was cut"

# --- connections: six; two more are turned away at once ---
pids=
for i in 1 2 3 4 5 6 7 8; do
	"$rawhttp" -t 8 "$port" </dev/null >"$tmp/held.$i" &
	pids="$pids $!"
done
for p in $pids; do wait "$p"; done
n=0
for i in 1 2 3 4 5 6 7 8; do
	[ "$(ms "$(cat "$tmp/held.$i")")" -lt 1500 ] && n=$((n + 1))
done
is "$n" 2 "of eight connections two are closed at once"
is "$(get "$url/healthz")" ok "... and when they are gone all is well"
server_stop TERM

# --- rates ---
server_start --rate 2 --burst 5 || exit 1
for i in 1 2 3 4 5 6 7 8; do curl -sSi "$url/healthz"; done >"$tmp/eight"
got=$(cat "$tmp/eight")
has "$got" "HTTP/1.1 429 " "429 when an address has spent its burst"
has "$got" "Retry-After: 1" "... with Retry-After"
is "$(post /dev/null | tail -1)" 400 "a token has a bucket of its own"
sleep 2
is "$(curl -sS -o /dev/null -w '%{http_code}' "$url/healthz")" 200 "time fills the bucket again"
for i in 1 2 3 4 5 6 7 8; do curl -sS -o /dev/null "$url/style.css"; done
is "$(curl -sS -o /dev/null -w '%{http_code}' "$url/style.css")" 200 "what is in memory costs nothing"
server_stop TERM
done_testing
