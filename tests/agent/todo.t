#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# run --for: what the server lists for this host and kernel is measured, and
# then no more; whatever else an answer holds does nothing.
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"
unset MMTREND_URL MMTREND_TOKEN_FILE http_proxy HTTP_PROXY
MMTREND_SPOOL=$tmp/spool; export MMTREND_SPOOL
agent=$BUILD/mmtrend-fake	# a kernel of our own
fake_pid=
trap 'rc=$?; fake_stop; server_stop; rm -rf "$tmp"; exit $rc' EXIT

# --- the kernel -----------------------------------------------------------------
MMTREND_FAKE_ROOT=$tmp/root MMTREND_FAKE_PAGE=4096
export MMTREND_FAKE_ROOT MMTREND_FAKE_PAGE
thp=$tmp/root/sys/kernel/mm/transparent_hugepage
proc=$tmp/root/proc
mkdir -p "$proc/sys/kernel" "$proc/sys/vm" "$proc/self" "$tmp/root/run"
for kb in 64 128 2048; do
	mkdir -p "$thp/hugepages-${kb}kB/stats"
	echo 'always inherit madvise [never]' >"$thp/hugepages-${kb}kB/enabled"
	echo 100 >"$thp/hugepages-${kb}kB/stats/anon_fault_alloc"
done
echo 'always [madvise] never' >"$thp/enabled"
echo 2097152 >"$thp/hpage_pmd_size"
echo 'nr_foll_pin_acquired 7000' >"$proc/vmstat"
: >"$proc/sys/vm/stat_refresh"; : >"$proc/self/pagemap"; : >"$proc/kpageflags"
boot() {	# boot RELEASE
	echo "$1" >"$proc/sys/kernel/osrelease"
	echo "boot-$1" >"$proc/version"
}
sha() { printf %s "$1" | sha1sum | cut -c 1-40; }
a=$(sha a) b=$(sha b) c=$(sha c)
short() { printf %.12s "$1"; }

# measure [option...]: sets $rc, $out (the document), $err
measure() {
	: >"$tmp/doc"
	"$agent" run --host lab1 --launches 2 --iterations 2 --memory 8m --seed 1 \
		--url "${to:-$url}" -o "$tmp/doc" "$@" >/dev/null 2>"$tmp/err"
	rc=$?; err=$(cat "$tmp/err"); out=$(cat "$tmp/doc")
	[ $rc -ne 3 ] || [ -z "$out" ] || rc=0	# this machine may be noisy
}
cells() { echo "$out" | jq -r '[.cells[] | "\(.bench) \(.folio_bytes)"] | sort | join(", ")'; }

# --- usage ----------------------------------------------------------------------
boot "6.18.0-g$(short "$a")"
to=http://127.0.0.1:1
for o in "--bench null" "--size 64k"; do
	# shellcheck disable=SC2086 # words
	measure --for $o
	is "$rc" 64 "--for with $o is refused"
done
measure --bench null
is "$rc $err" "64 mmtrend: --url, --insecure: only with --for" "--url alone is refused"
measure --for --host '../x'
is "$rc" 64 "a label that is none is never asked for"
measure --for --commit "$b"
is "$rc" 64 "a commit that the kernel denies is refused"
has "$err" "contradicts the running kernel" "and says so"
measure --for --url http://mm.example
is "$rc" 64 "plain http to another machine is refused"
measure --for
is "$rc" 4 "no server: exit 4"
is "$(test -s "$tmp/doc"; echo $?)" 1 "and nothing is measured"
to=

# --- a real server -----------------------------------------------------------------
server_start --rate 0 || { ok 1 "the server starts"; done_testing; }
push_token=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes)
push() {	# push DAY OLD NEW
	jq -n --arg d "$1" --arg old "$2" --arg new "$3" '{ schema: "mmtrend.push/1",
		tree: "mm", pushed_at: "2026-07-\($d)T06:00:00Z",
		old: (if $old == "" then null else $old end), new: $new,
		base: ("0" * 40), linear: 0, tags: [], commits: [{ sha: $new,
		tree_hash: $new, parent: ("0" * 40), subject: "x",
		author: "A <a@example.org>", authored_at: "2026-07-01T00:00:00Z",
		patch_id: null, patch_id_u0: null, link: null, quilt: null,
		files: [] }] }' |
	curl -sS -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' \
		-H "Authorization: Bearer $push_token" --data-binary @- "$url/api/v1/pushes"
}
measure --for
is "$rc" 4 "a host that the server does not know has no list"
has "$err" 'answered 404: host: no host "lab1"' "and says so"
hasnt "$err" "an mmtrendd's address?" "which is no wrong address"

