#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Documents of two kernels in, the report of a mail out. compare/ holds what two
# boots of 6.12.117 really gave (arm64 under QEMU, exact; the second kernel with
# an early form of gup-walk; pfnmap's cells, all skips, left out) and the report
# of them. Every other document here is one of the two or a run of `null`, changed
# by jq for the case that it shows.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

data=$SRC/tests/agent/compare
before=$data/before.json after=$data/after.json
# compare ARG...: sets $out (stdout, then stderr), $rc, and $flat: $out on one
# line, a blank between words
compare() {
	out=$("$BUILD/mmtrend" compare "$@" 2>&1); rc=$?
	flat=$(printf '%s' "$out" | tr -s ' \n' ' ')
}
# from FILE PROGRAM NAME: a changed document; prints its path
from() {
	jq "$2" "$1" >"$tmp/$3.json"
	echo "$tmp/$3.json"
}
# gives WANT-RC PART WHAT: what the last compare said
gives() {
	is "$rc" "$1" "$3"
	has "$flat" "$2" "  and says why"
}

# --- the report ------------------------------------------------------------
compare "$before" "$after"
is "$out" "$(cat "$data/full.txt")" "the full report of two real boots"
is $rc 1 "what is slower by 2 % or more is an alarm"
compare "$after" "$before"
has "$out" "64k       3573 k  40275 k  +1027.2%    +560  SLOWER, 11.3x" \
	"the other way round what was gained is lost"

for form in full commit-log cover; do
	compare --form $form "$before" "$after"
	printf '%s\n' "$out" >"$tmp/$form.txt"
	is "$(grep -nvE '^(  [ -~]{0,69}[!-~])?$' "$tmp/$form.txt")" "" \
		"$form: 72 columns of ASCII, each line indented by two"
	has "$out" "base 4k  25689 k  13003 k  -49.4%    -194  faster, 2.0x" \
		"$form: has the table"
	has "$out" "guest instructions" "$form: says what the figures are"
done
hasnt "$(cat "$tmp/commit-log.txt")" "gcc" "commit-log: no machine"
hasnt "$(cat "$tmp/commit-log.txt")" "against" "commit-log: no title"
has "$(cat "$tmp/cover.txt")" "HZ 100" "cover: the machine"
compare --title 'mm/gup: batch [2 patches]' --rerun 'ci/lab/compare none gup-walk' \
	"$before" "$after"
has "$out" "  mmtrend: mm/gup: batch [2 patches]
  before  linux 6.12.117" "a title of one's own"
has "$out" "  rerun: ci/lab/compare none gup-walk" "a command of one's own"

# A commit message with the report through a mail and back.
git init -q "$tmp/a" && git init -q "$tmp/b"
export GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@example.org \
	GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@example.org
for r in a b; do git -C "$tmp/$r" commit -q --allow-empty -m base; done
for form in full commit-log cover; do
	echo $form >"$tmp/a/file"
	git -C "$tmp/a" add file
	{ printf 'mm: a subject\n\nA body.\n\n'; cat "$tmp/$form.txt"
	  printf '\nSigned-off-by: T <t@example.org>\n'; } |
		git -C "$tmp/a" commit -q --cleanup=verbatim -F -
	git -C "$tmp/a" format-patch -q -1 --stdout >"$tmp/mail"
	git -C "$tmp/b" am -q "$tmp/mail" 2>"$tmp/err"
	ok $? "$form: git am takes the mail: $(head -1 "$tmp/err")"
	is "$(git -C "$tmp/b" log -1 --format=%B)" \
		"$(git -C "$tmp/a" log -1 --format=%B)" \
		"$form: and the message is the same"
done

# --- words and exit codes --------------------------------------------------
compare "$before" "$before"
gives 0 "Both sides are the same kernel." "a kernel beside itself is no alarm"
hasnt "$out" SLOWER "  and nothing moved"
# Of one cell only: mincore at 64 kB.
one='.benches |= map(select(.name == "mincore")) |
	.cells |= map(select(.bench == "mincore" and .folio_bytes == 65536))'
