#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The images do what compose.yml uses them for, as far as a chroot with
# buildah's user, capabilities and seccomp filter can show it. `make images`
# builds them, and starts this in a network of its own, where 8080 is free.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
[ -n "${IMAGES-}" ] || skip_all "make images builds the images and runs them"
BUILDAH_ISOLATION=chroot; export BUILDAH_ISOLATION
containers=
# shellcheck disable=SC2086 # a list of names
trap 'rc=$?; server_stop; [ -z "$containers" ] || buildah rm $containers >/dev/null
	rm -rf "$tmp"; exit $rc' EXIT
ip link set lo up
state=/var/lib/mmtrend url=http://127.0.0.1:8080 log=$tmp/server.log
mkdir -m 700 "$tmp/server" "$tmp/agent"

# container IMAGE: a new one; sets $container. Given a volume by the image and by
# -v, buildah 1.28 mounts now the one, now the other.
container() {
	container=$(buildah from --pull-never "$1") || exit 1
	containers="$containers $container"
	buildah config --volume $state- "$container"
}
# words FILTER: of the server image's configuration, one a line
words() { buildah inspect --type image mmtrend-server | jq -r ".Docker.config | $1"; }
in_server() { buildah run -v "$tmp/server:$state" "$server" -- "$@"; }
in_agent() {
	buildah run -v "$tmp/agent:$state" -v "$tmp/token:/run/secrets/token:ro" \
		-v "$SRC/tests/wire/valid:/valid:ro" \
		--env MMTREND_TOKEN_FILE=/run/secrets/token "$agent" -- "$@"
}
# shellcheck disable=SC2046 # the words of a command
healthy() { in_server $(words '.Healthcheck.Test[1:][]') >/dev/null 2>&1; }
# start: what the image says, as who it says; sets $server, $pid of mmtrendd
# shellcheck disable=SC2046
start() {
	container mmtrend-server; server=$container
	chown -R "$(buildah run "$server" -- id -u)" "$tmp/server"
	in_server $(words '.Entrypoint[], .Cmd[]') 2>>"$log" &
	server_pid=$!
	i=0
	until healthy || [ $i -ge 30 ] || ! kill -0 "$server_pid"; do
		i=$((i + 1)); sleep 1
	done
	pid=$server_pid
	until [ "$(cat "/proc/$pid/comm")" = mmtrendd ]; do
		pid=$(pgrep -o -P "$pid") || { sed 's/^/# /' "$log"; exit 1; }
	done
}

container mmtrend-agent; agent=$container
start
healthy; ok $? "the health check is content"
is "$(awk '/^(Uid|CapEff):/ { print $2 }' "/proc/$pid/status" | tr '\n' ' ')" \
	"10001 0000000000000000 " "the server is not root and has no capability"
is "$(awk '/^Seccomp:/ { print $2 }' "/proc/$pid/status")" 2 \
	"under a container's seccomp filter"
said=$(cat "$log")
has "$said" "gnuplot runs in: landlock (abi " "gnuplot is jailed by Landlock"
hasnt "$said" "NO seccomp" "and by seccomp"
hasnt "$said" "PICTURES FAIL" "gnuplot and fonts are there"

in_server mmtrendd token add --tokens $state/tokens >"$tmp/token"
chmod 600 "$tmp/token"
in_agent mmtrend run --bench mincore --size base \
	--memory 16m --launches 2 >"$tmp/run" 2>&1
rc=$?
case $rc in 0|3) rc=0 ;; *) sed 's/^/# /' "$tmp/run" ;; esac
ok $rc "the agent measures"
in_agent mmtrend push >"$tmp/push"; ok $? "and posts"
has "$(cat "$tmp/push")" "$url/trend?host=host-" "the address of its trend"
in_agent mmtrend push /valid/example.json >/dev/null; ok $? "a document from elsewhere too"

trend="$url/trend.svg?host=lab1&bench=mincore"
get -f "$trend" -o "$tmp/before.svg"; ok $? "the trend's picture"
svg=$(cat "$tmp/before.svg")
has "$svg" '>64k<' "with its text"
has "$svg" '</svg>' "whole"
get -f "$url/index.csv" >"$tmp/before.csv"
has "$(cat "$tmp/before.csv")" host- "the agent's own figures stand beside it"

kill -KILL "$pid"; wait "$server_pid"
healthy; is $? 7 "the health check misses a server that was killed"
start
healthy; ok $? "it starts again on the same volume"
get -f "$trend" | cmp -s "$tmp/before.svg"; ok $? "the same picture, byte for byte"
get -f "$url/index.csv" | cmp -s "$tmp/before.csv"; ok $? "the same figures"
kill -TERM "$pid"; wait "$server_pid"
ok $? "told to stop, it ends with 0"
server_pid=
done_testing