"$agent" run --host lab1 --launches 2 --iterations 2 --memory 8m --commit "$a" \
	--bench null,mincore --size base,64k,2m -o "$tmp/first" >/dev/null 2>&1
"$agent" push --url "$url" --token-file "$tmp/token" "$tmp/first" >/dev/null
is $? 0 "a first run is sent"
is "$(push 01 '' "$a")$(push 02 "$a" "$b")" 201201 "its push and the next are posted"

measure --for
is "$rc" 77 "nothing is left to do for the kernel that was measured"
is "$err" "mmtrend: nothing to do for the running kernel (6.18.0-g$(short "$a")); of others the newest is $b" \
	"and what is next is told"
is "$(test -s "$tmp/doc"; echo $?)" 1 "no document is made of nothing"

boot "6.18.0-00002-g$(short "$b")"
measure --for
is "$rc" 0 "the next kernel is measured"
is "$(cells)" "mincore 2097152, mincore 4096, mincore 65536, null 4096" \
	"what was measured before, and only that"
is "$(echo "$out" | jq -r .kernel.commit)" "$b" "the document has the whole commit"
is "$(echo "$out" | jq -r '.agent.argv | join(" ")')" \
	"run --launches 2 --iterations 2 --memory 8m --seed 1 --bench null,mincore --size base,64k,2m" \
	"and how to measure the same by hand"
"$agent" push --url "$url" --token-file "$tmp/token" "$tmp/doc" >/dev/null
is $? 0 "it is sent"
measure --for
is "$rc $err" "77 mmtrend: nothing to do for the running kernel (6.18.0-00002-g$(short "$b"))" \
	"then nothing is left"

push 03 "$b" "$c" >/dev/null
for r in "6.18.0-g$(short "$c")-dirty" "6.18.0-gabcdefabcdef" 6.18.0; do
	boot "$r"
	measure --for
	is "$rc" 77 "$r: nothing to do"
	case $r in
	*dirty) has "$err" "has changes of its own" "a dirty kernel is not its commit" ;;
	*ab*) has "$err" "the newest is $c" "another kernel waits" ;;
	*) has "$err" "shows no commit: give --commit" "a release without a commit" ;;
	esac
done
measure --for --commit "$c"
is "$rc $(cells)" "0 mincore 2097152, mincore 4096, mincore 65536, null 4096" \
	"--commit says what the release does not"
measure --for --commit "$a"
has "$rc $err" "77 mmtrend: nothing to do" "and is another commit than that of the list"
measure --for --commit "$c" --patches x
is "$rc" 77 "but a patch on top is another kernel"
rm -r "$thp/hugepages-2048kB"; echo 131072 >"$thp/hpage_pmd_size"
boot "6.18.0-g$(short "$c")"
measure --for
is "$rc $(cells)" "0 mincore 4096, mincore 65536, null 4096" \
	"a size that this kernel lacks is left out"
has "$err" "left out: mincore at 2m: this kernel has no such folios" "and named"
"$agent" skip --host lab1 --commit "$c" --reason "no time" --url "$url" --token-file "$tmp/token"
measure --for
is "$rc" 77 "what was skipped is not to do"
server_stop

