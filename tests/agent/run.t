#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The real agent on the real kernel: its command line, its proof, what its
# documents do not tell, and that it leaves every setting as found. These are the
# whole machine's: everything that changes them stands in this one file.
. "$SRC/tests/lib.sh"
export MMTREND_SPOOL="$tmp/spool"
agent=$BUILD/mmtrend
thp=/sys/kernel/mm/transparent_hugepage
run_pid=

settings() { cat $thp/enabled $thp/hugepages-*kB/enabled; }
# shellcheck disable=SC2317 # the trap calls it
put_back() {
	[ -z "$run_pid" ] || kill -9 "$run_pid" 2>/dev/null
	"$agent" undo >/dev/null 2>&1
	rm -rf "$tmp"
}
trap put_back EXIT

[ ! -e /run/mmtrend/tuned ] ||
	skip_all "this machine is tuned, and undo would end that: mmtrend undo"
# A real run on this machine comes first; undo says whether one holds the lock.
i=0
while [ "$(id -u)" -eq 0 ] && ! held=$("$agent" undo 2>&1 >/dev/null); do
	i=$((i + 1)); [ $i -lt 120 ] || skip_all "$held"
	sleep 1
done
before=$(settings 2>&1)

# --- the command line ---------------------------------------------------------
usage() {	# usage "what" "part of the message" word...
	what=$1 part=$2; shift 2
	out=$("$agent" "$@" 2>&1 >/dev/null); is $? 64 "$what: exit 64"
	has "$out" "$part" "$what: says why"
}
usage "no command" "usage: mmtrend COMMAND"
usage "an unknown command" "usage: mmtrend COMMAND" measure
usage "an unknown option" "run: no option --fast" run --fast
usage "an option cut short" "run: no option --ben" run --ben null
usage "an option without its value" "--bench: expected a value (a,b)" run --bench
usage "a flag with a value" "--read: takes no value" run --read=1
usage "no number" '--launches: expected a number from 1 to 256, got "x"' run --launches x
usage "a number above its cap" "from 1 to 4096" run --iterations 5000
usage "no size" '--memory: expected a size such as 256m, got "lots"' run --memory lots
usage "no such benchmark" "--bench: expected names of" run --bench gip
usage "a commit that is none" "commit" run --commit xyz --bench null
usage "a bad label" "host" run --host 'a b' --bench null
usage "files where none belong" "list: expected options only" list x
usage "show without a file" "show: expected FILE" show
usage "show of no file" "No such file" show "$tmp/none"
echo '{' >"$tmp/bad"; usage "show of no document" "$tmp/bad: line" show "$tmp/bad"
head -c 2200000 /dev/zero >"$tmp/big"
usage "show of more than a document" "more than 2097152 bytes" show "$tmp/big"
is "$(settings 2>&1)" "$before" "usage errors change nothing"

