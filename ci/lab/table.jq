# SPDX-License-Identifier: GPL-2.0-only
# Of `mmtrend compare --json`, ci/lab/matrix's table in thousands of
# instructions: a row a metric that moved, a column a size; empty where a
# benchmark has no such size. What moved nowhere is named below.
def size: if . >= 1048576 then "\(. / 1048576)m" else "\(. / 1024)k" end;
def thousands: if . < 1000000 then (. / 100 | round / 10)
	else (. / 1000 | round) end;
def ratio($v): if $v | test("x$") then
	" (\($v | capture("(?<r>[0-9.]+x)$").r))" else "" end;
def cell($v):
	if .before.value == null or .after.value == null then ""
	else "\(.before.value | thousands) → \(.after.value | thousands)"
		+ ratio($v) end;
def marked($v): if $v | test("^SLOWER") then "**\(.)**" else . end;
def name: "\(.bench) \(.metric | sub("_insns$"; ""))";
# A PFN map's mapping work: the call without its page tables.
def without($call; $tables):
	[.[] | select(.bench == "pfnmap.remap")] as $r |
	[$r[] | select(.metric == $call and .before.value != null) |
		. as $c |
		($r[] | select(.metric == $tables and
			.folio_bytes == $c.folio_bytes)) as $t |
		.metric = ($call | sub("_insns$"; "")) + " without its page tables" |
		.before.value -= $t.before.value | .after.value -= $t.after.value |
		(.before.value / .after.value) as $x |
		.verdict = if $x >= 1.2 then
			"faster, \($x | if . < 100 then . * 10 | round / 10
				else round end)x" else "same" end];
(.rows + (.rows | without("mmap_insns"; "tables_alloc_insns")) +
 (.rows | without("munmap_insns"; "tables_free_insns"))) as $rows |
($rows | map(.folio_bytes) | unique) as $sizes |
($rows | group_by([.bench, .metric])) as $metrics |
($metrics | map(select(any(.verdict | test("faster|SLOWER"))))) as $moved |
"| k instructions | " + ($sizes | map(size) | join(" | ")) + " |",
"| --- |" + ($sizes | map(" ---: |") | add),
($moved[] | . as $m | "| \(.[0] | name) | " + ($sizes | map(. as $s |
	[$m[] | select(.folio_bytes == $s)] | if length == 0 then "" else
	.[0] | .verdict as $v | cell($v) | marked($v) end) | join(" | ")) + " |"),
"",
"Same at every size: " + ([$metrics - $moved | map(.[0]) | group_by(.bench)[] |
	"\(.[0].bench) (\(map(.metric | sub("_insns$"; "")) | join(", ")))"] |
	join("; ")) + "."