# --- a hostile server ------------------------------------------------------------------
# fake FILE: a server whose every answer is FILE's JSON (or BIG, without end);
# sets $to. It keeps what it was asked in $tmp/asked.
fake() {
	fake_stop
	: >"$tmp/fake.port"; : >"$tmp/asked"
	perl -MIO::Socket::INET -e '$| = 1; $SIG{PIPE} = "IGNORE";
		my ($file, $asked) = @ARGV;
		my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
		print $s->sockport, "\n";
		while (my $c = $s->accept) {
			open my $a, ">>", $asked;
			while (defined(my $l = <$c>)) { print $a $l; last if $l eq "\r\n" }
			close $a;
			print $c "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
			if ($file eq "BIG") { 1 while print $c "[" x 65536; }
			else { open my $f, "<", $file; print $c do { local $/; <$f> }; }
		}' "$1" "$tmp/asked" >"$tmp/fake.port" & fake_pid=$!
	i=0
	while [ ! -s "$tmp/fake.port" ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; done
	to=http://127.0.0.1:$(cat "$tmp/fake.port")
}
# shellcheck disable=SC2317 # the trap calls it
fake_stop() {
	[ -z "$fake_pid" ] || { kill $fake_pid; wait $fake_pid; } 2>/dev/null
	fake_pid=
}
row() { printf '{"commit":"%s","bench":"%s","sizes":"%s"}' "$1" "$2" "$3"; }
fake "$tmp/answer"
# answers STATUS "part of stderr" "what" JSON
answers() {
	printf %s "$4" >"$tmp/answer"
	measure --for
	is "$rc" "$1" "$3: exit $1"
	has "$err" "$2" "$3: says why"
	[ "$1" -eq 0 ] || is "$(test -s "$tmp/doc"; echo $?)" 1 "$3: nothing is measured"
}
answers 0 "" "a good answer" "{\"rows\":[$(row "$c" null 4096)]}"
is "$(cells)" "null 4096" "is measured"
has "$(cat "$tmp/asked")" "GET /todo/lab1.json?last=50 HTTP/1.1" "of this host's page"
hasnt "$(cat "$tmp/asked")" Authorization "to which no token goes"
answers 0 "left out: sh: this agent has no such benchmark" "an unknown benchmark" \
	"{\"rows\":[$(row "$c" sh 4096),$(row "$c" null 4096)],\"command\":\"touch $tmp/owned\"}"
is "$(cells)" "null 4096" "the rest is measured"
answers 77 "left out: gup: this agent has no such benchmark" "a family" \
	"{\"rows\":[$(row "$c" gup 4096)]}"
answers 77 "left out: mincore at 1000: this kernel has no such folios" "a size that is none" \
	"{\"rows\":[$(row "$c" mincore '1000 0 3000000')]}"
answers 77 "the newest is $a" "only other kernels" \
	"{\"rows\":[$(row "$a" null 4096),$(row "$b" null 4096)]}"
answers 77 "nothing to do" "no rows" '{"rows":[]}'
for odd in '' 'Welcome' '[]' '{}' '{"rows":{}}' '{"rows":[' '{"rows":[]}x' '{"rows":[],"rows":[]}'; do
	answers 3 "expected JSON with rows" "'$odd'" "$odd"
done
for odd in null 1 '[]' '{}' '{"commit":1}' "$(row "${c}0" null 4096)" "$(row "$(short "$c")" null 4096)" \
	"$(row "$c\\u0001" null 4096)"; do
	answers 3 "/rows/1/commit: expected 40 hex digits" "'$odd'" "{\"rows\":[$(row "$c" null 4096),$odd]}"
done
# shellcheck disable=SC2016 # nothing here is to expand
for odd in '' '; reboot' '$(reboot)' '--memory' '../null' 'null,all' '\u001b[31m' \
	"$(printf %065d 0)"; do
	answers 3 "/rows/0/bench: expected a benchmark's name" "bench '$odd'" \
		"{\"rows\":[$(row "$c" "$odd" 4096)]}"
done
for odd in all base '64k' '-4096' '4096,65536' '4096  65536' ' 4096' '0x1000' 1000000000000000; do
	answers 3 "/rows/0/sizes: expected bytes" "sizes '$odd'" \
		"{\"rows\":[$(row "$c" mincore "$odd")]}"
done
answers 3 "/rows/0/sizes: expected bytes" "sizes that are no text" \
	"{\"rows\":[{\"commit\":\"$c\",\"bench\":\"null\",\"sizes\":4096}]}"
answers 3 "could be $c or $(short "$c")0000000000000000000000000000: give --commit" "two commits" \
	"{\"rows\":[$(row "$c" null 4096),$(row "$(short "$c")0000000000000000000000000000" null 4096)]}"
many=$(i=0; while [ $i -lt 300 ]; do printf '%s,' "$(row "$c" "x$i" 4096)"; i=$((i + 1)); done)
answers 77 "left out: x1:" "unknown benchmarks without end" "{\"rows\":[${many%,}]}"
is "$([ "${#err}" -lt 6000 ]; echo $?)" 0 "fill no log"
answers 3 "expected JSON with rows" "brackets without end" "$(head -c 100000 /dev/zero | tr '\0' '[')"
answers 3 "/rows/0/commit: expected" "two megabytes of nothing" \
	"{\"rows\":[$(head -c 2000000 /dev/zero | tr '\0' 1 | sed 's/111/[],/g')1]}"
fake BIG
measure --for
is "$rc" 4 "an answer without end is not read to its end"
has "$err" "its answer is too long" "and says so"
is "$(test -e "$tmp/owned"; echo $?)" 1 "nothing that a server says is run"
done_testing
