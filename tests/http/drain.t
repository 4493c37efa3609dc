#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Starting and stopping: what is in flight ends well, what is idle holds
# nothing up, what cannot start says why.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
server_start --rate 0 --drain-seconds 6 || exit 1
port=${url##*:}
rawhttp=$BUILD/tests/bench/rawhttp
run=$SRC/tests/wire/valid/example.json
{ printf 'POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n' "$token"
	printf 'Content-Type: application/json\r\nContent-Length: %s\r\n\r\n' "$(wc -c <"$run")"
	cat "$run"; } >"$tmp/request"
size=$(wc -c <"$tmp/request")

"$rawhttp" -d 200 -c $((size / 12)) -t 9 "$port" <"$tmp/request" >"$tmp/slow" &
slow=$!
printf 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' |
	"$rawhttp" -t 9 "$port" >"$tmp/idle" &
idle=$!
sleep 0.8
kill -TERM "$server_pid"
sleep 0.3
curl -sS -m 2 "$url/healthz" >/dev/null 2>&1
is $? 7 "while draining nobody new gets in"
wait "$server_pid"; is $? 0 "told to stop: it ends with 0"
server_pid=
wait "$slow"; wait "$idle"
got=$(cat "$tmp/slow")
has "$got" "201 Created" "a request in flight was answered"
has "$got" "Connection: close" "... and told that it was the last"
has "$(cat "$tmp/idle")" "# closed" "an idle connection was closed"
t=$(sed -n 's/^# closed \([0-9]*\) ms$/\1/p' "$tmp/idle")
[ "${t:-9999}" -lt 5000 ]; ok $? "... and held nothing up ($t ms)"
server_start --rate 0 || exit 1
id=$(sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' "$run" | head -1)
is "$(curl -sS -o /dev/null -w '%{http_code}' "$url/api/v1/runs/$id")" 200 \
	"what it acknowledged is there"
server_stop INT
is "$server_rc" 0 "an interrupt ends it as well"

# A request that never ends costs the drain time, not more.
server_start --rate 0 --drain-seconds 1 || exit 1
port=${url##*:}
{ printf 'POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n' "$token"
	printf 'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n1'; } |
	"$rawhttp" -t 9 "$port" >/dev/null &
stuck=$!
sleep 0.5
before=$(date +%s)
server_stop TERM
is "$server_rc" 0 "a client that never finishes is cut"
took=$(($(date +%s) - before))
[ "$took" -ge 1 ] && [ "$took" -le 3 ]
ok $? "... when the drain time is over ($took s)"
wait "$stuck"

d=$BUILD/mmtrendd
# fails STATUS TEXT OPTION...
fails() {
	want=$1; text=$2; shift 2
	"$d" "$@" 2>"$tmp/err" >"$tmp/out"; is $? "$want" "exit $want: $*"
	has "$(cat "$tmp/err")" "$text" "... $text"
}
base="--db $tmp/n.db --tokens $tmp/tokens"
fails 64 "expected --db FILE and --tokens FILE"
# shellcheck disable=SC2086
{
	fails 64 "option '--frob'" $base --frob
	fails 64 "frob: expected an option" $base frob
	fails 64 "--rate: expected a number from 0" $base --rate x
	fails 64 "--rate: expected a number from 0" $base --rate -1
	fails 64 "--connections: expected a number from 1" $base --connections=0
	fails 64 "option '--rate' requires an argument" $base --rate
	fails 64 "option '--allow-unjailed' doesn't allow" $base --allow-unjailed=1
	fails 1 "expected ADDRESS:PORT" $base --listen localhost:1
	fails 1 "expected ADDRESS:PORT" $base --listen 8080
	fails 1 "expected ADDRESS:PORT" $base --listen 127.0.0.1:99999
	fails 1 "$tmp/none/port" $base --listen 127.0.0.1:0 --port-file "$tmp/none/port"
}
server_start --rate 0 || exit 1
# shellcheck disable=SC2086
fails 1 "Address already in use" $base --listen "127.0.0.1:${url##*:}"
"$d" --db "$db" --tokens "$tmp/tokens" --listen 127.0.0.1:0 2>"$tmp/err"
is $? 1 "a second server on the same file does not start"
server_stop TERM
has "$("$d" --version)" "mmtrendd " "--version"
has "$("$d" --help)" "--drain-seconds" "--help names every option"
if [ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6; then
	server_start --rate 0 --listen '[::1]:0' --url https://perf.example || exit 1
	is "$(curl -sS "http://[::1]:$(cat "$tmp/port")/healthz")" ok "IPv6"
	server_stop TERM
else
	skip "IPv6" "loopback has no IPv6 address here"
fi
done_testing