has "$("$agent" --help)" "put back the settings" "--help lists the commands"
has "$("$agent" run --help)" "--iterations N" "run --help lists its options"
has "$("$agent" version)" "mmtrend 0" "version"
man=$(cat "$SRC/agent/mmtrend.1")
for c in $("$agent" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	has "$man" ".It Cm $c" "the man page knows $c"
	for o in $("$agent" "$c" --help | sed -n 's/^  \(-[^ ]*\) .*/\1/p'); do
		has "$man" "Fl ${o#-}" "the man page knows $c $o"
	done
done
list=$("$agent" list)
for b in null mincore populate.read populate.write pvm; do
	has "$list" "  $b: " "list names $b"
done
has "$list" "5 x 5 memory=256m" "with what it does by default"
has "$list" "memory=256m pages_per_call=65536" "a count of pages is no size"
has "$list" "folio sizes of this kernel: base" "list names the sizes"
for b in $(printf '%s\n' "$list" | sed -n 's/^  \([a-z._]*\): .*/\1/p'); do
	has "$man" "Cm $b" "the man page knows the benchmark $b"
done

# What --tune may change, with what it holds now.
noise() {
	for f in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor \
		 /sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/disable \
		 /sys/devices/system/cpu/intel_pstate/no_turbo \
		 /sys/devices/system/cpu/cpufreq/boost /sys/kernel/mm/ksm/run \
		 /proc/sys/kernel/randomize_va_space $thp/khugepaged/defrag \
		 /proc/sys/kernel/numa_balancing /proc/sys/kernel/watchdog; do
		[ ! -r "$f" ] || echo "$f $(cat "$f")"
	done
}
found=$(noise)
out=$("$agent" check); is $? 0 "check: something can run here"
has "$out" "null: can run here" "check says what"
for b in $(printf '%s\n' "$list" | sed -n 's/^  \([a-z._]*\): .*/\1/p'); do
	has "$out" "  $b: " "check speaks of $b"
done
is "$(noise; settings 2>&1)" "$found
$before" "check changes nothing"
if [ ! -e /dev/pfnmap_test ]; then
	has "$out" "pfnmap.remap: no /dev/pfnmap_test: needs" "check says what pfnmap lacks"
fi

# --- where the document goes -----------------------------------------------------
# Noise of this machine may make a run invalid (3); that is not the matter here.
ran() { "$agent" run --host test "$@"; rc=$?; [ $rc -eq 3 ] && rc=0; return $rc; }
quick() { ran --bench null --launches 1 --iterations 2 --seed 1 "$@"; }

quick -o - >"$tmp/a.json" 2>"$tmp/a.err"; ok $? "run -o -"
"$agent" show "$tmp/a.json" >"$tmp/a.show"; ok $? "stdout is the document and nothing else"
has "$(cat "$tmp/a.err")" "time_ns" "the table went to stderr"
has "$(cat "$tmp/a.json")" '["run", "--bench", "null", "--launches", "1", "--iterations", "2", "--seed", "1"]' \
	"argv holds the measuring options, not the label"
ok "$(test ! -e "$tmp/spool"; echo $?)" "-o - keeps nothing in the spool"

quick -o "$tmp/b.json" >"$tmp/b.out" 2>"$tmp/b.err"; ok $? "run -o FILE"
has "$(cat "$tmp/b.out")" "time_ns" "prints the table"
"$agent" show "$tmp/b.json" >/dev/null; ok $? "and writes the document"
"$agent" show - <"$tmp/b.json" >/dev/null; ok $? "show - reads stdin"
ok "$(test ! -e "$tmp/spool"; echo $?)" "-o FILE keeps nothing in the spool"
size=$(wc -c <"$tmp/b.json")
ran --bench null --launches 30 -o "$tmp/b.json" >/dev/null 2>&1
quick -o "$tmp/b.json" >/dev/null 2>&1
"$agent" show "$tmp/b.json" >/dev/null; ok $? "a longer document is replaced whole (was $size bytes)"

# --- what a document does not tell ----------------------------------------------
# The host's name is set apart, in a namespace of our own: a short one is part of
# some innocent word.
secrets() {
	echo mmtrend-test-host; echo mmtrend-test-user
	for f in /sys/class/dmi/id/*_serial /sys/class/dmi/id/product_uuid \
		 /sys/firmware/devicetree/base/serial-number /etc/machine-id \
		 /sys/class/net/*/address; do
		tr -d '\0' <"$f"
	done
	hostname -I | tr ' ' '\n'
	awk '/32 host LOCAL/ { print last } { last = $2 }' /proc/net/fib_trie
	awk '{ print $1 }' /proc/net/if_inet6
	awk -F: '$3 >= 1000 && $3 < 65534 { print $1 }' /etc/passwd
	tr ' ' '\n' </proc/cmdline | grep '='
	echo "$tmp"
}
secrets 2>/dev/null | awk 'length($0) > 4 && !/^(127\.|0[0.:]*1?$)/' >"$tmp/secrets"
apart() { unshare --uts sh -c \
	'echo mmtrend-test-host >/proc/sys/kernel/hostname; exec "$@"' sh "$@"; }
if ! apart true 2>/dev/null; then
	apart() { "$@"; }
	uname -n | awk 'length($0) > 4' >>"$tmp/secrets"
fi
ok "$(test "$(wc -l <"$tmp/secrets")" -gt 3; echo $?)" "this machine has secrets"
USER=mmtrend-test-user LOGNAME=mmtrend-test-user HOME=/home/mmtrend-test-user \
	apart "$agent" run --host test --launches 1 --iterations 1 --memory 32m \
	--size base -o "$tmp/whole.json" >/dev/null 2>&1
"$agent" show "$tmp/whole.json" >"$tmp/whole.show"; ok $? "a run of everything, or its reason"
is "$(grep -iFf "$tmp/secrets" "$tmp/whole.json" "$tmp/whole.show")" "" \
	"no name, address, serial number, user or path of the host is in it"
for b in $(printf '%s\n' "$list" | sed -n 's/^  \([a-z._]*\): .*/\1/p'); do
	has "$(cat "$tmp/whole.json")" "\"bench\": \"$b\"" "$b is in it"
done
if [ ! -e /dev/pfnmap_test ]; then
	has "$(cat "$tmp/whole.json")" '"no /dev/pfnmap_test: needs CONFIG_PFNMAP_TEST' \
		"pfnmap as a skip with its reason"
fi

# --- the same again --------------------------------------------------------------
ran --more "$tmp/b.json" -o "$tmp/more.json" >/dev/null 2>&1
ok $? "run --more FILE"
design() { sed -n '/"design"/,/}/p' "$1" | tr -d ' \n'; }
is "$(design "$tmp/more.json")" '"design":{"launches":1,"iterations":2},' "takes its counts"
is "$(sed -n 's/^ *"bench": //p' "$tmp/more.json")" '"null",' "and its benchmarks, no other"
usage "--more beside a benchmark" "come from its document" run --more "$tmp/b.json" --bench null
usage "--more of no document" "$tmp/bad: line" run --more "$tmp/bad"
sed 's/"rev": 1/"rev": 7/' "$tmp/b.json" >"$tmp/old.json"
out=$("$agent" run --host test --more "$tmp/old.json" -o - 2>/dev/null); is $? 77 "--more of another revision measures nothing"
has "$out" "null: this agent has revision 1, not 7" "and says why"
sed 's/"null"/"nulle"/' "$tmp/b.json" >"$tmp/strange.json"
out=$("$agent" run --host test --more "$tmp/strange.json" -o - 2>/dev/null)
has "$out" "this agent has no benchmark nulle" "so does --more of a benchmark it lacks"

echo precious >"$tmp/precious"; ln -s "$tmp/precious" "$tmp/link"
out=$(quick -o "$tmp/link" 2>&1 >/dev/null); is $? 64 "-o to a symlink is refused"
has "$out" "a symbolic link is not followed" "with the reason"
is "$(cat "$tmp/precious")" precious "and nothing is written through it"
out=$(quick -o "$tmp/no/such" 2>&1 >/dev/null); is $? 64 "-o into no folder is refused"
quick --id 1 -o "$tmp/gone.json" >/dev/null 2>&1
is $? 64 "an id that is no UUID is refused"
ok "$(test ! -e "$tmp/gone.json"; echo $?)" "a run that failed leaves no empty file"
quick -o /dev/full >/dev/null 2>&1; is $? 4 "a full disk is exit 4"
quick >/dev/null 2>"$tmp/c.err"; ok $? "run without -o"
has "$(cat "$tmp/c.err")" "kept as $tmp/spool/" "keeps the document in the spool"
is "$(find "$tmp/spool" -name '*.json' | wc -l)" 1 "once"

# --- the kernel's folio sizes -------------------------------------------------------
if [ "$(id -u)" -ne 0 ]; then
	skip "folio sizes, undo, two agents" "not root: cannot set folio sizes"
	done_testing
fi
if ! ls $thp/hugepages-*kB/enabled >/dev/null 2>&1; then
	skip "folio sizes, undo, two agents" "no $thp/hugepages-*kB in this kernel"
	done_testing
fi
ran --bench null,mincore,populate,pvm --launches 1 --iterations 1 --memory 32m \
	-o "$tmp/all.json" >/dev/null 2>&1
ok $? "benchmarks at every size"
is "$(settings)" "$before" "leaves the settings as found"
# bench folio status folios other proved pinned, of each cell's launch
awk -F'[:,]' '{ gsub(/[ "]/, "") } /^bench:/ { b = $2 } /^folio_bytes:[0-9]/ { f = $2 }
	/^status:/ { s = $2 } /^folios:/ { n = $2 } /^other_folios:/ { o = $2 }
	/^proved:/ { p = $2 } /^pinned:/ { print b, f, s, n, o, p, $2 }' \
	"$tmp/all.json" >"$tmp/cells"
set -- $thp/hugepages-*kB/enabled
sizes=$(($# + 1))
is "$(wc -l <"$tmp/cells")" $((4 * sizes + 1)) "one cell per benchmark and size"
while read -r bench folio status folios other proved pinned; do
	what="$bench at $folio"
	is "$status" ok "$what: ok"
	[ "$bench" = null ] && continue
	is "$folios $other" "$((33554432 / folio)) 0" "$what: every folio is of that size"
	has "counter+pagemap" "$proved" "$what: proven"
	[ "$bench" = pvm ] &&
		is "$pinned" $((33554432 / $(getconf PAGESIZE))) "$what: every page pinned"
done <"$tmp/cells"

# --- not root --------------------------------------------------------------------
other=${1%kB/enabled}; other=${other##*-}
if [ "$(cat "$1")" != "always inherit madvise [never]" ] || ! command -v setpriv >/dev/null; then
	skip "not being root" "setpriv is not installed, or $1 is not never"
else
	cp "$agent" "$tmp/agent"; chmod 755 "$tmp"
	# Another process that takes folios meanwhile leaves nothing proven.
	for try in 1 2 3; do
		setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/agent" run \
			--host test --bench mincore,pvm --size "base,${other}k" \
			--launches 1 --iterations 1 --memory 32m -o - \
			>"$tmp/user.json" 2>/dev/null
		grep -q '"proved": "counter"' "$tmp/user.json" && break
		echo "# try $try: other processes took folios"
	done
	out=$("$agent" show "$tmp/user.json" | tr -s ' \n' ' ')
	has "$out" "not root: cannot set folio sizes" "a size that cannot be set is a skip with its reason"
	has "$out" "pins cannot be counted exactly; run as root" "so are pins that cannot be counted"
	has "$(cat "$tmp/user.json")" '"proved": "counter"' "base pages are measured, proven by the counters"
fi

# --- tuned until undone --------------------------------------------------------------
out=$("$agent" check --tune); is $? 0 "check --tune"
tuned=$(noise)
if [ "$tuned" = "$found" ]; then
	skip "tune, run, undo" "nothing of this machine can be tuned"
else
	has "$out" "puts the tuned settings back" "says how to undo it"
	quick -o "$tmp/tuned.json" >/dev/null 2>&1; ok $? "a run on the tuned machine"
	is "$(noise)" "$tuned" "leaves what was tuned"
	has "$("$agent" undo)" "settings put back" "undo says what it did"
	is "$(noise; settings)" "$found
$before" "and leaves every file as it was found"
	ok "$(test ! -e /run/mmtrend/tuned; echo $?)" "and no journal"
fi

# --- killed, and two at once -----------------------------------------------------------
start_run() {
	"$agent" run --bench pvm --size "${other}k" --launches 200 --host test \
		-o "$tmp/long.json" >/dev/null 2>&1 &
	run_pid=$!
	i=0
	until grep -q '\[madvise\]' "$thp/hugepages-${other}kB/enabled"; do
		i=$((i + 1)); [ $i -lt 100 ] || break
		sleep 0.1
	done
}
start_run
out=$("$agent" run --bench null -o "$tmp/two.json" 2>&1); is $? 77 "a second agent measures nothing"
has "$out" "another mmtrend (pid $run_pid, since " "and says who holds the lock"
out=$("$agent" undo 2>&1); is $? 77 "nor can it undo"
# (INT is ignored by what a shell starts in the background, and stays so.)
kill -TERM "$run_pid"; wait "$run_pid" 2>/dev/null; is $? 143 "TERM ends a run"; run_pid=
is "$(settings)" "$before" "after it has put the settings back"
ok "$(test ! -e "$tmp/long.json"; echo $?)" "and leaves no half document"

kill_run() {
	start_run
	kill -KILL "$run_pid"; wait "$run_pid" 2>/dev/null; run_pid=
	ok "$(test "$(settings)" != "$before"; echo $?)" "SIGKILL leaves a run's settings"
	i=0	# its launch dies with it, but not within the same instant
	while "$agent" undo --help >/dev/null && ! flock -n /run/mmtrend/lock true; do
		i=$((i + 1)); [ $i -lt 50 ] || break
		sleep 0.1
	done
}
kill_run
has "$("$agent" undo)" "settings put back" "undo says what it did"
is "$(settings)" "$before" "undo restores what was found"
is "$("$agent" undo)" "nothing to put back" "a second undo has nothing to do"
kill_run
quick -o "$tmp/next.json" >/dev/null 2>&1; ok $? "the next run starts"
is "$(settings)" "$before" "and puts back what the killed one left"
done_testing
