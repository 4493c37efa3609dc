#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The real agent sends to the real server: over a bad network every run arrives
# once; what is refused, wrong or away loses nothing and tells nothing.
. "$SRC/tests/lib.sh"
example=$SRC/tests/wire/valid/example.json
mmtrend=$BUILD/mmtrend
MMTREND_SPOOL=$tmp/spool; export MMTREND_SPOOL
unset MMTREND_URL MMTREND_TOKEN_FILE http_proxy HTTP_PROXY

chaos_pid=
trap 'rc=$?; chaos_stop; server_stop; rm -rf "$tmp"; exit $rc' EXIT
# chaos_start OPTION...: sets $chaos
chaos_start() {
	: >"$tmp/chaos.port"
	"$BUILD/tests/bench/chaos" "$@" >"$tmp/chaos.port" 2>>"$tmp/chaos.log" &
	chaos_pid=$!
	i=0
	while [ ! -s "$tmp/chaos.port" ] && [ $i -lt 100 ]; do
		i=$((i + 1)); sleep 0.1
	done
	chaos=http://127.0.0.1:$(cat "$tmp/chaos.port")
}
chaos_stop() {
	[ -n "$chaos_pid" ] || return 0
	kill "$chaos_pid" 2>/dev/null
	wait "$chaos_pid" 2>/dev/null
	chaos_pid=
}
# doc N: a run of its own, as the wire has it
doc() {
	sed "s/\"id\": \"01a22c21-17c0-[0-9a-f-]*\"/\"id\": \"$(id "$1")\"/" "$example"
}
id() { printf '01a22c21-17c0-7d0b-9f5e-%012x' "$1"; }
# spool N: let run N wait
spool() {
	[ -d "$MMTREND_SPOOL" ] || mkdir -m 700 "$MMTREND_SPOOL"
	doc "$1" >"$MMTREND_SPOOL/$(id "$1").json"
}
# push OPTION...: sets $out, $err, $rc
push() {
	"$mmtrend" push "$@" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	out=$(cat "$tmp/out"); err=$(cat "$tmp/err")
}
waiting() { find "$MMTREND_SPOOL" -maxdepth 1 -name '*.json' | wc -l; }

server_start --rate 1000 || { ok 1 "the server starts"; done_testing; }

# --- usage: nothing is sent, nothing is lost ----------------------------------
push
is "$rc" 64 "no token file is a usage error"
has "$err" "--token-file" "and the option is named"
chmod 644 "$tmp/token"
push --token-file "$tmp/token" --url "$url"
is "$rc" 64 "a token file that others may read is refused"
has "$err" "chmod 600" "with the cure"
chmod 600 "$tmp/token"
printf 'mmt_one\nmmt_two\n' >"$tmp/two"; chmod 600 "$tmp/two"
push --token-file "$tmp/two" --url "$url"
is "$rc" 64 "two tokens in a file are none"
hasnt "$err" mmt_one "and a token is never printed"

MMTREND_TOKEN_FILE=$tmp/token; export MMTREND_TOKEN_FILE
push --url "$url"
is "$rc$out$err" 0 "an empty spool is no error and no noise"
spool 1
push --url http://mmtrend.example
is "$rc" 64 "plain http off loopback is refused"
has "$err" "--insecure" "unless --insecure is given"
for u in ftp://127.0.0.1/ "http://me:pw@127.0.0.1/" "$url/?a=b" "not a url"; do
	push --url "$u"
	is "$rc" 64 "--url $u is refused"
done
is "$(waiting)" 1 "and the run waits on"

# --- one run --------------------------------------------------------------------
push --url "$url/"
is "$rc" 0 "one run goes"
has "$out" "/trend?" "the page to look at is printed"
is "$err" "" "a pipe sees no progress"
is "$(waiting)" 0 "it waits no longer"
doc 1 >"$tmp/named.json"
push --url "$url" "$tmp/named.json"
is "$rc" 0 "the same run again is the same run"
is "$(test -f "$tmp/named.json"; echo $?)" 0 "a named file is never deleted"

spool 2; sed -i 's/"mincore"/"null"/' "$MMTREND_SPOOL/$(id 2).json"
spool 3
push --url "$url"
is "$(echo "$out" | sort | uniq -d)" "" "a page is told once, whatever the runs"
has "$out" "bench=mincore&" "each page is"
hasnt "$out" "bench=null&" "but that of null"

