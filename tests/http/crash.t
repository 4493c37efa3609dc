#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# kill -9, three times during 1,000 posts of 8 clients that try again: what was
# acknowledged is there, and in the end each run is there exactly once.
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"

runs=1000
acks=$tmp/acks
touch "$acks"

acked() { wc -l <"$acks"; }
# How many of the ids on stdin does the server have?
present() {
	sed "s|.*|url = $url/api/v1/runs/&|" >"$tmp/curlrc"
	curl -sS -K "$tmp/curlrc" -w '\n%{http_code}\n' | grep -c '^200$'
}

server_start --rate 0 || exit 1
port=$(cat "$tmp/port")
"$BUILD/tests/bench/load" -u "$url" -t "$tmp/token" -c 8 -n $runs -h 4 \
	-s 120 -a "$acks" >"$tmp/load.out" 2>&1 &
load_pid=$!

for stop_at in 150 400 650; do
	while [ "$(acked)" -lt $stop_at ] && kill -0 "$load_pid" 2>/dev/null; do
		sleep 0.02
	done
	server_stop KILL
	kill -0 "$load_pid" 2>/dev/null
	ok $? "the server was killed after $stop_at acknowledged runs of $runs, not after the last"
	server_start --rate 0 --listen "127.0.0.1:$port" || break
done

wait "$load_pid"
ok $? "every client got its 201 or 200 in the end"
sed 's/^/# /' "$tmp/load.out"
is "$(sort -u "$acks" | wc -l)" "$runs" "for $runs different runs"
is "$(present <"$acks")" "$runs" \
	"all of which are there (no client posts again what was acknowledged)"
has "$(get "$url/metrics")" "
mmtrend_runs $runs
" "and nothing else is: each exactly once"

server_stop
is "$server_rc" 0 "the server ends cleanly"
if command -v sqlite3 >/dev/null; then
	is "$(sqlite3 "$db" 'PRAGMA integrity_check; PRAGMA foreign_key_check;
		SELECT count(*) FROM run; SELECT count(*) FROM result')" "ok
$runs
$((runs * 63))" "the file is sound, with 63 results of each run"
else
	skip "the file is sound, with 63 results of each run" "no sqlite3 shell here"
fi
done_testing
