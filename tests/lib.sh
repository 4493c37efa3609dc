# SPDX-License-Identifier: GPL-2.0-only
# Sourced by tests/*/*.t (sh, TAP under prove). $BUILD and $SRC come from
# `make check`. Everything a test starts, it ends: by process id.
set -u
: "${BUILD:?run this by make check}" "${SRC:?}"
LC_ALL=C; export LC_ALL
tmp=$(mktemp -d "${TMPDIR:-/tmp}/mmtrend-test.XXXXXX") || exit 1
tap=0; bad=0; server_pid=
trap 'rc=$?; server_stop; rm -rf "$tmp"; exit $rc' EXIT
trap 'exit 130' INT TERM

# ok STATUS "what it guards"
ok() {
	tap=$((tap + 1))
	if [ "$1" -eq 0 ]; then echo "ok $tap - $2"; else
		echo "not ok $tap - $2"; bad=$((bad + 1)); fi
}
# is GOT WANT "what it guards"
is() {
	if [ "$1" = "$2" ]; then ok 0 "$3"; else
		ok 1 "$3"
		printf '%s\n' "$1" | sed 's/^/# got:  /'
		printf '%s\n' "$2" | sed 's/^/# want: /'
	fi
}
# has TEXT PART "what it guards"
has() {
	case $1 in *"$2"*) ok 0 "$3" ;; *)
		ok 1 "$3"
		printf '%s\n' "$1" | head -20 | sed 's/^/# in:   /'
		printf '%s\n' "$2" | sed 's/^/# want: /' ;;
	esac
}
# hasnt TEXT PART "what it guards"
hasnt() {
	case $1 in *"$2"*)
		ok 1 "$3"; printf '%s\n' "$2" | sed 's/^/# unwanted: /' ;;
	*) ok 0 "$3" ;; esac
}
skip() { tap=$((tap + 1)); echo "ok $tap - $1 # SKIP $2"; }
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
# The last line of a test.
done_testing() { echo "1..$tap"; [ "$bad" -eq 0 ]; exit $?; }

# server_start [option...]: a real mmtrendd on a free loopback port with a new
# database and token (runs scope). Sets $url, $token, $db, $server_pid, $log.
server_start() {
	db=${db:-$tmp/test.db}; log=$tmp/server.log
	if [ ! -f "$tmp/token" ]; then
		"$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope runs \
			>"$tmp/token" || return 1
		chmod 600 "$tmp/token"
	fi
	token=$(cat "$tmp/token")
	rm -f "$tmp/port"
	"$BUILD/mmtrendd" --db "$db" --listen 127.0.0.1:0 \
		--tokens "$tmp/tokens" --port-file "$tmp/port" "$@" \
		2>>"$log" &
	server_pid=$!
	i=0
	while [ ! -s "$tmp/port" ]; do
		kill -0 "$server_pid" 2>/dev/null || { sed 's/^/# /' "$log"; return 1; }
		i=$((i + 1)); [ $i -lt 300 ] || return 1
		sleep 0.1
	done
	url=http://127.0.0.1:$(cat "$tmp/port")
}
# server_stop [SIGNAL]: end it and wait. Keeps $db.
server_stop() {
	[ -n "$server_pid" ] || return 0
	kill "-${1:-TERM}" "$server_pid" 2>/dev/null
	wait "$server_pid" 2>/dev/null; server_rc=$?
	server_pid=
}
# post FILE [curl option...]: prints the body, then the status on its own line.
post() {
	f=$1; shift
	curl -sS -w '\n%{http_code}\n' -H "Authorization: Bearer $token" \
		-H 'Content-Type: application/json' --data-binary "@$f" "$@" \
		"$url/api/v1/runs"
}
get() { curl -sS "$@"; }
