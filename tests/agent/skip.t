#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# mmtrend skip: the reason reaches the server once, and what it says comes back.
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"
portal=
trap 'rc=$?; [ -z "$portal" ] || kill $portal; server_stop; rm -rf "$tmp"; exit $rc' EXIT
unset MMTREND_URL MMTREND_TOKEN_FILE http_proxy HTTP_PROXY
sha=0123456789abcdef0123456789abcdef01234567
old=89abcdef0123456789abcdef0123456789abcdef

# skip STATUS "what" OPTION...: sets $out, its stderr
skipped() {
	want=$1 what=$2; shift 2
	out=$("$BUILD/mmtrend" skip "$@" 2>&1); is $? "$want" "$what: exit $want"
}

server_start --rate 0 || { ok 1 "the server starts"; done_testing; }
MMTREND_URL=$url MMTREND_TOKEN_FILE=$tmp/token
export MMTREND_URL MMTREND_TOKEN_FILE

for missing in "--host lab1 --commit $sha" "--commit $sha --reason x" \
	"--host lab1 --reason x" \
	"--host lab1 --reason x --commit $sha --push abcdefghij"; do
	# shellcheck disable=SC2086 # words
	skipped 64 "$missing" $missing
	has "$out" "expected --host, --reason and one of --commit and --push" "and says what is missing"
done
skipped 64 "no token" --token-file "" --host lab1 --commit $sha --reason x
skipped 64 "plain http to another machine" --url http://mm.example \
	--host lab1 --commit $sha --reason x
has "$out" "use https, or --insecure" "and says so"

skipped 0 "a skip" --host lab1 --commit $sha --reason 'built with "-O0"'
is "$out" "" "and nothing is said"
skipped 0 "the same again" --host lab1 --commit $sha --reason 'built with "-O0"'
skipped 0 "another reason" --host lab1 --commit $sha --reason "did not boot"

# The push comes later, and then the gap has its reasons.
push_token=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes)
jq -n --arg new $sha --arg old $old '{ schema: "mmtrend.push/1", tree: "mm",
	pushed_at: "2026-07-01T06:00:00Z", old: null, new: $new, base: $old,
	linear: 0, tags: [], commits: [{ sha: $new, tree_hash: $old, parent: $old,
	subject: "x", author: "A <a@example.org>",
	authored_at: "2026-07-01T00:00:00Z", patch_id: null, patch_id_u0: null,
	link: null, quilt: null, files: [] }] }' >"$tmp/push.json"
id=$(token=$push_token; curl -sS -H "Authorization: Bearer $token" \
	-H 'Content-Type: application/json' --data-binary "@$tmp/push.json" \
	"$url/api/v1/pushes" | jq -r .id)
row() { get "$url/trees/mm.json" | jq -r ".rows[0][\"host.$1\"]"; }
is "$(row lab1)" 'skipped: built with "-O0"; did not boot' "the tree shows the reasons"
skipped 0 "a skip of a push" --host lab2 --push "$id" --reason "host is away"
is "$(row lab2)" "skipped: host is away" "stands there too"

skipped 3 "half a commit" --host lab1 --commit 0123456 --reason x
has "$out" "/commit: expected a string of 40" "the server's reason is told"
skipped 3 "no label" --host 'a b' --commit $sha --reason x
has "$out" "answered 400: /host: expected" "the server's reason is told"
printf 'mmt_%043d\n' 0 >"$tmp/wrong"; chmod 600 "$tmp/wrong"
skipped 4 "a wrong token" --token-file "$tmp/wrong" --host lab1 --commit $sha --reason y
has "$out" "answered 401" "is told"
"$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope runs --host lab2 >"$tmp/bound"
chmod 600 "$tmp/bound"
skipped 4 "another host's token" --token-file "$tmp/bound" --host lab1 --commit $sha --reason y
has "$out" "answered 403" "is told"
is "$(row lab1)" 'skipped: built with "-O0"; did not boot' "what was refused left nothing"

# Something else on that port takes no skip, whatever it answers.
perl -MIO::Socket::INET -e '$| = 1;
	my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
	print $s->sockport, "\n";
	while (my $c = $s->accept) {
		while (defined(my $l = <$c>)) { last if $l =~ /reason/ || $l eq "\r\n" }
		print $c "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nWelcome";
	}' >"$tmp/portal" & portal=$!
i=0
while [ ! -s "$tmp/portal" ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; done
skipped 4 "a portal" --url "http://127.0.0.1:$(cat "$tmp/portal")" \
	--host lab1 --commit $sha --reason z
has "$out" "without a receipt" "its welcome is no receipt"
done_testing