one=$(from "$before" "$one" one)
add() {	# INSNS NAME
	from "$one" ".kernel.build_id = \"0123456789abcdef\" |
	(.cells[].launches[].samples.time_insns[]) += $1" "$2"
}
compare "$one" "$(add 80000 half)"
gives 0 "same" "0.5 % is the same"
compare "$one" "$(add 200000 percent)"
gives 0 "SLOWER by less than 2 % is no alarm." "1.2 % is SLOWER, and no alarm"
has "$out" "+1.2%   +3.05  SLOWER" "  with the instructions a page"
compare "$one" "$(add 400000 more)"
gives 1 "SLOWER" "2.4 % is an alarm"
compare "$one" "$(from "$one" '.cells[0] |= (.status = "invalid" |
	.reasons = ["12 of 4096 folios fell back"])' invalid)"
gives 3 "not valid: after: 12" "an invalid figure is no figure"
has "$out" "folios fell back" "  and its reason wraps"
compare "$(from "$one" '.invalid = ["debug kernel: CONFIG_KASAN=y"]' debug)" "$one"
gives 3 "before: debug" "nor is one of an invalid run"
has "$out" "Checks: debug options" "  and the checks say so"
compare "$one" "$(from "$one" '.cells[0] |= (.status = "failed" | .reasons =
	["killed by signal 9"] | del(.launches))' failed)"
gives 3 "not measured: after:" "a cell that failed is not nothing slower"
compare "$one" "$(from "$one" '.cells[0] |= (.status = "skip" | .reasons =
	["no such size"] | del(.launches))' skip)"
gives 3 "not measured: after:" "nothing in common is not nothing slower"
compare "$before" "$(from "$after" 'del(.cells[] | select(.folio_bytes == 65536))' less)"
gives 1 "not measured: after: not in the document" "a size of one side only"
skipped='(.cells[] | select(.bench == "mincore")) |= (del(.launches) |
	.status = "skip" | .reasons = ["mincore() is not there"])'
compare "$(from "$before" "$skipped" without)" "$(from "$after" "$skipped" without2)"
gives 1 "mincore() over anonymous memory, one call not measured: mincore() is not there" \
	"a benchmark that neither side has is one line"
compare "$one" "$(from "$one" '.benches[0].params.memory_bytes /= 2' other)"
gives 3 "memory_bytes=128m" "other parameters are another benchmark"
compare "$(from "$one" '(.cells[].launches[].samples.time_insns[]) = 0' zero)" \
	"$(from "$tmp/zero.json" . zeros)"
gives 0 "same" "zeros are the same"
hasnt "$out" nan "  and no NaN"

# --- sides -----------------------------------------------------------------
boot() { from "$1" ".boot.id = \"$2\" | .id |= sub(\"9a..$\"; \"9b$3\")" "boot$3"; }
compare "$(boot "$before" lab-3 03)" "$before" "$after" "$(boot "$after" lab-4 04)"
gives 1 "least of 2 boots x 6" "more documents than two are sorted by kernel"
compare "$before" "$after" "$(boot "$before" lab-3 03)"
has "$flat" "least of 2 boots x 6, after 6" "  whatever their order"
compare "$before" "$after" "$one" "$tmp/more.json"
gives 64 "got a third" "a third kernel is refused"
compare "$before" "$before" "$before"
gives 64 "all of one" "three documents of one kernel are no comparison"

# --- what stands in the way ------------------------------------------------
compare "$before" "$(from "$after" '.kernel.compiler = "gcc 13.1"' compiler)"
gives 3 "No verdict: compiler differs: aarch64-linux-gnu-gcc" \
	"nothing crosses compilers"
compare "$before" "$(from "$after" '.host.volatile.emulator = "QEMU-9.0"' emulator)"
gives 3 "emulator differs: QEMU-7.2.22, then QEMU-9.0" "nor emulators"
compare "$before" "$(from "$after" '.host.epoch.cpus = 2' cpus)"
gives 3 "cpus differs: 1, then 2" "nor machines"
compare "$before" "$(from "$after" '.kernel.config_sha256 |= sub("^.{8}"; "00000000")' config)"
gives 1 "config differs: b3e3fa46, then 00000000" "a config does, and is named"
sha=0123456789abcdef0123456789abcdef01234567
compare "$before" "$(from "$after" ".kernel.commit = \"$sha\"" claimed)"
gives 3 "after: commit not proven" "a commit that is claimed"
compare "$before" "$(from "$after" ".kernel |= (.commit = \"$sha\" |
	.tree = \"mm-unstable\" | .release = \"6.12.117-g0123456789ab\")" proven)"