# The server asks for a kernel config that it lacks, and gets it once.
sum=$(zcat /proc/config.gz 2>/dev/null | sha256sum | cut -d " " -f 1)
if [ -r /proc/config.gz ]; then
	spool 4
	sed -i "s/\"config_sha256\": \"[0-9a-f]*\"/\"config_sha256\": \"$sum\"/" \
		"$MMTREND_SPOOL/$(id 4).json"
	push --url "$url"
	is "$rc$err" 0 "a run of this very kernel goes"
	is "$(get "$url/api/v1/files/$sum" | sha256sum | cut -d " " -f 1)" "$sum" \
		"and its config with it"
else
	skip "the kernel config goes with its run" "no /proc/config.gz here"
	spool 4; push --url "$url"
fi

# --- refused for good -------------------------------------------------------------
spool 1
sed -i 's/160211/160212/' "$MMTREND_SPOOL/$(id 1).json"
spool 5
push --url "$url"
is "$rc" 3 "one id with two bodies is refused for good"
is "$(waiting)" 0 "it does not stand in the way of the next run"
is "$(ls "$MMTREND_SPOOL/dead")" "$(id 1).json
$(id 1).why" "it lies in dead/ with the answer"
has "$(cat "$MMTREND_SPOOL/dead/$(id 1).why")" 422 "the answer is the server's"
echo '{"schema": "mmtrend.run/1"' >"$tmp/cut.json"
push --url "$url" "$tmp/cut.json"
is "$rc" 3 "half a document is not sent"
has "$err" "$tmp/cut.json: refused: line" "its name and place are told"
push --url "$url" "$tmp/none.json"
is "$rc" 4 "a file that is not there is not sent"

# --- kept ---------------------------------------------------------------------------
spool 6
printf 'mmt_%043d\n' 0 >"$tmp/wrong"; chmod 600 "$tmp/wrong"
push --url "$url" --token-file "$tmp/wrong"
is "$rc" 4 "a wrong token sends nothing"
has "$err" "answered 401" "the answer is told"
has "$err" "token file" "with what to look at"
push --url "$url/elsewhere"
is "$rc" 4 "a wrong address refuses no run for good"
is "$(waiting)" 1 "the run waits"

chaos_start --redirect "$url/api/v1/runs"
push --url "$chaos"
is "$rc" 4 "a redirect is not followed"
has "$err" "answered 307" "but told"
is "$(waiting)" 1 "the run waits still"
chaos_stop

# A spool that anybody may write is not sent from.
chmod 777 "$MMTREND_SPOOL"
push --url "$url"
is "$rc" 4 "a spool that others may write is not sent"
chmod 700 "$MMTREND_SPOOL"

# --- a bad network: every run arrives, each once --------------------------------------
n=30
i=10
while [ $i -lt $((10 + n)) ]; do spool $i; i=$((i + 1)); done
chaos_start --to "${url##*:}" --seed 7 \
	--drop 100 --lose 150 --busy 100 --cut 40 --hang 10
tries=0
while [ "$(waiting)" -gt 0 ] && [ $tries -lt 5 ]; do
	push --url "$chaos"
	cat "$tmp/out" >>"$tmp/urls"
	tries=$((tries + 1))
done
is "$rc" 0 "over a bad network the spool is sent"
is "$(waiting)" 0 "nothing waits"
chaos_stop
for fate in drop lose busy cut; do
	grep -q "^$fate" "$tmp/chaos.log"
	ok $? "the network did spoil connections: $fate"
done
missing=0
i=10
while [ $i -lt $((10 + n)) ]; do
	get "$url/api/v1/runs/$(id $i)" >"$tmp/back"
	doc $i | cmp -s - "$tmp/back" || missing=$((missing + 1))
	i=$((i + 1))
done
is "$missing" 0 "each run is there, byte for byte"
runs=$(get "$url/kernels.csv" | awk -F, 'NR == 1 { for (c = 1; $c != "runs"; c++) ; next } { n += $c } END { print n }')
is "$runs" $((n + 6)) "and each only once"

# --- the server is away -----------------------------------------------------------------
server_stop TERM
spool 99
push --url "$url"
is "$rc" 4 "no server: not sent"
is "$(waiting)" 1 "the run waits for it"
has "$err" "not sent" "and that is told"
done_testing