gives 1 "after 0123456789ab mm-unstable + gup-walk" \
	"a commit that the release shows"
compare "$before" "$(from "$after" 'del(.kernel.patches)' bare)"
has "$out" "before  linux 6.12.117, build a818c6467490
  after   linux 6.12.117, build" "two of one name are told apart by their build"

# --- time ------------------------------------------------------------------
"$BUILD/mmtrend" run --host time --bench null --launches 2 --iterations 5 \
	-o "$tmp/time.json" >/dev/null 2>&1
compare "$tmp/time.json" "$(from "$tmp/time.json" '.kernel.build_id =
	"0123456789abcdef" | .cells[].launches[].samples.time_ns[] *= 3' slow)"
gives 2 "not judged yet" "time gets no word"
has "$out" "+200.0%" "  but its difference"
has "$out" "median of 1 boot x 2 launches x 5" "  its design"
hasnt "$out" "instructions" "  and nothing of instructions"

# --- programs, usage -------------------------------------------------------
compare --json "$before" "$after"
is $rc 1 "--json: the same exit"
printf '%s' "$out" >"$tmp/out.json"
is "$(jq -r '[.schema, .result, .after.kernel, .no_verdict] | @csv' "$tmp/out.json")" \
	'"mmtrend.compare/1","SLOWER","linux 6.12.117 + gup-walk",' "--json: the head"
is "$(jq -c '.rows[] | select(.metric == "get_insns" and .folio_bytes == 65536) |
	[.before.value, .after.value, .change_percent, .verdict, .alarm]' "$tmp/out.json")" \
	'[40275000,3573000,-91.1285,"faster, 11.3x",false]' "--json: a row"
is "$(jq '.rows | length' "$tmp/out.json")" \
	"$(jq '.benches as $b | [.cells[].bench as $name |
	$b[] | select(.name == $name).metrics | length] | add' "$before")" \
	"--json: nothing is left out"
compare --form table "$before" "$after"
gives 64 "--form: expected full, commit-log or cover" "an unknown form"
compare "$before"
gives 64 "compare: expected BEFORE AFTER" "one document"
compare "$before" "$tmp/none.json"
gives 64 "none.json: No such file" "a document that is not there"
echo '{' >"$tmp/broken.json"
compare "$tmp/broken.json" "$after"
gives 64 "broken.json: line 2" "a document that is none"

# --- the same words on the server's page -------------------------------------
server_start --rate 0 || exit 1
post "$before" >/dev/null
post "$after" >/dev/null
get "$url/compare.json?host=lab-arm64" >"$tmp/page.json"
is "$(jq -r '.rows[] | [.bench, .metric, .folio_bytes, .verdict] | @csv' \
	"$tmp/page.json" | sed 's/, [+-][0-9.]* insns a page//' | sort)" \
	"$(jq -r '.rows[] | [.bench, .metric, .folio_bytes, .verdict] | @csv' \
	"$tmp/out.json" | sort)" "/compare says what mmtrend compare says"
has "$(get "$url/compare.txt?host=lab-arm64")" \
	"Base pages gain: -194 insns a page (-49.4%)." "  of controls too"
post "$(from "$after" '.host.volatile.emulator = "QEMU-9.0" |
	.id |= sub("9a..$"; "9c02")' newer)" >/dev/null
is "$(sqlite3 "$db" "SELECT count(DISTINCT exact) FROM series WHERE exact LIKE
	'compiler=aarch64-linux-gnu-gcc%&emulator=QEMU-_.%&config=b3e3fa46%'")" 2 \
	"another emulator is another series"
post "$(from "$after" ".kernel |= (.commit = \"$sha\" |
	.build_id = \"0123456789abcdef\") | .id |= sub(\"9a..$\"; \"9c03\")" claim)" >/dev/null
is "$(get "$url/compare.json?host=lab-arm64&bench=mincore&a=a818c6467490&b=0123456789ab" |
	jq -r '[.rows[].verdict] | unique | @csv')" '"commit not proven"' \
	"a commit that is claimed gets no word there either"
has "$(post "$(from "$before" 'del(.host.volatile.emulator) |
	.id |= sub("9a..$"; "9c01")' anonymous)")" "/host/volatile/emulator: missing" \
	"instructions of an unknown emulator are refused"
done_testing
